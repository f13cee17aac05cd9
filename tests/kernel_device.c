/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kernel_device.h"

#include <stdint.h>
#include <stdio.h>

cl_uint kernel_devices(cl_device_id *ids, cl_uint most) {
  cl_platform_id platforms[16];
  cl_uint count = 0, devices = 0, found;
  if (!hx__cl_load() || clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS) return 0;
  for (cl_uint p = 0; p < count && p < 16 && devices < most; p++)
    if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, most - devices, ids + devices, &found) == CL_SUCCESS)
      devices += found < most - devices ? found : most - devices;
  return devices;
}

bool kernel_device_open(kernel_device *d, cl_device_id id) {
  *d = (kernel_device){.id = id};
  clGetDeviceInfo(id, CL_DEVICE_NAME, sizeof d->name - 1, d->name, NULL);
  d->context = clCreateContext(NULL, 1, &d->id, NULL, NULL, NULL);
  d->queue = d->context ? clCreateCommandQueue(d->context, d->id, 0, NULL) : NULL;
  return d->queue != NULL;
}

cl_program kernel_program(const kernel_device *d, const hx__kernel_row *row, const char *first, const char *options) {
  const char *sources[64] = {first};
  char log[4096] = "";
  cl_uint count = 1;
  for (const char *const *s = hx__kernel_sources(row->kind); *s; s++) sources[count++] = *s;
  cl_program program = clCreateProgramWithSource(d->context, count, sources, NULL, NULL);
  if (!program || clBuildProgram(program, 1, &d->id, options, NULL, NULL) == CL_SUCCESS) return program;
  clGetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
  printf("%s: %s: %s\n", row->name, options, log);
  clReleaseProgram(program);
  return NULL;
}

cl_mem kernel_buffer(const kernel_device *d, const void *from, size_t bytes) {
  return clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, (void *)(uintptr_t)from, NULL);
}

bool kernel_launch(const kernel_device *d, cl_program program, const char *name, const char *kinds,
                   const kernel_value *values, cl_uint dims, const size_t *groups, const uint32_t *local) {
  const size_t global[2] = {groups[0] * local[0], dims > 1 ? groups[1] * local[1] : 1}, size[2] = {local[0], local[1]};
  cl_int code = CL_SUCCESS;
  cl_kernel kernel = clCreateKernel(program, name, &code);
  for (cl_uint i = 0; kinds[i] && code == CL_SUCCESS; i++) {
    const size_t bytes = kinds[i] == 'm' ? sizeof(cl_mem) : kinds[i] == 'n' ? sizeof(cl_ulong) : sizeof(cl_uint);
    code = clSetKernelArg(kernel, i, bytes, &values[i]);
  }
  if (code == CL_SUCCESS) code = clEnqueueNDRangeKernel(d->queue, kernel, dims, NULL, global, size, 0, NULL, NULL);
  if (code == CL_SUCCESS) code = clFinish(d->queue);
  if (kernel) clReleaseKernel(kernel);
  if (code != CL_SUCCESS) printf("%s: %d\n", name, code);
  return code == CL_SUCCESS;
}
