/* SPDX-License-Identifier: Apache-2.0
 * Running a part of a test in a child process. */
#ifndef HX_TESTS_CHILD_H
#define HX_TESTS_CHILD_H

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Waits for a child. Returns its exit status, 128 + signal if it was killed, or 127 if there is no child. */
static inline int child_wait(pid_t child) {
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return 127;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Runs body(arg) in a child, and returns what child_wait does. The child is killed after `seconds`, because a hang is a
 * failure. */
static inline int child_run(int (*body)(const void *arg), const void *arg, unsigned seconds) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(seconds);
    _exit(body(arg));
  }
  return child_wait(child);
}

#endif
