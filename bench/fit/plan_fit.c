/* SPDX-License-Identifier: Apache-2.0
 * Scores the planner against timings. fit_plan.py compiles this together with the planner and changes its constants in
 * place. */
#include <math.h>

#include "kernels/gemm_plan.h"

/* A program whose predicted time is longer by this fraction has a weight that is e times smaller. */
#define SHARP 0.03
/* Predictions for programs that take longer than this multiple of the fastest one's time are ignored. */
#define NEAR 1.5
/* A loss of 1 / LARGE counts double, because one bad choice is worse than many small losses. */
#define LARGE 30.0
#define MOST 32768

static struct timing {
  hx__gemm_shape shape;
  int first; /* the first timing of a shape */
  int row, layout;
  double weight, plain_ns, joined_ns;
} timings[MOST];
static int count;

void fit_add(size_t m, size_t n, size_t k, int trans_a, int trans_b, int first, double weight, int row, int layout,
             double plain_ns, double joined_ns) {
  const hx__gemm_operand a = {trans_a ? 1 : k, trans_a ? m : 1, true}, b = {trans_b ? 1 : n, trans_b ? k : 1, true};
  if (count < MOST)
    timings[count++] =
        (struct timing){{m, n, k, a, b}, first, row, layout, weight, plain_ns, joined_ns > 0.0 ? joined_ns : plain_ns};
}

/* Computes weighted means over the shapes whose number is `rest` modulo `of`. *lost: the logarithm of the chosen
 * program's time over the best one's; programs with similar predictions share the choice (SHARP). *off: the error of
 * the predictions of good programs, as a logarithm. A prediction below floor_ns counts as floor_ns, because the host
 * limits such launches. */
void fit_score(unsigned units, double floor_ns, int of, int rest, double *lost, double *off) {
  size_t rows_count;
  const hx__kernel_row *rows = hx__kernel_rows(&rows_count);
  double lost_sum = 0.0, off_sum = 0.0;
  double shapes = 0.0;
  for (int i = 0, number = 0; i < count; number++) {
    double plan[64], ns[64], best = INFINITY, least = INFINITY, weights = 0.0, lost_here = 0.0, off_here = 0.0;
    int programs = 0, near = 0;
    const int from = i;
    for (; i < count && (i == from || !timings[i].first); i++) {
      const struct timing *t = &timings[i];
      if (number % of != rest) continue;
      const hx__gemm_plan p = hx__gemm_plan_for(&rows[t->row], (hx__layout)t->layout, &t->shape, units);
      if (!(p.ns < INFINITY) || programs == 64) continue;
      plan[programs] = p.ns;
      ns[programs] = p.joins ? t->joined_ns : t->plain_ns;
      best = fmin(best, ns[programs]);
      least = fmin(least, p.ns);
      programs++;
    }
    if (programs == 0) continue;
    for (int p = 0; p < programs; p++) {
      const double weight = exp(-log(plan[p] / least) / SHARP);
      weights += weight;
      lost_here += weight * log(ns[p] / best);
      if (ns[p] > NEAR * best) continue;
      off_here += fabs(log(fmax(plan[p], floor_ns) / ns[p]));
      near++;
    }
    lost_here /= weights;
    lost_sum += timings[from].weight * lost_here * (1.0 + LARGE * lost_here);
    off_sum += timings[from].weight * off_here / near;
    shapes += timings[from].weight;
  }
  *lost = lost_sum / shapes;
  *off = off_sum / shapes;
}

void fit_set(int row, int layout, unsigned rate, unsigned chain) {
  size_t rows_count;
  hx__kernel_row *at = (hx__kernel_row *)hx__kernel_rows(&rows_count) + row;
  at->rate[layout] = rate;
  at->chain[layout] = chain;
}

unsigned fit_rate(int row, int layout) {
  size_t rows_count;
  return hx__kernel_rows(&rows_count)[row].rate[layout];
}

unsigned fit_chain(int row, int layout) {
  size_t rows_count;
  return hx__kernel_rows(&rows_count)[row].chain[layout];
}

const char *fit_name(int row) {
  size_t rows_count;
  const hx__kernel_row *rows = hx__kernel_rows(&rows_count);
  return (size_t)row < rows_count ? rows[row].name : NULL;
}
