/* SPDX-License-Identifier: Apache-2.0
 * The CPU as a backend: a chunk is computed by the thread that submits it, with the kernels of cpu/. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/backend/cpu/packed.h"
#include "runtime/backend/lines.h"
#include "runtime/backend/mapped.h"
#include "runtime/base/status.h"
#include "runtime/base/thread.h"
#include "runtime/base/thresholds.h"
#include "runtime/topo/topo.h"

#define CACHE_LINE 64u
#define ACROSS_LINES 256u                /* rows are then read in parts of 1 KiB at least */
#define NEAR_BYTES ((size_t)1 << 20)     /* fits in a second-level cache that other programs use, too */
#define USUAL_L3_BYTES ((size_t)8 << 20) /* if hwloc knows of none */

/* Scratch memory of one thread. It is reused by later chunks: by those of the same thread, as a rule, because it lies
 * in a place that is chosen by the thread. Taking it from there needs no lock, for which many threads would wait. */
typedef struct scratch {
  struct scratch *next;
  size_t bytes;
  void *p;
} scratch;

#define PLACE_BITS 6
typedef struct scratch_place {
  _Alignas(CACHE_LINE) _Atomic(scratch *) scratch; /* NULL: it is in use, or there is none */
} scratch_place;

typedef struct cpu_stream {
  hx__stream base;
  const hx__cpu_kernels *kernels;
  bool prefetches;
  scratch_place place[1 << PLACE_BITS];
  pthread_mutex_t lock;
  scratch *free_scratch; /* that found its place taken */
  hx__packed_store store;
} cpu_stream;

static hx__device device = {.backend = &hx__cpu_backend,
                            .kind = HX_CPU,
                            .is_host_cpu = true,
                            .uses_cpu_cores = true,
                            .words = HX__DEV_CPU | HX__DEV_ALL,
                            .zero_copy = 1u << HX__MEMORY_SVM_SYSTEM,
                            .modes = 1u << HX__MEMORY_SVM_SYSTEM,
                            .never_times_out = true,
                            .tile_count = 1,
                            .ready = UINT64_MAX};
static pthread_once_t described_once = PTHREAD_ONCE_INIT;

static void describe_device(void) {
  const hx__topo *const topo = hx__topo_get();
  snprintf(device.name, sizeof device.name, "%s", topo->cpu_name[0] ? topo->cpu_name : "CPU");
  device.compute_units = topo->cores;
  device.memory_bytes = topo->memory_bytes;
}

const hx__device *hx__cpu_described(void) {
  pthread_once(&described_once, describe_device);
  return &device;
}

static size_t cpu_discover(const hx__config *config, hx__device **list, size_t max) {
  (void)config;
  if (max == 0) return 0;
  hx__cpu_described();
  list[0] = &device;
  return 1;
}

/* Slices of lines side by side that a chunk should have: their rows are then read in long parts. */
static size_t grain_across(const hx__lines *l) {
  const size_t wanted = ACROSS_LINES / l->together, all = l->count / l->together;
  return all == 0 || wanted == 0 ? 1 : all < wanted ? all : wanted;
}

static size_t cpu_grain(const hx__stream *base, const hx__work *work) {
  const cpu_stream *const stream = (const cpu_stream *)base;
  if (work->by_lines) return work->lines.across ? grain_across(&work->lines) : 1;
  return !work->matmul || work->by_products ? 1 : work->by_columns ? stream->kernels->nr : stream->kernels->mr;
}

static size_t cpu_most(const hx__stream *base, const hx__request *request) {
  (void)base;
  return request->work->slices;
}

static hx__stream *cpu_open(hx__device *d, const hx__config *config) {
  cpu_stream *const stream = aligned_alloc(CACHE_LINE, sizeof *stream);
  if (!stream) {
    hx__fail(HX_OUT_OF_MEMORY, "no memory for the CPU's stream");
    return NULL;
  }
  memset(stream, 0, sizeof *stream);
  stream->base = (hx__stream){.device = d};
  stream->kernels = hx__cpu_kernels_for(config->isa);
  stream->prefetches = hx__cpu_prefetches();
  pthread_mutex_init(&stream->lock, NULL);
  hx__packed_store_init(&stream->store);
  return &stream->base;
}

static void release_scratch(scratch *s) {
  if (s) free(s->p);
  free(s);
}

static void cpu_close(hx__stream *base) {
  cpu_stream *const stream = (cpu_stream *)base;
  for (size_t i = 0; i < 1 << PLACE_BITS; i++) release_scratch(atomic_load(&stream->place[i].scratch));
  for (scratch *s = stream->free_scratch, *next; s; s = next) {
    next = s->next;
    release_scratch(s);
  }
  pthread_mutex_destroy(&stream->lock);
  hx__packed_store_free(&stream->store);
  free(stream);
}

/* The place of the calling thread. Stacks of threads are megabytes apart. */
static _Atomic(scratch *) *own_place(cpu_stream *stream) {
  const uint64_t thread = (uint64_t)(uintptr_t)pthread_self() >> 12;
  return &stream->place[thread * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PLACE_BITS)].scratch;
}

/* Scratch that no thread uses, of any place: there is hardly ever more of it than threads that used some at once. */
static scratch *take_free_scratch(cpu_stream *stream) {
  hx__lock(&stream->lock);
  scratch *s = stream->free_scratch;
  if (s) stream->free_scratch = s->next;
  hx__unlock(&stream->lock);
  for (size_t i = 0; i < 1 << PLACE_BITS && !s; i++)
    if (atomic_load_explicit(&stream->place[i].scratch, memory_order_relaxed))
      s = atomic_exchange_explicit(&stream->place[i].scratch, NULL, memory_order_acquire);
  return s;
}

static scratch *take_scratch(cpu_stream *stream, size_t bytes) {
  scratch *s = atomic_exchange_explicit(own_place(stream), NULL, memory_order_acquire);
  if (!s) s = take_free_scratch(stream);
  if (!s) s = calloc(1, sizeof *s);
  if (s && s->bytes < bytes) {
    free(s->p);
    s->bytes = (bytes + CACHE_LINE - 1) & ~(size_t)(CACHE_LINE - 1);
    s->p = aligned_alloc(CACHE_LINE, s->bytes);
    if (!s->p) {
      free(s);
      s = NULL;
    }
  }
  return s;
}

static void return_scratch(cpu_stream *stream, scratch *s) {
  scratch *none = NULL;
  if (atomic_compare_exchange_strong_explicit(own_place(stream), &none, s, memory_order_release, memory_order_relaxed))
    return;
  hx__lock(&stream->lock);
  s->next = stream->free_scratch;
  stream->free_scratch = s;
  hx__unlock(&stream->lock);
}

/* Computes g, a block of the request's product whose rows or columns of the shared operand begin with `first`. If there
 * is no memory for scratch, the kernel works without it: other blocks may have been written to C already, so the
 * product cannot be abandoned. */
static void compute_product(cpu_stream *stream, const hx__request *request, hx__gemm g, size_t first) {
  const hx__cpu_kernels *const cpu = stream->kernels;
  if (!request->packed && !g.apart && g.k && g.alpha != 0 && cpu->gemm_direct(&g)) return;
  const hx__gemm_blocking blocking = cpu->gemm_blocking(hx__topo_get()->l2_bytes);
  const size_t bytes = cpu->gemm_scratch_bytes(blocking, g.m, g.n, g.k);
  scratch *const s = bytes ? take_scratch(stream, bytes) : NULL;
  hx__gemm_packed shared, *const packed = request->packed ? &shared : NULL;
  const bool of_b = !request->work->by_columns;
  if (packed) shared = (hx__gemm_packed){hx__packed_data(request->packed), hx__work_cross_extent(request->work), first};
  cpu->gemm(&g, blocking, of_b ? NULL : packed, of_b ? packed : NULL, s ? s->p : NULL);
  if (s) return_scratch(stream, s);
}

/* A quarter of the second cache is left to other programs. */
bool hx__cpu_looks_ahead(uint64_t elements) {
  return elements > NEAR_BYTES / sizeof(float) / 4 && elements > hx__topo_get()->l2_bytes / sizeof(float) / 4 * 3;
}

static void compute_batch(cpu_stream *stream, const hx__request *request, hx__chunk products) {
  const hx__work *const w = request->work;
  const bool reads = w->gemm.k && w->gemm.alpha != 0;
  const uint64_t elements = hx__batch_elements(w) / w->batch.count * products.count; /* of this chunk */
  const bool ahead = hx__product_looks_ahead(&w->gemm) && hx__cpu_looks_ahead(elements);
  for (size_t left = products.count; left; left--) {
    const size_t i = products.first + products.count - left;
    const hx__gemm g = (ahead && left > 1 ? hx__batch_gemm_ahead : hx__batch_gemm)(w, i);
    if (!reads || !stream->kernels->gemm_direct(&g)) compute_product(stream, request, g, 0);
  }
}

hx__locality hx__cpu_locality(const hx__stream *base, const hx__work *w) {
  const cpu_stream *const stream = (const cpu_stream *)base;
  size_t arrays = 0;
  for (size_t f = 0; f < w->nfields; f++) arrays += w->fields[f].op == HX_DOT ? 2 : 1;
  // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): work has at least one field
  const size_t most_elements = SIZE_MAX / sizeof(uint32_t) / arrays, elements = w->by_lines ? w->units : w->n,
               bytes = (elements < most_elements ? elements : most_elements) * sizeof(uint32_t) * arrays;
  if (bytes <= NEAR_BYTES) return HX__IN_L2;
  const size_t l3 = hx__topo_get()->l3_bytes; /* a quarter of it: other programs use it, too */
  return stream->prefetches && bytes > (l3 ? l3 : USUAL_L3_BYTES) / 4 ? HX__IN_DRAM : HX__IN_LLC;
}

static __attribute__((noinline)) void compute_lines_on_stack(hx__lines_place *place, const hx__work *w, hx__chunk chunk,
                                                             uint64_t *slots) {
  _Alignas(CACHE_LINE) unsigned char on_stack[HX__LEAST_COLUMNS_SCRATCH + HX__PAGE];
  place->scratch = hx__half_a_page_from(on_stack, place->x);
  place->scratch_bytes = HX__LEAST_COLUMNS_SCRATCH;
  hx__compute_lines(place, w, chunk, slots);
  place->scratch = NULL; /* It ends here, and the caller's place does not. */
}

/* Small tasks must not allocate. */
static bool wants_heap(const hx__request *request) {
  return request->heap_scratch || request->work->units > HX__ONE_THREAD_ELEMENTS;
}

/* If there is no memory, what fits on the stack is enough, but slower. */
static void compute_lines(cpu_stream *stream, const hx__request *request, hx__chunk chunk) {
  const hx__work *const w = request->work;
  scratch *const s = wants_heap(request) ? take_scratch(stream, HX__COLUMNS_SCRATCH + HX__PAGE) : NULL;
  hx__lines_place place = {.kernels = stream->kernels,
                           .x = w->fields->x,
                           .y = w->fields->y,
                           .reach = hx__cpu_locality(&stream->base, w),
                           .scratch = s ? hx__half_a_page_from(s->p, w->fields->x) : NULL,
                           .scratch_bytes = HX__COLUMNS_SCRATCH};
  uint64_t *const slots = request->slots + hx__first_slot(w, chunk.first);
  if (s) {
    hx__compute_lines(&place, w, chunk, slots);
    return_scratch(stream, s);
  } else {
    compute_lines_on_stack(&place, w, chunk, slots);
  }
  hx__make_values(stream->kernels, w, slots, hx__chunk_slots(w, chunk));
}

static void compute_reduction(const cpu_stream *stream, const hx__request *request, hx__chunk chunk) {
  const hx__work *const w = request->work;
  const size_t n = hx__chunk_elements(w, chunk), first = chunk.first * HX__LEAF;
  const hx__locality locality = hx__cpu_locality(&stream->base, w);
  /* All fields of a leaf before the next leaf: fields that share an array find it in the cache. */
  for (size_t at = 0; at < n; at += HX__LEAF) {
    const size_t left = n - at, part = w->nfields == 1 ? n : left < HX__LEAF ? left : HX__LEAF;
    for (size_t f = 0; f < w->nfields; f++) {
      const hx_field *const field = &w->fields[f];
      const uint32_t *const x = (const uint32_t *)field->x + first + at;
      const uint32_t *const y = field->op == HX_DOT ? (const uint32_t *)field->y + first + at : NULL;
      stream->kernels->leaf[field->op][field->type](x, y, part, locality,
                                                    request->slots + f * w->slices + (first + at) / HX__LEAF);
    }
    if (part == n) break;
  }
}

static __attribute__((noinline)) void reduce_map_on_stack(const cpu_stream *stream, const hx__work *w, hx__chunk chunk,
                                                          uint64_t *slots) {
  _Alignas(CACHE_LINE) uint32_t leaf[HX__LEAF];
  hx__reduce_mapped(stream->kernels, w, chunk, leaf, slots);
}

static void compute_map_reduction(cpu_stream *stream, const hx__request *request, hx__chunk chunk) {
  const hx__work *const w = request->work;
  scratch *const s = wants_heap(request) ? take_scratch(stream, HX__LEAF * sizeof(uint32_t)) : NULL;
  uint64_t *const slots = request->slots + hx__first_slot(w, chunk.first);
  if (s) {
    hx__reduce_mapped(stream->kernels, w, chunk, s->p, slots);
    return_scratch(stream, s);
  } else {
    reduce_map_on_stack(stream, w, chunk, slots);
  }
  hx__make_values(stream->kernels, w, slots, hx__chunk_slots(w, chunk));
}

/* Whether the arrays of a map are too large for the caches, so that its result would leave them before anyone reads it.
 * Only on cores on which it was measured (docs/measurements/user-kernels-stores.tsv). */
static bool stores_past_caches(const cpu_stream *stream, const hx__work *w) {
  const size_t l3 = hx__topo_get()->l3_bytes;
  return stream->prefetches && w->units > (l3 ? l3 : USUAL_L3_BYTES) / sizeof(uint32_t) /
                                              (hx__expr_element_inputs(&w->kernel->expr) + hx__work_outputs(w));
}

static hx__outcome cpu_begin(hx__stream *stream, const hx__request *request) {
  (void)stream;
  (void)request;
  return HX__DONE;
}

static void cpu_end(hx__stream *stream, uint64_t *copied) {
  (void)stream;
  *copied = 0;
}

static hx__outcome cpu_submit(hx__stream *base, const hx__request *request, hx__chunk chunk, hx__inflight **inflight) {
  cpu_stream *const stream = (cpu_stream *)base;
  *inflight = NULL;
  if (request->work->by_products)
    compute_batch(stream, request, chunk);
  else if (request->work->matmul)
    compute_product(stream, request, hx__chunk_gemm(request->work, chunk), 0);
  else if (request->work->map)
    hx__map_elements(stream->kernels, request->work, hx__elements_of(request->work, chunk),
                     stores_past_caches(stream, request->work), NULL);
  else if (request->work->kernel)
    compute_map_reduction(stream, request, chunk);
  else if (request->work->by_lines)
    compute_lines(stream, request, chunk);
  else
    compute_reduction(stream, request, chunk);
  return HX__DONE;
}

static hx__outcome cpu_wait(hx__stream *stream, hx__inflight *inflight, const _Atomic uint64_t *deadline_ns) {
  (void)stream;
  (void)inflight;
  (void)deadline_ns;
  return HX__DONE;
}

static bool cpu_deliver(hx__stream *stream, const hx__request *request, hx__inflight *inflight, hx__chunk part) {
  (void)stream;
  (void)request;
  (void)inflight;
  (void)part;
  return true; /* submit has written the results where they are wanted */
}

void hx__cpu_device(hx__device **d) { *d = &device; }

size_t hx__cpu_cross_grain(const hx__stream *base, const hx__work *work) {
  const hx__cpu_kernels *const cpu = ((const cpu_stream *)base)->kernels;
  return work->by_columns ? cpu->mr : cpu->nr;
}

void hx__cpu_block(hx__stream *base, const hx__request *request, hx__chunk chunk, hx__chunk cross) {
  compute_product((cpu_stream *)base, request, hx__block_gemm(request->work, chunk, cross), cross.first);
}

hx__packed *hx__cpu_pack_open(hx__stream *base, const hx__work *work, uint64_t version) {
  cpu_stream *const stream = (cpu_stream *)base;
  return hx__packed_open(&stream->store, stream->kernels, work, version);
}

void hx__cpu_pack_close(hx__stream *base, hx__packed *packed) {
  hx__packed_close(&((cpu_stream *)base)->store, packed);
}

const hx__cpu_kernels *hx__cpu_stream_kernels(const hx__stream *stream) {
  return ((const cpu_stream *)stream)->kernels;
}

static const hx__backend_chunking chunking = {.grain = cpu_grain, .most = cpu_most};

const hx__backend hx__cpu_backend = {.name = "cpu",
                                     .discovery = HX__DISCOVER_HOST,
                                     .discover = cpu_discover,
                                     .open = cpu_open,
                                     .close = cpu_close,
                                     .begin = cpu_begin,
                                     .end = cpu_end,
                                     .submit = cpu_submit,
                                     .wait = cpu_wait,
                                     .deliver = cpu_deliver,
                                     .chunking = &chunking};
