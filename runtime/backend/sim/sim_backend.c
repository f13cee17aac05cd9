/* SPDX-License-Identifier: Apache-2.0
 * A simulated device: it computes with the host's kernels at once and answers when its profile (HX_SIM) says that a
 * device of that rate and latency would have, or fails at the call its profile names. The template for a new backend:
 * copy this file, and replace what computes. */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/backend/backend.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"

#define MAX_BLOCK_BYTES ((size_t)64 << 20)
#define LOOK_NS 100000u /* between looks at a deadline that others may have brought forward */

typedef struct sim_device {
  hx__device base;
  hx__sim_profile profile;
  _Atomic uint64_t calls[HX__SIM_ENTRIES];
} sim_device;

/* A chunk in flight. */
typedef struct sim_ticket {
  void *result; /* its slots, or its t */
  size_t result_bytes, ldt;
  hx__chunk chunk;
  uint64_t done_at_ns;
} sim_ticket;

typedef struct sim_lane {
  hx__lane base;
  sim_device *device;
  void *scratch;
  size_t scratch_bytes;
  sim_ticket ticket[HX__DEPTH];
  unsigned next;               /* of them */
  uint64_t free_at_ns, copied; /* when the last chunk ends */
} sim_lane;

/* Counts a call of an entry; true where the profile wants it to fail. The device is then lost. */
static bool fails(sim_device *d, hx__sim_entry entry) {
  const uint64_t number = atomic_fetch_add(&d->calls[entry], 1) + 1;
  if (d->profile.fail_entry != entry || d->profile.fail_at != number) return false;
  hx__device_lost(&d->base, "its profile says that call %llu fails", (unsigned long long)number);
  return true;
}

static size_t discover(const hx__config *config, hx__device **list, size_t max) {
  size_t count = 0;
  for (; count < config->sims && count < max; count++) {
    sim_device *const d = calloc(1, sizeof *d);
    if (!d) break;
    d->profile = config->sim[count];
    d->base = (hx__device){.backend = &hx__sim_backend,
                           .kind = HX_SIM,
                           .words = HX__DEV_SIM | HX__DEV_ALL,
                           .compute_units = 1,
                           .modes = 1u << HX__MEMORY_COPY,
                           .tiles = 1,
                           .launch_ns = (float)(config->sim[count].latency_us * 1e3)};
    snprintf(d->base.name, sizeof d->base.name, "simulated, %g units/s, %g us", d->profile.rate, d->profile.latency_us);
    snprintf(d->base.vendor, sizeof d->base.vendor, "hx");
    snprintf(d->base.driver, sizeof d->base.driver, "%s", hx_version());
    list[count] = &d->base;
  }
  return count;
}

static void prepare(hx__device *device, uint64_t needs) {
  /* The host's kernels are ready from the start: this is only where preparing can fail. */
  if (!fails((sim_device *)device, HX__SIM_PREPARE)) atomic_fetch_or(&device->ready, needs);
}

static size_t grain(const hx__lane *lane, const hx__work *work) {
  (void)lane;
  return work->matmul ? 8 : 1;
}

static size_t most(const hx__lane *lane, const hx__work *work) {
  (void)lane;
  const size_t across = hx__work_across(work);
  const size_t slices = work->matmul ? MAX_BLOCK_BYTES / sizeof(float) / (across ? across : 1) : work->slices;
  return slices ? slices : 1;
}

static bool recovered(hx__lane *base) {
  if (base->late && hx__now_ns() >= ((sim_lane *)base)->free_at_ns) base->late = false;
  return !base->late;
}

static hx__lane *open(hx__device *device, const hx__config *config) {
  (void)config;
  sim_lane *const lane = fails((sim_device *)device, HX__SIM_OPEN) ? NULL : calloc(1, sizeof *lane);
  if (!lane) {
    hx__fail(HX_DEVICE_FAILED, "%s has no lane", device->name);
    return NULL;
  }
  lane->base = (hx__lane){.device = device, .depth = HX__DEPTH, .recovered = recovered, .grain = grain, .most = most};
  lane->device = (sim_device *)device;
  return &lane->base;
}

static void close(hx__lane *base) {
  sim_lane *const lane = (sim_lane *)base;
  free(lane->scratch);
  for (unsigned i = 0; i < HX__DEPTH; i++) free(lane->ticket[i].result);
  free(lane);
}

static hx__outcome begin(hx__lane *base, const hx__request *request) {
  sim_lane *const lane = (sim_lane *)base;
  (void)request;
  lane->copied = 0;
  return fails(lane->device, HX__SIM_BIND) ? HX__FAILED : HX__DONE;
}

static void end(hx__lane *lane, uint64_t *copied) { *copied = ((sim_lane *)lane)->copied; }

static bool reserve(void **p, size_t *bytes, size_t wanted) {
  if (*bytes >= wanted) return true;
  free(*p);
  *bytes = (wanted + 63) & ~(size_t)63;
  *p = aligned_alloc(64, *bytes);
  if (!*p) *bytes = 0;
  return *p != NULL;
}

static bool multiply(sim_lane *lane, sim_ticket *ticket, const hx__request *request, hx__chunk chunk) {
  const hx__cpu_kernels *const cpu = request->kernels;
  const hx__gemm_blocking blocking = cpu->gemm_blocking(0, 0, 0);
  hx__gemm g = hx__chunk_gemm(request->work, chunk);
  if (!reserve(&ticket->result, &ticket->result_bytes, g.m * g.n * sizeof(float)) ||
      !reserve(&lane->scratch, &lane->scratch_bytes, cpu->gemm_scratch_bytes(blocking, g.m, g.n, g.k)))
    return false;
  g.c = ticket->result;
  g.ldc = ticket->ldt = g.n;
  g.beta = 0.0f;
  cpu->gemm(&g, blocking, NULL, NULL, lane->scratch);
  lane->copied += (g.m * g.k + g.k * g.n + g.m * g.n) * sizeof(float);
  return true;
}

static bool reduce(sim_lane *lane, sim_ticket *ticket, const hx__request *request, hx__chunk chunk) {
  const hx__work *const w = request->work;
  const size_t n = hx__chunk_elements(w, chunk), first = chunk.first * HX__LEAF;
  if (!reserve(&ticket->result, &ticket->result_bytes, w->nfields * chunk.count * sizeof(uint64_t))) return false;
  uint64_t *slots = ticket->result;
  for (size_t f = 0; f < w->nfields; f++, slots += chunk.count) {
    const hx_field *const field = &w->fields[f];
    const uint32_t *const x = (const uint32_t *)field->x + first;
    const uint32_t *const y = field->op == HX_DOT ? (const uint32_t *)field->y + first : NULL;
    request->kernels->leaf[field->op][field->type](x, y, n, slots);
    lane->copied += (y ? 2 : 1) * n * 4 + chunk.count * sizeof(uint64_t);
  }
  return true;
}

static hx__outcome submit(hx__lane *base, const hx__request *request, hx__chunk chunk, hx__ticket **ticket) {
  sim_lane *const lane = (sim_lane *)base;
  const hx__sim_profile *const profile = &lane->device->profile;
  *ticket = NULL;
  if (fails(lane->device, HX__SIM_ENQUEUE)) return HX__FAILED;
  const double seconds = (double)hx__chunk_units(request->work, chunk) /
                         (request->work->matmul && profile->products > 0.0 ? profile->products : profile->rate);
  const uint64_t launched = hx__now_ns() + (uint64_t)(profile->latency_us * 1e3);
  sim_ticket *const t = &lane->ticket[lane->next];
  t->chunk = chunk;
  t->done_at_ns = (launched > lane->free_at_ns ? launched : lane->free_at_ns) +
                  (seconds < 1e9 ? (uint64_t)(seconds * 1e9) : (uint64_t)1000000000000000000u);
  if (!(request->work->matmul ? multiply : reduce)(lane, t, request, chunk)) return HX__NO_MEMORY;
  lane->free_at_ns = t->done_at_ns;
  lane->next = (lane->next + 1) % HX__DEPTH;
  *ticket = (hx__ticket *)t;
  return HX__DONE;
}

static hx__outcome wait(hx__lane *base, hx__ticket *ticket, const _Atomic uint64_t *deadline_ns) {
  const uint64_t done_at = ((sim_ticket *)ticket)->done_at_ns;
  if (fails((sim_device *)base->device, HX__SIM_WAIT)) return HX__FAILED;
  for (;;) {
    const uint64_t now = hx__now_ns(), deadline = atomic_load(deadline_ns);
    if (now >= done_at && deadline != 0) return HX__DONE;
    if (now >= deadline) break;
    const uint64_t until = done_at < deadline ? done_at : deadline;
    hx__sleep_ns(until - now < LOOK_NS ? until - now : LOOK_NS);
  }
  base->late = true;
  return HX__LATE;
}

static bool deliver(hx__lane *lane, const hx__request *request, hx__ticket *ticket, hx__chunk part) {
  const sim_ticket *const t = (const sim_ticket *)ticket;
  (void)lane;
  hx__deliver(request, t->chunk, part, t->result, t->ldt);
  return true;
}

static void *alloc(hx__device *device, size_t bytes, hx__memory_mode mode, void **block) {
  if (mode != HX__MEMORY_COPY || fails((sim_device *)device, HX__SIM_ALLOC)) return NULL;
  return *block = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
}

static void release(hx__device *device, void *block) {
  (void)device;
  free(block);
}

const hx__backend hx__sim_backend = {.name = "sim",
                                     .discover = discover,
                                     .prepare = prepare,
                                     .open = open,
                                     .close = close,
                                     .begin = begin,
                                     .end = end,
                                     .submit = submit,
                                     .wait = wait,
                                     .deliver = deliver,
                                     .alloc = alloc,
                                     .free = release};
