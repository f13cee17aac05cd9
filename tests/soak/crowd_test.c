/* SPDX-License-Identifier: Apache-2.0
 * Crowds: 24 threads of random cases (case.c) on one context and on several, some of them opening and closing contexts
 * of their own all the time, with simulated devices that work and that fail, and tasks in flight at each close. It runs
 * a number of cases instead of for a time, so that a build with a tenth of the speed runs the same ones.
 *     crowd_test [SEED] */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/check.h"
#include "tests/soak/soak.h"

enum { CROWD = 24, CONTEXTS = 3, CASES = 25, STORMS = 8, LEFT = 4, ELEMENTS = 50000, LIMIT_SECONDS = 240 };

typedef struct crowd {
  const char *name;
  unsigned contexts, storming; /* storming: how many of the threads open and close contexts */
  const char *devices, *schedule, *sim;
} crowd;

static const crowd crowds[] = {
    {"one context, the CPU", 1, 0, "cpu", "adaptive", NULL},
    {"one context, a device", 1, 0, "cpu,sim", "dynamic", "rate=2e9,latency_us=5"},
    {"three contexts, two devices", 3, 0, "cpu,sim", "guided", "rate=3e8,latency_us=50;rate=1e9,latency_us=10"},
    {"a device that fails late", 1, 0, "cpu,sim", "static", "rate=1e9,latency_us=10,fail=enqueue@100"},
    {"a device that fails in a wait", 2, 0, "cpu,sim", "adaptive", "rate=1e9,latency_us=10,fail=wait@20"},
    {"contexts that come and go", 2, 16, "cpu,sim", "adaptive", "rate=1e9,latency_us=10"},
    {"nothing but contexts that come and go", 1, CROWD, "cpu,sim", "adaptive", "rate=1e9,latency_us=10,fail=bind@5"},
};

typedef struct member {
  const crowd *crowd;
  hx_context *hx; /* NULL: the thread opens its own */
  uint64_t state;
  pthread_t thread;
} member;

soak_counts counts;

int64_t soak_now_ns(void) { return (int64_t)(seconds_now() * 1e9); }

void soak_bad(const char *format, ...) {
  char line[600];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  CHECK(false, "%s", line);
}

static hx_context *open_one(const crowd *c) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = c->devices, s.schedule = c->schedule, s.sim = c->sim;
  s.threads = "2", s.min_offload = "0", s.cache_dir = "off", s.log = "error";
  return open_or_exit(&s);
}

/* Closes a context with tasks in flight for which no thread waits. */
static void close_one(hx_context *hx) {
  static float ones[ELEMENTS];
  hx_value out[LEFT];
  hx_event *event;
  for (int i = 0; i < LEFT; i++) {
    out[i].u64 = 1;
    const hx_task t = hx_reduce(HX_SUM, HX_F32, ones, ELEMENTS - (size_t)i, &out[i]);
    CHECK_OK(hx_offload_async(hx, &t, &event));
  }
  hx_close(hx);
  for (int i = 0; i < LEFT; i++)
    CHECK(out[i].u64 == 0, "a task that was in flight: %llx", (unsigned long long)out[i].u64);
}

static void *run_member(void *p) {
  member *const m = p;
  for (int i = 0; m->hx && i < CASES; i++) case_run(m->hx, &m->state);
  for (int i = 0; !m->hx && i < STORMS; i++) {
    hx_context *const own = open_one(m->crowd);
    for (uint64_t n = soak_random(&m->state, 3); n > 0; n--) case_run(own, &m->state);
    close_one(own);
  }
  return NULL;
}

static void run_crowd(const crowd *c, uint64_t seed) {
  hx_context *hx[CONTEXTS];
  member members[CROWD];
  const double from = seconds_now();
  const unsigned long before = counts.cases;
  alarm(LIMIT_SECONDS); /* a hang is a failure */
  for (unsigned i = 0; i < c->contexts; i++) hx[i] = open_one(c);
  for (unsigned i = 0; i < CROWD; i++) {
    members[i] = (member){c, i < c->storming ? NULL : hx[i % c->contexts], seed * 1000000 + i * 10000, 0};
    if (pthread_create(&members[i].thread, NULL, run_member, &members[i]) != 0) exit(1);
  }
  for (unsigned i = 0; i < CROWD; i++) pthread_join(members[i].thread, NULL);
  for (unsigned i = 0; i < c->contexts; i++) close_one(hx[i]);
  printf("  %s: %lu cases, %.1f s\n", c->name, counts.cases - before, seconds_now() - from);
  fflush(stdout);
}

int main(int argc, char **argv) {
  const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  printf("crowd_test: seed %llu\n", (unsigned long long)seed);
  cases_make(seed);
  for (size_t i = 0; i < sizeof crowds / sizeof crowds[0]; i++) run_crowd(&crowds[i], seed + i);
  CHECK(counts.wrong == 0, "%lu wrong results", counts.wrong);
  return checks_end("crowd_test");
}
