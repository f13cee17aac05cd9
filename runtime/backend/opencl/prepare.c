/* SPDX-License-Identifier: Apache-2.0
 * Making a kernel ready: row, options, build, self-test, in each way of speaking to the compiler until one gives hx's
 * bits. The self-test launches each shape that a run launches, so nothing is compiled later at a first enqueue. What
 * has passed is kept for the processes to come. */
#include <stdio.h>
#include <string.h>

#include "runtime/backend/opencl/cl.h"
#include "runtime/base/cache_dir.h"
#include "runtime/base/clock.h"

#define OPTIONS_BYTES 1024
#define NAME_BYTES 32

/* What a need bit stands for. */
typedef struct need {
  hx__kernel_kind kind;
  hx_op op;
  hx_type type;
  const uint32_t *tile;
  const hx__kernel_row *first; /* the row to begin with, by the tuner; NULL: the device's */
} need;

static need need_of(const hx__cl_device *d, unsigned index) {
  static const uint32_t none[3] = {0, 0, 0};
  if (index < 27) return (need){HX__KERNEL_REDUCE, (hx_op)(index / 3 + 1), (hx_type)(index % 3 + 1), none, NULL};
  const need product = {HX__KERNEL_MATMUL, HX_SUM, HX_F32, d->base.tile[index - 27], NULL};
  const uint32_t *const tile = product.tile;
  if (hx__kernel_row_for(product.kind, product.type, d->families, tile, d->max_local)) return product;
  hx__log(HX__LOG_WARN, "HX_TILE=%ux%ux%u: %s has no kernel for it and takes its own", tile[0], tile[1], tile[2],
          d->base.name);
  return (need){HX__KERNEL_MATMUL, HX_SUM, HX_F32, none, NULL};
}

static bool rounds(const need *n) { /* whether the kernel adds or multiplies floats */
  return n->kind == HX__KERNEL_MATMUL ||
         (n->type == HX_F32 && n->op != HX_MIN && n->op != HX_MAX && n->op != HX_ARGMIN && n->op != HX_ARGMAX);
}

/* Whether an arithmetic is worth a build for this need on this device. */
static bool worth_trying(const hx__cl_device *d, const need *n, hx__arithmetic arithmetic) {
  switch (arithmetic) {
    case HX__ARITHMETIC_PLAIN:
      return n->kind != HX__KERNEL_MATMUL || d->fma_ok;
    case HX__ARITHMETIC_FMA_ADD:
      return n->kind == HX__KERNEL_REDUCE && rounds(n) && d->fma_ok;
    case HX__ARITHMETIC_SOFT_FMA:
      return n->kind == HX__KERNEL_MATMUL;
    default:
      return false;
  }
}

/* Says what the program of a need is by one row of the table; NULL, or why there is none. */
static const char *describe(hx__cl_device *d, unsigned index, const need *n, hx__arithmetic arithmetic,
                            const hx__kernel_row *row, char options[OPTIONS_BYTES]) {
  hx__cl_program *const p = &d->program[index];
  p->row = row;
  if (!hx__kernel_options(options, OPTIONS_BYTES, row, n->op, n->type, n->tile, arithmetic))
    return "its options are too long";
  const hx__cl_tuned *const tuned = hx__cl_tuned_for(d, row);
  if (tuned && tuned->order) {
    const size_t used = strlen(options);
    snprintf(options + used, OPTIONS_BYTES - used, " -DHX_ORDER=%u", tuned->order);
  }
  p->arithmetic = arithmetic;
  const bool asked = row->any_tile && n->tile[0];
  p->tile_m = asked ? n->tile[0] : row->tile_m;
  p->tile_n = asked ? n->tile[1] : row->tile_n;
  p->tile_k = asked ? n->tile[2] : row->tile_k;
  return NULL;
}

static const char *drop(hx__cl_device *d, unsigned index, const char *why) {
  hx__cl_program *const p = &d->program[index];
  if (atomic_load(&d->base.lost)) return why;
  hx__log(HX__LOG_DEBUG, "%s: %s with arithmetic %d: %s", d->base.name, p->row->name, (int)p->arithmetic, why);
  if (p->program) clReleaseProgram(p->program);
  p->program = NULL;
  return why;
}

/* A way to a program of a row: NULL, or why it leads to none. */
typedef const char *way(hx__cl_device *d, unsigned index, const need *n, hx__arithmetic arithmetic,
                        const hx__kernel_row *row);

/* A program that passed in an earlier process, where one is kept and still answers. */
static const char *from_cache(hx__cl_device *d, unsigned index, const need *n, hx__arithmetic arithmetic,
                              const hx__kernel_row *row) {
  char options[OPTIONS_BYTES];
  const char *why = describe(d, index, n, arithmetic, row, options);
  if (why) return why;
  const hx__cl_kept kept = hx__cl_binary_load(d, n->kind, options, true);
  d->program[index].program = kept.program;
  if (!kept.program) return "none is kept";
  why = hx__cl_self_test_once(d, index);
  hx__cache_trial_end(kept.trial, !why);
  d->program[index].seed = kept.seed;
  return why ? drop(d, index, why) : NULL;
}

static const char *from_source(hx__cl_device *d, unsigned index, const need *n, hx__arithmetic arithmetic,
                               const hx__kernel_row *row) {
  hx__cl_program *const p = &d->program[index];
  char options[OPTIONS_BYTES];
  cl_int code = CL_SUCCESS;
  const char *why = describe(d, index, n, arithmetic, row, options);
  if (why) return why;
  p->program = hx__cl_program_new(d, n->kind, options, true, &code);
  why = p->program ? hx__cl_self_test(d, index) : "its build failed";
  if (why) return drop(d, index, why);
  p->seed = hx__cl_seed_rate(d, index);
  if (!atomic_load(&d->base.lost)) hx__cl_binary_store(d, p->program, n->kind, options, p->seed);
  return NULL;
}

/* Each arithmetic by each row of the device, from an optional one on to the next, until one passes. */
static const char *try_all(hx__cl_device *d, unsigned index, const need *n, way *make) {
  const char *why = "no kernel gives its bits";
  for (int a = 0; a < HX__ARITHMETICS; a++) {
    if (!worth_trying(d, n, (hx__arithmetic)a)) continue;
    const hx__kernel_row *row =
        n->first ? n->first : hx__kernel_row_for(n->kind, n->type, d->families, n->tile, d->max_local);
    if (!row) return "there is no kernel for this device and tile";
    while (row && !atomic_load(&d->base.lost)) {
      if ((why = make(d, index, n, (hx__arithmetic)a, row)) == NULL) return NULL;
      row = row->optional ? hx__kernel_row_after(row, n->kind, n->type, d->families, n->tile, d->max_local) : NULL;
    }
  }
  return why;
}

/* The other rows of the product's set, each where it passes; whether all that do came from the cache. Those before the
 * first, too, unless they have just been refused: a row that is not kept may be one whose file was lost. */
static bool prepare_set(hx__cl_device *d, const need *n, const hx__cl_program *first, bool first_cached) {
  const hx__kernel_row *row = NULL;
  unsigned index = HX__NEEDS;
  bool cached = true;
  while (first->row->rate != 0 && index < HX__TRIAL && !atomic_load(&d->base.lost)) {
    row = hx__kernel_row_after(row, n->kind, n->type, d->families, n->tile, d->max_local);
    if (!row) break;
    if (row->rate == 0 || row == first->row || (row < first->row && !first_cached)) continue;
    const bool kept = from_cache(d, index, n, first->arithmetic, row) == NULL;
    if (!kept && from_source(d, index, n, first->arithmetic, row) != NULL) continue;
    cached = cached && kept;
    index++;
  }
  return cached;
}

static const char *prepare_as(hx__cl_device *d, unsigned index, const need *n, bool *cached) {
  /* First, as only what passed is kept: a row that was refused is not built again. */
  const char *why = try_all(d, index, n, from_cache);
  *cached = !why;
  if (why) why = try_all(d, index, n, from_source);
  if (!why && index == HX__FIRST_PRODUCT) *cached = prepare_set(d, n, &d->program[index], *cached) && *cached;
  return why;
}

static const char *prepare_one(hx__cl_device *d, unsigned index, const need *n, bool *cached) {
  if (rounds(n) && !d->add_ok) return "its float add or multiply rounds otherwise";
  const hx__cl_tuned *const tuned = &d->tuned[0];
  if (index == HX__FIRST_PRODUCT && tuned->row && tuned->row->rate == 0) {
    const need fastest = {n->kind, n->op, n->type, tuned->tile, tuned->row};
    if (!prepare_as(d, index, &fastest, cached)) return NULL;
  }
  return prepare_as(d, index, n, cached);
}

static void name_of(const need *n, char name[NAME_BYTES]) {
  static const char *const ops[] = {"",       "sum", "min",     "max",         "argmin",
                                    "argmax", "dot", "sum_abs", "sum_squares", "prod"};
  static const char *const types[] = {"", "f32", "i32", "u32"};
  if (n->kind == HX__KERNEL_MATMUL)
    snprintf(name, NAME_BYTES, "matmul");
  else
    snprintf(name, NAME_BYTES, "%s %s", ops[n->op], types[n->type]);
}

/* What is refused is listed in why, after what is there: "refuses matmul (...), sum f32 (...)". */
static void note_refusal(hx__cl_device *d, const char *name, const char *why) {
  const size_t used = strlen(d->base.why);
  const char *const lead = strstr(d->base.why, "refuses ") ? ", " : used ? "; refuses " : "refuses ";
  snprintf(d->base.why + used, sizeof d->base.why - used, "%s%s (%s)", lead, name, why);
  hx__log(HX__LOG_INFO, "%s %s", d->base.name, d->base.why);
}

void hx__cl_prepare(hx__device *device, uint64_t needs) {
  hx__cl_device *const d = (hx__cl_device *)device;
  if (!needs) hx__cl_tester_close(d);
  if (!hx__cl_device_open(d)) return;
  atomic_fetch_or(&device->ready, HX__NEED_OPEN);
  for (needs &= ~HX__NEED_OPEN; needs; needs &= needs - 1) {
    const unsigned index = hx__need_index(needs);
    const need n = need_of(d, index);
    const uint64_t from = hx__now_ns();
    bool cached = false;
    char name[NAME_BYTES];
    name_of(&n, name);
    const char *const why = prepare_one(d, index, &n, &cached);
    if (atomic_load(&device->lost)) return;
    device->seed[index] = d->program[index].seed;
    if (why)
      note_refusal(d, name, why);
    else
      hx__log(HX__LOG_INFO, "%s: %s ready in %.1f ms, %s", device->name, name, (double)(hx__now_ns() - from) * 1e-6,
              cached ? "from the cache" : "built and tested");
    atomic_fetch_or(why ? &device->refused : &device->ready, 1ull << index);
  }
}
