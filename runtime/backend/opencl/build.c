/* SPDX-License-Identifier: Apache-2.0
 * Builds programs on threads that make no other OpenCL call than clBuildProgram, so that a compiler does not take a
 * core from the caller's work. A build runs at SCHED_IDLE once a core is idle. If no core is idle for ten seconds, it
 * runs at a low priority. If a call waits for it, it runs at normal priority. A thread that has lowered its priority
 * may not be allowed to raise it again, so each priority has threads of its own: usually one. If the device's compiler
 * can build several programs at once, further threads at SCHED_IDLE build the programs that will be needed next, while
 * cores are idle. A build that takes over a minute, not counting the time without a core, is given up: its thread is
 * abandoned, and the next build gets a new one. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/backend/opencl/cl.h"
#include "runtime/backend/gate.h"
#include "runtime/backend/registry.h"
#include "runtime/base/clock.h"
#include "runtime/base/load.h"
#include "runtime/base/thread.h"

#define LONGEST_BUILD_NS 60000000000u
#define HANG_NS 10000000000u    /* a compiler that sleeps this long is given up */
#define ABANDONED (-9999)       /* returned instead of a code: the build may still run */
#define NO_CORE_NS 10000000000u /* the longest wait for an idle core */
#define POLL_NS 50000000u       /* between checks of whether a call waits, and of the machine's load */

/* The priority of a build, and of the thread that does it. */
typedef enum urgency { URGENCY_IDLE, URGENCY_LOW, URGENCY_NORMAL, URGENCIES } urgency;

typedef struct job {
  struct job *next;
  hx__device *owner; /* the device that it is built for */
  cl_program program;
  hx__cl_device *device; /* the device of a build ahead; NULL: a thread waits for the build from the start */
  cl_device_id id;
  hx__kernel_kind kind;
  char options[2048];
  urgency urgency;
  uint64_t queued_ns, begun_ns; /* begun_ns 0: it has not begun */
  pid_t thread;                 /* the thread that builds it */
  const hx__gate *gate;         /* of that thread */
  uint64_t delay_ns;            /* how long that thread had waited for a core when the build began */
  cl_int code;
  bool wanted, raised, done, abandoned;
} job;

/* How many programs a family's compiler can build at once with gain. Compilers without a row: one. NVIDIA's has one
 * lock around the first half of a build. */
static const struct {
  uint32_t family;
  unsigned builders;
} compilers[] = {{HX__FAMILY_NVIDIA, 3}};

static unsigned builders_of(const hx__cl_device *d) {
  for (size_t i = 0; i < sizeof compilers / sizeof compilers[0]; i++)
    if (d->families & compilers[i].family) return compilers[i].builders;
  return 1;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static job *jobs;                    /* jobs that are not finished, oldest first */
static unsigned builders[URGENCIES]; /* threads that were not given up */
static unsigned free_builders[URGENCIES];

static void init_condition(void) { hx__cond_init(&changed); }

static void unlink_job(job *j) {
  job **at = &jobs;
  while (*at && *at != j) at = &(*at)->next;
  if (*at) *at = j->next;
}

/* The oldest job of this urgency that has not begun. Jobs that a thread waits for come first. */
static job *next_job(urgency u) {
  job *ahead = NULL;
  for (job *j = jobs; j; j = j->next) {
    if (j->begun_ns || j->done || j->urgency != u) continue;
    if (j->wanted) return j;
    if (!ahead) ahead = j;
  }
  return ahead;
}

/* For how long the thread of a job that has begun had a core or slept: the time since then without the waits for a
 * core. */
static uint64_t spent_ns(const job *j) {
  const uint64_t all = hx__now_ns() - j->begun_ns, delay = hx__thread_delay_ns(j->thread) - j->delay_ns;
  return delay < all ? all - delay : 0;
}

/* Sets the calling thread's priority before each build, because a waiting thread may have raised it during the last
 * one. */
static void take_priority(urgency u) {
  if (u == URGENCY_IDLE && !hx__thread_set_idle_priority())
    hx__log(HX__LOG_INFO, "SCHED_IDLE refused: builds run at normal priority");
  if (u == URGENCY_LOW) setpriority(PRIO_PROCESS, (id_t)gettid(), 10); /* a tenth of a core beside busy threads */
}

/* What a build thread owns. */
typedef struct builder {
  hx__gate gate;
  urgency urgency;
} builder;

static void build_all(void *p) {
  builder *const self = p;
  const urgency u = self->urgency;
  take_priority(u);
  pthread_mutex_lock(&lock);
  for (bool stuck = false; !stuck;) {
    job *const j = next_job(u);
    if (!j) {
      free_builders[u]++;
      pthread_cond_wait(&changed, &lock);
      free_builders[u]--;
      continue;
    }
    if (u == URGENCY_IDLE && !hx__core_is_idle()) { /* else it might hold the compiler's locks for minutes */
      hx__cond_wait_until(&changed, &lock, hx__now_ns() + POLL_NS);
      continue;
    }
    const bool entered = hx__driver_enter();
    if (!entered && !j->wanted) { /* exit has begun */
      j->code = CL_BUILD_PROGRAM_FAILURE;
      j->done = true;
      continue;
    }
    take_priority(u);
    j->thread = gettid();
    j->gate = &self->gate;
    self->gate.device = j->owner;
    j->delay_ns = hx__thread_delay_ns(j->thread);
    j->begun_ns = hx__now_ns();
    pthread_mutex_unlock(&lock);
    const cl_int code = clBuildProgram(j->program, 1, &j->id, j->options, NULL, NULL);
    if (entered) hx__driver_leave();
    pthread_mutex_lock(&lock);
    j->code = code;
    j->done = true;
    stuck = j->abandoned;
    if (stuck) free(j);
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&lock);
}

static void *build_loop(void *p) {
  builder *const self = p;
  hx__gate_run(&self->gate, NULL, build_all, self);
  free(self);
  return NULL;
}

/* Whether a thread that the calling thread starts can have this priority. An unprivileged thread at SCHED_IDLE can only
 * start threads at SCHED_IDLE. */
static bool may_start(urgency u) { return u == URGENCY_IDLE || !hx__thread_has_idle_priority(); }

/* Starts a thread for one more job, unless one is free or there are `most` already. Under the lock. */
static void builder_start(urgency u, unsigned most) {
  pthread_t thread;
  if (free_builders[u] || builders[u] >= most) return;
  builder *const b = calloc(1, sizeof *b);
  if (b) b->urgency = u;
  if (!b || hx__thread_start(&thread, build_loop, b) != 0) {
    free(b);
    return;
  }
  pthread_detach(thread);
  builders[u]++;
}

/* Creates a job. NULL: no memory, or the options are too long. */
static job *job_new(const hx__cl_device *owner, cl_program program, const char *options) {
  pthread_once(&once, init_condition);
  job *const j = calloc(1, sizeof *j);
  if (!j || strlen(options) >= sizeof j->options) {
    free(j);
    return NULL;
  }
  *j = (job){.owner = (hx__device *)(uintptr_t)&owner->base, .program = program, .id = owner->id};
  j->queued_ns = hx__now_ns();
  strcpy(j->options, options);
  return j;
}

static void job_add(job *j) {
  job **at = &jobs;
  while (*at) at = &(*at)->next;
  *at = j;
  pthread_cond_broadcast(&changed);
}

/* The urgency to give a job so that a thread serves it: `now`, or the next lower one above `was` that has a thread or
 * can get one. */
static urgency served_by(urgency now, urgency was) {
  for (urgency u = now; u > was; u--) {
    if (may_start(u)) builder_start(u, 1);
    if (builders[u]) return u;
  }
  builder_start(now, 1); /* even if this thread has idle priority, it does not wait for an idle core */
  return builders[now] ? now : was;
}

/* Raises the urgency of a job if a call waits for it or no core has been idle, and makes sure that a thread serves it.
 * If the job has begun, raises its thread's priority if the system allows that. Under the lock. */
static void raise_urgency(job *j) {
  const struct sched_param none = {0};
  const bool awaited = hx__registry_is_awaited();
  if (j->begun_ns) {
    if (awaited && !j->raised && j->urgency == URGENCY_IDLE) sched_setscheduler(j->thread, SCHED_OTHER, &none);
    j->raised = j->raised || awaited;
    return;
  }
  const urgency was = j->urgency;
  const bool no_core = was == URGENCY_IDLE && hx__now_ns() - j->queued_ns >= NO_CORE_NS;
  const urgency now = awaited ? URGENCY_NORMAL : no_core ? URGENCY_LOW : was;
  j->urgency = served_by(now, was);
  if (j->urgency != was) pthread_cond_broadcast(&changed);
}

/* Waits for a job in the list and removes it. Under the lock. */
static cl_int job_wait(job *j) {
  hx__gate_watch watch = {0};
  hx__gate *const mine = hx__gate_of_this_thread();
  j->wanted = true;
  for (raise_urgency(j); !j->done && builders[j->urgency] && !hx__exit_has_begun(); raise_urgency(j)) {
    const uint64_t asleep_ns = j->begun_ns ? hx__gate_asleep_ns(j->gate, &watch) : 0;
    if (mine) atomic_store(&mine->helper_asleep_ns, asleep_ns); /* for a thread that waits for this one */
    if (j->begun_ns && (spent_ns(j) >= LONGEST_BUILD_NS || asleep_ns >= HANG_NS)) break;
    hx__cond_wait_until(&changed, &lock, hx__now_ns() + POLL_NS);
  }
  if (mine) atomic_store(&mine->helper_asleep_ns, 0);
  unlink_job(j);
  if (j->done || !j->begun_ns) {
    const cl_int code = j->done ? j->code : CL_OUT_OF_HOST_MEMORY; /* no thread could do it */
    free(j);
    return code;
  }
  j->abandoned = true;
  builders[j->urgency]--;
  return ABANDONED;
}

/* Starts the more urgent threads early: the thread that will wait for the other programs of a set will have idle
 * priority by then and cannot start them. Under the lock. */
static void start_ahead(const hx__cl_device *d) {
  for (urgency u = URGENCY_LOW; builders_of(d) > 1 && u <= URGENCY_NORMAL; u++)
    if (may_start(u)) builder_start(u, 1);
}

static cl_int build_idle(const hx__cl_device *d, cl_program program, const char *options) {
  job *const j = job_new(d, program, options);
  if (!j) return CL_OUT_OF_HOST_MEMORY;
  pthread_mutex_lock(&lock);
  start_ahead(d);
  j->wanted = true;
  job_add(j);
  const cl_int code = job_wait(j);
  pthread_mutex_unlock(&lock);
  return code;
}

cl_int hx__cl_build(const hx__cl_device *d, cl_program program, const char *options, bool idle) {
  return idle ? build_idle(d, program, options) : clBuildProgram(program, 1, &d->id, options, NULL, NULL);
}

bool hx__cl_build_was_abandoned(cl_int code) { return code == ABANDONED; }

static void log_build(cl_program program, cl_device_id id) {
  char text[2048] = "";
  clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, sizeof text - 1, text, NULL);
  hx__log(HX__LOG_INFO, "build log: %s", text);
}

static cl_program from_sources(hx__cl_device *d, hx__kernel_kind kind, cl_int *code) {
  const char *const *sources = hx__kernel_sources(kind);
  cl_uint count = 0;
  while (sources[count]) count++;
  return clCreateProgramWithSource(d->context, count, (const char **)sources, NULL, code);
}

/* The build ahead with these options, or NULL. Under the lock. */
static job *job_ahead(const hx__cl_device *d, hx__kernel_kind kind, const char *options) {
  for (job *j = jobs; j; j = j->next)
    if (j->device == d && j->kind == kind && strcmp(j->options, options) == 0) return j;
  return NULL;
}

bool hx__cl_build_ahead(hx__cl_device *d, hx__kernel_kind kind, const char *options) {
  const unsigned most = builders_of(d);
  if (most == 1 || !hx__core_is_idle()) return false;
  pthread_once(&once, init_condition);
  pthread_mutex_lock(&lock);
  const bool known = job_ahead(d, kind, options) != NULL;
  pthread_mutex_unlock(&lock);
  if (known) return true;
  cl_int code;
  cl_program program = from_sources(d, kind, &code);
  job *const j = program ? job_new(d, program, options) : NULL;
  if (!j) {
    if (program) clReleaseProgram(program);
    return false;
  }
  j->device = d;
  j->kind = kind;
  pthread_mutex_lock(&lock);
  job_add(j);
  builder_start(URGENCY_IDLE, most);
  pthread_mutex_unlock(&lock);
  return true;
}

void hx__cl_build_cancel(hx__cl_device *d, hx__kernel_kind kind, const char *options) {
  pthread_mutex_lock(&lock);
  job *const j = job_ahead(d, kind, options);
  cl_program program = j ? j->program : NULL;
  if (j && !j->begun_ns) {
    unlink_job(j);
    free(j);
  } else if (j && job_wait(j) == ABANDONED) {
    program = NULL; /* the build may still run: leaked */
  }
  pthread_mutex_unlock(&lock);
  if (program) clReleaseProgram(program);
}

cl_program hx__cl_program_new(hx__cl_device *d, hx__kernel_kind kind, const char *options, bool idle, cl_int *code) {
  const uint64_t from = hx__now_ns();
  pthread_once(&once, init_condition);
  pthread_mutex_lock(&lock);
  job *const ahead = idle ? job_ahead(d, kind, options) : NULL;
  cl_program program = ahead ? ahead->program : NULL;
  if (ahead) *code = job_wait(ahead);
  pthread_mutex_unlock(&lock);
  if (!ahead) {
    program = from_sources(d, kind, code);
    if (!program) return NULL;
    *code = hx__cl_build(d, program, options, idle);
  }
  hx__log(HX__LOG_DEBUG, "%s: build %s: %s, waited %.1f ms", d->base.name, options,
          *code == CL_SUCCESS ? "done" : hx__cl_code_name(*code), (double)(hx__now_ns() - from) * 1e-6);
  if (*code == CL_SUCCESS) return program;
  if (*code == CL_BUILD_PROGRAM_FAILURE) log_build(program, d->id);
  if (*code != ABANDONED) clReleaseProgram(program); /* otherwise the build may still run: leaked */
  return NULL;
}
