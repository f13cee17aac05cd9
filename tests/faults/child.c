/* SPDX-License-Identifier: Apache-2.0
 * A child of the fault matrix: one process of work with an OpenCL device, in which one call goes wrong. Every call is
 * timed, and what is allocated at the end is counted; the workload compares every bit. */
#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/faults/child.h"
#include "tests/layers/fault_layer.h"

enum { GRACE_MS = 250, SETTLE_MS = 15000, DEVICE_NOT_AVAILABLE = -2, NVIDIA_LOST = -9999 };

const cell *at;
cell_result *out;
hx_context *hx;
static layer_fault_t *layer;

static const workload *const kWork[WORKS] = {&kTasks, &kMaps};

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void sleep_ms(long ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL); }

bool same_bits(const void *one, const void *other, size_t bytes) { return memcmp(one, other, bytes) == 0; }

void complain(unsigned *count, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (!out->note[0]) vsnprintf(out->note, sizeof out->note, format, arguments);
  va_end(arguments);
  ++*count;
}

void begin_phase(const char *phase, unsigned limit_ms) {
  snprintf(out->phase, sizeof out->phase, "%s", phase);
  atomic_store(&out->limit_ms, limit_ms);
  atomic_store(&out->began_ns, now_ns());
}

void end_phase(void) {
  const double ms = (double)(now_ns() - atomic_exchange(&out->began_ns, 0)) * 1e-6;
  if (ms > out->slowest_ms && strcmp(out->phase, "hx_ready") != 0) {
    out->slowest_ms = ms;
    snprintf(out->slowest, sizeof out->slowest, "%s", out->phase);
  }
}

bool went_well(hx_status s, bool resident) {
  if (s == HX_OK) return true;
  if (s == HX_DEVICE_FAILED && resident)
    out->lost_results++;
  else
    complain(&out->bad, "%s: %s: %.180s", out->phase, hx_status_string(s), hx_error_detail());
  return false;
}

/* If a chunk was not enqueued, never ran or never ended, it has to be computed again, and the report has to count
 * it. */
static void check_recovered(unsigned long chunks_before, const hx_report *report, const char *what) {
  out->recovered += report->recovered;
  if (at->arm == ARM_READY && atomic_load(&layer->chunks) > chunks_before && report->recovered == 0)
    complain(&out->bad, "%s: a chunk was in flight, and the report has 0 recovered", what);
}

/* A child without a fault may be the first to compile its programs. */
static unsigned limit_of(unsigned how) { return how & BUILDS && at->kind == F_NONE ? READY_MS : IN_TIME; }

bool run_task(hx_task *t, float share, unsigned how, const char *what) {
  const unsigned long chunks = atomic_load(&layer->chunks);
  hx_report report = {.recovered = 0};
  hx_event *event = NULL;
  hx_status s;
  t->gpu_share = share;
  begin_phase(how & ASYNC ? "hx_offload_async" : what, limit_of(how));
  s = how & ASYNC ? hx_offload_async(hx, t, &event) : hx_offload(hx, t, &report);
  end_phase();
  if (event) TIMED("hx_wait", s = hx_wait(event, &report));
  if (!went_well(s, how & RESIDENT)) return false;
  check_recovered(how & BUILDS ? ULONG_MAX : chunks, &report, what);
  return true;
}

void modified(void *p, size_t bytes) {
  hx_status s;
  TIMED("hx_modified", s = hx_modified(hx, p, bytes));
  went_well(s, true);
}

bool synced(void *p, size_t bytes) {
  hx_status s;
  TIMED("hx_sync", s = hx_sync(hx, p, bytes));
  /* Memory may be short only for a moment, and the result is still on the device. */
  if (s == HX_OUT_OF_MEMORY) TIMED("hx_sync", s = hx_sync(hx, p, bytes));
  return went_well(s, true);
}

void *allocate(size_t bytes, bool *own) {
  void *p;
  TIMED("hx_alloc", p = hx_alloc(hx, bytes));
  if (!p) complain(&out->bad, "hx_alloc: %.200s", hx_error_detail());
  *own = p != NULL;
  return p ? p : calloc(1, bytes);
}

void advise(void *p, size_t bytes, unsigned advice, bool own) {
  hx_status s;
  if (!own) return;
  TIMED("hx_advise", s = hx_advise(hx, p, bytes, advice));
  went_well(s, advice == HX_RESIDENT);
}

bool registered(void *p, size_t bytes) {
  hx_status s;
  TIMED("hx_register", s = hx_register(hx, p, bytes));
  return went_well(s, false);
}

void unregister(void *p, bool was_registered) {
  hx_status s;
  if (!was_registered) return;
  TIMED("hx_unregister", s = hx_unregister(hx, p));
  went_well(s, false);
}

void let_it_know(void) {
  static bool done;
  if (at->kind != F_LOST || done || atomic_load(&layer->injected) == 0) return;
  done = true;
  sleep_ms(GRACE_MS);
}

static hx_context *open_one(void) {
  char timeout[16];
  snprintf(timeout, sizeof timeout, "%d", TIMEOUT_MS);
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = kDresses[at->dress].devices;
  s.memory = kModes[at->mode];
  s.timeout_ms = timeout;
  s.threads = "2";
  hx_context *opened = NULL;
  hx_status status;
  TIMED("hx_open", status = hx_open(&opened, &s));
  if (status != HX_OK) complain(&out->bad, "hx_open: %.200s", hx_error_detail());
  return opened;
}

/* hx_ready may wait for a call that hangs, so it is not called then. */
static void call_ready(void) {
  if (at->kind == F_HANG && at->arm == ARM_START) return;
  begin_phase("hx_ready", READY_MS);
  const hx_status s = hx_ready(hx);
  end_phase();
  went_well(s, false);
  hx_device_info info;
  for (size_t i = 1; i < hx_device_count(hx); i++)
    if (hx_device(hx, i, &info) == HX_OK && info.state == HX_USABLE) {
      out->usable = true;
      snprintf(out->memory, sizeof out->memory, "%s", info.memory);
    }
}

static bool objects_settled(const long *live) {
  for (int i = 0; i < LAYER_OBJECTS; i++)
    if (atomic_load(&layer->live[i]) > live[i]) return false;
  return true;
}

static bool any_lost(void) {
  hx_device_info info;
  for (size_t i = 1; i < hx_device_count(hx); i++)
    if (hx_device(hx, i, &info) != HX_OK || info.state == HX_LOST) return true;
  return false;
}

/* After a hang, a late call, a loss, or an error by which a device is lost, leaks are intended: memory that may still
 * be used is not freed, and no call is made on the context. The preparing thread closes its stream at idle priority, so
 * on a busy machine that takes seconds. */
static void check_leaks(const long *live, bool lost) {
  static const char *const kObjects[] = {"contexts", "queues", "buffers",    "programs",
                                         "kernels",  "events", "SVM blocks", "maps"};
  const bool promised = !lost && (at->kind == F_ERROR || at->kind == F_SLOW || at->kind == F_SILENT);
  for (int waited = 0; promised && live && !objects_settled(live) && waited < SETTLE_MS; waited += 5) sleep_ms(5);
  for (int i = 0; i < LAYER_OBJECTS; i++) {
    out->live[i] = atomic_load(&layer->live[i]);
    if (promised && live && out->live[i] > live[i])
      complain(&out->bad, "%ld %s are left over, %ld without a fault", out->live[i], kObjects[i], live[i]);
  }
}

int child_main(const cell *which, cell_result *result, const long *live, const char *layer_path) {
  at = which, out = result;
  void *const library = dlopen(layer_path, RTLD_NOW);
  layer = library ? dlsym(library, "layer_fault") : NULL;
  if (!layer) return printf("no layer %s: %s\n", layer_path, dlerror()), 3;
  const workload *const work = kWork[at->work];
  work->make_data();
  if (!(hx = open_one())) return 3;
  if (at->arm == ARM_READY || at->kind != F_HANG) call_ready();
  atomic_store(&layer->armed, 1);
  work->allocate();
  work->run();
  const bool says_lost =
      at->code == DEVICE_NOT_AVAILABLE || at->code == NVIDIA_LOST; /* hx_close may be the call that gets this code */
  const bool lost = at->kind == F_HANG || says_lost || any_lost();
  work->give_back();
  TIMED("hx_close", hx_close(hx));
  check_leaks(live, lost);
  out->finished = true;
  begin_phase("exit", EXIT_MS);
  return 0;
}
