/* SPDX-License-Identifier: Apache-2.0
 * A child of the fault matrix: one process of work with an OpenCL device, in which one call goes wrong. Every bit is
 * compared, every call is timed, and what it has allocated at the end is counted. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/hx.h"
#include "reference/data.h"
#include "tests/faults/cell.h"
#include "tests/layers/fault_layer.h"
#include "reference/ref.h"

enum { N = 40007, M = 24, COLUMNS = 20, K = 530, CELLS = M * COLUMNS, FIELDS = 3 };
enum { GRACE_MS = 250, SETTLE_MS = 1000, DEVICE_NOT_AVAILABLE = -2, NVIDIA_LOST = -9999 };

static cell_result *out;
static layer_fault_t *layer;
static const cell *at;
static hx_context *hx;
static float *a, *b, *c, *r, *x, *y;
static float want[CELLS]; /* C of the current product */
static int32_t *ints;
static bool own_b, own_r;

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void sleep_ms(long ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL); }

__attribute__((format(printf, 2, 3))) static void complain(unsigned *count, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (!out->note[0]) vsnprintf(out->note, sizeof out->note, format, arguments);
  va_end(arguments);
  ++*count;
}

static void begin_phase(const char *phase, unsigned limit_ms) {
  snprintf(out->phase, sizeof out->phase, "%s", phase);
  atomic_store(&out->limit_ms, limit_ms);
  atomic_store(&out->began_ns, now_ns());
}

static void end_phase(void) {
  const double ms = (double)(now_ns() - atomic_exchange(&out->began_ns, 0)) * 1e-6;
  if (ms > out->slowest_ms && strcmp(out->phase, "hx_ready") != 0) {
    out->slowest_ms = ms;
    snprintf(out->slowest, sizeof out->slowest, "%s", out->phase);
  }
}

#define IN_TIME TIMEOUT_MS + MARGIN_MS
#define TIMED(name, call)       \
  do {                          \
    begin_phase(name, IN_TIME); \
    call;                       \
    end_phase();                \
  } while (0)

/* Whether the status is the right one. resident: a result that exists only on the device may be lost with it. */
static bool went_well(hx_status s, bool resident) {
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

static void run_task(hx_task *t, float share, bool async, bool resident, bool *ok, const char *what) {
  const unsigned long chunks = atomic_load(&layer->chunks);
  hx_report report = {.recovered = 0};
  hx_event *event = NULL;
  hx_status s;
  t->gpu_share = share;
  if (async) {
    TIMED("hx_offload_async", s = hx_offload_async(hx, t, &event));
    if (s == HX_OK) TIMED("hx_wait", s = hx_wait(event, &report));
  } else {
    TIMED(what, s = hx_offload(hx, t, &report));
  }
  *ok = went_well(s, resident);
  if (*ok) check_recovered(chunks, &report, what);
}

static void reduce(hx_op op, hx_type type, const void *from, const void *with, size_t n, float share, bool async) {
  hx_value got = {.u64 = UINT64_C(0x1234567890abcdef)};
  const hx_value wanted = ref_reduce(op, type, from, with, n);
  hx_task t = op == HX_DOT ? hx_dot(type, from, with, n, &got) : hx_reduce(op, type, from, n, &got);
  bool ok;
  run_task(&t, share, async, false, &ok, "reduction");
  if (ok && got.u64 != wanted.u64)
    complain(&out->wrong, "op %d type %d share %g: %llx instead of %llx", (int)op, (int)type, (double)share,
             (unsigned long long)got.u64, (unsigned long long)wanted.u64);
}

static void fields(int from, float share) {
  hx_field f[FIELDS] = {
      {HX_SUM, HX_F32, x + from, NULL}, {HX_MAX, HX_I32, ints + from, NULL}, {HX_DOT, HX_F32, y + from, x + from}};
  hx_value got[FIELDS];
  hx_task t = hx_reduce_soa(f, FIELDS, N - 1, got);
  bool ok;
  run_task(&t, share, false, false, &ok, "structure of arrays");
  for (int i = 0; ok && i < FIELDS; i++)
    if (got[i].u64 != ref_reduce(f[i].op, f[i].type, f[i].x, f[i].y, N - 1).u64)
      complain(&out->wrong, "field %d share %g", i, (double)share);
}

static void fill_old_c(float *into) {
  for (int i = 0; i < CELLS; i++) into[i] = (float)(i % 11) - 5.0f;
}

/* Each product has a different alpha, so that the old contents of a buffer are never right. */
static float next_alpha(void) {
  static float alpha = 1.25f;
  return alpha += 0.25f;
}

static void product(bool with_beta, float *into, float share, bool async, bool resident) {
  fill_old_c(into);
  if (resident) {
    hx_status s;
    TIMED("hx_modified", s = hx_modified(hx, into, sizeof want));
    went_well(s, true);
  }
  hx_task t = hx_matmul(M, COLUMNS, K, a, b, into);
  t.matmul.alpha = next_alpha();
  t.matmul.beta = with_beta ? 0.5f : 0.0f;
  struct hx_matmul_args w = t.matmul;
  w.c = want;
  fill_old_c(want);
  ref_matmul(&w);
  bool ok;
  run_task(&t, share, async, resident, &ok, "product");
  if (ok && resident) {
    hx_status s;
    TIMED("hx_sync", s = hx_sync(hx, into, sizeof want));
    /* Memory may be short only for a moment, and the result is still on the device. */
    if (s == HX_OUT_OF_MEMORY) TIMED("hx_sync", s = hx_sync(hx, into, sizeof want));
    ok = went_well(s, true);
  }
  if (ok && memcmp(into, want, sizeof want) != 0)
    complain(&out->wrong, "product, beta %g, share %g%s", with_beta ? 0.5 : 0.0, (double)share,
             resident ? ", resident" : "");
}

static void *allocate(size_t bytes, bool *own) {
  void *p;
  TIMED("hx_alloc", p = hx_alloc(hx, bytes));
  if (!p) complain(&out->bad, "hx_alloc: %.200s", hx_error_detail());
  *own = p != NULL;
  return p ? p : calloc(1, bytes);
}

static void make_data(void) {
  a = malloc(sizeof(float) * M * K), c = malloc(sizeof want);
  x = malloc(sizeof(float) * N), y = malloc(sizeof(float) * N), ints = malloc(sizeof(int32_t) * N);
  if (!a || !c || !x || !y || !ints) exit(3);
  data_fill(HX_F32, DATA_SIGNED, 1, a, M * K);
  data_fill(HX_F32, DATA_EXPONENTS, 3, x, N);
  data_fill(HX_F32, DATA_SIGNED, 4, y, N);
  data_fill(HX_I32, DATA_SIGNED, 5, ints, N);
}

static void advise(void *p, size_t bytes, unsigned advice, bool own) {
  hx_status s;
  if (!own) return;
  TIMED("hx_advise", s = hx_advise(hx, p, bytes, advice));
  went_well(s, advice == HX_RESIDENT);
}

/* After this the library must know of the loss, and every call on the context is a violation. */
static void let_it_know(void) {
  static bool done;
  if (at->kind != F_LOST || done || atomic_load(&layer->injected) == 0) return;
  done = true;
  sleep_ms(GRACE_MS);
}

/* The second round reads all arrays from the next element on, so that results of the first round would be wrong. */
static void run_two_rounds(void) {
  static const float kShares[] = {0.5f, 1.0f};
  for (int round = 0; round < 2; round++) {
    const float share = kShares[round];
    reduce(HX_SUM, HX_F32, x + 1 + round, NULL, N - 2, share, false);
    reduce(HX_DOT, HX_F32, x + round, y, N - 1, 0.5f, round == 1);
    reduce(HX_ARGMIN, HX_I32, ints + round, NULL, N - 1, share, false);
    let_it_know();
    fields(round, share);
    product(false, c, 0.5f, false, false);
    product(true, c, share, true, false);
    if (round == 0) advise(b, sizeof(float) * K * COLUMNS, HX_READ_MOSTLY, own_b);
    if (round == 0) advise(r, sizeof want, HX_RESIDENT, own_r);
    let_it_know();
    product(false, r, 1.0f, false, own_r);
    product(true, r, share, false, own_r);
  }
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

static void give_back(bool registered) {
  hx_status s;
  if (registered) {
    TIMED("hx_unregister", s = hx_unregister(hx, x));
    went_well(s, false);
  }
  TIMED("hx_free", if (own_r) hx_free(hx, r); if (own_b) hx_free(hx, b));
  TIMED("hx_close", hx_close(hx));
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
 * be used is not freed, and no call is made on the context. */
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
  make_data();
  if (!(hx = open_one())) return 3;
  if (at->arm == ARM_READY || at->kind != F_HANG) call_ready();
  atomic_store(&layer->armed, 1);
  b = allocate(sizeof(float) * K * COLUMNS, &own_b), r = allocate(sizeof want, &own_r);
  data_fill(HX_F32, DATA_SIGNED, 2, b, K * COLUMNS);
  hx_status s;
  TIMED("hx_register", s = hx_register(hx, x, sizeof(float) * N));
  const bool registered = went_well(s, false);
  run_two_rounds();
  reduce(HX_SUM, HX_F32, x, NULL, N, -1, false); /* later calls, with shares that hx chooses */
  product(true, c, -1, false, false);
  const bool says_lost =
      at->code == DEVICE_NOT_AVAILABLE || at->code == NVIDIA_LOST; /* hx_close may be the call that gets this code */
  const bool lost = at->kind == F_HANG || says_lost || any_lost();
  give_back(registered);
  check_leaks(live, lost);
  out->finished = true;
  begin_phase("exit", EXIT_MS);
  return 0;
}
