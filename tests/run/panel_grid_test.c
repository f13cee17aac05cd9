/* SPDX-License-Identifier: Apache-2.0
 * Products with few rows or columns whose k is cut, too: the bits are those of one thread for any number of threads,
 * and nothing but C is written. Usage: panel_grid_test [SEED] */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "reference/data.h"
#include "runtime/plan/threads.h"
#include "runtime/task/check.h"
#include "tests/check.h"

enum { PLAIN, NEGATIVE_ZEROS, NOT_FINITE, KINDS };

static uint64_t seed, drawn;
static size_t draw(size_t from, size_t to) { return from + data_u64(seed, drawn++) % (to - from + 1); }

static float *matrix(size_t rows, size_t ld, uint64_t of) {
  float *const p = malloc(rows * ld * sizeof *p);
  data_fill(HX_F32, DATA_SIGNED, seed + of, p, rows * ld);
  return p;
}

/* tall: C has few columns, and A is transposed, so that its long side is contiguous. Returns the chunks. */
static unsigned check_product(hx_context *one, hx_context *hx, unsigned threads, size_t few, size_t many, size_t k,
                              bool tall, int kind, bool scaled) {
  const size_t m = tall ? many : few, n = tall ? few : many, gap = draw(0, 3);
  const size_t lda = (tall ? m : k) + gap, ldb = n + gap, ldc = n + gap;
  float *const a = matrix(tall ? k : m, lda, 1), *const b = matrix(k, ldb, 2), *const c = matrix(m, ldc, 3),
               *const want = matrix(m, ldc, 3);
  for (size_t i = 0; kind == NEGATIVE_ZEROS && i < (tall ? k : m) * lda; i++) a[i] = -1e-30f; /* in every panel */
  for (size_t i = 0; kind == NEGATIVE_ZEROS && i < k * ldb; i++) b[i] = 1e-30f;
  if (kind == NOT_FINITE) a[lda / 2] = NAN, b[ldb * (k - 1)] = INFINITY;
  hx_task task = hx_matmul(m, n, k, a, b, c);
  task.matmul.trans_a = tall;
  task.matmul.lda = lda, task.matmul.ldb = ldb, task.matmul.ldc = ldc;
  if (scaled) task.matmul.alpha = 0.37f, task.matmul.beta = -1.25f;
  hx_report report;
  CHECK_OK(hx_offload(hx, &task, &report));
  task.matmul.c = want;
  CHECK_OK(hx_offload(one, &task, NULL));
  CHECK(memcmp(c, want, m * ldc * sizeof *c) == 0, "%zux%zux%zu, %u threads, kind %d, scaled %d: other bits", m, n, k,
        threads, kind, scaled);
  free(a), free(b), free(c), free(want);
  return report.chunks;
}

static unsigned parts_of(size_t few, size_t many, size_t k, bool tall, unsigned threads) {
  const float *const far = (float *)((uintptr_t)1 << 40); /* Nothing is read or written there. */
  hx_task task = hx_matmul(tall ? many : few, tall ? few : many, k, far, far + ((size_t)1 << 36), NULL);
  task.matmul.c = (float *)((uintptr_t)3 << 40);
  task.matmul.trans_a = tall;
  if (tall) task.matmul.lda = many;
  hx__work work;
  CHECK_OK(hx__task_check(&task, &work));
  return hx__parts_of_k(&work, threads);
}

/* The parts of k divide the threads and have whole panels, of which none has many more than others. */
static void check_parts(void) {
  unsigned cut = 0;
  for (int i = 0; i < 20000; i++) {
    const size_t few = draw(1, 20), many = draw(21, 20000), k = draw(1, 9000);
    const unsigned threads = (unsigned)draw(1, 70), parts = parts_of(few, many, k, draw(0, 1), threads);
    const size_t panels = (k + 511) / 512;
    CHECK(parts >= 1 && threads % parts == 0 && parts <= panels, "%zux%zux%zu, %u threads: %u parts", few, many, k,
          threads, parts);
    cut += parts > 1;
  }
  CHECK(cut > 1000, "%u of 20000 products are cut", cut);
  CHECK(parts_of(1, 1024, 1024, false, 2) == 2 && parts_of(1, 1024, 1024, true, 2) == 2, "a vector and a matrix");
  CHECK(parts_of(1, 2048, 1024, false, 2) == 1, "a wide part for each thread");
  CHECK(parts_of(17, 64, 1024, false, 16) == 1, "too many rows");
  CHECK(parts_of(1, 1024, 512, false, 2) == 1, "one panel");
  CHECK(parts_of(1, 1024, 600, false, 2) == 1, "a short last panel");
}

/* A long side that has fewer tiles than there are threads, in one panel for each part of k. A product that keeps all
 * threads busy comes first, so that small ones use them, too. */
static void check_short_sides(hx_context *one) {
  static const char *const isas[] = {"sse2", "avx2", "avx512", NULL}, *const threads[] = {"8", "14", "16", "32"};
  enum { SIDE = 512, CASES = 24 };
  float *const a = matrix(SIDE, SIDE, 4), *const c = matrix(SIDE, SIDE, 5);
  const hx_task wakes = hx_matmul(SIDE, SIDE, SIDE, a, a, c);
  for (int i = 0; i < 4 * 4; i++) {
    hx_settings settings = HX_SETTINGS_DEFAULT;
    settings.devices = "cpu";
    settings.isa = isas[i % 4];
    settings.threads = threads[i / 4];
    hx_context *hx;
    if (hx_open(&hx, &settings) != HX_OK) continue; /* this CPU lacks the instructions */
    for (int j = 0; j < CASES; j++) {
      if (j % 4 == 0) CHECK_OK(hx_offload(hx, &wakes, NULL));
      const size_t k = (j % 2 ? 2 : 4) * 512;
      check_product(one, hx, (unsigned)atoi(threads[i / 4]), draw(1, 16), draw(17, 110), k, draw(0, 2) != 0, PLAIN,
                    false);
    }
    hx_close(hx);
  }
  free(a), free(c);
}

int main(int argc, char **argv) {
  seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 20261130;
  printf("seed %llu\n", (unsigned long long)seed);
  check_parts();
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "cpu";
  settings.threads = "1";
  hx_context *const one = open_or_exit(&settings);
  static const unsigned threads[] = {2, 3, 4, 6, 8, 16};
  unsigned cut = 0, products = 0;
  check_short_sides(one);
  for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
    char text[12];
    snprintf(text, sizeof text, "%u", threads[t]);
    settings.threads = text;
    hx_context *const hx = open_or_exit(&settings);
    for (int i = 0; i < 40; i++, products++) {
      const size_t few = draw(1, 16), many = draw(17, 1500), k = draw(2, 6) * 512 - draw(0, 1) * draw(1, 40);
      const bool tall = draw(0, 1);
      const unsigned parts = parts_of(few, many, k, tall, threads[t]);
      const unsigned chunks =
          check_product(one, hx, threads[t], few, many, k, tall, (int)draw(0, KINDS - 1), draw(0, 2) == 0);
      cut += parts > 1 && chunks == threads[t];
    }
    /* So large that all threads are used even if other programs have the cores (HX__CROWDED_UNITS). */
    if (threads[t] == 16) CHECK(check_product(one, hx, 16, 16, 3500, 4096, false, PLAIN, true) == 16, "not cut");
    hx_close(hx);
  }
  hx_close(one);
  printf("%u of %u products were cut along k\n", cut, products);
  return checks_end("panel_grid_test");
}
