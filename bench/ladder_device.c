/* SPDX-License-Identifier: Apache-2.0
 * An OpenCL device for the ladders: the one with the same number in hx, in a context of its own. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bench/ladder.h"
#include "runtime/backend/opencl/stream.h"

bool ladder_out(ladder_rung *rung, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(rung->note, sizeof rung->note, format, list);
  va_end(list);
  for (char *p = rung->note; *p; p++)
    if ((unsigned char)*p < ' ') *p = ' ';
  rung->out = true;
  return false;
}

static cl_command_queue queue_of(const ladder_device *device, cl_command_queue_properties properties) {
  cl_int code;
  return clCreateCommandQueue(device->context, device->id, properties, &code);
}

static bool open_hx(ladder_device *device, size_t index) {
  char number[16];
  hx_settings settings = HX_SETTINGS_DEFAULT;
  snprintf(number, sizeof number, "%zu", index);
  settings.devices = number;
  if (hx_open(&device->hx, &settings) == HX_OK) return hx_device_count(device->hx) > 0;
  fprintf(stderr, "hx-bench: %s\n", hx_error_detail());
  return false;
}

static bool open_queues(ladder_device *device, size_t index) {
  cl_int code;
  device->context = clCreateContext(NULL, 1, &device->id, NULL, NULL, &code);
  if (device->context) {
    device->queue = queue_of(device, 0);
    device->timed = queue_of(device, CL_QUEUE_PROFILING_ENABLE);
  }
  if (device->queue && device->timed) return true;
  fprintf(stderr, "hx-bench: device %zu gives no context or queue\n", index);
  return false;
}

/* Only the drivers of NVIDIA and AMD say it, as long as no kernel is named. */
static cl_uint sub_group_of(cl_device_id id) {
  static const cl_device_info names[] = {0x4003 /* CL_DEVICE_WARP_SIZE_NV */, 0x4043 /* ..._WAVEFRONT_WIDTH_AMD */};
  cl_uint items = 0;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (clGetDeviceInfo(id, names[i], sizeof items, &items, NULL) == CL_SUCCESS && items) return items;
  return 0;
}

bool ladder_device_open(ladder_device *device, const bench_session *session, size_t index) {
  hx__cl_device *const d = bench_opencl_device(session, index);
  *device = (ladder_device){.shipped = d,
                            .info = &session->device[index],
                            .label = session->name[index].label,
                            .platform = d->platform,
                            .id = d->id};
  cl_device_type type = 0;
  cl_uint vendor = 0;
  clGetDeviceInfo(d->id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
  clGetDeviceInfo(d->id, CL_DEVICE_VENDOR_ID, sizeof vendor, &vendor, NULL);
  clGetDeviceInfo(d->id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof device->units, &device->units, NULL);
  clGetDeviceInfo(d->id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof device->max_local, &device->max_local, NULL);
  clGetDeviceInfo(d->id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof device->max_alloc, &device->max_alloc, NULL);
  clGetDeviceInfo(d->id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof device->local_bytes, &device->local_bytes, NULL);
  device->sub_group = sub_group_of(d->id);
  device->cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
  device->nvidia = !device->cpu && vendor == 0x10deu;
  if (open_queues(device, index) && open_hx(device, index)) return true;
  ladder_device_close(device);
  return false;
}

void ladder_device_close(ladder_device *device) {
  hx_close(device->hx);
  if (device->timed) clReleaseCommandQueue(device->timed);
  if (device->queue) clReleaseCommandQueue(device->queue);
  if (device->context) clReleaseContext(device->context);
}

static cl_program build_program(const ladder_device *device, const char *source, const char *options, char *why,
                                size_t bytes) {
  cl_int code;
  cl_program program = clCreateProgramWithSource(device->context, 1, &source, NULL, &code);
  if (program) code = clBuildProgram(program, 1, &device->id, options, NULL, NULL);
  if (program && code == CL_SUCCESS) return program;
  char log[4096] = "";
  if (program) {
    clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    clReleaseProgram(program);
  }
  const char *error = strstr(log, "error");
  snprintf(why, bytes, "does not build: %s %.80s", hx__cl_code_name(code), error ? error : "");
  return NULL;
}

void ladder_kernel_build(const ladder_device *device, const char *source, const char *options, const char *name,
                         ladder_kernel *kernel) {
  cl_int code;
  cl_program program = build_program(device, source, options, kernel->why, sizeof kernel->why);
  if (!program) return;
  kernel->kernel = clCreateKernel(program, name, &code);
  if (!kernel->kernel) snprintf(kernel->why, sizeof kernel->why, "%s", hx__cl_code_name(code));
  clReleaseProgram(program); /* the kernel keeps a reference to it */
}

void ladder_kernels_release(ladder_kernel *kernels, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (kernels[i].kernel) clReleaseKernel(kernels[i].kernel);
}

double ladder_span(cl_event *events, size_t count) {
  cl_ulong first = UINT64_MAX, last = 0;
  for (size_t i = 0; i < count; i++) {
    cl_ulong from = 0, to = 0;
    if (!events[i]) continue;
    if (clGetEventProfilingInfo(events[i], CL_PROFILING_COMMAND_START, sizeof from, &from, NULL) == CL_SUCCESS &&
        clGetEventProfilingInfo(events[i], CL_PROFILING_COMMAND_END, sizeof to, &to, NULL) == CL_SUCCESS) {
      if (from < first) first = from;
      if (to > last) last = to;
    }
    clReleaseEvent(events[i]);
  }
  return last > first + 1 ? 1e-9 * (double)(last - first) : NAN; /* 1 ns or less: the driver does not measure times */
}
