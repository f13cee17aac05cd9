/* SPDX-License-Identifier: Apache-2.0
 * The context of a run: opens it, with PoCL if there is no GPU, lists its devices, and allocates arrays. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/bench.h"
#include "bench/opencl.h"
#include "bench/progress.h"
#include "cpu/cpu.h"
#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/base/config.h"

/* What an option gives is a setting for hx. */
static const struct {
  const char *variable, *option;
  size_t member; /* of the options: the value, or NULL */
} set_by[] = {{"HX_DEVICES", "--devices", offsetof(bench_options, devices)},
              {"HX_THREADS", "--threads", offsetof(bench_options, threads)}};

void bench_print_setting_error(const bench_options *options) {
  const char *text = hx_error_detail(), *option = NULL;
  static const char by_setting[] = " (given in hx_settings)";
  for (size_t i = 0; i < sizeof set_by / sizeof set_by[0]; i++) {
    const char *value;
    memcpy(&value, (const char *)options + set_by[i].member, sizeof value);
    const size_t length = strlen(set_by[i].variable);
    if (!value || strncmp(text, set_by[i].variable, length) != 0 || text[length] != '=') continue;
    option = set_by[i].option;
    text += length;
  }
  size_t length = strlen(text);
  const size_t tail = sizeof by_setting - 1;
  if (option && length > tail && strcmp(text + length - tail, by_setting) == 0) length -= tail;
  fprintf(stderr, "hx-bench: %s%.*s\n", option ? option : "", (int)length, text);
}

static bool in_use(const hx_device_info *device) { return device->state == HX_BUILDING || device->state == HX_USABLE; }

void bench_session_refresh(bench_session *session) {
  session->device_count = hx_device_count(session->hx);
  if (session->device_count > HX_MAX_DEVICES) session->device_count = HX_MAX_DEVICES;
  session->has_cpu = session->has_device = false;
  for (size_t i = 0; i < session->device_count; i++) {
    hx_device_info *device = &session->device[i];
    if (hx_device(session->hx, i, device) != HX_OK) *device = (hx_device_info){.kind = HX_CPU_OPENCL, .state = HX_LOST};
    bench_name_device(device, i, &session->name[i]);
    if (in_use(device)) *(device->kind == HX_CPU ? &session->has_cpu : &session->has_device) = true;
  }
}

static int open_context(bench_session *session, const char *devices) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = devices;
  hx_status status = hx_open(&session->hx, &settings);
  if (status != HX_OK) {
    bench_print_setting_error(session->options);
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

/* The share that HX_SPLIT sets for all devices together. */
static float split_of_settings(void) {
  hx__config config;
  float sum = 0;
  if (hx__config_read(&config, NULL) != HX_OK || !config.splits) return -1;
  for (uint32_t i = 0; i < config.splits; i++) sum += config.split[i];
  return sum;
}

int bench_session_open(bench_session *session, const bench_options *options, bool want_device) {
  *session = (bench_session){.options = options, .threads = bench_threads(), .split = split_of_settings()};
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

static bool is_building(const bench_session *session, char *name, size_t bytes) {
  for (size_t i = 0; i < session->device_count; i++) {
    if (session->device[i].state != HX_BUILDING) continue;
    snprintf(name, bytes, "building the kernels of %s", session->name[i].brief);
    return true;
  }
  return false;
}

typedef struct preparation {
  hx_context *hx;
  _Atomic bool over;
  bool fine;
  char detail[512];
} preparation;

static void *prepare(void *arg) {
  preparation *const p = arg;
  p->fine = hx_ready(p->hx) == HX_OK;
  if (!p->fine) snprintf(p->detail, sizeof p->detail, "%s", hx_error_detail());
  atomic_store(&p->over, true);
  return NULL;
}

bool bench_session_ready(bench_session *session) {
  static preparation p; /* an abandoned thread still uses it */
  const struct timespec pause = {.tv_nsec = 50000000};
  pthread_t thread;
  char name[160] = "looking for devices";
  p.hx = session->hx;
  bench_progress_begin(0, 0);
  if (pthread_create(&thread, NULL, prepare, &p) != 0) {
    prepare(&p);
  } else {
    while (!atomic_load(&p.over) && !bench_stopped()) {
      is_building(session, name, sizeof name);
      bench_progress_row(name, 0);
      nanosleep(&pause, NULL);
      bench_session_refresh(session);
    }
    session->abandoned = !atomic_load(&p.over);
    if (session->abandoned)
      pthread_detach(thread);
    else
      pthread_join(thread, NULL);
  }
  bench_progress_erase();
  bench_session_refresh(session);
  if (session->abandoned || p.fine) return true;
  fprintf(stderr, "hx-bench: %s\n", p.detail);
  return false;
}

void bench_session_close(bench_session *session) {
  if (!session->abandoned) hx_close(session->hx);
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
