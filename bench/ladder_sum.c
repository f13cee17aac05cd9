/* SPDX-License-Identifier: Apache-2.0
 * The steps of `ladder reduce`. */
#include "bench/ladder_sum.h"

#include <stdlib.h>

#include "bench/measure.h"
#include "reference/data.h"
#include "runtime/backend/opencl/stream.h"

extern const char hx__cl_ladder_reduce[];

#define LOCAL 256u
#define SEED 9u
#define POISON 0xa5a5a5a5u

/* The numbers of ladder_reduce.cl. TREE_BEST: without barriers in the last sub-group if its size is known, else with
 * them. */
enum { LOAD_LOCAL, LOAD_GLOBAL, LOAD_ALL, LOAD_RARE_FIRST, LOAD_EACH_TESTED };
enum {
  TREE_INTERLEAVED,
  TREE_STRIDED,
  TREE_HALVING,
  TREE_UNROLLED,
  TREE_SUB_GROUP,
  TREE_REGISTER,
  TREE_ALL_JOIN,
  TREE_SIDES,
  TREE_BUILT_IN,
  TREE_BEST
};
enum { AMONG_PARTIAL, AMONG_ATOMIC, AMONG_TICKET };

/* What the host does until one sum is left. */
typedef enum finish { FINISH_NOTHING, FINISH_RELAUNCH, FINISH_ADD } finish;

#define ELEMENTS "elements per item"
static const ladder_family naive_tree = {"naive tree", ELEMENTS}, local_stride = {"local stride", ELEMENTS},
                           global_stride = {"global stride", ELEMENTS},
                           groups_per_unit = {"groups per unit", "groups per compute unit"};

#define EVERY_TIMES(X) X(2) X(4) X(8) X(16) X(32) X(64) X(128) X(256)
#define EVERY_GROUPS(X) X(1) X(2) X(4) X(8) X(16)
#define LOCAL_ROW(t) {"local stride x" #t, LOAD_LOCAL, TREE_BEST, AMONG_ATOMIC, .times = t, .family = &local_stride},
#define GLOBAL_ROW(t) \
  {"global stride x" #t, LOAD_GLOBAL, TREE_BEST, AMONG_ATOMIC, .times = t, .family = &global_stride},
#define NAIVE_ROW(t)      \
  {"naive tree x" #t,     \
   LOAD_GLOBAL,           \
   TREE_INTERLEAVED,      \
   AMONG_ATOMIC,          \
   .times = t,            \
   .family = &naive_tree, \
   .against = "global stride x" #t},
#define GROUPS_ROW(g) \
  {"groups per unit: " #g, LOAD_ALL, TREE_BEST, AMONG_ATOMIC, .groups = g, .family = &groups_per_unit},

#define HALVING "divergence-free"
#define ALL_JOIN "all join, two barriers"

/* times: elements that an item adds; 0: all, by `groups` work-groups per compute unit. family: the series of a chart to
 * which the step belongs, with times or groups as x. against: the step from which the gap is counted. */
static const struct step {
  const char *name;
  unsigned char load, tree, among;
  finish finish;
  unsigned times, groups;
  const ladder_family *family;
  const char *against;
} steps[] = {
    {"naive", LOAD_GLOBAL, TREE_INTERLEAVED, AMONG_ATOMIC, .times = 1, .family = &naive_tree,
     .against = "global stride x1"},
    {"naive, relaunched", LOAD_GLOBAL, TREE_INTERLEAVED, AMONG_PARTIAL, FINISH_RELAUNCH, .times = 1},
    {"strided words (Harris)", LOAD_GLOBAL, TREE_STRIDED, AMONG_ATOMIC, .times = 1},
    {HALVING, LOAD_GLOBAL, TREE_HALVING, AMONG_ATOMIC, .times = 1},
    {"own sum in a register", LOAD_GLOBAL, TREE_REGISTER, AMONG_ATOMIC, .times = 1, .against = HALVING},
    {ALL_JOIN, LOAD_GLOBAL, TREE_ALL_JOIN, AMONG_ATOMIC, .times = 1, .against = HALVING},
    {"all join, two sides", LOAD_GLOBAL, TREE_SIDES, AMONG_ATOMIC, .times = 1, .against = ALL_JOIN},
    {"work_group_reduce_add", LOAD_GLOBAL, TREE_BUILT_IN, AMONG_ATOMIC, .times = 1, .against = HALVING},
    {"unrolled, all barriers", LOAD_GLOBAL, TREE_UNROLLED, AMONG_ATOMIC, .times = 1},
    {"completely unrolled", LOAD_GLOBAL, TREE_SUB_GROUP, AMONG_ATOMIC, .times = 1},
    {"rare case first x16", LOAD_RARE_FIRST, TREE_BEST, AMONG_ATOMIC, .times = 16, .against = "local stride x16"},
    {"each tested x16", LOAD_EACH_TESTED, TREE_BEST, AMONG_ATOMIC, .times = 16, .against = "local stride x16"},
    LOCAL_ROW(1) EVERY_TIMES(LOCAL_ROW) GLOBAL_ROW(1) EVERY_TIMES(GLOBAL_ROW) EVERY_TIMES(NAIVE_ROW) EVERY_GROUPS(
        GROUPS_ROW){"8 per unit, relaunched", LOAD_ALL, TREE_BEST, AMONG_PARTIAL, FINISH_RELAUNCH, .groups = 8},
    {"8 per unit, host adds", LOAD_ALL, TREE_BEST, AMONG_PARTIAL, FINISH_ADD, .groups = 8},
    {"8 per unit, ticket", LOAD_ALL, TREE_BEST, AMONG_TICKET, .groups = 8},
};

#define STEPS (sizeof steps / sizeof steps[0])
_Static_assert(STEPS <= LADDER_MOST_SUM_STEPS, "a kernel for each step");

typedef struct step_run {
  ladder_sum *f;
  const struct step *step;
  cl_kernel kernel;
  size_t n;
} step_run;

/* One call: its launches, and where the sum or the partial sums are then. */
typedef struct progress {
  cl_event events[LADDER_MOST_PASSES];
  size_t passes, left;
  cl_mem last;
} progress;

static size_t groups_for(const step_run *p, size_t n, bool again) {
  const size_t block = p->f->local * (p->step->times ? p->step->times : 1), groups = (n + block - 1) / block;
  const size_t resident = (size_t)p->step->groups * p->f->device->units;
  if (p->step->times) return groups;
  return again ? 1 : groups < resident ? groups : resident;
}

static cl_int launch(const step_run *p, cl_command_queue queue, cl_mem from, size_t n, bool timed, progress *at) {
  const ladder_sum *const f = p->f;
  const cl_ulong count = n;
  cl_mem to = f->part[at->passes & 1];
  const size_t groups = groups_for(p, n, at->passes > 0), global = groups * f->local;
  cl_int code = clSetKernelArg(p->kernel, 0, sizeof from, &from);
  if (code == CL_SUCCESS) code = clSetKernelArg(p->kernel, 1, sizeof count, &count);
  if (code == CL_SUCCESS) code = clSetKernelArg(p->kernel, 2, sizeof to, &to);
  if (code == CL_SUCCESS) code = clSetKernelArg(p->kernel, 3, sizeof f->one, &f->one);
  if (code == CL_SUCCESS)
    code = clEnqueueNDRangeKernel(queue, p->kernel, 1, NULL, &global, &f->local, 0, NULL,
                                  timed ? &at->events[at->passes] : NULL);
  if (code != CL_SUCCESS) return code;
  at->passes++;
  at->left = groups;
  at->last = to;
  return CL_SUCCESS;
}

/* Launches once, or until one sum is left. */
static cl_int launch_all(const step_run *p, cl_command_queue queue, bool timed, progress *at) {
  *at = (progress){0};
  cl_int code = launch(p, queue, p->f->dx, p->n, timed, at);
  while (code == CL_SUCCESS && p->step->finish == FINISH_RELAUNCH && at->left > 1 && at->passes < LADDER_MOST_PASSES)
    code = launch(p, queue, at->last, at->left, timed, at);
  if (p->step->among != AMONG_PARTIAL) at->left = 1, at->last = p->f->one;
  return code;
}

/* Overwrites the last result. Groups add to what is there, so for them it is 0; this is not timed. */
static cl_int spoil_sums(const step_run *p) {
  const cl_uint start[2] = {p->step->among == AMONG_ATOMIC ? 0 : POISON, 0}, poison = POISON;
  const ladder_sum *const f = p->f;
  cl_int code = clEnqueueWriteBuffer(f->device->queue, f->one, CL_TRUE, 0, sizeof start, start, 0, NULL, NULL);
  for (int i = 0; i < 2 && code == CL_SUCCESS; i++)
    code = clEnqueueWriteBuffer(f->device->queue, f->part[i], CL_TRUE, 0, sizeof poison, &poison, 0, NULL, NULL);
  return code;
}

/* Reads what the last launch left, and adds it. */
static cl_int read_sum(const step_run *p, const progress *at, uint32_t *sum) {
  const size_t bytes = at->left * sizeof(cl_uint);
  const cl_int code =
      clEnqueueReadBuffer(p->f->device->queue, at->last, CL_TRUE, 0, bytes, p->f->partial, 0, NULL, NULL);
  *sum = 0;
  for (size_t i = 0; i < at->left; i++) *sum += p->f->partial[i];
  return code;
}

static double call_step(ladder_rung *rung, double *event) {
  const step_run *const p = rung->self;
  const ladder_device *const device = p->f->device;
  progress at = {0};
  uint32_t sum = POISON;
  cl_int code = spoil_sums(p);
  if (code == CL_SUCCESS) code = launch_all(p, device->timed, true, &at);
  if (code == CL_SUCCESS) code = clFinish(device->timed);
  *event = ladder_span(at.events, at.passes);
  if (code == CL_SUCCESS) code = spoil_sums(p);
  const double start = bench_now();
  if (code == CL_SUCCESS) code = launch_all(p, device->queue, false, &at);
  if (code == CL_SUCCESS) code = read_sum(p, &at, &sum);
  const double seconds = bench_now() - start;
  rung->result[0] = sum;
  if (code != CL_SUCCESS) ladder_out(rung, "%s", hx__cl_code_name(code));
  return code == CL_SUCCESS ? seconds : -1;
}

static void add_step(ladder_case *c, ladder_sum *f, size_t s) {
  const struct step *const step = &steps[s];
  ladder_rung *const rung = ladder_add_owner(c, step->name, call_step, sizeof(step_run));
  rung->family = step->family;
  rung->against = step->against;
  rung->x = step->times ? step->times : step->groups;
  if (rung->out) return;
  *(step_run *)rung->self = (step_run){f, step, f->kernel[s].kernel, c->n};
  if (!f->kernel[s].kernel)
    ladder_out(rung, "%s", f->kernel[s].why);
  else if (step->times > 1 && f->local * step->times > c->n)
    ladder_out(rung, "less than one group's work");
}

void ladder_sum_rungs(ladder_case *c, ladder_sum *f) {
  for (size_t s = 0; s < STEPS; s++) add_step(c, f, s);
}

/* OpenCL C 2.0 has it; 3.0 leaves it to the driver. */
static bool has_built_in_reductions(const ladder_device *device) {
  cl_bool has = device->shipped->version >= 20;
  if (device->shipped->version >= 30)
    clGetDeviceInfo(device->id, CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT, sizeof has, &has, NULL);
  return has;
}

static void build_step(ladder_sum *f, size_t s) {
  const struct step *const step = &steps[s];
  const ladder_device *const device = f->device;
  const bool has_last = device->sub_group > 1 && f->local >= 2 * device->sub_group;
  const unsigned tree = step->tree != TREE_BEST ? step->tree : has_last ? TREE_SUB_GROUP : TREE_UNROLLED;
  ladder_kernel *const kernel = &f->kernel[s];
  const char *const newer = device->shipped->version >= 30 ? " -cl-std=CL3.0" : " -cl-std=CL2.0";
  char options[160];
  /* A fence for all groups and built-in reductions are there from OpenCL C 2.0 on. */
  snprintf(options, sizeof options, "-DLOCAL=%zu -DTIMES=%u -DLOAD=%u -DTREE=%u -DAMONG=%u -DWARP=%u -DNVIDIA=%d%s",
           f->local, step->times ? step->times : 1, step->load, tree, step->among, device->sub_group, device->nvidia,
           step->among == AMONG_TICKET || tree == TREE_BUILT_IN ? newer : "");
  if (f->local < 2)
    snprintf(kernel->why, sizeof kernel->why, "work-groups of this device have one item");
  else if (tree == TREE_SUB_GROUP && !device->sub_group)
    snprintf(kernel->why, sizeof kernel->why, "the driver does not say how many items run in step");
  else if (tree == TREE_SUB_GROUP && !has_last)
    snprintf(kernel->why, sizeof kernel->why, "a work-group is no larger than what runs in step");
  else if (tree == TREE_BUILT_IN && !has_built_in_reductions(device))
    snprintf(kernel->why, sizeof kernel->why, "the driver has no reductions of a work-group");
  else
    ladder_kernel_build(device, hx__cl_ladder_reduce, options, "sum", kernel);
}

void ladder_sum_close(ladder_sum *f) {
  cl_mem buffers[] = {f->dx, f->part[0], f->part[1], f->one};
  ladder_kernels_release(f->kernel, STEPS);
  for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
    if (buffers[i]) clReleaseMemObject(buffers[i]);
  free(f->partial);
  free(f->x);
}

static cl_mem new_buffer(const ladder_sum *f, cl_mem_flags flags, size_t bytes) {
  cl_int code;
  return clCreateBuffer(f->device->context, flags, bytes, NULL, &code);
}

/* Fills x with values from 1 to 7, or smaller ones if there are more than 2^28 elements. The sum then fits into 31
 * bits, so libraries that add in int give it exactly, and every missing element changes it. */
static void fill(ladder_sum *f) {
  unsigned top = 7;
  while (top > 1 && f->most > INT32_MAX / top) top /= 2;
  for (size_t i = 0; i < f->most; i++) f->x[i] = 1 + data_u(SEED, i) % top;
}

bool ladder_sum_open(ladder_sum *f, const ladder_device *device, size_t most) {
  *f = (ladder_sum){.device = device, .most = most, .local = LOCAL};
  while (f->local > device->max_local) f->local /= 2;
  const size_t bytes = (most * sizeof *f->x + 4095) & ~(size_t)4095;
  const size_t sums = (most / f->local + 1) * sizeof(cl_uint);
  f->x = aligned_alloc(4096, bytes);
  f->partial = malloc(sums);
  if (!f->x || !f->partial) return false;
  fill(f);
  f->dx = new_buffer(f, CL_MEM_READ_ONLY, bytes);
  for (int i = 0; i < 2; i++) f->part[i] = new_buffer(f, CL_MEM_READ_WRITE, sums);
  f->one = new_buffer(f, CL_MEM_READ_WRITE, 2 * sizeof(cl_uint));
  if (!f->dx || !f->part[0] || !f->part[1] || !f->one) return false;
  if (clEnqueueWriteBuffer(device->queue, f->dx, CL_TRUE, 0, most * sizeof *f->x, f->x, 0, NULL, NULL) != CL_SUCCESS)
    return false;
  for (size_t s = 0; s < STEPS; s++) build_step(f, s);
  return true;
}
