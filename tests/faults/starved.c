/* SPDX-License-Identifier: Apache-2.0
 * Time without a core: see starved.h. The kernel counts it for each thread in /proc/PID/task/TID/schedstat. */
#include "tests/faults/starved.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVERY_NS = 10000000 };

typedef struct times {
  long long ran, waited;
  bool ready; /* the thread runs, or waits for a core */
} times;

static bool read_times(pid_t pid, const char *thread, times *t) {
  char path[320], state = '?';
  snprintf(path, sizeof path, "/proc/%ld/task/%s/schedstat", (long)pid, thread);
  FILE *f = fopen(path, "r");
  const bool known = f && fscanf(f, "%lld %lld", &t->ran, &t->waited) == 2;
  if (f) fclose(f);
  snprintf(path, sizeof path, "/proc/%ld/task/%s/stat", (long)pid, thread);
  f = fopen(path, "r");
  t->ready = f && fscanf(f, "%*d (%*[^)]) %c", &state) == 1 && state == 'R';
  if (f) fclose(f);
  return known;
}

/* By how much the thread's delay has grown since it was last read; stores what it reads in `next`. The whole delay
 * counts for a thread that did not exist then. The kernel adds a wait when it ends, so a thread that is ready and has
 * not run since then has waited all the time. */
static int64_t delay_growth(const starved *s, starved *next, const char *name, int64_t passed) {
  times now;
  const pid_t thread = (pid_t)atol(name);
  if (!read_times(s->pid, name, &now) || next->threads == STARVED_THREADS) return 0;
  next->thread[next->threads] = thread;
  next->ran_ns[next->threads] = now.ran;
  next->delay_ns[next->threads++] = now.waited;
  for (int i = 0; i < s->threads; i++)
    if (s->thread[i] == thread) return now.ready && now.ran == s->ran_ns[i] ? passed : now.waited - s->delay_ns[i];
  return now.waited;
}

static int64_t read_threads(starved *s, int64_t passed) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/task", (long)s->pid);
  starved next = {.pid = s->pid, .total_ns = s->total_ns};
  int64_t most = 0;
  DIR *const d = opendir(path);
  for (const struct dirent *e; d && (e = readdir(d)) != NULL;) {
    if (e->d_name[0] == '.') continue;
    const int64_t ns = delay_growth(s, &next, e->d_name, passed);
    if (ns > most) most = ns;
  }
  if (d) closedir(d);
  *s = next;
  return most;
}

void starved_begin(starved *s, pid_t pid, int64_t now_ns) {
  memset(s, 0, sizeof *s);
  s->pid = pid;
  read_threads(s, 0);
  s->read_ns = now_ns;
}

int64_t starved_ns(starved *s, int64_t now_ns) {
  const int64_t before = s->read_ns, passed = now_ns - before;
  if (passed < EVERY_NS) return s->total_ns;
  const int64_t waited = read_threads(s, passed);
  s->read_ns = now_ns;
  s->total_ns += waited < passed ? waited : passed;
  return s->total_ns;
}
