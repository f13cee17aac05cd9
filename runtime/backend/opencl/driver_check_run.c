/* SPDX-License-Identifier: Apache-2.0
 * A driver in a process of its own. The program's own wait() and SIGCHLD must not see that process, so it is the child
 * of a child: one without an exit signal, which shares this process's memory (nothing is copied, however large the
 * program is) while the calling thread stands still, waits for the limit at most and ends. What the three tell each
 * other is in a shared mapping, so that they need not share the rest. */
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

#define LIMIT_S 10 /* a driver's start takes 0.05 to 2 s */
#define STACK_BYTES ((size_t)64 << 10)
#define EXECUTABLE 0x10u     /* MFD_EXEC: some systems want it said */
#define CLOEXEC_FROM_HERE 4u /* CLOSE_RANGE_CLOEXEC */
/* ThreadSanitizer takes whatever clone starts for a process with memory of its own, and fails if it has none. */
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
typedef struct trial {
  const char *file;
  int program, at, null;
  int error;   /* the program was not started */
  int status;  /* of its end */
  bool killed; /* at the limit */
  _Alignas(16) char monitor_stack[STACK_BYTES];
  _Alignas(16) char program_stack[STACK_BYTES]; /* until it is a program of its own */
} trial;

static int program(void *p) {
  trial *const t = p;
  char name[] = "hx-look";
  char *const arguments[] = {name, (char *)(uintptr_t)t->file, NULL};
  const struct rlimit none = {0, 0};
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setrlimit(RLIMIT_CORE, &none);
  /* First above the places that they go to: a program may have closed its own standard streams. */
  const int above = HX__LOOK_FD + 1, program = fcntl(t->program, F_DUPFD_CLOEXEC, above);
  const int at = fcntl(t->at, F_DUPFD_CLOEXEC, above), null = fcntl(t->null, F_DUPFD_CLOEXEC, above);
  for (int fd = 0; fd < HX__LOOK_FD; fd++) dup2(null, fd);
  dup2(at, HX__LOOK_FD);
  syscall(SYS_close_range, above, ~0u, CLOEXEC_FROM_HERE);
  syscall(SYS_execveat, program, "", arguments, environ, AT_EMPTY_PATH);
  t->error = errno;
  return 127; /* as in monitor */
}

static int monitor(void *p) {
  trial *const t = p;
  const uint64_t till = hx__now_ns() + LIMIT_S * UINT64_C(1000000000);
  sigset_t all, child;
  sigfillset(&all);
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_SETMASK, &all, NULL);
  signal(SIGCHLD, SIG_DFL); /* in this process alone: ignored, it would be told of no end */
  const pid_t pid = clone(program, t->program_stack + STACK_BYTES, SHARED_MEMORY | CLONE_VFORK | SIGCHLD, t);
  if (pid < 0) t->error = errno;
  pid_t ended = 0;
  while (pid > 0 && (ended = waitpid(pid, &t->status, WNOHANG)) == 0 && hx__now_ns() < till) {
    const struct timespec rest = {1, 0};
    sigtimedwait(&child, NULL, &rest);
  }
  t->killed = pid > 0 && ended == 0;
  if (pid > 0) kill(-pid, SIGKILL); /* and what it has started */
  if (t->killed) waitpid(pid, &t->status, 0);
  return 0; /* which ends the process: _exit would have AddressSanitizer look for this stack among its threads' */
}

/* The child's program, in memory. */
static int program_in_memory(void) {
  int fd = memfd_create("hx-look", MFD_CLOEXEC | EXECUTABLE);
  if (fd < 0 && errno == EINVAL) fd = memfd_create("hx-look", MFD_CLOEXEC);
  size_t done = 0;
  for (ssize_t n = 1; fd >= 0 && n > 0 && done<hx__driver_check_child_bytes; done += n> 0 ? (size_t)n : 0)
    n = write(fd, hx__cl_driver_check_child + done, hx__driver_check_child_bytes - done);
  if (fd >= 0 && done == hx__driver_check_child_bytes) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

static void describe(const trial *t, char fault[HX__DRIVER_FAULT_TEXT]) {
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
  else if (WEXITSTATUS(t->status) != HX__LOOK_FINE)
    snprintf(fault, HX__DRIVER_FAULT_TEXT, "%s ended the process with status %d %s", t->file, WEXITSTATUS(t->status),
             when);
}

bool hx__driver_check_run(const char *library, char fault[HX__DRIVER_FAULT_TEXT]) {
  trial *const t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (t == MAP_FAILED) return false;
  t->file = library;
  t->program = program_in_memory();
  t->at = memfd_create("hx-look-at", MFD_CLOEXEC);
  t->null = open("/dev/null", O_RDWR | O_CLOEXEC);
  t->error = ENOMEM;
  if (t->program >= 0 && t->at >= 0 && t->null >= 0) {
    t->error = 0;
    const pid_t pid = clone(monitor, t->monitor_stack + STACK_BYTES, SHARED_MEMORY | CLONE_VFORK, t);
    if (pid < 0) t->error = errno;
    while (pid > 0 && waitpid(pid, NULL, (int)__WCLONE) < 0 && errno == EINTR) {
    }
  }
  const int error = t->error, fds[] = {t->program, t->at, t->null};
  if (!error) describe(t, fault);
  for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
    if (fds[i] >= 0) close(fds[i]);
  munmap(t, sizeof *t);
  errno = error;
  return error == 0;
}
