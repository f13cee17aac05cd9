/* SPDX-License-Identifier: Apache-2.0
 * A process that may not start another thread: calls use the threads that exist, and nothing ends the process. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/check.h"
#include "tests/child.h"
#include "tests/limited.h"

enum { N = 1 << 22 };

static void *do_nothing(void *p) { return p; }

/* From here on there is no address space for the stack of a new thread. */
static bool forbid_threads(void) {
  pthread_attr_t attr;
  pthread_t thread;
  pthread_attr_init(&attr);
  return pthread_attr_setstacksize(&attr, (size_t)1 << 47) == 0 && pthread_setattr_default_np(&attr) == 0 &&
         pthread_create(&thread, NULL, do_nothing, NULL) != 0;
}

/* Each of the following functions runs in a child process and returns 0 if the results are right. */

static int sum_repeatedly(hx_context *hx) {
  uint32_t *const x = malloc(N * sizeof *x);
  for (size_t i = 0; i < N; i++) x[i] = (uint32_t)i;
  if (!forbid_threads()) return CHILD_VOID;
  hx_value sum;
  for (int i = 0; i < 3; i++) {
    const hx_task t = hx_reduce(HX_SUM, HX_U32, x, N, &sum);
    if (hx_offload(hx, &t, NULL) != HX_OK || sum.u64 != (uint64_t)N * (N - 1) / 2) return 4;
  }
  return 0;
}

static int sum_without_threads(const void *arg) {
  (void)arg;
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "cpu";
  settings.threads = "4";
  return sum_repeatedly(open_or_exit(&settings));
}

/* A device takes part, but its worker cannot be started. */
static int sum_without_a_worker(const void *arg) {
  (void)arg;
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "cpu,sim";
  settings.sim = "rate=1e9";
  settings.min_offload = "1";
  settings.threads = "1";
  settings.cache_dir = "off";
  hx_context *const hx = open_or_exit(&settings);
  if (hx_ready(hx) != HX_OK) return 5;
  return sum_repeatedly(hx);
}

/* There is room for many threads, but for fewer than requested. */
static int product_with_some_threads(const void *arg) {
  (void)arg;
  enum { M = 4096, NK = 1056, FITTING = 1200 };
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "cpu";
  settings.threads = "4096";
  hx_context *const hx = open_or_exit(&settings);
  float *const a = malloc(3 * sizeof(float) * M * NK), *const b = a + M * NK, *const c = b + M * NK;
  for (size_t i = 0; i < (size_t)2 * M * NK; i++) a[i] = 1.0f;
  struct rlimit stack;
  if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur == RLIM_INFINITY) return CHILD_VOID;
  const size_t room = address_space_bytes() + stack.rlim_cur * FITTING;
  if (setrlimit(RLIMIT_AS, &(struct rlimit){room, room}) != 0) return CHILD_VOID;
  const hx_task t = hx_matmul(M, NK, NK, a, b, c);
  const hx_status s = hx_offload(hx, &t, NULL);
  for (size_t i = 0; i < (size_t)M * NK; i++)
    if (s != HX_OK || c[i] != (float)NK) return 4;
  return 0;
}

/* Stacks so large that there is no room for them: libgomp reads the variable when the process starts. */
static int with_large_stacks(const void *arg) {
  (void)arg;
  setenv("OMP_STACKSIZE", " 200000 G", 1);
  execl("/proc/self/exe", "thread_limit_test", "large stacks", (char *)NULL);
  return CHILD_VOID;
}

static int sum_by_four_threads(void) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "cpu";
  settings.threads = "4";
  hx_context *const hx = open_or_exit(&settings);
  static uint32_t x[N];
  hx_value sum;
  memset(x, 1, sizeof x);
  const hx_task t = hx_reduce(HX_SUM, HX_U32, x, N, &sum);
  return hx_offload(hx, &t, NULL) == HX_OK && sum.u64 == (uint64_t)N * 0x01010101u ? 0 : 4;
}

static void in_a_child(int (*body)(const void *), const char *name) {
  const int status = child_run(body, NULL, 60);
  CHECK(status == 0, "%s: the child's status is %d", name, status);
}

int main(int argc, char **argv) {
  (void)argv;
  if (argc > 1) return sum_by_four_threads();
  setenv("HX_LOG", "error", 1); /* hides hx's warning that there is no room */
  in_a_child(sum_without_threads, "without threads");
  in_a_child(sum_without_a_worker, "without a worker");
  in_a_child(product_with_some_threads, "with some threads");
  in_a_child(with_large_stacks, "with large stacks");
  return checks_end("thread_limit_test");
}
