/* SPDX-License-Identifier: Apache-2.0
 * Opens a device: creates its context and runs its first kernels, which show whether add, multiply and fma round as the
 * arithmetic requires, and which memory modes work. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/backend/opencl/cl.h"
#include "runtime/base/clock.h"
#include "runtime/base/cache_dir.h"

#define TRIPLES 4096u
#define LAUNCHES 5

/* Inputs of the probe, as bits: every class of float is combined with every other one, including denormals, -0 and
 * ties. */
static const uint32_t corners[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x80800000,
                                   0x3f800000, 0xbf800000, 0x3f800001, 0x3effffff, 0x33800000, 0x4b800000, 0xcb7fffff,
                                   0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x1f800000, 0x9f800001};
#define CORNERS (sizeof corners / sizeof corners[0])

static uint32_t random_word(uint64_t i) { /* splitmix64, Steele et al., OOPSLA 2014 */
  uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return (uint32_t)((z ^ z >> 31) >> 32);
}

/* Half of the triples are corners, the others random bits. In half of those, b and c are nearly opposite, so that sums
 * cancel. */
static void fill_triples(uint32_t *a, uint32_t *b, uint32_t *c) {
  for (uint32_t i = 0; i < TRIPLES; i++) {
    const uint32_t r = random_word(i);
    if (i & 1) {
      a[i] = corners[r % CORNERS];
      b[i] = corners[r / 64 % CORNERS];
      c[i] = corners[r / 4096 % CORNERS];
    } else {
      a[i] = r;
      b[i] = random_word(i + TRIPLES);
      c[i] = i & 2 ? random_word(i + 2 * TRIPLES) : (b[i] ^ 0x80000000u) + (r & 3);
    }
  }
}

static bool same_float(uint32_t got, float want) {
  uint32_t bits;
  memcpy(&bits, &want, sizeof bits);
  return got == bits || (want != want && (got & 0x7fffffffu) > 0x7f800000u);
}

/* Compares the probe's output with results of the host. A device with wrong sums or products cannot compute reductions
 * of floats. */
static void compare_roundings(hx__cl_device *d, const uint32_t *a, const uint32_t *b, const uint32_t *c,
                              const uint32_t *out) {
  d->add_ok = d->fma_ok = true;
  for (uint32_t i = 0; i < TRIPLES; i++) {
    float x, y, z;
    memcpy(&x, &a[i], 4);
    memcpy(&y, &b[i], 4);
    memcpy(&z, &c[i], 4);
    const volatile float product = x * y; /* volatile, so that the compiler rounds it to float */
    d->add_ok = d->add_ok && same_float(out[3 * i], x + y) && same_float(out[3 * i + 1], product);
    d->fma_ok = d->fma_ok && same_float(out[3 * i + 2], fmaf(x, y, z));
  }
}

/* The contents of the probe's output before it runs: no result is this word, so that a device that wrote nothing is
 * told from one with wrong bits. */
#define UNTOUCHED UINT32_MAX

static bool has_written(const uint32_t *out) {
  for (uint32_t i = 0; i < 3 * TRIPLES; i++)
    if (out[i] != UNTOUCHED) return true;
  return false;
}

static cl_mem input_buffer(hx__cl_device *d, const void *p, cl_int *code) {
  return clCreateBuffer(d->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, TRIPLES * 4, (void *)(uintptr_t)p, code);
}

/* The shortest of several launches of one work-group, with the wait for each. */
static float time_launch(cl_command_queue queue, cl_kernel kernel, size_t local, cl_mem out) {
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < LAUNCHES; i++) {
    uint32_t word;
    const uint64_t from = hx__now_ns();
    if (clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &local, &local, 0, NULL, NULL) != CL_SUCCESS ||
        clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof word, &word, 0, NULL, NULL) != CL_SUCCESS)
      return 0.0f;
    const uint64_t ns = hx__now_ns() - from;
    if (ns < least) least = ns;
  }
  return (float)least;
}

static cl_int run_probe(hx__cl_device *d, cl_command_queue queue, cl_kernel probe, size_t local) {
  uint32_t *const host = malloc((3 + 3) * TRIPLES * sizeof *host);
  if (!host) return CL_OUT_OF_HOST_MEMORY;
  uint32_t *const a = host, *const b = a + TRIPLES, *const c = b + TRIPLES, *const out = c + TRIPLES;
  fill_triples(a, b, c);
  memset(out, 0xff, 3 * TRIPLES * sizeof *out); /* UNTOUCHED */
  cl_int code = CL_SUCCESS;
  cl_mem mem[4] = {NULL};
  const void *from[3] = {a, b, c};
  for (int i = 0; i < 3 && code == CL_SUCCESS; i++) mem[i] = input_buffer(d, from[i], &code);
  if (code == CL_SUCCESS)
    mem[3] = clCreateBuffer(d->context, CL_MEM_WRITE_ONLY | CL_MEM_COPY_HOST_PTR, 3 * TRIPLES * 4, out, &code);
  for (cl_uint i = 0; i < 4 && code == CL_SUCCESS; i++) code = clSetKernelArg(probe, i, sizeof mem[i], &mem[i]);
  const size_t global = TRIPLES;
  if (code == CL_SUCCESS) code = clEnqueueNDRangeKernel(queue, probe, 1, NULL, &global, &local, 0, NULL, NULL);
  if (code == CL_SUCCESS) code = clEnqueueReadBuffer(queue, mem[3], CL_TRUE, 0, 3 * TRIPLES * 4, out, 0, NULL, NULL);
  d->wrote = code == CL_SUCCESS && has_written(out);
  if (d->wrote) compare_roundings(d, a, b, c, out);
  if (d->wrote) d->base.launch_ns = time_launch(queue, probe, local, mem[3]);
  for (int i = 0; i < 4; i++)
    if (mem[i]) clReleaseMemObject(mem[i]);
  free(host);
  return code;
}

/* Runs the first kernels on the device. */
static cl_int run_first(hx__cl_device *d, cl_command_queue queue, cl_program program, size_t local) {
  cl_int code = CL_SUCCESS;
  cl_kernel probe = clCreateKernel(program, "hx_probe", &code);
  cl_kernel touch = probe ? clCreateKernel(program, "hx_touch", &code) : NULL;
  if (touch) code = run_probe(d, queue, probe, local);
  if (touch && d->wrote) hx__cl_find_modes(d, queue, touch);
  if (touch && d->wrote && d->base.kind == HX_GPU && !d->base.zero_copy) d->base.link_ns = hx__cl_link_ns(d, queue);
  if (touch) clReleaseKernel(touch);
  if (probe) clReleaseKernel(probe);
  return code;
}

static cl_int probe_arithmetic(hx__cl_device *d) {
  const uint32_t no_tile[3] = {0, 0, 0};
  char options[256];
  cl_int code = CL_SUCCESS;
  const hx__kernel_row *row = hx__kernel_row_for(HX__KERNEL_PROBE, HX_F32, d->families, no_tile, d->max_local);
  if (!row || !hx__kernel_options(options, sizeof options, row, HX_SUM, HX_F32, no_tile, HX__ARITHMETIC_PLAIN))
    return CL_INVALID_KERNEL;
  cl_command_queue queue = clCreateCommandQueue(d->context, d->id, 0, &code);
  if (!queue) return code;
  d->copied = hx__cl_copies(d, queue);
  if (!d->copied) {
    clReleaseCommandQueue(queue);
    return CL_SUCCESS;
  }
  /* The probe runs in every process. A cached program has passed before, so if it fails now, the program is built from
   * its source. */
  const hx__cl_cached_program cached = hx__cl_binary_load(d, HX__KERNEL_PROBE, options, false);
  cl_program program = cached.program;
  bool passed = program && run_first(d, queue, program, row->local[0]) == CL_SUCCESS && d->add_ok && d->fma_ok;
  if (program) hx__cache_crash_mark_end(cached.crash_mark, passed);
  if (!passed) {
    if (program) clReleaseProgram(program);
    program = hx__cl_program_new(d, HX__KERNEL_PROBE, options, false, &code);
    if (program) code = run_first(d, queue, program, row->local[0]);
    passed = program && code == CL_SUCCESS && d->add_ok && d->fma_ok;
    if (passed) hx__cl_binary_store(d, program, HX__KERNEL_PROBE, options, 0);
  }
  if (program) clReleaseProgram(program);
  clReleaseCommandQueue(queue);
  return code;
}

bool hx__cl_device_is_open(const hx__cl_device *d) { return atomic_load(&d->opened) && !atomic_load(&d->base.lost); }

bool hx__cl_device_open(hx__cl_device *d) {
  if (atomic_load(&d->opened)) return !atomic_load(&d->base.lost);
  pthread_mutex_lock(&d->opening);
  if (!atomic_load(&d->opened)) {
    cl_int code = CL_SUCCESS;
    const uint64_t from = hx__now_ns();
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)d->platform, 0};
    d->context = clCreateContext(properties, 1, &d->id, NULL, NULL, &code);
    if (d->context) code = probe_arithmetic(d);
    if (code == CL_SUCCESS) hx__cl_tuned_load(d);
    if (code == CL_SUCCESS && d->wrote && !d->fma_ok)
      hx__device_replace_why(&d->base,
                             "its fma rounds differently: one made of integer operations replaces it, which is slow");
    /* Before the device is marked as lost, because a program that waits for it may end then. */
    hx__log(HX__LOG_DEBUG, "%s: opened, or refused, in %.1f ms", d->base.name, (double)(hx__now_ns() - from) * 1e-6);
    if (code != CL_SUCCESS)
      hx__device_lost(&d->base, "its first kernel did not run: %s (%d)", hx__cl_code_name(code), code);
    else if (!d->copied)
      hx__device_lost(&d->base, "its first copy ended without an error and wrote nothing");
    else if (!d->wrote)
      hx__device_lost(&d->base, "its first kernel ended without an error and wrote nothing");
    else
      hx__log(HX__LOG_DEBUG, "%s: add and multiply %s, fma %s, modes 0x%x, in place 0x%x", d->base.name,
              d->add_ok ? "right" : "wrong", d->fma_ok ? "right" : "wrong", d->base.modes, d->base.zero_copy);
    atomic_store(&d->opened, true);
  }
  pthread_mutex_unlock(&d->opening);
  return !atomic_load(&d->base.lost);
}

void hx__cl_build_failed(hx__cl_device *d, cl_int code) {
  if (code == CL_BUILD_PROGRAM_FAILURE || hx__cl_build_was_abandoned(code) || atomic_load(&d->base.lost)) return;
  cl_command_queue queue = clCreateCommandQueue(d->context, d->id, 0, &code);
  if (queue)
    clReleaseCommandQueue(queue);
  else
    hx__cl_failed(d, "clCreateCommandQueue", code);
}
