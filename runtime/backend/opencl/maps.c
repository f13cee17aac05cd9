/* SPDX-License-Identifier: Apache-2.0
 * The user kernels of a device. Each that a call requests is built once in a process, in the background, and compared
 * with the CPU's results before it is used. Equal expressions share a program, whichever hx_kernel they belong to; a
 * map-reduce has a program for each operation. A device keeps HX__CL_MAPS of them; the CPU computes any further ones.
 */
#include "runtime/backend/opencl/maps.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/address_space.h"
#include "runtime/base/cache_dir.h"
#include "runtime/base/clock.h"
#include "runtime/base/hash.h"

#define BUILD_BYTES ((size_t)512 << 20) /* as in prepare.c */
#define OPTIONS_BYTES 512
#define SHORT_VALUES 24u /* expressions of which an item loads eight rows ahead */
#define MAP_EACH 2u      /* elements of a short map that a work-item of a GPU writes (user-kernels-card.tsv) */

static const char *const no_memory = "no host memory";

/* The entry of an expression, and of the operation that reduces it (0: none). An entry is written once, before
 * `maps_known` counts it. */
static hx__cl_map *find(hx__cl_device *d, const struct hx_kernel *kernel, hx_op op) {
  const unsigned known = atomic_load_explicit(&d->maps_known, memory_order_acquire);
  for (unsigned i = 0; i < known; i++)
    if (d->map_hash[i] == kernel->hash && d->map[i]->op == op && hx__expr_equal(&d->map[i]->kernel.expr, &kernel->expr))
      return d->map[i];
  return NULL;
}

/* The bit of hx__device.ready falls with the new entry, and rises when none is left to be built. */
static void add(hx__cl_device *d, const struct hx_kernel *kernel, hx_op op) {
  pthread_mutex_lock(&d->lock);
  const unsigned known = atomic_load(&d->maps_known);
  hx__cl_map *const map = known < HX__CL_MAPS && !find(d, kernel, op) ? calloc(1, sizeof *map) : NULL;
  if (map) {
    map->kernel = *kernel;
    map->op = op;
    atomic_store(&map->state, HX__MAP_REQUESTED);
    d->map[known] = map;
    d->map_hash[known] = kernel->hash;
    atomic_fetch_and(&d->base.ready, ~HX__NEED_MAPS);
    atomic_store_explicit(&d->maps_known, known + 1, memory_order_release);
    if (known + 1 == HX__CL_MAPS)
      hx__log(HX__LOG_WARN, "%s has %u user kernels, the most that it keeps: the CPU computes further ones",
              d->base.name, HX__CL_MAPS);
  }
  pthread_mutex_unlock(&d->lock);
}

/* The elements of lines, and those that several operations reduce, are written first. */
static hx_op op_of(const hx__work *w) { return w->map || w->by_lines || w->nfields > 1 ? (hx_op)0 : w->fields->op; }

/* The entry of a work: for a map-reduce whose one launch was refused that of the map, whose elements are reduced. */
static hx__cl_map *entry_of(hx__cl_device *d, const hx__work *w) {
  const hx_op op = op_of(w);
  hx__cl_map *const map = find(d, w->kernel, op);
  return map && op && atomic_load(&map->state) == HX__MAP_REFUSED ? find(d, w->kernel, 0) : map;
}

hx__map_state hx__cl_map_state(hx__device *device, const hx__work *w, bool request, float *rate) {
  hx__cl_device *const d = (hx__cl_device *)device;
  const hx__cl_map *map = entry_of(d, w);
  if (!map && request) {
    add(d, w->kernel, op_of(w));
    map = entry_of(d, w);
  }
  if (!map) return atomic_load(&d->maps_known) == HX__CL_MAPS ? HX__MAP_REFUSED : HX__MAP_UNKNOWN;
  const hx__map_state state = (hx__map_state)atomic_load_explicit(&map->state, memory_order_acquire);
  if (rate && state == HX__MAP_READY) *rate = map->rate;
  return state;
}

unsigned hx__cl_map_index(hx__cl_device *d, const hx__work *w) {
  const hx__cl_map *const map = entry_of(d, w);
  if (!map || !map->program) return HX__CL_MAPS;
  for (unsigned i = 0;; i++)
    if (d->map[i] == map) return i;
}

bool hx__cl_map_reduces(hx__cl_device *d, const hx__work *w) {
  const hx__cl_map *const map = entry_of(d, w);
  return map && map->op;
}

static bool has(const hx__expr *e, hx__expr_op op) {
  for (unsigned i = 0; i < e->count; i++)
    if (e->value[i].op == op) return true;
  return false;
}

static bool is_long(const hx__cl_map *map) { return map->kernel.expr.count > SHORT_VALUES; }

/* The options of a map-reduce: those of a reduction by items, and how an item makes elements. */
static bool write_row_options(const hx__cl_map *map, hx__arithmetic arithmetic, char options[OPTIONS_BYTES]) {
  static const uint32_t none[3] = {0, 0, 0};
  const hx_type type = hx__expr_type(&map->kernel.expr);
  if (!map->row || !hx__kernel_options(options, OPTIONS_BYTES, map->row, map->op, type, none, arithmetic)) return false;
  const size_t used = strlen(options);
  return snprintf(options + used, OPTIONS_BYTES - used, " -DHX_MAP_ROWS=%d ", is_long(map) ? 0 : 8) <
         (int)(OPTIONS_BYTES - used);
}

/* The option by which each division and root is rounded once. */
static const char *division_of(const hx__cl_device *d, const hx__expr *e) {
  cl_device_fp_config config = 0;
  if (!has(e, HX__EXPR_DIV_F) && !has(e, HX__EXPR_SQRT_F)) return "";
  clGetDeviceInfo(d->id, CL_DEVICE_SINGLE_FP_CONFIG, sizeof config, &config, NULL);
  return config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT ? " -cl-fp32-correctly-rounded-divide-sqrt"
                                                      : " -DHX_SOFT_DIVISION=1";
}

/* Whether the operations are rounded once on this device; the options that see to it. Two hashes of the text are among
 * them, because they are a part of the key under which a program is cached. */
static const char *options_of(const hx__cl_device *d, hx__cl_map *map, hx__arithmetic arithmetic, const char *text,
                              char options[OPTIONS_BYTES]) {
  const hx__expr *const e = &map->kernel.expr;
  const bool sums = has(e, HX__EXPR_ADD_F) || has(e, HX__EXPR_SUB_F) || has(e, HX__EXPR_MUL_F);
  if (sums && !d->add_ok) return "its float add or multiply rounds differently";
  const size_t bytes = strlen(text);
  const uint64_t first = hx__hash(HX__HASH_START, text, bytes), second = hx__hash(~first, text, bytes);
  if (!map->op)
    snprintf(options, OPTIONS_BYTES, "-DHX_ARITHMETIC=%d -DHX_MAP_EACH=%u ", (int)arithmetic, map->each);
  else if (!write_row_options(map, arithmetic, options))
    return "its options are too long";
  const size_t used = strlen(options);
  const int more = snprintf(options + used, OPTIONS_BYTES - used, "-DHX_TEXT=0x%016llx%016llx%s",
                            (unsigned long long)first, (unsigned long long)second, division_of(d, e));
  return more < (int)(OPTIONS_BYTES - used) ? NULL : "its options are too long";
}

static hx__kernel_kind kind_of(const hx__cl_map *map) { return map->op ? HX__KERNEL_MAP_REDUCE : HX__KERNEL_MAP; }

static cl_program build(hx__cl_device *d, hx__kernel_kind kind, const char *text, const char *options) {
  const char *const *const common = hx__kernel_sources(kind);
  const char *sources[9];
  cl_uint count = 0;
  for (unsigned i = 0; common[i]; i++) {
    if (kind == HX__KERNEL_MAP_REDUCE && !common[i + 1]) sources[count++] = text; /* before the last one */
    sources[count++] = common[i];
  }
  if (kind == HX__KERNEL_MAP) sources[count++] = text;
  cl_int code;
  cl_program program = clCreateProgramWithSource(d->context, count, sources, NULL, &code);
  if (program) code = hx__cl_build(d, program, options, true);
  if (program && code == CL_SUCCESS) return program;
  hx__cl_build_failed(d, code);
  if (!program) return NULL;
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
  const char *const why = hx__cl_test_map(stream, map, &map->rate);
  hx__cl_stream_close(stream);
  return why;
}

static const char *discard(hx__cl_device *d, hx__cl_map *map, const char *why) {
  if (!atomic_load(&d->base.lost)) clReleaseProgram(map->program);
  map->program = NULL;
  return why;
}

static const char *load(hx__cl_device *d, hx__cl_map *map, const char *options) {
  const hx__cl_cached_program cached = hx__cl_binary_load(d, kind_of(map), options, true);
  map->program = cached.program;
  if (!cached.program) return "none is cached";
  const char *const why = test(d, map);
  hx__cache_crash_mark_end(cached.crash_mark, !why);
  return why ? discard(d, map, why) : NULL;
}

/* The next row of a map-reduce to try: one that joins the leaves, then one that does not. NULL: there is none, or the
 * program is a map, which has none. */
static const hx__kernel_row *row_after(const hx__cl_device *d, const hx__cl_map *map, const hx__kernel_row *row) {
  static const uint32_t none[3] = {0, 0, 0};
  const hx_type type = hx__expr_type(&map->kernel.expr);
  if (!map->op || (row && !row->optional)) return NULL;
  return hx__kernel_row_after(row, HX__KERNEL_REDUCE, type, d->families & HX__FAMILY_CPU, none, d->max_local);
}

/* With plain arithmetic, then with sums as fma, for compilers that contract. NULL, or why the kernel is refused. */
static const char *prepare_row(hx__cl_device *d, hx__cl_map *map, const char *text) {
  const bool fma = has(&map->kernel.expr, HX__EXPR_FMA_F), soft = fma && !d->fma_ok;
  const char *why = "no arithmetic gives its bits";
  for (int a = 0; a < HX__ARITHMETICS; a++) {
    char options[OPTIONS_BYTES];
    const hx__arithmetic arithmetic = (hx__arithmetic)a;
    if ((arithmetic == HX__ARITHMETIC_SOFT_FMA) != soft || (arithmetic == HX__ARITHMETIC_FMA_ADD && !d->fma_ok))
      continue;
    if ((why = options_of(d, map, arithmetic, text, options)) != NULL) return why;
    if (!load(d, map, options)) return NULL;
    if (atomic_load(&d->base.lost)) return "it is lost";
    map->program = build(d, kind_of(map), text, options);
    if (!map->program) return "its build failed";
    if ((why = test(d, map)) == NULL) {
      hx__cl_binary_store(d, map->program, kind_of(map), options, map->rate);
      return NULL;
    }
    discard(d, map, why);
  }
  return why;
}

static const char *prepare(hx__cl_device *d, hx__cl_map *map, const char *text) {
  const bool cpu = d->families & HX__FAMILY_CPU;
  const char *why;
  map->row = NULL;
  map->each = cpu || is_long(map) ? 1 : MAP_EACH;
  map->group_makes_leaf = map->op && !cpu && is_long(map);
  do {
    map->row = row_after(d, map, map->row);
    why = prepare_row(d, map, text);
  } while (why && !atomic_load(&d->base.lost) && row_after(d, map, map->row));
  return why;
}

static void prepare_one(hx__cl_device *d, hx__cl_map *map) {
  const uint64_t from = hx__now_ns();
  char *const text = hx__cl_map_text(&map->kernel.expr, kind_of(map));
  const char *const why = !hx__address_space_available(BUILD_BYTES) ? "too little address space is left to build it"
                          : text                                    ? prepare(d, map, text)
                                                                    : no_memory;
  free(text);
  if (why && map->op) {
    hx__log(HX__LOG_INFO, "%s cannot reduce a user kernel in one launch (%s): its elements are written and reduced",
            d->base.name, why);
    add(d, &map->kernel, 0);
  } else if (why)
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
