/* SPDX-License-Identifier: Apache-2.0
 * A driver that crashes because of a cached program does so only once: ten processes in a row, on a host and as process
 * 1 of ten containers; beside forked children that go on, processes that exit normally, more processes than a file has
 * marks, and file systems without locks. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/cache_dir.h"
#include "runtime/base/crash_mark.h"
#include "runtime/base/log.h"
#include "tests/check.h"

enum { IN_A_ROW = 10, CRASHED = 50, PASSED_OVER = 51 };

static char root[256], folder[300];
static int lock_error; /* the error with which every lock of this process fails; 0: locks work */

/* Replaces the function of libc, to simulate a file system without locks. */
int fcntl(int fd, int command, ...) {
  va_list more;
  va_start(more, command);
  void *const argument = va_arg(more, void *);
  va_end(more);
  if (lock_error && (command == F_OFD_SETLK || command == F_OFD_GETLK)) return errno = lock_error, -1;
  return (int)syscall(SYS_fcntl, fd, command, argument);
}

static sem_t unmarking, exit_has_unmarked;
static bool exits_beside; /* the process exits on another thread while this one removes a mark */

/* The same: a thread that is about to remove a mark stops until the handler at exit has removed its marks, for at most
 * a second. If the handler has run by then, the thread stops for good. */
ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at) {
  if (exits_beside && bytes == 1 && !*(const char *)from) {
    struct timespec till;
    exits_beside = false;
    sem_post(&unmarking);
    clock_gettime(CLOCK_REALTIME, &till);
    till.tv_sec++;
    while (sem_timedwait(&exit_has_unmarked, &till) == 0) pause();
  }
  return syscall(SYS_pwrite64, fd, from, bytes, at);
}

static void cache_put(const char *key) { hx__cache_put(key, strlen(key), "a program", 9); }

/* Begins to use the program of a key; returns -1 if the program is not used because of a crash mark. */
static int begin_use(const char *key) {
  size_t bytes;
  int crash_mark = -1;
  char *const data = hx__cache_get(key, strlen(key), &bytes, &crash_mark);
  free(data);
  return data ? crash_mark : -1;
}

static void pass_use(int crash_mark) {
  if (crash_mark >= 0) hx__cache_crash_mark_end(crash_mark, true);
}

static bool program_is_used(const char *key) {
  const int crash_mark = begin_use(key);
  pass_use(crash_mark);
  return crash_mark >= 0;
}

static int wait_for(pid_t child) {
  int status = -1;
  if (child <= 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* A process whose driver crashes because of the cached program, and whose compiler makes the same program again. */
static void crash_on_first_use(void) {
  const struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (begin_use("poison") >= 0) {
    if (getpid() == 1) _exit(CRASHED); /* abort does not end process 1 of a namespace in the same way */
    abort();
  }
  cache_put("poison");
  _exit(PASSED_OVER);
}

static pid_t start_on_host(void) {
  const pid_t child = fork();
  if (child == 0) crash_on_first_use();
  return child;
}

/* The child's own child is process 1 of a namespace; the child exits with its status. */
static pid_t start_in_container(void) {
  const pid_t child = fork();
  if (child != 0) return child;
  if (unshare(CLONE_NEWPID) != 0) _exit(errno);
  const pid_t inner = fork();
  if (inner == 0) {
    if (getpid() != 1) _exit(1);
    crash_on_first_use();
  }
  _exit(wait_for(inner));
}

static bool may_contain(void) {
  const pid_t child = fork();
  if (child == 0) _exit(unshare(CLONE_NEWPID) != 0 ? errno : 0);
  const int status = wait_for(child);
  if (status != 0) printf("no containers are tried: unshare: %s\n", strerror(status));
  return status == 0;
}

static void crashes_in_a_row(const char *where, pid_t (*start)(void)) {
  unsigned crashes = 0, passed_over = 0;
  char command[700];
  cache_put("poison");
  for (int i = 0; i < IN_A_ROW; i++) {
    const int status = wait_for(start());
    crashes += status == 128 + SIGABRT || status == CRASHED;
    passed_over += status == PASSED_OVER;
  }
  CHECK(crashes == 1 && passed_over == IN_A_ROW - 1, "%s: %u of %d crashed, %u passed it over", where, crashes,
        IN_A_ROW, passed_over);
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  CHECK(system(command) == 0, "%s", command);
  cache_put("poison");
  CHECK(program_is_used("poison"), "%s: not used although the folder is empty", where);
}

/* Two processes may try the same program at the same time; it does not matter which one ends first. */
static void two_processes_use_it(void) {
  char byte = 0;
  for (int child_dies = 0; child_dies < 2; child_dies++) {
    int to_parent[2], to_child[2];
    cache_put("beside");
    CHECK(pipe(to_parent) == 0 && pipe(to_child) == 0, "no pipe");
    const pid_t child = fork();
    if (child == 0) {
      const int crash_mark = begin_use("beside");
      if (crash_mark < 0 || write(to_parent[1], &byte, 1) != 1 || read(to_child[0], &byte, 1) != 1) _exit(1);
      if (child_dies) raise(SIGKILL);
      pass_use(crash_mark);
      _exit(0);
    }
    CHECK(read(to_parent[0], &byte, 1) == 1, "the child did not get the program");
    const int crash_mark = begin_use("beside");
    CHECK(crash_mark >= 0, "not used although the other process is alive");
    cache_put("beside"); /* storing the program again would remove the mark */
    CHECK(write(to_child[1], &byte, 1) == 1, "the child does not answer");
    CHECK(wait_for(child) == (child_dies ? 128 + SIGKILL : 0), "the child's status is wrong");
    pass_use(crash_mark);
    CHECK(program_is_used("beside") == !child_dies, "child %d", child_dies);
    for (int i = 0; i < 2; i++) close(to_parent[i]), close(to_child[i]);
  }
}

/* The process that crashes has forked a child while it used the file. The child survives, but it did not use the file.
 */
static void child_lives_on(void) {
  int hold[2], lives[2];
  char byte = 0;
  cache_put("forked");
  CHECK(pipe(hold) == 0 && pipe(lives) == 0, "no pipe");
  const pid_t child = fork();
  if (child == 0) {
    const int crash_mark = begin_use("forked");
    if (crash_mark < 0) _exit(1);
    if (fork() == 0) { /* it lives until the test closes its end of the pipe */
      close(hold[1]);
      if (write(lives[1], &byte, 1) != 1) _exit(1); /* fork has returned, so the handlers of hx have run */
      _exit((int)read(hold[0], &byte, 1));
    }
    if (read(lives[0], &byte, 1) != 1) _exit(1);
    raise(SIGKILL);
  }
  close(hold[0]), close(lives[0]), close(lives[1]);
  CHECK(wait_for(child) == 128 + SIGKILL, "the child did not crash");
  CHECK(!program_is_used("forked"), "used although the process crashed: its child keeps the lock");
  close(hold[1]);
}

static void marks_after_exit(void) {
  static const struct {
    const char *how;
    void (*leave)(int);
    bool used;
  } rows[] = {{"exit", exit, true}, {"_exit", _exit, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    cache_put(rows[i].how);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      if (begin_use(rows[i].how) < 0) _exit(1);
      rows[i].leave(0);
    }
    CHECK(wait_for(child) == 0, "%s: the child failed", rows[i].how);
    CHECK(program_is_used(rows[i].how) == rows[i].used, "%s during use", rows[i].how);
  }
}

static void *end_use(void *crash_mark) {
  pass_use(*(int *)crash_mark);
  return NULL;
}

static void tell_that_exit_has_unmarked(void) { sem_post(&exit_has_unmarked); }

/* A process exits while one of its threads has passed a program and removes the mark. */
static void exit_beside_the_end_of_a_use(void) {
  cache_put("passed");
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    pthread_t thread;
    int crash_mark = begin_use("passed");
    exits_beside = true;
    if (crash_mark < 0 || pthread_create(&thread, NULL, end_use, &crash_mark) != 0) _exit(1);
    sem_wait(&unmarking);
    exit(0);
  }
  CHECK(wait_for(child) == 0, "the child failed");
  CHECK(program_is_used("passed"), "a program that has passed is not used again");
}

static void program_that_did_not_pass(void) {
  cache_put("refused");
  const int crash_mark = begin_use("refused");
  CHECK(crash_mark >= 0, "nothing is stored");
  if (crash_mark >= 0) hx__cache_crash_mark_end(crash_mark, false);
  CHECK(!program_is_used("refused"), "what did not pass is used again");
  cache_put("refused");
  CHECK(program_is_used("refused"), "not used after it was replaced");
}

static void as_many_as_there_are_marks(void) {
  int crash_mark[HX__CRASH_MARKS + 1];
  cache_put("many");
  for (int i = 0; i <= HX__CRASH_MARKS; i++) crash_mark[i] = begin_use("many");
  CHECK(crash_mark[HX__CRASH_MARKS - 1] >= 0 && crash_mark[HX__CRASH_MARKS] < 0, "not as many marks as a file has");
  for (int i = 0; i <= HX__CRASH_MARKS; i++) pass_use(crash_mark[i]);
  CHECK(program_is_used("many"), "not used after all processes have ended");
}

/* A file that cannot be locked is not given to a driver. A file that only hx reads needs no lock. */
static void no_locks(void) {
  static const int errors[] = {ENOLCK, EINVAL, ENOSYS, EOPNOTSUPP};
  cache_put("unlocked");
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
    size_t bytes = 0;
    lock_error = errors[i];
    CHECK(!program_is_used("unlocked"), "%s", strerror(errors[i]));
    char *const data = hx__cache_get("unlocked", 8, &bytes, NULL);
    CHECK(data && bytes == 9, "%s, without a crash mark", strerror(errors[i]));
    free(data);
    lock_error = 0;
    CHECK(program_is_used("unlocked"), "after %s", strerror(errors[i]));
  }
}

/* A file that this process may not write cannot be marked. */
static void read_only(void) {
  cache_put("fixed");
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    size_t bytes = 0;
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount(folder, folder, NULL, MS_BIND, NULL) != 0 ||
        mount(NULL, folder, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) != 0) {
      printf("no read-only file system is tried: %s\n", strerror(errno));
      fflush(stdout);
      _exit(SKIPPED);
    }
    const bool given = program_is_used("fixed");
    cache_put("fixed");
    char *const data = hx__cache_get("fixed", 5, &bytes, NULL);
    _exit(given ? 1 : !data || bytes != 9 ? 2 : 0);
  }
  const int status = wait_for(child);
  CHECK(status == 0 || status == SKIPPED, "status %d (1: given to a driver, 2: not read)", status);
  CHECK(program_is_used("fixed"), "not used afterwards");
}

int main(void) {
  alarm(120);                          /* a hang is a failure */
  atexit(tell_that_exit_has_unmarked); /* called after hx's own handler, which is registered later */
  const char *const scratch = getenv("TEST_TMPDIR");
  snprintf(root, sizeof root, "%s/crash_mark_test.XXXXXX", scratch ? scratch : "/tmp");
  if (!mkdtemp(root)) return 1;
  snprintf(folder, sizeof folder, "%s/hx", root);
  hx__cache_dir_set(folder);
  fflush(stdout);
  crashes_in_a_row("host", start_on_host);
  if (may_contain()) crashes_in_a_row("container", start_in_container);
  two_processes_use_it();
  child_lives_on();
  marks_after_exit();
  exit_beside_the_end_of_a_use();
  program_that_did_not_pass();
  as_many_as_there_are_marks();
  no_locks();
  read_only();
  char command[600];
  snprintf(command, sizeof command, "rm -rf '%s'", root);
  if (system(command) != 0) printf("cannot remove %s\n", root);
  return checks_end("crash_mark_test");
}
