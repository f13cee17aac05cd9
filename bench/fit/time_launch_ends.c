/* SPDX-License-Identifier: Apache-2.0
 * Times how soon the host knows that a launch has ended, and has 40 bytes of its result, by OpenCL alone.
 *
 *   time_launch_ends [DEVICE]
 *
 * DEVICE: the index of a device of the first platform. For launches of three lengths, prints a row for each way: the
 * microseconds from before the launch to the end of the wait, as median, tenth and ninetieth percentile. Two ways let a
 * kernel write to pinned memory by the host's address, which a driver need not allow (kernels/completion.cl). */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/measure.h"

enum { CALLS = 2000, ITEMS = 128, WORDS = 10 };

static const char *const source =
    "kernel void work(global float *x, uint turns, global uint *out, uint launch) {\n"
    "  const uint i = get_global_id(0);\n"
    "  float v = x[i];\n"
    "  for (uint t = 0; t < turns; t++) v = v * 1.0001f + 1.0f;\n"
    "  x[i] = v;\n"
    "  if (i < 10) out[i] = i == 9 ? launch : as_uint(v);\n"
    "}\n"
    "kernel void complete(global const uint *from, ulong address, uint launch) {\n"
    "  volatile global ulong *const to = (volatile global ulong *)address;\n"
    "  const uint i = get_local_id(0);\n"
    "  if (i < 10) to[i] = (ulong)launch << 32 | from[i];\n"
    "}\n"
    "kernel void work_complete(global float *x, uint turns, ulong address, uint launch) {\n"
    "  volatile global ulong *const to = (volatile global ulong *)address;\n"
    "  const uint i = get_global_id(0);\n"
    "  float v = x[i];\n"
    "  for (uint t = 0; t < turns; t++) v = v * 1.0001f + 1.0f;\n"
    "  x[i] = v;\n"
    "  if (i < 10) to[i] = (ulong)launch << 32 | as_uint(v);\n"
    "}\n";

static cl_command_queue queue;
static cl_kernel work, complete, work_complete;
static cl_mem result;
static volatile uint64_t *pinned; /* the words that kernels write; from WORDS on, what reads fill */
static cl_uint number;

static void ok(cl_int code, const char *what) {
  if (code == CL_SUCCESS) return;
  fprintf(stderr, "time_launch_ends: %s: %d\n", what, code);
  exit(1);
}

static void set(cl_kernel kernel, cl_uint at, size_t bytes, const void *value) {
  ok(clSetKernelArg(kernel, at, bytes, value), "clSetKernelArg");
}

static void launch(cl_kernel kernel, cl_uint number_at, size_t items, cl_event *event) {
  set(kernel, number_at, sizeof number, &number);
  ok(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &items, 0, NULL, event), "clEnqueueNDRangeKernel");
}

static void look_at(cl_event event) {
  cl_int state = CL_QUEUED;
  ok(clFlush(queue), "clFlush");
  while (state > CL_COMPLETE)
    ok(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL), "clGetEventInfo");
  ok(clReleaseEvent(event), "clReleaseEvent");
}

static void look_at_words(void) {
  ok(clFlush(queue), "clFlush");
  for (int i = 0; i < WORDS; i++)
    while (pinned[i] >> 32 != number) continue;
}

static void finish(void) {
  launch(work, 3, ITEMS, NULL);
  ok(clFinish(queue), "clFinish");
}

static void marker(void) {
  cl_event event;
  launch(work, 3, ITEMS, NULL);
  ok(clEnqueueMarkerWithWaitList(queue, 0, NULL, &event), "clEnqueueMarkerWithWaitList");
  look_at(event);
}

static void own_event(void) {
  cl_event event;
  launch(work, 3, ITEMS, &event);
  look_at(event);
}

static void read_result(void) {
  cl_event event;
  launch(work, 3, ITEMS, NULL);
  void *const to = (void *)(uintptr_t)(pinned + WORDS);
  ok(clEnqueueReadBuffer(queue, result, CL_FALSE, 0, WORDS * sizeof(cl_uint), to, 0, NULL, &event), "a read");
  look_at(event);
}

static void second_launch(void) {
  launch(work, 3, ITEMS, NULL);
  launch(complete, 2, 32, NULL);
  look_at_words();
}

static void same_launch(void) {
  launch(work_complete, 3, ITEMS, NULL);
  look_at_words();
}

static const struct {
  const char *name;
  void (*run)(void);
} ways[] = {{"clFinish", finish},
            {"a marker's event", marker},
            {"the launch's event", own_event},
            {"a read of 40 bytes and its event", read_result},
            {"a second launch stores 40 bytes by the host's address", second_launch},
            {"the launch itself stores them there", same_launch}};

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void time_way(size_t way, cl_uint turns) {
  static double us[CALLS];
  for (int i = 0; i < CALLS; i++) {
    const double from = bench_now();
    number++;
    ways[way].run();
    us[i] = (bench_now() - from) * 1e6;
  }
  ok(clFinish(queue), "clFinish");
  qsort(us, CALLS, sizeof *us, by_value);
  printf("%u\t%s\t%.1f\t%.1f\t%.1f\n", turns, ways[way].name, us[CALLS / 2], us[CALLS / 10], us[CALLS * 9 / 10]);
}

static void open_device(cl_uint index) {
  cl_platform_id platform;
  cl_device_id devices[16];
  cl_uint found = 0;
  cl_int code;
  ok(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
  ok(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 16, devices, &found), "clGetDeviceIDs");
  if (index >= found) ok(CL_DEVICE_NOT_FOUND, "DEVICE");
  cl_context context = clCreateContext(NULL, 1, &devices[index], NULL, NULL, &code);
  ok(code, "clCreateContext");
  queue = clCreateCommandQueue(context, devices[index], 0, &code);
  ok(code, "clCreateCommandQueue");
  cl_program program = clCreateProgramWithSource(context, 1, (const char **)(uintptr_t)&source, NULL, &code);
  ok(clBuildProgram(program, 1, &devices[index], "", NULL, NULL), "clBuildProgram");
  work = clCreateKernel(program, "work", &code);
  complete = clCreateKernel(program, "complete", &code);
  work_complete = clCreateKernel(program, "work_complete", &code);
  cl_mem x = clCreateBuffer(context, CL_MEM_READ_WRITE, ITEMS * sizeof(float), NULL, &code);
  result = clCreateBuffer(context, CL_MEM_READ_WRITE, WORDS * sizeof(cl_uint), NULL, &code);
  const size_t bytes = 2 * WORDS * sizeof *pinned;
  cl_mem host = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &code);
  pinned = clEnqueueMapBuffer(queue, host, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, NULL, NULL, &code);
  ok(code, "clEnqueueMapBuffer");
  for (int i = 0; i < WORDS; i++) pinned[i] = 0;
  const cl_ulong address = (cl_ulong)(uintptr_t)pinned;
  set(work, 0, sizeof x, &x), set(work, 2, sizeof result, &result);
  set(complete, 0, sizeof result, &result), set(complete, 1, sizeof address, &address);
  set(work_complete, 0, sizeof x, &x), set(work_complete, 2, sizeof address, &address);
}

int main(int argc, char **argv) {
  static const cl_uint lengths[] = {1, 1000, 4000};
  open_device(argc > 1 ? (cl_uint)strtoul(argv[1], NULL, 0) : 0);
  printf("turns\tway\tmedian_us\tp10_us\tp90_us\n");
  for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
    set(work, 1, sizeof lengths[l], &lengths[l]);
    set(work_complete, 1, sizeof lengths[l], &lengths[l]);
    for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) time_way(way, lengths[l]);
  }
  return 0;
}
