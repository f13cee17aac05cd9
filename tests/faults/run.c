/* SPDX-License-Identifier: Apache-2.0
 * Children of the fault matrix: see run.h. */
#include "tests/faults/run.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SLOW_MS = 60, LATE_MS = 900, START_MS = 20000, WATCHED_NS = 100000000, EXCUSED = 4 };

const char *const kKinds[F_KINDS + 1] = {"error", "hang", "slow", "late", "silent", "lost", "none"};
const char *const kArms[ARMS] = {"start", "ready"};
const char *const kWorks[WORKS] = {"tasks", "maps"};
const char *const kModes[MODES] = {"svm-system", "svm-fine", "svm-coarse", "usm", "hostptr", "copy"};
const dress kDresses[DRESSES] = {{"cpu", "cpu,pocl", NULL}, {"igpu", "cpu,igpu", "igpu"}, {"gpu", "cpu,gpu", "gpu"}};

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void run_shell(const char *format, const char *one, const char *two) {
  char line[4096];
  snprintf(line, sizeof line, format, one, two);
  if (system(line) != 0) {
    fprintf(stderr, "fault_matrix: could not: %s\n", line);
    exit(2);
  }
}

static void folder_of(const matrix *m, int number, char *path, size_t bytes) {
  snprintf(path, bytes, "%s/slot%d", m->scratch, number);
}

/* Each child has its own cache, because a child that is killed leaves crash marks, which would affect the next one. */
static void fresh_cache(const matrix *m, int number, fault_work work) {
  char from[512], to[512];
  snprintf(from, sizeof from, "%s/cache-%s", m->scratch, kWorks[work]);
  folder_of(m, number, to, sizeof to);
  run_shell("mkdir -p -m 700 %2$s && rm -rf %2$s/hx && { [ ! -d %1$s ] || cp -r %1$s %2$s/hx; }", from, to);
}

void run_keep_cache(const matrix *m, int number, fault_work work) {
  char from[512], to[512];
  snprintf(from, sizeof from, "%s/slot%d/hx", m->scratch, number);
  snprintf(to, sizeof to, "%s/cache-%s", m->scratch, kWorks[work]);
  run_shell("rm -rf %2$s && cp -r %1$s %2$s", from, to);
}

static void set_number(const char *name, long value) {
  char text[32];
  snprintf(text, sizeof text, "%ld", value);
  setenv(name, text, 1);
}

static void environment(const matrix *m, const slot *s, int number, const cell *at) {
  static const char *const kAs[] = {"error", "hang", "slow", "slow", "silent", "lost", "count"};
  char text[1200];
  snprintf(text, sizeof text, "%s/slot%d/hx", m->scratch, number);
  setenv("HX_CACHE_DIR", text, 1);
  const dress *d = &kDresses[at->dress];
  snprintf(text, sizeof text, "%s%s%s", d->layer ? m->dress_layer : "", d->layer ? ":" : "", m->fault_layer);
  setenv("OPENCL_LAYERS", text, 1);
  if (d->layer) setenv("DRESS", d->layer, 1);
  setenv("LAYER_LOG", s->log, 1);
  setenv("FAULT_FN", at->entry, 1);
  setenv("FAULT_KIND", kAs[at->kind], 1);
  set_number("FAULT_NTH", (long)at->nth);
  set_number("FAULT_MS", at->kind == F_LATE ? LATE_MS : SLOW_MS);
  if (at->code) set_number("FAULT_CODE", at->code);
  if (at->arm == ARM_READY) setenv("FAULT_ARM", "", 1); /* the child sets layer_fault.armed */
}

/* Executes this program the way it was started itself, possibly by another dynamic loader (tests/driver.sh). */
static void become_child(const char *program, char *fd) {
  static char line[8192];
  char *words[64], child[] = "--child";
  const int f = open("/proc/self/cmdline", O_RDONLY);
  const ssize_t length = read(f, line, sizeof line - 1);
  int count = 0;
  for (char *word = line; length > 0 && word < line + length && count < 60; word += strlen(word) + 1) {
    words[count++] = word;
    if (strcmp(word, program) != 0) continue;
    words[count++] = child, words[count++] = fd, words[count] = NULL;
    execv(words[0], words);
  }
  _exit(127);
}

void run_start(const matrix *m, slot *s, int number, const cell *at, const long *live) {
  char fd[16];
  if (!s->memory) {
    folder_of(m, number, s->text, sizeof s->text);
    snprintf(s->log, sizeof s->log, "%.480s/log", s->text);
    strncat(s->text, "/out", sizeof s->text - strlen(s->text) - 1);
    s->fd = memfd_create("cell", 0);
    if (s->fd < 0 || ftruncate(s->fd, sizeof *s->memory) != 0) exit(2);
    s->memory = mmap(NULL, sizeof *s->memory, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
    if (s->memory == MAP_FAILED) exit(2);
  }
  fresh_cache(m, number, at->work);
  unlink(s->log);
  memset(s->memory, 0, sizeof *s->memory);
  s->memory->at = *at;
  s->memory->has_live = live != NULL;
  if (live) memcpy(s->memory->live, live, sizeof s->memory->live);
  snprintf(s->memory->fault_layer, sizeof s->memory->fault_layer, "%s", m->fault_layer);
  snprintf(s->memory->result.phase, sizeof s->memory->result.phase, "start");
  s->memory->result.limit_ms = START_MS;
  s->memory->result.began_ns = now_ns();
  s->at = at;
  snprintf(fd, sizeof fd, "%d", s->fd);
  fflush(stdout);
  s->pid = fork();
  if (s->pid != 0) return;
  const int text = open(s->text, O_CREAT | O_TRUNC | O_WRONLY, 0600);
  dup2(text, 1), dup2(text, 2);
  environment(m, s, number, at);
  become_child(m->program, fd);
}

int run_child(int fd) {
  shared *const memory = mmap(NULL, sizeof *memory, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return 3;
  return child_main(&memory->at, &memory->result, memory->has_live ? memory->live : NULL, memory->fault_layer);
}

/* Reads the layer's log: the number of faults, and the first violation. */
static void read_log(slot *s, outcome *o, char *violation, size_t bytes) {
  char line[600];
  FILE *const f = fopen(s->log, "r");
  while (f && fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = '\0';
    o->faults += strncmp(line, "layer: fault:", 13) == 0;
    if (strncmp(line, "layer: VIOLATION", 16) == 0 && !violation[0]) snprintf(violation, bytes, "%.200s", line + 7);
  }
  if (f) fclose(f);
}

static void judge_cell(slot *s, int status, bool overdue, outcome *o) {
  const cell_result *r = &s->memory->result;
  char violation[208] = "";
  memset(o, 0, sizeof *o);
  read_log(s, o, violation, sizeof violation);
  o->slowest_ms = r->slowest_ms;
  snprintf(o->slowest, sizeof o->slowest, "%s", r->slowest);
  if (overdue)
    snprintf(o->why, sizeof o->why, "%s does not end within %u ms", r->phase, r->limit_ms);
  else if (WIFSIGNALED(status))
    snprintf(o->why, sizeof o->why, "signal %d in or after %s", WTERMSIG(status), r->phase);
  else if (WEXITSTATUS(status) != 0 || !r->finished)
    snprintf(o->why, sizeof o->why, "status %d in or after %s", WEXITSTATUS(status), r->phase);
  else if (r->wrong)
    snprintf(o->why, sizeof o->why, "%u WRONG: %.250s", r->wrong, r->note);
  else if (r->bad)
    snprintf(o->why, sizeof o->why, "%.300s", r->note);
  else if (violation[0])
    snprintf(o->why, sizeof o->why, "%.300s", violation), o->late = true; /* some time after the loss */
  o->late = o->late || overdue;
  o->verdict = o->why[0] ? RED : o->faults == 0 && s->at->kind != F_NONE ? NOT_REACHED : RIGHT;
}

/* Whether the current call has exceeded its time limit. Time without a core does not count, up to a few times the
 * limit, because threads that only wait for each other in loops also keep each other from the cores. */
static bool overdue_now(slot *s) {
  const int64_t began = atomic_load(&s->memory->result.began_ns), now = now_ns();
  const int64_t limit = (int64_t)atomic_load(&s->memory->result.limit_ms) * 1000000;
  if (began == 0 || now - began < WATCHED_NS) return false;
  if (began != s->call_ns) {
    s->call_ns = began;
    starved_begin(&s->starved, s->pid, now);
  }
  const int64_t excused = starved_ns(&s->starved, now), most = EXCUSED * limit;
  return now - began > limit + (excused < most ? excused : most);
}

bool run_ended(slot *s, outcome *o) {
  int status = 0;
  const bool overdue = overdue_now(s);
  if (overdue) kill(s->pid, SIGKILL);
  if (waitpid(s->pid, &status, overdue ? 0 : WNOHANG) == 0) return false;
  judge_cell(s, status, overdue, o);
  s->pid = 0;
  return true;
}
