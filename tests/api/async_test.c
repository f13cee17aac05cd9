/* SPDX-License-Identifier: Apache-2.0
 * Any number of asynchronous tasks: ten thousand in flight need only a few threads, hx_wait may be called in any order
 * or not at all, hx_close waits for them, also for one that is being started, and if no thread can be started they are
 * still computed. */
#include <errno.h>
#include <pthread.h>

#include "runtime/api/caller.h"
#include "runtime/base/clock.h"
#include "tests/scenario.h"

enum { TASKS = 10000, N = 3000 };

typedef struct start {
  void *(*fn)(void *);
  void *arg;
} start;

/* The linker replaces pthread_create by __wrap_pthread_create (tests/BUILD): once `threads_left` threads were started,
 * it fails, and a thread that it starts waits until the gate is open. */
static _Atomic int threads_left = 1 << 30, threads_started;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static bool gate_is_open = true;

static void set_gate(bool open) {
  pthread_mutex_lock(&lock);
  gate_is_open = open;
  pthread_cond_broadcast(&opened);
  pthread_mutex_unlock(&lock);
}

static void *wait_at_gate(void *p) {
  const start s = *(start *)p;
  free(p);
  pthread_mutex_lock(&lock);
  while (!gate_is_open) pthread_cond_wait(&opened, &lock);
  pthread_mutex_unlock(&lock);
  return s.fn(s.arg);
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg) {
  if (threads_left-- <= 0) return EAGAIN;
  start *const s = malloc(sizeof *s);
  if (!s) return EAGAIN;
  *s = (start){fn, arg};
  const int error = __real_pthread_create(thread, attr, wait_at_gate, s);
  if (error)
    free(s);
  else
    threads_started++;
  return error;
}

static float x[N + TASKS];
static hx_event *events[TASKS];
static hx_value values[TASKS];

static hx_context *open_context(void) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = "cpu", s.cache_dir = "off", s.threads = "1";
  for (size_t i = 0; i < sizeof x / sizeof x[0]; i++) x[i] = 1.0f;
  return open_or_exit(&s);
}

static void send_sum(hx_context *hx, int i) {
  const hx_task t = hx_reduce(HX_SUM, HX_F32, x, (size_t)(N + i), &values[i]);
  values[i].u64 = 0;
  CHECK_OK(hx_offload_async(hx, &t, &events[i]));
}

static void check_value(int i) { CHECK(values[i].f32 == (float)(N + i), "task %d: %g", i, (double)values[i].f32); }

static void await_sum(int i) {
  CHECK_OK(hx_wait(events[i], NULL));
  check_value(i);
}

/* The i-th task of an order that contains each task once. */
static int mixed_order(int i) { return (int)((long)i * 7919 % TASKS); }

/* No worker can end while the gate is closed, so the number of threads does not depend on how fast they are. */
static void many_tasks_few_threads(void) {
  hx_context *const hx = open_context();
  for (int order = 0; order < 3; order++) {
    const int before = threads_started;
    set_gate(false);
    for (int i = 0; i < TASKS; i++) send_sum(hx, i);
    const int workers = threads_started - before;
    set_gate(true);
    CHECK(workers <= HX_MAX_DEVICES, "%d threads for %d tasks", workers, TASKS);
    for (int i = 0; i < TASKS; i++) await_sum(order == 0 ? i : order == 1 ? TASKS - 1 - i : mixed_order(i));
  }
  hx_close(hx);
}

/* A worker takes the next task, and hx_close ends it while it sleeps. */
static void one_worker(void) {
  const int before = threads_started;
  hx_context *const hx = open_context();
  for (int i = 0; i < 300; i++) {
    send_sum(hx, i);
    while (!hx_done(events[i])) hx__sleep_ns(10000);
    if (i % 100 == 0) hx__sleep_ns(20000000);
    await_sum(i);
  }
  CHECK(threads_started == before + 1, "%d threads for one task at a time", threads_started - before);
  const uint64_t from_ns = hx__now_ns();
  hx_close(hx);
  CHECK(hx__now_ns() - from_ns < 900000000u, "hx_close waited for a worker that sleeps");
}

/* Without hx_wait: hx_done becomes true, and hx_close frees the events. */
static void without_wait(void) {
  hx_context *hx = open_context();
  for (int i = 0; i < TASKS; i++) send_sum(hx, i);
  for (int i = 0; i < TASKS; i++)
    while (!hx_done(events[i])) hx__sleep_ns(100000);
  hx_close(hx);
  hx = open_context();
  for (int i = 0; i < TASKS; i++) send_sum(hx, i);
  hx_close(hx);
  for (int i = 0; i < TASKS; i++) check_value(i);
}

/* No thread can be started, or only one: the caller computes the rest. */
static void no_threads(void) {
  for (int threads = 0; threads < 2; threads++) {
    threads_left = threads;
    hx_context *const hx = open_context();
    for (int i = 0; i < TASKS; i++) send_sum(hx, i);
    for (int i = 0; i < TASKS / 2; i++)
      while (!hx_done(events[i])) hx__sleep_ns(100000);
    for (int i = 0; i < TASKS; i++) await_sum(mixed_order(i));
    hx_close(hx);
  }
}

static hx_context *shared;

static void *send_and_await(void *first) {
  for (int i = *(int *)first; i < TASKS; i += 4) {
    send_sum(shared, i);
    if (i % 3 == 0) await_sum(i), events[i] = NULL;
  }
  for (int i = *(int *)first; i < TASKS; i += 4)
    if (events[i]) await_sum(i);
  return NULL;
}

static void several_threads(void) {
  pthread_t thread[4];
  int first[4];
  shared = open_context();
  for (int i = 0; i < 4; i++) {
    first[i] = i;
    if (pthread_create(&thread[i], NULL, send_and_await, &first[i]) != 0) exit(1);
  }
  for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
  hx_close(shared);
}

static _Thread_local bool waits_for_close;

/* A call that starts a task goes on only when hx_close has begun, and has found no task. */
hx_status __real_hx__task_check(const hx_task *task, hx__work *work);
hx_status __wrap_hx__task_check(const hx_task *task, hx__work *work);
hx_status __wrap_hx__task_check(const hx_task *task, hx__work *work) {
  for (bool waits = waits_for_close; waits; sched_yield()) {
    pthread_mutex_lock(&shared->lock);
    waits = !shared->closing;
    pthread_mutex_unlock(&shared->lock);
  }
  return __real_hx__task_check(task, work);
}

static void *send_beside_close(void *unused) {
  (void)unused;
  waits_for_close = true;
  send_sum(shared, 0);
  return NULL;
}

/* The worker of the task begins late. */
static void *open_gate_late(void *unused) {
  (void)unused;
  hx__sleep_ns(200000000);
  set_gate(true);
  return NULL;
}

static void close_beside_a_start(void) {
  pthread_t sender, opener;
  shared = open_context();
  set_gate(false);
  if (__real_pthread_create(&sender, NULL, send_beside_close, NULL) != 0) exit(1);
  while (!hx__caller_inside(shared)) sched_yield();
  if (__real_pthread_create(&opener, NULL, open_gate_late, NULL) != 0) exit(1);
  hx_close(shared);
  check_value(0); /* before the worker could have gone on with a context that is gone */
  pthread_join(sender, NULL);
  pthread_join(opener, NULL);
}

int main(int argc, char **argv) {
  static const scenario table[] = {{"many_tasks_few_threads", many_tasks_few_threads},
                                   {"one_worker", one_worker},
                                   {"without_wait", without_wait},
                                   {"no_threads", no_threads},
                                   {"several_threads", several_threads},
                                   {"close_beside_a_start", close_beside_a_start}};
  return scenarios_main(argc, argv, "async_test", table, sizeof table / sizeof *table);
}
