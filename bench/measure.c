/* SPDX-License-Identifier: Apache-2.0
 * Interleaved rounds, the rule that ends them, and order statistics. */
#include "bench/measure.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/progress.h"

#define SAMPLE_SECONDS 50e-6 /* 1000 times the cost of reading the clock */
#define MOST_ROUNDS 1001
#define MOST_TIMES_SECONDS 4 /* the least number of rounds may take this multiple of the requested time */

unsigned bench_calls(double seconds) {
  if (seconds >= SAMPLE_SECONDS) return 1;
  double calls = ceil(SAMPLE_SECONDS / fmax(seconds, 1e-9));
  return calls > 10000 ? 10000 : (unsigned)calls;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void bench_sort(double *values, size_t count) { qsort(values, count, sizeof *values, compare_doubles); }

double bench_quantile(const double *sorted, size_t count, double fraction) {
  if (count == 0) return NAN;
  double at = fraction * (double)(count - 1);
  size_t low = (size_t)at, high = low + 1 < count ? low + 1 : low;
  return sorted[low] + (at - (double)low) * (sorted[high] - sorted[low]);
}

bench_times bench_times_of(const double *values, size_t count) {
  double *const sorted = count ? malloc(count * sizeof *sorted) : NULL;
  if (!sorted) return (bench_times){NAN, NAN, NAN, NAN, NAN};
  memcpy(sorted, values, count * sizeof *sorted);
  bench_sort(sorted, count);
  bench_times times = {.median = bench_quantile(sorted, count, 0.5), .least = sorted[0], .most = sorted[count - 1]};
  bench_median_interval(sorted, count, &times.low, &times.high);
  free(sorted);
  return times;
}

double bench_median(const double *values, size_t count) { return bench_times_of(values, count).median; }

void bench_median_interval(const double *sorted, size_t count, double *low, double *high) {
  /* The rank r is such that the probability that fewer than r of `count` values are on one side of the median is at
   * most 2.5 %. */
  double log_half = -(double)count * log(2), below = 0;
  size_t rank = 0;
  for (; rank < (count - 1) / 2; rank++) {
    below += exp(log_half + lgamma((double)count + 1) - lgamma((double)rank + 1) - lgamma((double)(count - rank) + 1));
    if (below > 0.025) break;
  }
  size_t at = rank ? rank - 1 : 0;
  *low = sorted[at];
  *high = sorted[count - 1 - at];
}

bench_limits bench_session_limits(const bench_session *session, size_t least, double seconds) {
  const bench_options *const options = session->options;
  return (bench_limits){.reps = options->reps,
                        .least = least,
                        .seconds = options->seconds > 0 ? options->seconds : seconds,
                        .deadline = session->deadline};
}

static bool enough_rounds(size_t rounds, double elapsed, const bench_limits *limits) {
  if (rounds == 0) return false;
  if (bench_stopped()) return true;
  bool past_deadline = limits->deadline > 0 && bench_now() >= limits->deadline;
  if (limits->reps) return rounds >= limits->reps;
  if (rounds >= MOST_ROUNDS) return true;
  if (rounds >= limits->least) return elapsed >= limits->seconds || past_deadline;
  if (limits->whole) return false;
  /* A contestant that is far slower than the others must not use up the time. */
  size_t indispensable = limits->least > 3 ? 3 : limits->least;
  if (rounds >= indispensable) return elapsed >= MOST_TIMES_SECONDS * limits->seconds || past_deadline;
  return past_deadline && elapsed >= limits->seconds;
}

/* The part of the rounds, or of the time, that is done. */
static double part_done(const bench_limits *limits, size_t rounds, double elapsed) {
  if (limits->reps) return (double)rounds / (double)limits->reps;
  return fmin(elapsed / limits->seconds, (double)rounds / (double)limits->least);
}

/* xorshift with a fixed seed, so that runs can be repeated. */
static size_t random_below(size_t count, uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return (size_t)(*state % count);
}

/* Draws a new order of the contestants for each round, because each one finds the caches, the clock rate and the
 * threads as the one before it has left them. The orders are the rows of a Latin square in which each contestant
 * follows every other one equally often (Williams, Australian Journal of Scientific Research A 2, 1949; if their number
 * is odd, also the mirror image). The order of the rows is drawn for each pass. rows: scratch space for `count`
 * numbers. */
static void draw_order(size_t round, size_t count, size_t *rows, size_t *order, uint64_t *state) {
  if (count == 0) return;
  if (round % count == 0) {
    for (size_t i = 0; i < count; i++) rows[i] = i;
    for (size_t i = count; i > 1; i--) {
      size_t other = random_below(i, state), swap = rows[i - 1];
      rows[i - 1] = rows[other];
      rows[other] = swap;
    }
  }
  const bool mirrored = count % 2 && round / count % 2;
  for (size_t k = 0; k < count; k++) { /* 0, 1, -1, 2, -2, ... from the row's number */
    size_t step = k % 2 ? k / 2 + 1 : count - k / 2;
    order[mirrored ? count - 1 - k : k] = (rows[round % count] + step) % count;
  }
}

size_t bench_measure(bench_contestant *contestants, size_t count, const bench_limits *limits) {
  if (count == 0) return 0;
  const double start = bench_now();
  size_t rounds = 0;
  size_t *rows = malloc(2 * count * sizeof *rows), *order = rows + count;
  uint64_t state = 0x9e3779b97f4a7c15u;
  bool fine = rows != NULL;
  for (double elapsed = 0; fine && !enough_rounds(rounds, elapsed, limits); elapsed = bench_now() - start) {
    bench_progress_done(part_done(limits, rounds, elapsed));
    draw_order(rounds, count, rows, order, &state);
    size_t c = 0;
    for (; fine && c < count && !bench_stopped(); c++) {
      bench_contestant *contestant = &contestants[order[c]];
      const double value = contestant->sample(contestant->self, contestant->calls);
      size_t samples = rounds;
      fine = value >= 0 && bench_append(&contestant->samples, &samples, &contestant->room, &value, sizeof value);
    }
    if (c < count) break; /* an incomplete round does not count */
    rounds++;
  }
  free(rows);
  return fine ? rounds : 0;
}
