/* SPDX-License-Identifier: Apache-2.0
 * Threads of hx run on every CPU that the process may use, even if a pinned thread opened the context or submitted the
 * work. */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/thread.h"
#include "tests/check.h"

#define SIDE 1536u /* side of a product that takes long enough for its threads to be examined */

typedef struct scene {
  bool opens; /* the pinned thread opens the context, too */
  hx_context *hx;
  float *a, *b, *c;
  _Atomic pid_t worker;
  _Atomic bool over;
} scene;

static void open_context(scene *s) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "cpu,sim";
  s->hx = open_or_exit(&settings);
}

static void *compute_pinned(void *p) {
  scene *const s = p;
  cpu_set_t all, one;
  sched_getaffinity(0, sizeof all, &all);
  CPU_ZERO(&one);
  size_t last = 0;
  for (size_t i = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET(i, &all)) last = i;
  CPU_SET(last, &one);
  sched_setaffinity(0, sizeof one, &one);
  s->worker = gettid();
  if (s->opens) open_context(s);
  for (int i = 0; i < 3; i++) {
    hx_task task = hx_matmul(SIDE, SIDE, SIDE, s->a, s->b, s->c);
    hx_event *event = NULL;
    CHECK_OK(hx_offload_async(s->hx, &task, &event));
    while (!hx_done(event)) usleep(1000); /* hx_wait would compute on this thread */
    CHECK_OK(hx_wait(event, NULL));
  }
  s->over = true;
  return NULL;
}

/* Counts the threads that hx has started in this process, and those of them that may not run on all CPUs of the
 * process. */
static void count_threads(const scene *s, unsigned *seen, unsigned *confined) {
  cpu_set_t all, mask;
  sched_getaffinity(getpid(), sizeof all, &all);
  DIR *const tasks = opendir("/proc/self/task");
  if (!tasks) exit(1);
  for (struct dirent *e; (e = readdir(tasks));) {
    const pid_t task = (pid_t)atoi(e->d_name);
    if (task <= 0 || task == getpid() || task == s->worker || !s->worker) continue;
    /* A new thread first has the mask of the thread that started it, and on a busy machine it may take seconds until it
     * runs and changes that. */
    bool free_to_run = false, there = true;
    for (int attempt = 0; attempt < 1000 && there && !free_to_run; attempt++) {
      if (attempt) usleep(10000);
      there = sched_getaffinity(task, sizeof mask, &mask) == 0;
      free_to_run = there && CPU_EQUAL(&mask, &all);
    }
    *seen += there;
    *confined += there && !free_to_run;
  }
  closedir(tasks);
}

static int play_scene(bool opens) {
  scene s = {.opens = opens};
  unsigned seen = 0, confined = 0;
  s.a = calloc((size_t)SIDE * SIDE, sizeof *s.a);
  s.b = calloc((size_t)SIDE * SIDE, sizeof *s.b);
  s.c = calloc((size_t)SIDE * SIDE, sizeof *s.c);
  if (!s.a || !s.b || !s.c) return 1;
  if (!opens) open_context(&s);
  pthread_t thread;
  if (pthread_create(&thread, NULL, compute_pinned, &s) != 0) return 1;
  while (!s.over && confined == 0) count_threads(&s, &seen, &confined);
  pthread_join(thread, NULL);
  hx_close(s.hx);
  free(s.a), free(s.b), free(s.c);
  printf("  %s: %u threads seen\n", opens ? "opened by the pinned thread" : "opened by the main thread", seen);
  CHECK(seen > 0, "no thread of hx was seen that may run where the process may");
  CHECK(confined == 0, "%u of %u times a thread may not run where the process may", confined, seen);
  fflush(stdout);
  return checks_failed != 0;
}

static void *note_that_it_ran(void *ran) {
  *(bool *)ran = true;
  return NULL;
}

/* hx has noted CPUs that no longer exist: its threads are started nevertheless. */
static int start_without_cpus(void) {
  cpu_set_t gone;
  CPU_ZERO(&gone);
  CPU_SET(CPU_SETSIZE - 1, &gone);
  hx__set_thread_affinity(&gone);
  bool ran = false;
  pthread_t thread;
  CHECK(hx__thread_start(&thread, note_that_it_ran, &ran) == 0 && pthread_join(thread, NULL) == 0, "no thread");
  CHECK(ran, "it did not run");
  fflush(stdout);
  return checks_failed != 0;
}

int main(void) {
  cpu_set_t all;
  if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2) {
    printf(
        "thread_affinity_test: this process may run on one CPU: that threads are not confined to one is not tested\n");
    return 0;
  }
  for (int scene = 0; scene < 3; scene++) { /* hx notes the CPUs once per process */
    const pid_t child = fork();
    if (child == 0) exit(scene < 2 ? play_scene(scene != 0) : start_without_cpus());
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %d", status);
  }
  return checks_end("thread_affinity_test");
}
