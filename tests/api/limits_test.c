/* SPDX-License-Identifier: Apache-2.0
 * Limits of the system: RLIMIT_NPROC as a user without privileges (root has no such limit), RLIMIT_AS with little to
 * spare, small stacks, and pids.max of a control group. A sum and a product by four threads end with the right bits, or
 * the sum with HX_OUT_OF_MEMORY, and libgomp never aborts. limits_test [DEVICES] With DEVICES, devices of a driver take
 * part: a limit that is set before or after it is loaded ends no process. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/check.h"
#include "tests/child.h"
#include "tests/limited.h"

enum { OTHER_USER = 65534, LIMIT_S = 120 };

static const char *devices; /* the devices of a driver; NULL: the CPU alone */

/* Leaves no address space, and only `bytes` of the heap in pieces of 1 KiB, when the topology is read: hwloc does not
 * survive a failed allocation. */
static int exhaust_memory(const void *arg) {
  enum { PIECE = 1024 };
  const size_t bytes = *(const size_t *)arg;
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "cpu";
  settings.threads = "1";
  settings.log = "error";
  hx_context *const hx = open_or_exit(&settings);
  const size_t space = address_space_bytes();
  if (setrlimit(RLIMIT_AS, &(struct rlimit){space, space}) != 0) return CHILD_VOID;
  void **list = NULL;
  for (size_t size = (size_t)1 << 20; size >= PIECE; size /= 2)
    for (void **p; (p = malloc(size)) != NULL; list = p) *p = list;
  for (size_t freed = 0; list && freed < bytes; freed += PIECE) {
    void **const next = *list;
    free(list);
    list = next;
  }
  return limited_tasks_run(hx, -1.0f);
}

/* A limit that a child process sets for itself; warm: after it has read the topology. */
typedef struct resource_limit {
  int resource;
  size_t limit;
  bool warm;
} resource_limit;

static int run_limited(const void *arg) {
  const resource_limit *const l = arg;
  size_t limit = l->limit;
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = devices ? devices : "cpu";
  settings.threads = "4";
  settings.split = devices ? "0.5" : NULL;
  settings.log = "error";
  if (l->resource == RLIMIT_NPROC && geteuid() == 0 && (setgid(OTHER_USER) != 0 || setuid(OTHER_USER) != 0))
    return CHILD_VOID;
  hx_context *const hx = open_or_exit(&settings);
  if (l->warm && hx_device_count(hx) == 0) return CHILD_VOID;
  if (l->resource == RLIMIT_AS) limit += address_space_bytes();
  if (setrlimit(l->resource, &(struct rlimit){limit, limit}) != 0) return CHILD_VOID;
  const int first = limited_tasks_run(hx, -1.0f), second = limited_tasks_run(hx, -1.0f);
  hx_close(hx);
  return first ? first : second;
}

static void without_heap(size_t bytes) {
  const int status = child_run(exhaust_memory, &bytes, LIMIT_S);
  CHECK(status == 0, "%zu bytes of heap: the child's status is %d", bytes, status);
}

static void in_a_child(int resource, size_t limit, bool warm, const char *name) {
  const resource_limit l = {resource, limit, warm};
  const int status = child_run(run_limited, &l, LIMIT_S);
  CHECK(status == 0, "%s %zu, %s: the child's status is %d", name, limit, warm ? "warm" : "cold", status);
}

/* The limit of a program's first thread when it starts is the size of the stacks of its other threads. */
static int run_with_small_stacks(const void *arg) {
  const rlim_t bytes = *(const size_t *)arg;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstacksize(&attributes, bytes) != 0 || pthread_setattr_default_np(&attributes) != 0)
    return CHILD_VOID;
  return run_limited(&(resource_limit){RLIMIT_STACK, bytes, false});
}

static int find_device(const void *unused) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = devices;
  hx_context *const hx = open_or_exit(&settings);
  const int found = hx_device_count(hx) > 1 ? CHILD_RIGHT : CHILD_VOID;
  hx_close(hx);
  return unused ? CHILD_VOID : found;
}

/* Drivers need more than hx. Later programs without the limit use them. */
static void with_small_stacks(void) {
  const size_t bytes = (size_t)64 << 10;
  int status = child_run(run_with_small_stacks, &bytes, LIMIT_S);
  CHECK(status == 0, "stacks of %zu bytes: the child's status is %d", bytes, status);
  status = child_run(find_device, NULL, LIMIT_S);
  CHECK(status == 0, "a process without the limit: the child's status is %d", status);
}

/* Makes a control group for this test. False: no group with a limit of processes can be made here. */
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

static bool write_to_group(const char *file, int value) {
  char path[96];
  snprintf(path, sizeof path, "%s/%s", group, file);
  FILE *const f = fopen(path, "w");
  const bool written = f && fprintf(f, "%d", value) > 0;
  return f && fclose(f) == 0 && written;
}

static int run_in_group(const void *processes) {
  const bool inside =
      write_to_group("pids.max", *(const int *)processes) && write_to_group("cgroup.procs", (int)getpid());
  return inside ? run_limited(&(resource_limit){RLIMIT_NOFILE, 64, false}) : CHILD_VOID;
}

/* The same limit set by a control group, as in a container. */
static void in_a_group(void) {
  if (!make_group()) {
    printf("limits_test: skipped: no control group with pids.max can be made here\n");
    return;
  }
  for (int processes = 1; processes <= 16; processes += processes < 6 ? 1 : 5) {
    const int status = child_run(run_in_group, &processes, LIMIT_S);
    CHECK(status == 0, "pids.max %d: the child's status is %d", processes, status);
  }
  rmdir(group);
}

int main(int argc, char **argv) {
  devices = argc > 1 ? argv[1] : NULL;
  limited_tasks_prepare(1 << 22, 640);
  if (devices) with_small_stacks(); /* first, because the result of the driver check is cached */
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
