/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/part.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/measure.h"

#define GRACE_S 10.0 /* from asking a part to stop to ending it: a driver may be compiling */

typedef struct child {
  pid_t pid;
  int fd;
  FILE *text;
} child;

static bool spawn(const char *const *arguments, child *c) {
  const char *argv[BENCH_PART_ARGUMENTS + 1] = {"hx-bench"};
  int pair[2];
  for (size_t i = 0; i + 1 < BENCH_PART_ARGUMENTS && arguments[i]; i++) argv[i + 1] = arguments[i];
  if (pipe2(pair, O_CLOEXEC) != 0) return false;
  posix_spawn_file_actions_t actions;
  bool fine = posix_spawn_file_actions_init(&actions) == 0;
  if (fine) {
    fine = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) == 0 &&
           posix_spawn_file_actions_adddup2(&actions, pair[1], STDOUT_FILENO) == 0 &&
           posix_spawn(&c->pid, "/proc/self/exe", &actions, NULL, (char *const *)(uintptr_t)argv, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
  }
  close(pair[1]);
  if (!fine) close(pair[0]);
  c->fd = pair[0];
  return fine;
}

/* Copies what the child has written. False at its end. */
static bool read_some(const child *c) {
  char bytes[1 << 16];
  struct pollfd wanted = {.fd = c->fd, .events = POLLIN};
  const int ready = poll(&wanted, 1, 1000);
  if (ready == 0 || (ready < 0 && errno == EINTR)) return true;
  const ssize_t n = ready < 0 ? -1 : read(c->fd, bytes, sizeof bytes);
  if (n > 0) fwrite(bytes, 1, (size_t)n, c->text);
  return n > 0 || (n < 0 && errno == EINTR);
}

/* Signals of ends that leave a document: the part has noted them and stopped. */
static bool is_orderly(int status) {
  if (WIFEXITED(status)) return true;
  const int by = WTERMSIG(status);
  return by == SIGTERM || by == SIGINT || by == SIGHUP;
}

static bool is_complete(const char *text, size_t bytes) {
  return bytes > 2 && text[0] == '{' && strcmp(text + bytes - 2, "}\n") == 0;
}

void bench_part_run(const char *const *arguments, double limit, bench_part_tick *tick, void *self,
                    bench_part_result *result) {
  child c = {.pid = 0};
  size_t bytes = 0;
  int status = 0;
  const double from = bench_now();
  *result = (bench_part_result){.status = -1};
  c.text = open_memstream(&result->document, &bytes);
  if (c.text && spawn(arguments, &c)) {
    while (read_some(&c)) {
      const double elapsed = bench_now() - from;
      if (tick) tick(self, elapsed);
      if (elapsed > limit + GRACE_S) kill(c.pid, SIGKILL);
      if (elapsed > limit && !result->timed_out) result->timed_out = kill(c.pid, SIGTERM) == 0;
    }
    close(c.fd);
    while (waitpid(c.pid, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFEXITED(status)) result->status = WEXITSTATUS(status);
  }
  result->seconds = bench_now() - from;
  if (c.text) fclose(c.text);
  if (c.pid > 0 && is_orderly(status) && is_complete(result->document, bytes)) return;
  free(result->document);
  result->document = NULL;
}
