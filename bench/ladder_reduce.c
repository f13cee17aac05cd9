/* SPDX-License-Identifier: Apache-2.0
 * `ladder reduce`: the sum of u32, starting with a naive tree. The table has one row per step. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/emit.h"
#include "bench/ladder.h"
#include "bench/measure.h"
#include "runtime/backend/opencl/stream.h"
#include "reference/data.h"
#include "reference/ref.h"

extern const char hx__cl_ladder_reduce[];

#define LOCAL 256u
#define GROUPS_A_UNIT 8u
#define SEED 9u
#define SECONDS 2.0
#define POISON 0xa5a5a5a5u

/* times: elements that a work-item adds before the tree; 0: as many as result from GROUPS_A_UNIT groups per compute
 * unit. */
static const struct step {
  const char *name, *kernel;
  unsigned times;
} steps[] = {
    {"naive", "naive", 1},
    {"divergence-free", "divergence_free", 1},
    {"conflict-free", "conflict_free", 1},
    {"unrolled", "unrolled", 1},
    {"local stride x8", "local_stride", 8},
    {"global stride x1", "global_stride", 1},
    {"global stride x2", "global_stride", 2},
    {"global stride x4", "global_stride", 4},
    {"global stride x8", "global_stride", 8},
    {"global stride x16", "global_stride", 16},
    {"global stride x32", "global_stride", 32},
    {"global stride x64", "global_stride", 64},
    {"global stride x128", "global_stride", 128},
    {"global stride x256", "global_stride", 256},
    {"three levels", "three_levels", 0},
};

#define STEPS (sizeof steps / sizeof steps[0])

/* Shared by all sizes: x in host and device memory, and a kernel for each step. */
typedef struct sum_data {
  const ladder_device *device;
  uint32_t *x;
  size_t most, local;
  cl_mem dx, part[2]; /* part: sums of groups, used alternately */
  ladder_kernel kernel[STEPS];
} sum_data;

typedef struct step_run {
  sum_data *f;
  const struct step *step;
  cl_kernel kernel;
  size_t n;
} step_run;

/* Launches until one sum is left, which is then in the buffer *last. */
static cl_int launch_passes(const step_run *p, cl_command_queue queue, cl_event *events, size_t *passes, cl_mem *last) {
  const sum_data *f = p->f;
  cl_mem from = f->dx;
  cl_int code = CL_SUCCESS;
  *passes = 0;
  for (size_t n = p->n; code == CL_SUCCESS && (n > 1 || *passes == 0) && *passes < LADDER_MOST_PASSES;) {
    const size_t block = f->local * (p->step->times ? p->step->times : 1);
    size_t groups = (n + block - 1) / block;
    const size_t resident = (size_t)GROUPS_A_UNIT * f->device->units;
    if (!p->step->times && *passes > 0) groups = 1;
    if (!p->step->times && groups > resident) groups = resident;
    const cl_ulong count = n;
    cl_mem to = f->part[*passes & 1];
    const size_t global = groups * f->local;
    code = clSetKernelArg(p->kernel, 0, sizeof from, &from);
    if (code == CL_SUCCESS) code = clSetKernelArg(p->kernel, 1, sizeof count, &count);
    if (code == CL_SUCCESS) code = clSetKernelArg(p->kernel, 2, sizeof to, &to);
    if (code == CL_SUCCESS)
      code = clEnqueueNDRangeKernel(queue, p->kernel, 1, NULL, &global, &f->local, 0, NULL,
                                    events ? &events[*passes] : NULL);
    if (code == CL_SUCCESS) ++*passes;
    n = groups;
    *last = from = to;
  }
  return code;
}

static cl_int spoil_partial_sums(const sum_data *f) {
  const cl_uint poison = POISON;
  cl_int code = CL_SUCCESS;
  for (int i = 0; i < 2 && code == CL_SUCCESS; i++)
    code = clEnqueueWriteBuffer(f->device->queue, f->part[i], CL_TRUE, 0, sizeof poison, &poison, 0, NULL, NULL);
  return code;
}

static double call_step(ladder_rung *rung, double *event) {
  const step_run *p = rung->self;
  cl_event events[LADDER_MOST_PASSES] = {NULL};
  size_t passes = 0;
  cl_mem last = NULL;
  cl_uint sum = POISON;
  cl_int code = launch_passes(p, p->f->device->timed, events, &passes, &last);
  if (code == CL_SUCCESS) code = clFinish(p->f->device->timed);
  *event = ladder_span(events, passes);
  if (code == CL_SUCCESS) code = spoil_partial_sums(p->f);
  double start = bench_now();
  if (code == CL_SUCCESS) code = launch_passes(p, p->f->device->queue, NULL, &passes, &last);
  if (code == CL_SUCCESS)
    code = clEnqueueReadBuffer(p->f->device->queue, last, CL_TRUE, 0, sizeof sum, &sum, 0, NULL, NULL);
  double seconds = bench_now() - start;
  rung->result = sum;
  if (code != CL_SUCCESS) ladder_out(rung, "%s", hx__cl_code_name(code));
  return code == CL_SUCCESS ? seconds : -1;
}

static void add_step(ladder_case *c, sum_data *f, size_t s) {
  ladder_rung *rung = ladder_add_owner(c, steps[s].name, call_step, sizeof(step_run));
  if (rung->out) return;
  *(step_run *)rung->self = (step_run){f, &steps[s], f->kernel[s].kernel, c->n};
  const size_t block = f->local * steps[s].times;
  if (!f->kernel[s].kernel)
    ladder_out(rung, "%s", f->kernel[s].why);
  else if (steps[s].times > 1 && block > c->n)
    ladder_out(rung, "less than one group's work");
}

static void build_step(sum_data *f, size_t s) {
  ladder_kernel *const kernel = &f->kernel[s];
  char options[64];
  snprintf(options, sizeof options, "-DLOCAL=%zu -DTIMES=%u", f->local, steps[s].times ? steps[s].times : 1);
  if (f->local < 2)
    snprintf(kernel->why, sizeof kernel->why, "work-groups of this device have one item");
  else
    ladder_kernel_build(f->device, hx__cl_ladder_reduce, options, steps[s].kernel, kernel);
}

static void close_data(sum_data *f) {
  ladder_kernels_release(f->kernel, STEPS);
  for (int i = 0; i < 2; i++)
    if (f->part[i]) clReleaseMemObject(f->part[i]);
  if (f->dx) clReleaseMemObject(f->dx);
  free(f->x);
}

/* Fills x with values from 1 to 7, or smaller ones if there are more than 2^28 elements. The sum then fits into 31
 * bits, so libraries that add in int give it exactly, and every missing element changes it. */
static bool open_data(sum_data *f, const ladder_device *device, size_t most) {
  *f = (sum_data){.device = device, .most = most, .local = LOCAL};
  while (f->local > device->max_local) f->local /= 2;
  const size_t bytes = (most * sizeof *f->x + 4095) & ~(size_t)4095;
  f->x = aligned_alloc(4096, bytes);
  if (!f->x) return false;
  unsigned top = 7;
  while (top > 1 && most > INT32_MAX / top) top /= 2;
  for (size_t i = 0; i < most; i++) f->x[i] = 1 + data_u(SEED, i) % top;
  cl_int code;
  f->dx = clCreateBuffer(device->context, CL_MEM_READ_ONLY, bytes, NULL, &code);
  for (int i = 0; i < 2; i++)
    f->part[i] =
        clCreateBuffer(device->context, CL_MEM_READ_WRITE, (most / f->local + 1) * sizeof(cl_uint), NULL, &code);
  if (!f->dx || !f->part[0] || !f->part[1]) return false;
  if (clEnqueueWriteBuffer(device->queue, f->dx, CL_TRUE, 0, most * sizeof *f->x, f->x, 0, NULL, NULL) != CL_SUCCESS)
    return false;
  for (size_t s = 0; s < STEPS; s++) build_step(f, s);
  return true;
}

/* hx's kernels compared with other libraries, as far as these have run. */
static void print_ratios(const ladder_case *c) {
  static const struct {
    const char *rung, *what;
    bool wall;
  } others[] = {{"OpenCV, CPU", "OpenCV on the CPU", true},
                {"OpenCV, OpenCL", "its OpenCL", true},
                {"CUB", "CUB", true},
                {"CUB", "CUB on the device", false}};
  char text[256] = "";
  size_t used = 0;
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    const double ratio = ladder_ratio(c, "hx, kernels", others[i].rung, others[i].wall);
    if (!isfinite(ratio)) continue;
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %.2fx", used ? ", " : "", others[i].what, ratio);
  }
  if (used) bench_note(0, "here, until the host has the sum: hx's kernels over %s", text);
}

static bool run_size(bench_session *session, sum_data *f, size_t n) {
  static ladder_case c;
  hx_value unused;
  const hx_task task = hx_reduce(HX_SUM, HX_U32, f->x, n, &unused);
  const uint64_t sum = ref_reduce(HX_SUM, HX_U32, f->x, NULL, n).u64;
  c = (ladder_case){.ladder = "reduce",
                    .unit = "GB/s",
                    .base = "naive",
                    .device = f->device->info,
                    .label = f->device->label,
                    .n = n,
                    .sum = &sum};
  c.work = 1e-9 * sizeof(uint32_t) * (double)n;
  for (size_t s = 0; s < STEPS; s++) add_step(&c, f, s);
  ladder_hx_rungs(f->device, &c, &task);
  ladder_opencv_rungs(&c, f->device, f->x, n, session->threads);
  ladder_cub_rung(&c, f->device, f->x, f->most);
  const bool fine = ladder_run(session, &c, SECONDS);
  print_ratios(&c);
  return fine;
}

/* Of the default sizes, those whose array fits into the device's memory. */
static bool is_size_of_device(const bench_options *options, const ladder_device *device, size_t n) {
  return options->size_count || n * sizeof(cl_uint) <= device->max_alloc;
}

/* The length of the longest sum. If it is too long, prints one sentence to stderr and returns SIZE_MAX. */
static size_t longest_sum(const bench_options *options, const bench_tasks *tasks, const ladder_device *device) {
  size_t most = 0;
  for (size_t i = 0; i < tasks->count; i++) {
    const size_t n = tasks->task[i].size.n;
    if (n > most && is_size_of_device(options, device, n)) most = n;
  }
  if (most <= INT32_MAX) return most;
  fprintf(stderr, "hx-bench: ladder reduce takes sums of less than 2^31 elements, not %zu\n", most);
  return SIZE_MAX;
}

bool ladder_reduce(bench_session *session, size_t index, const void *what) {
  const bench_tasks *const tasks = what;
  ladder_device device;
  if (!ladder_device_open(&device, session, index)) return false;
  const size_t most = longest_sum(session->options, tasks, &device);
  bool fine = most != SIZE_MAX;
  if (fine) {
    sum_data f;
    fine = open_data(&f, &device, most);
    if (!fine) fprintf(stderr, "hx-bench: device %zu has no room for %zu elements\n", index, most);
    if (fine) hx_register(device.hx, f.x, most * sizeof *f.x);
    for (size_t i = 0; fine && i < tasks->count && !bench_stopped(); i++) {
      const size_t n = tasks->task[i].size.n;
      if (is_size_of_device(session->options, &device, n)) fine = run_size(session, &f, n);
    }
    ladder_cub_close();
    if (f.x) hx_unregister(device.hx, f.x);
    close_data(&f);
  }
  ladder_device_close(&device);
  return fine;
}
