/* SPDX-License-Identifier: Apache-2.0
 * A matrix whose columns are results of two tasks: what one task writes does not touch a result of the other one that
 * stays on a device in the gaps between its rows. Nor is an old result, which a task replaces, copied over the new one
 * for a call that needs elements in the gaps. Nor does hx_advise lose a result of a task that ends beside it. The
 * second call is made in the middle of the first, where another thread would make it. */
#include "reference/data.h"
#include "runtime/api/context.h"
#include "runtime/memory/memory.h"
#include "tests/check.h"

enum { ROWS = 24, COLS = 12, LD = 40, K = 7, BATCH = 3 };

static hx_context *hx;
static float *c; /* BATCH matrices of ROWS x LD */
static float a[BATCH * ROWS * K], b[BATCH * K * COLS];
static hx_task between; /* it runs when the next task claims its output */
static bool armed;

void __real_hx__memory_claim_outputs(hx__memory *m, const hx__work *w);
void __wrap_hx__memory_claim_outputs(hx__memory *m, const hx__work *w);
void __wrap_hx__memory_claim_outputs(hx__memory *m, const hx__work *w) {
  if (armed) {
    hx_report report;
    armed = false;
    CHECK_OK(hx_offload(hx, &between, &report));
    CHECK(report.gpu_share == 1.0, "%g of it on the device", report.gpu_share);
  }
  __real_hx__memory_claim_outputs(m, w);
}

static void (*at_end)(void); /* called before a task that has written its output releases it; NULL: nothing */

void __real_hx__memory_release_outputs(hx__memory *m, const hx__work *w, bool written);
void __wrap_hx__memory_release_outputs(hx__memory *m, const hx__work *w, bool written);
void __wrap_hx__memory_release_outputs(hx__memory *m, const hx__work *w, bool written) {
  void (*const call)(void) = at_end;
  at_end = NULL;
  if (call) call();
  __real_hx__memory_release_outputs(m, w, written);
}

/* The product that makes the columns from `column` on of the first matrix. */
static hx_task columns(size_t column, float share) {
  hx_task t = hx_matmul(ROWS, COLS, K, a, b, c + column);
  t.matmul.ldc = LD;
  t.gpu_share = share;
  return t;
}

static void open_context(const char *device) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = device;
  s.sim = "rate=1e10,latency_us=5";
  s.memory = "copy";
  s.threads = "2";
  s.cache_dir = "off";
  hx = open_or_exit(&s);
  CHECK_OK(hx_ready(hx));
  c = hx_alloc(hx, BATCH * ROWS * LD * sizeof *c);
  if (!c) exit(1);
  data_fill(HX_F32, DATA_SIGNED, 1, a, sizeof a / sizeof *a);
  data_fill(HX_F32, DATA_SIGNED, 2, b, sizeof b / sizeof *b);
  CHECK_OK(hx_advise(hx, c, BATCH * ROWS * LD * sizeof *c, HX_RESIDENT));
}

static void clear_c(void) {
  for (size_t i = 0; i < (size_t)BATCH * ROWS * LD; i++) c[i] = -1.0f;
  CHECK_OK(hx_modified(hx, c, BATCH * ROWS * LD * sizeof *c));
}

/* The elements of the columns from `column` on in the first matrix that are not those of the product. */
static size_t wrong_columns(size_t column) {
  size_t wrong = 0;
  for (size_t i = 0; i < ROWS; i++)
    for (size_t j = 0; j < COLS; j++) {
      float sum = 0.0f;
      for (size_t p = 0; p < K; p++) sum = __builtin_fmaf(a[i * K + p], b[p * COLS + j], sum);
      wrong += c[i * LD + column + j] != sum;
    }
  return wrong;
}

/* Runs `first`, which begins at column `own`, and in its middle a product whose result stays on the device in the
 * columns from `other` on. */
static void expect_both(hx_task first, size_t own, size_t other, const char *what) {
  clear_c();
  between = columns(other, 1.0f);
  armed = true;
  CHECK_OK(hx_offload(hx, &first, NULL));
  CHECK_OK(hx_sync(hx, c, BATCH * ROWS * LD * sizeof *c));
  CHECK(wrong_columns(other) == 0, "%s: %zu of %d elements between its rows are lost", what, wrong_columns(other),
        ROWS * COLS);
  CHECK(wrong_columns(own) == 0, "%s: %zu of its %d elements are wrong", what, wrong_columns(own), ROWS * COLS);
}

static void sum_rows_of_the_gap(void) {
  hx_value sums[ROWS];
  const hx_task t = hx_reduce_rows(HX_SUM, HX_F32, c + COLS, ROWS, COLS, LD, sums);
  CHECK_OK(hx_offload(hx, &t, NULL));
}

static void sum_a_column_of_the_gap(void) {
  hx_value sum;
  const hx_task t = hx_reduce_strided(HX_SUM, HX_F32, c + COLS, LD, ROWS, &sum);
  CHECK_OK(hx_offload(hx, &t, NULL));
}

static void sync_an_element_of_the_gap(void) { CHECK_OK(hx_sync(hx, c + LD + COLS, sizeof *c)); }

/* A product on the device, which another one on the CPU replaces; the call is made in the middle of the second. */
static void expect_the_new_one(void (*call)(void), const char *what) {
  hx_task old = columns(0, 1.0f), new = columns(0, 0.0f);
  old.matmul.alpha = 3.0f;
  clear_c();
  CHECK_OK(hx_offload(hx, &old, NULL));
  at_end = call;
  CHECK_OK(hx_offload(hx, &new, NULL));
  CHECK_OK(hx_sync(hx, c, BATCH * ROWS * LD * sizeof *c));
  CHECK(wrong_columns(0) == 0, "%s: %zu of %d new elements are lost", what, wrong_columns(0), ROWS * COLS);
}

/* The host writes between the rows of a result that is on the device, and a reduction writes two of its elements. */
static void expect_the_rest(void) {
  const hx_task product = columns(0, 1.0f);
  clear_c();
  CHECK_OK(hx_offload(hx, &product, NULL));
  c[COLS] = 3.0f;
  CHECK_OK(hx_modified(hx, c + COLS, sizeof *c));
  CHECK_OK(hx_sync(hx, c, BATCH * ROWS * LD * sizeof *c));
  CHECK(wrong_columns(0) == 0, "%zu elements are lost beside one that the host has written", wrong_columns(0));
  CHECK(c[COLS] == 3.0f, "%g", (double)c[COLS]);
  clear_c();
  CHECK_OK(hx_offload(hx, &product, NULL));
  const hx_task sum = hx_reduce(HX_SUM, HX_F32, a, K, (hx_value *)(void *)c);
  CHECK_OK(hx_offload(hx, &sum, NULL));
  CHECK_OK(hx_sync(hx, c, BATCH * ROWS * LD * sizeof *c));
  CHECK(wrong_columns(0) <= 2, "%zu elements are lost beside two that a sum has written", wrong_columns(0));
}

static void (*before_advice)(void); /* called when hx_advise has fetched results, and before it sets the advice */

hx_status __real_hx__memory_advise(hx__memory *m, const void *p, size_t bytes, unsigned advice, bool *again);
hx_status __wrap_hx__memory_advise(hx__memory *m, const void *p, size_t bytes, unsigned advice, bool *again);
hx_status __wrap_hx__memory_advise(hx__memory *m, const void *p, size_t bytes, unsigned advice, bool *again) {
  void (*const call)(void) = before_advice;
  before_advice = NULL;
  if (call) call();
  return __real_hx__memory_advise(m, p, bytes, advice, again);
}

static void multiply(void) {
  const hx_task product = columns(0, 1.0f);
  CHECK_OK(hx_offload(hx, &product, NULL));
}

static void take_advice_back(void) { CHECK_OK(hx_advise(hx, c, BATCH * ROWS * LD * sizeof *c, 0)); }
static void advise_another_part(void) { CHECK_OK(hx_advise(hx, c + LD * ROWS, ROWS * LD * sizeof *c, HX_RESIDENT)); }

/* The sum of the first row of the result, by this share of the device, has to be that of the elements. */
static void expect_row(float share, const char *what) {
  hx_value sum;
  float want = 0.0f;
  hx_task t = hx_matmul(1, 1, COLS, c, b, &sum.f32);
  t.gpu_share = share;
  CHECK_OK(hx_offload(hx, &t, NULL));
  for (size_t j = 0; j < COLS; j++) {
    float element = 0.0f;
    for (size_t p = 0; p < K; p++) element = __builtin_fmaf(a[p], b[p * COLS + j], element);
    want = __builtin_fmaf(element, b[j], want);
  }
  CHECK(sum.f32 == want, "%s, share %g: %g instead of %g", what, (double)share, (double)sum.f32, (double)want);
}

/* The host writes the first row, of which it need not tell, as there is no advice. */
static void expect_new_row(float share, const char *what) {
  hx_value sum;
  for (size_t j = 0; j < COLS; j++) c[j] = 1.0f;
  float want = 0.0f;
  for (size_t j = 0; j < COLS; j++) want = __builtin_fmaf(1.0f, b[j], want);
  hx_task t = hx_matmul(1, 1, COLS, c, b, &sum.f32);
  t.gpu_share = share;
  CHECK_OK(hx_offload(hx, &t, NULL));
  CHECK(sum.f32 == want, "%s, share %g: the device has old elements", what, (double)share);
}

/* A result that stays on the device, and advice that another thread gives on its block: just before the
 * result is complete, and between the two steps of hx_advise. */
static void expect_after_advice(void) {
  static void (*const advise[])(void) = {take_advice_back, advise_another_part};
  for (int i = 0; i < 2; i++)
    for (int beside = 0; beside < 2; beside++) {
      const char *const what = beside ? "a product during hx_advise" : "hx_advise during a product";
      CHECK_OK(hx_advise(hx, c, BATCH * ROWS * LD * sizeof *c, HX_RESIDENT));
      clear_c();
      if (beside)
        before_advice = multiply, advise[i]();
      else
        at_end = advise[i], multiply();
      CHECK(wrong_columns(0) == 0, "%s: the host lacks %zu of %d elements", what, wrong_columns(0), ROWS * COLS);
      expect_row(1.0f, what);
      expect_row(0.0f, what);
      expect_new_row(1.0f, what);
      const unsigned watched = atomic_load(&hx->memory.watched_ranges);
      CHECK(watched == (unsigned)i, "%s: %u blocks are watched", what, watched);
    }
}

int main(int argc, char **argv) {
  open_context(argc > 1 ? argv[1] : "cpu,sim");
  for (size_t column = COLS; column + COLS <= LD; column++)
    expect_both(columns(0, 0.0f), 0, column, "columns on the left");
  for (size_t column = 0; column + COLS <= LD - COLS; column++)
    expect_both(columns(LD - COLS, 0.0f), LD - COLS, column, "columns on the right");
  hx_task batch =
      hx_matmul_batched(ROWS, COLS, K, a, (size_t)ROWS * K, b, (size_t)K * COLS, c, (size_t)ROWS * LD, BATCH);
  batch.matmul.ldc = LD;
  batch.gpu_share = 0.0f;
  for (size_t column = COLS; column + COLS <= LD; column++) expect_both(batch, 0, column, "a batch");
  expect_the_new_one(sum_rows_of_the_gap, "row sums");
  expect_the_new_one(sum_a_column_of_the_gap, "a strided sum");
  expect_the_new_one(sync_an_element_of_the_gap, "hx_sync");
  expect_the_rest();
  expect_after_advice();
  hx_free(hx, c);
  hx_close(hx);
  return checks_end("resident_gap_test");
}
