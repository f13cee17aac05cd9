/* SPDX-License-Identifier: Apache-2.0
 * The loops in C of `ladder offload`: the study's, which works on tiles that fit into registers and the first cache,
 * and the three plain ones, in the order that reads memory by rows. */
#include "bench/ladder_offload.h"

#include <math.h>

#include "bench/measure.h"

/* The study's tiles. */
#define TILE_M 16
#define TILE_N 32
#define TILE_K 16

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* One tile of C. The numbers of rows and columns are constants, except at the edges. */
static inline __attribute__((always_inline)) void multiply_tile(const ladder_product *p, size_t i0, size_t j0,
                                                                size_t rows, size_t columns) {
  float a[TILE_M][TILE_K], c[TILE_M][TILE_N] = {{0}};
  for (size_t q0 = 0; q0 < p->k; q0 += TILE_K) {
    const size_t depth = least(TILE_K, p->k - q0);
    for (size_t i = 0; i < rows; i++)
      for (size_t q = 0; q < depth; q++) a[i][q] = p->a[(i0 + i) * p->k + q0 + q];
    for (size_t q = 0; q < depth; q++) {
      const float *const b = p->b + (q0 + q) * p->n + j0;
      for (size_t i = 0; i < rows; i++) {
#pragma omp simd
        for (size_t j = 0; j < columns; j++) c[i][j] += a[i][q] * b[j];
      }
    }
  }
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < columns; j++) p->got[(i0 + i) * p->n + j0 + j] = c[i][j];
}

static void multiply_tiles(const ladder_product *p, size_t i0) {
  for (size_t j0 = 0; j0 < p->n; j0 += TILE_N) {
    const size_t rows = least(TILE_M, p->m - i0), columns = least(TILE_N, p->n - j0);
    if (rows == TILE_M && columns == TILE_N)
      multiply_tile(p, i0, j0, TILE_M, TILE_N);
    else
      multiply_tile(p, i0, j0, rows, columns);
  }
}

static void multiply_row(const ladder_product *p, size_t i) {
  float *restrict c = p->got + i * p->n;
  for (size_t j = 0; j < p->n; j++) c[j] = 0.0f;
  for (size_t q = 0; q < p->k; q++) {
    const float a = p->a[i * p->k + q], *restrict b = p->b + q * p->n;
#pragma omp simd
    for (size_t j = 0; j < p->n; j++) c[j] += a * b[j];
  }
}

static int thread_count;

static double call_tiled(ladder_rung *rung, double *event) {
  const ladder_product *const p = rung->self;
  const double start = bench_now();
  for (size_t i0 = 0; i0 < p->m; i0 += TILE_M) multiply_tiles(p, i0);
  *event = NAN;
  return bench_now() - start;
}

static double call_tiled_openmp(ladder_rung *rung, double *event) {
  const ladder_product *const p = rung->self;
  const double start = bench_now();
#pragma omp parallel for schedule(dynamic) num_threads(thread_count)
  for (size_t i0 = 0; i0 < p->m; i0 += TILE_M) multiply_tiles(p, i0);
  *event = NAN;
  return bench_now() - start;
}

static double call_serial(ladder_rung *rung, double *event) {
  const ladder_product *const p = rung->self;
  const double start = bench_now();
  for (size_t i = 0; i < p->m; i++) multiply_row(p, i);
  *event = NAN;
  return bench_now() - start;
}

static double call_openmp(ladder_rung *rung, double *event) {
  const ladder_product *const p = rung->self;
  const double start = bench_now();
#pragma omp parallel for schedule(dynamic, 16) num_threads(thread_count)
  for (size_t i = 0; i < p->m; i++) multiply_row(p, i);
  *event = NAN;
  return bench_now() - start;
}

void ladder_loop_rungs(ladder_case *c, unsigned threads) {
  thread_count = (int)threads;
  ladder_add(c, LADDER_OFFLOAD_BASE, call_tiled, c->product);
  ladder_add(c, "tiled C, OpenMP", call_tiled_openmp, c->product);
  ladder_add(c, "serial C", call_serial, c->product);
  ladder_add(c, "OpenMP", call_openmp, c->product);
}
