/* SPDX-License-Identifier: Apache-2.0
 * The sentence at the end of a benchmark says what its rows say: for each case, rows as a run leaves them and the whole
 * verdict. Shares are the work that was done, whatever was asked for. */
#include "bench/bench.h"
#include "tests/check.h"

#define VERIFIED " Every result has the bits of the scalar definition."
enum { ROWS = 6, OK = false, WRONG = true, MILLION = 1 << 20, FOUR_MILLION = 1 << 22 };

/* A row: the share that was asked for, the one that was done, the time, whether the result is right. */
typedef struct line {
  float asked;
  double done, seconds;
  bool wrong;
  size_t n;
  double spread; /* the interval of the median is the median times 1 +- spread; 0: not known */
} line;

static const struct {
  const char *what;
  bool matmul;
  line lines[ROWS];
  const char *verdict;
} cases[] = {
    {"a product that gains",
     true,
     {{0, 0, 2, OK, MILLION, 0}, {1, 1, 3, OK, MILLION, 0}, {-1, 0.4, 1, OK, MILLION, 0}},
     "both is 2.00x as fast as the CPU alone and 3.00x as fast as the device alone for matmul 64x64x64 on CPU + "
     "GPU." VERIFIED},
    {"a product with nothing on the device",
     true,
     {{0, 0, 2, OK, MILLION, 0}, {1, 0, 2, OK, MILLION, 0}, {-1, 0, 2, OK, MILLION, 0}},
     "the device took no part in matmul 64x64x64 (hx-bench info says why) on CPU + GPU." VERIFIED},
    {"a product of which the device did a part",
     true,
     {{0, 0, 2, OK, MILLION, 0}, {1, 0.25, 2, OK, MILLION, 0}, {-1, 0.2, 1, OK, MILLION, 0}},
     "both is 2.00x as fast as the CPU alone, and the device did only 25 % of what it was to do alone, for matmul "
     "64x64x64 on CPU + GPU." VERIFIED},
    {"a product within the dead band",
     true,
     {{0, 0, 1.04, OK, MILLION, 0}, {1, 1, 0.97, OK, MILLION, 0}, {-1, 0.4, 1, OK, MILLION, 0}},
     "both is as fast as the CPU alone and as fast as the device alone for matmul 64x64x64 on CPU + GPU." VERIFIED},
    {"a product that is slower than the device",
     true,
     {{0, 0, 2, OK, MILLION, 0}, {1, 1, 0.8, OK, MILLION, 0}, {-1, 0.4, 1, OK, MILLION, 0}},
     "both is 2.00x as fast as the CPU alone and slower than the device alone (0.80x) for matmul 64x64x64 on CPU + "
     "GPU." VERIFIED},
    {"a product in which hx left the device out",
     true,
     {{0, 0, 1.2, OK, MILLION, 0}, {1, 1, 3, OK, MILLION, 0}, {-1, 0, 1, OK, MILLION, 0}},
     "hx used the CPU alone for matmul 64x64x64 (the device would not have helped) on CPU + GPU." VERIFIED},
    {"a product in which hx left the faster device out",
     true,
     {{0, 0, 1, OK, MILLION, 0}, {1, 1, 0.5, OK, MILLION, 0}, {-1, 0, 1, OK, MILLION, 0}},
     "hx used the CPU alone for matmul 64x64x64, which is slower than the device alone (0.50x) on CPU + GPU." VERIFIED},
    {"medians whose intervals overlap",
     true,
     {{0, 0, 2, OK, MILLION, 0.5}, {1, 1, 3, OK, MILLION, 0.1}, {-1, 0.4, 1, OK, MILLION, 0.5}},
     "both is as fast as the CPU alone and 3.00x as fast as the device alone for matmul 64x64x64 on CPU + "
     "GPU." VERIFIED},
    {"a sum in which hx left the device out",
     false,
     {{0, 0, 1.2, OK, MILLION, 0}, {1, 1, 3, OK, MILLION, 0}, {-1, 0, 1, OK, MILLION, 0}},
     "hx used the CPU alone for the f32 sum up to 2^20 (the device would not have helped) on CPU + GPU." VERIFIED},
    {"a sum in which hx left the faster device out",
     false,
     {{0, 0, 1, OK, MILLION, 0}, {1, 1, 0.5, OK, MILLION, 0}, {-1, 0, 1, OK, MILLION, 0}},
     "the f32 sum gains nothing here up to 2^20, and hx used the CPU alone at 2^20, where the device alone is faster "
     "on "
     "CPU + GPU." VERIFIED},
    {"the CPU's row is wrong",
     true,
     {{0, 0, 2, WRONG, MILLION, 0}, {1, 1, 3, OK, MILLION, 0}, {-1, 0.4, 1, OK, MILLION, 0}},
     "devices did 40 % to 100 % of the work and the CPU the rest on CPU + GPU. NOT VERIFIED: 1 of 3 results are wrong "
     "or missing."},
    {"a sum that gains",
     false,
     {{0, 0, 2, OK, MILLION, 0}, {1, 1, 3, OK, MILLION, 0}, {-1, 0.4, 1, OK, MILLION, 0}},
     "the f32 sum gains 2.00x at 2^20 on CPU + GPU." VERIFIED},
    {"a sum that gains nothing",
     false,
     {{0, 0, 2, OK, MILLION, 0}, {1, 1, 3, OK, MILLION, 0}, {-1, 0.4, 2, OK, MILLION, 0}},
     "the f32 sum gains nothing here up to 2^20 on CPU + GPU." VERIFIED},
    {"a sum that is slower",
     false,
     {{0, 0, 2, OK, MILLION, 0}, {1, 1, 3, OK, MILLION, 0}, {-1, 0.4, 4, OK, MILLION, 0}},
     "the f32 sum gains nothing here up to 2^20 and is slower with both at 2^20 (0.50x) on CPU + GPU." VERIFIED},
    {"a sum with nothing on the device",
     false,
     {{0, 0, 2, OK, MILLION, 0}, {1, 0, 2, OK, MILLION, 0}, {-1, 0, 1, OK, MILLION, 0}},
     "the f32 sum was not done by the device (hx-bench info says why) on CPU + GPU." VERIFIED},
    {"a sum that gains at the larger size",
     false,
     {{0, 0, 2, OK, MILLION, 0},
      {1, 1, 3, OK, MILLION, 0},
      {-1, 0.1, 2, OK, MILLION, 0},
      {0, 0, 8, OK, FOUR_MILLION, 0},
      {1, 1, 8, OK, FOUR_MILLION, 0},
      {-1, 0.5, 4, OK, FOUR_MILLION, 0}},
     "the f32 sum gains 2.00x at 2^22 and nothing below on CPU + GPU." VERIFIED},
    {"a sum that gains at both sizes",
     false,
     {{0, 0, 2, OK, MILLION, 0},
      {1, 1, 3, OK, MILLION, 0},
      {-1, 0.5, 1, OK, MILLION, 0},
      {0, 0, 8, OK, FOUR_MILLION, 0},
      {1, 1, 8, OK, FOUR_MILLION, 0},
      {-1, 0.5, 4, OK, FOUR_MILLION, 0}},
     "the f32 sum gains from 2^20 on (2.00x at 2^22) on CPU + GPU." VERIFIED},
    {"a sum that gains at the smaller size",
     false,
     {{0, 0, 2, OK, MILLION, 0},
      {1, 1, 3, OK, MILLION, 0},
      {-1, 0.5, 1, OK, MILLION, 0},
      {0, 0, 8, OK, FOUR_MILLION, 0},
      {1, 1, 8, OK, FOUR_MILLION, 0},
      {-1, 0.5, 8, OK, FOUR_MILLION, 0}},
     "the f32 sum gains at 1 of 2 sizes (at most 2.00x, at 2^20) on CPU + GPU." VERIFIED},
    {"devices alone", false, {{1, 1, 3, OK, MILLION, 0}}, "only devices took part on CPU + GPU." VERIFIED},
    {"devices were asked and did nothing",
     false,
     {{1, 0, 3, OK, MILLION, 0}},
     "only the CPU took part on CPU + GPU: hx-bench info says what a GPU would need, or why one did nothing." VERIFIED},
    {"hx chose the CPU",
     false,
     {{-1, 0, 3, OK, MILLION, 0}},
     "only the CPU took part on CPU + GPU: hx-bench info says what a GPU would need, or why one did nothing." VERIFIED},
    {"the CPU alone",
     true,
     {{0, 0, 3, OK, MILLION, 0}},
     "only the CPU took part on CPU + GPU: hx-bench info says what a GPU would need, or why one did nothing." VERIFIED},
    {"devices gave work back",
     false,
     {{1, 0.5, 3, OK, MILLION, 0}},
     "devices did 50 % to 50 % of the work and the CPU the rest on CPU + GPU." VERIFIED},
    {"nothing right", false, {{1, 1, 3, WRONG, MILLION, 0}}, "NOT VERIFIED: 1 of 1 results are wrong or missing."},
};

static bench_session session = {.device_count = 2,
                                .device = {{.name = "CPU", .kind = HX_CPU, .state = HX_USABLE},
                                           {.name = "GPU", .kind = HX_IGPU, .state = HX_USABLE}}};

static bench_row row_of(const line *l, bool matmul) {
  bench_row r = {.op = matmul ? "matmul" : "sum", .type = "f32", .n = l->n};
  if (matmul) r.m = r.n = r.k = 64;
  r.asked_share = l->asked;
  r.gpu_share = l->done;
  r.median_s = l->seconds;
  r.set_share = -1;
  r.low_s = l->spread > 0 ? l->seconds * (1 - l->spread) : 0;
  r.high_s = l->spread > 0 ? l->seconds * (1 + l->spread) : 0;
  r.ran = true;
  r.verified = !l->wrong;
  return r;
}

static void test_cases(void) {
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    bench_results results = {0};
    for (size_t l = 0; l < ROWS && cases[i].lines[l].seconds > 0; l++) {
      const bench_row row = row_of(&cases[i].lines[l], cases[i].matmul);
      bench_results_add(&results, &row);
    }
    bench_verdict(&session, &results);
    CHECK(strcmp(results.verdict, cases[i].verdict) == 0, "%s:\n%s\nexpected:\n%s", cases[i].what, results.verdict,
          cases[i].verdict);
    bench_results_free(&results);
  }
}

/* Findings that have no room are counted, and what went wrong is always said. */
static void test_many(void) {
  bench_results results = {0};
  for (size_t side = 1; side <= 60; side++)
    for (int mode = 0; mode < 3; mode++) {
      bench_row row =
          row_of(&(line){mode == 2 ? -1 : (float)mode, mode == 1 ? 1 : mode * 0.25, 3 - mode, OK, MILLION, 0}, true);
      row.n = side;
      row.verified = side < 60;
      bench_results_add(&results, &row);
    }
  bench_verdict(&session, &results);
  CHECK(strstr(results.verdict, " more are in the table. NOT VERIFIED: 3 of 180 results are wrong or missing."), "%s",
        results.verdict);
  bench_results_free(&results);
}

static void test_sweeps(void) {
  static const struct {
    double done;
    const char *verdict;
  } sweeps[] = {
      {0.5,
       "f32 sum 2^20: the best static split is 50 % on the device with 1.00 s, hx's own choice takes 1.00 s with 50 %: "
       "eta "
       "1.000 (half of the rounds lie in 0.990 to 1.010)." VERIFIED},
      {0, "f32 sum 2^20: the device took no part in any split (hx-bench info says why)." VERIFIED},
  };
  for (size_t i = 0; i < sizeof sweeps / sizeof sweeps[0]; i++) {
    bench_results results = {0};
    const double done = sweeps[i].done;
    for (int r = 0; r < 2; r++) {
      const bench_row row = row_of(&(line){r ? -1 : 0.5f, done, 1, OK, MILLION, 0}, false);
      bench_results_add(&results, &row);
    }
    const bench_sweep sweep = {0, 2, 21, 0.5, 1, 1, done, 1, 0.99, 1.01};
    bench_verdict_add_sweep(&results, &sweep);
    bench_verdict(&session, &results);
    CHECK(strcmp(results.verdict, sweeps[i].verdict) == 0, "%s\nexpected:\n%s", results.verdict, sweeps[i].verdict);
    bench_results_free(&results);
  }
}

int main(void) {
  test_cases();
  test_many();
  test_sweeps();
  return checks_end("verdict_test");
}
