/* SPDX-License-Identifier: Apache-2.0
 * HX_READ_MOSTLY: products with an operand that stays packed have the same bits as products without, before and after
 * hx_modified, for shapes and strides that share the operand's memory; packed data is never used for new contents. */
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"
#include "reference/data.h"
#include "reference/ref.h"

enum { N = 200, LD = 208 };

static hx_context *hx;

/* Whether every element of hx's product has the bits of the reference. */
static bool product_is_right(const hx_task *t) {
  const size_t m = t->matmul.m, n = t->matmul.n;
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++) {
      const float want = ref_matmul_element(&t->matmul, i, j);
      if (memcmp(&want, &t->matmul.c[i * n + j], sizeof want) != 0) return false;
    }
  return true;
}

static void check_product(const float *a, const float *b, float *c, size_t m, size_t n, size_t k, bool tb,
                          const char *what) {
  hx_task t = hx_matmul(m, n, k, a, b, c);
  t.matmul.ldb = LD;
  t.matmul.trans_b = tb;
  CHECK_OK(hx_offload(hx, &t, NULL));
  CHECK(product_is_right(&t), "%s: %zu x %zu x %zu", what, m, n, k);
}

static void fill_array(float *x, size_t count, uint64_t seed) {
  for (size_t i = 0; i < count; i++) x[i] = (float)(int32_t)data_u(seed, i) * 0x1p-32f;
}

/* Advice on a part of a block does not apply to its neighbours, and what a product writes counts as new contents. */
static void neighbours_and_outputs(const float *a) {
  float *const block = hx_alloc(hx, 3 * N * LD * sizeof *block), *const c = malloc(2 * N * N * sizeof *c);
  float *const x = block, *const y = block + N * LD;
  fill_array(block, 2 * N * LD, 4);
  CHECK_OK(hx_advise(hx, x, N * LD * sizeof *x, HX_READ_MOSTLY));
  for (int round = 0; round < 3; round++) {
    check_product(a, y, c, 2 * N, N, N, false, "the neighbour");
    for (size_t i = 0; i < N * LD; i++) y[i] += 1.0f; /* without advice, so hx_modified is not needed */
  }
  for (int round = 0; round < 3; round++) {
    hx_task t = hx_matmul(N, N, N, a + round, y, x);
    t.matmul.ldb = t.matmul.ldc = LD;
    CHECK_OK(hx_offload(hx, &t, NULL));
    check_product(a, x, c, 2 * N, N, N, false, "an output of hx");
    hx_task small = hx_matmul(2, 2, 2, a + round, y, x);
    small.matmul.ldc = LD;
    CHECK_OK(hx_offload(hx, &small, NULL));
    check_product(a, x, c, 2 * N, N, N, false, "a small output of hx");
  }
  hx_free(hx, block);
  free(c);
}

int main(void) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "cpu";
  settings.threads = "2";
  CHECK_OK(hx_open(&hx, &settings));
  float *const a = malloc(2 * N * N * sizeof *a), *const c = malloc(2 * N * N * sizeof *c);
  float *const b = malloc(N * LD * sizeof *b);
  fill_array(a, 2 * N * N, 1);
  fill_array(b, N * LD, 2);
  CHECK_OK(hx_register(hx, b, N * LD * sizeof *b));
  for (unsigned advice = 0; advice <= HX_READ_MOSTLY; advice++) {
    CHECK_OK(hx_advise(hx, b, N * LD * sizeof *b, advice));
    for (int round = 0; round < 3; round++) {
      check_product(a, b, c, 2 * N, N, N, false, "plain");
      check_product(a, b, c, 2 * N, N, N, true, "transposed");
      check_product(a, b + 3, c, 2 * N, N - 3, N, false, "shifted");
      check_product(a, b, c, 2 * N, N / 2, N / 2, false, "smaller");
      b[round * LD + 5] += 1.0f; /* the host writes, and calls hx_modified */
      CHECK_OK(hx_modified(hx, b + round * LD, LD * sizeof *b));
    }
  }
  CHECK_OK(hx_unregister(hx, b));
  fill_array(b, N * LD, 3); /* the same address, registered again with other contents */
  CHECK_OK(hx_register(hx, b, N * LD * sizeof *b));
  CHECK_OK(hx_advise(hx, b, N * LD * sizeof *b, HX_READ_MOSTLY));
  check_product(a, b, c, 2 * N, N, N, false, "registered again");
  neighbours_and_outputs(a);
  hx_close(hx);
  free(a);
  free(b);
  free(c);
  return checks_end("advice_test");
}
