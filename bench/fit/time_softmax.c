/* SPDX-License-Identifier: Apache-2.0
 * Times softmax and layer normalization of the rows of a matrix as calls of hx, whose kernels have inputs with one
 * value per row, beside plain OpenMP loops over the rows: the data behind docs/measurements/user-kernels-softmax.tsv.
 * Prints the medians of calls that alternate. time_softmax [THREADS [ROUNDS]]      default: 1 and 15. The loops are
 * what the compiler makes of them: build with gcc -O3 -march=native -fopenmp, and once with -ffast-math, too, with
 * which gcc calls the vector functions of the C library. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/hx_map.h"

#define ELEMENTS ((size_t)1 << 20)
enum { MOST_ROUNDS = 99, KERNELS = 6, VALUE_LD = sizeof(hx_value) / sizeof(float) };

/* Of softmax: greatest element, sum, result; of layer normalization: sum, sum of squares, result. */
static const hx_kernel_source sources[KERNELS] = {
    {.text = "x", .inputs = "float x"},
    {.text = "expf(x - m)", .inputs = "float x, row float m"},
    {.text = "expf(x - m) / s", .inputs = "float x, row float m, row float s"},
    {.text = "(x - s * r) * (x - s * r)", .inputs = "float x, row float s", .parameters = "float r"},
    {.text = "1.0f / sqrtf(v * r + 1e-5f)", .inputs = "row float v", .parameters = "float r"},
    {.text = "(x - s * r) * v", .inputs = "float x, row float s, row float v", .parameters = "float r"}};

typedef struct matrix {
  hx_context *hx;
  hx_kernel *kernel[KERNELS];
  size_t rows, cols;
  float *x, *out, *plain;
  hx_value *first, *second; /* a result for each row */
  float *inverse;
} matrix;

static void check(hx_status s) {
  if (s == HX_OK) return;
  fprintf(stderr, "time_softmax: %s\n", hx_error_detail());
  exit(1);
}

static void run(const matrix *m, hx_task task) { check(hx_offload(m->hx, &task, NULL)); }

static void softmax_by_hx(const matrix *m) {
  const void *const inputs[] = {m->x, m->first, m->second};
  const size_t ld[] = {m->cols, VALUE_LD, VALUE_LD};
  run(m, hx_map_reduce_rows(HX_MAX, m->kernel[0], inputs, ld, m->rows, m->cols, NULL, m->first));
  run(m, hx_map_reduce_rows(HX_SUM, m->kernel[1], inputs, ld, m->rows, m->cols, NULL, m->second));
  run(m, hx_map_rows(m->kernel[2], inputs, ld, m->rows, m->cols, NULL, m->out, m->cols));
}

static void norm_by_hx(const matrix *m) {
  const hx_value r = {.f32 = 1.0f / (float)m->cols};
  const void *const inputs[] = {m->x, m->first, m->inverse}, *const squares[] = {m->second};
  const size_t ld[] = {m->cols, VALUE_LD, 1}, one[] = {VALUE_LD};
  run(m, hx_map_reduce_rows(HX_SUM, m->kernel[0], inputs, ld, m->rows, m->cols, NULL, m->first));
  run(m, hx_map_reduce_rows(HX_SUM, m->kernel[3], inputs, ld, m->rows, m->cols, &r, m->second));
  run(m, hx_map_rows(m->kernel[4], squares, one, m->rows, 1, &r, m->inverse, 1));
  run(m, hx_map_rows(m->kernel[5], inputs, ld, m->rows, m->cols, &r, m->out, m->cols));
}

static void softmax_by_loop(const matrix *m) {
#pragma omp parallel for
  for (size_t i = 0; i < m->rows; i++) {
    const float *const x = m->x + i * m->cols;
    float *const out = m->plain + i * m->cols, greatest = x[0], sum = 0.0f;
    for (size_t j = 0; j < m->cols; j++) greatest = x[j] > greatest ? x[j] : greatest;
    for (size_t j = 0; j < m->cols; j++) sum += expf(x[j] - greatest);
    for (size_t j = 0; j < m->cols; j++) out[j] = expf(x[j] - greatest) / sum;
  }
}

static void norm_by_loop(const matrix *m) {
  const float r = 1.0f / (float)m->cols;
#pragma omp parallel for
  for (size_t i = 0; i < m->rows; i++) {
    const float *const x = m->x + i * m->cols;
    float *const out = m->plain + i * m->cols, sum = 0.0f, squares = 0.0f;
    for (size_t j = 0; j < m->cols; j++) sum += x[j];
    const float mean = sum * r;
    for (size_t j = 0; j < m->cols; j++) squares += (x[j] - mean) * (x[j] - mean);
    const float inverse = 1.0f / sqrtf(squares * r + 1e-5f);
    for (size_t j = 0; j < m->cols; j++) out[j] = (x[j] - mean) * inverse;
  }
}

static int by_time(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void time_one(const matrix *m, const char *name, int threads, int rounds, void (*by_hx)(const matrix *),
                     void (*by_loop)(const matrix *)) {
  static double hx[MOST_ROUNDS], loop[MOST_ROUNDS];
  double most = 0.0;
  for (int r = -2; r < rounds; r++) {
    const double start = omp_get_wtime();
    by_hx(m);
    const double between = omp_get_wtime();
    by_loop(m);
    if (r < 0) continue;
    hx[r] = between - start;
    loop[r] = omp_get_wtime() - between;
  }
  for (size_t i = 0; i < ELEMENTS; i++) most = fmax(most, fabs((double)m->out[i] - (double)m->plain[i]));
  qsort(hx, (size_t)rounds, sizeof *hx, by_time);
  qsort(loop, (size_t)rounds, sizeof *loop, by_time);
  printf("%s\t%d\t%zu\t%zu\t%.1f\t%.1f\t%.2f\t%.1e\n", name, threads, m->rows, m->cols, 1e6 * hx[rounds / 2],
         1e6 * loop[rounds / 2], loop[rounds / 2] / hx[rounds / 2], most);
}

static void *allocate(hx_context *hx, size_t bytes) {
  void *const p = hx_alloc(hx, ELEMENTS * bytes);
  if (p) return p;
  fprintf(stderr, "time_softmax: %s\n", hx_error_detail());
  exit(1);
}

int main(int argc, char **argv) {
  static const size_t columns[] = {3, 16, 64, 100, 256, 1024, 16384};
  const int rounds = argc > 2 && atoi(argv[2]) < MOST_ROUNDS ? atoi(argv[2]) : 15;
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.threads = argc > 1 ? argv[1] : "1";
  settings.devices = "cpu";
  const int threads = atoi(settings.threads);
  matrix m;
  check(hx_open(&m.hx, &settings));
  omp_set_num_threads(threads);
  for (int k = 0; k < KERNELS; k++) check(hx_compile(m.hx, &sources[k], &m.kernel[k]));
  m.x = allocate(m.hx, sizeof *m.x);
  m.out = allocate(m.hx, sizeof *m.out);
  m.plain = allocate(m.hx, sizeof *m.plain);
  m.inverse = allocate(m.hx, sizeof *m.inverse);
  m.first = allocate(m.hx, sizeof *m.first);
  m.second = allocate(m.hx, sizeof *m.second);
  for (size_t i = 0; i < ELEMENTS; i++) m.x[i] = (float)(i * 7919 % 10007) * 1e-3f, m.out[i] = m.plain[i] = 0.0f;
  printf("rows of\tthreads\trows\tcolumns\thx_us\tloop_us\tloop_over_hx\tlargest difference\n");
  for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++) {
    m.cols = columns[c];
    m.rows = ELEMENTS / m.cols;
    time_one(&m, "softmax", threads, rounds, softmax_by_hx, softmax_by_loop);
    time_one(&m, "layer norm", threads, rounds, norm_by_hx, norm_by_loop);
  }
  for (int k = 0; k < KERNELS; k++) hx_kernel_free(m.kernel[k]);
  hx_close(m.hx); /* frees the arrays, too */
}
