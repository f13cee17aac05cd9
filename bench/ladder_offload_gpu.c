/* SPDX-License-Identifier: Apache-2.0
 * The kernels of the product of `ladder offload` on one device: an element per work-item, a row, and a tile, of the
 * study's size or those of --tiles. As with hx, arrays are in host memory before and after a call, so copies count. */
#include "bench/ladder_offload.h"

#include <math.h>

#include "bench/measure.h"
#include "runtime/backend/opencl/stream.h"

extern const char hx__cl_ladder_matmul[], hx__cl_ladder_offload[];

#define FEW_ROWS 32u
#define MOST_TILES 32u /* of a work-group */

static const size_t square[2] = {16, 16};
static const bench_tile study = {16, 32, 16};

#define ORDINARY "GPU, ordinary kernel"
#define FLAT "GPU, row per item"

/* The kernels of one size; those of tiles follow. */
static const struct fixed {
  ladder_gpu_step step;
  const char *source, *options;
} fixed[] = {
    {{.name = ORDINARY, .item_m = 1, .item_n = 1, .tile = {16, 16, 1}, .local = square},
     hx__cl_ladder_matmul,
     "-DSTEP=0"},
    {{.name = FLAT, .item_m = 1, .tile = {1, 1, 1}, .against = ORDINARY}, hx__cl_ladder_offload, "-DFLAT=1"},
    {{.name = FLAT ", restrict", .item_m = 1, .tile = {1, 1, 1}, .against = FLAT},
     hx__cl_ladder_offload,
     "-DFLAT=1 -DRESTRICT=1"},
};

_Static_assert(sizeof fixed / sizeof fixed[0] == LADDER_GPU_STEPS, "room for each, and for tiles");

typedef struct gpu_run {
  const ladder_product *product;
  const ladder_gpu_step *step;
  size_t rows; /* of C that are computed */
} gpu_run;

static cl_int copy_in(const ladder_product *p, cl_command_queue queue) {
  const cl_int code = clEnqueueWriteBuffer(queue, p->da, CL_FALSE, 0, p->m * p->k * sizeof(float), p->a, 0, NULL, NULL);
  if (code != CL_SUCCESS) return code;
  return clEnqueueWriteBuffer(queue, p->db, CL_FALSE, 0, p->k * p->n * sizeof(float), p->b, 0, NULL, NULL);
}

/* The work-group. That of a tile is a row of few items: PoCL keeps the arrays of all items of a group on the stack of a
 * thread, and ends the process if they are too many for it. */
static const size_t *group_for(const gpu_run *g, const size_t global[2], size_t own[2]) {
  const size_t most = g->product->device->max_local < MOST_TILES ? g->product->device->max_local : MOST_TILES;
  if (g->step->local || !g->step->item_n) return g->step->local;
  own[0] = own[1] = 1;
  while (2 * own[0] <= most && global[0] % (2 * own[0]) == 0) own[0] *= 2;
  return own;
}

static double call_gpu(ladder_rung *rung, double *event) {
  const gpu_run *const g = rung->self;
  const ladder_product *const p = g->product;
  const cl_command_queue queue = p->device->queue;
  const size_t global[2] = {g->step->item_n ? p->n / g->step->item_n : 1, g->rows / g->step->item_m};
  size_t own[2];
  const double start = bench_now();
  cl_int code = copy_in(p, queue);
  if (code == CL_SUCCESS)
    code = clEnqueueNDRangeKernel(queue, g->step->kernel.kernel, 2, NULL, global, group_for(g, global, own), 0, NULL,
                                  NULL);
  if (code == CL_SUCCESS)
    code = clEnqueueReadBuffer(queue, p->dc, CL_FALSE, 0, p->m * p->n * sizeof(float), p->got, 0, NULL, NULL);
  const cl_int finished = clFinish(queue); /* nothing may be in flight after an error, either */
  const double seconds = bench_now() - start;
  if (code == CL_SUCCESS) code = finished;
  *event = NAN;
  if (code != CL_SUCCESS) ladder_out(rung, "%s", hx__cl_code_name(code));
  return code == CL_SUCCESS ? seconds : -1;
}

static void set_arguments(const ladder_product *p, cl_kernel kernel) {
  const cl_uint sides[3] = {(cl_uint)p->m, (cl_uint)p->n, (cl_uint)p->k};
  const cl_mem arrays[3] = {p->da, p->db, p->dc};
  for (cl_uint i = 0; i < 3; i++) {
    clSetKernelArg(kernel, i, sizeof arrays[i], &arrays[i]);
    clSetKernelArg(kernel, 3 + i, sizeof sides[i], &sides[i]);
  }
}

/* About how long a call takes, by one on few rows of C. Only drivers that run on the CPU are asked, because they alone
 * are slow enough; copies, which are not fewer, weigh little there. */
static double seconds_of(ladder_rung *rung) {
  gpu_run *const g = rung->self;
  const size_t least = FEW_ROWS / g->step->item_m * g->step->item_m, all = g->rows;
  const size_t few = all < least ? all : least > 0 ? least : g->step->item_m;
  double unused, seconds = 0;
  if (!g->product->device->cpu) return 0;
  g->rows = few;
  for (int i = 0; i < 2 && seconds >= 0; i++) seconds = call_gpu(rung, &unused); /* the first call is slow */
  g->rows = all;
  return seconds * ((double)all / (double)few);
}

static void gpu_rung(ladder_case *c, const ladder_gpu_step *step) {
  ladder_product *const p = c->product;
  ladder_rung *const rung = ladder_add_owner(c, step->name, call_gpu, sizeof(gpu_run));
  const bench_tile *const tile = &step->tile;
  rung->against = step->against;
  if (rung->out) return;
  *(gpu_run *)rung->self = (gpu_run){p, step, p->m};
  if (!p->device) {
    ladder_out(rung, "no OpenCL device is in use");
  } else if (!step->kernel.kernel) {
    ladder_out(rung, "%s", step->kernel.why);
  } else if (c->m % tile->m || c->n % tile->n || c->k % tile->k) {
    ladder_out(rung, "takes multiples of its tile, %ux%ux%u", tile->m, tile->n, tile->k);
  } else if (c->m > UINT32_MAX || c->n > UINT32_MAX || c->k > UINT32_MAX) {
    ladder_out(rung, "takes sides below 2^32");
  } else {
    set_arguments(p, step->kernel.kernel);
    const double seconds = seconds_of(rung);
    if (seconds > LADDER_LONGEST_CALL)
      ladder_out(rung, "a call would take about %.0f s; --size 512x512x512 is shorter", seconds);
    else if (!rung->out)
      snprintf(rung->note, sizeof rung->note, "on %.80s, with copies%s", p->device->label, step->held);
  }
}

void ladder_gpu_rungs(ladder_case *c, const ladder_gpu_kernels *kernels) {
  for (size_t i = 0; i < kernels->count; i++) gpu_rung(c, &kernels->step[i]);
}

/* The kernel of a tile. The study's has a name that its published figure goes with. */
static void add_tile(const ladder_device *device, const bench_tile *tile, ladder_gpu_kernels *kernels) {
  ladder_gpu_step *const step = &kernels->step[kernels->count++];
  const bool published = tile->m == study.m && tile->n == study.n && tile->k == study.k;
  char options[80];
  *step = (ladder_gpu_step){.item_m = tile->m, .item_n = tile->n, .tile = *tile};
  if (published)
    snprintf(step->name, sizeof step->name, LADDER_GPU_TILE);
  else
    snprintf(step->name, sizeof step->name, "GPU, tile %ux%ux%u", tile->m, tile->n, tile->k);
  if (!published) step->against = LADDER_GPU_TILE;
  snprintf(step->held, sizeof step->held, "; A, B and C take %zu B of an item",
           (tile->m * tile->k + tile->n + tile->m * tile->n) * sizeof(float));
  snprintf(options, sizeof options, "-DM=%u -DN=%u -DK=%u", tile->m, tile->n, tile->k);
  if (device) ladder_kernel_build(device, hx__cl_ladder_offload, options, "product", &step->kernel);
}

void ladder_gpu_kernels_build(const ladder_device *device, const bench_options *options, ladder_gpu_kernels *kernels) {
  *kernels = (ladder_gpu_kernels){.count = 0};
  for (size_t i = 0; i < LADDER_GPU_STEPS; i++) {
    ladder_gpu_step *const step = &kernels->step[kernels->count++];
    *step = fixed[i].step;
    if (device && step->local && device->max_local < step->local[0] * step->local[1])
      snprintf(step->kernel.why, sizeof step->kernel.why, "work-groups of this device have at most %zu items",
               device->max_local);
    else if (device)
      ladder_kernel_build(device, fixed[i].source, fixed[i].options, "product", &step->kernel);
  }
  for (size_t i = 0; i < options->tile_count; i++) add_tile(device, &options->tiles[i], kernels);
  if (!options->tile_count) add_tile(device, &study, kernels);
}

void ladder_gpu_kernels_release(ladder_gpu_kernels *kernels) {
  for (size_t i = 0; i < kernels->count; i++) ladder_kernels_release(&kernels->step[i].kernel, 1);
}
