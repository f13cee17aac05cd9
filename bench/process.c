/* SPDX-License-Identifier: Apache-2.0
 * hx-bench's side of contestants: starts their processes and sends them requests. */
#include "bench/process.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/talk.h"

static bool spawn_contestant(bench_process *process, int theirs) {
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return false;
  char program[] = "hx-bench", command[] = "contestant", option[] = "--vs", name[32];
  snprintf(name, sizeof name, "%s", process->peer ? process->peer->name : "");
  char *arguments[] = {program, command, process->peer ? option : NULL, name, NULL};
  bool fine = posix_spawn_file_actions_adddup2(&actions, theirs, BENCH_TALK_FD) == 0 &&
              posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO) == 0 &&
              posix_spawn(&process->pid, "/proc/self/exe", &actions, NULL, arguments, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  return fine;
}

bench_answer bench_process_start(bench_process *process, const bench_peer *peer, const char *core) {
  *process = (bench_process){.peer = peer, .asked = core, .fd = -1};
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) pair[0] = pair[1] = -1;
  /* A core type set by the user would replace the one that the library chooses itself. */
  const char *const variable = peer ? peer->core_variable : NULL;
  if (variable) unsetenv(variable);
  if (variable && core) setenv(variable, core, 1);
  bool started = pair[0] >= 0 && spawn_contestant(process, pair[1]);
  if (variable && core) unsetenv(variable);
  if (pair[1] >= 0) close(pair[1]);
  process->fd = pair[0];
  bench_reply reply;
  if (!started || !bench_talk_read(process->fd, &reply, sizeof reply)) {
    fprintf(stderr, "hx-bench: a process for %s could not be started\n", peer ? peer->name : "hx");
    bench_process_end(process);
    return BENCH_BROKEN;
  }
  kill(process->pid, SIGSTOP);
  memcpy(process->file, reply.file, sizeof process->file);
  memcpy(process->core, reply.core, sizeof process->core);
  if (reply.answer != BENCH_READY) bench_process_end(process);
  return reply.answer;
}

bench_answer bench_process_ask(bench_process *process, const bench_request *request, bench_reply *reply) {
  *reply = (bench_reply){.answer = BENCH_BROKEN};
  kill(process->pid, SIGCONT);
  bool fine =
      bench_talk_write(process->fd, request, sizeof *request) && bench_talk_read(process->fd, reply, sizeof *reply);
  kill(process->pid, SIGSTOP);
  if (fine) return reply->answer;
  fprintf(stderr, "hx-bench: the process of %s has ended\n", process->peer ? process->peer->name : "hx");
  return reply->answer = BENCH_BROKEN;
}

void bench_process_end(bench_process *process) {
  if (process->fd >= 0) close(process->fd);
  if (process->pid > 0) {
    kill(process->pid, SIGKILL);
    while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR) continue;
  }
  process->pid = 0;
  process->fd = -1;
}
