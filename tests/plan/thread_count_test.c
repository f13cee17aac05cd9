/* SPDX-License-Identifier: Apache-2.0
 * How many threads a task gets: a product by its multiply-adds and by the cost of reading its operands, which dominates
 * for a product with a vector; a reduction by its elements. Exact numbers, for pools that are asleep and for those that
 * are awake, and for threads of the program that have none yet. */
#include <pthread.h>
#include <stdint.h>

#include "runtime/base/clock.h"
#include "runtime/plan/threads.h"
#include "tests/check.h"

enum { MOST = 1000, SLEEP_NS = 8000000, BURST_NS = 50000 };
static unsigned most = MOST;

static const struct {
  size_t m, n, k;
  unsigned asleep, awake;
} rows[] = {
    {2000, 1, 2000, 19, 305}, /* 4000000 + 4 * (4000000 + 2000) units, 2^20 or 2^16 per thread */
    {1, 2000, 2000, 19, 305}, {256, 256, 256, 16, 256}, {8, 1, 1 << 20, 8, 8}, /* one row per thread */
    {330, 1, 330, 1, 8},      {320, 1, 320, 1, 1},      {1, 1, 1 << 24, 1, 1}, {79, 79, 79, 1, 8}, {78, 78, 78, 1, 1},
};

/* Two threads share smaller products. */
static const struct {
  size_t side;
  unsigned awake;
} pairs[] = {{50, 2}, {48, 1}};

/* Elements of a reduction: 2^19 or 2^16 per thread. */
static const struct {
  size_t n;
  unsigned asleep, awake;
} reductions[] = {{(1 << 18) - 1, 1, 1}, {1 << 18, 1, 4}, {1 << 21, 4, 32}, {(1 << 21) - 1, 1, 31}};
static const struct {
  size_t n;
  unsigned asleep, awake;
} reductions_of_two[] = {{(1 << 17) - 1, 1, 1}, {1 << 17, 1, 2}, {1 << 20, 2, 2}};

static unsigned threads_for(const hx__work *w) {
  return hx__may_use_threads(w, most) ? hx__threads_for(w, most, hx__cpu_pool_state()) : 1;
}

/* The number of threads of a call that begins long after the one before; below, of one that begins at once. */
static unsigned threads_if_asleep(const hx__work *w) {
  hx__sleep_ns(SLEEP_NS);
  return threads_for(w);
}

static unsigned threads_if_awake(const hx__work *w) {
  for (;;) {
    const uint64_t from = hx__now_ns();
    threads_for(w);
    const unsigned threads = threads_for(w);
    if (hx__now_ns() - from < BURST_NS) return threads;
  }
}

static void check_thread_counts(const hx_task *t, unsigned cold, unsigned warm, const char *what, size_t row) {
  hx__work w;
  CHECK(hx__task_check(t, &w) == HX_OK, "%s %zu: %s", what, row, hx_error_detail());
  const unsigned slept = threads_if_asleep(&w), woken = threads_if_awake(&w);
  CHECK(slept == cold, "%s %zu: %u threads, not %u, if the pool is asleep", what, row, slept, cold);
  CHECK(woken == warm, "%s %zu: %u threads, not %u, if the pool is awake", what, row, woken, warm);
}

/* A thread's first tasks do not start a pool unless they are large. Its sixteenth call may. */
static void *call_on_new_thread(void *tasks) {
  enum { FIRST_CALLS = 15 };
  const hx_task *const t = tasks;
  hx__work small, large;
  CHECK_OK(hx__task_check(&t[0], &small));
  CHECK_OK(hx__task_check(&t[1], &large));
  for (int i = 0; i < FIRST_CALLS; i++) {
    const bool is_large = i % 2;
    const unsigned threads = threads_for(is_large ? &large : &small), want = is_large ? MOST : 1;
    CHECK(threads == want, "call %d of a new thread: %u threads, not %u", i, threads, want);
  }
  const unsigned threads = threads_for(&small);
  CHECK(threads > 1, "call %d of a thread: one thread", FIRST_CALLS);
  return NULL;
}

static void check_new_thread(float *a, float *b, float *c) {
  hx_task tasks[] = {hx_matmul(256, 256, 256, a, b, c), hx_matmul(1024, 1024, 1024, a, b, a)};
  tasks[1].matmul.c = a + (1 << 21);
  pthread_t thread;
  if (pthread_create(&thread, NULL, call_on_new_thread, tasks) != 0) exit(1);
  pthread_join(thread, NULL);
}

int main(void) {
  static float a[1 << 24], b[1 << 24], c[1 << 16]; /* never touched */
  hx_value out;
  check_new_thread(a, b, c);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const hx_task t = hx_matmul(rows[i].m, rows[i].n, rows[i].k, a, b, c);
    check_thread_counts(&t, rows[i].asleep, rows[i].awake, "product", i);
  }
  for (size_t i = 0; i < sizeof reductions / sizeof reductions[0]; i++) {
    const hx_task t = hx_reduce(HX_SUM, HX_F32, a, reductions[i].n, &out);
    check_thread_counts(&t, reductions[i].asleep, reductions[i].awake, "reduction", i);
  }
  const hx_task dots[] = {hx_dot(HX_F32, a, b, (1 << 17) - 1, &out), hx_dot(HX_F32, a, b, 1 << 17, &out)};
  check_thread_counts(&dots[0], 1, 1, "dot product", 0); /* one element counts for two */
  check_thread_counts(&dots[1], 1, 4, "dot product", 1);
  most = 6; /* a pool that is asleep is woken for three */
  const hx_task apart[] = {hx_reduce(HX_SUM, HX_F32, a, 3 << 19, &out), hx_reduce(HX_SUM, HX_F32, a, 1 << 20, &out)};
  check_thread_counts(&apart[0], 3, 6, "reduction of six threads", 0);
  check_thread_counts(&apart[1], 1, 6, "reduction of six threads", 1);
  most = 2;
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    const hx_task t = hx_matmul(pairs[i].side, pairs[i].side, pairs[i].side, a, b, c);
    check_thread_counts(&t, 1, pairs[i].awake, "product of two threads", i);
  }
  for (size_t i = 0; i < sizeof reductions_of_two / sizeof reductions_of_two[0]; i++) {
    const hx_task t = hx_reduce(HX_SUM, HX_F32, a, reductions_of_two[i].n, &out);
    check_thread_counts(&t, reductions_of_two[i].asleep, reductions_of_two[i].awake, "reduction of two threads", i);
  }
  return checks_end("thread_count_test");
}
