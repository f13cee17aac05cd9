/* SPDX-License-Identifier: Apache-2.0
 * Contestants seen from hx-bench: their processes, and asking them. */
#include "bench/rival.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/talk.h"

static bool spawn(bench_rival *rival, int theirs) {
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return false;
  char program[] = "hx-bench", command[] = "contestant", option[] = "--vs", name[32];
  snprintf(name, sizeof name, "%s", rival->peer ? rival->peer->name : "");
  char *arguments[] = {program, command, rival->peer ? option : NULL, name, NULL};
  bool fine = posix_spawn_file_actions_adddup2(&actions, theirs, BENCH_TALK_FD) == 0 &&
              posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO) == 0 &&
              posix_spawn(&rival->process, "/proc/self/exe", &actions, NULL, arguments, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  return fine;
}

bench_answer bench_rival_start(bench_rival *rival, const bench_peer *peer, const char *core) {
  *rival = (bench_rival){.peer = peer, .asked = core, .fd = -1};
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) pair[0] = pair[1] = -1;
  /* A core type that the caller has set would hide what the library chooses by itself. */
  const char *const variable = peer ? peer->core_variable : NULL;
  if (variable) unsetenv(variable);
  if (variable && core) setenv(variable, core, 1);
  bool started = pair[0] >= 0 && spawn(rival, pair[1]);
  if (variable && core) unsetenv(variable);
  if (pair[1] >= 0) close(pair[1]);
  rival->fd = pair[0];
  bench_reply reply;
  if (!started || !bench_talk_read(rival->fd, &reply, sizeof reply)) {
    fprintf(stderr, "hx-bench: a process for %s could not be started\n", peer ? peer->name : "hx");
    bench_rival_end(rival);
    return BENCH_BROKEN;
  }
  kill(rival->process, SIGSTOP);
  memcpy(rival->file, reply.file, sizeof rival->file);
  memcpy(rival->core, reply.core, sizeof rival->core);
  if (reply.answer != BENCH_READY) bench_rival_end(rival);
  return reply.answer;
}

bench_answer bench_rival_ask(bench_rival *rival, const bench_request *request, bench_reply *reply) {
  *reply = (bench_reply){.answer = BENCH_BROKEN};
  kill(rival->process, SIGCONT);
  bool fine = bench_talk_write(rival->fd, request, sizeof *request) && bench_talk_read(rival->fd, reply, sizeof *reply);
  kill(rival->process, SIGSTOP);
  if (fine) return reply->answer;
  fprintf(stderr, "hx-bench: the process of %s has ended\n", rival->peer ? rival->peer->name : "hx");
  return reply->answer = BENCH_BROKEN;
}

void bench_rival_end(bench_rival *rival) {
  if (rival->fd >= 0) close(rival->fd);
  if (rival->process > 0) {
    kill(rival->process, SIGKILL);
    while (waitpid(rival->process, NULL, 0) < 0 && errno == EINTR) continue;
  }
  rival->process = 0;
  rival->fd = -1;
}
