/* SPDX-License-Identifier: Apache-2.0
 * How many threads a product is worth: by its multiply-adds, and by what reading its operands takes, which is all there
 * is to a product with a vector. Exact numbers, for teams that are asleep and for those that are awake. */
#include <stdint.h>

#include "runtime/base/clock.h"
#include "runtime/dispatch/dispatch.h"
#include "tests/check.h"

enum { MOST = 1000, SLEEP_NS = 2000000, BURST_NS = 50000 };

static const struct {
  size_t m, n, k;
  unsigned asleep, awake;
} rows[] = {
    {2000, 1, 2000, 19, 76}, /* 4000000 + 4 * (4000000 + 2000) units, of 2^20 or 2^18 a thread */
    {1, 2000, 2000, 19, 76}, {256, 256, 256, 16, 66}, {8, 1, 1 << 20, 8, 8}, /* a row each */
    {330, 1, 330, 1, 2},     {300, 1, 300, 1, 1},     {1, 1, 1 << 24, 1, 1},
};

/* As a call that comes long after the one before, and as one that comes at once. */
static unsigned asleep(const hx__work *w) {
  hx__sleep_ns(SLEEP_NS);
  return hx__threads_for(w, MOST);
}

static unsigned awake(const hx__work *w) {
  for (;;) {
    const uint64_t from = hx__now_ns();
    hx__threads_for(w, MOST);
    const unsigned threads = hx__threads_for(w, MOST);
    if (hx__now_ns() - from < BURST_NS) return threads;
  }
}

int main(void) {
  static float a[1 << 24], b[1 << 24], c[1 << 16]; /* never touched */
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    hx__work w;
    const hx_task t = hx_matmul(rows[i].m, rows[i].n, rows[i].k, a, b, c);
    CHECK(hx__task_check(&t, &w) == HX_OK, "row %zu: %s", i, hx_error_detail());
    const unsigned cold = asleep(&w), warm = awake(&w);
    CHECK(cold == rows[i].asleep, "%zux%zux%zu: %u threads, not %u, where the team is asleep", rows[i].m, rows[i].n,
          rows[i].k, cold, rows[i].asleep);
    CHECK(warm == rows[i].awake, "%zux%zux%zu: %u threads, not %u, where the team is awake", rows[i].m, rows[i].n,
          rows[i].k, warm, rows[i].awake);
  }
  return checks_end("threads_test");
}
