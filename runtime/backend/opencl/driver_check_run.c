/* SPDX-License-Identifier: Apache-2.0
 * Loads a driver in a process of its own. The program's own wait() and SIGCHLD handler must not see that process, so it
 * is the child of a monitor process, which has no exit signal. The monitor shares the memory of this process, so
 * nothing is copied, however large the program is. The calling thread is stopped until the monitor ends, which takes no
 * longer than the time limit. The three processes communicate through a shared mapping, so that they need not share
 * other memory. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/backend/opencl/driver_check.h"
#include "runtime/base/clock.h"
#include "runtime/driver_check/status.h"

#define LIMIT_S 10 /* loading a driver takes 0.05 to 2 s */
#define STACK_BYTES ((size_t)64 << 10)
#define EXECUTABLE 0x10u     /* MFD_EXEC, which some systems require */
#define CLOEXEC_FROM_HERE 4u /* CLOSE_RANGE_CLOEXEC */
/* ThreadSanitizer assumes that clone gives the new process memory of its own, and fails if it does not. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SHARED_MEMORY 0
#endif
#endif
#ifndef SHARED_MEMORY
#define SHARED_MEMORY CLONE_VM
#endif

extern const char hx__cl_driver_check_child[];
extern const unsigned long hx__driver_check_child_bytes;
typedef struct check_run {
  const char *file;
  int program, at, null;
  int error;   /* error number if the program could not be started; 0: it was started */
  int status;  /* exit status of the program, from waitpid */
  bool killed; /* it was killed at the time limit */
  _Alignas(16) char monitor_stack[STACK_BYTES];
  _Alignas(16) char program_stack[STACK_BYTES]; /* used until execveat */
} check_run;

static int run_program(void *p) {
  check_run *const t = p;
  char name[] = "hx-check";
  char *const arguments[] = {name, (char *)(uintptr_t)t->file, NULL};
  const struct rlimit none = {0, 0};
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setrlimit(RLIMIT_CORE, &none);
  /* First moves the descriptors above their final numbers, because a program may have closed its standard streams. */
  const int above = HX__CHECK_FD + 1, program = fcntl(t->program, F_DUPFD_CLOEXEC, above);
  const int at = fcntl(t->at, F_DUPFD_CLOEXEC, above), null = fcntl(t->null, F_DUPFD_CLOEXEC, above);
  for (int fd = 0; fd < HX__CHECK_FD; fd++) dup2(null, fd);
  dup2(at, HX__CHECK_FD);
  syscall(SYS_close_range, above, ~0u, CLOEXEC_FROM_HERE);
  syscall(SYS_execveat, program, "", arguments, environ, AT_EMPTY_PATH);
  t->error = errno;
  return 127; /* returns, like run_monitor */
}

static int run_monitor(void *p) {
  check_run *const t = p;
  const uint64_t till = hx__now_ns() + LIMIT_S * UINT64_C(1000000000);
  sigset_t all, child;
  sigfillset(&all);
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_SETMASK, &all, NULL);
  signal(SIGCHLD, SIG_DFL); /* in the monitor alone: if SIGCHLD were ignored, waitpid would not report the end */
  const pid_t pid = clone(run_program, t->program_stack + STACK_BYTES, SHARED_MEMORY | CLONE_VFORK | SIGCHLD, t);
  if (pid < 0) t->error = errno;
  pid_t ended = 0;
  while (pid > 0 && (ended = waitpid(pid, &t->status, WNOHANG)) == 0 && hx__now_ns() < till) {
    const struct timespec rest = {1, 0};
    sigtimedwait(&child, NULL, &rest);
  }
  t->killed = pid > 0 && ended == 0;
  if (pid > 0) kill(-pid, SIGKILL); /* and the processes that it started */
  if (t->killed) waitpid(pid, &t->status, 0);
  return 0; /* ends the process; after _exit, AddressSanitizer would look for this stack among its threads' */
}

/* Writes the child's program to a file in memory and returns its descriptor, or -1. */
static int write_program(void) {
  int fd = memfd_create("hx-check", MFD_CLOEXEC | EXECUTABLE);
  if (fd < 0 && errno == EINVAL) fd = memfd_create("hx-check", MFD_CLOEXEC);
  size_t done = 0;
  for (ssize_t n = 1; fd >= 0 && n > 0 && done<hx__driver_check_child_bytes; done += n> 0 ? (size_t)n : 0)
    n = write(fd, hx__cl_driver_check_child + done, hx__driver_check_child_bytes - done);
  if (fd >= 0 && done == hx__driver_check_child_bytes) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

/* Other signals come from outside: a job is ended with all its processes, memory is short, or the program has reached
 * one of its limits. */
static bool is_raised_by_faults(int signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE || signal == SIGABRT ||
         signal == SIGTRAP || signal == SIGSYS;
}

static void describe_fault(const check_run *t, char fault[HX__DRIVER_FAULT_TEXT]) {
  char stage = 'l';
  if (pread(t->at, &stage, 1, 0) != 1) stage = 'l';
  const char *const when = stage == 'l'   ? "while it was loaded"
                           : stage == 'p' ? "when asked for its platforms"
                                          : "when asked for its devices";
  fault[0] = '\0';
  if (t->killed)
    snprintf(fault, HX__DRIVER_FAULT_TEXT, "%s did not return in %d s %s", t->file, LIMIT_S, when);
  else if (WIFSIGNALED(t->status))
    snprintf(fault, HX__DRIVER_FAULT_TEXT, "%s ended with SIG%s %s", t->file, sigabbrev_np(WTERMSIG(t->status)), when);
  else if (WEXITSTATUS(t->status) != HX__CHECK_PASSED)
    snprintf(fault, HX__DRIVER_FAULT_TEXT, "%s ended the process with status %d %s", t->file, WEXITSTATUS(t->status),
             when);
}

bool hx__driver_check_run(const char *library, char fault[HX__DRIVER_FAULT_TEXT], bool *by_driver) {
  check_run *const t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (t == MAP_FAILED) return false;
  t->file = library;
  t->program = write_program();
  t->at = memfd_create("hx-check-step", MFD_CLOEXEC);
  t->null = open("/dev/null", O_RDWR | O_CLOEXEC);
  t->error = ENOMEM;
  if (t->program >= 0 && t->at >= 0 && t->null >= 0) {
    t->error = 0;
    const pid_t pid = clone(run_monitor, t->monitor_stack + STACK_BYTES, SHARED_MEMORY | CLONE_VFORK, t);
    if (pid < 0) t->error = errno;
    while (pid > 0 && waitpid(pid, NULL, (int)__WCLONE) < 0 && errno == EINTR) {
    }
  }
  const int error = t->error, fds[] = {t->program, t->at, t->null};
  if (!error) describe_fault(t, fault);
  *by_driver = t->killed || !WIFSIGNALED(t->status) || is_raised_by_faults(WTERMSIG(t->status));
  for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
    if (fds[i] >= 0) close(fds[i]);
  munmap(t, sizeof *t);
  errno = error;
  return error == 0;
}
