/* SPDX-License-Identifier: Apache-2.0
 * `ladder lds`: reads from local memory, whose time shows into how many transactions a warp's access is cut, and copies
 * from global into local memory. Everything that items have read is compared. */
#include "bench/ladder_lds.h"
#include "bench/ladder_checked.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/emit.h"
#include "reference/data.h"

extern const char hx__cl_ladder_lds[];

#define SECONDS 3.0
#define SEED 13u
#define GROUPS_A_UNIT 4u
#define WIDTHS 3 /* 1, 2 and 4 words */

static const ladder_family conflicts = {"conflicts", "words of one bank"};

/* Shared by all sizes. */
typedef struct lds {
  const ladder_device *device;
  uint32_t words[LDS_WORDS];
  size_t local, items;
  cl_mem dwords, out;
  uint32_t *got;
  ladder_kernel read[WIDTHS], copy[LDS_COPIES];
} lds;

typedef struct lds_run {
  ladder_checked checked;
  const lds *f;
  cl_kernel kernel;
  cl_mem places;
  size_t local, items;
  cl_uint rounds;
  uint32_t expected[LDS_MOST_LOCAL]; /* of each item of a group */
} lds_run;

static cl_int launch(const void *self, cl_command_queue queue, cl_event *event) {
  const lds_run *const p = self;
  const lds *const f = p->f;
  const cl_mem places = p->places ? p->places : f->dwords; /* copies take none */
  cl_int code = clSetKernelArg(p->kernel, 0, sizeof f->dwords, &f->dwords);
  if (code == CL_SUCCESS) code = clSetKernelArg(p->kernel, 1, sizeof places, &places);
  if (code == CL_SUCCESS) code = clSetKernelArg(p->kernel, 2, sizeof p->rounds, &p->rounds);
  if (code == CL_SUCCESS) code = clSetKernelArg(p->kernel, 3, sizeof f->out, &f->out);
  if (code == CL_SUCCESS)
    code = clEnqueueNDRangeKernel(queue, p->kernel, 1, NULL, &p->items, &p->local, 0, NULL, event);
  return code == CL_SUCCESS ? clFinish(queue) : code;
}

/* Overwrites the last results. */
static cl_int spoil(const void *self) {
  const lds_run *const p = self;
  memset(p->f->got, 0xff, p->items * sizeof *p->f->got);
  return clEnqueueWriteBuffer(p->f->device->queue, p->f->out, CL_TRUE, 0, p->items * sizeof *p->f->got, p->f->got, 0,
                              NULL, NULL);
}

/* How many items have read what they should; the result of the rung. */
static cl_int count_right(const void *self, uint64_t *right) {
  const lds_run *const p = self;
  uint32_t *const got = p->f->got;
  const cl_int code =
      clEnqueueReadBuffer(p->f->device->queue, p->f->out, CL_TRUE, 0, p->items * sizeof *got, got, 0, NULL, NULL);
  *right = 0;
  for (size_t i = 0; i < p->items; i++) *right += got[i] == p->expected[i % p->local];
  return code;
}

static void close_step(ladder_rung *rung) {
  const lds_run *const p = rung->self;
  if (p && p->places) clReleaseMemObject(p->places);
}

/* Adds the rung of a kernel. Returns NULL if it is out. */
static lds_run *add_step(ladder_case *c, const lds *f, const char *name, const ladder_kernel *kernel, size_t rounds) {
  ladder_rung *const rung = ladder_add_owner(c, name, ladder_call_checked, sizeof(lds_run));
  lds_run *const p = rung->self;
  rung->close = close_step;
  if (!p) return NULL;
  *p = (lds_run){.checked = {f->device, spoil, launch, count_right},
                 .f = f,
                 .kernel = kernel->kernel,
                 .local = f->local,
                 .items = f->items,
                 .rounds = (cl_uint)rounds};
  if (!kernel->kernel) ladder_out(rung, "%s", kernel->why);
  return kernel->kernel ? p : NULL;
}

static void add_pattern(ladder_case *c, const lds *f, const lds_pattern *pattern) {
  uint32_t places[LDS_LANES];
  cl_int code;
  lds_run *const p = add_step(c, f, pattern->name, &f->read[pattern->width / 2], c->n / LDS_UNROLL);
  ladder_rung *const rung = &c->rung[c->rungs - 1];
  rung->rule = pattern->rule;
  if (pattern->is_conflict) rung->family = &conflicts, rung->x = pattern->n;
  if (!p) return;
  for (unsigned lane = 0; lane < LDS_LANES; lane++) places[lane] = pattern->place(lane, pattern->n);
  for (unsigned i = 0; i < f->local; i++)
    p->expected[i] = i < LDS_LANES ? lds_expected_read(pattern, f->words, i, c->n) : p->expected[i - LDS_LANES];
  p->places = clCreateBuffer(f->device->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof places, places, &code);
  if (!p->places) ladder_out(rung, "there is no memory");
}

static void add_copy(ladder_case *c, const lds *f, size_t i) {
  const lds_copy *const copy = &lds_copies[i];
  lds_run *const p = add_step(c, f, copy->name, &f->copy[i], c->n);
  c->rung[c->rungs - 1].against = copy->against;
  for (unsigned item = 0; p && item < f->local; item++)
    p->expected[item] = lds_expected_copy(copy, f->words, item, (unsigned)f->local, c->n);
}

static void build_copy(const ladder_device *device, const lds_copy *copy, size_t local, ladder_kernel *kernel) {
  char options[160], fill[24] = "";
  if (copy->fill >= 0) snprintf(fill, sizeof fill, " -DFILL=%d", copy->fill);
  snprintf(options, sizeof options, "-DMODE=1 -DLOCAL=%zu -DWIDTH=%u -DMETHOD=%d -DSTAGES=%u -DFETCH=%u%s", local,
           copy->width, copy->method, copy->stages, copy->fetch, fill);
  if (copy->method != LDS_REGISTERS && !device->nvidia)
    snprintf(kernel->why, sizeof kernel->why, "only NVIDIA GPUs have cp.async");
  else
    ladder_kernel_build(device, hx__cl_ladder_lds, options, "lds", kernel);
}

static void build(lds *f) {
  char options[64];
  for (size_t w = 0; w < WIDTHS; w++) {
    snprintf(options, sizeof options, "-DMODE=0 -DLOCAL=%zu -DWIDTH=%u", f->local, 1u << w);
    ladder_kernel_build(f->device, hx__cl_ladder_lds, options, "lds", &f->read[w]);
  }
  for (size_t i = 0; i < LDS_COPIES; i++) build_copy(f->device, &lds_copies[i], f->local, &f->copy[i]);
}

/* The text's example: 32 integers in a row, reversed through local memory by 32 items. */
static void reverse(lds *f, const char *name) {
  size_t i = 0;
  while (strcmp(lds_copies[i].name, name) != 0) i++;
  ladder_rung rung = {.note = ""};
  lds_run p = {.checked = {f->device, spoil, launch, count_right}, .local = LDS_LANES, .items = LDS_LANES, .rounds = 1};
  ladder_kernel kernel = {NULL, ""};
  uint32_t row[LDS_LANES];
  double unused;
  cl_int code;
  for (unsigned k = 0; k < LDS_LANES; k++) row[k] = k, p.expected[k] = LDS_LANES - 1 - k;
  build_copy(f->device, &lds_copies[i], LDS_LANES, &kernel);
  lds one = *f;
  one.dwords = clCreateBuffer(f->device->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof row, row, &code);
  p.f = &one;
  p.kernel = kernel.kernel;
  rung.self = &p;
  const bool ran = p.kernel && one.dwords && ladder_call_checked(&rung, &unused) >= 0;
  const bool right = ran && rung.result[0] == LDS_LANES;
  if (p.kernel && !right) ladder_fail();
  bench_note(0, "32 integers reversed through local memory, %s: %s", name,
             right      ? "right"
             : ran      ? "WRONG"
             : p.kernel ? rung.note
                        : kernel.why);
  if (one.dwords) clReleaseMemObject(one.dwords);
  ladder_kernels_release(&kernel, 1);
}

static bool run_size(bench_session *session, const lds *f, size_t n) {
  static ladder_case c;
  const uint64_t items = f->items;
  if (n % LDS_UNROLL || !n || n > INT32_MAX) {
    fprintf(stderr, "hx-bench: ladder lds takes multiples of %u accesses per item, below 2^31, not %zu\n", LDS_UNROLL,
            n);
    return false;
  }
  c = (ladder_case){.ladder = "lds",
                    .unit = "M/s",
                    .base = "own",
                    .device = f->device->info,
                    .label = f->device->label,
                    .n = n,
                    .counted = "accesses per item",
                    .sum = &items,
                    .sums = 1};
  c.work = 1e-6 * (double)n * (double)(f->items / LDS_LANES);
  for (size_t i = 0; i < lds_pattern_count; i++) add_pattern(&c, f, &lds_patterns[i]);
  for (size_t i = 0; i < LDS_COPIES; i++) add_copy(&c, f, i);
  return ladder_run(session, &c, SECONDS);
}

/* Whether there is room, and groups of whole warps. If not, prints one sentence to stderr. */
static bool open_lds(lds *f, const ladder_device *device) {
  cl_int code;
  *f = (lds){.device = device, .local = LDS_MOST_LOCAL};
  while (f->local > device->max_local) f->local /= 2;
  f->items = f->local * GROUPS_A_UNIT * (device->units ? device->units : 1);
  for (size_t i = 0; i < LDS_WORDS; i++) f->words[i] = data_u(SEED, i) & 0xffff;
  f->got = malloc(f->items * sizeof *f->got);
  f->dwords =
      clCreateBuffer(device->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof f->words, f->words, &code);
  f->out = clCreateBuffer(device->context, CL_MEM_READ_WRITE, f->items * sizeof *f->got, NULL, &code);
  const bool fine = f->local >= LDS_LANES && f->got && f->dwords && f->out;
  if (!fine) fprintf(stderr, "hx-bench: %s has no groups of 32 items, or no memory for them\n", device->label);
  return fine;
}

static void close_lds(lds *f) {
  ladder_kernels_release(f->read, WIDTHS);
  ladder_kernels_release(f->copy, LDS_COPIES);
  if (f->dwords) clReleaseMemObject(f->dwords);
  if (f->out) clReleaseMemObject(f->out);
  free(f->got);
}

static void say_what_it_means(const ladder_device *device) {
  bench_say("\n");
  if (device->cpu)
    bench_note(0,
               "%s runs on a CPU, whose local memory is ordinary memory without banks: the column `here` shows how its "
               "compiler vectorises each pattern, not transactions.",
               device->label);
  else if (!device->nvidia)
    bench_note(0, "The rules are those of NVIDIA's warps of 32; %s may cut accesses in another way.", device->label);
}

bool ladder_lds(bench_session *session, size_t index, const void *what) {
  static lds f;
  const bench_tasks *const tasks = what;
  ladder_device device;
  if (!ladder_device_open(&device, session, index)) return false;
  bool fine = open_lds(&f, &device);
  if (fine) {
    build(&f);
    say_what_it_means(&device);
    reverse(&f, "registers, 4 bytes");
    reverse(&f, "cp.async.ca, 4 bytes");
  }
  for (size_t i = 0; fine && i < tasks->count && !bench_stopped(); i++)
    fine = run_size(session, &f, tasks->task[i].size.n);
  close_lds(&f);
  ladder_device_close(&device);
  return fine;
}
