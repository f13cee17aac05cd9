/* SPDX-License-Identifier: Apache-2.0
 * Files and folders that are not what hx expects (hostile.h), full disks, a folder that is removed. A cached file is
 * then not used, with a reason at HX_LOG=info, and a trace is not written, with a warning. Calls succeed, results are
 * right, no file of the user is changed, and no file is read that hx has not written. */
#define _GNU_SOURCE
#include "tests/hostile.h"

#include <dirent.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "runtime/base/cache_dir.h"
#include "runtime/base/log.h"
#include "runtime/base/trace.h"
#include "reference/data.h"
#include "reference/ref.h"

enum { N = 1 << 20, MOST_KB = 65536 };

static char root[200], folder[240], other[240], log_path[240];
static int log_fd, real_stderr;

static void make_clean(void) {
  char command[1000];
  snprintf(command, sizeof command, "rm -rf '%s' '%s'", folder, other);
  CHECK(system(command) == 0, "%s", command);
}

/* What hx logs from log_begin to log_end. */
static void log_begin(void) {
  log_fd = open(log_path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
  real_stderr = dup(STDERR_FILENO);
  dup2(log_fd, STDERR_FILENO);
}
static const char *log_end(void) {
  static char text[1 << 16];
  dup2(real_stderr, STDERR_FILENO);
  const ssize_t got = pread(log_fd, text, sizeof text - 1, 0);
  text[got > 0 ? got : 0] = '\0';
  close(log_fd);
  close(real_stderr);
  return text;
}

static long most_kb(void) {
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  return use.ru_maxrss;
}

static bool is_stored(const char *key, bool by_driver) {
  size_t bytes = 0;
  int crash_mark;
  char *const data = hx__cache_get(key, strlen(key), &bytes, by_driver ? &crash_mark : NULL);
  const bool fine = data && bytes == 4 && memcmp(data, "data", 4) == 0;
  if (data && by_driver) hx__cache_crash_mark_end(crash_mark, true);
  free(data);
  return fine;
}
static void cache_put(const char *key) { hx__cache_put(key, strlen(key), "data", 4); }

/* The path of the only file in the folder; false if there is not exactly one. */
static bool only_file(char path[600]) {
  unsigned count = 0;
  DIR *const d = opendir(folder);
  for (const struct dirent *e; d && (e = readdir(d)) != NULL;)
    if (e->d_name[0] != '.') count++, snprintf(path, 600, "%s/%s", folder, e->d_name);
  if (d) closedir(d);
  return count == 1;
}

/* Makes the file of a row; prints a line and returns false if this machine cannot. */
static bool is_made(const hostile *row, const char *path) {
  if (row->make(path, other)) return true;
  printf("%s is not tried: %s\n", row->what, strerror(errno));
  return false;
}

static void kept_files(void) {
  for (int i = 0; i < 2 * HOSTILE_FILES; i++) {
    const hostile *const row = &hostile_files[i / 2];
    char path[600];
    make_clean();
    hx__cache_dir_set(folder);
    cache_put("key");
    if (!only_file(path) || unlink(path) != 0) {
      CHECK(false, "no file");
      continue;
    }
    if (!is_made(row, path)) continue;
    const long kb = most_kb();
    log_begin();
    const bool kept = is_stored("key", i % 2);
    const char *const said = log_end();
    CHECK(!kept && strstr(said, "is ignored: ") && strstr(said, row->cache_says), "%s: %s", row->what, said);
    CHECK(most_kb() - kb < MOST_KB, "%s: %ld KB", row->what, most_kb() - kb);
    cache_put("key");
    CHECK(is_stored("key", i % 2) == (row->make != hostile_folder),
          "%s: not replaced, or replaced although it is a folder", row->what);
    CHECK(row->make != hostile_link || hostile_is_whole(other), "%s: the file behind it was changed", row->what);
    CHECK(row->make != hostile_dangling || access(other, F_OK) != 0, "%s: the file behind it was created", row->what);
  }
}

static void trace_at_hostile_files(void) {
  for (int i = 0; i < HOSTILE_FILES; i++) {
    const hostile *const row = &hostile_files[i];
    struct stat before, after;
    make_clean();
    if (!is_made(row, folder)) continue;
    const bool follows = stat(folder, &before) == 0;
    log_begin();
    hx__trace *const t = hx__trace_open(folder);
    hx__trace_device(t, 0, "CPU");
    hx__trace_close(t);
    const char *const said = log_end();
    if (!row->trace_says) {
      CHECK(t != NULL, "%s: %s", row->what, said);
      continue;
    }
    CHECK(!t && strstr(said, "warning") && strstr(said, folder) && strstr(said, row->trace_says), "%s: %s", row->what,
          said);
    CHECK(follows && stat(folder, &after) == 0 && after.st_size == before.st_size &&
              after.st_mtim.tv_sec == before.st_mtim.tv_sec && after.st_mtim.tv_nsec == before.st_mtim.tv_nsec,
          "%s was changed", row->what);
    CHECK(row->make != hostile_file || hostile_is_whole(folder), "%s was changed", row->what);
  }
}

/* An existing trace or an empty file may be overwritten. Another JSON file may not, however similar to a trace it
 * is. */
static void traces_anew(void) {
  static const struct {
    const char *text;
    bool written;
  } rows[] = {{"", true},
              {"[", false},
              {"[\n]\n", false},
              {"[\n{\"name\":\"hx_tracer\"}\n]\n", false},
              {"[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":0,\"args\":{\"name\":\"mine\"}}\n]\n", false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    make_clean();
    FILE *const f = fopen(folder, "w");
    CHECK(f && fputs(rows[i].text, f) >= 0 && fclose(f) == 0, "%s", folder);
    for (int turn = 0; turn < 2; turn++) {
      log_begin();
      hx__trace *const t = hx__trace_open(folder);
      hx__trace_close(t);
      const char *const said = log_end();
      CHECK((t != NULL) == rows[i].written, "row %zu, turn %d: %s", i, turn, said);
    }
  }
}

/* Runs this program again, because hx does less in a forked child. Returns its exit status, or 128 + its signal. */
static int run_self(const char *what, const char *cache) {
  int status = -1;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    execl("/proc/self/exe", "hostile_files_test", what, cache, (char *)NULL);
    _exit(127);
  }
  CHECK(child > 0 && waitpid(child, &status, 0) == child, "no child");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Runs a process that computes with this folder for its cache; log_end gives what it has logged. */
static int run_computing_process(const char *cache) {
  log_begin();
  return run_self("compute", cache);
}
static int compute_main(const char *cache) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  float *const x = malloc(N * sizeof *x);
  hx_value sum = {.u64 = 0};
  s.devices = "cpu,sim", s.sim = "rate=4e9,latency_us=20", s.threads = "1", s.log = "info", s.cache_dir = cache;
  hx_context *const hx = open_or_exit(&s);
  data_fill(HX_F32, DATA_SIGNED, 3, x, N);
  CHECK_OK(hx_ready(hx));
  hx_task t = hx_reduce(HX_SUM, HX_F32, x, N, &sum);
  t.gpu_share = 1;
  for (int i = 0; i < 4; i++) CHECK_OK(hx_offload(hx, &t, NULL));
  CHECK(sum.u64 == ref_reduce(HX_SUM, HX_F32, x, NULL, N).u64, "the sum is %.9g", (double)sum.f32);
  hx_close(hx);
  free(x);
  return checks_failed != 0;
}

/* The model's file, which the first call reads and the last one writes. */
static void model_files(void) {
  for (int i = 0; i < HOSTILE_FILES; i++) {
    const hostile *const row = &hostile_files[i];
    char path[600] = "";
    make_clean();
    CHECK(run_computing_process(folder) == 0, "the first process: %s", log_end());
    CHECK(only_file(path) && unlink(path) == 0, "%s", path);
    if (!is_made(row, path)) continue;
    const int status = run_computing_process(folder);
    const char *const said = log_end();
    CHECK(status == 0 && strstr(said, row->cache_says), "%s: status %d: %s", row->what, status, said);
    CHECK(row->make != hostile_link || hostile_is_whole(other), "%s: the file behind it was changed", row->what);
  }
}

/* The next functions make rows for the cache's folder itself, in addition to those for files. */
static bool folder_of_group(const char *path, const char *unused) {
  (void)unused;
  return mkdir(path, 0700) == 0 && chmod(path, 0770) == 0;
}
static bool folder_of_anybody(const char *path, const char *unused) {
  (void)unused;
  return mkdir(path, 0700) == 0 && chmod(path, 01777) == 0;
}
static bool folder_of_another(const char *path, const char *unused) {
  (void)unused;
  return mkdir(path, 0700) == 0 && chown(path, HOSTILE_OTHER_USER, HOSTILE_OTHER_USER) == 0;
}
static bool folder_by_link(const char *path, const char *target) {
  return mkdir(target, 0700) == 0 && symlink(target, path) == 0;
}
static bool long_name(const char *path, const char *unused) { return (void)path, (void)unused, true; }

static void cache_folders(void) {
  static const struct {
    hostile row;
    const char *below; /* a path below the folder */
  } rows[] = {
      {{"a file of the user's", hostile_file, "it cannot be opened: Not a directory", NULL}, ""},
      {{"below a file", hostile_file, "it cannot be opened: Not a directory", NULL}, "/hx"},
      {{"a pipe", hostile_fifo, "it cannot be opened: Not a directory", NULL}, ""},
      {{"a device", hostile_device, "it cannot be opened: Not a directory", NULL}, ""},
      {{"a link to nothing", hostile_dangling, "it cannot be opened: No such file", NULL}, ""},
      {{"a folder of a group", folder_of_group, "others may write to it", NULL}, ""},
      {{"a folder of anybody's", folder_of_anybody, "others may write to it", NULL}, ""},
      {{"a folder of another user", folder_of_another, "it belongs to another user", NULL}, ""},
      {{"below a folder of another user", folder_of_another, "it cannot be made", NULL}, "/hx"},
      {{"a link to a folder", folder_by_link, NULL, NULL}, ""}, /* this one is used */
      {{"a long name", long_name, "File name too long", NULL},
       "/0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
       "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
       "0123456789012345678901234567890123456789012345678901234567890123456789"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const hostile *const row = &rows[i].row;
    char path[800];
    make_clean();
    if (!is_made(row, folder)) continue;
    snprintf(path, sizeof path, "%s%s", folder, rows[i].below);
    const int status = run_computing_process(path);
    const char *const said = log_end();
    CHECK(status == 0, "%s: status %d: %s", row->what, status, said);
    CHECK(row->cache_says ? strstr(said, "no cache in ") && strstr(said, row->cache_says) : !strstr(said, "no cache"),
          "%s: %s", row->what, said);
    CHECK(row->make != hostile_file || hostile_is_whole(folder), "%s was changed", row->what);
  }
}

static void no_home(void) {
  static const char *const homes[] = {NULL, "", "relative", "/proc/self/none"};
  for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) {
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HX_CACHE_DIR");
    unsetenv("HOME");
    if (homes[i]) setenv("HOME", homes[i], 1), setenv("XDG_CACHE_HOME", homes[i], 1);
    const int status = run_computing_process(NULL);
    const char *const said = log_end();
    CHECK(status == 0 && strstr(said, "no cache"), "%s: status %d: %s", homes[i] ? homes[i] : "none", status, said);
  }
}

static void taken_away(void) {
  make_clean();
  hx__cache_dir_set(folder);
  cache_put("key");
  size_t bytes;
  int crash_mark;
  char *const data = hx__cache_get("key", 3, &bytes, &crash_mark);
  CHECK(data != NULL, "nothing is stored");
  make_clean();
  if (data) hx__cache_crash_mark_end(crash_mark, true);
  free(data);
  CHECK(!is_stored("key", true), "contents without a file");
  cache_put("key");
  CHECK(is_stored("key", true), "not stored in the folder that was created again");
  char gone[300];
  snprintf(gone, sizeof gone, "%s/gone", folder);
  const int here = open(".", O_RDONLY | O_DIRECTORY);
  CHECK(mkdir(gone, 0700) == 0 && chdir(gone) == 0 && rmdir(gone) == 0, "%s", gone);
  log_begin();
  hx__cache_dir_set("relative");
  cache_put("key");
  CHECK(!is_stored("key", true), "stored in a working folder that was removed");
  CHECK(fchdir(here) == 0, "cannot go back");
  const char *const said = log_end();
  CHECK(strstr(said, "no cache in relative"), "%s", said);
  close(here);
}

/* A file system of 64 KiB. */
static int full_disk_main(void) {
  static char big[200000];
  if (mkdir(folder, 0700) != 0 || unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
      mount("hx", folder, "tmpfs", 0, "size=64k,mode=0700") != 0) {
    printf("no full disk is tried: %s\n", strerror(errno));
    return 0;
  }
  hx__cache_dir_set(folder);
  cache_put("small");
  log_begin();
  hx__cache_put("big", 3, big, sizeof big);
  const char *const said = log_end();
  CHECK(strstr(said, "no cache in ") && strstr(said, "No space left"), "%s", said);
  char path[600];
  CHECK(only_file(path) && is_stored("small", true) && !is_stored("big", true),
        "an incomplete file is used, or a complete one is not");
  DIR *const d = opendir(folder);
  for (const struct dirent *e; d && (e = readdir(d)) != NULL;)
    CHECK(e->d_name[0] != '.' || strlen(e->d_name) < 3, "%s is left", e->d_name);
  if (d) closedir(d);
  snprintf(path, sizeof path, "%s/fill", folder);
  const int fd = open(path, O_WRONLY | O_CREAT, 0600);
  while (write(fd, big, 4096) > 0) continue;
  close(fd);
  CHECK(is_stored("small", true), "not used on a disk that is full to the last byte");
  char trace[300];
  snprintf(trace, sizeof trace, "%s/trace", folder);
  log_begin();
  for (int i = 0; i < 2; i++) { /* what the first one leaves must be recognised as a trace by the second one */
    hx__trace *const t = hx__trace_open(trace);
    hx__trace_close(t);
  }
  CHECK(!strstr(log_end(), "not a trace of hx"), "a part of a head was left");
  return checks_failed != 0;
}

static void name_paths(const char *place) {
  snprintf(folder, sizeof folder, "%s/it", place);
  snprintf(other, sizeof other, "%s/other", place);
  snprintf(log_path, sizeof log_path, "%s/log", place);
  hx__log_threshold = HX__LOG_INFO;
}

int main(int argc, char **argv) {
  const char *const place = getenv("HOSTILE_ROOT");
  if (place) name_paths(place);
  setenv("OCL_ICD_VENDORS", "/proc/self/task", 1); /* no driver, because how it loads is cached in a file, too */
  if (place && argc > 1 && strcmp(argv[1], "full disk") == 0) return full_disk_main();
  if (argc > 1) return compute_main(argc > 2 ? argv[2] : NULL);
  alarm(240); /* a hang is a failure */
  const char *const scratch = getenv("TEST_TMPDIR");
  snprintf(root, sizeof root, "%.120s/hostile.XXXXXX", scratch && strlen(scratch) < 120 ? scratch : "/tmp");
  if (!mkdtemp(root)) return 1;
  name_paths(root);
  setenv("HOSTILE_ROOT", root, 1);
  kept_files();
  trace_at_hostile_files();
  traces_anew();
  model_files();
  cache_folders();
  no_home();
  taken_away();
  make_clean();
  CHECK(run_self("full disk", NULL) == 0, "the child on a full disk failed");
  char command[300];
  snprintf(command, sizeof command, "rm -rf '%s'", root);
  if (system(command) != 0) printf("cannot remove %s\n", root);
  return checks_end("hostile_files_test");
}
