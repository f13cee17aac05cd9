/* SPDX-License-Identifier: Apache-2.0
 * Prepares a kernel: chooses its row and options, builds it and runs its self-test, with one arithmetic after the other
 * until one gives hx's bits. The self-test launches every shape that a run launches, so that no driver compiles at a
 * first launch later. Programs that pass are cached for later processes. A product by a set of rows is ready with its
 * first program; the others follow one by one, and so do the programs of several fields. */
#include <stdio.h>
#include <string.h>

#include "runtime/backend/opencl/maps.h"
#include "runtime/base/cache_dir.h"
#include "runtime/base/clock.h"
#include "runtime/base/address_space.h"

#define OPTIONS_BYTES 1024
#define NAME_BYTES 160
#define BUILDS_AHEAD 3
#define BUILD_BYTES ((size_t)512 << 20) /* of address space: a compiler that runs out of it may crash */

/* The kernel that belongs to a need bit. */
typedef struct need {
  hx__kernel_kind kind;
  hx_op op;
  hx_type type;
  const uint32_t *tile;
  const hx__kernel_row *first; /* the row to begin with; NULL: the device's first row */
  hx__layout layout;           /* rows of a set only */
  hx__kernel_fields fields;    /* several fields only */
  bool bare;                   /* without the kernels that serve all programs of the set: another program has them */
} need;

static const uint32_t none[3] = {0, 0, 0};

static need product_of(const hx__cl_device *d, const uint32_t *tile) {
  const need product = {.kind = HX__KERNEL_MATMUL, .op = HX_SUM, .type = HX_F32, .tile = tile};
  if (hx__kernel_row_for(product.kind, product.type, d->families, tile, d->max_local)) return product;
  hx__log(HX__LOG_WARN, "HX_TILE=%ux%ux%u: %s has no kernel with this tile and uses its own", tile[0], tile[1], tile[2],
          d->base.name);
  return (need){.kind = HX__KERNEL_MATMUL, .op = HX_SUM, .type = HX_F32, .tile = none};
}

static need need_of(const hx__cl_device *d, unsigned index) {
  if (index < HX__REDUCTIONS)
    return (need){
        .kind = HX__KERNEL_REDUCE, .op = hx__reduction_op(index), .type = hx__reduction_type(index), .tile = none};
  if (index < HX__FIRST_LINES) return product_of(d, d->base.tile[index - HX__REDUCTIONS]);
  if (index < HX__NEEDS)
    return (need){.kind = HX__KERNEL_LINES,
                  .op = hx__reduction_op(index - HX__FIRST_LINES),
                  .type = hx__reduction_type(index - HX__FIRST_LINES),
                  .tile = none};
  return (need){.kind = HX__KERNEL_FIELDS,
                .op = HX_SUM,
                .type = HX_F32,
                .tile = none,
                .fields = atomic_load(&d->fields[index - HX__FIRST_FIELDS])};
}

static bool reduction_rounds(hx_op op, hx_type type) {
  return type == HX_F32 && op != HX_MIN && op != HX_MAX && op != HX_ARGMIN && op != HX_ARGMAX;
}

static bool does_rounding(const need *n) { /* the kernel adds or multiplies floats */
  bool rounds = n->kind == HX__KERNEL_MATMUL || (!n->fields && reduction_rounds(n->op, n->type));
  for (unsigned f = 0; hx__field_of(n->fields, f); f++) {
    const unsigned reduction = hx__field_reduction(n->fields, f);
    rounds = rounds || reduction_rounds(hx__reduction_op(reduction), hx__reduction_type(reduction));
  }
  return rounds;
}

/* Whether an arithmetic is worth a build for this need on this device. */
static bool worth_trying(const hx__cl_device *d, const need *n, hx__arithmetic arithmetic) {
  switch (arithmetic) {
    case HX__ARITHMETIC_PLAIN:
      return n->kind != HX__KERNEL_MATMUL || d->fma_ok;
    case HX__ARITHMETIC_FMA_ADD:
      return n->kind != HX__KERNEL_MATMUL && does_rounding(n) && d->fma_ok && !d->slow_fma;
    case HX__ARITHMETIC_SOFT_FMA:
      return n->kind == HX__KERNEL_MATMUL && !n->bare;
    default:
      return false;
  }
}

/* Writes the options of a need's program for one row of the table. False: they are too long. */
static bool options_of(const hx__cl_device *d, const need *n, hx__arithmetic arithmetic, const hx__kernel_row *row,
                       char options[OPTIONS_BYTES]) {
  if (!hx__kernel_options(options, OPTIONS_BYTES, row, n->op, n->type, n->tile, arithmetic)) return false;
  const hx__cl_tuned *const tuned = hx__cl_tuned_for(d, row);
  size_t used = strlen(options);
  if (n->fields && !hx__kernel_fields_options(options + used, OPTIONS_BYTES - used, n->fields)) return false;
  if (tuned && tuned->order)
    used += (size_t)snprintf(options + used, OPTIONS_BYTES - used, " -DHX_ORDER=%u", tuned->order);
  if (hx__kernel_of_set(row) && used < OPTIONS_BYTES)
    used += (size_t)snprintf(options + used, OPTIONS_BYTES - used, " -DHX_LAYOUT=%d%s", (int)n->layout,
                             n->bare ? " -DHX_BARE=1" : "");
  return used < OPTIONS_BYTES;
}

/* Fills in the program of a need for one row of the table, and its options. Returns NULL, or the reason why that is
 * impossible. */
static const char *set_up_program(hx__cl_device *d, unsigned index, const need *n, hx__arithmetic arithmetic,
                                  const hx__kernel_row *row, char options[OPTIONS_BYTES]) {
  hx__cl_program *const p = &d->program[index];
  if (!options_of(d, n, arithmetic, row, options)) return "its options are too long";
  p->row = row;
  p->layout = n->layout;
  p->arithmetic = arithmetic;
  const bool asked = row->any_tile && n->tile[0];
  p->tile_m = asked ? n->tile[0] : row->tile_m;
  p->tile_n = asked ? n->tile[1] : row->tile_n;
  p->tile_k = asked ? n->tile[2] : row->tile_k;
  return NULL;
}

static const char *discard_program(hx__cl_device *d, unsigned index, const char *why) {
  hx__cl_program *const p = &d->program[index];
  if (atomic_load(&d->base.lost)) return why;
  hx__log(HX__LOG_DEBUG, "%s: %s with arithmetic %d: %s", d->base.name, p->row->name, (int)p->arithmetic, why);
  if (p->program) clReleaseProgram(p->program);
  p->program = NULL;
  return why;
}

/* Gets a program for a row: from the cache or from source. Returns NULL, or the reason why that failed. */
typedef const char *get_program(hx__cl_device *d, unsigned index, const need *n, hx__arithmetic arithmetic,
                                const hx__kernel_row *row);

/* Takes a program that passed in an earlier process from the cache, if there is one and it still gives right
 * results. */
static const char *load_program(hx__cl_device *d, unsigned index, const need *n, hx__arithmetic arithmetic,
                                const hx__kernel_row *row) {
  char options[OPTIONS_BYTES];
  const char *why = set_up_program(d, index, n, arithmetic, row, options);
  if (why) return why;
  const hx__cl_cached_program cached = hx__cl_binary_load(d, n->kind, options, true);
  d->program[index].program = cached.program;
  if (!cached.program) return "none is cached";
  hx__cl_build_cancel(d, n->kind, options);
  why = hx__cl_self_test_once(d, index);
  hx__cache_crash_mark_end(cached.crash_mark, !why);
  d->program[index].seed = cached.seed;
  return why ? discard_program(d, index, why) : NULL;
}

/* Whether the product uses a set of rows. */
static bool has_variants(const hx__cl_device *d) {
  const hx__cl_program *const first = &d->program[HX__FIRST_PRODUCT];
  return first->row && hx__kernel_of_set(first->row) && first->arithmetic == HX__ARITHMETIC_PLAIN;
}

/* The need of a variant of the product. Variants are numbered by layout, and by row within a layout. False if there is
 * no variant of this number. Rows before that of the set's first program were refused and are left out, unless the
 * first program came from the cache: the cache may then only lack the file of such a row. */
static bool variant_of(const hx__cl_device *d, unsigned variant, need *n) {
  const hx__cl_program *const first = &d->program[HX__FIRST_PRODUCT];
  for (int layout = 0; layout < HX__LAYOUTS; layout++)
    for (const hx__kernel_row *row = NULL;
         (row = hx__kernel_row_after(row, HX__KERNEL_MATMUL, HX_F32, d->families, none, d->max_local)) != NULL;) {
      if (row->rate[layout] == 0 || (layout == HX__LAYOUT_NN && row == first->row)) continue;
      if (row < first->row && !first->from_cache) continue;
      if (variant--) continue;
      *n = need_of(d, HX__FIRST_PRODUCT);
      n->first = row;
      n->layout = (hx__layout)layout;
      n->bare = true;
      return true;
    }
  return false;
}

/* Starts the builds that will be needed after this one. */
static void start_later_builds(hx__cl_device *d, unsigned index) {
  uint64_t asked = atomic_load(&d->base.requested) & ~(atomic_load(&d->base.ready) | atomic_load(&d->base.refused));
  asked &= ~(HX__NEED_TILES | HX__NEED_OPEN | HX__NEED_MAPS) & ~(index < HX__NEEDS ? 1ull << index : 0);
  unsigned variant = index < HX__NEEDS ? 0 : index < HX__FIRST_FIELDS ? d->tried + 1 : d->tried;
  const bool product = has_variants(d);
  for (int ahead = 0; ahead < BUILDS_AHEAD; ahead++) {
    need n;
    char options[OPTIONS_BYTES];
    if (asked) {
      n = need_of(d, hx__need_index(asked));
      asked &= asked - 1;
    } else if (!product || !variant_of(d, variant++, &n)) {
      return;
    }
    const hx__kernel_row *const row =
        n.first ? n.first : hx__kernel_row_for(n.kind, n.type, d->families, n.tile, d->max_local);
    if (!row || !worth_trying(d, &n, HX__ARITHMETIC_PLAIN) || !options_of(d, &n, HX__ARITHMETIC_PLAIN, row, options) ||
        !hx__cl_build_ahead(d, n.kind, options))
      return;
  }
}

static const char *build_program(hx__cl_device *d, unsigned index, const need *n, hx__arithmetic arithmetic,
                                 const hx__kernel_row *row) {
  hx__cl_program *const p = &d->program[index];
  char options[OPTIONS_BYTES];
  cl_int code = CL_SUCCESS;
  const char *why = set_up_program(d, index, n, arithmetic, row, options);
  if (why) return why;
  p->program = hx__cl_program_new(d, n->kind, options, true, &code);
  if (p->program) start_later_builds(d, index); /* not earlier: the compiler's lock is not fair */
  if (!p->program) hx__cl_build_failed(d, code);
  why = p->program ? hx__cl_self_test(d, index) : "its build failed";
  if (why) return discard_program(d, index, why);
  if (index < HX__NEEDS) p->seed = hx__cl_seed_rate(d, index);
  if (!atomic_load(&d->base.lost)) hx__cl_binary_store(d, p->program, n->kind, options, p->seed);
  return NULL;
}

/* Tries each arithmetic that is worth it with the rows of the device until a program passes. After an optional row the
 * next row is tried. A variant is tried with its own row only. */
static const char *try_rows(hx__cl_device *d, unsigned index, const need *n, get_program *make) {
  const char *why = "no kernel gives its bits";
  for (int a = 0; a < HX__ARITHMETICS; a++) {
    if (!worth_trying(d, n, (hx__arithmetic)a)) continue;
    const hx__kernel_row *row =
        n->first ? n->first : hx__kernel_row_for(n->kind, n->type, d->families, n->tile, d->max_local);
    if (!row) return "there is no kernel for this device and tile";
    while (row && !atomic_load(&d->base.lost)) {
      if ((why = make(d, index, n, (hx__arithmetic)a, row)) == NULL) return NULL;
      row = row->optional && !n->bare ? hx__kernel_row_after(row, n->kind, n->type, d->families, n->tile, d->max_local)
                                      : NULL;
    }
  }
  return why;
}

static const char *prepare_as(hx__cl_device *d, unsigned index, const need *n, bool *cached) {
  *cached = false;
  if (!hx__address_space_available(BUILD_BYTES)) return "too little address space is left to build it";
  /* The cache comes first. It contains only programs that passed, so a row that was refused is not built again. */
  const char *why = try_rows(d, index, n, load_program);
  *cached = !why;
  if (why) why = try_rows(d, index, n, build_program);
  d->program[index].from_cache = *cached;
  return why;
}

/* Prepares the next variant of the product. False if there are no more, or the device is lost. */
static bool prepare_variant(hx__cl_device *d) {
  need n;
  const uint64_t ready = atomic_load(&d->variants);
  const bool first_ready = atomic_load(&d->base.ready) >> HX__FIRST_PRODUCT & 1;
  const unsigned at = (unsigned)__builtin_popcountll(ready); /* variants are stored in the order in which they pass */
  if (!first_ready || !has_variants(d) || at == HX__CL_VARIANTS || !variant_of(d, d->tried, &n)) return false;
  const uint64_t from = hx__now_ns();
  bool cached = false;
  const char *const why = prepare_as(d, HX__NEEDS + at, &n, &cached);
  if (atomic_load(&d->base.lost)) return false;
  hx__log(HX__LOG_INFO, "%s: %s, layout %d: %s in %.1f ms", d->base.name, n.first->name, (int)n.layout,
          why      ? why
          : cached ? "from the cache"
                   : "built and tested",
          (double)(hx__now_ns() - from) * 1e-6);
  d->tried++;
  if (!why) atomic_store_explicit(&d->variants, ready | 1ull << at, memory_order_release);
  return true;
}

static void name_of(const need *n, char name[NAME_BYTES]) {
  int used = 0;
  for (unsigned f = 0; hx__field_of(n->fields, f) && used >= 0 && used < NAME_BYTES; f++) {
    const unsigned reduction = hx__field_reduction(n->fields, f);
    used += snprintf(name + used, NAME_BYTES - (size_t)used, "%s%s %s", f ? ", " : "",
                     hx__op_names[hx__reduction_op(reduction)], hx__type_names[hx__reduction_type(reduction)]);
  }
  if (n->kind == HX__KERNEL_MATMUL)
    snprintf(name, NAME_BYTES, "matmul");
  else if (!n->fields)
    snprintf(name, NAME_BYTES, "%s%s %s", n->kind == HX__KERNEL_LINES ? "lines " : "", hx__op_names[n->op],
             hx__type_names[n->type]);
}

/* The first entry of several fields that has not been tried; HX__CL_FIELDS: there is none. */
static unsigned untried_fields(const hx__cl_device *d) {
  unsigned i = 0;
  while (i < HX__CL_FIELDS && d->fields_tried >> i & 1) i++;
  return i < HX__CL_FIELDS && atomic_load(&d->fields[i]) ? i : HX__CL_FIELDS;
}

/* Prepares the next program of several fields. False if there are no more, or the device is lost. */
static bool prepare_fields(hx__cl_device *d) {
  const unsigned i = untried_fields(d);
  if (i == HX__CL_FIELDS) return false;
  const need n = need_of(d, HX__FIRST_FIELDS + i);
  const uint64_t from = hx__now_ns();
  bool cached = false;
  char name[NAME_BYTES];
  const char *const why = does_rounding(&n) && !d->add_ok ? "its float add or multiply rounds differently"
                                                          : prepare_as(d, HX__FIRST_FIELDS + i, &n, &cached);
  if (atomic_load(&d->base.lost)) return false;
  name_of(&n, name);
  hx__log(HX__LOG_INFO, "%s: %s in one launch: %s in %.1f ms", d->base.name, name,
          why      ? why
          : cached ? "from the cache"
                   : "built and tested",
          (double)(hx__now_ns() - from) * 1e-6);
  d->fields_tried |= 1ull << i;
  if (!why) atomic_fetch_or_explicit(&d->fields_ready, 1ull << i, memory_order_release);
  return true;
}

/* Takes one step of HX__NEED_TILES; after the last one it is ready. */
static void prepare_further(hx__cl_device *d) {
  if (prepare_fields(d) || prepare_variant(d)) return;
  atomic_fetch_or(&d->base.ready, HX__NEED_TILES);
  if (untried_fields(d) < HX__CL_FIELDS) atomic_fetch_and(&d->base.ready, ~HX__NEED_TILES); /* added just now */
}

static const char *prepare_one(hx__cl_device *d, unsigned index, const need *n, bool *cached) {
  if (does_rounding(n) && !d->add_ok) return "its float add or multiply rounds differently";
  if (n->kind == HX__KERNEL_MATMUL && d->slow_fma) return d->slow_fma;
  const hx__cl_tuned *const tuned = &d->tuned[0];
  if (index == HX__FIRST_PRODUCT && tuned->row && !hx__kernel_of_set(tuned->row)) {
    need fastest = *n;
    fastest.tile = tuned->tile;
    fastest.first = tuned->row;
    if (!prepare_as(d, index, &fastest, cached)) return NULL;
  }
  return prepare_as(d, index, n, cached);
}

static void note_refusal(hx__cl_device *d, unsigned index, const char *name, const char *why) {
  hx__device_note_refusal(&d->base, index, why);
  hx__log(HX__LOG_INFO, "%s refuses %s (%s)", d->base.name, name, why);
}

void hx__cl_prepare(hx__device *device, uint64_t needs) {
  hx__cl_device *const d = (hx__cl_device *)device;
  if (!needs) hx__cl_tester_close(d);
  if (!(atomic_load(&device->ready) & HX__NEED_OPEN) && !hx__address_space_available(BUILD_BYTES)) {
    hx__device_lost(device, "too little address space is left for its first kernel");
    return;
  }
  if (!hx__cl_device_open(d)) return;
  atomic_fetch_or(&device->ready, HX__NEED_OPEN);
  if (needs & HX__NEED_TILES) prepare_further(d);
  if (needs & HX__NEED_MAPS) hx__cl_maps_prepare(d);
  for (needs &= ~(HX__NEED_OPEN | HX__NEED_TILES | HX__NEED_MAPS); needs; needs &= needs - 1) {
    const unsigned index = hx__need_index(needs);
    const need n = need_of(d, index);
    const uint64_t from = hx__now_ns();
    bool cached = false;
    char name[NAME_BYTES];
    name_of(&n, name);
    const char *const why = prepare_one(d, index, &n, &cached);
    if (atomic_load(&device->lost)) return;
    device->seed_rate[index] = d->program[index].seed;
    if (why)
      note_refusal(d, index, name, why);
    else
      hx__log(HX__LOG_INFO, "%s: %s ready in %.1f ms, %s", device->name, name, (double)(hx__now_ns() - from) * 1e-6,
              cached ? "from the cache" : "built and tested");
    atomic_fetch_or(why ? &device->refused : &device->ready, 1ull << index);
  }
  if ((atomic_load(&device->ready) & ~HX__NEED_OPEN) && hx__cl_has_host_addresses(d)) hx__cl_completions_prepare(d);
}
