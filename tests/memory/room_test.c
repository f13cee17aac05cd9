/* SPDX-License-Identifier: Apache-2.0
 * A card of 256 MiB of which other programs have left 48 (room_layer). What hx_alloc returns takes none of it; of more
 * copies than fit, the least recently used make room, and what does not fit beside results that only the card has goes
 * to the host; an array that does not fit is computed in smaller chunks. In each case the card does the work after a
 * few tasks that the CPU had to do, and the bits are right.
 *     room_test DEVICES  */
#include <stdint.h>

#include "tests/check.h"
#include "reference/data.h"
#include "reference/ref.h"

enum { MIB = 1 << 20, SIDE = 1024, LONG_M = 64, LONG_K = 3 << 15 };

static hx_context *hx;
static unsigned by_card, by_cpu;

/* Runs a task that is asked of the card, and counts who did most of it. */
static void run(hx_task t, const char *what) {
  hx_report report = {.seconds = 0};
  t.gpu_share = 1;
  CHECK_OK(hx_offload(hx, &t, &report));
  CHECK(report.device_count > 0, "%s: no device did it", what);
  *(report.gpu_share > 0.5 ? &by_card : &by_cpu) += 1;
}

static void sum(const float *x, size_t n, uint64_t want, const char *what) {
  hx_value got = {.u64 = 0};
  run(hx_reduce(HX_SUM, HX_F32, x, n, &got), what);
  CHECK(got.u64 == want, "%s: bits %llx instead of %llx", what, (unsigned long long)got.u64, (unsigned long long)want);
}

/* At most this many tasks may have been the CPU's since the last call. */
static void card_did_all_but(unsigned most, const char *what) {
  CHECK(by_cpu <= most, "%s: %u tasks by the CPU, %u by the card", what, by_cpu, by_card);
  printf("%s: %u tasks by the CPU, %u by the card\n", what, by_cpu, by_card);
  by_cpu = by_card = 0;
}

static float *block(size_t n, unsigned advice) {
  float *const p = hx_alloc(hx, n * sizeof *p);
  if (!p) exit(1);
  if (advice) CHECK_OK(hx_advise(hx, p, n * sizeof *p, advice));
  return p;
}

/* `count` blocks of 4 MiB, summed in turn. */
static void sums(size_t count, unsigned advice, int rounds, unsigned most, const char *what) {
  enum { N = MIB };
  float *x[64];
  uint64_t want[64];
  for (size_t i = 0; i < count; i++) {
    x[i] = block(N, advice);
    data_fill(HX_F32, DATA_SIGNED, i + 1, x[i], N);
    want[i] = ref_reduce(HX_SUM, HX_F32, x[i], NULL, N).u64;
  }
  for (int r = 0; r < rounds; r++)
    for (size_t i = 0; i < count; i++) sum(x[i], N, want[i], what);
  card_did_all_but(most, what);
  for (size_t i = 0; i < count; i++) hx_free(hx, x[i]);
}

static void large_sum(const char *what) {
  const size_t n = (size_t)24 * MIB; /* 96 MiB */
  float *const x = malloc(n * sizeof *x);
  if (!x) exit(1);
  data_fill(HX_F32, DATA_SIGNED, 3, x, n);
  const uint64_t want = ref_reduce(HX_SUM, HX_F32, x, NULL, n).u64;
  for (int i = 0; i < 6; i++) sum(x, n, want, what);
  card_did_all_but(2, what);
  free(x);
}

/* Results that stay on the card until there is no room for them: C of op(A) B, 1024 x 8 and 8 x 1024, 4 MiB each. */
static void results(void) {
  enum { COUNT = 20, ROWS = 8, CELLS = SIDE * SIDE };
  float *c[COUNT], *const a = block(ROWS * SIDE, 0), *const b = block(ROWS * SIDE, HX_READ_MOSTLY);
  float *const want = malloc(ROWS * SIDE * sizeof *want);
  if (!want) exit(1);
  data_fill(HX_F32, DATA_SIGNED, 5, a, ROWS * SIDE);
  data_fill(HX_F32, DATA_SIGNED, 6, b, ROWS * SIDE);
  for (int i = 0; i < COUNT; i++) c[i] = block(CELLS, HX_RESIDENT);
  for (int i = 0; i < COUNT; i++) {
    hx_task t = hx_matmul(SIDE, SIDE, ROWS, a, b, c[i]);
    t.matmul.trans_a = true;
    run(t, "results");
  }
  card_did_all_but(3, "results that stay there");
  for (int i = 0; i < COUNT; i++) {
    CHECK_OK(hx_sync(hx, c[i], CELLS * sizeof **c));
    CHECK(memcmp(c[i], c[0], CELLS * sizeof **c) == 0, "result %d differs from the first", i);
  }
  struct hx_matmul_args args = hx_matmul(ROWS, SIDE, ROWS, a, b, want).matmul; /* the first rows of C */
  args.trans_a = true;
  args.lda = SIDE;
  ref_matmul(&args);
  CHECK(memcmp(c[0], want, ROWS * SIDE * sizeof *want) == 0, "the first rows of a result are wrong");
  for (int i = 0; i < COUNT; i++) hx_free(hx, c[i]);
  hx_free(hx, a), hx_free(hx, b), free(want);
}

static void large_product(void) {
  const size_t cells = (size_t)LONG_M * LONG_K; /* A and B are 24 MiB each */
  float *const a = malloc(cells * sizeof *a), *const b = malloc(cells * sizeof *b);
  static float c[LONG_M * LONG_M], want[LONG_M * LONG_M];
  if (!a || !b) exit(1);
  data_fill(HX_F32, DATA_SIGNED, 7, a, cells);
  data_fill(HX_F32, DATA_SIGNED, 8, b, cells);
  const hx_task t = hx_matmul(LONG_M, LONG_M, LONG_K, a, b, c);
  struct hx_matmul_args args = t.matmul;
  args.c = want;
  ref_matmul(&args);
  for (int i = 0; i < 6; i++) {
    memset(c, 0, sizeof c);
    run(t, "operands of 24 MiB");
    CHECK(memcmp(c, want, sizeof c) == 0, "operands of 24 MiB: run %d has other bits", i);
  }
  card_did_all_but(2, "operands of 24 MiB");
  free(a), free(b);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  setenv("ROOM_MIB", "48", 1);
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = argv[1];
  s.memory = "copy";
  s.timeout_ms = "off"; /* a CPU in a card's place is slow */
  hx = open_or_exit(&s);
  CHECK_OK(hx_ready(hx));
  sums(40, 0, 2, 0, "blocks of hx_alloc");
  sums(40, HX_READ_MOSTLY, 4, 4, "copies that stay there");
  results();
  large_sum("an array of 96 MiB");
  large_product();
  hx_close(hx);
  return checks_end("room_test");
}
