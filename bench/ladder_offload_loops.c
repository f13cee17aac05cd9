/* SPDX-License-Identifier: Apache-2.0
 * The loops in C of the product of `ladder offload`, each a row: the study's, which works on tiles that fit into
 * registers and the first cache, with each instruction set, and plain ones, in the order that reads memory by rows. */
#include "bench/ladder_offload.h"

#include <math.h>

#include "bench/measure.h"

/* The study's tiles. */
#define TILE_M 16
#define TILE_N 32
#define TILE_K 16

#define INLINE static inline __attribute__((always_inline))

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* One tile of C. The numbers of rows and columns are constants, except at the edges. */
INLINE void multiply_edge(const ladder_product *p, size_t i0, size_t j0, size_t rows, size_t columns) {
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

INLINE void multiply_tile(const ladder_product *p, size_t i0, size_t j0) {
  const size_t rows = least(TILE_M, p->m - i0), columns = least(TILE_N, p->n - j0);
  if (rows == TILE_M && columns == TILE_N)
    multiply_edge(p, i0, j0, TILE_M, TILE_N);
  else
    multiply_edge(p, i0, j0, rows, columns);
}

/* A row of tiles. */
INLINE void multiply_strip(const ladder_product *p, size_t i0) {
  for (size_t j0 = 0; j0 < p->n; j0 += TILE_N) multiply_tile(p, i0, j0);
}

/* Computes the part of C that begins at (i, j). */
typedef void product_part(const ladder_product *p, size_t i, size_t j);

static void one_tile(const ladder_product *p, size_t i, size_t j) { multiply_tile(p, i, j); }
static void strip(const ladder_product *p, size_t i, size_t j) { (void)j, multiply_strip(p, i); }
LADDER_TARGET("avx")
static void strip_avx(const ladder_product *p, size_t i, size_t j) { (void)j, multiply_strip(p, i); }
LADDER_TARGET("avx512f,prefer-vector-width=512")
static void strip_avx512(const ladder_product *p, size_t i, size_t j) { (void)j, multiply_strip(p, i); }

static void clear_row(const ladder_product *p, size_t i) {
  for (size_t j = 0; j < p->n; j++) p->got[i * p->n + j] = 0.0f;
}

static void one_row(const ladder_product *p, size_t i, size_t j0) {
  float *restrict c = p->got + i * p->n;
  (void)j0;
  clear_row(p, i);
  for (size_t q = 0; q < p->k; q++) {
    const float a = p->a[i * p->k + q], *restrict b = p->b + q * p->n;
#pragma omp simd
    for (size_t j = 0; j < p->n; j++) c[j] += a * b[j];
  }
}

/* One loop with and without the promise that arrays do not overlap. Nothing else tells the compiler, as `omp simd` does
 * above, that it may use vectors; gcc uses them at -O3 alone if it does not know the length. */
#ifdef __clang__
#define MAY_USE_VECTORS
#else
#define MAY_USE_VECTORS __attribute__((optimize("O3")))
#endif
#define PROMISED_ROW(name, promise)                                                                                 \
  MAY_USE_VECTORS static __attribute__((noinline)) void name##_loop(const float *promise a, const float *promise b, \
                                                                    float *promise c, size_t n, size_t k) {         \
    for (size_t q = 0; q < k; q++)                                                                                  \
      for (size_t j = 0; j < n; j++) c[j] += a[q] * b[q * n + j];                                                   \
  }                                                                                                                 \
  static void name(const ladder_product *p, size_t i, size_t j) {                                                   \
    (void)j;                                                                                                        \
    clear_row(p, i);                                                                                                \
    name##_loop(p->a + i * p->k, p->b, p->got + i * p->n, p->n, p->k);                                              \
  }
PROMISED_ROW(row_restrict, restrict)
PROMISED_ROW(row_no_restrict, )

static const struct row {
  const char *name;
  product_part *part;
  size_t rows, columns; /* of a part; columns 0: all */
  ladder_set set;
  int chunk; /* parts that a thread takes at a time; 0: one thread */
  const char *against;
} rows[] = {
    {LADDER_OFFLOAD_BASE, strip, TILE_M, 0, LADDER_ALWAYS, 0, NULL},
    {"tiled C, AVX", strip_avx, TILE_M, 0, LADDER_AVX, 0, LADDER_OFFLOAD_BASE},
    {"tiled C, AVX-512", strip_avx512, TILE_M, 0, LADDER_AVX512, 0, LADDER_OFFLOAD_BASE},
    {"tiled C, OpenMP", strip, TILE_M, 0, LADDER_ALWAYS, 1, NULL},
    {"tiled C, OpenMP, nested", one_tile, TILE_M, TILE_N, LADDER_ALWAYS, 1, "tiled C, OpenMP"},
    {"serial C", one_row, 1, 0, LADDER_ALWAYS, 0, NULL},
    {"serial C, restrict", row_restrict, 1, 0, LADDER_ALWAYS, 0, "serial C, no restrict"},
    {"serial C, no restrict", row_no_restrict, 1, 0, LADDER_ALWAYS, 0, NULL},
    {"OpenMP", one_row, 1, 0, LADDER_ALWAYS, 16, NULL},
};

typedef struct loop_run {
  const ladder_product *product;
  const struct row *row;
} loop_run;

static int thread_count;

static double call_loop(ladder_rung *rung, double *event) {
  const loop_run *const l = rung->self;
  const ladder_product *const p = l->product;
  const size_t height = l->row->rows, width = l->row->columns ? l->row->columns : p->n;
  const size_t across = (p->n + width - 1) / width, parts = (p->m + height - 1) / height * across;
  const double start = bench_now();
  if (l->row->chunk) {
#pragma omp parallel for schedule(dynamic, l->row->chunk) num_threads(thread_count)
    for (size_t part = 0; part < parts; part++) l->row->part(p, part / across * height, part % across * width);
  } else {
    for (size_t part = 0; part < parts; part++) l->row->part(p, part / across * height, part % across * width);
  }
  *event = NAN;
  return bench_now() - start;
}

bool ladder_has_set(ladder_set set) {
#ifdef __x86_64__
  const bool has[LADDER_SETS] = {[LADDER_ALWAYS] = true,
                                 [LADDER_AVX] = __builtin_cpu_supports("avx"),
                                 [LADDER_AVX2] = __builtin_cpu_supports("avx2"),
                                 [LADDER_AVX512] = __builtin_cpu_supports("avx512f")};
  return has[set];
#else
  return set == LADDER_ALWAYS;
#endif
}

void ladder_loop_rungs(ladder_case *c, unsigned threads) {
  thread_count = (int)threads;
  for (const struct row *row = rows; row < rows + sizeof rows / sizeof rows[0]; row++) {
    ladder_rung *const rung = ladder_add_owner(c, row->name, call_loop, sizeof(loop_run));
    rung->against = row->against;
    if (rung->out) continue;
    *(loop_run *)rung->self = (loop_run){c->product, row};
    if (!ladder_has_set(row->set)) ladder_out(rung, "this CPU does not have it");
  }
}
