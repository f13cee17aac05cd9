/* SPDX-License-Identifier: Apache-2.0
 * Checks that the system can start as many threads as a pool needs. libgomp ends the process if it cannot start a
 * thread, so the same number of threads is started first as a probe. They are all alive at once and have stacks of the
 * same size. */
#include "runtime/backend/cpu/thread_limit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "runtime/base/environment.h"
#include "runtime/base/log.h"
#include "runtime/base/thread.h"

static void *wait_for_gate(void *gate) {
  hx__lock(gate);
  hx__unlock(gate);
  return NULL;
}

unsigned hx__threads_startable(unsigned threads, size_t stack_bytes) {
  pthread_t *const thread = malloc(threads * sizeof *thread);
  if (!thread) return 0;
  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
  unsigned started = 0;
  hx__lock(&gate);
  while (started < threads && hx__thread_start_sized(&thread[started], stack_bytes, wait_for_gate, &gate) == 0)
    started++;
  hx__unlock(&gate);
  for (unsigned i = 0; i < started; i++) pthread_join(thread[i], NULL);
  pthread_mutex_destroy(&gate);
  free(thread);
  return started;
}

/* libgomp has a pool for every thread that opens regions, and ends threads that a smaller region does not use. Only a
 * pool that is larger than any before is probed. */
static _Thread_local unsigned largest_team = 1;

unsigned hx__cpu_startable(unsigned threads) {
  if (threads <= largest_team) return threads;
  const unsigned startable = hx__threads_startable(threads - 1, hx__environment_omp_stack()) + 1;
  if (startable < threads) {
    static atomic_flag warned = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&warned))
      hx__log(HX__LOG_WARN, "the system has room for %u of %u threads: calls use no more", startable, threads);
    return startable;
  }
  largest_team = threads;
  return threads;
}
