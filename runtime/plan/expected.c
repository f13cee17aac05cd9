/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/plan/expected.h"

#include <math.h>

#include "runtime/plan/threads.h"

#define GUESS_REDUCE 8.0   /* units per nanosecond of the CPU, before anything is measured */
#define GUESS_MATMUL 40.0  /* the same of a product, for each thread */
#define GUESS_WORDS 8.0    /* words of A, B and C per nanosecond: few rows or columns take as long as reading them */
#define TRUSTED_SAMPLES 3u /* the samples of a product from which they are trusted over the guess */
#define NEAR_PART 0.5      /* calls are measured from this part of the break-even on */
#define GUESSED_PART 0.25  /* products are measured from this part of the break-even on */

/* Added to sigma if a measurement was made in another company, or with another placement of the operands. */
#define OTHER_COMPANY_SIGMA 0.2
#define OTHER_PLACEMENT_SIGMA 0.3

/* Nanoseconds per byte: for fetching a device-only result, and for an operand that a thread of the CPU copies into
 * pinned memory, before that is measured (docs/MEMORY.md). */
#define FETCH_BYTE_NS 0.1
#define STAGE_BYTE_NS 0.16

#define FROM_HOST_FACTOR 20.0 /* time of a reduction of host memory over that of device memory, on a discrete GPU */

/* The words of A, B and C of each multiply-add of a product. */
static double words_per_unit(const hx__gemm *g) { return 1.0 / (double)g->n + 1.0 / (double)g->m + 1.0 / (double)g->k; }

hx__estimate hx__guess_cpu(const hx__work *w, unsigned threads) {
  hx__estimate e = hx__prior_cpu;
  e.latency_ns = 0.0;
  e.ns_per_unit =
      w->matmul ? fmax(1.0 / (GUESS_MATMUL * threads), words_per_unit(&w->gemm) / GUESS_WORDS) : 1.0 / GUESS_REDUCE;
  return e;
}

double hx__break_even_ns(double launch_ns) {
  return launch_ns > 0.0 ? fmin(launch_ns + HX__JOIN_NS, HX__BREAK_EVEN_NS) : HX__BREAK_EVEN_NS;
}

/* Calls near the break-even are measured, although they stay on the CPU: it may become slower than it was when its rate
 * was learned, if other programs take its cores, and only a measured call shows that.
 *
 * Until a few calls of a product were measured, its time is guessed, because the first call is slow: it wakes threads.
 * The guess assumes that threads share a small product well, and may be several times too short. So calls are measured
 * from well below the break-even on. */
hx__cpu_time hx__cpu_time_of(const hx__work *w, unsigned threads, const hx__estimate *e, double break_even_ns) {
  const double units = (double)w->units, ns = hx__estimate_ns(e, units, false);
  const bool trusted = !w->matmul || (e->samples >= TRUSTED_SAMPLES && !e->borrowed);
  if (trusted) return (hx__cpu_time){ns, ns >= NEAR_PART * break_even_ns};
  const hx__estimate guess = hx__guess_cpu(w, threads);
  const double guessed = hx__estimate_ns(&guess, units, false), longer = fmax(guessed, GUESSED_PART * ns);
  return (hx__cpu_time){guessed < break_even_ns ? guessed : ns, longer >= GUESSED_PART * break_even_ns};
}

bool hx__is_below_break_even(const hx__plan_snapshot *s) {
  const uint64_t least = s->config->min_offload;
  return least != UINT64_MAX ? s->work->units < least : s->cpu.ns < s->break_even_ns;
}

/* Nanoseconds per byte of an operand, by its two bits of hx__work.placement: copied through staging buffers, copied
 * directly, or already on the device. */
static double byte_ns(const hx__device_facts *d, uint32_t placement) {
  static const double staged[] = {STAGE_BYTE_NS, 0.0, 0.0}, moved[] = {1.0, 1.0, 0.0};
  const uint32_t how = placement & 3u;
  return fmax(staged[how], moved[how] * d->link_ns);
}

/* Whether threads of the CPU copy operands into the device's staging buffers. */
static bool is_staged(const hx__device_facts *d, const hx__work *w) {
  const bool has_second =
      w->kernel ? hx__expr_element_inputs(&w->kernel->expr) > 1 : w->matmul || w->fields[0].op == HX_DOT;
  return d->link_ns > 0.0 && ((w->placement & 3u) == 0 || (has_second && (w->placement >> 2 & 3u) == 0));
}

/* The cost of moving the operands to a device: for the operand that every chunk needs, once; for the others, for each
 * unit. */
typedef struct transfer {
  double once_ns, ns_per_unit;
} transfer;

/* The inputs of a user kernel and its result. The second class of placement stands for all inputs after the first that
 * has an element for each element, and for those that have a value for each row. */
static double map_ns_per_unit(const hx__work *w, double first_ns, double other_ns, double out_ns) {
  double ns = w->map ? hx__work_outputs(w) * out_ns : 0.0, next_ns = first_ns;
  for (unsigned i = 0; i < w->kernel->expr.inputs; i++) {
    const bool per_row = w->kernel->expr.per_row[i];
    const hx__matrix m = hx__input_matrix(w, i);
    ns += (per_row ? other_ns : next_ns) * (double)m.rows * (double)m.cols / (double)w->units;
    if (!per_row) next_ns = other_ns;
  }
  return ns;
}

static transfer transfer_of(const hx__device_facts *d, const hx__work *w, uint32_t placement) {
  if (!(d->link_ns > 0.0) || w->units == 0) return (transfer){0.0, 0.0};
  const double word = sizeof(float), units = (double)w->units;
  const double a_ns = byte_ns(d, placement) * word, b_ns = byte_ns(d, placement >> 2) * word;
  const double c_ns = (placement & HX__RESIDENT_C) ? 0.0 : d->link_ns * word;
  if (w->kernel) return (transfer){0.0, map_ns_per_unit(w, a_ns, b_ns, c_ns)};
  if (!w->matmul) return (transfer){0.0, w->fields[0].op == HX_DOT ? a_ns + b_ns : a_ns};
  const double m = (double)w->gemm.m, n = (double)w->gemm.n, k = (double)w->gemm.k;
  if (w->by_products) { /* a matrix that all products share is moved once */
    const bool same_a = w->batch.stride_a == 0, same_b = w->batch.stride_b == 0;
    const double each = (same_a ? 0.0 : m * k * a_ns) + (same_b ? 0.0 : k * n * b_ns) + m * n * c_ns;
    return (transfer){(same_a ? m * k * a_ns : 0.0) + (same_b ? k * n * b_ns : 0.0), each / (m * n * k)};
  }
  const double shared = w->by_columns ? m * k * a_ns : k * n * b_ns, own = w->by_columns ? k * n * b_ns : m * k * a_ns;
  return (transfer){shared, (own + m * n * c_ns) / units};
}

/* The estimate before anything is measured: a launch as in the self-test, and the transfer. */
static hx__estimate by_self_test(const hx__device_facts *d, const hx__work *w, uint32_t placement) {
  hx__estimate e = hx__prior_of(d->launch_ns, 1.0 / d->seed_rate);
  const transfer moved = transfer_of(d, w, placement);
  if (e.ns_per_unit > 0.0) {
    e.latency_ns += moved.once_ns;
    if (d->link_ns > 0.0 && !w->matmul) e.ns_per_unit /= FROM_HOST_FACTOR;
    e.ns_per_unit += moved.ns_per_unit;
  }
  return e;
}

/* Scales a measurement with another placement by the ratio of the estimates for the two placements. */
static void scale_to_placement(hx__estimate *e, const hx__device_facts *d, const hx__work *w, uint32_t measured) {
  const hx__estimate here = by_self_test(d, w, w->placement), there = by_self_test(d, w, measured);
  const double units = (double)w->units;
  const double ratio = hx__estimate_ns(&here, units, false) / hx__estimate_ns(&there, units, false);
  if (ratio > 0.0 && isfinite(ratio)) {
    e->ns_per_unit *= ratio;
    e->latency_ns *= ratio;
  }
  e->sigma += OTHER_PLACEMENT_SIGMA;
}

static hx__estimate expected_of(const hx__device_facts *d, const hx__work *w, const hx__nearest *nearest) {
  hx__estimate e = nearest->rate;
  if (!e.samples) return by_self_test(d, w, w->placement);
  if (!nearest->elsewhere) return e;
  if (nearest->placement != w->placement) scale_to_placement(&e, d, w, nearest->placement);
  e.sigma += OTHER_COMPANY_SIGMA;
  e.borrowed = true;
  return e;
}

void hx__expect_device(hx__plan_snapshot *s, size_t device, const hx__nearest *beside, const hx__nearest *alone) {
  const hx__device_facts *const d = &s->device[device];
  const hx__work *const w = s->work;
  s->inputs.device[device].beside = expected_of(d, w, beside);
  s->inputs.device[device].alone = expected_of(d, w, alone);
  /* How much the copies slow a device beside the CPU cannot be guessed. Without a link, a measurement beside the CPU is
   * a better estimate of the device alone than the self-test. */
  if (!s->inputs.device[device].alone.samples && !(d->link_ns > 0.0)) {
    s->inputs.device[device].alone = s->inputs.device[device].beside;
    s->inputs.device[device].alone.borrowed = true;
  }
  s->inputs.device[device].idle = d->idle;
  s->inputs.device[device].by_ring = is_staged(d, w);
  s->inputs.device[device].by_link = w->matmul && d->link_ns > 0.0;
}

/* Compares rates by their reciprocals; an unknown rate (0) comes last. */
static bool is_faster(const hx__estimate *a, const hx__estimate *b) {
  return a->ns_per_unit > 0.0 && (!(b->ns_per_unit > 0.0) || a->ns_per_unit < b->ns_per_unit);
}

static void sort_by_rate(hx__plan_snapshot *s) {
  hx__cost_inputs *const p = &s->inputs;
  for (size_t i = 1; i < p->devices; i++)
    for (size_t j = i; j > 0 && is_faster(&p->device[j].beside, &p->device[j - 1].beside); j--) {
      const hx__device_facts facts = s->device[j];
      const __typeof__(p->device[0]) expected = p->device[j];
      s->device[j] = s->device[j - 1];
      p->device[j] = p->device[j - 1];
      s->device[j - 1] = facts;
      p->device[j - 1] = expected;
    }
}

void hx__expect_company(hx__plan_snapshot *s, const hx__estimate *cpu_beside) {
  hx__cost_inputs *const p = &s->inputs;
  sort_by_rate(s);
  p->no_split = hx__shares_by_panels(s->work, s->threads);
  for (size_t i = 0; i < p->devices; i++) hx__reconcile(&p->device[i].alone, &p->device[i].beside);
  p->cpu_beside = *cpu_beside;
  if (!cpu_beside->samples) {
    p->cpu_beside = p->cpu_alone;
    p->cpu_beside.ns_per_unit *= (double)s->threads / (double)(s->threads - s->copy_threads);
  }
  hx__reconcile(&p->cpu_alone, &p->cpu_beside);
}

uint64_t hx__company_of(const hx__plan_snapshot *s, hx__choice choice) {
  uint64_t company = choice.cpu ? HX__CPU_IDENTITY : 0;
  for (unsigned i = 0; i < choice.devices; i++) company += s->device[i].identity;
  return company;
}

double hx__fetch_ns(size_t bytes) { return FETCH_BYTE_NS * (double)bytes; }

hx__energy_use hx__energy_use_of(const hx__plan_snapshot *s, bool counters) {
  if (s->config->objective == HX__OBJECTIVE_TIME || !counters) return HX__ENERGY_UNUSED;
  for (size_t i = 0; i < s->inputs.devices; i++)
    if (s->device[i].unmetered) return HX__ENERGY_UNMETERED;
  return HX__ENERGY_USED;
}
