/* SPDX-License-Identifier: Apache-2.0
 * isa_launch SOURCE OPTIONS: builds a program for the first OpenCL device and launches each of its kernels once,
 * because Mesa's drivers compile a kernel at its first launch. Meant for devices that execute nothing
 * (tests/drivers/mesa.sh): all arguments are zero, and nothing is read back. Prints the device's name and, on standard
 * error, where the driver prints its statistics, a line before each kernel. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_KERNELS 16
#define BUFFER_BYTES ((size_t)1 << 20)
#define LOCAL_BYTES 4096
#define ANY_LOCAL 64 /* items of a group whose size the kernel leaves open */

static char *text_of(const char *path) {
  FILE *file = fopen(path, "r");
  if (!file) return NULL;
  enum { most = 1 << 20 };
  char *text = calloc(most, 1);
  if (text && fread(text, 1, most - 1, file) == 0) free(text), text = NULL;
  fclose(file);
  return text;
}

static cl_program program_of(cl_context context, cl_device_id device, const char *source, const char *options) {
  cl_int code;
  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
  if (!program || clBuildProgram(program, 1, &device, options, NULL, NULL) == CL_SUCCESS) return program;
  static char log[1 << 16];
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
  fprintf(stderr, "error: %s\n", log);
  return NULL;
}

/* The type of an argument is not asked for: it is what the driver accepts. */
static cl_int set_argument(cl_kernel kernel, cl_uint index, cl_mem buffer) {
  static const char zeros[64];
  if (clSetKernelArg(kernel, index, sizeof buffer, &buffer) == CL_SUCCESS) return CL_SUCCESS;
  for (size_t bytes = 4; bytes <= sizeof zeros; bytes *= 2)
    if (clSetKernelArg(kernel, index, bytes, zeros) == CL_SUCCESS) return CL_SUCCESS;
  return clSetKernelArg(kernel, index, LOCAL_BYTES, NULL);
}

static cl_int launch(cl_command_queue queue, cl_device_id device, cl_kernel kernel, cl_mem buffer) {
  char name[128] = "";
  cl_uint arguments = 0;
  size_t local[3] = {0, 0, 0};
  clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
  clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof arguments, &arguments, NULL);
  clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof local, local, NULL);
  if (local[0] == 0) local[0] = ANY_LOCAL, local[1] = 1;
  fprintf(stderr, "kernel %s\n", name);
  cl_int code = CL_SUCCESS;
  for (cl_uint i = 0; i < arguments && code == CL_SUCCESS; i++) code = set_argument(kernel, i, buffer);
  if (code == CL_SUCCESS) code = clEnqueueNDRangeKernel(queue, kernel, 2, NULL, local, local, 0, NULL, NULL);
  if (code == CL_SUCCESS) code = clFinish(queue);
  if (code != CL_SUCCESS) fprintf(stderr, "error: %s was not launched: %d\n", name, code);
  return code;
}

int main(int argc, char **argv) {
  char *source = argc == 3 ? text_of(argv[1]) : NULL;
  cl_platform_id platform;
  cl_device_id device;
  char name[256] = "";
  if (!source) return fprintf(stderr, "usage: isa_launch SOURCE OPTIONS\n"), 2;
  if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
    return fprintf(stderr, "error: there is no device\n"), 3;
  clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
  puts(name);
  fflush(stdout);
  cl_int code;
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  cl_command_queue queue = context ? clCreateCommandQueue(context, device, 0, &code) : NULL;
  cl_mem buffer = queue ? clCreateBuffer(context, CL_MEM_READ_WRITE, BUFFER_BYTES, NULL, &code) : NULL;
  cl_program program = buffer ? program_of(context, device, source, argv[2]) : NULL;
  cl_kernel kernels[MAX_KERNELS];
  cl_uint count = 0;
  if (!program || clCreateKernelsInProgram(program, MAX_KERNELS, kernels, &count) != CL_SUCCESS || count == 0)
    return fprintf(stderr, "error: there is no program\n"), 1;
  for (cl_uint i = 0; i < count && code == CL_SUCCESS; i++) code = launch(queue, device, kernels[i], buffer);
  fflush(NULL);
  _Exit(code == CL_SUCCESS ? 0 : 1); /* a driver of a device that is not there need not end in good order */
}
