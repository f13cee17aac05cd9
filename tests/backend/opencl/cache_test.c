/* SPDX-License-Identifier: Apache-2.0
 * Programs that are cached from one process to the next. Each step starts this program again as a child, which computes
 * on the device alone, and counts what its log says. The bits are right in every step.
 *     cache_test --devices LIST [--fault LAYER] [--crash LAYER] [--damages N]
 *   --damages  how many kinds of damaged files (default all); fewer also leave out the variables that name the folder,
 *              which do not depend on the driver: for drivers whose compiler takes seconds for each program */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/crash_mark.h"
#include "runtime/base/hash.h"
#include "tests/check.h"
#include "reference/data.h"
#include "reference/ref.h"

enum { N = 20000, SIDE = 40, WORKER_SECONDS = 300 };

static const char *devices, *fault, *crash;
enum { DAMAGES = 3 };
static size_t damage_kinds = DAMAGES;
static char root[256], folder[300];

/* The worker: a sum and a product on the device; the exit status is 0 if both are right. */
static int run_worker(void) {
  static float x[N], a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE], want[SIDE * SIDE];
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = devices;
  s.threads = "1";
  hx_context *hx = open_or_exit(&s);
  data_fill(HX_F32, DATA_SIGNED, 21, x, N);
  data_fill(HX_F32, DATA_SIGNED, 22, a, SIDE * SIDE);
  data_fill(HX_F32, DATA_SIGNED, 23, b, SIDE * SIDE);
  struct hx_matmul_args args = {.m = SIDE, .n = SIDE, .k = SIDE, .a = a, .b = b, .c = want, .alpha = 1};
  ref_matmul(&args);
  hx_value sum = {.u64 = 0};
  hx_report first, second;
  hx_task t = hx_reduce(HX_SUM, HX_F32, x, N, &sum), p = hx_matmul(SIDE, SIDE, SIDE, a, b, c);
  t.gpu_share = p.gpu_share = 1;
  CHECK_OK(hx_offload(hx, &t, &first));
  CHECK_OK(hx_offload(hx, &p, &second));
  CHECK(sum.u64 == ref_reduce(HX_SUM, HX_F32, x, NULL, N).u64, "the sum is %.9g", (double)sum.f32);
  CHECK(memcmp(c, want, sizeof c) == 0, "the product differs");
  CHECK(first.gpu_share == 1 && second.gpu_share == 1, "shares %g %g", first.gpu_share, second.gpu_share);
  hx_close(hx);
  return checks_failed > 0;
}

typedef struct seen {
  int status;
  unsigned built, cached, none; /* how many lines of the log say so */
} seen;

typedef struct running {
  pid_t pid;
  int log;
} running;

/* An entry that fails at its call number nth, or at every call (0). */
typedef struct faulty {
  const char *entry, *nth;
} faulty;

/* Starts a worker. dir: its HX_CACHE_DIR; broken: what fails, or NULL. */
static running start_worker(const char *dir, const faulty *broken) {
  int ends[2];
  running r = {-1, -1};
  fflush(stdout);
  if (pipe(ends) != 0) return r;
  r.pid = fork();
  if (r.pid == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    setenv("HX_LOG", "info", 1);
    setenv("HX_CACHE_DIR", dir, 1);
    if (broken) {
      setenv("OPENCL_LAYERS", fault, 1);
      setenv("FAULT_FN", broken->entry, 1);
      setenv("FAULT_NTH", broken->nth, 1);
      setenv("FAULT_CODE", "-42", 1);
    }
    alarm(WORKER_SECONDS);
    execl("/proc/self/exe", "worker", "--work", devices, (char *)NULL);
    _exit(127);
  }
  close(ends[1]);
  r.log = ends[0];
  return r;
}

static seen finish(running r) {
  seen s = {-1, 0, 0, 0};
  char line[4096];
  FILE *f = fdopen(r.log, "r");
  while (f && fgets(line, sizeof line, f)) {
    s.built += strstr(line, ", built and tested") != NULL;
    s.cached += strstr(line, ", from the cache") != NULL;
    s.none += strstr(line, "no cache in ") != NULL;
  }
  if (f) fclose(f);
  int status = -1;
  if (r.pid > 0 && waitpid(r.pid, &status, 0) == r.pid)
    s.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return s;
}

/* Runs a worker, which has to compute right results, and to have built this many programs, loaded this many from the
 * cache, and logged this many lines that there is no cache. */
#define EXPECT(dir, broken, want_built, want_cached, want_none)                                              \
  do {                                                                                                       \
    const seen s = finish(start_worker(dir, broken));                                                        \
    CHECK(s.status == 0, "exit status %d (128 + signal)", s.status);                                         \
    CHECK(s.built == (want_built) && s.cached == (want_cached) && s.none == (want_none),                     \
          "%u built, %u from the cache, %u lines about no cache; not %u, %u, %u", s.built, s.cached, s.none, \
          (unsigned)(want_built), (unsigned)(want_cached), (unsigned)(want_none));                           \
  } while (0)

/* Calls `change` for each file of the folder; returns how many files there are. */
static unsigned each_file(void (*change)(const char *path)) {
  unsigned count = 0;
  DIR *d = opendir(folder);
  for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    if (e->d_name[0] == '.') continue;
    count++;
    if (change) change(path);
  }
  if (d) closedir(d);
  return count;
}

static void truncate_file(const char *path) {
  struct stat s;
  CHECK(stat(path, &s) == 0 && truncate(path, s.st_size - s.st_size / 3) == 0, "%s", path);
}

static void change_one_byte(const char *path) {
  struct stat s;
  char byte = 0;
  const int fd = open(path, O_RDWR);
  CHECK(fstat(fd, &s) == 0 && pread(fd, &byte, 1, s.st_size - 100) == 1, "%s", path);
  byte = (char)(byte + 1);
  CHECK(pwrite(fd, &byte, 1, s.st_size - 100) == 1, "%s", path);
  close(fd);
}

/* The file of a driver that was changed without a new version: it is complete and has the right key, but no binary of
 * this driver. */
static void replace_binary(const char *path) {
  struct {
    char magic[8];
    uint32_t format, bytes;
    uint64_t key_bytes, data_bytes, checksum;
    hx__crash_marks marks;
  } head;
  const int fd = open(path, O_RDWR);
  CHECK(pread(fd, &head, sizeof head, 0) == sizeof head && head.bytes == sizeof head, "%s", path);
  char *data = calloc(head.data_bytes, 1);
  const off_t at = (off_t)(sizeof head + head.key_bytes);
  head.checksum = hx__hash(HX__HASH_START, data, head.data_bytes);
  CHECK(pwrite(fd, &head, sizeof head, 0) == sizeof head, "%s", path);
  CHECK(pwrite(fd, data, head.data_bytes, at) == (ssize_t)head.data_bytes, "%s", path);
  free(data);
  close(fd);
}

static char first_path[600];
static void swap_with_first(const char *path) { /* each file gets the name of another one */
  char spare[700];
  if (!first_path[0]) {
    snprintf(first_path, sizeof first_path, "%s", path);
    return;
  }
  snprintf(spare, sizeof spare, "%s/spare", root);
  CHECK(rename(path, spare) == 0 && rename(first_path, path) == 0 && rename(spare, first_path) == 0, "%s", path);
}

static void remove_one(const char *path) { CHECK(unlink(path) == 0, "%s", path); }

static unsigned count_crashes(unsigned processes) {
  unsigned crashes = 0;
  for (unsigned i = 0; i < processes; i++) crashes += finish(start_worker(folder, NULL)).status >= 128;
  return crashes;
}

static void kept_and_damaged(void) {
  EXPECT(folder, NULL, 2, 0, 0);
  /* Two programs; the probe's program if its arithmetic passed; measurements if there are any; and how the driver
   * loaded. */
  const unsigned files = each_file(NULL);
  CHECK(files >= 2 && files <= 5, "%u files", files);
  EXPECT(folder, NULL, 0, 2, 0);
  static const struct {
    const char *what;
    void (*change)(const char *path);
  } damages[DAMAGES] = {{"cut", truncate_file}, {"changed", change_one_byte}, {"exchanged", swap_with_first}};
  for (size_t i = 0; i < damage_kinds; i++) {
    const unsigned before = checks_failed;
    each_file(damages[i].change);
    EXPECT(folder, NULL, 2, 0, 0);
    EXPECT(folder, NULL, 0, 2, 0);
    CHECK(each_file(NULL) == files, "%u files", each_file(NULL));
    if (checks_failed > before) printf("  (files: %s)\n", damages[i].what);
  }
  /* A driver may crash because of a file that it should refuse; if so, once for each file and not again. */
  each_file(replace_binary);
  const unsigned crashes = count_crashes(files + 1);
  CHECK(crashes <= files, "%u processes were killed", crashes);
  EXPECT(folder, NULL, crashes ? 2 : 0, crashes ? 0 : 2, 0); /* files that it crashed on are not used again */
  if (crashes) each_file(remove_one);
  if (crashes) EXPECT(folder, NULL, 2, 0, 0);
  if (!fault) return;
  static const faulty creates = {"clCreateProgramWithBinary", "0"}, reads = {"clGetProgramInfo", "0"};
  static const faulty builds = {"clBuildProgram", "2"}; /* the first one builds the probe */
  EXPECT(folder, &creates, 2, 0, 0);
  EXPECT(folder, &builds, 1, 1, 0);
  EXPECT(folder, &reads, 0, 2, 0);
  each_file(remove_one);
  EXPECT(folder, &reads, 2, 0, 0);
  CHECK(each_file(NULL) <= 2, "%u files", each_file(NULL)); /* the measurements, and how the driver loads */
}

static void two_at_once(void) {
  each_file(remove_one);
  running r[2];
  for (int i = 0; i < 2; i++) r[i] = start_worker(folder, NULL);
  for (int i = 0; i < 2; i++) {
    const seen s = finish(r[i]);
    CHECK(s.status == 0 && s.built + s.cached == 2 && s.none == 0, "status %d, %u built, %u cached", s.status, s.built,
          s.cached);
  }
  EXPECT(folder, NULL, 0, 2, 0);
}

/* A driver that crashes because of every cached program: once for each, also for the probe's if that is cached, and
 * never again. */
static void crashing_driver(void) {
  enum { PROGRAMS = 2, IN_A_ROW = 10 };
  if (!crash) return;
  char *const layers = getenv("OPENCL_LAYERS"), *const was = layers ? strdup(layers) : NULL;
  each_file(remove_one);
  EXPECT(folder, NULL, 2, 0, 0);
  setenv("OPENCL_LAYERS", crash, 1);
  const unsigned crashes = count_crashes(IN_A_ROW);
  CHECK(crashes == PROGRAMS || crashes == PROGRAMS + 1, "%u of %d processes were killed", crashes, IN_A_ROW);
  EXPECT(folder, NULL, 2, 0, 0);
  unsetenv("OPENCL_LAYERS");
  if (was) setenv("OPENCL_LAYERS", was, 1);
  free(was);
  each_file(remove_one);
}

static void folder_by_environment(void) {
  char xdg[600], home[600], path[700];
  snprintf(xdg, sizeof xdg, "%s/xdg", root);
  snprintf(home, sizeof home, "%s/home", root);
  mkdir(home, 0700);
  EXPECT("off", NULL, 2, 0, 0);
  EXPECT("/proc/self/none/hx", NULL, 2, 0, 1);
  setenv("XDG_CACHE_HOME", xdg, 1);
  EXPECT("", NULL, 2, 0, 0);
  snprintf(path, sizeof path, "%s/hx", xdg);
  EXPECT(path, NULL, 0, 2, 0);
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", home, 1);
  EXPECT("", NULL, 2, 0, 0);
  snprintf(path, sizeof path, "%s/.cache/hx", home);
  EXPECT(path, NULL, 0, 2, 0);
  unsetenv("HOME");
  EXPECT("", NULL, 2, 0, 0);
}

int main(int argc, char **argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--work") == 0) devices = argv[i + 1];
    if (strcmp(argv[i], "--work") == 0) return run_worker();
    if (strcmp(argv[i], "--devices") == 0) devices = argv[i + 1];
    if (strcmp(argv[i], "--fault") == 0) fault = argv[i + 1];
    if (strcmp(argv[i], "--crash") == 0) crash = argv[i + 1];
    if (strcmp(argv[i], "--damages") == 0) damage_kinds = (size_t)atoi(argv[i + 1]);
  }
  if (!devices || damage_kinds > DAMAGES) {
    printf("cache_test: --devices LIST is missing, or --damages is more than %d\n", DAMAGES);
    return 2;
  }
  const char *scratch = getenv("TEST_TMPDIR");
  snprintf(root, sizeof root, "%s/cache_test.XXXXXX", scratch ? scratch : "/tmp");
  if (!mkdtemp(root)) return 1;
  snprintf(folder, sizeof folder, "%s/hx", root);
  kept_and_damaged();
  two_at_once();
  crashing_driver();
  if (damage_kinds == DAMAGES) folder_by_environment();
  char command[600];
  snprintf(command, sizeof command, "rm -rf '%s'", root);
  if (system(command) != 0) printf("cannot remove %s\n", root);
  return checks_end("cache_test");
}
