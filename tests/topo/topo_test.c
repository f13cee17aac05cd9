/* SPDX-License-Identifier: Apache-2.0
 * What topo/ says of this machine, pinned and not, of a hybrid laptop described in hwloc's XML, of one described in a
 * line; and the CPU quota by copies of the files that containers see. */
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/thread.h"
#include "runtime/topo/cgroup.h"
#include "runtime/topo/topo.h"
#include "tests/check.h"

static char scratch[] = "/tmp/hx-topo-XXXXXX";

static cpu_set_t mask_of(pid_t task) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(task, sizeof mask, &mask);
  return mask;
}

static cpu_set_t first_cpu_of(const cpu_set_t *from) {
  cpu_set_t one;
  CPU_ZERO(&one);
  for (size_t i = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET(i, from)) {
      CPU_SET(i, &one);
      break;
    }
  return one;
}

static void set_affinity(pid_t task, const cpu_set_t *mask) {
  if (sched_setaffinity(task, sizeof *mask, mask) != 0) exit(1);
}

/* The topology that a new process sees, because it is read once per process. The child first calls before(). */
static hx__topo seen_after(void (*before)(void)) {
  hx__topo topo = {0};
  int ends[2];
  if (pipe(ends) != 0) exit(1);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    before();
    const cpu_set_t was = mask_of(0);
    topo = *hx__topo_get();
    const cpu_set_t is = mask_of(0);
    if (!CPU_EQUAL(&was, &is)) memset(&topo, 0, sizeof topo); /* reading must not change the affinity of the thread */
    _exit(write(ends[1], &topo, sizeof topo) != (ssize_t)sizeof topo);
  }
  close(ends[1]);
  CHECK(read(ends[0], &topo, sizeof topo) == (ssize_t)sizeof topo, "the child sent nothing");
  close(ends[0]);
  waitpid(child, NULL, 0);
  return topo;
}

static void check_plausible(const hx__topo *t, unsigned most_threads) {
  unsigned sum = 0;
  for (unsigned i = 0; i < t->kinds && i < HX__TOPO_KINDS; i++) sum += t->kind_cores[i];
  CHECK(t->cores >= 1 && t->cores <= t->hardware_threads, "%u cores", t->cores);
  CHECK(t->hardware_threads <= most_threads, "%u threads", t->hardware_threads);
  CHECK(t->kinds >= 1 && t->kinds <= HX__TOPO_KINDS && sum == t->cores, "%u kinds, %u cores in them", t->kinds, sum);
  CHECK(t->l1_bytes == 0 || (t->l1_bytes >= 4096 && t->l1_bytes <= 1u << 20), "L1 %zu", t->l1_bytes);
  CHECK(t->l2_bytes == 0 || t->l2_bytes >= t->l1_bytes, "L2 %zu", t->l2_bytes);
  CHECK(t->memory_bytes >= 1u << 20, "memory %llu", (unsigned long long)t->memory_bytes);
  CHECK(memchr(t->cpu_name, '\0', sizeof t->cpu_name), "the name is not terminated");
}

static void change_nothing(void) {}

static void pin_to_one(void) {
  const cpu_set_t all = mask_of(getpid()), one = first_cpu_of(&all);
  set_affinity(0, &one);
}

/* Reads the topology like a program that pins its workers, whose main thread may still run anywhere. */
static void *read_pinned(void *arg) {
  (void)arg;
  pin_to_one();
  hx__topo_get();
  return NULL;
}
static void pin_a_worker(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, read_pinned, NULL) != 0) _exit(1);
  pthread_join(thread, NULL);
}

static void *pointer_of_thread(void *arg) {
  (void)arg;
  return (void *)hx__topo_get();
}

static void check_this_machine(void) {
  const cpu_set_t all = mask_of(0);
  const unsigned cpus = (unsigned)CPU_COUNT(&all);
  const hx__topo here = seen_after(change_nothing), pinned = seen_after(pin_to_one), worker = seen_after(pin_a_worker);
  check_plausible(&here, cpus);
  check_plausible(&pinned, 1);
  CHECK(pinned.cores == 1 && pinned.hardware_threads == 1 && pinned.kinds == 1, "%u cores", pinned.cores);
  CHECK(memcmp(&worker, &here, sizeof here) == 0, "%u cores by a pinned worker, %u by main", worker.cores, here.cores);
  printf("topo_test: \"%s\": %u cores, %u threads, L1 %zu, L2 %zu, L3 %zu\n", here.cpu_name, here.cores,
         here.hardware_threads, here.l1_bytes, here.l2_bytes, here.l3_bytes);
  if (hx__cgroup_cpus("") == 0) CHECK(here.hardware_threads == cpus, "%u of %u", here.hardware_threads, cpus);
}

static void *count_mine(void *cpus) {
  const cpu_set_t mine = mask_of(0);
  *(int *)cpus = CPU_COUNT(&mine);
  return NULL;
}

/* Runs with OMP_PROC_BIND in a separate process, because libgomp reads it before main. */
static int bound_main(unsigned cores) {
  const cpu_set_t mine = mask_of(0);
  int theirs = 0, places = 0;
  pthread_t thread;
  hx_context *hx; /* hx_open notes on which CPUs threads may run */
  CHECK_OK(hx_open(&hx, NULL));
  const hx__topo *const t = hx__topo_get();
  for (int p = 0; p < omp_get_num_places(); p++) places += omp_get_place_num_procs(p);
  CHECK(CPU_COUNT(&mine) <= (int)t->hardware_threads, "%d CPUs", CPU_COUNT(&mine));
  CHECK(t->cores == cores, "%u cores of %u if OpenMP binds threads", t->cores, cores);
  CHECK(hx__thread_start(&thread, count_mine, &theirs) == 0 && pthread_join(thread, NULL) == 0, "no thread");
  hx_close(hx);
  CHECK(theirs == places, "a thread of hx's own may run on %d of %d", theirs, places);
  return checks_end("topo_test, bound");
}

static void check_bound(void) {
  char self[512] = {0}, cores[16];
  const hx__topo here = seen_after(change_nothing);
  if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0) exit(1);
  snprintf(cores, sizeof cores, "%u", here.cores);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    setenv("OMP_PROC_BIND", "true", 1);
    execl(self, self, cores, (char *)NULL);
    _exit(1);
  }
  int status = 1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "bound by OpenMP: status %d", status);
}

static void check_once(void) {
  pthread_t threads[8];
  const double from = seconds_now();
  for (int i = 0; i < 8; i++)
    if (pthread_create(&threads[i], NULL, pointer_of_thread, NULL) != 0) exit(1);
  for (int i = 0; i < 8; i++) {
    void *theirs;
    pthread_join(threads[i], &theirs);
    CHECK(theirs == hx__topo_get(), "two topologies");
  }
  printf("topo_test: read once, by the first of 8 threads, in %.2f ms\n", 1e3 * (seconds_now() - from));
}

static void write_object(FILE *f, const char *type, unsigned index, unsigned cpus, const char *more) {
  static unsigned serial;
  fprintf(f,
          "<object type=\"%s\" os_index=\"%u\" cpuset=\"0x%08x\" complete_cpuset=\"0x%08x\" nodeset=\"0x00000001\" "
          "complete_nodeset=\"0x00000001\" gp_index=\"%u\" %s>\n",
          type, index, cpus, cpus, ++serial, more);
}
#define CACHE(size, depth) "cache_size=\"" #size "\" depth=\"" #depth "\" cache_linesize=\"64\" cache_type=\"1\""

static void write_cores(FILE *f, unsigned first_cpu, unsigned count, unsigned threads, const char *l1) {
  for (unsigned i = 0; i < count; i++) {
    const unsigned cpu = first_cpu + i * threads, mask = ((1u << threads) - 1) << cpu;
    write_object(f, "L1Cache", cpu, mask, l1);
    write_object(f, "Core", cpu, mask, "");
    for (unsigned j = 0; j < threads; j++) write_object(f, "PU", cpu + j, 1u << (cpu + j), ""), fputs("</object>\n", f);
    fputs("</object></object>\n", f);
  }
}

/* Two performance cores of two threads and an L2 each, four efficiency cores that share one. */
static void hybrid_laptop(void) {
  char path[64];
  snprintf(path, sizeof path, "%s/hybrid.xml", scratch);
  FILE *f = fopen(path, "w");
  if (!f) _exit(1);
  fputs(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology "
      "version=\"2.0\">\n",
      f);
  write_object(f, "Machine", 0, 0xff, "allowed_cpuset=\"0x000000ff\" allowed_nodeset=\"0x00000001\"");
  write_object(f, "Package", 0, 0xff, "");
  fputs("<info name=\"CPUModel\" value=\"Imagined Hybrid\"/>\n", f);
  write_object(f, "NUMANode", 0, 0xff, "local_memory=\"17179869184\"");
  fputs("</object>\n", f);
  write_object(f, "L3Cache", 0, 0xff, CACHE(12582912, 3));
  for (unsigned i = 0; i < 2; i++) {
    write_object(f, "L2Cache", i, 3u << 2 * i, CACHE(1310720, 2));
    write_cores(f, 2 * i, 1, 2, CACHE(49152, 1));
    fputs("</object>\n", f);
  }
  write_object(f, "L2Cache", 2, 0xf0, CACHE(2097152, 2));
  write_cores(f, 4, 4, 1, CACHE(32768, 1));
  fputs("</object></object></object></object>\n", f);
  fputs(
      "<cpukind cpuset=\"0x0000000f\" forced_efficiency=\"1\"><info name=\"CoreType\" "
      "value=\"IntelCore\"/></cpukind>\n",
      f);
  fputs(
      "<cpukind cpuset=\"0x000000f0\" forced_efficiency=\"0\"><info name=\"CoreType\" "
      "value=\"IntelAtom\"/></cpukind>\n",
      f);
  fputs("</topology>\n", f);
  fclose(f);
  setenv("HWLOC_XMLFILE", path, 1);
}

static void no_such_file(void) { setenv("HWLOC_XMLFILE", "/nowhere/at/all.xml", 1); }
static void describe_server(void) { setenv("HWLOC_SYNTHETIC", "pack:2 l3:1 l2:48 core:1 pu:2", 1); }

static void check_described(void) {
  const hx__topo h = seen_after(hybrid_laptop);
  check_plausible(&h, 8);
  CHECK(h.cores == 6 && h.hardware_threads == 8, "%u cores, %u threads", h.cores, h.hardware_threads);
  CHECK(h.kinds == 2 && h.kind_cores[0] == 4 && h.kind_cores[1] == 2, "%u kinds, %u+%u", h.kinds, h.kind_cores[0],
        h.kind_cores[1]);
  CHECK(h.l1_bytes == 32768 && h.l2_bytes == 2097152 / 4 && h.l3_bytes == 12582912, "%zu %zu %zu", h.l1_bytes,
        h.l2_bytes, h.l3_bytes);
  CHECK(h.memory_bytes == 17179869184u && strcmp(h.cpu_name, "Imagined Hybrid") == 0, "%s", h.cpu_name);
  const hx__topo s = seen_after(describe_server);
  CHECK(s.cores == 96 && s.hardware_threads == 192 && s.kinds == 1 && s.kind_cores[0] == 96, "%u cores", s.cores);
  const hx__topo none = seen_after(no_such_file); /* by hwloc's own discovery, or by sysconf */
  check_plausible(&none, CPU_SETSIZE);
}

/* Writes a file below the simulated root, and makes its folders. */
static void write_file(const char *root, const char *name, const char *text) {
  char path[512];
  snprintf(path, sizeof path, "%s%s", root, name);
  for (char *p = path + strlen(scratch) + 1; (p = strchr(p, '/')); *p++ = '/') {
    *p = '\0';
    if (mkdir(path, 0700) != 0 && errno != EEXIST) exit(1);
  }
  FILE *f = fopen(path, "w");
  if (!f || fputs(text, f) < 0 || fclose(f) != 0) exit(1);
}

#define V2 "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1 "31 25 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
#define CPUSET "32 25 0:28 / /sys/fs/cgroup/cpuset rw shared:10 - cgroup cgroup rw,cpuset\n"
#define ROOT "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"

static const struct {
  const char *what, *mountinfo, *cgroup;
  struct {
    const char *name, *text;
  } file[4];
  double cpus;
} groups[] = {
    {"no files at all", NULL, NULL, {{0}}, 0},
    {"an empty mountinfo", "", "0::/\n", {{0}}, 0},
    {"half a line of mountinfo", "30 23 0:26 /", "0::/\n", {{0}}, 0},
    {"an empty cgroup", V2, "", {{0}}, 0},
    {"v2, no limit", ROOT V2, "0::/\n", {{"/sys/fs/cgroup/cpu.max", "max 100000\n"}}, 0},
    {"v2 in a container", V2, "0::/\n", {{"/sys/fs/cgroup/cpu.max", "150000 100000\n"}}, 1.5},
    {"v2, the root has no file", V2, "0::/a/b\n", {{"/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n"}}, 4},
    {"v2, the least above counts",
     ROOT V2,
     "0::/a/b\n",
     {{"/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n"}, {"/sys/fs/cgroup/a/cpu.max", "50000 100000\n"}},
     0.5},
    {"v2, a sibling does not", V2, "0::/a\n", {{"/sys/fs/cgroup/b/cpu.max", "50000 100000\n"}}, 0},
    {"v2, group out of sight", V2, "0::/../x\n", {{"/sys/fs/cgroup/cpu.max", "200000 100000\n"}}, 2},
    {"v2, garbage", V2, "0::/\n", {{"/sys/fs/cgroup/cpu.max", "lots\n"}}, 0},
    {"v2, no period", V2, "0::/\n", {{"/sys/fs/cgroup/cpu.max", "100000 0\n"}}, 0},
    {"v2 where blanks are",
     "30 23 0:26 / /a\\040b rw - cgroup2 none rw\n",
     "0::/\n",
     {{"/a b/cpu.max", "300000 100000\n"}},
     3},
    {"v1, no limit",
     CPUSET V1,
     "5:cpuset:/\n4:cpu,cpuacct:/\n",
     {{"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"}},
     0},
    {"v1",
     ROOT CPUSET V1,
     "5:cpuset:/x\n4:cpu,cpuacct:/docker/1\n",
     {{"/sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_quota_us", "250000\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_period_us", "100000\n"}},
     2.5},
    {"v1, only a part is mounted",
     "31 25 0:27 /docker/1 /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpuacct,cpu\n",
     "4:cpu,cpuacct:/docker/1\n",
     {{"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "75000\n"}, {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000\n"}},
     1.5},
    {"v1, another part is mounted",
     "31 25 0:27 /docker/1 /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpuacct,cpu\n",
     "4:cpu,cpuacct:/docker/11\n",
     {{"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "75000\n"}, {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000\n"}},
     1.5},
    {"v1, no period file", V1, "4:cpu,cpuacct:/\n", {{"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n"}}, 0},
    {"both, v1 has the controller",
     V2 V1,
     "4:cpu:/\n0::/user\n",
     {{"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "100000\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"}},
     1},
};

static void remove_scratch(void) {
  char command[64];
  snprintf(command, sizeof command, "/bin/rm -rf %s", scratch);
  CHECK(system(command) == 0, "%s", command);
}

static void check_quota(void) {
  for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
    char root[64];
    snprintf(root, sizeof root, "%s/%zu", scratch, i);
    if (groups[i].mountinfo) write_file(root, "/proc/self/mountinfo", groups[i].mountinfo);
    if (groups[i].cgroup) write_file(root, "/proc/self/cgroup", groups[i].cgroup);
    for (size_t j = 0; j < 4 && groups[i].file[j].name; j++)
      write_file(root, groups[i].file[j].name, groups[i].file[j].text);
    const double cpus = hx__cgroup_cpus(root);
    CHECK(cpus == groups[i].cpus, "%s: %g", groups[i].what, cpus);
  }
}

/* Runs in a separate process, because under valgrind the rest would take long. */
static int quota_main(void) {
  if (!mkdtemp(scratch)) return 1;
  check_quota();
  remove_scratch();
  return checks_end("topo_test, quota");
}

/* valgrind finds a value that is read before it is written, which no result shows. */
static void check_quota_by_valgrind(void) {
  char self[512] = {0};
  if (SANITIZED) {
    printf("topo_test: no uninitialised values are looked for: valgrind does not run what a sanitizer has built\n");
    return;
  }
  if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0) exit(1);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    execlp("valgrind", "valgrind", "-q", "--error-exitcode=9", self, "quota", (char *)NULL);
    printf("topo_test: no uninitialised values are looked for: valgrind: %s\n", strerror(errno));
    fflush(stdout);
    _exit(0);
  }
  int status = 1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "under valgrind: status %d", status);
}

int main(int argc, char **argv) {
  if (argc > 1) return strcmp(argv[1], "quota") == 0 ? quota_main() : bound_main((unsigned)atoi(argv[1]));
  unsetenv("HWLOC_XMLFILE");
  unsetenv("HWLOC_SYNTHETIC");
  if (!mkdtemp(scratch)) return 1;
  check_this_machine();
  check_bound();
  check_described();
  check_quota();
  check_quota_by_valgrind();
  check_once();
  remove_scratch();
  return checks_end("topo_test");
}
