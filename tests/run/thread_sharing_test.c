/* SPDX-License-Identifier: Apache-2.0
 * Products shared among threads, with the last rows or columns cut in two dimensions: the same bits as on one thread.
 */
#include "tests/check.h"
#include "reference/data.h"
#include "reference/ref.h"

enum { SAMPLES = 61 };

typedef struct shape {
  size_t m, n, k;
  bool trans_a, trans_b;
  float alpha, beta;
} shape;

/* More than 2^25 multiply-adds, so that they are not divided in advance; some have more rows and some more columns. */
static const shape shapes[] = {
    {400, 400, 400, false, false, 1, 0},   {401, 1000, 129, false, true, 1, 0},  {1000, 401, 129, true, false, 2, 0},
    {130, 2100, 600, false, false, 1, 1},  {2100, 130, 600, true, true, -1, 2},  {57, 1200, 1100, false, false, 1, 0},
    {1201, 61, 1025, false, false, 1, -1}, {700, 701, 513, true, true, 0.5f, 1},
};

static hx_task task_of(const shape *s, const float *a, const float *b, float *c) {
  hx_task t = hx_matmul(s->m, s->n, s->k, a, b, c);
  t.matmul.trans_a = s->trans_a;
  t.matmul.trans_b = s->trans_b;
  t.matmul.lda = t.matmul.ldb = 0;
  t.matmul.alpha = s->alpha;
  t.matmul.beta = s->beta;
  return t;
}

static void multiply(const char *threads, const hx_task *t) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "cpu";
  settings.threads = threads;
  hx_context *const hx = open_or_exit(&settings);
  CHECK_OK(hx_offload(hx, t, NULL));
  hx_close(hx);
}

static float *values(uint64_t seed, size_t n) {
  float *const x = malloc(n * sizeof *x);
  data_fill(HX_F32, DATA_SIGNED, seed, x, n);
  return x;
}

static void check_shape(const shape *s, uint64_t seed) {
  static const char *const threads[] = {"2", "3", "5", "16"};
  const size_t count = s->m * s->n, bytes = count * sizeof(float);
  float *const a = values(seed, s->m * s->k), *const b = values(seed + 1, s->k * s->n),
               *const old = values(seed + 2, count);
  float *const one = malloc(bytes), *const many = malloc(bytes);
  memcpy(one, old, bytes);
  const hx_task t = task_of(s, a, b, one), before = task_of(s, a, b, old);
  multiply("1", &t);
  for (size_t e = 0; e < count; e += count / SAMPLES) {
    const float want = ref_matmul_element(&before.matmul, e / s->n, e % s->n);
    CHECK(ref_bits(one[e]) == ref_bits(want), "%zux%zux%zu: element %zu is %a, not %a", s->m, s->n, s->k, e, one[e],
          want);
  }
  for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
    memcpy(many, old, bytes);
    const hx_task shared = task_of(s, a, b, many);
    multiply(threads[i], &shared);
    CHECK(memcmp(one, many, bytes) == 0, "%zux%zux%zu: %s threads differ from one", s->m, s->n, s->k, threads[i]);
  }
  free(a);
  free(b);
  free(old);
  free(one);
  free(many);
}

int main(void) {
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) check_shape(&shapes[i], 3 * i);
  return checks_end("thread_sharing_test");
}
