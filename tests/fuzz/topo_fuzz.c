/* SPDX-License-Identifier: Apache-2.0
 * The readers of cgroup files and of sysfs. The input is split at zero bytes into the files of a folder that replaces
 * the machine's root. */
#include <math.h>
#include <sys/stat.h>

#include "runtime/base/energy.h"
#include "runtime/base/power.h"
#include "runtime/topo/cgroup.h"
#include "tests/fuzz/fuzz.h"

static char root[200];

/* The files in the order of the input's pieces. Names that end in / are folders, which are made once. */
static const char *const tree[] = {
    "/proc/", "/proc/self/", "/sys/", "/sys/fs/", "/sys/fs/cgroup/", "/sys/fs/cgroup/g/", "/rapl/",
    "/rapl/intel-rapl:0/", "/rapl/intel-rapl:0:1/", "/supply/", "/supply/AC/", "/supply/BAT0/",
    /* files */
    "/proc/self/mountinfo", "/proc/self/cgroup", "/sys/fs/cgroup/cpu.max", "/sys/fs/cgroup/g/cpu.max",
    "/sys/fs/cgroup/g/cpu.cfs_quota_us", "/sys/fs/cgroup/g/cpu.cfs_period_us", "/rapl/intel-rapl:0/name",
    "/rapl/intel-rapl:0/energy_uj", "/rapl/intel-rapl:0/max_energy_range_uj", "/rapl/intel-rapl:0:1/name",
    "/rapl/intel-rapl:0:1/energy_uj", "/rapl/intel-rapl:0:1/max_energy_range_uj", "/supply/AC/type",
    "/supply/AC/online", "/supply/BAT0/type", "/supply/BAT0/status"};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool is_folder(const char *name) { return name[strlen(name) - 1] == '/'; }

static char *path_in_root(char path[400], const char *name) {
  snprintf(path, 400, "%s%s", root, name);
  return path;
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  char path[400];
  fuzz_folder(root, sizeof root);
  for (size_t i = 0; i < COUNT(tree); i++)
    if (is_folder(tree[i]) && mkdir(path_in_root(path, tree[i]), 0700) != 0) abort();
  return 0;
}

static void write_tree(const uint8_t *data, size_t size) {
  char path[400];
  for (size_t i = 0; i < COUNT(tree); i++) {
    if (is_folder(tree[i])) continue;
    const uint8_t *const end = size ? memchr(data, 0, size) : NULL;
    const size_t length = end ? (size_t)(end - data) : size;
    fuzz_file(path_in_root(path, tree[i]), data, length);
    size -= length + (end ? 1 : 0);
    data += length + (end ? 1 : 0);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[400];
  write_tree(data, size);
  const double cpus = hx__cgroup_cpus(root);
  FUZZ_CHECK(isfinite(cpus) && cpus >= 0, "a quota of %g CPUs", cpus);
  hx__energy *const energy = hx__energy_open(path_in_root(path, "/rapl"));
  for (int i = 0; i < 2 && energy; i++) {
    const double joules = hx__energy_joules(energy);
    FUZZ_CHECK(!(joules < 0), "%g J", joules);
  }
  hx__energy_close(energy);
  const hx__power power = hx__power_by(path_in_root(path, "/supply"));
  FUZZ_CHECK(power == HX__POWER_MAINS || power == HX__POWER_BATTERY, "power source %d", (int)power);
  return 0;
}
