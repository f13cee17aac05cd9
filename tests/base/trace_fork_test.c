/* SPDX-License-Identifier: Apache-2.0
 * A forked child that goes on does not block the trace of its parent: the next context continues it. */
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"

static char path[512];

/* Whether the trace is not locked. */
static bool is_free(void) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const bool taken = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
  if (fd >= 0) close(fd);
  return taken;
}

static long bytes_of_trace(void) {
  FILE *const f = fopen(path, "r");
  long bytes = -1;
  if (f && fseek(f, 0, SEEK_END) == 0) bytes = ftell(f);
  if (f) fclose(f);
  return bytes;
}

static void offload_sum(hx_context *hx) {
  static float x[1 << 18];
  hx_value value;
  const hx_task t = hx_reduce(HX_SUM, HX_F32, x, 1 << 18, &value);
  CHECK_OK(hx_offload(hx, &t, NULL));
}

/* A process forks a child that keeps running, and ends without hx_close. Another process may then write the trace. */
static void parent_is_gone(const hx_settings *s) {
  int ends[2];
  pid_t left = -1;
  if (pipe(ends) != 0) exit(1);
  const pid_t process = fork();
  if (process == 0) {
    offload_sum(open_or_exit(s));
    if (fork() != 0) _exit(0);
    left = getpid();
    if (write(ends[1], &left, sizeof left) != sizeof left) _exit(1);
    for (;;) pause();
  }
  CHECK(read(ends[0], &left, sizeof left) == sizeof left, "no child");
  waitpid(process, NULL, 0);
  CHECK(is_free(), "the child of an ended process keeps the trace locked");
  if (left > 0) kill(left, SIGKILL);
}

int main(void) {
  const char *const folder = getenv("TEST_TMPDIR");
  snprintf(path, sizeof path, "%s/fork_trace_%d.json", folder ? folder : "/tmp", (int)getpid());
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = "cpu", s.cache_dir = "off", s.trace = path;
  parent_is_gone(&s); /* first, because in a child of a process that has used hx there is no trace */
  hx_context *hx = open_or_exit(&s);
  offload_sum(hx);
  CHECK(!is_free(), "the trace is not locked while it is written");
  const pid_t child = fork();
  if (child == 0) {
    offload_sum(hx); /* the child uses the context, too, and has its own child */
    if (fork() == 0) _exit(0);
    for (;;) pause();
  }
  CHECK(!is_free(), "the child has released the parent's lock");
  hx_close(hx);
  CHECK(is_free(), "the child keeps the trace locked");
  const long before = bytes_of_trace();
  hx = open_or_exit(&s);
  offload_sum(hx);
  hx_close(hx);
  CHECK(bytes_of_trace() > before, "nothing was added to %ld bytes", before);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  unlink(path);
  return checks_end("trace_fork_test");
}
