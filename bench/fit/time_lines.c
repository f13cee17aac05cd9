/* SPDX-License-Identifier: Apache-2.0
 * Times sums of rows and of columns of f32 matrices on one thread, beside loops that only read the same bytes and
 * beside the loops that a program without hx has: the data behind docs/measurements/lines.tsv. time_lines [LOG2
 * [ROUNDS]]      LOG2: one size only; ROUNDS of all contestants (default 15) Prints a row for each shape: the best rate
 * of reading, and the other best times as fractions of it. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/clock.h"
#include "runtime/hx.h"

#if defined(__x86_64__)
#define READ_TARGET __attribute__((noinline, target("avx2"))) /* every CPU on which this was run has it */
#else
#define READ_TARGET __attribute__((noinline))
#endif
typedef int64_t vector __attribute__((vector_size(32), aligned(4)));

enum { READ, ROWS, COLUMNS, PLAIN_ROWS, PLAIN_COLUMNS, CONTESTANTS };

typedef struct matrix {
  hx_context *hx;
  const float *x;
  size_t rows, columns;
  hx_value *out;
  float *sums;
} matrix;

static volatile int64_t sink;

READ_TARGET static int64_t read_all(const float *x, size_t n) {
  vector a = {0}, b = a, c = a, d = a;
  for (size_t i = 0; i + 32 <= n; i += 32) {
    const vector *const v = (const vector *)(const void *)(x + i);
    a |= v[0], b |= v[1], c |= v[2], d |= v[3];
  }
  a |= b | c | d;
  int64_t all = 0;
  for (int i = 0; i < 4; i++) all |= a[i];
  return all;
}

/* A compiler may not change the order of these additions, so it cannot vectorise them. */
static __attribute__((noinline)) void plain_rows(const matrix *m) {
  for (size_t r = 0; r < m->rows; r++) {
    float s = 0;
    for (size_t c = 0; c < m->columns; c++) s += m->x[r * m->columns + c];
    m->sums[r] = s;
  }
}

static __attribute__((noinline, optimize("O3"))) void plain_columns(const matrix *m) {
  for (size_t c = 0; c < m->columns; c++) m->sums[c] = 0;
  for (size_t r = 0; r < m->rows; r++)
    for (size_t c = 0; c < m->columns; c++) m->sums[c] += m->x[r * m->columns + c];
}

static void offload(const matrix *m, hx_task task) {
  if (hx_offload(m->hx, &task, NULL) == HX_OK) return;
  fprintf(stderr, "time_lines: %s\n", hx_error_detail());
  exit(1);
}

static uint64_t time_once(const matrix *m, int contestant) {
  const uint64_t from = hx__now_ns();
  switch (contestant) {
    case READ:
      sink = read_all(m->x, m->rows * m->columns);
      break;
    case ROWS:
      offload(m, hx_reduce_rows(HX_SUM, HX_F32, m->x, m->rows, m->columns, 0, m->out));
      break;
    case COLUMNS:
      offload(m, hx_reduce_columns(HX_SUM, HX_F32, m->x, m->rows, m->columns, 0, m->out));
      break;
    case PLAIN_ROWS:
      plain_rows(m);
      break;
    default:
      plain_columns(m);
  }
  return hx__now_ns() - from;
}

static void time_shape(const matrix *m, int rounds) {
  uint64_t best[CONTESTANTS];
  for (int contestant = 0; contestant < CONTESTANTS; contestant++) best[contestant] = UINT64_MAX;
  for (int round = 0; round < rounds; round++)
    for (int contestant = 0; contestant < CONTESTANTS; contestant++) {
      const uint64_t ns = time_once(m, contestant);
      if (ns < best[contestant]) best[contestant] = ns;
    }
  const double read = (double)best[READ];
  printf("%zu\t%zu\t%.1f", m->rows, m->columns, (double)(m->rows * m->columns) * sizeof(float) / read);
  for (int contestant = ROWS; contestant < CONTESTANTS; contestant++) printf("\t%.2f", read / (double)best[contestant]);
  printf("\n");
  fflush(stdout);
}

int main(int argc, char **argv) {
  static const int sizes[] = {14, 17, 20, 22, 25};
  const int only = argc > 1 ? atoi(argv[1]) : 0, rounds = argc > 2 ? atoi(argv[2]) : 15;
  const size_t most = (size_t)1 << 25;
  const hx_settings settings = {.devices = "cpu", .threads = "1"};
  matrix m;
  float *const x = malloc(most * sizeof *x);
  m.out = malloc(most * sizeof *m.out);
  m.sums = malloc(most * sizeof *m.sums);
  m.x = x;
  if (!x || !m.out || !m.sums || hx_open(&m.hx, &settings) != HX_OK) exit(1);
  for (size_t i = 0; i < most; i++) x[i] = (float)(i % 1000) * 0.01f;
  printf("rows\tcolumns\tGB/s of the read\trows\tcolumns\tplain rows\tplain columns\n");
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    if (only && only != sizes[i]) continue;
    for (int log_rows = 3; log_rows <= sizes[i] - 3; log_rows += sizes[i] > 17 ? 4 : 3) {
      m.rows = (size_t)1 << log_rows;
      m.columns = (size_t)1 << (sizes[i] - log_rows);
      time_shape(&m, rounds * (sizes[i] < 20 ? 20 : 1));
    }
  }
  hx_close(m.hx);
  free(x);
  free(m.out);
  free(m.sums);
  return 0;
}
