/* SPDX-License-Identifier: Apache-2.0
 * The settings are read at the first call, and the context of the process is opened at the first call that hx computes.
 * It is never closed: routines may be called until the process ends. */
#define _GNU_SOURCE
#include "blas/call.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "blas/covered.h"
#include "blas/message.h"
#include "blas/openblas.h"

#define NEVER UINT64_MAX
static const struct {
  uint64_t cpu_alone, beside_devices;
} thresholds[] = {
#define THRESHOLD(name, cpu_alone, beside_devices) [HX__BLAS_##name] = {(cpu_alone), (beside_devices)},
#include "blas/thresholds.inc"
#undef THRESHOLD
};

uint64_t hx__blas_forwards_below[HX__BLAS_ROUTINES];

static struct {
  bool logs;
  bool mandatory;      /* HX_OFFLOAD: a call of hx may fail because of a device */
  bool hx_would_log;   /* one line per call, which ours replaces */
  bool is_fixed;       /* the user has said which calls hx computes */
  bool cpu_alone;      /* there is no device that could take part */
  bool counts_threads; /* HX_THREADS says how many threads hx uses, whatever OpenBLAS uses */
  uint64_t least[HX__BLAS_ROUTINES];
} settings;

/* Contexts with the usual number of threads and with the calling thread alone. */
typedef enum team { USUAL, ALONE, TEAMS } team;
static hx_context *contexts[TEAMS]; /* NULL: not opened, or it cannot be */
static bool is_forked_child;

/* The value of a variable; "" if it is not set. As hx does, a process with more rights than its caller reads none. */
static const char *value_of(const char *variable) {
  const char *const value = secure_getenv(variable);
  return value ? value : "";
}

/* HXBLAS_MIN: the units from which hx computes, in place of the thresholds. */
static bool read_least(uint64_t *least) {
  const char *const text = value_of("HXBLAS_MIN");
  if (!*text) return false;
  char *end;
  errno = 0;
  *least = strtoull(text, &end, 10);
  if (*end == '\0' && *text >= '0' && *text <= '9' && !errno) return true;
  hx__blas_message("warning", "HXBLAS_MIN=%s is not used: it is no number of units", text);
  return false;
}

/* Whether hx may find a device that is not the CPU: it is asked for by name, or there is a GPU with a kernel driver. No
 * OpenCL driver is loaded to find out, and the answer is the same in every run. */
static bool may_have_devices(void) {
  static const char *const files[] = {"/dev/dri/renderD128", "/dev/dri/renderD129", "/dev/kfd", "/dev/nvidiactl",
                                      "/dev/dxg" /* WSL */};
  const char *const devices = value_of("HX_DEVICES");
  if (*devices && strcmp(devices, "cpu,igpu,gpu") != 0) return strcmp(devices, "cpu") != 0 && strcmp(devices, "0") != 0;
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
    if (access(files[i], F_OK) == 0) return true;
  return false;
}

static void note_fork(void) { is_forked_child = true; }

/* hx refuses wrong values when the context is opened. */
static void read_settings(void) {
  const char *const log = value_of("HX_LOG"), *const split = value_of("HX_SPLIT"),
                    *const offload = value_of("HX_OFFLOAD");
  settings.hx_would_log = strcmp(log, "info") == 0;
  settings.logs = settings.hx_would_log || strcmp(log, "debug") == 0 || strcmp(log, "trace") == 0;
  uint64_t fixed = 0; /* A share that the user fixed holds for every call. */
  settings.mandatory = strcmp(offload, "mandatory") == 0;
  const bool all = (*split && strcmp(split, "auto") != 0) || settings.mandatory;
  const bool none = strcmp(offload, "disabled") == 0, devices = may_have_devices();
  settings.is_fixed = none || all || read_least(&fixed);
  settings.cpu_alone = !devices && !all; /* With a share, hx says that there is no device. */
  settings.counts_threads = *value_of("HX_THREADS");
  pthread_atfork(NULL, NULL, note_fork); /* if there is no memory for it, a child computes with one thread */
  for (int r = 0; r < HX__BLAS_ROUTINES; r++) {
    const uint64_t usual = devices ? thresholds[r].beside_devices : thresholds[r].cpu_alone;
    const uint64_t least = none ? NEVER : settings.is_fixed ? fixed : usual;
    settings.least[r] = least;
    __atomic_store_n(&hx__blas_forwards_below[r], settings.logs ? 0 : least, __ATOMIC_RELAXED);
  }
}

/* At HX_LOG=info the line of each call comes from here, and hx's own is suppressed, with other messages of that level.
 */
static void open_context(team which) {
  const hx_settings chosen = {.log = settings.hx_would_log ? "warn" : NULL,
                              .devices = settings.cpu_alone ? "cpu" : NULL, /* then no driver is loaded */
                              .threads = which == ALONE ? "1" : NULL};
  if (hx_open(&contexts[which], &chosen) == HX_OK) return;
  contexts[which] = NULL;
  hx__blas_message("warning", "every BLAS call is forwarded: %s", hx_error_detail());
  for (int r = 0; r < HX__BLAS_ROUTINES; r++)
    if (!settings.logs) __atomic_store_n(&hx__blas_forwards_below[r], NEVER, __ATOMIC_RELAXED);
}
static void open_usual(void) { open_context(USUAL); }
static void open_alone(void) { open_context(ALONE); }

static hx_context *context_of(team which) {
  static pthread_once_t opened[TEAMS] = {PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT};
  pthread_once(&opened[which], which == USUAL ? open_usual : open_alone);
  return contexts[which];
}

/* hx uses one thread if OpenBLAS would, or if OpenBLAS's threads would wait beside its own and there is no device. A
 * batch takes hx's threads all the same, because OpenBLAS computes small products one after the other. */
static team team_of(hx__blas_routine routine) {
  if (settings.counts_threads) return USUAL;
  const bool beside_pool =
      settings.cpu_alone && !settings.is_fixed && routine != HX__BLAS_SGEMM_BATCH && hx__openblas_has_pool();
  return hx__openblas_threads() == 1 || beside_pool ? ALONE : USUAL;
}

/* A product is then left to OpenBLAS unless it is so large that only a device may be faster; docs/BLAS.md says why. In
 * a forked child OpenBLAS has threads, and hx has none. */
static uint64_t least_units(hx__blas_routine routine) {
  const bool pool = !settings.is_fixed && hx__openblas_has_pool();
  if (pool && is_forked_child) return NEVER;
  return settings.least[pool && routine == HX__BLAS_SGEMM ? HX__BLAS_SGEMM_THIN : routine];
}

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void hx__blas_call_begin(hx__blas_call *call, hx__blas_routine routine, uint64_t units) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_settings);
  const uint64_t least = least_units(routine);
  call->by_hx = units >= least && least != NEVER;
  call->context = call->by_hx ? context_of(team_of(routine)) : NULL;
  call->by_hx = call->context;
  call->logs = settings.logs;
  if (!call->logs) return;
  memset(call->units, 0, sizeof call->units);
  call->start_ns = now_ns();
}

static bool adds_to_c(const hx_task *t) {
  return (t->kind == HX_MATMUL || t->kind == HX_MATMUL_BATCHED) && t->matmul.beta != 0;
}

/* Rows of all matrices C of a task, and where each is in memory. */
static size_t rows_of(const hx_task *t) { return t->matmul.m * (t->kind == HX_MATMUL_BATCHED ? t->batch.count : 1); }
static float *row_of(const hx_task *t, size_t i) {
  const struct hx_matmul_args *const g = &t->matmul;
  return g->c + i / g->m * t->batch.stride_c + i % g->m * g->ldc;
}

/* A copy of C, which a call of hx may leave unspecified if a device fails. */
static float *save(const hx_task *t) {
  const size_t rows = rows_of(t), n = t->matmul.n;
  float *const copy = malloc(rows * n * sizeof *copy);
  for (size_t i = 0; copy && i < rows; i++) memcpy(copy + i * n, row_of(t, i), n * sizeof *copy);
  return copy;
}

static void restore(const hx_task *t, const float *copy) {
  const size_t n = t->matmul.n;
  for (size_t i = 0; copy && i < rows_of(t); i++) memcpy(row_of(t, i), copy + i * n, n * sizeof *copy);
}

/* HX_OUT_OF_MEMORY and HX_INVALID_ARGUMENT (arrays that overlap or are not aligned, which a BLAS may accept) leave the
 * outputs as they were. HX_OFFLOAD=mandatory wants calls to fail if the devices do; a call of a BLAS cannot, so this
 * one is reported and forwarded. */
bool hx__blas_offload(hx__blas_call *call, const hx_task *task) {
  hx_report report;
  float *const old = settings.mandatory && adds_to_c(task) ? save(task) : NULL;
  const hx_status status = hx_offload(call->context, task, call->logs ? &report : NULL);
  if (status == HX_DEVICE_FAILED || status == HX_INTERNAL) {
    hx__blas_message("error", "a BLAS call is forwarded: %s", hx_error_detail());
    restore(task, old);
  }
  free(old);
  if (status != HX_OK) return false;
  for (uint32_t i = 0; call->logs && i < report.device_count; i++)
    call->units[report.device[i].index] += report.device[i].units;
  return true;
}

/* "cpu 40 %, device 1 60 %" */
static void describe_parts(const hx__blas_call *call, char *out, size_t bytes) {
  uint64_t all = 0;
  for (int i = 0; i < HX_MAX_DEVICES; i++) all += call->units[i];
  if (!all) snprintf(out, bytes, "cpu");
  size_t used = 0;
  for (int i = 0; i < HX_MAX_DEVICES; i++) {
    if (!call->units[i] || used >= bytes) continue;
    char device[16] = "cpu";
    if (i) snprintf(device, sizeof device, "device %d", i);
    used += (size_t)snprintf(out + used, bytes - used, "%s%s %.0f %%", used ? ", " : "", device,
                             100.0 * (double)call->units[i] / (double)all);
  }
}

void hx__blas_call_log(const hx__blas_call *call, const char *covered, const char *format, ...) {
  const double ms = (double)(now_ns() - call->start_ns) * 1e-6;
  char text[256], parts[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (call->by_hx)
    describe_parts(call, parts, sizeof parts);
  else
    snprintf(parts, sizeof parts, "forwarded to %s", hx__blas_file_of(covered));
  hx__blas_message("info", "%s %.3f ms, %s", text, ms, parts);
}
