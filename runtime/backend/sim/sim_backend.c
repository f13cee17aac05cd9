/* SPDX-License-Identifier: Apache-2.0
 * A simulated device. It computes with the CPU's kernels at once, but reports the end of a chunk when a device with the
 * rate and latency of its profile (HX_SIM) would, or fails at the call that its profile names. It has every optional
 * table of a backend. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/backend/backend.h"
#include "runtime/backend/lines.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"

#define MAX_BLOCK_BYTES ((size_t)64 << 20)
#define POLL_NS 100000u /* between checks of a deadline that other threads may move */

typedef struct sim_device {
  hx__device base;
  hx__sim_profile profile;
  _Atomic uint64_t calls[HX__SIM_ENTRIES];
} sim_device;

/* A chunk in flight. */
typedef struct sim_chunk {
  void *result; /* its slots, or its block t */
  size_t result_bytes, ldt;
  hx__chunk chunk;
  uint64_t done_at_ns;
} sim_chunk;

/* A mirror "on the device". */
typedef struct sim_mirror {
  hx__mirror base;
  char *data;
} sim_mirror;

typedef struct sim_stream {
  hx__stream base;
  sim_device *device;
  void *scratch;
  size_t scratch_bytes;
  sim_chunk inflight[HX__MAX_INFLIGHT];
  unsigned next;                  /* index of the next free one */
  uint64_t free_at_ns, copied;    /* when the last chunk ends; bytes copied in the run */
  hx__resident_output *resident;  /* of the run */
  size_t resident_slices, slices; /* slices in the resident output; slices of the run */
} sim_stream;

extern const hx__backend hx__sim_backend;

/* Counts a call of an entry. True if the profile wants this call to fail: the device is then lost. */
static bool is_to_fail(sim_device *d, hx__sim_entry entry) {
  const uint64_t number = atomic_fetch_add(&d->calls[entry], 1) + 1;
  if (d->profile.fail_entry != entry || d->profile.fail_at != number) return false;
  hx__device_lost(&d->base, "its profile says that call %llu fails", (unsigned long long)number);
  return true;
}

static size_t sim_discover(const hx__config *config, hx__device **list, size_t max) {
  size_t count = 0;
  for (; count < config->sims && count < max; count++) {
    sim_device *const d = calloc(1, sizeof *d);
    if (!d) break;
    d->profile = config->sim[count];
    d->base = (hx__device){.backend = &hx__sim_backend,
                           .kind = HX_SIM,
                           .reads_at_submit = true,
                           .words = HX__DEV_SIM | HX__DEV_ALL,
                           .compute_units = 1,
                           .modes = 1u << HX__MEMORY_COPY,
                           .tile_count = 1,
                           .launch_ns = (float)(config->sim[count].latency_us * 1e3)};
    snprintf(d->base.name, sizeof d->base.name, "simulated, %g units/s, %g us", d->profile.rate, d->profile.latency_us);
    snprintf(d->base.vendor, sizeof d->base.vendor, "hx");
    snprintf(d->base.driver, sizeof d->base.driver, "%s", hx_version());
    list[count] = &d->base;
  }
  return count;
}

static void sim_prepare(hx__device *device, uint64_t needs) {
  /* The CPU's kernels need no preparing: this only fails if the profile says so. */
  if (!is_to_fail((sim_device *)device, HX__SIM_PREPARE)) atomic_fetch_or(&device->ready, needs);
}

static size_t sim_grain(const hx__stream *stream, const hx__work *work) {
  (void)stream;
  return work->matmul && !work->by_products ? 8 : 1;
}

static size_t sim_most(const hx__stream *stream, const hx__request *request) {
  const hx__work *const work = request->work;
  (void)stream;
  const size_t across = hx__work_cross_extent(work);
  const size_t slices = work->matmul ? MAX_BLOCK_BYTES / sizeof(float) / (across ? across : 1) : work->slices;
  return slices ? slices : 1;
}

static bool sim_recovered(hx__stream *base) {
  if (base->timed_out && hx__now_ns() >= ((sim_stream *)base)->free_at_ns) base->timed_out = false;
  return !base->timed_out;
}

static hx__stream *sim_open(hx__device *device, const hx__config *config) {
  (void)config;
  sim_stream *const stream = is_to_fail((sim_device *)device, HX__SIM_OPEN) ? NULL : calloc(1, sizeof *stream);
  if (!stream) {
    hx__fail(HX_DEVICE_FAILED, "%s has no stream", device->name);
    return NULL;
  }
  stream->base = (hx__stream){.device = device, .depth = HX__DEPTH};
  stream->device = (sim_device *)device;
  return &stream->base;
}

static void sim_close(hx__stream *base) {
  sim_stream *const stream = (sim_stream *)base;
  free(stream->scratch);
  for (unsigned i = 0; i < HX__MAX_INFLIGHT; i++) free(stream->inflight[i].result);
  free(stream);
}

/* The address in the mirror of a byte of the host. */
static char *in_mirror(const hx__mirror *mirror, const void *p) {
  return ((const sim_mirror *)mirror)->data + ((uintptr_t)p - mirror->first);
}

static hx__outcome sim_begin(hx__stream *base, const hx__request *request) {
  sim_stream *const stream = (sim_stream *)base;
  stream->copied = 0;
  stream->resident_slices = 0;
  stream->resident = request->resident;
  stream->slices = request->work->slices;
  if (is_to_fail(stream->device, HX__SIM_BIND)) return HX__FAILED;
  hx__resident_output *const resident = stream->resident;
  size_t at, bytes;
  if (!resident || !hx__mirror_next_gap(resident->mirror, 0, resident->mirror->bytes, &at, &bytes)) return HX__DONE;
  if (resident->old_mirror) {
    memcpy(in_mirror(resident->mirror, request->work->gemm.c), in_mirror(resident->old_mirror, request->work->gemm.c),
           resident->mirror->bytes);
  } else if (request->work->gemm.beta != 0.0f) {
    memcpy(in_mirror(resident->mirror, request->work->gemm.c), request->work->gemm.c, resident->mirror->bytes);
    stream->copied += resident->mirror->bytes;
  }
  return HX__DONE;
}

static void sim_end(hx__stream *base, uint64_t *copied) {
  sim_stream *const stream = (sim_stream *)base;
  *copied = stream->copied;
  if (stream->resident) stream->resident->complete = stream->resident_slices == stream->slices;
}

/* The address from which the device reads `bytes` of an operand at p: in its mirror, which is completed first, or in
 * the host's memory, which counts as if copied_bytes were copied. */
static const void *device_address(sim_stream *stream, const hx__array *array, const void *p, size_t bytes,
                                  size_t copied_bytes) {
  size_t at, gap;
  if (!array->mirror) {
    stream->copied += copied_bytes;
    return p;
  }
  while (hx__mirror_next_gap(array->mirror, (uintptr_t)p - array->mirror->first, bytes, &at, &gap)) {
    memcpy(((sim_mirror *)array->mirror)->data + at, (const char *)array->mirror->first + at, gap);
    stream->copied += gap;
  }
  return in_mirror(array->mirror, p);
}

static bool reserve_bytes(void **p, size_t *bytes, size_t wanted) {
  if (*bytes >= wanted) return true;
  free(*p);
  *bytes = (wanted + 63) & ~(size_t)63;
  *p = aligned_alloc(64, *bytes);
  if (!*p) *bytes = 0;
  return *p != NULL;
}

/* Computes g into the block at c. */
static bool compute_block(sim_stream *stream, const hx__request *request, hx__gemm g, float *c) {
  const hx__cpu_kernels *const cpu = request->kernels;
  const hx__gemm_blocking blocking = cpu->gemm_blocking(0);
  if (!reserve_bytes(&stream->scratch, &stream->scratch_bytes, cpu->gemm_scratch_bytes(blocking, g.m, g.n, g.k)))
    return false;
  const size_t a_span = (g.m - 1) * g.a_rs + (g.k - 1) * g.a_cs + 1,
               b_span = (g.k - 1) * g.b_rs + (g.n - 1) * g.b_cs + 1;
  g.c = c;
  g.ldc = g.n;
  g.beta = 0.0f;
  g.a = device_address(stream, &request->arrays[0], g.a, a_span * sizeof(float), g.m * g.k * sizeof(float));
  g.b = device_address(stream, &request->arrays[1], g.b, b_span * sizeof(float), g.k * g.n * sizeof(float));
  cpu->gemm(&g, blocking, NULL, NULL, stream->scratch);
  if (!stream->resident) stream->copied += g.m * g.n * sizeof(float);
  return true;
}

static bool compute_product(sim_stream *stream, sim_chunk *out, const hx__request *request, hx__chunk chunk) {
  const hx__work *const w = request->work;
  const size_t cells = hx__work_cross_extent(w);
  if (!reserve_bytes(&out->result, &out->result_bytes, chunk.count * cells * sizeof(float))) return false;
  float *const c = out->result;
  bool fine = true;
  if (!w->by_products) {
    const hx__gemm g = hx__chunk_gemm(w, chunk);
    out->ldt = g.n;
    return compute_block(stream, request, g, c);
  }
  out->ldt = w->gemm.n;
  for (size_t i = 0; i < chunk.count && fine; i++)
    fine = compute_block(stream, request, hx__batch_gemm(w, chunk.first + i), c + i * cells);
  return fine;
}

/* The whole arrays are put in mirrors with the first chunk. */
static bool compute_lines(sim_stream *stream, sim_chunk *out, const hx__request *request, hx__chunk chunk) {
  const hx__work *const w = request->work;
  const size_t bytes = hx__chunk_slots(w, chunk) * sizeof(uint64_t);
  if (!reserve_bytes(&out->result, &out->result_bytes, bytes) ||
      !reserve_bytes(&stream->scratch, &stream->scratch_bytes, HX__LEAST_COLUMNS_SCRATCH))
    return false;
  const void *array[2] = {w->fields->x, w->fields->y};
  const int arrays = w->fields->op == HX_DOT ? 2 : 1;
  for (int of_y = 0; of_y < arrays; of_y++) {
    const hx__matrix m = hx__lines_matrix(w, of_y);
    array[of_y] = device_address(stream, &request->arrays[of_y], m.base, ((m.rows - 1) * m.ld + m.cols) * 4,
                                 hx__chunk_units(w, chunk) * 4);
  }
  const hx__lines_place place = {request->kernels, array[0],        array[1],
                                 HX__IN_L2,        stream->scratch, HX__LEAST_COLUMNS_SCRATCH};
  hx__compute_lines(&place, w, chunk, out->result);
  stream->copied += bytes;
  return true;
}

static bool compute_reduction(sim_stream *stream, sim_chunk *out, const hx__request *request, hx__chunk chunk) {
  const hx__work *const w = request->work;
  if (w->by_lines) return compute_lines(stream, out, request, chunk);
  const size_t n = hx__chunk_elements(w, chunk), first = chunk.first * HX__LEAF;
  if (!reserve_bytes(&out->result, &out->result_bytes, w->nfields * chunk.count * sizeof(uint64_t))) return false;
  uint64_t *slots = out->result;
  for (size_t f = 0; f < w->nfields; f++, slots += chunk.count) {
    const hx_field *const field = &w->fields[f];
    const hx__array *const arrays = &request->arrays[2 * f];
    const uint32_t *const x = device_address(stream, &arrays[0], (const uint32_t *)field->x + first, n * 4, n * 4);
    const uint32_t *const y = field->op == HX_DOT
                                  ? device_address(stream, &arrays[1], (const uint32_t *)field->y + first, n * 4, n * 4)
                                  : NULL;
    request->kernels->leaf[field->op][field->type](x, y, n, HX__IN_L2, slots);
    stream->copied += chunk.count * sizeof(uint64_t);
  }
  return true;
}

static hx__outcome sim_submit(hx__stream *base, const hx__request *request, hx__chunk chunk, hx__inflight **inflight) {
  sim_stream *const stream = (sim_stream *)base;
  const hx__sim_profile *const profile = &stream->device->profile;
  *inflight = NULL;
  if (is_to_fail(stream->device, HX__SIM_ENQUEUE)) return HX__FAILED;
  const double seconds = (double)hx__chunk_units(request->work, chunk) /
                         (request->work->matmul && profile->products > 0.0 ? profile->products : profile->rate);
  const uint64_t launched = hx__now_ns() + (uint64_t)(profile->latency_us * 1e3);
  sim_chunk *const t = &stream->inflight[stream->next];
  t->chunk = chunk;
  t->done_at_ns = (launched > stream->free_at_ns ? launched : stream->free_at_ns) +
                  (seconds < 1e9 ? (uint64_t)(seconds * 1e9) : (uint64_t)1000000000000000000u);
  if (!(request->work->matmul ? compute_product : compute_reduction)(stream, t, request, chunk)) return HX__NO_MEMORY;
  stream->free_at_ns = t->done_at_ns;
  stream->next = (stream->next + 1) % HX__MAX_INFLIGHT;
  *inflight = (hx__inflight *)t;
  return HX__DONE;
}

static hx__outcome sim_wait(hx__stream *base, hx__inflight *inflight, const _Atomic uint64_t *deadline_ns) {
  const uint64_t done_at = ((sim_chunk *)inflight)->done_at_ns;
  if (is_to_fail((sim_device *)base->device, HX__SIM_WAIT)) return HX__FAILED;
  for (;;) {
    const uint64_t now = hx__now_ns(), deadline = atomic_load(deadline_ns);
    if (now >= done_at && deadline != 0) return HX__DONE;
    if (now >= deadline) break;
    const uint64_t until = done_at < deadline ? done_at : deadline;
    hx__sleep_ns(until - now < POLL_NS ? until - now : POLL_NS);
  }
  base->timed_out = true;
  return HX__TIMED_OUT;
}

/* Stores the chunk's block to the C that stays on the device; the matrices of a batch are adjacent there. */
static void store_resident(const sim_stream *stream, const hx__request *request, const sim_chunk *t) {
  const hx__work *const w = request->work;
  hx__gemm g = w->by_products ? hx__batch_gemm(w, t->chunk.first) : hx__chunk_gemm(w, t->chunk);
  if (w->by_products) g.m *= t->chunk.count;
  request->kernels->store(t->result, t->ldt, g.m, g.n, (float *)(void *)in_mirror(stream->resident->mirror, g.c), g.ldc,
                          g.beta, false);
}

static bool sim_deliver(hx__stream *base, const hx__request *request, hx__inflight *inflight, hx__chunk part) {
  sim_stream *const stream = (sim_stream *)base;
  const sim_chunk *const t = (const sim_chunk *)inflight;
  if (stream->resident) {
    store_resident(stream, request, t);
    stream->resident_slices += part.count;
  } else {
    hx__deliver(request, t->chunk, part, t->result, t->ldt);
  }
  return true;
}

static void *sim_alloc(hx__device *device, size_t bytes, hx__memory_mode mode, uint64_t limit_ns, void **block) {
  (void)limit_ns;
  if (mode != HX__MEMORY_COPY || is_to_fail((sim_device *)device, HX__SIM_ALLOC)) return NULL;
  return *block = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
}

static void sim_release(hx__device *device, uint64_t limit_ns, void *block) {
  (void)device;
  (void)limit_ns;
  free(block);
}

static hx__mirror *sim_mirror_create(hx__device *device, const void *first, size_t bytes) {
  sim_mirror *const mirror = calloc(1, sizeof *mirror);
  (void)device;
  if (mirror) mirror->data = malloc(bytes);
  if (mirror && mirror->data && hx__mirror_init(&mirror->base, first, bytes)) return &mirror->base;
  if (mirror) free(mirror->data);
  free(mirror);
  return NULL;
}

static void sim_mirror_destroy(hx__device *device, hx__mirror *mirror) {
  (void)device;
  free(((sim_mirror *)mirror)->data);
  hx__mirror_free(mirror);
  free(mirror);
}

static hx__outcome sim_fetch(hx__stream *stream, const hx__array *array) {
  if (atomic_load(&stream->device->lost)) return HX__FAILED;
  for (size_t i = 0; i < array->rows; i++) {
    char *const row = (char *)(uintptr_t)array->p + i * array->ld * sizeof(float);
    memcpy(row, in_mirror(array->mirror, row), array->cols * sizeof(float));
  }
  return HX__DONE;
}

static const hx__backend_chunking chunking = {.grain = sim_grain, .most = sim_most};
static const hx__backend_recovery recovery = {.recovered = sim_recovered};
static const hx__backend_memory memory = {.alloc = sim_alloc, .free = sim_release};
static const hx__backend_residency residency = {
    .create = sim_mirror_create, .destroy = sim_mirror_destroy, .fetch = sim_fetch};

const hx__backend hx__sim_backend = {.name = "sim",
                                     .discovery = HX__DISCOVER_CONTEXT,
                                     .discover = sim_discover,
                                     .open = sim_open,
                                     .close = sim_close,
                                     .begin = sim_begin,
                                     .end = sim_end,
                                     .submit = sim_submit,
                                     .wait = sim_wait,
                                     .deliver = sim_deliver,
                                     .prepare = sim_prepare,
                                     .chunking = &chunking,
                                     .recovery = &recovery,
                                     .memory = &memory,
                                     .residency = &residency};
