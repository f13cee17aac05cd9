/* SPDX-License-Identifier: Apache-2.0
 * `ladder addressing`: the loops of the address-arithmetic study, each beside another way to reach the same elements,
 * and four ways to hold a value that all items share. Every element is compared. */
#include <stdlib.h>
#include <string.h>

#include "bench/ladder_checked.h"
#include "reference/data.h"

extern const char hx__cl_ladder_addressing[];

#define SECONDS 3.0
#define SEED 17u
#define WIDTH 32u /* as in ladder_addressing.cl */
#define GROUPS_A_UNIT 4u
#define FACTOR 7 /* the shared value */
#define STEP 3   /* where it is in `scales` */

/* What a form leaves in memory. */
typedef enum effect { SET_EVEN, TOGGLED, COUNTED, ADDED, SCALED, EFFECTS } effect;

typedef struct form {
  const char *name, *option, *against; /* option: of -DFORM; against: the form from which the gap is counted */
  effect effect;
  size_t local;       /* items per group; of 64, half have nothing to do */
  cl_int step, scale; /* arguments; step 0: a row's elements */
} form;

static const form forms[] = {
    {"p[2 i]", "INDEX_TWICE", NULL, SET_EVEN, 32, 0, 0},
    {"p += 2", "POINTER_BY_TWO", "p[2 i]", SET_EVEN, 32, 0, 0},
    {"item per pixel", "ITEM_PER_PIXEL", NULL, TOGGLED, 32, 0, 0},
    {"item per row", "ITEM_PER_ROW", "item per pixel", TOGGLED, 32, 0, 0},
    {"f: index per item", "F", NULL, COUNTED, 64, 0, 0},
    {"g: item added last", "G", "f: index per item", COUNTED, 64, 0, 0},
    {"h: shared offset", "H", "f: index per item", COUNTED, 64, 0, 0},
    {"two local arrays", "TWO_ARRAYS", NULL, ADDED, 32, 0, 0},
    {"one local array", "ONE_ARRAY", "two local arrays", ADDED, 32, 0, 0},
    {"scale: argument", "SCALE_ARGUMENT", NULL, SCALED, 32, STEP, FACTOR - STEP},
    {"scale: compiled", "SCALE_COMPILED", "scale: argument", SCALED, 32, 0, 0},
    {"scale: constant memory", "SCALE_CONSTANT", "scale: argument", SCALED, 32, STEP, 0},
    {"scale: divergent", "SCALE_DIVERGENT", "scale: argument", SCALED, 32, FACTOR, FACTOR},
};
#define FORMS (sizeof forms / sizeof forms[0])

/* Shared by all forms of a size. */
typedef struct addressing {
  const ladder_device *device;
  size_t groups, passes, elements; /* passes: of each item; elements: of the arrays */
  cl_mem fresh, p, scales;
  int32_t *start, *got, *expected[EFFECTS];
  ladder_kernel kernel[FORMS];
} addressing;

typedef struct addressing_run {
  ladder_checked checked;
  const addressing *f;
  const form *form;
  cl_kernel kernel;
} addressing_run;

/* Forms with local arrays have a pass per element of those, so they take more groups for as many passes. */
static cl_int passes_of(const addressing_run *p) {
  return p->form->effect == ADDED ? (cl_int)WIDTH : (cl_int)p->f->passes;
}

static cl_int launch(const void *self, cl_command_queue queue, cl_event *event) {
  const addressing_run *const p = self;
  const addressing *const f = p->f;
  const form *const form = p->form;
  const cl_int n = passes_of(p), step = form->step ? form->step : n;
  const bool pixels = strcmp(form->option, "ITEM_PER_PIXEL") == 0;
  const size_t groups = f->groups * (f->passes / (size_t)n), items = groups * form->local;
  const size_t global[2] = {pixels ? f->passes : items, pixels ? items : 1}, local[2] = {form->local, 1};
  cl_int code = clSetKernelArg(p->kernel, 0, sizeof f->p, &f->p);
  if (code == CL_SUCCESS) code = clSetKernelArg(p->kernel, 1, sizeof f->scales, &f->scales);
  if (code == CL_SUCCESS) code = clSetKernelArg(p->kernel, 2, sizeof n, &n);
  if (code == CL_SUCCESS) code = clSetKernelArg(p->kernel, 3, sizeof step, &step);
  if (code == CL_SUCCESS) code = clSetKernelArg(p->kernel, 4, sizeof form->scale, &form->scale);
  if (code == CL_SUCCESS) code = clEnqueueNDRangeKernel(queue, p->kernel, 2, NULL, global, local, 0, NULL, event);
  return code == CL_SUCCESS ? clFinish(queue) : code;
}

static cl_int spoil(const void *self) {
  const addressing *const f = ((const addressing_run *)self)->f;
  const cl_int code = clEnqueueCopyBuffer(f->device->queue, f->fresh, f->p, 0, 0, f->elements * 4, 0, NULL, NULL);
  return code == CL_SUCCESS ? clFinish(f->device->queue) : code;
}

static cl_int count_right(const void *self, uint64_t *right) {
  const addressing_run *const p = self;
  const addressing *const f = p->f;
  const int32_t *const expected = f->expected[p->form->effect];
  const cl_int code = clEnqueueReadBuffer(f->device->queue, f->p, CL_TRUE, 0, f->elements * 4, f->got, 0, NULL, NULL);
  *right = 0;
  for (size_t i = 0; i < f->elements; i++) *right += f->got[i] == expected[i];
  return code;
}

/* What each effect leaves of the elements at the start, by loops of one thread. */
static void set_expected(addressing *f) {
  const size_t count = f->elements, passes = f->passes;
  for (size_t e = 0; e < EFFECTS; e++) memcpy(f->expected[e], f->start, count * 4);
  for (size_t i = 0; i < f->groups * passes; i++) f->expected[SET_EVEN][2 * i] = 100;
  for (size_t i = 0; i < count; i++) {
    f->expected[TOGGLED][i] ^= 1;
    f->expected[COUNTED][i]++;
    f->expected[SCALED][i] = f->start[i] * FACTOR + (int32_t)(i / WIDTH % passes);
  }
  for (size_t row = 0; row < f->groups * passes / WIDTH; row++)
    for (size_t i = row * 2 * WIDTH; i < row * 2 * WIDTH + WIDTH; i++) f->expected[ADDED][i] += f->start[i + WIDTH];
}

static void add_form(ladder_case *c, const addressing *f, size_t i) {
  ladder_rung *const rung = ladder_add_owner(c, forms[i].name, ladder_call_checked, sizeof(addressing_run));
  addressing_run *const p = rung->self;
  rung->against = forms[i].against;
  if (p) *p = (addressing_run){{f->device, spoil, launch, count_right}, f, &forms[i], f->kernel[i].kernel};
  if (!f->kernel[i].kernel) ladder_out(rung, "%s", f->kernel[i].why);
}

static bool open_arrays(addressing *f, size_t passes) {
  static const int32_t scales[STEP + 1] = {[STEP] = FACTOR};
  const size_t bytes = f->groups * passes * WIDTH * 4;
  cl_int code;
  f->passes = passes;
  f->elements = bytes / 4;
  f->start = malloc(bytes);
  f->got = malloc(bytes);
  bool fine = f->start && f->got;
  for (size_t e = 0; e < EFFECTS; e++) fine &= (f->expected[e] = malloc(bytes)) != NULL;
  if (fine) {
    for (size_t i = 0; i < f->elements; i++) f->start[i] = (int32_t)(data_u(SEED, i) & 0xffff);
    set_expected(f);
    f->fresh = clCreateBuffer(f->device->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes, f->start, &code);
    f->p = clCreateBuffer(f->device->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    f->scales = clCreateBuffer(f->device->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof scales,
                               (void *)(uintptr_t)scales, &code);
  }
  fine = fine && f->fresh && f->p && f->scales;
  if (!fine) fprintf(stderr, "hx-bench: there is no memory for %zu passes per item on %s\n", passes, f->device->label);
  return fine;
}

static void close_arrays(addressing *f) {
  cl_mem *const buffers[] = {&f->fresh, &f->p, &f->scales};
  for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++) {
    if (*buffers[i]) clReleaseMemObject(*buffers[i]);
    *buffers[i] = NULL;
  }
  for (size_t e = 0; e < EFFECTS; e++) free(f->expected[e]), f->expected[e] = NULL;
  free(f->start);
  free(f->got);
  f->start = f->got = NULL;
}

static bool run_size(bench_session *session, addressing *f, size_t passes) {
  static ladder_case c;
  const size_t most = f->device->max_alloc / (f->groups * WIDTH * 4);
  if (passes % WIDTH || !passes || passes > most) {
    fprintf(stderr, "hx-bench: ladder addressing takes multiples of %u passes per item, up to %zu on %s, not %zu\n",
            WIDTH, most / WIDTH * WIDTH, f->device->label, passes);
    return false;
  }
  bool fine = open_arrays(f, passes);
  const uint64_t elements = f->elements;
  c = (ladder_case){.ladder = "addressing",
                    .unit = "M/s",
                    .base = forms[0].name,
                    .device = f->device->info,
                    .label = f->device->label,
                    .n = passes,
                    .counted = "passes per item",
                    .work = 1e-6 * (double)(f->groups * passes),
                    .sum = &elements,
                    .sums = 1};
  for (size_t i = 0; fine && i < FORMS; i++) add_form(&c, f, i);
  fine = fine && ladder_run(session, &c, SECONDS);
  close_arrays(f);
  return fine;
}

bool ladder_addressing(bench_session *session, size_t index, const void *what) {
  static addressing f;
  const bench_tasks *const tasks = what;
  ladder_device device;
  if (!ladder_device_open(&device, session, index)) return false;
  f = (addressing){.device = &device, .groups = GROUPS_A_UNIT * (device.units ? device.units : 1)};
  char options[32];
  for (size_t i = 0; i < FORMS; i++) {
    snprintf(options, sizeof options, "-DFORM=%s", forms[i].option);
    ladder_kernel_build(&device, hx__cl_ladder_addressing, options, "loop", &f.kernel[i]);
  }
  bool fine = true;
  for (size_t i = 0; fine && i < tasks->count && !bench_stopped(); i++)
    fine = run_size(session, &f, tasks->task[i].size.n);
  ladder_kernels_release(f.kernel, FORMS);
  ladder_device_close(&device);
  return fine;
}
