/* SPDX-License-Identifier: Apache-2.0
 * Which threads copy for a device: the copy pool or the caller alone, never OpenMP's. Every part is copied once, also
 * by several callers at once. The environment variables about spinning are read the way libgomp reads them. */
#define _GNU_SOURCE
#include <omp.h>
#include <sys/wait.h>

#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/backend/copy_pool.h"
#include "runtime/base/environment.h"
#include "tests/check.h"

enum { PARTS = 1000 };

typedef struct tally {
  _Atomic unsigned done[PARTS];
  _Atomic unsigned of_openmp; /* parts copied by threads of an OpenMP region */
} tally;

static void count_part(void *arg, size_t index) {
  tally *const t = arg;
  atomic_fetch_add(&t->done[index], 1);
  if (omp_get_level() > 0) atomic_fetch_add(&t->of_openmp, 1);
}

static void be_idle(void *arg) { (void)arg; }

/* How many parts an OpenMP region has copied; -1 if some part was not copied exactly once. */
static int parts_by_region(hx__copy_threads threads, size_t parts) {
  static tally t;
  memset(&t, 0, sizeof t);
  hx__copy_pool_run(threads, count_part, &t, parts);
  for (size_t i = 0; i < PARTS; i++)
    if (t.done[i] != (i < parts)) return -1;
  return (int)t.of_openmp;
}

static void whose_turn(void) {
  for (unsigned jobs = 0; jobs < 100; jobs++) {
    hx__cpu_pool_run((unsigned)omp_get_max_threads(), be_idle, NULL); /* whose threads spin afterwards */
    CHECK(parts_by_region(HX__COPY_BY_COPY_POOL, PARTS) == 0, "OpenMP threads did the copy pool's work");
    CHECK(parts_by_region(HX__COPY_BY_COPY_POOL, 1) == 0, "OpenMP threads copied a single part");
    CHECK(parts_by_region(HX__COPY_BY_WORKER, PARTS) == 0, "OpenMP threads did the caller's work");
  }
}

static void inside_a_region(void) {
  for (int levels = 1; levels <= 2; levels++) {
    omp_set_max_active_levels(levels);
    _Atomic int wrong = 0;
#pragma omp parallel num_threads(2)
    {
      static _Thread_local tally t;
      memset(&t, 0, sizeof t);
      hx__copy_pool_run(HX__COPY_BY_COPY_POOL, count_part, &t, PARTS);
      for (size_t i = 0; i < PARTS; i++) wrong += t.done[i] != 1;
    }
    CHECK(wrong == 0, "%d levels inside a region: parts were copied wrongly", levels);
  }
  omp_set_max_active_levels(1);
}

static void after_fork(void) {
  const pid_t child = fork();
  if (child == 0) _exit(parts_by_region(HX__COPY_BY_COPY_POOL, PARTS) == 0 ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the forked child's status is %d", status);
}

static void openmp_settings_are_read(void) {
  static const struct {
    const char *turns, *policy;
    bool sleeps;
  } rows[] = {
      {NULL, NULL, false},       {NULL, "active", false},  {NULL, "passive", true}, {NULL, " PASSIVE ", true},
      {NULL, "passivex", false}, {"0", NULL, true},        {"10k", "active", true}, {"299999", NULL, true},
      {"300000", NULL, false},   {"1m", "passive", false}, {" 2 G ", NULL, false},  {"infinity", NULL, false},
      {"INFINITE", NULL, false}, {"", "passive", true},    {"abc", NULL, false},    {"abc", "passive", true},
      {"12x", NULL, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    CHECK(hx__omp_sleeps_by(rows[i].turns, rows[i].policy) == rows[i].sleeps, "GOMP_SPINCOUNT=%s OMP_WAIT_POLICY=%s",
          rows[i].turns ? rows[i].turns : "(none)", rows[i].policy ? rows[i].policy : "(none)");
}

int main(void) {
  hx_settings settings = HX_SETTINGS_DEFAULT; /* from here on hx notices forks */
  settings.devices = "cpu";
  hx_context *const hx = open_or_exit(&settings);
  openmp_settings_are_read();
  whose_turn();
  inside_a_region();
  after_fork();
  hx_close(hx);
  return checks_end("copy_pool_test");
}
