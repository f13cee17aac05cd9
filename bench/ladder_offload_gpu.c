/* SPDX-License-Identifier: Apache-2.0
 * The kernels of `ladder offload` on one device: the ordinary one, an element per work-item, and a tile per work-item.
 * As with hx, arrays are in host memory before and after a call, so copies count. */
#include "bench/ladder_offload.h"

#include <math.h>

#include "bench/measure.h"
#include "runtime/backend/opencl/stream.h"

extern const char hx__cl_ladder_matmul[], hx__cl_ladder_offload[];

#define FEW_ROWS 32u /* a multiple of the tiles */

static const size_t square[2] = {16, 16};

static const struct gpu_step {
  const char *name;
  unsigned item_m, item_n;         /* the elements of a work-item */
  unsigned tile_m, tile_n, tile_k; /* the sides are multiples of these */
  const size_t *local;             /* NULL: as the driver likes */
} ordinary = {"GPU, ordinary kernel", 1, 1, 16, 16, 1, square},
  tiled = {"GPU, tile per item", 16, 32, 16, 32, 16, NULL};

typedef struct gpu_run {
  const ladder_product *product;
  const struct gpu_step *step;
  cl_kernel kernel;
  size_t rows; /* of C that are computed */
} gpu_run;

static cl_int copy_in(const ladder_product *p, cl_command_queue queue) {
  const cl_int code = clEnqueueWriteBuffer(queue, p->da, CL_FALSE, 0, p->m * p->k * sizeof(float), p->a, 0, NULL, NULL);
  if (code != CL_SUCCESS) return code;
  return clEnqueueWriteBuffer(queue, p->db, CL_FALSE, 0, p->k * p->n * sizeof(float), p->b, 0, NULL, NULL);
}

static double call_gpu(ladder_rung *rung, double *event) {
  const gpu_run *const g = rung->self;
  const ladder_product *const p = g->product;
  const cl_command_queue queue = p->device->queue;
  const size_t global[2] = {p->n / g->step->item_n, g->rows / g->step->item_m};
  const double start = bench_now();
  cl_int code = copy_in(p, queue);
  if (code == CL_SUCCESS)
    code = clEnqueueNDRangeKernel(queue, g->kernel, 2, NULL, global, g->step->local, 0, NULL, NULL);
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
  const size_t all = g->rows, few = all < FEW_ROWS ? all : FEW_ROWS;
  double unused, seconds = 0;
  if (!g->product->device->cpu) return 0;
  g->rows = few;
  for (int i = 0; i < 2 && seconds >= 0; i++) seconds = call_gpu(rung, &unused); /* the first call is slow */
  g->rows = all;
  return seconds * ((double)all / (double)few);
}

static void gpu_rung(ladder_case *c, const struct gpu_step *step, const ladder_kernel *kernel) {
  ladder_product *const p = c->product;
  ladder_rung *const rung = ladder_add_owner(c, step->name, call_gpu, sizeof(gpu_run));
  if (rung->out) return;
  *(gpu_run *)rung->self = (gpu_run){p, step, kernel->kernel, p->m};
  if (!p->device) {
    ladder_out(rung, "no OpenCL device is in use");
  } else if (!kernel->kernel) {
    ladder_out(rung, "%s", kernel->why);
  } else if (c->m % step->tile_m || c->n % step->tile_n || c->k % step->tile_k) {
    ladder_out(rung, "takes multiples of its tile, %ux%ux%u", step->tile_m, step->tile_n, step->tile_k);
  } else if (c->m > UINT32_MAX || c->n > UINT32_MAX || c->k > UINT32_MAX) {
    ladder_out(rung, "takes sides below 2^32");
  } else {
    set_arguments(p, kernel->kernel);
    const double seconds = seconds_of(rung);
    if (seconds > LADDER_LONGEST_CALL)
      ladder_out(rung, "a call would take about %.0f s; --size 512 is shorter", seconds);
    else if (!rung->out)
      snprintf(rung->note, sizeof rung->note, "on %.80s, with copies", p->device->label);
  }
}

void ladder_gpu_rungs(ladder_case *c, const ladder_gpu_kernels *kernels) {
  gpu_rung(c, &ordinary, &kernels->naive);
  gpu_rung(c, &tiled, &kernels->tile);
}

void ladder_gpu_kernels_build(const ladder_device *device, ladder_gpu_kernels *kernels) {
  if (device->max_local < square[0] * square[1])
    snprintf(kernels->naive.why, sizeof kernels->naive.why, "work-groups of this device have at most %zu items",
             device->max_local);
  else
    ladder_kernel_build(device, hx__cl_ladder_matmul, "-DSTEP=0", "product", &kernels->naive);
  ladder_kernel_build(device, hx__cl_ladder_offload, "", "product", &kernels->tile);
}

void ladder_gpu_kernels_release(ladder_gpu_kernels *kernels) {
  ladder_kernels_release(&kernels->naive, 1);
  ladder_kernels_release(&kernels->tile, 1);
}
