/* SPDX-License-Identifier: Apache-2.0
 * Building programs. The thread that builds enters SCHED_IDLE once and stays there, so that a compiler never takes a
 * core from the caller's work; it makes no OpenCL call but clBuildProgram. A build of over a minute is given up: the
 * thread is left to it and the next build gets a new one. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/backend/opencl/cl.h"
#include "runtime/base/clock.h"
#include "runtime/base/thread.h"

#define PATIENCE_NS 60000000000u

typedef struct job {
  cl_program program;
  cl_device_id id;
  char options[2048];
  cl_int code;
  bool done, abandoned;
} job;

typedef struct builder {
  job *job;
  bool stuck;
} builder;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* one build at a time: it is one idle thread */
static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static builder *current;

static void init(void) { hx__cond_init(&changed); }

static void *build_loop(void *p) {
  builder *const me = p;
  const struct sched_param none = {0};
  if (sched_setscheduler(0, SCHED_IDLE, &none) != 0)
    hx__log(HX__LOG_INFO, "SCHED_IDLE refused: builds run at normal priority");
  pthread_mutex_lock(&state_lock);
  while (!me->stuck) {
    job *const j = me->job;
    if (!j) {
      pthread_cond_wait(&changed, &state_lock);
      continue;
    }
    pthread_mutex_unlock(&state_lock);
    const cl_int code = clBuildProgram(j->program, 1, &j->id, j->options, NULL, NULL);
    pthread_mutex_lock(&state_lock);
    j->code = code;
    j->done = true;
    me->job = NULL;
    if (j->abandoned) free(j);
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&state_lock);
  free(me);
  return NULL;
}

static builder *builder_start(void) {
  builder *b = calloc(1, sizeof *b);
  pthread_t thread;
  if (!b || hx__thread_start(&thread, build_loop, b) != 0) {
    free(b);
    return NULL;
  }
  pthread_detach(thread);
  return b;
}

static cl_int build_idle(cl_program program, cl_device_id id, const char *options) {
  pthread_once(&once, init);
  job *j = calloc(1, sizeof *j);
  if (!j || strlen(options) >= sizeof j->options) {
    free(j);
    return CL_OUT_OF_HOST_MEMORY;
  }
  *j = (job){.program = program, .id = id};
  strcpy(j->options, options);
  pthread_mutex_lock(&lock);
  pthread_mutex_lock(&state_lock);
  if (!current) current = builder_start();
  cl_int code = CL_OUT_OF_HOST_MEMORY;
  if (current) {
    const uint64_t deadline = hx__now_ns() + PATIENCE_NS;
    current->job = j;
    pthread_cond_broadcast(&changed);
    while (!j->done && hx__cond_wait_until(&changed, &state_lock, deadline)) {
    }
    if (j->done) {
      code = j->code;
    } else {
      code = CL_BUILD_PROGRAM_FAILURE;
      j->abandoned = true;
      current->stuck = true;
      current = NULL;
    }
  }
  const bool mine = !j->abandoned;
  pthread_mutex_unlock(&state_lock);
  pthread_mutex_unlock(&lock);
  if (mine) free(j);
  return code;
}

cl_int hx__cl_build(cl_program program, cl_device_id id, const char *options, bool idle) {
  return idle ? build_idle(program, id, options) : clBuildProgram(program, 1, &id, options, NULL, NULL);
}

static void log_build(cl_program program, cl_device_id id) {
  char text[2048] = "";
  clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, sizeof text - 1, text, NULL);
  hx__log(HX__LOG_INFO, "build log: %s", text);
}

cl_program hx__cl_program_new(hx__cl_device *d, hx__kernel_kind kind, const char *options, bool idle, cl_int *code) {
  const char *const *sources = hx__kernel_sources(kind);
  cl_uint count = 0;
  while (sources[count]) count++;
  cl_program program = clCreateProgramWithSource(d->context, count, (const char **)sources, NULL, code);
  if (!program) return NULL;
  const uint64_t from = hx__now_ns();
  *code = hx__cl_build(program, d->id, options, idle);
  hx__log(HX__LOG_DEBUG, "%s: build %s: %s in %.1f ms", d->base.name, options,
          *code == CL_SUCCESS ? "done" : hx__cl_code_name(*code), (double)(hx__now_ns() - from) * 1e-6);
  if (*code == CL_SUCCESS) return program;
  if (*code == CL_BUILD_PROGRAM_FAILURE && hx__now_ns() - from < PATIENCE_NS) {
    log_build(program, d->id);
    clReleaseProgram(program);
  } /* else it may still be building: leaked */
  return NULL;
}
