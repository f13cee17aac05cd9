/* SPDX-License-Identifier: Apache-2.0
 * The one table of settings, and the order in which they are read. */
#define _GNU_SOURCE
#include "runtime/base/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/config_parse.h"
#include "runtime/base/environment.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"

#define ROW(NAME, member, values, deflt, help) \
  { NAME, values, deflt, help, hx__parse_##member, offsetof(hx_settings, member) }

#define LISTED(name, word) word ", "

static const hx__config_row rows[] = {
    ROW("HX_DEVICES", devices, "comma list of " HX__DEVICE_WORDS(LISTED) "or an index of hx-bench info (0..31)",
        "cpu,igpu,gpu",
        "the devices that may be used (igpu: integrated GPUs, gpu: cards); OpenCL devices that run on the CPU only if "
        "named"),
    ROW("HX_SPLIT", split, "auto, or the GPUs' share of the work: 0..1 or 0%..100%; several GPUs 0.5:0.3", "auto",
        "fixes the share of all GPUs together, or of each one; the shares add up to at most 1, the CPU gets the rest"),
    ROW("HX_SCHEDULE", schedule, "adaptive, static, dynamic, guided", "adaptive",
        "how work is cut into chunks if the share is not fixed"),
    ROW("HX_CHUNK", chunk, "elements (reduce) or rows (matmul): 1..2^63, plain or 2^k", "derived",
        "size of a chunk of the dynamic schedule, rounded up to whole slices"),
    ROW("HX_THREADS", threads, "1..4096", "OMP_NUM_THREADS, else the usable cores", "number of CPU threads"),
    ROW("HX_TILE", tile, "MxNxK, each 1..1024", "by device", "tile of the matrix product on OpenCL devices"),
    ROW("HX_MEMORY", memory, "auto, svm-system, svm-fine, svm-coarse, usm, hostptr, copy", "auto",
        "how arrays reach a device, if the device can do it"),
    ROW("HX_MIN_OFFLOAD", min_offload, "units: 0..2^63, plain or 2^k", "learned",
        "tasks below this size never use a device"),
    ROW("HX_TIMEOUT_MS", timeout_ms, "1..86400000, or off",
        "8 x the predicted time, at least 100; 5000 without a measured rate; off for CPU-type devices",
        "a chunk that takes longer is given up and computed by the CPU; off: wait without limit"),
    ROW("HX_CACHE_DIR", cache_dir, "a path, or off", "$XDG_CACHE_HOME/hx, else $HOME/.cache/hx",
        "folder for compiled kernels and measured rates"),
    ROW("HX_OBJECTIVE", objective, "time, energy, edp", "time", "what to minimise; edp is energy times time"),
    ROW("HX_TRACE", trace, "a path", "none", "writes a Chrome/Perfetto trace of every chunk to this file"),
    ROW("HX_ISA", isa, "sse2, avx2, avx512, neon", "best for this CPU", "instruction set of the CPU kernels"),
    ROW("HX_OFFLOAD", offload, "default, disabled, mandatory", "default",
        "disabled: the CPU alone; mandatory: devices do all of the work or the call fails"),
    ROW("HX_SIM", sim,
        "devices with ; between them: rate=2e9,latency_us=40,fail=enqueue@3 or profile=xe (rate in units per second; "
        "gen9, xe, vega, rdna3, two-cards; fail at "
        "prepare, open, bind, enqueue, wait or alloc)",
        "none", "simulated devices, at most 14"),
    ROW("HX_LOG", log, "error, warn, info, debug, trace", "warn",
        "messages on stderr; info: one line per call, debug: decisions, trace: OpenCL calls"),
};
#define ROWS (sizeof rows / sizeof rows[0])
_Static_assert(offsetof(hx_settings, reserved) == ROWS * sizeof(char *), "a row for each member of hx_settings");

const hx__config_row *hx__config_rows(size_t *count) {
  *count = ROWS;
  return rows;
}

/* Reports "NAME=VALUE: accepted: ...; why". A long value is cut, so that the rest stays readable. */
static hx_status report_refused(const hx__config_row *row, const char *value, bool setting, const char *why) {
  char tail[HX__DETAIL_BYTES];
  const int tail_length = snprintf(tail, sizeof tail, ": accepted: %s%s%s%s", row->values, why[0] ? "; " : "", why,
                                   setting ? " (given in hx_settings)" : "");
  const size_t room = HX__DETAIL_BYTES - 2 - strlen(row->name) - (size_t)tail_length, length = strlen(value);
  const bool cut = length > room;
  return hx__fail(HX_INVALID_CONFIG, "%s=%.*s%s%s", row->name, (int)(cut ? room - 3 : length), value, cut ? "..." : "",
                  tail);
}

/* A value from either source. Empty or NULL: not set. */
static hx_status apply_value(hx__config *config, const hx__config_row *row, const char *value, bool setting) {
  if (!value || !value[0]) return HX_OK;
  char why[HX__WHY_BYTES] = "";
  return row->parse(config, value, why) ? HX_OK : report_refused(row, value, setting, why);
}

static void set_defaults(hx__config *config) {
  memset(config, 0, sizeof *config); /* 0 is the first word of an enumeration, "derived" or "none" */
  config->device_words = HX__DEV_CPU | HX__DEV_IGPU | HX__DEV_GPU;
  config->min_offload = UINT64_MAX;
  config->timeout_ms = HX__TIMEOUT_AUTO;
  config->log = HX__LOG_WARN;
  config->omp_threads = hx__environment_omp_threads();
  (void)hx__environment_omp_sleeps(); /* read now */
  hx__environment_omp_stack();        /* read now, with the others */
  hx__environment_cache_dir(config->cache_dir, sizeof config->cache_dir);
}

/* A secure process uses no files, even if hx_settings names them: with a folder or link that its caller can write to,
 * it would write files or load kernels with rights that the caller does not have. */
static void disable_files(hx__config *config) { config->cache_dir[0] = config->trace[0] = '\0'; }

hx_status hx__config_read(hx__config *config, const hx_settings *settings) {
  if (settings)
    for (size_t i = 0; i < sizeof settings->reserved / sizeof settings->reserved[0]; i++)
      if (settings->reserved[i] != 0)
        return hx__fail(HX_INVALID_ARGUMENT, "reserved[%zu] of hx_settings is %llu: start from HX_SETTINGS_DEFAULT", i,
                        (unsigned long long)settings->reserved[i]);
  set_defaults(config);
  for (size_t i = 0; i < ROWS; i++) {
    hx_status s = apply_value(config, &rows[i], secure_getenv(rows[i].name), false);
    if (s == HX_OK && settings)
      s = apply_value(config, &rows[i], *(const char *const *)((const char *)settings + rows[i].setting), true);
    if (s != HX_OK) return s;
  }
  if (hx__is_secure_process()) disable_files(config);
  __atomic_store_n(&hx__log_threshold, config->log, __ATOMIC_RELAXED);
  hx__environment_warn();
  return HX_OK;
}
