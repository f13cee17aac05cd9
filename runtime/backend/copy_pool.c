/* SPDX-License-Identifier: Apache-2.0
 * The copy pool: one for the process, started at its first use, asleep between uses. A caller that finds it in use
 * copies alone. */
#include "runtime/backend/copy_pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "runtime/base/thread.h"
#include "runtime/topo/topo.h"

#define MOST_THREADS 8u /* more do not copy faster */
#define PART_BYTES ((size_t)256 << 10)

static pthread_mutex_t owner_lock = PTHREAD_MUTEX_INITIALIZER; /* held by the caller that uses the pool */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;       /* protects the variables below */
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER, all_done = PTHREAD_COND_INITIALIZER;
static unsigned started, working;
static uint64_t jobs; /* jobs started so far */

typedef struct job {
  void (*part)(void *arg, size_t index);
  void *arg;
  size_t parts;
  _Atomic size_t next;
} job;
static job *current_job; /* NULL: no job */

static void run_parts(void *arg) {
  job *const j = arg;
  for (size_t i; (i = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed)) < j->parts;) j->part(j->arg, i);
}

static void *pool_thread(void *unused) {
  uint64_t last_job = 0;
  (void)unused;
  pthread_mutex_lock(&lock);
  for (;;) {
    while (!current_job || jobs == last_job) pthread_cond_wait(&wake, &lock);
    last_job = jobs;
    working++;
    job *const own = current_job;
    pthread_mutex_unlock(&lock);
    run_parts(own);
    pthread_mutex_lock(&lock);
    if (--working == 0) pthread_cond_signal(&all_done);
  }
  return NULL;
}

/* Pool threads for a job, besides the calling thread: half of the cores work on it. */
static unsigned threads_wanted(size_t parts) {
  const unsigned cores = hx__topo_get()->cores, threads = cores <= 2 ? cores : cores / 2;
  const unsigned most = threads < MOST_THREADS ? threads : MOST_THREADS;
  return parts < most ? (unsigned)parts - 1 : most - 1;
}

static void run_with_pool(job *j) {
  const unsigned threads = threads_wanted(j->parts);
  pthread_mutex_lock(&lock);
  for (pthread_t thread; started < threads && hx__thread_start(&thread, pool_thread, NULL) == 0; started++)
    pthread_detach(thread);
  current_job = j;
  jobs++;
  pthread_cond_broadcast(&wake);
  pthread_mutex_unlock(&lock);
  run_parts(j);
  pthread_mutex_lock(&lock);
  while (working) pthread_cond_wait(&all_done, &lock);
  current_job = NULL;
  pthread_mutex_unlock(&lock);
}

void hx__copy_pool_run(hx__copy_threads copy_threads, void (*part)(void *arg, size_t index), void *arg, size_t parts) {
  job j = {.part = part, .arg = arg, .parts = parts};
  /* Threads started by a thread with idle priority would inherit that priority. */
  const bool alone =
      parts < 2 || copy_threads == HX__COPY_BY_WORKER || hx__in_forked_child() || hx__thread_has_idle_priority();
  if (alone || pthread_mutex_trylock(&owner_lock) != 0) {
    run_parts(&j);
  } else {
    run_with_pool(&j);
    pthread_mutex_unlock(&owner_lock);
  }
}

typedef struct copy {
  char *to;
  const char *from;
  size_t bytes;
} copy;

static void copy_part(void *arg, size_t index) {
  const copy *const c = arg;
  const size_t at = index * PART_BYTES, rest = c->bytes - at;
  memcpy(c->to + at, c->from + at, rest < PART_BYTES ? rest : PART_BYTES);
}

void hx__copy_pool_copy(hx__copy_threads copy_threads, void *to, const void *from, size_t bytes) {
  copy c = {to, from, bytes};
  hx__copy_pool_run(copy_threads, copy_part, &c, (bytes + PART_BYTES - 1) / PART_BYTES);
}
