/* SPDX-License-Identifier: Apache-2.0
 * The time from the return of hx_close to the end of the process, on a machine whose cores are all busy.
 *     exit_time_test DEVICE  */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"
#include "reference/data.h"

enum { N = 1 << 22, BUSY_EACH = 2, ROUNDS = 6, PAUSE_MS = 100, SPINNERS = 512 };
#define LIMIT_MS 5000.0 /* each core has two other busy processes; the bug to be found took ten seconds */

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* One program: a first larger call, after which kernels are built in the background, then hx_close and exit. It writes
 * the time at which hx_close returned. */
static void run_program(const char *devices, const float *x, int out, long pause_ms) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = devices;
  s.cache_dir = "off";
  hx_context *const hx = open_or_exit(&s);
  hx_value sum;
  const hx_task task = hx_reduce(HX_SUM, HX_F32, x, N, &sum);
  if (hx_offload(hx, &task, NULL) != HX_OK) exit(1);
  nanosleep(&(struct timespec){0, pause_ms * 1000000L}, NULL); /* the build is at another stage in each round */
  hx_close(hx);
  const double closed = now_ms();
  if (write(out, &closed, sizeof closed) != sizeof closed) exit(1);
  exit(0);
}

static double end_ms(const char *devices, const float *x, long pause_ms) {
  int ends[2], status = -1;
  double closed = 0.0;
  if (pipe(ends) != 0) exit(1);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) run_program(devices, x, ends[1], pause_ms);
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the program's status is %x",
        (unsigned)status);
  const double ended = now_ms();
  CHECK(read(ends[0], &closed, sizeof closed) == sizeof closed, "hx_close did not return");
  close(ends[0]), close(ends[1]);
  return ended - closed;
}

static void measure_rounds(const char *label, const char *devices, const float *x) {
  double worst = 0.0;
  for (int i = 0; i < ROUNDS; i++) {
    const double took = end_ms(devices, x, i * PAUSE_MS);
    worst = took > worst ? took : worst;
  }
  printf("  %s: exit ends at most %.1f ms after hx_close\n", label, worst);
  CHECK(worst < LIMIT_MS, "%g ms", worst);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  char devices[64];
  snprintf(devices, sizeof devices, "cpu,%s", argv[1]);
  float *const x = malloc(N * sizeof *x);
  if (!x) return 1;
  data_fill(HX_F32, DATA_SIGNED, 7, x, N);
  measure_rounds("idle cores", devices, x);
  cpu_set_t mask;
  CHECK(sched_getaffinity(0, sizeof mask, &mask) == 0, "no affinity");
  static pid_t spinner[SPINNERS];
  const int wanted = BUSY_EACH * CPU_COUNT(&mask), spinners = wanted < SPINNERS ? wanted : SPINNERS;
  for (int i = 0; i < spinners; i++)
    if ((spinner[i] = fork()) == 0)
      for (alarm(300);;) continue;
  measure_rounds("busy cores", devices, x);
  for (int i = 0; i < spinners; i++) kill(spinner[i], SIGKILL), waitpid(spinner[i], NULL, 0);
  free(x);
  return checks_end("exit_time_test");
}
