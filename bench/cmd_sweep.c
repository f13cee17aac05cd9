/* SPDX-License-Identifier: Apache-2.0
 * The subcommand `sweep`: all splits in steps, and hx's own choice, in interleaved rounds. The best split is chosen by
 * the even rounds and timed by the odd ones, because the least of several noisy medians is too low in the rounds by
 * which it was chosen. eta is the time of the best split divided by the time of hx's choice: the median of that ratio
 * over the odd rounds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/compare.h"
#include "bench/emit.h"
#include "bench/engine.h"
#include "bench/measure.h"

#define LEAST_ROUNDS 21u

/* Copies the values with even (parity 0) or odd (1) index into half. Returns how many there are. */
static size_t pick_half(const double *values, size_t count, size_t parity, double *half) {
  size_t taken = 0;
  for (size_t i = parity; i < count; i += 2) half[taken++] = values[i];
  return taken;
}

/* samples: those of each split in order, then those of hx's own choice. Returns false if there is no memory. */
static bool compare_with_best_split(double *const *samples, const bench_mode *modes, size_t count, size_t rounds,
                                    bench_sweep *sweep) {
  double *half = malloc(rounds * sizeof *half);
  if (!half) return false;
  size_t own = count - 1, best = own;
  double best_s = INFINITY;
  for (size_t i = 0; i < own; i++) {
    if (!samples[i]) continue;
    double median = bench_median(half, pick_half(samples[i], rounds, 0, half));
    if (median < best_s) best_s = median, best = i;
  }
  if (best != own && samples[own]) {
    sweep->best_split = (double)modes[best].share;
    sweep->best_s = bench_median(half, pick_half(samples[best], rounds, 1, half));
    sweep->own_s = bench_median(half, pick_half(samples[own], rounds, 1, half));
    size_t ratios = 0;
    for (size_t i = 1; i < rounds; i += 2) half[ratios++] = samples[best][i] / samples[own][i];
    bench_sort(half, ratios);
    sweep->eta = bench_quantile(half, ratios, 0.5);
    sweep->eta_low = bench_quantile(half, ratios, 0.25);
    sweep->eta_high = bench_quantile(half, ratios, 0.75);
  }
  free(half);
  return true;
}

static bool sweep_one(bench_session *session, bench_subject *subject, const bench_plan *plan, bench_results *results) {
  const bench_options *options = session->options;
  bench_mode modes[BENCH_MOST_MODES];
  double *samples[BENCH_MOST_MODES] = {NULL};
  size_t count = 0;
  for (unsigned percent = 0; percent <= 100; percent += options->step)
    modes[count++] = (bench_mode){percent == 0 ? "cpu" : percent == 100 ? "gpu" : "both", (float)percent / 100.0f};
  modes[count++] = (bench_mode){"both", -1};
  bench_run run = {.least = LEAST_ROUNDS, .whole = true, .samples = samples};
  run.seconds = subject->row.m ? plan->matmul_seconds : plan->reduce_seconds;
  bench_sweep sweep = {.first_row = results->row_count,
                       .row_count = count,
                       .best_s = NAN,
                       .own_s = NAN,
                       .own_share = NAN,
                       .eta = NAN,
                       .eta_low = NAN,
                       .eta_high = NAN};
  bool fine = bench_engine_run(session, subject, modes, count, &run, results);
  if (fine && run.rounds) {
    sweep.rounds = run.rounds;
    sweep.own_share = results->rows[sweep.first_row + count - 1].gpu_share;
    fine = compare_with_best_split(samples, modes, count, run.rounds, &sweep);
    if (isfinite(sweep.eta) && results->sweep_count < BENCH_MAX_SIZES) {
      bench_verdict_add_sweep(results, &sweep);
      results->sweeps[results->sweep_count++] = sweep;
    }
  }
  for (size_t i = 0; i < count; i++) free(samples[i]);
  return fine;
}

int bench_cmd_sweep(const bench_options *options) {
  if (options->reps && options->reps < LEAST_ROUNDS) {
    fprintf(stderr, "hx-bench: sweep needs at least %u rounds, not --reps %zu\n", LEAST_ROUNDS, options->reps);
    return BENCH_USAGE;
  }
  return bench_compare(options, sweep_one);
}
