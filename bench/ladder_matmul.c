/* SPDX-License-Identifier: Apache-2.0
 * `ladder matmul`: C = A B in f32, starting with one element per work-item. The table has one row per step. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/ladder.h"
#include "bench/measure.h"
#include "runtime/backend/opencl/stream.h"

extern const char hx__cl_ladder_matmul[];

#define SECONDS 3.0

/* Each step includes the steps before it. A work-group computes tile_m x tile_n elements of C, tile_k steps of k at a
 * time. */
static const struct step {
  const char *name;
  unsigned local[2], tile_m, tile_n, tile_k;
  cl_ulong local_bytes;
  bool nvidia; /* uses instructions that only NVIDIA GPUs have */
} steps[] = {
    {"naive", {16, 16}, 16, 16, 1, 0, false},
    {"local tile", {16, 16}, 16, 16, 16, 2048, false},
    {"128-bit reads", {16, 16}, 16, 64, 16, 5120, false},
    {"register tile", {256, 1}, 128, 128, 16, 16640, false},
    {"cp.async", {256, 1}, 128, 128, 16, 33280, true},
};

#define STEPS (sizeof steps / sizeof steps[0])

typedef struct step_run {
  ladder_product *product;
  const struct step *step;
  cl_kernel kernel;
} step_run;

static cl_int launch_step(const step_run *p, cl_command_queue queue, cl_event *event) {
  const struct step *s = p->step;
  const size_t local[2] = {s->local[0], s->local[1]};
  const size_t global[2] = {p->product->n / s->tile_n * local[0], p->product->m / s->tile_m * local[1]};
  return clEnqueueNDRangeKernel(queue, p->kernel, 2, NULL, global, local, 0, NULL, event);
}

static double call_step(ladder_rung *rung, double *event) {
  const step_run *p = rung->self;
  const ladder_device *device = p->product->device;
  cl_event done = NULL;
  cl_int code = launch_step(p, device->timed, &done);
  if (code == CL_SUCCESS) code = clFinish(device->timed);
  *event = ladder_span(&done, 1);
  double start = bench_now();
  if (code == CL_SUCCESS) code = launch_step(p, device->queue, NULL);
  if (code == CL_SUCCESS) code = clFinish(device->queue);
  double seconds = bench_now() - start;
  if (code != CL_SUCCESS) ladder_out(rung, "%s", hx__cl_code_name(code));
  return code == CL_SUCCESS ? seconds : -1;
}

static bool fetch_product(ladder_rung *rung) {
  ladder_rung product = {.self = ((const step_run *)rung->self)->product};
  return ladder_product_fetch(&product);
}

static void add_step(ladder_case *c, const struct step *step, const ladder_kernel *built) {
  ladder_rung *rung = ladder_add_owner(c, step->name, call_step, sizeof(step_run));
  ladder_product *product = c->product;
  rung->fetch = fetch_product;
  if (rung->out) return;
  *(step_run *)rung->self = (step_run){product, step, built->kernel};
  const cl_uint sides[3] = {(cl_uint)c->m, (cl_uint)c->n, (cl_uint)c->k};
  cl_mem arrays[3] = {product->da, product->db, product->dc};
  if (!built->kernel) {
    ladder_out(rung, "%s", built->why);
  } else if (c->m % step->tile_m || c->n % step->tile_n || c->k % step->tile_k) {
    ladder_out(rung, "takes multiples of its tile, %ux%ux%u", step->tile_m, step->tile_n, step->tile_k);
  } else {
    for (cl_uint i = 0; i < 3; i++) {
      clSetKernelArg(built->kernel, i, sizeof arrays[i], &arrays[i]);
      clSetKernelArg(built->kernel, 3 + i, sizeof sides[i], &sides[i]);
    }
  }
}

static void build_step(const ladder_device *device, size_t s, ladder_kernel *kernel) {
  const struct step *const step = &steps[s];
  char options[32], *why = kernel->why;
  const size_t bytes = sizeof kernel->why;
  snprintf(options, sizeof options, "-DSTEP=%zu", s);
  if (step->nvidia && !device->nvidia)
    snprintf(why, bytes, "only NVIDIA GPUs have cp.async");
  else if ((size_t)step->local[0] * step->local[1] > device->max_local)
    snprintf(why, bytes, "work-groups of this device have at most %zu items", device->max_local);
  else if (step->local_bytes > device->local_bytes)
    snprintf(why, bytes, "this device has less than %llu bytes of local memory", (unsigned long long)step->local_bytes);
  else
    ladder_kernel_build(device, hx__cl_ladder_matmul, options, "product", kernel);
}

/* The steps and cuBLAS use 32-bit sizes. */
static bool sides_fit(const bench_size *s) {
  if (s->m <= INT32_MAX && s->n <= INT32_MAX && s->k <= INT32_MAX) return true;
  fprintf(stderr, "hx-bench: ladder matmul takes sides below 2^31, not %zux%zux%zu\n", s->m, s->n, s->k);
  return false;
}

/* Of the default sizes, CPUs get the small ones and GPUs the large ones. */
static bool is_size_of_device(const bench_options *options, const ladder_device *device, const bench_size *size) {
  return options->size_count || (device->cpu ? size->m <= 1024 : size->m >= 1024);
}

static bool run_size(bench_session *session, const ladder_device *device, const ladder_kernel *kernels,
                     const bench_size *size) {
  static ladder_case c;
  ladder_product p;
  if (!sides_fit(size) || !ladder_product_open(&p, device, size)) return false;
  ladder_case_of_product(&c, "matmul", "naive", &p);
  for (size_t s = 0; s < STEPS; s++) add_step(&c, &steps[s], &kernels[s]);
  const hx_task task = hx_matmul(p.m, p.n, p.k, p.a, p.b, p.got);
  ladder_hx_rungs(device, &c, &task);
  ladder_clblast_rung(&c, &p);
  ladder_cublas_rung(&c, &p);
  const bool fine = ladder_run(session, &c, SECONDS);
  ladder_product_close(&p);
  return fine;
}

bool ladder_matmul(bench_session *session, size_t index, const void *what) {
  const bench_tasks *const tasks = what;
  ladder_device device;
  ladder_kernel kernels[STEPS] = {{NULL, ""}};
  bool fine = true;
  if (!ladder_device_open(&device, session, index)) return false;
  for (size_t s = 0; s < STEPS; s++) build_step(&device, s, &kernels[s]);
  for (size_t i = 0; fine && i < tasks->count && !bench_stopped(); i++)
    if (is_size_of_device(session->options, &device, &tasks->task[i].size))
      fine = run_size(session, &device, kernels, &tasks->task[i].size);
  ladder_kernels_release(kernels, STEPS);
  ladder_device_close(&device);
  return fine;
}
