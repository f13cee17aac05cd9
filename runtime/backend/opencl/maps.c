/* SPDX-License-Identifier: Apache-2.0
 * The user kernels of a device. Each that a call requests is built once in a process, in the background, and compared
 * with the CPU's results before it is used. Equal expressions share a program, whichever hx_kernel they belong to. A
 * device keeps HX__CL_MAPS of them; the CPU computes any further ones. */
#include "runtime/backend/opencl/maps.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/address_space.h"
#include "runtime/base/cache_dir.h"
#include "runtime/base/clock.h"
#include "runtime/base/hash.h"

#define BUILD_BYTES ((size_t)512 << 20) /* as in prepare.c */
#define OPTIONS_BYTES 256

static const char *const no_memory = "no host memory";

/* The entry of an expression. An entry is written once, before `maps_known` counts it. */
static hx__cl_map *find(hx__cl_device *d, const hx__expr *e) {
  const unsigned known = atomic_load_explicit(&d->maps_known, memory_order_acquire);
  for (unsigned i = 0; i < known; i++)
    if (!memcmp(&d->map[i]->kernel.expr, e, sizeof *e)) return d->map[i];
  return NULL;
}

/* The bit of hx__device.ready falls with the new entry, and rises when none is left to be built. */
static void add(hx__cl_device *d, const struct hx_kernel *kernel) {
  pthread_mutex_lock(&d->lock);
  const unsigned known = atomic_load(&d->maps_known);
  hx__cl_map *const map = known < HX__CL_MAPS && !find(d, &kernel->expr) ? calloc(1, sizeof *map) : NULL;
  if (map) {
    map->kernel = *kernel;
    atomic_store(&map->state, HX__MAP_REQUESTED);
    d->map[known] = map;
    atomic_fetch_and(&d->base.ready, ~HX__NEED_MAPS);
    atomic_store_explicit(&d->maps_known, known + 1, memory_order_release);
  }
  pthread_mutex_unlock(&d->lock);
}

hx__map_state hx__cl_map_state(hx__device *device, const struct hx_kernel *kernel, bool request, float *rate) {
  hx__cl_device *const d = (hx__cl_device *)device;
  const hx__cl_map *map = find(d, &kernel->expr);
  if (!map && request) {
    add(d, kernel);
    map = find(d, &kernel->expr);
  }
  if (!map) return atomic_load(&d->maps_known) == HX__CL_MAPS ? HX__MAP_REFUSED : HX__MAP_UNKNOWN;
  const hx__map_state state = (hx__map_state)atomic_load_explicit(&map->state, memory_order_acquire);
  if (rate && state == HX__MAP_READY) *rate = map->rate;
  return state;
}

unsigned hx__cl_map_index(hx__cl_device *d, const struct hx_kernel *kernel) {
  const hx__cl_map *const map = find(d, &kernel->expr);
  if (!map || !map->program) return HX__CL_MAPS;
  for (unsigned i = 0;; i++)
    if (d->map[i] == map) return i;
}

static bool has(const hx__expr *e, hx__expr_op op) {
  for (unsigned i = 0; i < e->count; i++)
    if (e->value[i].op == op) return true;
  return false;
}

/* Whether the operations are rounded once on this device; the options that see to it. Two hashes of the text are among
 * them, because they are a part of the key under which a program is cached. */
static const char *options_of(const hx__cl_device *d, const hx__expr *e, hx__arithmetic arithmetic, const char *text,
                              char options[OPTIONS_BYTES]) {
  const bool divides = has(e, HX__EXPR_DIV_F) || has(e, HX__EXPR_SQRT_F);
  const bool sums = has(e, HX__EXPR_ADD_F) || has(e, HX__EXPR_SUB_F) || has(e, HX__EXPR_MUL_F);
  cl_device_fp_config config = 0;
  clGetDeviceInfo(d->id, CL_DEVICE_SINGLE_FP_CONFIG, sizeof config, &config, NULL);
  if (divides && !(config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT)) return "its division is not rounded correctly";
  if (sums && !d->add_ok) return "its float add or multiply rounds differently";
  const size_t bytes = strlen(text);
  const uint64_t first = hx__hash(HX__HASH_START, text, bytes), second = hx__hash(~first, text, bytes);
  snprintf(options, OPTIONS_BYTES, "-DHX_ARITHMETIC=%d -DHX_TEXT=0x%016llx%016llx%s", (int)arithmetic,
           (unsigned long long)first, (unsigned long long)second,
           divides ? " -cl-fp32-correctly-rounded-divide-sqrt" : "");
  return NULL;
}

static cl_program build(hx__cl_device *d, const char *text, const char *options) {
  const char *const *const common = hx__kernel_sources(HX__KERNEL_MAP);
  const char *sources[8];
  cl_uint count = 0;
  while (common[count]) sources[count] = common[count], count++;
  sources[count++] = text;
  cl_int code;
  cl_program program = clCreateProgramWithSource(d->context, count, sources, NULL, &code);
  if (!program) return NULL;
  code = hx__cl_build(d, program, options, true);
  if (code == CL_SUCCESS) return program;
  char log[2048] = "";
  if (code == CL_BUILD_PROGRAM_FAILURE)
    clGetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
  hx__log(HX__LOG_INFO, "%s: build of a user kernel: %s: %s", d->base.name, hx__cl_code_name(code), log);
  if (!hx__cl_build_was_abandoned(code)) clReleaseProgram(program); /* otherwise the build may still run: leaked */
  return NULL;
}

static const char *test(hx__cl_device *d, hx__cl_map *map) {
  static const hx__config plain = {.timeout_ms = HX__TIMEOUT_AUTO};
  hx__stream *const stream = hx__cl_stream_open(&d->base, &plain);
  if (!stream) return "it has no queue";
  ((hx__cl_stream *)stream)->self_test.active = true;
  const char *const why = hx__cl_test_map(stream, &map->kernel, &map->rate);
  hx__cl_stream_close(stream);
  return why;
}

static const char *discard(hx__cl_device *d, hx__cl_map *map, const char *why) {
  if (!atomic_load(&d->base.lost)) clReleaseProgram(map->program);
  map->program = NULL;
  return why;
}

static const char *load(hx__cl_device *d, hx__cl_map *map, const char *options) {
  const hx__cl_cached_program cached = hx__cl_binary_load(d, HX__KERNEL_MAP, options, true);
  map->program = cached.program;
  if (!cached.program) return "none is cached";
  const char *const why = test(d, map);
  hx__cache_crash_mark_end(cached.crash_mark, !why);
  return why ? discard(d, map, why) : NULL;
}

/* With plain arithmetic, then with sums as fma, for compilers that contract. NULL, or why the kernel is refused. */
static const char *prepare(hx__cl_device *d, hx__cl_map *map, const char *text) {
  const bool fma = has(&map->kernel.expr, HX__EXPR_FMA_F), soft = fma && !d->fma_ok;
  const char *why = "no arithmetic gives its bits";
  for (int a = 0; a < HX__ARITHMETICS; a++) {
    char options[OPTIONS_BYTES];
    const hx__arithmetic arithmetic = (hx__arithmetic)a;
    if ((arithmetic == HX__ARITHMETIC_SOFT_FMA) != soft || (arithmetic == HX__ARITHMETIC_FMA_ADD && !d->fma_ok))
      continue;
    if ((why = options_of(d, &map->kernel.expr, arithmetic, text, options)) != NULL) return why;
    if (!load(d, map, options)) return NULL;
    if (atomic_load(&d->base.lost)) return "it is lost";
    map->program = build(d, text, options);
    if (!map->program) return "its build failed";
    if ((why = test(d, map)) == NULL) {
      hx__cl_binary_store(d, map->program, HX__KERNEL_MAP, options, map->rate);
      return NULL;
    }
    discard(d, map, why);
  }
  return why;
}

static void prepare_one(hx__cl_device *d, hx__cl_map *map) {
  const uint64_t from = hx__now_ns();
  char *const text = hx__cl_map_text(&map->kernel.expr);
  const char *const why = !hx__address_space_available(BUILD_BYTES) ? "too little address space is left to build it"
                          : text                                    ? prepare(d, map, text)
                                                                    : no_memory;
  free(text);
  if (why)
    hx__log(HX__LOG_INFO, "%s refuses a user kernel (%s): the CPU computes it", d->base.name, why);
  else
    hx__log(HX__LOG_INFO, "%s: user kernel ready in %.1f ms", d->base.name, (double)(hx__now_ns() - from) * 1e-6);
  atomic_store_explicit(&map->state, why ? HX__MAP_REFUSED : HX__MAP_READY, memory_order_release);
}

void hx__cl_maps_prepare(hx__cl_device *d) {
  for (unsigned i = 0;;) {
    pthread_mutex_lock(&d->lock);
    const bool all = i == atomic_load(&d->maps_known);
    if (all) atomic_fetch_or(&d->base.ready, HX__NEED_MAPS);
    pthread_mutex_unlock(&d->lock);
    if (all || atomic_load(&d->base.lost)) return;
    if (atomic_load(&d->map[i]->state) == HX__MAP_REQUESTED) prepare_one(d, d->map[i]);
    i++;
  }
}
