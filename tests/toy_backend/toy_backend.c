/* SPDX-License-Identifier: Apache-2.0
 * The smallest backend: one device of the process that computes a chunk on the thread that submits it, into memory of
 * its own, with the kernels of the CPU. It has the eight required entries and none of the optional ones. */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/backend/backend.h"
#include "runtime/backend/lines.h"
#include "runtime/base/status.h"

extern const hx__backend toy_backend;

/* A computed chunk: its slots, or its block with ldt floats from row to row. */
typedef struct toy_chunk {
  hx__chunk range;
  void *result;
  size_t ldt;
} toy_chunk;

/* One chunk is in flight (depth 1) while the results of the one before it are delivered. */
typedef struct toy_stream {
  hx__stream base;
  toy_chunk chunk[2];
  unsigned next; /* index of the next chunk, modulo 2 */
} toy_stream;

static size_t discover(const hx__config *config, hx__device **list, size_t max) {
  static hx__device device;
  (void)config;
  if (max == 0) return 0;
  device = (hx__device){.backend = &toy_backend,
                        .name = "toy",
                        .vendor = "hx",
                        .driver = "1",
                        .kind = HX_SIM,
                        .words = HX__DEV_ALL,
                        .uses_cpu_cores = true,
                        .reads_at_submit = true,
                        .compute_units = 1,
                        .modes = 1u << HX__MEMORY_COPY,
                        .ready = UINT64_MAX,
                        .tile_count = 1};
  list[0] = &device;
  return 1;
}

static hx__stream *open(hx__device *device, const hx__config *config) {
  toy_stream *const stream = calloc(1, sizeof *stream);
  (void)config;
  if (!stream) {
    hx__fail(HX_OUT_OF_MEMORY, "no memory for a stream of %s", device->name);
    return NULL;
  }
  stream->base = (hx__stream){.device = device, .depth = 1};
  return &stream->base;
}

static void close(hx__stream *base) {
  toy_stream *const stream = (toy_stream *)base;
  free(stream->chunk[0].result);
  free(stream->chunk[1].result);
  free(stream);
}

static hx__outcome begin(hx__stream *base, const hx__request *request) {
  (void)base;
  (void)request;
  return HX__DONE;
}

static void end(hx__stream *base, uint64_t *copied) {
  (void)base;
  *copied = 0; /* the caller's arrays are read in place */
}

/* The block t = alpha op(A) op(B) of the chunk; hx__deliver adds beta C. */
static void multiply_block(const hx__request *request, hx__gemm g, float *t) {
  g.c = t;
  g.ldc = g.n;
  g.beta = 0.0f;
  request->kernels->gemm(&g, request->kernels->gemm_blocking(0), NULL, NULL, NULL);
}

/* Slices are rows or columns of one product, or products of a batch, whose blocks follow one another. */
static bool multiply(const hx__request *request, toy_chunk *c) {
  const hx__work *const work = request->work;
  const size_t cells = hx__work_cross_extent(work);
  c->ldt = work->by_columns ? c->range.count : work->gemm.n;
  c->result = malloc(c->range.count * cells * sizeof(float));
  if (!c->result) return false;
  if (!work->by_products) multiply_block(request, hx__chunk_gemm(work, c->range), c->result);
  for (size_t i = 0; work->by_products && i < c->range.count; i++)
    multiply_block(request, hx__batch_gemm(work, c->range.first + i), (float *)c->result + i * cells);
  return true;
}

/* The slots of the chunk's leaves, field after field. */
static bool reduce(const hx__request *request, toy_chunk *c) {
  const hx__work *const work = request->work;
  const size_t n = hx__chunk_elements(work, c->range), first = c->range.first * HX__LEAF;
  uint64_t *slots = c->result = malloc(work->nfields * c->range.count * sizeof *slots);
  for (size_t i = 0; i < work->nfields && c->result; i++, slots += c->range.count) {
    const hx_field *const field = &work->fields[i];
    const uint32_t *const x = (const uint32_t *)field->x + first;
    const uint32_t *const y = field->op == HX_DOT ? (const uint32_t *)field->y + first : NULL;
    request->kernels->leaf[field->op][field->type](x, y, n, HX__IN_L2, slots);
  }
  return c->result;
}

/* The slots of the chunk's leaves of lines. */
static bool reduce_lines(const hx__request *request, toy_chunk *c) {
  const hx__work *const work = request->work;
  c->result = malloc(hx__chunk_slots(work, c->range) * sizeof(uint64_t));
  void *const scratch = aligned_alloc(64, HX__LEAST_COLUMNS_SCRATCH);
  const hx__lines_place place = {request->kernels, work->fields->x, work->fields->y,
                                 HX__IN_L2,        scratch,         HX__LEAST_COLUMNS_SCRATCH};
  const bool fine = c->result && scratch;
  if (fine) hx__compute_lines(&place, work, c->range, c->result);
  free(scratch);
  return fine;
}

static hx__outcome submit(hx__stream *base, const hx__request *request, hx__chunk range, hx__inflight **inflight) {
  toy_stream *const stream = (toy_stream *)base;
  toy_chunk *const c = &stream->chunk[stream->next++ % 2];
  free(c->result);
  c->range = range;
  *inflight = NULL;
  const hx__work *const work = request->work;
  if (!(work->matmul ? multiply : work->by_lines ? reduce_lines : reduce)(request, c)) return HX__NO_MEMORY;
  *inflight = (hx__inflight *)c;
  return HX__DONE;
}

static hx__outcome wait(hx__stream *base, hx__inflight *inflight, const _Atomic uint64_t *deadline_ns) {
  (void)base;
  (void)inflight;
  (void)deadline_ns;
  return HX__DONE;
}

static bool deliver(hx__stream *base, const hx__request *request, hx__inflight *inflight, hx__chunk part) {
  const toy_chunk *const c = (const toy_chunk *)inflight;
  (void)base;
  hx__deliver(request, c->range, part, c->result, c->ldt);
  return true;
}

const hx__backend toy_backend = {.name = "toy",
                                 .discovery = HX__DISCOVER_PROCESS,
                                 .discover = discover,
                                 .open = open,
                                 .close = close,
                                 .begin = begin,
                                 .end = end,
                                 .submit = submit,
                                 .wait = wait,
                                 .deliver = deliver};
