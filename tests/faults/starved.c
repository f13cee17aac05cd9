/* SPDX-License-Identifier: Apache-2.0
 * Time without a core: see starved.h. The kernel counts it for each thread in /proc/PID/task/TID/schedstat. */
#include "tests/faults/starved.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVERY_NS = 10000000 };

/* -1: the kernel does not say. */
static int64_t delay_of(pid_t pid, const char *thread) {
  char path[320];
  long long ran, waited;
  snprintf(path, sizeof path, "/proc/%ld/task/%s/schedstat", (long)pid, thread);
  FILE *const f = fopen(path, "r");
  const int got = f ? fscanf(f, "%lld %lld", &ran, &waited) : 0;
  if (f) fclose(f);
  return got == 2 ? waited : -1;
}

/* By how much the thread's delay has grown since it was last read; keeps what it reads in `next`. A thread that was not
 * there then has waited since it began. */
static int64_t grown(const starved *s, starved *next, const char *name) {
  const int64_t now = delay_of(s->pid, name);
  const pid_t thread = (pid_t)atol(name);
  if (now < 0 || next->threads == STARVED_THREADS) return 0;
  next->thread[next->threads] = thread;
  next->delay_ns[next->threads++] = now;
  for (int i = 0; i < s->threads; i++)
    if (s->thread[i] == thread) return now - s->delay_ns[i];
  return now;
}

static int64_t read_threads(starved *s) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/task", (long)s->pid);
  starved next = {.pid = s->pid, .total_ns = s->total_ns};
  int64_t most = 0;
  DIR *const d = opendir(path);
  for (const struct dirent *e; d && (e = readdir(d)) != NULL;) {
    if (e->d_name[0] == '.') continue;
    const int64_t ns = grown(s, &next, e->d_name);
    if (ns > most) most = ns;
  }
  if (d) closedir(d);
  *s = next;
  return most;
}

void starved_begin(starved *s, pid_t pid, int64_t now_ns) {
  memset(s, 0, sizeof *s);
  s->pid = pid;
  read_threads(s);
  s->read_ns = now_ns;
}

int64_t starved_ns(starved *s, int64_t now_ns) {
  const int64_t before = s->read_ns, passed = now_ns - before;
  if (passed < EVERY_NS) return s->total_ns;
  const int64_t waited = read_threads(s);
  s->read_ns = now_ns;
  s->total_ns += waited < passed ? waited : passed;
  return s->total_ns;
}
