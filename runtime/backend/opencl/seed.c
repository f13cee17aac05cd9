/* SPDX-License-Identifier: Apache-2.0
 * Times a kernel once, on ordinary numbers, to know its rate before any task has been measured. Uses a stream like the
 * self-test's. */
#include <stdlib.h>

#include "runtime/backend/opencl/stream.h"
#include "runtime/backend/opencl/selftest.h"
#include "runtime/base/clock.h"

#define SEED_ELEMENTS ((size_t)1 << 19)
#define SEED_FEW ((size_t)1 << 14) /* if these take SEED_SLOW_NS or more, they are the measurement */
#define SEED_SLOW_NS 4000000u
#define SEED_SIDE ((size_t)32)
#define SEED_SIDE_MOST ((size_t)2048)
#define SEED_S 4e-4 /* a launch that takes this long is not dominated by overhead */
#define SEED_TIMES 2

/* Arbitrary integers that are also floats of magnitude [1, 2). Denormal operands would dominate the time on an x86
 * device: each costs some hundred cycles. */
static uint32_t *normal_floats(size_t n) {
  uint32_t *x = malloc(n * sizeof *x);
  for (size_t i = 0; x && i < n; i++)
    x[i] = (((uint32_t)((i + 1) * 2654435761u) ^ (uint32_t)(i >> 7)) & 0x807fffffu) | 0x3f800000u;
  return x;
}

uint64_t hx__cl_time_second(hx__stream *stream, const hx__request *request) {
  uint64_t ns = 0;
  for (int i = 0; i < 2; i++) {
    const uint64_t from = hx__now_ns();
    bool unused;
    if (hx__cl_run_once(stream, request, &unused) != HX__DONE) return 0;
    ns = hx__now_ns() - from;
  }
  return ns;
}

/* Units per nanosecond. The time of an empty launch is subtracted, but at most three quarters of the time. */
static float rate_of(const hx__cl_device *d, double units, float ns) {
  const float launch = d->base.launch_ns < 0.75f * ns ? d->base.launch_ns : 0.75f * ns;
  return ns > 0.0f ? (float)units / (ns - launch) : 0.0f;
}

/* The rate of the first size that takes SEED_S or longer. */
static float seed_of_product(hx__cl_device *d, unsigned need) {
  float rate = 0.0f;
  double seconds = 0.0;
  for (size_t side = SEED_SIDE; side <= SEED_SIDE_MOST && seconds < SEED_S; side *= 4) {
    seconds = hx__cl_time_product(d, need, side, SEED_TIMES);
    if (!(seconds > 0.0)) break;
    rate = rate_of(d, (double)side * (double)side * (double)side, (float)(seconds * 1e9));
  }
  return rate;
}

/* Nanoseconds of a reduction of n elements, in place if the device can do that, otherwise in mode copy. */
static uint64_t time_reduction(hx__cl_device *d, hx__stream *stream, const hx_field *field, uint64_t *slots, size_t n) {
  const hx__work work = {.slices = n / HX__LEAF, .n = n, .nfields = 1, .fields = field};
  const hx__memory_mode mode = d->base.zero_copy & 1u << HX__MEMORY_HOSTPTR ? HX__MEMORY_HOSTPTR : HX__MEMORY_COPY;
  const hx__array array = {.p = field->x, .rows = 1, .cols = n, .ld = n, .mode = mode}, arrays[2] = {array, array};
  const hx__cpu_kernels *const cpu = hx__cpu_kernels_for(HX__ISA_AUTO);
  return hx__cl_time_second(stream, &(hx__request){.work = &work, .kernels = cpu, .arrays = arrays, .slots = slots});
}

static float seed_of_reduction(hx__cl_device *d, unsigned need) {
  hx__stream *const stream = hx__cl_test_stream(d, need);
  uint32_t *const x = normal_floats(SEED_ELEMENTS);
  uint64_t *const slots = calloc(SEED_ELEMENTS / HX__LEAF, sizeof *slots);
  size_t n = SEED_FEW;
  uint64_t ns = 0;
  if (stream && x && slots) {
    const hx_field field = {hx__reduction_op(need), hx__reduction_type(need), x, x};
    ns = time_reduction(d, stream, &field, slots, n);
    if (ns && ns < SEED_SLOW_NS) ns = time_reduction(d, stream, &field, slots, n = SEED_ELEMENTS);
  }
  if (stream) hx__cl_stream_close(stream);
  free(x);
  free(slots);
  return rate_of(d, (double)n, (float)ns);
}

static float seed_of_lines(hx__cl_device *d, unsigned need) {
  hx__stream *const stream = hx__cl_test_stream(d, need);
  uint32_t *const x = normal_floats(SEED_ELEMENTS);
  const unsigned reduction = need - HX__FIRST_LINES;
  const hx_field field = {hx__reduction_op(reduction), hx__reduction_type(reduction), x, x};
  size_t n = SEED_FEW;
  float ns = stream && x ? hx__cl_time_lines(d, stream, &field, n) : 0.0f;
  if (ns > 0.0f && ns < (float)SEED_SLOW_NS) ns = hx__cl_time_lines(d, stream, &field, n = SEED_ELEMENTS);
  if (stream) hx__cl_stream_close(stream);
  free(x);
  return rate_of(d, (double)n, ns);
}

float hx__cl_seed_rate(hx__cl_device *d, unsigned need) {
  if (need >= HX__FIRST_LINES && need < HX__NEEDS) return seed_of_lines(d, need);
  return need < HX__FIRST_PRODUCT ? seed_of_reduction(d, need) : seed_of_product(d, need);
}

double hx__cl_time_product(hx__cl_device *d, unsigned need, size_t side, int times) {
  hx__stream *const stream = hx__cl_test_stream(d, need);
  uint32_t *const x = normal_floats(side * side);
  float *const c = calloc(side * side, sizeof *c);
  uint64_t least = 0;
  if (stream && x && c) {
    const hx__gemm g = {.m = side,
                        .n = side,
                        .k = side,
                        .a = (float *)x,
                        .b = (float *)x,
                        .a_rs = side,
                        .a_cs = 1,
                        .b_rs = side,
                        .b_cs = 1,
                        .c = c,
                        .ldc = side,
                        .alpha = 1.0f};
    const hx__work work = {.matmul = true, .slices = side, .gemm = g};
    const hx__memory_mode mode = d->base.zero_copy & 1u << HX__MEMORY_HOSTPTR ? HX__MEMORY_HOSTPTR : HX__MEMORY_COPY;
    const hx__array array = {.p = x, .rows = side, .cols = side, .ld = side, .mode = mode}, arrays[2] = {array, array};
    const hx__request request = {.work = &work, .kernels = hx__cpu_kernels_for(HX__ISA_AUTO), .arrays = arrays};
    const hx__chunk all = {0, side};
    cl_command_queue const queue = ((hx__cl_stream *)stream)->queue;
    uint64_t copied;
    hx__cl_inflight made = {.bytes = 0};
    hx__outcome outcome = hx__cl_begin(stream, &request);
    for (int i = 0; i <= times && outcome == HX__DONE; i++) { /* the first launch is not timed: it copies the operands,
                                                               * and drivers may compile in it */
      const uint64_t from = hx__now_ns();
      outcome = hx__cl_launch_matmul((hx__cl_stream *)stream, &request, all, &made);
      if (clFinish(queue) != CL_SUCCESS) outcome = HX__FAILED;
      const uint64_t ns = hx__now_ns() - from;
      if (i && (least == 0 || ns < least)) least = ns;
    }
    if (outcome != HX__DONE) least = 0;
    hx__cl_end(stream, &copied);
    hx__cl_buffer_release(&made.out);
  }
  if (stream) hx__cl_stream_close(stream);
  free(x);
  free(c);
  return (double)least * 1e-9;
}
