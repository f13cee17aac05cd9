/* SPDX-License-Identifier: Apache-2.0
 * The kernels of the reductions of `ladder offload` on one device, each a row. As with hx, arrays are in host memory
 * before a call and copies count, except for the rung whose memory is pinned. The host adds what groups have added. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/ladder_arrays.h"
#include "bench/measure.h"
#include "runtime/backend/opencl/stream.h"

extern const char hx__cl_ladder_offload_sums[];

#define LOCAL 64u
#define TILE 512u /* elements of an item */
#define POISON 0xa5u
#define GATHERS "GPU, 4-byte gathers"
#define PINNED "GPU, pinned" /* its data are those of the host, as in the rungs that are compared with it */

static const struct row {
  const char *name;
  unsigned kinds; /* bits of ladder_sum_kind */
  unsigned run;   /* elements of an item */
  ladder_copy copy;
  bool aligned, pinned; /* aligned: the compiler is promised it */
  bool gather;
  const char *against;
} rows[] = {
    {"GPU, ordinary kernel", LADDER_ANY_SUM, 1, .against = NULL},
    {LADDER_GPU_TILE, LADDER_ANY_SUM, TILE, .against = NULL},
    {PINNED, LADDER_ANY_SUM, TILE, .pinned = true, .against = LADDER_GPU_TILE},
    {"GPU, aligned loads", LADDER_SUM, TILE, .aligned = true, .pinned = true, .against = PINNED},
    {"GPU, not aligned", LADDER_SUM, TILE, .copy = LADDER_OFF, .pinned = true, .against = PINNED},
    {"GPU, 2-byte elements", LADDER_SUM, TILE, .copy = LADDER_2_BYTES, .pinned = true, .against = PINNED},
    {"GPU, 1-byte elements", LADDER_SUM, TILE, .copy = LADDER_1_BYTE, .pinned = true, .against = PINNED},
    {GATHERS, LADDER_SUM, TILE, .pinned = true, .gather = true, .against = PINNED},
    {"GPU, 2-byte gathers", LADDER_SUM, TILE, .copy = LADDER_2_BYTES, .pinned = true, .gather = true,
     .against = GATHERS},
    {"GPU, 1-byte gathers", LADDER_SUM, TILE, .copy = LADDER_1_BYTE, .pinned = true, .gather = true,
     .against = GATHERS},
    {"GPU, AoS", LADDER_SOA, TILE, .copy = LADDER_STRUCTS, .pinned = true, .against = PINNED},
};

typedef struct gpu_run {
  const ladder_sum_kernels *shared;
  const struct row *row;
  ladder_kernel kernel;
  cl_mem pinned; /* NULL: the data are copied */
  size_t groups;
} gpu_run;

static size_t groups_for(const ladder_sum_kernels *k, unsigned run) {
  const size_t each = k->local * run;
  return (k->arrays->n + each - 1) / each;
}

/* The copy whose first element is 4 bytes behind a page is used from that page on, so that its elements have the same
 * places in a buffer. */
static size_t gap_of(const struct row *row) { return row->copy == LADDER_OFF ? sizeof(cl_uint) : 0; }
static char *start_of(const gpu_run *g) { return (char *)g->shared->arrays->copy[g->row->copy] - gap_of(g->row); }
static size_t bytes_of(const gpu_run *g) {
  return g->shared->arrays->bytes / sizeof(cl_uint) * ladder_copy_width(g->row->copy) + gap_of(g->row);
}

/* Overwrites the last sums of groups. Pinned memory goes to the host, which would now write it. */
static cl_int prepare(const gpu_run *g, cl_command_queue queue, void **mapped) {
  const ladder_sum_kernels *const k = g->shared;
  const size_t bytes = g->groups * k->arrays->sums * sizeof(cl_uint);
  cl_int code;
  memset(k->partial, POISON, bytes);
  code = clEnqueueWriteBuffer(queue, k->part, CL_TRUE, 0, bytes, k->partial, 0, NULL, NULL);
  if (code == CL_SUCCESS && g->pinned)
    *mapped = clEnqueueMapBuffer(queue, g->pinned, CL_TRUE, CL_MAP_WRITE, 0, bytes_of(g), 0, NULL, NULL, &code);
  return code;
}

/* Gives the data to the device. */
static cl_int bring(const gpu_run *g, cl_command_queue queue, void *mapped) {
  if (g->pinned) return clEnqueueUnmapMemObject(queue, g->pinned, mapped, 0, NULL, NULL);
  return clEnqueueWriteBuffer(queue, g->shared->data, CL_FALSE, 0, bytes_of(g), start_of(g), 0, NULL, NULL);
}

static cl_int launch(const gpu_run *g, cl_command_queue queue) {
  const ladder_sum_kernels *const k = g->shared;
  const size_t global = g->groups * k->local, bytes = g->groups * k->arrays->sums * sizeof(cl_uint);
  const cl_int code = clEnqueueNDRangeKernel(queue, g->kernel.kernel, 1, NULL, &global, &k->local, 0, NULL, NULL);
  if (code != CL_SUCCESS) return code;
  return clEnqueueReadBuffer(queue, k->part, CL_FALSE, 0, bytes, k->partial, 0, NULL, NULL);
}

static double call_gpu(ladder_rung *rung, double *event) {
  const gpu_run *const g = rung->self;
  const ladder_sum_kernels *const k = g->shared;
  const cl_command_queue queue = k->arrays->device->queue;
  void *mapped = NULL;
  cl_int code = prepare(g, queue, &mapped);
  const double start = bench_now();
  if (code == CL_SUCCESS) code = bring(g, queue, mapped);
  if (code == CL_SUCCESS) code = launch(g, queue);
  const cl_int finished = clFinish(queue); /* nothing may be in flight after an error, either */
  for (size_t s = 0; s < k->arrays->sums; s++) {
    rung->result[s] = 0;
    for (size_t i = 0; i < g->groups; i++) rung->result[s] += k->partial[s * g->groups + i];
  }
  const double seconds = bench_now() - start;
  if (code == CL_SUCCESS) code = finished;
  *event = NAN;
  if (code != CL_SUCCESS) ladder_out(rung, "%s", hx__cl_code_name(code));
  return code == CL_SUCCESS ? seconds : -1;
}

static void close_gpu(ladder_rung *rung) {
  gpu_run *const g = rung->self;
  if (!g) return;
  ladder_kernels_release(&g->kernel, 1);
  if (g->pinned) clReleaseMemObject(g->pinned);
}

static void build(gpu_run *g) {
  static const char *const types[] = {[1] = "uchar", [2] = "ushort", [4] = "uint"};
  const ladder_sum_kernels *const k = g->shared;
  const ladder_arrays *const a = k->arrays;
  char options[160];
  snprintf(options, sizeof options,
           "-DTYPE=%s -DRUN=%u -DLOCAL=%zu -DSUMS=%zu -DDOT=%d -DSTRUCTS=%d -DALIGNED=%d -DGATHER=%u -DSTEP=%u",
           types[ladder_copy_width(g->row->copy)], g->row->run, k->local, a->sums, a->kind == LADDER_DOT,
           g->row->copy == LADDER_STRUCTS, g->row->aligned, g->row->gather ? LADDER_GATHER_BLOCK : 0,
           LADDER_GATHER_STEP);
  ladder_kernel_build(a->device, hx__cl_ladder_offload_sums, options, "sums", &g->kernel);
}

static void set_arguments(const gpu_run *g) {
  const ladder_sum_kernels *const k = g->shared;
  const cl_ulong numbers[3] = {g->row->copy == LADDER_OFF, k->arrays->pitch, k->arrays->n};
  const cl_mem data = g->pinned ? g->pinned : k->data;
  clSetKernelArg(g->kernel.kernel, 0, sizeof data, &data);
  for (cl_uint i = 0; i < 3; i++) clSetKernelArg(g->kernel.kernel, 1 + i, sizeof numbers[i], &numbers[i]);
  clSetKernelArg(g->kernel.kernel, 4, sizeof k->part, &k->part);
}

/* Makes the host's own memory a buffer, if the row asks for it. */
static bool pin(gpu_run *g) {
  cl_int code;
  if (g->row->pinned)
    g->pinned = clCreateBuffer(g->shared->arrays->device->context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, bytes_of(g),
                               start_of(g), &code);
  return !g->row->pinned || g->pinned;
}

static void gpu_rung(ladder_case *c, const ladder_sum_kernels *shared, const struct row *row) {
  const ladder_device *const device = shared->arrays->device;
  ladder_rung *const rung = ladder_add_owner(c, row->name, call_gpu, sizeof(gpu_run));
  gpu_run *const g = rung->self;
  rung->against = row->against;
  rung->close = close_gpu;
  if (rung->out) return;
  *g = (gpu_run){.shared = shared, .row = row};
  if (!device) {
    ladder_out(rung, "no OpenCL device is in use");
  } else if (!shared->part || !shared->data || !pin(g)) {
    ladder_out(rung, "there is no room for the arrays");
  } else {
    g->groups = groups_for(shared, row->run);
    build(g);
    if (!g->kernel.kernel) {
      ladder_out(rung, "%s", g->kernel.why);
      return;
    }
    set_arguments(g);
    snprintf(rung->note, sizeof rung->note, "on %.80s, with%s copies", device->label, row->pinned ? "out" : "");
  }
}

static void open_kernels(ladder_sum_kernels *k, const ladder_arrays *arrays) {
  const ladder_device *const device = arrays->device;
  cl_int code;
  *k = (ladder_sum_kernels){.arrays = arrays, .local = LOCAL};
  if (!device) return;
  while (k->local > device->max_local) k->local /= 2;
  const size_t sums = groups_for(k, 1) * arrays->sums * sizeof(cl_uint);
  k->partial = malloc(sums);
  k->data = clCreateBuffer(device->context, CL_MEM_READ_ONLY, arrays->bytes + sizeof(cl_uint), NULL, &code);
  if (k->partial) k->part = clCreateBuffer(device->context, CL_MEM_READ_WRITE, sums, NULL, &code);
}

void ladder_sum_gpu_rungs(ladder_case *c, const ladder_arrays *arrays, ladder_sum_kernels *kernels) {
  open_kernels(kernels, arrays);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (rows[i].kinds & arrays->kind) gpu_rung(c, kernels, &rows[i]);
}

void ladder_sum_kernels_close(ladder_sum_kernels *k) {
  const cl_mem buffers[] = {k->data, k->part};
  for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
    if (buffers[i]) clReleaseMemObject(buffers[i]);
  free(k->partial);
}
