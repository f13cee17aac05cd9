/* SPDX-License-Identifier: Apache-2.0
 * The context of a run: opens it, with PoCL if there is no GPU, lists its devices, and allocates arrays. */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "cpu/cpu.h"
#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/base/config.h"

static bool in_use(const hx_device_info *device) { return device->state == HX_BUILDING || device->state == HX_USABLE; }

void bench_session_refresh(bench_session *session) {
  session->device_count = hx_device_count(session->hx);
  if (session->device_count > HX_MAX_DEVICES) session->device_count = HX_MAX_DEVICES;
  session->has_cpu = session->has_device = false;
  for (size_t i = 0; i < session->device_count; i++) {
    hx_device_info *device = &session->device[i];
    if (hx_device(session->hx, i, device) != HX_OK) *device = (hx_device_info){.kind = HX_CPU_OPENCL, .state = HX_LOST};
    if (in_use(device)) *(device->kind == HX_CPU ? &session->has_cpu : &session->has_device) = true;
  }
}

static int open_context(bench_session *session, const char *devices) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = devices;
  hx_status status = hx_open(&session->hx, &settings);
  if (status != HX_OK) {
    fprintf(stderr, "hx-bench: %s\n", hx_error_detail());
    return status == HX_INVALID_CONFIG ? BENCH_USAGE : BENCH_FAILED;
  }
  bench_session_refresh(session);
  return BENCH_OK;
}

/* Whether the options or the environment name devices. */
static bool devices_named(const bench_options *options) {
  const char *variable = getenv("HX_DEVICES");
  return options->devices || (variable && *variable);
}

int bench_session_open(bench_session *session, const bench_options *options, bool want_device) {
  *session = (bench_session){.options = options, .threads = bench_threads()};
  int status = open_context(session, options->devices);
  if (status != BENCH_OK || !want_device || session->has_device || devices_named(options)) return status;
  bool candidate = false;
  for (size_t i = 0; i < session->device_count; i++) candidate |= session->device[i].kind == HX_CPU_OPENCL;
  if (!candidate) return BENCH_OK;
  hx_close(session->hx);
  status = open_context(session, "cpu,igpu,gpu,pocl");
  session->stand_in = status == BENCH_OK && session->has_device;
  return status;
}

void bench_session_close(bench_session *session) {
  hx_close(session->hx);
  session->hx = NULL;
}

void *bench_session_alloc(bench_session *session, size_t bytes) {
  void *p = session->options->use_malloc ? malloc(bytes) : hx_alloc(session->hx, bytes);
  if (!p) fprintf(stderr, "hx-bench: there is no memory for an array of %zu bytes\n", bytes);
  return p;
}

void bench_session_free(bench_session *session, void *p) {
  if (session->options->use_malloc) {
    free(p);
  } else {
    hx_free(session->hx, p);
  }
}

unsigned bench_threads(void) {
  hx__config config;
  return hx__config_read(&config, NULL) == HX_OK ? hx__cpu_threads(&config) : 1;
}

const char *bench_isa(void) {
  hx__config config;
  hx__isa isa = hx__config_read(&config, NULL) == HX_OK ? config.isa : HX__ISA_AUTO;
  const hx__cpu_kernels *kernels = hx__cpu_kernels_for(isa);
  return kernels ? hx__isa_name(kernels->isa) : "none";
}

int bench_session_run(const bench_options *options, const char *devices, bool want_device, bench_job *job,
                      const void *what) {
  bench_options own = *options;
  if (devices) own.devices = devices;
  if (!bench_files_open(&own)) return BENCH_USAGE;
  bench_session session;
  int status = bench_session_open(&session, &own, want_device);
  if (status == BENCH_OK) {
    status = job(&session, what);
    bench_session_close(&session);
  }
  return bench_files_close() ? status : BENCH_FAILED;
}
