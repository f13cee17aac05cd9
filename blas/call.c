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

#include "blas/covered.h"
#include "blas/message.h"

static const uint64_t thresholds[] = {
#define THRESHOLD(name, least) [HX__BLAS_##name] = (least),
#include "blas/thresholds.inc"
#undef THRESHOLD
};

uint64_t hx__blas_forwards_below[HX__BLAS_ROUTINES];

static struct {
  bool logs;
  bool hx_would_log; /* one line per call, which ours replaces */
  uint64_t least[HX__BLAS_ROUTINES];
} settings;

static hx_context *context; /* NULL: cannot be opened */

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

/* hx refuses wrong values when the context is opened. */
static void read_settings(void) {
  const char *const log = value_of("HX_LOG"), *const split = value_of("HX_SPLIT"),
                    *const offload = value_of("HX_OFFLOAD");
  settings.hx_would_log = strcmp(log, "info") == 0;
  settings.logs = settings.hx_would_log || strcmp(log, "debug") == 0 || strcmp(log, "trace") == 0;
  uint64_t fixed = 0; /* A share that the user fixed holds for every call. */
  const bool all = (*split && strcmp(split, "auto") != 0) || strcmp(offload, "mandatory") == 0;
  const bool none = strcmp(offload, "disabled") == 0;
  const bool is_fixed = none || all || read_least(&fixed);
  for (int r = 0; r < HX__BLAS_ROUTINES; r++) {
    const uint64_t least = none ? UINT64_MAX : is_fixed ? fixed : thresholds[r];
    settings.least[r] = least;
    __atomic_store_n(&hx__blas_forwards_below[r], settings.logs ? 0 : least, __ATOMIC_RELAXED);
  }
}

/* At HX_LOG=info the line of each call comes from here, and hx's own is suppressed, with other messages of that level.
 */
static void open_context(void) {
  const hx_settings chosen = {.log = settings.hx_would_log ? "warn" : NULL};
  if (hx_open(&context, &chosen) == HX_OK) return;
  context = NULL;
  hx__blas_message("warning", "every BLAS call is forwarded: %s", hx_error_detail());
  for (int r = 0; r < HX__BLAS_ROUTINES; r++)
    if (!settings.logs) __atomic_store_n(&hx__blas_forwards_below[r], UINT64_MAX, __ATOMIC_RELAXED);
}

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void hx__blas_call_begin(hx__blas_call *call, hx__blas_routine routine, uint64_t units) {
  static pthread_once_t once = PTHREAD_ONCE_INIT, opened = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_settings);
  call->by_hx = units >= settings.least[routine] && settings.least[routine] != UINT64_MAX;
  if (call->by_hx) {
    pthread_once(&opened, open_context);
    call->by_hx = context != NULL;
  }
  call->logs = settings.logs;
  if (!call->logs) return;
  memset(call->units, 0, sizeof call->units);
  call->start_ns = now_ns();
}

/* HX_OUT_OF_MEMORY and HX_INVALID_ARGUMENT (arrays that overlap or are not aligned, which a BLAS may accept) leave the
 * outputs as they were. HX_DEVICE_FAILED is possible only with HX_OFFLOAD=mandatory, and leaves them unspecified. */
bool hx__blas_offload(hx__blas_call *call, const hx_task *task) {
  hx_report report;
  const hx_status status = hx_offload(context, task, call->logs ? &report : NULL);
  if (status == HX_DEVICE_FAILED || status == HX_INTERNAL) {
    hx__blas_message("error", "the result of a BLAS call is unspecified: %s", hx_error_detail());
    return true;
  }
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
