/* SPDX-License-Identifier: Apache-2.0
 * Making a kernel ready: row, options, build, self-test, in each way of speaking to the compiler until one gives hx's
 * bits. The self-test launches each shape that a run launches, so nothing is compiled later at a first enqueue. */
#include <stdio.h>
#include <string.h>

#include "runtime/backend/opencl/cl.h"

/* What a need bit stands for. */
typedef struct need {
  hx__kernel_kind kind;
  hx_op op;
  hx_type type;
  const uint32_t *tile;
} need;

static need need_of(const hx__cl_device *d, unsigned index) {
  static const uint32_t none[3] = {0, 0, 0};
  if (index < 27) return (need){HX__KERNEL_REDUCE, (hx_op)(index / 3 + 1), (hx_type)(index % 3 + 1), none};
  const need product = {HX__KERNEL_MATMUL, HX_SUM, HX_F32, d->base.tile[index - 27]};
  const uint32_t *const tile = product.tile;
  if (hx__kernel_row_for(product.kind, product.type, d->families, tile, d->max_local)) return product;
  hx__log(HX__LOG_WARN, "HX_TILE=%ux%ux%u: %s has no kernel for it and takes its own", tile[0], tile[1], tile[2],
          d->base.name);
  return (need){HX__KERNEL_MATMUL, HX_SUM, HX_F32, none};
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

static const char *try_arithmetic(hx__cl_device *d, unsigned index, const need *n, hx__arithmetic arithmetic) {
  hx__cl_program *const p = &d->program[index];
  char options[1024];
  cl_int code = CL_SUCCESS;
  p->row = hx__kernel_row_for(n->kind, n->type, d->families, n->tile, d->max_local);
  if (!p->row) return "there is no kernel for this device and tile";
  if (!hx__kernel_options(options, sizeof options, p->row, n->op, n->type, n->tile, arithmetic))
    return "its options are too long";
  p->arithmetic = arithmetic;
  const bool asked = p->row->any_tile && n->tile[0];
  p->tile_m = asked ? n->tile[0] : p->row->tile_m;
  p->tile_n = asked ? n->tile[1] : p->row->tile_n;
  p->tile_k = asked ? n->tile[2] : p->row->tile_k;
  p->program = hx__cl_program_new(d, n->kind, options, true, &code);
  if (!p->program) return "its build failed";
  const char *why = hx__cl_self_test(d, index);
  if (why && !atomic_load(&d->base.lost)) {
    hx__log(HX__LOG_DEBUG, "%s: %s with arithmetic %d: %s", d->base.name, p->row->name, (int)arithmetic, why);
    clReleaseProgram(p->program);
    p->program = NULL;
  }
  return why;
}

static const char *prepare_one(hx__cl_device *d, unsigned index) {
  const need n = need_of(d, index);
  if (rounds(&n) && !d->add_ok) return "its float add or multiply rounds otherwise";
  const char *why = "no kernel gives its bits";
  for (int a = 0; a < HX__ARITHMETICS && !atomic_load(&d->base.lost); a++)
    if (worth_trying(d, &n, (hx__arithmetic)a) && (why = try_arithmetic(d, index, &n, (hx__arithmetic)a)) == NULL)
      break;
  return why;
}

/* What is refused is listed in why: "refuses matmul (...), sum f32 (...)". */
static void note_refusal(hx__cl_device *d, unsigned index, const char *why) {
  static const char *const ops[] = {"",       "sum", "min",     "max",         "argmin",
                                    "argmax", "dot", "sum_abs", "sum_squares", "prod"};
  static const char *const types[] = {"", "f32", "i32", "u32"};
  const need n = need_of(d, index);
  const size_t used = strlen(d->base.why);
  char *const at = d->base.why + used;
  const char *const lead = used ? ", " : "refuses ";
  if (n.kind == HX__KERNEL_MATMUL)
    snprintf(at, sizeof d->base.why - used, "%smatmul (%s)", lead, why);
  else
    snprintf(at, sizeof d->base.why - used, "%s%s %s (%s)", lead, ops[n.op], types[n.type], why);
}

void hx__cl_prepare(hx__device *device, uint64_t needs) {
  hx__cl_device *const d = (hx__cl_device *)device;
  if (!hx__cl_device_open(d)) return;
  atomic_fetch_or(&device->ready, HX__NEED_OPEN);
  for (needs &= ~HX__NEED_OPEN; needs; needs &= needs - 1) {
    const unsigned index = hx__need_index(needs);
    const char *const why = prepare_one(d, index);
    if (atomic_load(&device->lost)) return;
    if (why) {
      note_refusal(d, index, why);
      hx__log(HX__LOG_INFO, "%s %s", device->name, device->why);
    }
    if (!why) device->seed[index] = hx__cl_seed_rate(d, index);
    atomic_fetch_or(why ? &device->refused : &device->ready, 1ull << index);
  }
}
