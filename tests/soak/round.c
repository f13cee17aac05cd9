/* SPDX-License-Identifier: Apache-2.0
 * A round of the soak: a few contexts with settings drawn at random, 1 to 24 threads that run cases on them, open and
 * close contexts of their own, fork, and leave tasks in flight when the context closes. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/soak/soak.h"

enum { THREADS = 24, CONTEXTS = 3 };

typedef struct round_state {
  hx_context *hx[CONTEXTS];
  unsigned contexts;
  int64_t end_ns;
  bool pocl, forks;
} round_state;

typedef struct member {
  round_state *round;
  uint64_t state;
  pthread_t thread;
} member;

#define DRAW(r, table) table[soak_random(r, sizeof(table) / sizeof *(table))]

static hx_context *open_one(uint64_t *r, bool pocl) {
  static const char *const kDevices[] = {"cpu", "cpu,sim", "cpu,sim"}, *const kWith[] = {"cpu,pocl", "cpu,pocl,sim"};
  static const char *const kSchedules[] = {"adaptive", "static", "dynamic", "guided"};
  static const char *const kThreads[] = {"1", "2", "3"}, *const kMinimum[] = {NULL, NULL, "0"};
  static const char *const kMemory[] = {"auto", "svm-fine", "svm-coarse", "hostptr", "copy"};
  static const char *const kTimeouts[] = {NULL, "300"};
  static const char *const kSim[] = {"rate=2e9,latency_us=5",
                                     "rate=3e8,latency_us=50;rate=1e9,latency_us=10",
                                     "rate=1e9,latency_us=10,fail=enqueue@3",
                                     "rate=1e9,latency_us=10,fail=wait@2",
                                     "rate=1e9,latency_us=10,fail=bind@5",
                                     "rate=1e9,latency_us=10,fail=alloc@1",
                                     "rate=1e9,latency_us=10,fail=open@1",
                                     "rate=1e9,latency_us=10,fail=prepare@1"};
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = pocl ? DRAW(r, kWith) : DRAW(r, kDevices);
  s.schedule = DRAW(r, kSchedules), s.threads = DRAW(r, kThreads), s.min_offload = DRAW(r, kMinimum);
  s.memory = DRAW(r, kMemory), s.timeout_ms = DRAW(r, kTimeouts);
  s.sim = DRAW(r, kSim);
  s.log = "error";
  hx_context *hx = NULL;
  if (hx_open(&hx, &s) != HX_OK) soak_bad("hx_open: %s", hx_error_detail());
  atomic_fetch_add(&counts.contexts, 1);
  return hx;
}

/* Counts the simulated devices that have failed as configured, and closes the context. */
static void close_one(hx_context *hx) {
  hx_device_info info;
  for (size_t i = 1; hx && i < hx_device_count(hx); i++)
    if (hx_device(hx, i, &info) == HX_OK && info.kind == HX_SIM && info.state == HX_LOST)
      atomic_fetch_add(&counts.faults, 1);
  hx_close(hx);
}

/* A forked child uses the context of its parent, or executes another program. */
static void fork_one(hx_context *hx, uint64_t *r) {
  const bool becomes = soak_random(r, 2);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    if (becomes) execl("/bin/true", "true", (char *)NULL);
    const unsigned long before = atomic_load(&counts.bad);
    for (int i = 0; i < 20; i++) case_run(hx, r);
    _exit(atomic_load(&counts.bad) != before);
  }
  int status = -1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (child > 0 && status != 0)
    soak_bad("a forked child%s ends with status %x", becomes ? " that becomes another" : "", status);
  atomic_fetch_add(&counts.forks, 1);
}

static void *run_member(void *p) {
  member *const m = p;
  round_state *const c = m->round;
  uint64_t *const r = &m->state;
  while (soak_now_ns() < c->end_ns) {
    hx_context *const hx = c->hx[soak_random(r, c->contexts)];
    if (!hx) return NULL;
    const uint64_t what = soak_random(r, 2000);
    if (what == 0 && c->forks) fork_one(hx, r);
    if (what > 1980) {
      hx_context *const own = open_one(r, c->pocl);
      for (uint64_t i = soak_random(r, 4); own && i > 0; i--) case_run(own, r);
      close_one(own);
    }
    case_run(hx, r);
  }
  return NULL;
}

/* Tasks without hx_wait: hx_close waits for them. */
static void leave_in_flight(hx_context *hx, uint64_t *r, hx_value out[4], const float *x, size_t n) {
  for (int i = 0; i < 4; i++) {
    hx_event *event;
    hx_task t = hx_reduce(HX_SUM, HX_F32, x, n - soak_random(r, 100), &out[i]);
    if (hx_offload_async(hx, &t, &event) != HX_OK) soak_bad("hx_offload_async: %s", hx_error_detail());
  }
}

void round_run(uint64_t *r, double seconds, bool pocl, bool ready) {
  static float x[50000];
  static hx_value out[CONTEXTS][4];
  static const unsigned kThreadCounts[] = {1, 2, 2, 3, 4, 8, 24};
  member members[THREADS];
  round_state c = {.contexts = 1 + (unsigned)soak_random(r, CONTEXTS), .pocl = pocl, .forks = soak_random(r, 3) == 0};
  const unsigned count = DRAW(r, kThreadCounts);
  for (unsigned i = 0; i < c.contexts; i++) c.hx[i] = open_one(r, pocl);
  for (unsigned i = 0; pocl && ready && i < c.contexts; i++)
    hx_ready(c.hx[i]); /* a call with a share waits for its kernels */
  c.end_ns = soak_now_ns() + (int64_t)(seconds * 1e9);
  unsigned started = 0;
  for (; started < count; started++) {
    members[started] = (member){.round = &c, .state = soak_random(r, UINT64_MAX)};
    if (pthread_create(&members[started].thread, NULL, run_member, &members[started]) != 0) break;
  }
  for (unsigned i = 0; i < started; i++) pthread_join(members[i].thread, NULL);
  for (unsigned i = 0; i < c.contexts; i++) {
    if (c.hx[i]) leave_in_flight(c.hx[i], r, out[i], x, sizeof x / sizeof *x);
    close_one(c.hx[i]);
  }
}

static void *leave_work(void *p) {
  uint64_t state = (uint64_t)(uintptr_t)&state;
  for (;;) case_run(p, &state);
  return NULL;
}

/* A thread that has called hx before it calls exit: hx knows of other threads only after the exit handlers of drivers
 * have run (docs/RELIABILITY.md). */
static void *leave_now(void *p) {
  hx_modified(p, p, 1); /* the call is refused */
  exit(0);
}

/* The ways to end: exit by another thread, exit by main, _exit, another program. */
void leave_run(unsigned road) {
  uint64_t state = (uint64_t)getpid() * 1000;
  pthread_t t;
  hx_context *const hx = open_one(&state, road % 2);
  if (road == 3) hx_ready(hx); /* PoCL aborts if it cannot start its threads, which happens during an exec. */
  for (int i = 0; i < 6; i++) pthread_create(&t, NULL, leave_work, hx);
  nanosleep(&(struct timespec){0, (long)soak_random(&state, 200) * 1000000}, NULL);
  if (road == 0 && pthread_create(&t, NULL, leave_now, hx) == 0) pthread_join(t, NULL);
  if (road == 1) exit(0);
  if (road == 2) _exit(0);
  execl("/bin/true", "true", (char *)NULL);
  _exit(1);
}
