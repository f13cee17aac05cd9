/* SPDX-License-Identifier: Apache-2.0
 * A task that is worth few threads leaves OpenMP its others: the next larger region finds them, and does not wait until
 * they are started again. Only as many as the task is worth compute. While a second thread of the program has a pool, a
 * team has no more than that, because two full ones would have more threads than there are cores. */
#include <dirent.h>
#include <pthread.h>

#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/base/config.h"
#include "tests/check.h"

enum { TEAM = 6, FEW = 2 };

static _Atomic unsigned calls, numbers;

static void count_call(void *arg) {
  (void)arg;
  atomic_fetch_add(&calls, 1);
  atomic_fetch_or(&numbers, 1u << hx__cpu_pool_thread());
}

static size_t threads_of_process(void) {
  size_t threads = 0;
  DIR *const d = opendir("/proc/self/task");
  for (struct dirent *e; d && (e = readdir(d));) threads += e->d_name[0] != '.';
  if (d) closedir(d);
  return threads;
}

/* LLVM's OpenMP runtime has this function. It keeps the threads of smaller teams, so there is nothing to be seen. */
extern int kmp_get_blocktime(void) __attribute__((weak));

/* Whether the process has so many threads now: one that ends may be listed for a moment longer. */
static bool has_threads(size_t expected) {
  if (kmp_get_blocktime) return true;
  size_t threads = threads_of_process();
  for (int i = 0; i < 1000 && threads != expected; i++) {
    const struct timespec ms = {0, 1000000};
    nanosleep(&ms, NULL);
    threads = threads_of_process();
  }
  return threads == expected;
}

static void run(void (*pool_run)(unsigned threads, void (*body)(void *arg), void *arg), unsigned threads) {
  atomic_store(&calls, 0);
  atomic_store(&numbers, 0);
  pool_run(threads, count_call, NULL);
  CHECK(calls == threads, "%u threads of %u computed", calls, threads);
  CHECK(numbers == (1u << threads) - 1, "their numbers are %#x", numbers);
}

static pthread_barrier_t barrier; /* the other thread has a pool; and it may end */

static void *call_from_another_thread(void *config) {
  hx__cpu_threads(config);
  run(hx__cpu_pool_run, FEW);
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  return NULL;
}

int main(void) {
  const hx__config config = {.threads = TEAM};
  if (!threads_of_process()) {
    printf("pool_team_test: skipped: /proc does not list the threads of the process\n");
    return 0;
  }
  CHECK(hx__cpu_threads(&config) == TEAM, "not %d threads", TEAM);
  const size_t before = threads_of_process();
  run(hx__cpu_pool_run, FEW);
  CHECK(has_threads(before + TEAM - 1), "the team of a small task has %zu threads, not %d",
        threads_of_process() - before + 1, TEAM);
  run(hx__cpu_pool_run, TEAM);
  run(hx__cpu_pool_run, FEW);
  run(hx__cpu_pool_run, FEW + 1);
  CHECK(has_threads(before + TEAM - 1), "small tasks end %zu threads", before + TEAM - 1 - threads_of_process());
  run(hx__cpu_pool_run_beside, FEW);
  CHECK(has_threads(before + FEW - 1), "beside devices the team has %zu threads, not %d",
        threads_of_process() - before + 1, FEW);
  pthread_t thread;
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&thread, NULL, call_from_another_thread, (void *)&config);
  pthread_barrier_wait(&barrier);
  run(hx__cpu_pool_run, FEW);
  CHECK(has_threads(before + 2 * FEW - 1), "two callers have %zu threads, not %d", threads_of_process() - before + 1,
        2 * FEW);
  pthread_barrier_wait(&barrier);
  pthread_join(thread, NULL);
  run(hx__cpu_pool_run, FEW);
  CHECK(has_threads(before + TEAM - 1), "after the other caller has ended the team has %zu threads, not %d",
        threads_of_process() - before + 1, TEAM);
  if (kmp_get_blocktime) printf("pool_team_test: threads were not counted: the OpenMP runtime is LLVM's\n");
  return checks_end("pool_team_test");
}
