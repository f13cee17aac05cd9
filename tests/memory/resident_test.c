/* SPDX-License-Identifier: Apache-2.0
 * HX_READ_MOSTLY and HX_RESIDENT on devices with memory of their own: nothing is copied twice, writes of the host are
 * seen, results stay on the device until hx_sync or a task needs them, and results lost with a device are named.
 *     resident_test [DEVICES [MEMORY [ROUNDS [SEED]]]]      default: sim, copy  */
#include <stdint.h>

#include "tests/check.h"
#include "reference/data.h"
#include "reference/ref.h"

enum { N = 300000, SIDE = 72, LD = 80, CELLS = SIDE * LD, MATRICES = 5 };

static hx_context *hx;
static const char *devices, *memory;
static bool copies; /* the device has memory of its own */

static void open_context(const char *sim) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  static char list[256];
  snprintf(list, sizeof list, "cpu,%s", devices);
  s.devices = list;
  s.memory = memory;
  s.threads = "2";
  s.cache_dir = "off";
  if (strstr(list, "sim")) s.sim = sim;
  hx = open_or_exit(&s);
  CHECK_OK(hx_ready(hx));
}

static bool find_device(void) {
  hx_device_info info;
  bool found = false;
  for (size_t i = 1; i < hx_device_count(hx); i++) {
    if (hx_device(hx, i, &info) != HX_OK || info.state != HX_USABLE) continue;
    printf("  %s, %s\n", info.name, info.memory);
    copies = strcmp(info.memory, "copy") == 0;
    found = true;
  }
  return found;
}

static void expect_sum(const float *x, size_t n, float share, uint64_t most_bytes, const char *when) {
  hx_value got, want = ref_reduce(HX_SUM, HX_F32, x, NULL, n);
  hx_report report;
  hx_task t = hx_reduce(HX_SUM, HX_F32, x, n, &got);
  t.gpu_share = share;
  CHECK_OK(hx_offload(hx, &t, &report));
  CHECK(got.u64 == want.u64, "%s: %g instead of %g", when, (double)got.f32, (double)want.f32);
  CHECK(!copies || report.bytes_copied <= most_bytes, "%s: %llu bytes copied", when,
        (unsigned long long)report.bytes_copied);
  CHECK(!copies || most_bytes < N || report.bytes_copied > N, "%s: only %llu bytes copied", when,
        (unsigned long long)report.bytes_copied);
}

/* An array is copied once, and again only after a write. */
static void read_mostly(unsigned advice, bool registered) {
  const uint64_t results = (N / 4096 + 1) * 8, all = N * sizeof(float) + results;
  float *const x = registered ? malloc(N * sizeof *x) : hx_alloc(hx, N * sizeof *x);
  if (!x) exit(1);
  if (registered) CHECK_OK(hx_register(hx, x, N * sizeof *x));
  data_fill(HX_F32, DATA_SIGNED, 3, x, N);
  expect_sum(x, N, 1, all, "without advice");
  expect_sum(x, N, 1, all, "without advice, again");
  CHECK_OK(hx_advise(hx, x, N * sizeof *x, advice));
  expect_sum(x, N, 0.5f, all / 2 + 2 * 65536, "half of it");
  expect_sum(x, N, 1, all / 2 + 3 * 65536, "the other half");
  for (int i = 0; i < 3; i++) {
    expect_sum(x, N, 1, results, "again");
    expect_sum(x, N, 0.3f, results, "a part of it again");
    expect_sum(x + 17, N - 100, 1, results, "another array inside");
  }
  x[N / 3] += 1000;
  CHECK_OK(hx_modified(hx, x + N / 3, sizeof *x));
  expect_sum(x, N, 1, all, "modified");
  expect_sum(x, N, 1, results, "modified, again");
  hx_value dot, want = ref_reduce(HX_DOT, HX_F32, x, x + 100, N - 100);
  hx_task t = hx_dot(HX_F32, x, x + 100, N - 100, &dot);
  t.gpu_share = 1;
  hx_report report;
  CHECK_OK(hx_offload(hx, &t, &report));
  CHECK(dot.u64 == want.u64, "the dot product differs");
  CHECK(!copies || report.bytes_copied <= results, "%llu bytes copied", (unsigned long long)report.bytes_copied);
  CHECK_OK(hx_advise(hx, x, N / 2 * sizeof *x, advice));
  x[5] = -7;
  expect_sum(x + N / 2, N / 2, 1, all, "beyond the advice");
  CHECK_OK(hx_modified(hx, x, N / 2 * sizeof *x));
  expect_sum(x, N / 2, 1, all, "a smaller part");
  expect_sum(x, N / 2, 1, results, "a smaller part, again");
  CHECK_OK(hx_advise(hx, x, N * sizeof *x, 0));
  x[6] = 99; /* without advice hx_modified is not needed */
  expect_sum(x, N, 1, all, "advice taken back");
  CHECK_OK(hx_advise(hx, x, N * sizeof *x, advice));
  expect_sum(x, N, 1, all, "before it is freed");
  if (registered) CHECK_OK(hx_unregister(hx, x));
  if (registered)
    free(x);
  else
    hx_free(hx, x);
}

/* Memory that is freed and allocated again at the same address counts as new. */
static void freed_and_back(void) {
  for (int i = 0; i < 4; i++) {
    float *const x = hx_alloc(hx, N * sizeof *x);
    if (!x) exit(1);
    data_fill(HX_F32, DATA_SIGNED, 40 + (uint64_t)i, x, N);
    CHECK_OK(hx_advise(hx, x, N * sizeof *x, HX_READ_MOSTLY));
    expect_sum(x, N, 1, UINT64_MAX, "allocated anew");
    hx_free(hx, x);
  }
}

static hx_status multiply(const float *a, const float *b, float *c, float beta, float share, hx_report *report) {
  hx_task t = hx_matmul(SIDE, SIDE, SIDE, a, b, c);
  t.matmul.lda = t.matmul.ldb = t.matmul.ldc = LD;
  t.matmul.beta = beta;
  t.gpu_share = share;
  return hx_offload(hx, &t, report);
}

static void ref_multiply(const float *a, const float *b, float *c, float beta) {
  struct hx_matmul_args args = {.m = SIDE, .n = SIDE, .k = SIDE, .lda = LD, .ldb = LD, .ldc = LD};
  args.a = a, args.b = b, args.c = c, args.alpha = 1, args.beta = beta;
  ref_matmul(&args);
}

static void fill_matrix(float *x, uint64_t seed) { data_fill(HX_F32, DATA_SIGNED, seed, x, CELLS); }

/* C stays on the device and is the A of the next product, without a copy; it reaches the host when hx_sync asks for
 * it. */
static void result_is_next_operand(void) {
  static float want[4][CELLS];
  float *m[4];
  hx_report report;
  for (int i = 0; i < 4; i++) {
    if (!(m[i] = hx_alloc(hx, sizeof want[i]))) exit(1);
    fill_matrix(m[i], 50 + (uint64_t)i);
    memcpy(want[i], m[i], sizeof want[i]);
    CHECK_OK(hx_advise(hx, m[i], sizeof want[i], i < 2 ? HX_READ_MOSTLY : HX_RESIDENT));
  }
  static float old[CELLS];
  memcpy(old, m[2], sizeof old);
  CHECK_OK(multiply(m[0], m[1], m[2], 0, 1, &report));
  CHECK(!copies || (report.bytes_copied >= 2 * SIDE * SIDE * 4 && report.bytes_copied <= 2 * sizeof old + 4 * 65536),
        "at first: %llu bytes copied", (unsigned long long)report.bytes_copied);
  CHECK(!copies || memcmp(m[2], old, sizeof old) == 0, "C has reached the host");
  ref_multiply(want[0], want[1], want[2], 0);
  for (int i = 0; i < 6; i++) { /* each result is an operand of the next product */
    float *const from = m[2 + i % 2], *const to = m[3 - i % 2];
    const float beta = i == 1 || i == 2 ? 0.5f : 0.0f;
    CHECK_OK(multiply(from, m[1], to, beta, 1, &report));
    ref_multiply(want[2 + i % 2], want[1], want[3 - i % 2], beta);
    CHECK(!copies || report.bytes_copied == 0, "step %d: %llu bytes copied", i,
          (unsigned long long)report.bytes_copied);
    CHECK(report.gpu_share == 1, "step %d: share %g", i, report.gpu_share);
  }
  CHECK(!copies || memcmp(m[2], old, sizeof old) == 0, "C has reached the host");
  for (int i = 2; i < 4; i++) {
    CHECK_OK(hx_sync(hx, m[i] + LD, LD * sizeof(float))); /* hx_sync of a part brings the whole matrix */
    CHECK(memcmp(m[i], want[i], sizeof want[i]) == 0, "matrix %d differs", i);
  }
  CHECK_OK(multiply(m[2], m[3], m[0], 0, 1, &report)); /* the device still has both */
  CHECK(!copies || report.bytes_copied <= SIDE * LD * 4, "after hx_sync: %llu bytes copied",
        (unsigned long long)report.bytes_copied);
  ref_multiply(want[2], want[3], want[0], 0);
  CHECK(memcmp(m[0], want[0], sizeof want[0]) == 0, "a C without that advice is on the host");
  for (int i = 0; i < 4; i++) hx_free(hx, m[i]);
}

static uint64_t state;
static unsigned random_below(unsigned below) { return (unsigned)(data_u64(state++, 7) % below); }

/* Random operations in any order, compared with the same operations on the host. */
static void any_order(int rounds) {
  static float want[MATRICES][CELLS];
  static const float shares[] = {1, 1, 1, 0.5f, 0, -1};
  float *const block = hx_alloc(hx, MATRICES * sizeof want[0]); /* two in one range, the others by themselves */
  float *m[MATRICES] = {block, block ? block + CELLS : NULL};
  if (!block) exit(1);
  for (int i = 0; i < MATRICES; i++) {
    if (i > 1 && !(m[i] = hx_alloc(hx, sizeof want[i]))) exit(1);
    if (i > 1) CHECK_OK(hx_advise(hx, m[i], sizeof want[i], random_below(4)));
    fill_matrix(m[i], state + (uint64_t)i);
    memcpy(want[i], m[i], sizeof want[i]);
  }
  CHECK_OK(hx_advise(hx, block, 2 * sizeof want[0], HX_RESIDENT));
  for (int r = 0; r < rounds && checks_failed < 5; r++) {
    const unsigned what = random_below(12), c = random_below(MATRICES),
                   a = (c + 1 + random_below(MATRICES - 1)) % MATRICES;
    const unsigned b = (c + 1 + random_below(MATRICES - 1)) % MATRICES;
    const float share = shares[random_below(6)];
    hx_report report;
    if (what < 7) {
      const float beta = random_below(3) ? 0.0f : 0.25f;
      CHECK_OK(multiply(m[a], m[b], m[c], beta, share, &report));
      ref_multiply(want[a], want[b], want[c], beta);
      for (int i = 0; i < CELLS; i++) want[c][i] = i % LD < SIDE ? want[c][i] * 0.125f : want[c][i];
      /* makes C smaller, so that chains of any length stay finite: by alpha, on the device as well */
      hx_task t = hx_matmul(SIDE, SIDE, SIDE, m[a], m[b], m[c]);
      t.matmul.lda = t.matmul.ldb = t.matmul.ldc = LD;
      t.matmul.alpha = 0; /* C = C / 8, on the host or on the device */
      t.matmul.beta = 0.125f;
      t.gpu_share = share;
      CHECK_OK(hx_offload(hx, &t, NULL));
    } else if (what == 7) {
      CHECK_OK(hx_sync(hx, m[c], sizeof want[c]));
      CHECK(memcmp(m[c], want[c], sizeof want[c]) == 0, "round %d: matrix %u differs", r, c);
    } else if (what == 8) {
      CHECK_OK(hx_sync(hx, m[c], sizeof want[c])); /* only a part is written, so the rest has to be on the host */
      m[c][random_below(SIDE)] = want[c][0] = 0;
      memcpy(want[c], m[c], sizeof want[c]);
      CHECK_OK(hx_modified(hx, m[c], sizeof want[c]));
    } else if (what == 9) { /* all of C is written */
      fill_matrix(want[c], state);
      memcpy(m[c], want[c], sizeof want[c]);
      CHECK_OK(hx_modified(hx, m[c], sizeof want[c]));
    } else if (what == 10) {
      hx_value sum, expected = ref_reduce(HX_SUM, HX_F32, want[c] + LD, NULL, SIDE);
      hx_task t = hx_reduce(HX_SUM, HX_F32, m[c] + LD, SIDE, &sum);
      t.gpu_share = share;
      CHECK_OK(hx_offload(hx, &t, NULL));
      CHECK(sum.u64 == expected.u64, "round %d: the sum of a row of matrix %u differs", r, c);
    } else if (c > 1) {
      CHECK_OK(hx_advise(hx, m[c], sizeof want[c], random_below(4)));
      CHECK(memcmp(m[c], want[c], sizeof want[c]) == 0, "round %d: matrix %u under new advice differs", r, c);
    }
  }
  for (int i = 0; i < MATRICES; i++) {
    CHECK_OK(hx_sync(hx, m[i], sizeof want[i]));
    CHECK(memcmp(m[i], want[i], sizeof want[i]) == 0, "at the end: matrix %d differs", i);
  }
  for (int i = 0; i < MATRICES; i++)
    if (i != 1) hx_free(hx, m[i]);
}

/* What exists only on a device is lost with it, and the detail names it; what the host has is not lost. */
static void lost_with_the_device(float beta) {
  open_context("rate=1e10,latency_us=5,fail=enqueue@3");
  float *m[4], want[CELLS];
  char name[32];
  for (int i = 0; i < 4; i++) {
    if (!(m[i] = hx_alloc(hx, sizeof want))) exit(1);
    fill_matrix(m[i], 60 + (uint64_t)i);
    CHECK_OK(hx_advise(hx, m[i], sizeof want, HX_RESIDENT));
  }
  snprintf(name, sizeof name, "%p", (void *)m[2]);
  CHECK_OK(multiply(m[0], m[1], m[2], 0, 1, NULL));
  CHECK_OK(multiply(m[2], m[1], m[3], 0, 1, NULL));
  CHECK_REFUSED(multiply(m[2], m[1], m[3], beta, 1, NULL), HX_DEVICE_FAILED, ""); /* the third enqueue fails */
  CHECK(strstr(hx_error_detail(), name) || beta != 0, "%s is not in: %s", name, hx_error_detail());
  CHECK_REFUSED(hx_sync(hx, m[2], sizeof want), HX_DEVICE_FAILED, "");
  CHECK(strstr(hx_error_detail(), name), "%s is not in: %s", name, hx_error_detail());
  CHECK_REFUSED(multiply(m[1], m[2], m[0], 0, 0, NULL), HX_DEVICE_FAILED, "");
  CHECK_REFUSED(multiply(m[1], m[0], m[2], 0.5f, 0, NULL), HX_DEVICE_FAILED, "");
  fill_matrix(m[2], 70); /* the host writes it again */
  CHECK_OK(hx_modified(hx, m[2], sizeof want));
  CHECK_OK(hx_sync(hx, m[2], sizeof want));
  memcpy(want, m[0], sizeof want);
  ref_multiply(m[1], m[2], want, 0.5f);
  CHECK_OK(multiply(m[1], m[2], m[0], 0.5f, 1, NULL));
  CHECK(memcmp(m[0], want, sizeof want) == 0, "the CPU's product differs");
  for (int i = 0; i < 4; i++) hx_free(hx, m[i]);
  hx_close(hx);
}

/* A device fails although C should stay on it: the CPU computes everything. */
static void device_that_fails(const char *sim, float beta) {
  open_context(sim);
  float *m[3], want[CELLS];
  hx_report report;
  for (int i = 0; i < 3; i++) {
    if (!(m[i] = hx_alloc(hx, sizeof want))) exit(1);
    fill_matrix(m[i], 80 + (uint64_t)i);
    CHECK_OK(hx_advise(hx, m[i], sizeof want, HX_RESIDENT));
  }
  memcpy(want, m[2], sizeof want);
  ref_multiply(m[0], m[1], want, beta);
  CHECK_OK(multiply(m[0], m[1], m[2], beta, 1, &report));
  CHECK(report.recovered > 0, "%s: nothing was recovered", sim);
  CHECK(memcmp(m[2], want, sizeof want) == 0, "%s: the product differs", sim);
  CHECK_OK(hx_sync(hx, m[2], sizeof want));
  CHECK(memcmp(m[2], want, sizeof want) == 0, "%s: the product differs after hx_sync", sim);
  hx_close(hx);
}

/* The program changes an array with advice and does not call hx_modified, so that the device's copy is out of date.
 * Some results are compared with the CPU's: the product has to be right, and the device must not be lost.
 * 0: A, 1: B, 2: C with beta, whose old contents are on the device. */
static void changed_without_notice(int which) {
  float *m[3], want[CELLS];
  hx_report report;
  for (int i = 0; i < 3; i++) {
    if (!(m[i] = hx_alloc(hx, sizeof want))) exit(1);
    fill_matrix(m[i], 90 + (uint64_t)i);
    CHECK_OK(hx_advise(hx, m[i], sizeof want, i == 2 ? HX_RESIDENT : HX_READ_MOSTLY));
  }
  CHECK_OK(multiply(m[0], m[1], m[2], 0, 1, NULL));
  CHECK_OK(hx_sync(hx, m[2], sizeof want));
  fill_matrix(m[which], 99);
  for (int i = 0; i < 3; i++) {
    memcpy(want, m[2], sizeof want);
    ref_multiply(m[0], m[1], want, 1);
    CHECK_OK(multiply(m[0], m[1], m[2], 1, 1, &report));
    CHECK(i > 0 || !copies || report.recovered > 0, "array %d: nothing was recovered", which);
    CHECK(i == 0 || report.gpu_share == 1, "array %d: the device has %g of product %d", which, report.gpu_share, i);
    CHECK_OK(hx_sync(hx, m[2], sizeof want));
    CHECK(memcmp(m[2], want, sizeof want) == 0, "array %d: product %d differs", which, i);
  }
  for (int i = 0; i < 3; i++) hx_free(hx, m[i]);
}

int main(int argc, char **argv) {
  devices = argc > 1 ? argv[1] : "sim";
  memory = argc > 2 ? argv[2] : "copy";
  const int rounds = argc > 3 ? atoi(argv[3]) : 400;
  state = argc > 4 ? strtoull(argv[4], NULL, 0) : 12345;
  open_context("rate=1e10,latency_us=5");
  if (!find_device()) {
    printf("resident_test: skipped: no usable device among %s\n", devices);
    return SKIPPED;
  }
  read_mostly(HX_READ_MOSTLY, false);
  read_mostly(HX_RESIDENT, true);
  freed_and_back();
  result_is_next_operand();
  printf("  seed %llu\n", (unsigned long long)state);
  any_order(rounds);
  /* Only on PoCL: other drivers may report every command that they cancel, so hx does not compare there. */
  for (int i = 0; i < 3 && strcmp(devices, "pocl") == 0; i++) changed_without_notice(i);
  hx_close(hx);
  if (strcmp(devices, "sim") == 0) {
    lost_with_the_device(0);
    lost_with_the_device(0.5f);
    device_that_fails("rate=1e10,latency_us=5,fail=wait@1", 0);
    device_that_fails("rate=1e10,latency_us=5,fail=enqueue@1", 0.5f);
    device_that_fails("rate=1e10,latency_us=5,fail=bind@1", 0.5f);
  }
  return checks_end("resident_test");
}
