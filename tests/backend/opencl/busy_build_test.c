/* SPDX-License-Identifier: Apache-2.0
 * On a machine without an idle core, kernels that a call waits for are still built, and built first.
 *     busy_build_test DEVICE  */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "tests/check.h"
#include "reference/data.h"

enum { N = 1 << 20, MOST = 256, EACH = 2 };

static _Atomic bool over;

static void *spin_until_over(void *unused) {
  (void)unused;
  while (!atomic_load_explicit(&over, memory_order_relaxed)) continue;
  return NULL;
}

/* How many threads of this process run only on idle cores: on a busy machine no other thread can wait for one of
 * them. */
static _Atomic unsigned idle_threads;

static void *count_idle_threads(void *unused) {
  (void)unused;
  while (!atomic_load(&over)) {
    unsigned found = 0;
    DIR *const tasks = opendir("/proc/self/task");
    for (struct dirent *e; tasks && (e = readdir(tasks));) {
      const pid_t thread = (pid_t)atoi(e->d_name);
      found += thread > 0 && sched_getscheduler(thread) == SCHED_IDLE;
    }
    if (tasks) closedir(tasks);
    if (found > atomic_load(&idle_threads)) atomic_store(&idle_threads, found);
    nanosleep(&(struct timespec){0, 5000000}, NULL);
  }
  return NULL;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  cpu_set_t mask;
  pthread_t thread[MOST];
  CHECK(sched_getaffinity(0, sizeof mask, &mask) == 0, "no affinity");
  const unsigned cores = (unsigned)CPU_COUNT(&mask), threads = EACH * cores < MOST ? EACH * cores : MOST;
  for (unsigned i = 0; i < threads; i++)
    CHECK(pthread_create(&thread[i], NULL, spin_until_over, NULL) == 0, "no thread");
  pthread_t watcher;
  CHECK(pthread_create(&watcher, NULL, count_idle_threads, NULL) == 0, "no thread");
  float *const x = malloc(N * sizeof *x);
  if (!x) return 1;
  data_fill(HX_F32, DATA_SIGNED, 7, x, N);

  hx_settings s = HX_SETTINGS_DEFAULT;
  char devices[64];
  snprintf(devices, sizeof devices, "cpu,%s", argv[1]);
  s.devices = devices;
  s.cache_dir = "off";
  hx_context *const hx = open_or_exit(&s);
  const double from = seconds_now();
  hx_value alone = {.u64 = 0}, shared = {.u64 = 1};
  hx_task t = hx_reduce(HX_SUM, HX_F32, x, N, &alone);
  t.gpu_share = 0;
  CHECK_OK(hx_offload(hx, &t, NULL));
  t = hx_reduce(HX_SUM, HX_F32, x, N, &shared);
  t.gpu_share = 0.5f; /* the call waits for the kernels, at most two minutes */
  hx_report report;
  CHECK_OK(hx_offload(hx, &t, &report));
  printf("  %u threads on %u cores: the device's part came after %.1f s\n", threads, cores, seconds_now() - from);
  CHECK(atomic_load(&idle_threads) == 0, "%u threads at SCHED_IDLE while it was waited for",
        atomic_load(&idle_threads));
  CHECK(report.gpu_share == 0.5, "the device did %g of the work", (double)report.gpu_share);
  CHECK(shared.u64 == alone.u64, "other bits");
  atomic_store(&over, true);
  for (unsigned i = 0; i < threads; i++) pthread_join(thread[i], NULL);
  pthread_join(watcher, NULL);
  hx_close(hx);
  free(x);
  return checks_end("busy_build_test");
}
