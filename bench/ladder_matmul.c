/* SPDX-License-Identifier: Apache-2.0
 * `ladder matmul`: C = A B in f32, from one element an item on. One row a step. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/ladder.h"
#include "bench/measure.h"

extern const char hx__cl_ladder_matmul[];

#define SECONDS 3.0

/* Each step keeps what the ones before it brought. A group of local items does tile_m x tile_n elements of C, tile_k
 * steps of k at a time. */
static const struct step {
  const char *name;
  unsigned local[2], tile_m, tile_n, tile_k;
  cl_ulong local_bytes;
  bool nvidia; /* uses instructions that only NVIDIA has */
} steps[] = {
    {"naive", {16, 16}, 16, 16, 1, 0, false},
    {"local tile", {16, 16}, 16, 16, 16, 2048, false},
    {"128-bit reads", {16, 16}, 16, 64, 16, 5120, false},
    {"register tile", {256, 1}, 128, 128, 16, 16640, false},
    {"cp.async", {256, 1}, 128, 128, 16, 33280, true},
};

#define STEPS (sizeof steps / sizeof steps[0])

typedef struct kernels {
  cl_program program[STEPS];
  cl_kernel kernel[STEPS];
  char why[STEPS][128];
} kernels;

typedef struct step_run {
  ladder_product *product;
  const struct step *step;
  cl_kernel kernel;
} step_run;

static cl_int launch(const step_run *p, cl_command_queue queue, cl_event *event) {
  const struct step *s = p->step;
  const size_t local[2] = {s->local[0], s->local[1]};
  const size_t global[2] = {p->product->n / s->tile_n * local[0], p->product->m / s->tile_m * local[1]};
  return clEnqueueNDRangeKernel(queue, p->kernel, 2, NULL, global, local, 0, NULL, event);
}

static double call(ladder_rung *rung, double *event) {
  const step_run *p = rung->self;
  const ladder_device *device = p->product->device;
  cl_event done = NULL;
  cl_int code = launch(p, device->timed, &done);
  if (code == CL_SUCCESS) code = clFinish(device->timed);
  *event = ladder_span(&done, 1);
  double start = bench_now();
  if (code == CL_SUCCESS) code = launch(p, device->queue, NULL);
  if (code == CL_SUCCESS) code = clFinish(device->queue);
  double seconds = bench_now() - start;
  char name[64];
  if (code != CL_SUCCESS) ladder_out(rung, "%s", ladder_error_name(code, name, sizeof name));
  return code == CL_SUCCESS ? seconds : -1;
}

static bool fetch(ladder_rung *rung) {
  ladder_rung product = {.self = ((const step_run *)rung->self)->product};
  return ladder_product_fetch(&product);
}

static void close_rung(ladder_rung *rung) { free(rung->self); }

static void add_step(ladder_case *c, kernels *k, size_t s) {
  ladder_rung *rung = ladder_add(c, steps[s].name);
  ladder_product *product = c->product;
  step_run *p = calloc(1, sizeof *p);
  rung->self = p;
  rung->call = call;
  rung->fetch = fetch;
  rung->close = close_rung;
  if (!p) {
    ladder_out(rung, "there is no memory");
    return;
  }
  *p = (step_run){product, &steps[s], k->kernel[s]};
  const cl_uint sides[3] = {(cl_uint)c->m, (cl_uint)c->n, (cl_uint)c->k};
  cl_mem arrays[3] = {product->da, product->db, product->dc};
  if (!k->kernel[s]) {
    ladder_out(rung, "%s", k->why[s]);
  } else if (c->m % steps[s].tile_m || c->n % steps[s].tile_n || c->k % steps[s].tile_k) {
    ladder_out(rung, "takes multiples of its tile, %ux%ux%u", steps[s].tile_m, steps[s].tile_n, steps[s].tile_k);
  } else {
    for (cl_uint i = 0; i < 3; i++) {
      clSetKernelArg(k->kernel[s], i, sizeof arrays[i], &arrays[i]);
      clSetKernelArg(k->kernel[s], 3 + i, sizeof sides[i], &sides[i]);
    }
  }
}

static void build(const ladder_device *device, kernels *k) {
  *k = (kernels){.kernel = {NULL}};
  for (size_t s = 0; s < STEPS; s++) {
    char options[32], name[64], *why = k->why[s];
    const size_t bytes = sizeof k->why[s];
    cl_int code;
    if (steps[s].nvidia && !device->nvidia) {
      snprintf(why, bytes, "cp.async is an instruction of NVIDIA's alone");
    } else if ((size_t)steps[s].local[0] * steps[s].local[1] > device->max_local) {
      snprintf(why, bytes, "work-groups of this device have at most %zu items", device->max_local);
    } else if (steps[s].local_bytes > device->local_bytes) {
      snprintf(why, bytes, "this device has less than %llu bytes of local memory",
               (unsigned long long)steps[s].local_bytes);
    } else {
      snprintf(options, sizeof options, "-DSTEP=%zu", s);
      k->program[s] = ladder_build(device, hx__cl_ladder_matmul, options, why, bytes);
      if (k->program[s]) k->kernel[s] = clCreateKernel(k->program[s], "product", &code);
      if (k->program[s] && !k->kernel[s]) snprintf(why, bytes, "%s", ladder_error_name(code, name, sizeof name));
    }
  }
}

static void release(kernels *k) {
  for (size_t s = 0; s < STEPS; s++) {
    if (k->kernel[s]) clReleaseKernel(k->kernel[s]);
    if (k->program[s]) clReleaseProgram(k->program[s]);
  }
}

static size_t list_sizes(const bench_options *options, const ladder_device *device, bench_size sizes[BENCH_MAX_SIZES]) {
  static const size_t small[] = {256, 512, 1024}, large[] = {1024, 2048, 4096, 8192};
  size_t count = 0;
  for (size_t i = 0; i < options->size_count; i++) {
    bench_size size = options->sizes[i];
    if (!size.m) size.m = size.k = size.n;
    sizes[count++] = size;
  }
  if (count) return count;
  const size_t *sides = device->cpu ? small : large;
  const size_t sides_count = device->cpu ? sizeof small / sizeof small[0] : sizeof large / sizeof large[0];
  for (size_t i = 0; i < sides_count; i++) sizes[count++] = (bench_size){sides[i], sides[i], sides[i], 0, 0, 0};
  return count;
}

/* The steps and cuBLAS count in 32 bits. */
static bool sides_fit(const bench_size *s) {
  if (s->m <= INT32_MAX && s->n <= INT32_MAX && s->k <= INT32_MAX) return true;
  fprintf(stderr, "hx-bench: ladder matmul takes sides below 2^31, not %zux%zux%zu\n", s->m, s->n, s->k);
  return false;
}

bool ladder_matmul(bench_session *session, size_t index) {
  static ladder_case c;
  static bench_size sizes[BENCH_MAX_SIZES];
  ladder_device device;
  kernels k;
  if (!ladder_device_open(&device, session, index)) return false;
  const size_t count = list_sizes(session->options, &device, sizes);
  ladder_hx *hx = ladder_hx_open(index);
  build(&device, &k);
  bool fine = hx != NULL;
  for (size_t i = 0; fine && i < count && !bench_stopped(); i++) {
    ladder_product p;
    fine = sides_fit(&sizes[i]) && ladder_product_open(&p, &device, &sizes[i]);
    if (!fine) break;
    c = (ladder_case){.ladder = "matmul", .unit = "GFLOP/s", .base = "naive", .device = device.info};
    c.m = p.m, c.n = p.n, c.k = p.k;
    c.work = 2e-9 * (double)p.m * (double)p.n * (double)p.k;
    c.product = &p;
    for (size_t s = 0; s < STEPS; s++) add_step(&c, &k, s);
    const hx_task task = hx_matmul(p.m, p.n, p.k, p.a, p.b, p.got);
    ladder_hx_rungs(hx, &c, &task);
    ladder_clblast_rung(&c, &p);
    ladder_cublas_rung(&c, &p);
    fine = ladder_run(session, &c, SECONDS);
    ladder_product_close(&p);
  }
  release(&k);
  ladder_hx_close(hx);
  ladder_device_close(&device);
  return fine;
}
