/* SPDX-License-Identifier: Apache-2.0
 * What the examples of user kernels beside a plain OpenMP loop share: their size, their memory, the two times. */
#ifndef EXAMPLES_BESIDE_H
#define EXAMPLES_BESIDE_H

#include <hx_map.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 9 }; /* hx, loop, hx, loop, ...: what else the machine does falls on both */

typedef struct times {
  double hx[ROUNDS], loop[ROUNDS]; /* seconds */
  hx_report report;                /* of the last call of hx */
} times;

static inline void check(hx_status status) {
  if (status == HX_OK) return;
  fprintf(stderr, "%s: %s\n", hx_status_string(status), hx_error_detail());
  exit(1);
}

/* The size on the command line, or the default. */
static inline size_t size_of_work(int argc, char **argv, size_t usual, size_t least) {
  const size_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : usual;
  if (n >= least) return n;
  fprintf(stderr, "usage: %s [SIZE], at least %zu\n", argv[0], least);
  exit(2);
}

/* Memory that devices read without a copy, or copy at full speed. 4 bytes for each of n elements. */
static inline void *elements(hx_context *hx, size_t n) {
  void *const p = hx_alloc(hx, n * sizeof(float));
  if (p) return p;
  fprintf(stderr, "%s\n", hx_error_detail());
  exit(1);
}

static inline int by_time(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static inline double median(double *seconds) {
  qsort(seconds, ROUNDS, sizeof *seconds, by_time);
  return seconds[ROUNDS / 2];
}

static inline void print_times(times *t) {
  const double hx = median(t->hx), loop = median(t->loop);
  printf("hx: %.3f ms, the loop %.3f ms, loop / hx %.2f, %.0f %% of hx's work on devices\n", 1e3 * hx, 1e3 * loop,
         loop / hx, 100 * t->report.gpu_share);
}

#endif
