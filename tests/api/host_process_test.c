/* SPDX-License-Identifier: Apache-2.0
 * What a host process may do while calls of hx are in flight: fork and continue or exec, receive signals in every wait,
 * close a context with tasks in flight, and end by exit or exec on any thread.
 *     host_process_test [--devices LIST]      default: the CPU and a simulated device  */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "runtime/base/clock.h"
#include "tests/scenario.h"

enum { N = 1 << 20, TASKS = 200 };

static float x[N];
static hx_context *shared;
static _Atomic bool over;

static hx_context *open_context(void) {
  static char list[256];
  hx_settings s = HX_SETTINGS_DEFAULT;
  snprintf(list, sizeof list, "cpu,%s", scenario_devices ? scenario_devices : "sim");
  s.devices = list, s.cache_dir = "off";
  if (!scenario_devices) s.sim = "rate=1e9,latency_us=10";
  for (int i = 0; i < N; i++) x[i] = 1.0f;
  return open_or_exit(&s);
}

static bool sum_is_right(hx_context *hx, float share) {
  hx_value value = {.u64 = 0};
  hx_task t = hx_reduce(HX_SUM, HX_F32, x, N, &value);
  t.gpu_share = share;
  return hx_offload(hx, &t, NULL) == HX_OK && value.f32 == (float)N;
}

static bool sums_later(hx_context *hx) {
  hx_value value = {.u64 = 0};
  hx_task t = hx_reduce(HX_SUM, HX_F32, x, N, &value);
  t.gpu_share = 0.5f;
  hx_event *event = NULL;
  return hx_offload_async(hx, &t, &event) == HX_OK && hx_wait(event, NULL) == HX_OK && value.f32 == (float)N;
}

static void *keep_summing(void *unused) {
  for (int i = 0; !over; i++) CHECK(i % 2 ? sum_is_right(shared, 0.5f) : sums_later(shared), "%s", hx_error_detail());
  return unused;
}

/* Forks while other threads are inside calls: the child continues with the CPU, or executes another program. */
static void fork_in_flight(void) {
  enum { FORKS = 40 };
#ifdef __SANITIZE_ADDRESS__ /* its allocator leaves locked, in a child, what another thread had locked at the fork */
  printf("fork_in_flight: left out, because a child of this sanitizer may wait for ever in malloc\n");
  return;
#endif
  pthread_t thread[2];
  shared = open_context();
  CHECK_OK(hx_ready(shared));
  for (int i = 0; i < 2; i++)
    if (pthread_create(&thread[i], NULL, keep_summing, NULL) != 0) exit(1);
  for (int i = 0; i < FORKS; i++) {
    hx__sleep_ns(1000000u + (uint64_t)i * 37000u);
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);
      if (i % 4 == 3) execl("/bin/true", "true", (char *)NULL);
      const bool fine = sum_is_right(shared, -1) && sum_is_right(shared, 0.5f) && sums_later(shared);
      hx_close(shared);
      _exit(!fine);
    }
    const int status = child_wait(child);
    CHECK(status == 0, "child %d: exit status %d (142: it hung)", i, status);
  }
  over = true;
  for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
  hx_close(shared);
}

static _Atomic unsigned alarms; /* the signal may interrupt any thread of the process */
static void on_alarm(int signal) {
  (void)signal;
  alarms++;
}

/* A signal every 200 us, with and without SA_RESTART. */
static void calls_under_signals(int flags) {
  const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = flags};
  const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
  sigaction(SIGALRM, &action, NULL);
  alarms = 0;
  setitimer(ITIMER_REAL, &often, NULL);
  hx_context *const hx = open_context();
  CHECK(hx_device_count(hx) > 1, "no device");
  CHECK_OK(hx_ready(hx));
  for (int i = 0; i < 30; i++) {
    CHECK(sum_is_right(hx, 0.25f * (float)(i % 5)) && sum_is_right(hx, -1) && sums_later(hx), "%d: %s", i,
          hx_error_detail());
    float *const own = hx_alloc(hx, sizeof x);
    CHECK(own != NULL, "%s", hx_error_detail());
    CHECK_OK(hx_sync(hx, own, sizeof x));
    hx_free(hx, own);
  }
  hx_close(hx);
  setitimer(ITIMER_REAL, &never, NULL);
  CHECK(alarms > 0, "no signal came");
}

static void calls_under_both_signals(void) {
  calls_under_signals(0);
  calls_under_signals(SA_RESTART);
}

static void close_in_flight(void) {
  static hx_value values[TASKS];
  hx_context *const hx = open_context();
  for (int i = 0; i < TASKS; i++) {
    hx_task t = hx_reduce(HX_SUM, HX_F32, x, N, &values[i]);
    t.gpu_share = i % 3 == 0 ? 0.5f : -1.0f;
    hx_event *event;
    CHECK_OK(hx_offload_async(hx, &t, &event));
  }
  hx_close(hx);
  for (int i = 0; i < TASKS; i++) CHECK(values[i].f32 == (float)N, "task %d: %g", i, (double)values[i].f32);
}

static void nested_region(void) {
  hx_context *const hx = open_context();
  unsigned wrong = 0;
#pragma omp parallel num_threads(2) reduction(+ : wrong)
  {
#pragma omp parallel num_threads(2) reduction(+ : wrong)
    for (int i = 0; i < 10; i++) wrong += (unsigned)!sum_is_right(hx, i % 2 ? 0.5f : -1) + !sums_later(hx);
  }
  CHECK(wrong == 0, "%u wrong results", wrong);
  hx_close(hx);
}

/* The ways in which a process ends. */
static void end_by_exit(void) { exit(checks_failed != 0); }
static void end_by__exit(void) { _exit(checks_failed != 0); }
static void end_by_exec(void) {
  execl("/bin/true", "true", (char *)NULL);
  _exit(7);
}

/* Elements of a task that is too small for the thread pool, and of one that is not. LLVM's OpenMP runtime asserts at
 * exit that no other thread uses it; libgomp ends the process if it cannot start a thread, which happens during an
 * exec.
 */
enum {
  ALONE = 10000,
#if defined(__clang__)
  POOLED = ALONE
#else
  POOLED = N
#endif
};

typedef struct road {
  const char *name;
  void (*leave)(void);
  size_t elements;
  bool by_main; /* otherwise by another thread, while the main thread is inside calls */
} road;

static const road roads[] = {{"exit by main", end_by_exit, POOLED, true},
                             {"exit by another thread", end_by_exit, POOLED, false},
                             {"_exit by another thread", end_by__exit, POOLED, false},
                             {"exec by main", end_by_exec, ALONE, true},
                             {"exec by another thread", end_by_exec, ALONE, false}};

static void *leave_soon(void *p) {
  hx__sleep_ns(3000000);
  ((const road *)p)->leave();
  return p;
}

static void *keep_offloading(void *p) {
  static hx_value values[TASKS];
  static hx_event *events[TASKS];
  for (int n = 0;; n = (n + 1) % TASKS) {
    if (events[n]) hx_wait(events[n], NULL); /* the task that wrote to this value */
    const hx_task t = hx_reduce(HX_SUM, HX_F32, x, ((const road *)p)->elements, &values[n]);
    if (hx_offload_async(shared, &t, &events[n]) != HX_OK) _exit(8);
  }
  return p;
}

/* A process ends, or executes another program, while tasks are in flight for which no thread waits; on the CPU
 * alone. */
static void leaves_in_flight(void) {
  enum { TIMES = 15 };
  scenario_devices = "cpu";
  for (size_t r = 0; r < sizeof roads / sizeof roads[0]; r++)
    for (int i = 0; i < TIMES; i++) {
      fflush(stdout);
      const pid_t child = fork();
      if (child == 0) {
        alarm(20);
        shared = open_context();
        void *const p = (void *)(uintptr_t)&roads[r];
        pthread_t thread;
        if (pthread_create(&thread, NULL, roads[r].by_main ? keep_offloading : leave_soon, p) != 0) _exit(9);
        (roads[r].by_main ? leave_soon : keep_offloading)(p);
      }
      const int status = child_wait(child);
      CHECK(status == 0, "%s, %d: exit status %d (128 + signal; 142: it hung)", roads[r].name, i, status);
    }
}

int main(int argc, char **argv) {
  static const scenario table[] = {{"fork_in_flight", fork_in_flight},
                                   {"calls_under_both_signals", calls_under_both_signals},
                                   {"close_in_flight", close_in_flight},
                                   {"nested_region", nested_region},
                                   {"leaves_in_flight", leaves_in_flight}};
  return scenarios_main(argc, argv, "host_process_test", table, sizeof table / sizeof *table);
}
