/* SPDX-License-Identifier: Apache-2.0
 * A process that may not have another thread: calls take the threads there are, and nothing ends the process. */
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"

enum { N = 1 << 22, SPARE_KIB = 4096 }; /* a thread's stack alone takes 8192 KiB */

static size_t address_space_kib(void) {
  size_t kib = 0;
  char line[256];
  FILE *const status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status))
    if (sscanf(line, "VmSize: %zu", &kib) == 1) break;
  if (status) fclose(status);
  return kib;
}

static void *nothing(void *p) { return p; }

/* In a process of its own: 0 where the sum is right. */
static int sum_without_threads(void) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "cpu";
  settings.threads = "4";
  hx_context *const hx = open_or_exit(&settings);
  uint32_t *const x = malloc(N * sizeof *x);
  for (size_t i = 0; i < N; i++) x[i] = (uint32_t)i;
  const size_t kib = address_space_kib() + SPARE_KIB;
  if (setrlimit(RLIMIT_AS, &(struct rlimit){kib << 10, kib << 10}) != 0) return 2;
  pthread_t thread;
  if (pthread_create(&thread, NULL, nothing, NULL) == 0) return 3; /* the test is void */
  hx_value sum;
  for (int i = 0; i < 3; i++) {
    const hx_task t = hx_reduce(HX_SUM, HX_U32, x, N, &sum);
    if (hx_offload(hx, &t, NULL) != HX_OK || sum.u64 != (uint64_t)N * (N - 1) / 2) return 4;
  }
  return 0;
}

int main(void) {
  setenv("HX_LOG", "error", 1); /* the warning that there is no room */
  const pid_t child = fork();
  if (child == 0) _exit(sum_without_threads());
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with 0x%x", (unsigned)status);
  return checks_end("team_test");
}
