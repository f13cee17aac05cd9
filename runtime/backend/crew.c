/* SPDX-License-Identifier: Apache-2.0
 * The crew: one of the process, started at its first use, asleep between uses. Who finds it taken does without. */
#include "runtime/backend/crew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "runtime/base/thread.h"
#include "runtime/topo/topo.h"

#define MOST_THREADS 8u /* more do not copy faster */
#define PART_BYTES ((size_t)256 << 10)

static pthread_mutex_t owner = PTHREAD_MUTEX_INITIALIZER; /* of the crew, for one job */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  /* what follows */
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER, left = PTHREAD_COND_INITIALIZER;
static unsigned started, inside;
static uint64_t jobs;                        /* so far */
static void (*job)(void *arg, size_t index); /* NULL: none */
static void *job_arg;
static size_t job_parts;
static _Atomic size_t next;

static void work(void (*part)(void *arg, size_t index), void *arg, size_t parts) {
  for (size_t i; (i = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed)) < parts;) part(arg, i);
}

static void *member(void *unused) {
  uint64_t seen = 0;
  (void)unused;
  pthread_mutex_lock(&lock);
  for (;;) {
    while (!job || jobs == seen) pthread_cond_wait(&wake, &lock);
    seen = jobs;
    inside++;
    void (*const part)(void *, size_t) = job;
    void *const arg = job_arg;
    const size_t parts = job_parts;
    pthread_mutex_unlock(&lock);
    work(part, arg, parts);
    pthread_mutex_lock(&lock);
    if (--inside == 0) pthread_cond_signal(&left);
  }
  return NULL;
}

/* Threads for a job beside the one that asks: half of the cores. */
static unsigned wanted(size_t parts) {
  const unsigned cores = hx__topo_get()->cores, threads = cores <= 2 ? cores : cores / 2;
  const unsigned most = threads < MOST_THREADS ? threads : MOST_THREADS;
  return parts < most ? (unsigned)parts - 1 : most - 1;
}

void hx__crew_do(void (*part)(void *arg, size_t index), void *arg, size_t parts) {
  if (parts < 2 || hx__forked() || pthread_mutex_trylock(&owner) != 0) {
    for (size_t i = 0; i < parts; i++) part(arg, i);
    return;
  }
  const unsigned threads = wanted(parts);
  pthread_mutex_lock(&lock);
  for (pthread_t thread; started < threads && hx__thread_start(&thread, member, NULL) == 0; started++)
    pthread_detach(thread);
  job = part;
  job_arg = arg;
  job_parts = parts;
  atomic_store(&next, 0);
  jobs++;
  pthread_cond_broadcast(&wake);
  pthread_mutex_unlock(&lock);
  work(part, arg, parts);
  pthread_mutex_lock(&lock);
  while (inside) pthread_cond_wait(&left, &lock);
  job = NULL;
  pthread_mutex_unlock(&lock);
  pthread_mutex_unlock(&owner);
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

void hx__crew_copy(void *to, const void *from, size_t bytes) {
  copy c = {to, from, bytes};
  hx__crew_do(copy_part, &c, (bytes + PART_BYTES - 1) / PART_BYTES);
}
