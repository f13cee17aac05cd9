/* SPDX-License-Identifier: Apache-2.0
 * The workload `tasks` of the fault matrix: reductions, dot products, structures of arrays, products and batches. */
#include <stdlib.h>
#include <string.h>

#include "reference/data.h"
#include "reference/ref.h"
#include "tests/faults/child.h"

enum { N = 40007, M = 24, COLUMNS = 20, K = 530, CELLS = M * COLUMNS, FIELDS = 3 };
enum { BATCH = 4, BATCH_M = M / BATCH, BATCH_K = 130 }; /* as many elements of C as the product has */

static float *a, *b, *c, *r, *x, *y;
static float want[CELLS]; /* C of the current product */
static int32_t *ints;
static bool own_b, own_r, x_registered;

static void reduce(hx_op op, hx_type type, const void *from, const void *with, size_t n, float share, unsigned how) {
  hx_value got = {.u64 = UINT64_C(0x1234567890abcdef)};
  const hx_value wanted = ref_reduce(op, type, from, with, n);
  hx_task t = op == HX_DOT ? hx_dot(type, from, with, n, &got) : hx_reduce(op, type, from, n, &got);
  if (run_task(&t, share, how, "reduction") && got.u64 != wanted.u64)
    complain(&out->wrong, "op %d type %d share %g: %llx instead of %llx", (int)op, (int)type, (double)share,
             (unsigned long long)got.u64, (unsigned long long)wanted.u64);
}

static void fields(int from, float share) {
  hx_field f[FIELDS] = {
      {HX_SUM, HX_F32, x + from, NULL}, {HX_MAX, HX_I32, ints + from, NULL}, {HX_DOT, HX_F32, y + from, x + from}};
  hx_value got[FIELDS];
  hx_task t = hx_reduce_soa(f, FIELDS, N - 1, got);
  const bool ok = run_task(&t, share, 0, "structure of arrays");
  for (int i = 0; ok && i < FIELDS; i++)
    if (got[i].u64 != ref_reduce(f[i].op, f[i].type, f[i].x, f[i].y, N - 1).u64)
      complain(&out->wrong, "field %d share %g", i, (double)share);
}

static void fill_old_c(float *into) {
  for (int i = 0; i < CELLS; i++) into[i] = (float)(i % 11) - 5.0f;
}

/* Each product has a different alpha, so that the old contents of a buffer are never right. */
static float next_alpha(void) {
  static float alpha = 1.25f;
  return alpha += 0.25f;
}

static void compare_products(hx_task t, bool with_beta, float share, unsigned how, const char *name) {
  const bool resident = how & RESIDENT;
  float *const into = t.matmul.c;
  fill_old_c(into);
  if (resident) modified(into, sizeof want);
  t.matmul.alpha = next_alpha();
  t.matmul.beta = with_beta ? 0.5f : 0.0f;
  fill_old_c(want);
  const size_t count = t.batch.count ? t.batch.count : 1;
  for (size_t i = 0; i < count; i++) {
    struct hx_matmul_args w = t.matmul;
    w.a += i * t.batch.stride_a;
    w.b += i * t.batch.stride_b;
    w.c = want + i * t.batch.stride_c;
    ref_matmul(&w);
  }
  if (run_task(&t, share, how, name) && (!resident || synced(into, sizeof want)) && !same_bits(into, want, sizeof want))
    complain(&out->wrong, "%s, beta %g, share %g%s", name, with_beta ? 0.5 : 0.0, (double)share,
             resident ? ", resident" : "");
}

static void product(bool with_beta, float *into, float share, unsigned how) {
  compare_products(hx_matmul(M, COLUMNS, K, a, b, into), with_beta, share, how, "product");
}

static void batch(bool with_beta, float *into, float share, unsigned how) {
  const hx_task t = hx_matmul_batched(BATCH_M, COLUMNS, BATCH_K, a, (size_t)BATCH_M * BATCH_K, b,
                                      (size_t)BATCH_K * COLUMNS, into, (size_t)BATCH_M * COLUMNS, BATCH);
  compare_products(t, with_beta, share, how, "batch");
}

static void make_data(void) {
  a = malloc(sizeof(float) * M * K), c = malloc(sizeof want);
  x = malloc(sizeof(float) * N), y = malloc(sizeof(float) * N), ints = malloc(sizeof(int32_t) * N);
  if (!a || !c || !x || !y || !ints) exit(3);
  data_fill(HX_F32, DATA_SIGNED, 1, a, M * K);
  data_fill(HX_F32, DATA_EXPONENTS, 3, x, N);
  data_fill(HX_F32, DATA_SIGNED, 4, y, N);
  data_fill(HX_I32, DATA_SIGNED, 5, ints, N);
}

static void allocate_arrays(void) {
  b = allocate(sizeof(float) * K * COLUMNS, &own_b), r = allocate(sizeof want, &own_r);
  data_fill(HX_F32, DATA_SIGNED, 2, b, K * COLUMNS);
  x_registered = registered(x, sizeof(float) * N);
}

/* The second round reads all arrays from the next element on, so that results of the first round would be wrong. */
static void run(void) {
  static const float kShares[] = {0.5f, 1.0f};
  const unsigned stays = own_r ? RESIDENT : 0;
  for (int round = 0; round < 2; round++) {
    const float share = kShares[round];
    reduce(HX_SUM, HX_F32, x + 1 + round, NULL, N - 2, share, 0);
    reduce(HX_DOT, HX_F32, x + round, y, N - 1, 0.5f, round == 1 ? ASYNC : 0);
    reduce(HX_ARGMIN, HX_I32, ints + round, NULL, N - 1, share, 0);
    let_it_know();
    fields(round, share);
    product(false, c, 0.5f, 0);
    product(true, c, share, ASYNC);
    batch(round == 0, c, share, 0);
    if (round == 0) advise(b, sizeof(float) * K * COLUMNS, HX_READ_MOSTLY, own_b);
    if (round == 0) advise(r, sizeof want, HX_RESIDENT, own_r);
    let_it_know();
    product(false, r, 1.0f, stays);
    product(true, r, share, stays);
    batch(round == 1, r, 1.0f, stays);
  }
  reduce(HX_SUM, HX_F32, x, NULL, N, -1, 0); /* later calls, with shares that hx chooses */
  product(true, c, -1, 0);
}

static void give_back(void) {
  unregister(x, x_registered);
  TIMED("hx_free", if (own_r) hx_free(hx, r); if (own_b) hx_free(hx, b));
}

const workload kTasks = {make_data, allocate_arrays, run, give_back};
