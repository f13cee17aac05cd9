/* SPDX-License-Identifier: Apache-2.0
 * A product that the CPU is expected to finish before a device could help is still measured if the guess is close to
 * that limit. Products that are clearly too small, or already measured, are not. */
#include "runtime/plan/expected.h"
#include "runtime/sched/decide.h"
#include "runtime/sched/store.h"
#include "tests/check.h"
#include "reference/data.h"

enum { LARGE = 180, SMALL = 130, CALLS = 10 }; /* the guess for one thread is .15 and .055 ms */

static unsigned samples_of_cpu(uint64_t units) {
  hx__model *const model = hx__model_of_process();
  for (size_t i = 0; i < HX__MODEL_ENTRIES; i++) {
    const hx__model_entry *const e = &model->entry[i];
    if (e->samples && e->key.device == HX__CPU_IDENTITY && e->key.size_class == hx__size_class(units))
      return e->samples;
  }
  return 0;
}

static void multiply(hx_context *hx, uint32_t side, float *memory) {
  const hx_task t = hx_matmul(side, side, side, memory, memory, memory + side * side);
  CHECK_OK(hx_offload(hx, &t, NULL));
}

static void calls_of_a_context(void) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = "cpu,gpu"; /* the discovery of devices has not begun */
  s.threads = "1";
  s.cache_dir = "off";
  hx_context *const hx = open_or_exit(&s);
  float *const memory = malloc(2 * sizeof *memory * LARGE * LARGE);
  if (!memory) exit(1);
  data_fill(HX_F32, DATA_SIGNED, 1, memory, 2 * LARGE * LARGE);
  for (int i = 0; i < CALLS; i++) multiply(hx, SMALL, memory);
  CHECK(samples_of_cpu((uint64_t)SMALL * SMALL * SMALL) == 0, "a small product was measured");
  multiply(hx, LARGE, memory);
  CHECK(samples_of_cpu((uint64_t)LARGE * LARGE * LARGE) == 1, "one call: %u samples",
        samples_of_cpu((uint64_t)LARGE * LARGE * LARGE));
  hx_close(hx);
  free(memory);
}

static hx__cpu_time time_with_estimate(const hx__work *w, double ns, uint32_t samples, bool borrowed) {
  return hx__cpu_time_of(
      w, 1, &(hx__estimate){.ns_per_unit = ns / (double)w->units, .samples = samples, .borrowed = borrowed},
      HX__BREAK_EVEN_NS);
}

static hx__cpu_time time_after(const hx__work *w, double ns, uint32_t samples) {
  return time_with_estimate(w, ns, samples, false);
}

static hx__work product_of(size_t m, size_t n, size_t k) {
  return (hx__work){.matmul = true, .units = (uint64_t)m * n * k, .gemm = {.m = m, .n = n, .k = k}};
}

static double guess_of(size_t m, size_t n, size_t k, unsigned threads) {
  const hx__work w = product_of(m, n, k);
  const hx__estimate guess = hx__guess_cpu(&w, threads);
  return hx__cpu_time_of(&w, threads, &guess, HX__BREAK_EVEN_NS).ns;
}

/* A product of few rows or columns reads its large operand once, however many threads compute. */
static void guesses(void) {
  const double most = HX__BREAK_EVEN_NS;
  CHECK(guess_of(256, 256, 256, 16) < most, "256 x 256 x 256: %.0f ns", guess_of(256, 256, 256, 16));
  CHECK(guess_of(1, 4096, 4096, 16) > most, "1 x 4096 x 4096: %.0f ns", guess_of(1, 4096, 4096, 16));
  CHECK(guess_of(4096, 1, 4096, 16) > most, "4096 x 1 x 4096: %.0f ns", guess_of(4096, 1, 4096, 16));
  CHECK(guess_of(4096, 4096, 1, 16) > most, "4096 x 4096 x 1: %.0f ns", guess_of(4096, 4096, 1, 16));
}

/* The limit is the time of an empty task on a device, once that is known. */
static void limits(void) {
  CHECK(hx__break_even_ns(0.0) == HX__BREAK_EVEN_NS, "no device: %.0f ns", hx__break_even_ns(0.0));
  CHECK(hx__break_even_ns(10e3) == 10e3 + HX__JOIN_NS, "a launch of 10 us: %.0f ns", hx__break_even_ns(10e3));
  CHECK(hx__break_even_ns(1e6) == HX__BREAK_EVEN_NS, "a launch of 1 ms: %.0f ns", hx__break_even_ns(1e6));
  static const hx__config learned = {.min_offload = UINT64_MAX};
  const hx__work product = product_of(LARGE, LARGE, LARGE);
  hx__plan_snapshot s = {.config = &learned, .work = &product, .cpu = {100e3, false}};
  s.break_even_ns = hx__break_even_ns(0.0);
  CHECK(hx__is_below_break_even(&s), "no device: a task of 100 us is for one");
  s.break_even_ns = hx__break_even_ns(10e3);
  CHECK(!hx__is_below_break_even(&s), "a launch of 10 us: a task of 100 us is for no device");
}

static void predictions(void) {
  const hx__work product = product_of(LARGE, LARGE, LARGE), tiny = product_of(SMALL, SMALL, SMALL);
  const hx__work sum = {.units = 1u << 20};
  const double most = HX__BREAK_EVEN_NS;
  hx__cpu_time t = time_after(&product, 9 * most, 1);
  CHECK(t.ns < most && t.measure, "after one call of nine times the limit: %.0f ns, measure %d", t.ns, t.measure);
  t = time_after(&product, 9 * most, 3);
  CHECK(t.ns > most && t.measure, "after three such calls: %.0f ns, measure %d", t.ns, t.measure);
  t = time_after(&product, 0.9 * most, 3);
  CHECK(t.ns < most && t.measure, "after three calls just below the limit: %.0f ns, measure %d", t.ns, t.measure);
  t = time_after(&product, 0.4 * most, 3);
  CHECK(t.ns < most && !t.measure, "after three calls far below the limit: %.0f ns, measure %d", t.ns, t.measure);
  t = time_with_estimate(&product, 0.9 * most, 10, true);
  CHECK(t.ns < most && t.measure, "after ten calls of other sizes below the limit: %.0f ns, measure %d", t.ns,
        t.measure);
  t = time_after(&tiny, 0.05 * most, 0);
  CHECK(t.ns < most && !t.measure, "a tiny product: %.0f ns, measure %d", t.ns, t.measure);
  t = time_after(&tiny, 1.1 * most, 1);
  CHECK(t.ns < most && t.measure, "a tiny product that took long once: %.0f ns, measure %d", t.ns, t.measure);
  t = time_after(&sum, 0.9 * most, 0);
  CHECK(t.ns < most && t.measure, "a sum with a guess just below the limit: %.0f ns, measure %d", t.ns, t.measure);
  t = time_after(&sum, 0.4 * most, 0);
  CHECK(t.ns < most && !t.measure, "a sum with a guess far below the limit: %.0f ns, measure %d", t.ns, t.measure);
  t = time_after(&sum, 1.1 * most, 0);
  CHECK(t.ns > most && t.measure, "a sum with a guess above the limit: %.0f ns, measure %d", t.ns, t.measure);
}

int main(void) {
  predictions();
  guesses();
  limits();
  calls_of_a_context();
  return checks_end("cpu_guess_test");
}
