/* SPDX-License-Identifier: Apache-2.0
 * Limits of the system: RLIMIT_NPROC as a user without privileges (root is not held to it), RLIMIT_AS with little to
 * spare, and pids.max of a control group. A sum and a product by a team of four end in the right bits, or the sum in
 * HX_OUT_OF_MEMORY; never in an abort of libgomp.
 *     limits_test [DEVICES]
 * With DEVICES, those of a driver take part: a limit from before it is loaded, or from then on, ends no process. */
#define _GNU_SOURCE
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"

enum { N = 1 << 22, SIDE = 640, NOBODY = 65534 };

static size_t address_space(void) {
  size_t kib = 0;
  char line[256];
  FILE *const status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status))
    if (sscanf(line, "VmSize: %zu", &kib) == 1) break;
  if (status) fclose(status);
  return kib << 10;
}

static const char *devices; /* of a driver; NULL: the CPU alone */
static uint32_t x[N];
static float a[SIDE * SIDE], c[SIDE * SIDE];

/* 0: right. */
static int compute(hx_context *hx) {
  hx_value sum;
  const hx_task t = hx_reduce(HX_SUM, HX_U32, x, N, &sum);
  hx_task p = hx_matmul(SIDE, SIDE, SIDE, a, a, c);
  p.matmul.beta = 0.5f;
  for (size_t i = 0; i < SIDE * SIDE; i++) c[i] = 2.0f;
  const hx_status s = hx_offload(hx, &t, NULL);
  if (s != HX_OUT_OF_MEMORY && (s != HX_OK || sum.u64 != (uint64_t)N)) return 4;
  if (hx_offload(hx, &p, NULL) != HX_OK) return 5;
  for (size_t i = 0; i < SIDE * SIDE; i++)
    if (c[i] != (float)SIDE + 1.0f) return 6;
  return 0;
}

/* No address space is left, and of the heap only `bytes` in pieces of 1 KiB, when the topology is looked for: hwloc
 * does not survive an allocation that fails. */
static int exhausted(size_t bytes) {
  enum { PIECE = 1024 };
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "cpu";
  settings.threads = "1";
  settings.log = "error";
  hx_context *const hx = open_or_exit(&settings);
  const size_t space = address_space();
  if (setrlimit(RLIMIT_AS, &(struct rlimit){space, space}) != 0) return 3;
  void **list = NULL;
  for (size_t size = (size_t)1 << 20; size >= PIECE; size /= 2)
    for (void **p; (p = malloc(size)) != NULL; list = p) *p = list;
  for (size_t freed = 0; list && freed < bytes; freed += PIECE) {
    void **const next = *list;
    free(list);
    list = next;
  }
  return compute(hx);
}

/* A limit, with the topology known (warm) or not; 3: the test is void. */
static int limited(int resource, size_t limit, bool warm) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = devices ? devices : "cpu";
  settings.threads = "4";
  settings.split = devices ? "0.5" : NULL;
  settings.log = "error";
  if (resource == RLIMIT_NPROC && geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)) return 3;
  hx_context *const hx = open_or_exit(&settings);
  if (warm && hx_device_count(hx) == 0) return 3;
  if (resource == RLIMIT_AS) limit += address_space();
  if (setrlimit(resource, &(struct rlimit){limit, limit}) != 0) return 3;
  const int first = compute(hx), second = compute(hx);
  hx_close(hx);
  return first ? first : second;
}

static void without_heap(size_t bytes) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(exhausted(bytes));
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%zu bytes of heap: the child ended with 0x%x", bytes,
        (unsigned)status);
}

static void in_a_child(int resource, size_t limit, bool warm, const char *name) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(120); /* a hang is a failure */
    _exit(limited(resource, limit, warm));
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s %zu, %s: the child ended with 0x%x", name, limit,
        warm ? "warm" : "cold", (unsigned)status);
}

/* A control group of this test's own; false: none with a limit of processes can be made here. */
static char group[64];
static bool make_group(void) {
  static const char *const roots[] = {"/sys/fs/cgroup/pids", "/sys/fs/cgroup"};
  for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
    char limit[96];
    snprintf(group, sizeof group, "%s/hx-test-%d", roots[i], (int)getpid());
    if (mkdir(group, 0755) != 0) continue;
    snprintf(limit, sizeof limit, "%s/pids.max", group);
    if (access(limit, W_OK) == 0) return true;
    rmdir(group);
  }
  return false;
}

static bool put(const char *file, int value) {
  char path[96];
  snprintf(path, sizeof path, "%s/%s", group, file);
  FILE *const f = fopen(path, "w");
  const bool written = f && fprintf(f, "%d", value) > 0;
  return f && fclose(f) == 0 && written;
}

/* The same by a control group, as containers have it. */
static void in_a_group(void) {
  if (!make_group()) {
    printf("limits_test: skipped: no control group with pids.max can be made here\n");
    return;
  }
  for (int processes = 1; processes <= 16; processes += processes < 6 ? 1 : 5) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      alarm(120);
      const bool inside = put("pids.max", processes) && put("cgroup.procs", (int)getpid());
      _exit(inside ? limited(RLIMIT_NOFILE, 64, false) : 3);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(status == 0, "pids.max %d: the child ended with 0x%x", processes, (unsigned)status);
  }
  rmdir(group);
}

int main(int argc, char **argv) {
  devices = argc > 1 ? argv[1] : NULL;
  for (size_t i = 0; i < N; i++) x[i] = 1;
  for (size_t i = 0; i < SIDE * SIDE; i++) a[i] = 1.0f;
  in_a_group();
  if (devices) {
    for (size_t processes = 1; processes <= 6; processes++) in_a_child(RLIMIT_NPROC, processes, false, "RLIMIT_NPROC");
    for (size_t spare = (size_t)64 << 20; spare <= (size_t)1 << 30; spare += (size_t)192 << 20)
      for (int warm = 0; warm <= 1; warm++) in_a_child(RLIMIT_AS, spare, warm, "RLIMIT_AS and");
    return checks_end("limits_test");
  }
  for (size_t processes = 1; processes <= 3; processes++) in_a_child(RLIMIT_NPROC, processes, true, "RLIMIT_NPROC");
  for (size_t spare = 4096; spare <= (size_t)128 << 20; spare *= 2) {
    in_a_child(RLIMIT_AS, spare, true, "RLIMIT_AS and");
    in_a_child(RLIMIT_AS, spare, false, "RLIMIT_AS and");
  }
  for (size_t bytes = 1024; bytes <= (size_t)1 << 18; bytes += bytes / 2) without_heap(bytes);
  return checks_end("limits_test");
}
