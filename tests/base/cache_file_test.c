/* SPDX-License-Identifier: Apache-2.0
 * The files of the cache: what was written is read back completely or not at all, whatever happened to the file, the
 * folder, the disk or another process. */
#define _GNU_SOURCE
#include "runtime/base/cache_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"

enum { OTHER_USER = 65534 };

static char root[256], folder[300];

static void path_in_folder(char *out, size_t bytes, const char *name) { snprintf(out, bytes, "%s/%s", folder, name); }

/* The contents depend on the key's seed, so that a mix of the contents of two keys is noticed. */
static void fill_by_seed(char *data, size_t bytes, unsigned seed) {
  for (size_t i = 0; i < bytes; i++) data[i] = (char)((i + 1) * 2654435761u * (seed + 1) >> 13);
}

static void cache_put(const char *key, size_t bytes, unsigned seed) {
  char *data = malloc(bytes + 1);
  fill_by_seed(data, bytes, seed);
  hx__cache_put(key, strlen(key), data, bytes);
  free(data);
}

/* Whether the cache has these contents for the key; *found: whether it has any. */
static bool cache_has(const char *key, size_t bytes, unsigned seed, bool *found) {
  size_t got = 0;
  int crash_mark;
  char *data = hx__cache_get(key, strlen(key), &got, &crash_mark), *want = malloc(bytes + 1);
  if (data) hx__cache_crash_mark_end(crash_mark, true);
  fill_by_seed(want, bytes, seed);
  const bool same = data && got == bytes && memcmp(data, want, bytes) == 0;
  if (found) *found = data != NULL;
  free(data);
  free(want);
  return same;
}

static bool key_is_missing(const char *key) {
  bool found;
  cache_has(key, 1, 0, &found);
  return !found;
}

/* How many files of hx are in the folder; the name of the last one goes to `name`. */
static unsigned count_cache_files(char *name, size_t bytes) {
  unsigned count = 0;
  DIR *d = opendir(folder);
  for (struct dirent *e; d && (e = readdir(d)) != NULL;)
    if (strstr(e->d_name, HX__CACHE_SUFFIX)) {
      count++;
      if (name) snprintf(name, bytes, "%s", e->d_name);
    }
  if (d) closedir(d);
  return count;
}

static void empty_folder(void) {
  char command[600];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  if (system(command) != 0) printf("cannot empty %s\n", folder);
  hx__cache_dir_set(folder);
}

static void comes_back(void) {
  empty_folder();
  CHECK(key_is_missing("a"), "found before it was stored");
  CHECK(access(folder, F_OK) != 0, "reading created the folder");
  for (size_t bytes = 0; bytes < 300000; bytes = bytes * 7 + 1) {
    cache_put("a", bytes, 1);
    CHECK(cache_has("a", bytes, 1, NULL), "%zu bytes", bytes);
  }
  cache_put("a", 1000, 2);
  cache_put("b", 10, 3);
  CHECK(cache_has("a", 1000, 2, NULL) && cache_has("b", 10, 3, NULL) && key_is_missing("c"), "two keys");
  CHECK(count_cache_files(NULL, 0) == 2, "%u files", count_cache_files(NULL, 0));
  struct stat s;
  CHECK(stat(folder, &s) == 0 && (s.st_mode & 0777) == 0700, "mode %o", s.st_mode);
  hx__cache_dir_set("");
  CHECK(key_is_missing("a") && !hx__cache_dir_is_enabled(), "found although the cache is off");
  cache_put("a", 10, 1);
  hx__cache_dir_set(folder);
  CHECK(cache_has("a", 1000, 2, NULL), "not the contents that were stored before the cache was off");
}

/* Every single bit of the file is changed, and the file is cut to every shorter length. */
static void damaged_file(void) {
  enum { BYTES = 300 };
  char name[256], path[600], whole[1024];
  const char *key = "the key of the damaged file";
  empty_folder();
  cache_put(key, BYTES, 4);
  count_cache_files(name, sizeof name);
  path_in_folder(path, sizeof path, name);
  int fd = open(path, O_RDWR);
  const ssize_t length = read(fd, whole, sizeof whole);
  unsigned accepted = 0;
  for (ssize_t i = 0; i < 8 * length; i++) {
    const char other = (char)(whole[i / 8] ^ (1 << i % 8));
    const bool written = pwrite(fd, &other, 1, i / 8) == 1;
    accepted += !written || !key_is_missing(key);
    if (pwrite(fd, &whole[i / 8], 1, i / 8) != 1) accepted++;
  }
  CHECK(length > BYTES && accepted == 0, "%u of %zd changed bits were not noticed", accepted, 8 * length);
  CHECK(cache_has(key, BYTES, 4, NULL), "the unchanged file is not used");
  close(fd);
  accepted = 0;
  for (ssize_t i = length - 1; i >= 0; i--) accepted += truncate(path, i) != 0 || !key_is_missing(key);
  CHECK(accepted == 0, "%u shortened files were used", accepted);
  cache_put(key, BYTES, 5);
  CHECK(cache_has(key, BYTES, 5, NULL) && truncate(path, length + 1) == 0 && key_is_missing(key),
        "not replaced, or used although it is longer");
  cache_put(key, BYTES, 6);
  CHECK(cache_has(key, BYTES, 6, NULL), "replaced");
}

/* The file is replaced by the file of another key, a link, a pipe, a folder, or a file that others may write. */
static void foreign_files(void) {
  char name[256], path[600], other[600], elsewhere[400];
  empty_folder();
  cache_put("one", 100, 1);
  count_cache_files(name, sizeof name);
  path_in_folder(path, sizeof path, name);
  snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", root);
  CHECK(rename(path, elsewhere) == 0, "cannot be moved");
  cache_put("two", 100, 2);
  count_cache_files(name, sizeof name);
  path_in_folder(other, sizeof other, name);
  CHECK(rename(other, path) == 0 && key_is_missing("one") && key_is_missing("two"), "the file of another key");
  CHECK(unlink(path) == 0 && symlink(elsewhere, path) == 0 && key_is_missing("one"), "a link is followed");
  cache_put("one", 100, 3);
  CHECK(cache_has("one", 100, 3, NULL), "a link is not replaced");
  CHECK(unlink(path) == 0 && mkfifo(path, 0600) == 0 && key_is_missing("one"), "a pipe is used");
  cache_put("one", 100, 4);
  CHECK(cache_has("one", 100, 4, NULL), "a pipe is not replaced");
  CHECK(chmod(path, 0620) == 0 && key_is_missing("one"), "a file that others may write to is used");
  CHECK(unlink(path) == 0 && mkdir(path, 0700) == 0 && key_is_missing("one"), "a folder is used");
  cache_put("one", 100, 5);
  CHECK(key_is_missing("one") && rmdir(path) == 0, "the folder was replaced");
  CHECK(count_cache_files(NULL, 0) == 0, "%u files are left", count_cache_files(NULL, 0));
  unlink(elsewhere);
}

static void choice_of_folder(void) {
  char path[700];
  empty_folder();
  cache_put("a", 100, 1);
  CHECK(chmod(folder, 0770) == 0 && key_is_missing("a"), "a folder that others may write to is used");
  cache_put("a", 100, 2);
  CHECK(chmod(folder, 0700) == 0 && cache_has("a", 100, 1, NULL), "something was written to it");
  snprintf(path, sizeof path, "%s/x/../x//y/z/", folder);
  hx__cache_dir_set(path);
  cache_put("a", 100, 3);
  CHECK(cache_has("a", 100, 3, NULL), "a nested folder is not created");
  char here[400];
  CHECK(getcwd(here, sizeof here) && chdir(root) == 0, "cannot change the folder");
  hx__cache_dir_set("relative/cache");
  CHECK(chdir("/") == 0, "cannot change the folder");
  cache_put("a", 100, 4);
  snprintf(path, sizeof path, "%s/relative/cache", root);
  hx__cache_dir_set(path);
  CHECK(cache_has("a", 100, 4, NULL) && chdir(here) == 0, "a relative path is not resolved when it is set");
  static const char *const useless[] = {"/proc/self/none/hx", "/dev/null", "/dev/null/hx", "/sys/hx"};
  for (size_t i = 0; i < sizeof useless / sizeof *useless; i++) {
    hx__cache_dir_set(useless[i]);
    cache_put("a", 100, 5);
    CHECK(key_is_missing("a"), "%s", useless[i]);
  }
}

/* Reads as another user, who may not write and does not own the folder. Only root can change its user. The folder is
 * under /tmp, because other users cannot reach root's own folders. */
static void as_other_user(void) {
  char base[] = "/tmp/cache_file_test.XXXXXX", path[600], theirs[100], lent[200], name[256], was[sizeof folder];
  memcpy(was, folder, sizeof was);
  if (!mkdtemp(base)) return;
  snprintf(folder, sizeof folder, "%s/mine", base);
  snprintf(theirs, sizeof theirs, "%s/theirs", base);
  snprintf(lent, sizeof lent, "%s/hx", theirs);
  empty_folder();
  cache_put("a", 100, 1);
  CHECK(chmod(base, 0755) == 0 && mkdir(theirs, 0700) == 0 && chown(theirs, OTHER_USER, OTHER_USER) == 0, "%s", theirs);
  hx__cache_dir_set(lent);
  cache_put("a", 100, 2);
  CHECK(access(lent, F_OK) != 0, "root left a folder in the home of another user");
  CHECK(setegid(OTHER_USER) == 0 && seteuid(OTHER_USER) == 0, "cannot be another user");
  hx__cache_dir_set(folder);
  cache_put("a", 100, 3);
  CHECK(key_is_missing("a"), "the folder of another user is used");
  hx__cache_dir_set(lent);
  cache_put("a", 100, 4);
  CHECK(cache_has("a", 100, 4, NULL), "the user's own folder is not used");
  CHECK(chmod(lent, 0500) == 0, "cannot be locked");
  cache_put("a", 100, 5);
  CHECK(cache_has("a", 100, 4, NULL), "a folder that may only be read is not used");
  CHECK(chmod(lent, 0700) == 0, "cannot be unlocked");
  CHECK(seteuid(0) == 0, "cannot become root again");
  CHECK(setegid(0) == 0, "cannot return to root's group");
  CHECK(key_is_missing("a"), "root uses the folder of another user");
  hx__cache_dir_set(folder);
  count_cache_files(name, sizeof name);
  path_in_folder(path, sizeof path, name);
  CHECK(cache_has("a", 100, 1, NULL) && chown(path, OTHER_USER, OTHER_USER) == 0 && key_is_missing("a"),
        "a file of another user is used");
  snprintf(path, sizeof path, "rm -rf '%s'", base);
  if (system(path) != 0) printf("cannot remove %s\n", base);
  memcpy(folder, was, sizeof was);
}

static void disk_full(void) {
  empty_folder();
  cache_put("a", 1000, 1);
  struct rlimit was, small = {8192, 8192};
  getrlimit(RLIMIT_FSIZE, &was);
  small.rlim_max = was.rlim_max;
  signal(SIGXFSZ, SIG_DFL); /* the signal would end this process */
  CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0, "no limit");
  cache_put("a", 100000, 2);
  cache_put("b", 100000, 3);
  setrlimit(RLIMIT_FSIZE, &was);
  CHECK(cache_has("a", 1000, 1, NULL) && key_is_missing("b"), "an incomplete file is used, or a complete one is not");
  CHECK(count_cache_files(NULL, 0) == 1, "%u files", count_cache_files(NULL, 0));
}

/* The folder does not exceed its bound, and the files that were used last stay. */
static void folder_is_bounded(void) {
  enum { FILES = 40 };
  char path[400];
  empty_folder();
  cache_put("kept", 1000, 1);
  for (int i = 0; i < FILES; i++) {
    char name[80];
    snprintf(name, sizeof name, "%016x" HX__CACHE_SUFFIX, i);
    path_in_folder(path, sizeof path, name);
    const int fd = open(path, O_WRONLY | O_CREAT, 0600);
    const struct timespec used[2] = {{1000000 + i, 0}, {1000000 + i, 0}};
    CHECK(ftruncate(fd, (off_t)(HX__CACHE_BYTES / 16)) == 0 && futimens(fd, used) == 0, "%s", path);
    close(fd);
  }
  /* The first file was left by a process that died; the others have names that hx does not use. */
  static const char *const old_files[] = {".1-2-0000000000000003" HX__CACHE_SUFFIX,
                                          "not-ours",
                                          "notes" HX__CACHE_SUFFIX,
                                          ".1-2-3" HX__CACHE_SUFFIX,
                                          ".notes.of-1-2.hxc",
                                          "00000000000000001" HX__CACHE_SUFFIX};
  enum { OLD_FILES = sizeof old_files / sizeof *old_files };
  for (int i = 0; i < OLD_FILES; i++) {
    path_in_folder(path, sizeof path, old_files[i]);
    const int left = open(path, O_WRONLY | O_CREAT, 0600);
    const struct timespec old[2] = {{1000, 0}, {1000, 0}};
    futimens(left, old);
    close(left);
  }
  cache_put("new", 1000, 2);
  CHECK(cache_has("kept", 1000, 1, NULL) && cache_has("new", 1000, 2, NULL), "one of the newest files was removed");
  CHECK(count_cache_files(NULL, 0) == 15 + 2 + OLD_FILES - 2, "%u files",
        count_cache_files(NULL, 0)); /* all but one have the suffix of hx's files */
  path_in_folder(path, sizeof path, "0000000000000027" HX__CACHE_SUFFIX);
  CHECK(access(path, F_OK) == 0, "the newest of the old files was removed");
  for (int i = 0; i < OLD_FILES; i++) {
    path_in_folder(path, sizeof path, old_files[i]);
    CHECK((access(path, F_OK) == 0) == (i > 0), "%s", old_files[i]);
  }
}

/* Several processes write and read the same keys: each process reads complete contents of one writer. */
static void processes_at_once(void) {
  enum { PROCESSES = 4, TURNS = 300, KEYS = 3 };
  static const char *const keys[KEYS] = {"a", "b", "c"};
  empty_folder();
  pid_t child[PROCESSES];
  for (unsigned p = 0; p < PROCESSES; p++) {
    if ((child[p] = fork()) != 0) continue;
    unsigned torn = 0;
    for (unsigned i = 0; i < TURNS; i++) {
      const char *key = keys[(i + p) % KEYS];
      bool found = false, same = false;
      cache_put(key, 20000, p);
      size_t got;
      int crash_mark;
      char *data = hx__cache_get(key, strlen(key), &got, &crash_mark), want[20000];
      for (unsigned other = 0; data && other < PROCESSES; other++) {
        fill_by_seed(want, sizeof want, other);
        same = same || (got == sizeof want && memcmp(data, want, sizeof want) == 0);
      }
      found = data != NULL;
      if (data) hx__cache_crash_mark_end(crash_mark, true);
      free(data);
      torn += !found || !same;
    }
    _exit(torn > 99 ? 99 : (int)torn);
  }
  for (unsigned p = 0; p < PROCESSES; p++) {
    int status = -1;
    waitpid(child[p], &status, 0);
    CHECK(status == 0, "process %u: %d reads gave wrong contents", p, WEXITSTATUS(status));
  }
  CHECK(count_cache_files(NULL, 0) == KEYS, "%u files", count_cache_files(NULL, 0));
}

int main(void) {
  alarm(120); /* a hang is a failure */
  const char *scratch = getenv("TEST_TMPDIR");
  snprintf(root, sizeof root, "%s/cache_file_test.XXXXXX", scratch ? scratch : "/tmp");
  if (!mkdtemp(root)) return 1;
  snprintf(folder, sizeof folder, "%s/hx", root);
  comes_back();
  damaged_file();
  foreign_files();
  choice_of_folder();
  if (geteuid() == 0) as_other_user();
  disk_full();
  folder_is_bounded();
  processes_at_once();
  char command[600];
  snprintf(command, sizeof command, "rm -rf '%s'", root);
  if (system(command) != 0) printf("cannot remove %s\n", root);
  return checks_end("cache_file_test");
}
