/* SPDX-License-Identifier: Apache-2.0
 * A call that devices may take part in: they are brought in, it is planned and run. */
#include "runtime/api/context.h"
#include "runtime/backend/registry.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/base/thread.h"
#include "runtime/plan/planner.h"
#include "runtime/plan/cost_inputs.h"
#include "runtime/run/run.h"

#define DISCOVERY_NS 0.3e9 /* what finding devices may cost, where it is not known */
#define DISCOVERY_PAYS 10.0
#define DRIVER_PATIENCE_NS 120000000000u /* a share that was asked for waits so long for a driver that may hang */
#define LONG_NS 10e9                     /* shorter ones are over before a device is prepared beside them */
#define PIECE_NS 0.5e9
#define PIECE_MULTIPLE 192u /* slices: whole register tiles of every variant, and enough rows for packing to pay */

/* Asks for the kernels of every device that may do this task; a numeric share waits for them. */
static void prepare(hx_context *hx, const hx__work *w, bool wait) {
  const hx__device_table *const team = &hx->team;
  const uint32_t tile[3] = {hx->config.tile_m, hx->config.tile_n, hx->config.tile_k};
  for (size_t i = 0; i < team->seats; i++) {
    const hx__device_entry *const seat = &team->seat[i];
    if (!hx__device_entry_may_become_usable(team, seat, w)) continue;
    const uint64_t needs = hx__device_needs(seat->device, w->needs, tile);
    if (wait)
      hx__prepare_wait(seat->device, needs, hx__now_ns() + DRIVER_PATIENCE_NS, hx__hang_limit_ns(hx));
    else
      hx__prepare(seat->device, needs);
  }
}

/* Brings devices in as far as this call may wait for them. Returns whether the discovery is to start as it returns. */
static bool bring_devices(hx_context *hx, const hx__work *w, double share, double cpu_ns) {
  if (!hx->wants_devices || share == 0.0 || hx__in_forked_child()) return false;
  const bool wait = share != HX__SHARE_AUTO;
  const bool worth = cpu_ns >= HX__BREAK_EVEN_NS;
  const bool asked = wait || (hx->config.min_offload != UINT64_MAX && w->units >= hx->config.min_offload);
  if (!worth && !asked) return false;
  if (!hx__registry_done()) {
    if (!wait && cpu_ns < DISCOVERY_NS * DISCOVERY_PAYS) return true;
    hx__registry_start();
  }
  if (hx__context_add_devices(hx, wait ? hx__now_ns() + DRIVER_PATIENCE_NS : 0, hx__hang_limit_ns(hx))) {
    prepare(hx, w, wait);
    hx__context_pin_memory(hx, true);
  }
  return false;
}

static hx_status carry_out(hx_context *hx, const hx__work *w, double share, unsigned threads, hx_report *report) {
  hx__plan plan;
  hx__plan_make(&hx->team, w, hx__in_forked_child() ? 0.0 : share, threads, &plan);
  if (plan.mandatory && plan.devices == 0)
    return hx__fail(HX_DEVICE_FAILED, "HX_OFFLOAD=mandatory and no device can do this task: see hx-bench info");
  plan.measure = plan.measure && hx->wants_devices;
  return hx__run(&hx->team, &plan, w, report);
}

static hx_status once(hx_context *hx, const hx__work *w, unsigned threads, hx_report *report) {
  bring_devices(hx, w, HX__SHARE_AUTO, hx__predict_cpu(w, threads).ns);
  return carry_out(hx, w, HX__SHARE_AUTO, threads, report);
}

static bool devices_pending(const hx_context *hx, const hx__work *w) {
  if (!atomic_load_explicit(&hx->seated, memory_order_acquire)) return true;
  for (size_t i = 0; i < hx->team.seats; i++)
    if (hx__device_entry_may_become_usable(&hx->team, &hx->team.seat[i], w) &&
        !hx__device_entry_is_usable(&hx->team, &hx->team.seat[i], w))
      return true;
  return false;
}

/* A long product whose devices are still being found or built: done half a second at a time, so that a device joins as
 * soon as it is ready. Rows (columns) of C do not depend on one another, so the bits are the same. */
static bool in_pieces(const hx_context *hx, const hx__work *w, double cpu_ns) {
  return w->matmul && cpu_ns >= LONG_NS && devices_pending(hx, w);
}

/* Slices of the next piece: what the CPU alone does in PIECE_NS, or all that is left once no device is awaited. */
static size_t next_count(const hx_context *hx, const hx__work *w, size_t done, unsigned threads) {
  const size_t left = w->slices - done;
  if (!devices_pending(hx, w)) return left;
  const double slices = (double)w->slices * PIECE_NS / hx__predict_cpu(w, threads).ns;
  const size_t count = (slices < 1.0 ? 1 : (size_t)slices) / PIECE_MULTIPLE * PIECE_MULTIPLE + PIECE_MULTIPLE;
  return count < left && left - count > PIECE_MULTIPLE ? count : left;
}

static void add_device(hx_report *sum, const hx_device_report *d) {
  uint32_t i = 0;
  while (i < sum->device_count && sum->device[i].index != d->index) i++;
  if (i == sum->device_count) sum->device[sum->device_count++] = (hx_device_report){.index = d->index};
  sum->device[i].chunks += d->chunks;
  sum->device[i].units += d->units;
  sum->device[i].busy_seconds += d->busy_seconds;
}

static void add_report(hx_report *sum, const hx_report *part, double weight) {
  sum->chunks += part->chunks;
  sum->recovered += part->recovered;
  sum->bytes_copied += part->bytes_copied;
  sum->gpu_share += part->gpu_share * weight;
  for (uint32_t i = 0; i < part->device_count; i++) add_device(sum, &part->device[i]);
}

static hx_status by_pieces(hx_context *hx, const hx__work *w, unsigned threads, hx_report *report) {
  for (size_t done = 0, count; done < w->slices; done += count) {
    count = next_count(hx, w, done, threads);
    const hx__chunk chunk = {done, count};
    hx__work piece = *w;
    hx_report part = {.chunks = 0};
    piece.gemm = hx__chunk_gemm(w, chunk);
    piece.slices = count;
    piece.units = hx__chunk_units(w, chunk);
    const hx_status s = once(hx, &piece, threads, report ? &part : NULL);
    if (s != HX_OK) return s;
    if (report) add_report(report, &part, (double)count / (double)w->slices);
  }
  return HX_OK;
}

hx_status hx__offload_planned(hx_context *hx, const hx__work *w, double share, unsigned threads, hx_report *report) {
  const bool open = share == HX__SHARE_AUTO, asks = hx->wants_devices && share != 0.0 && !hx__in_forked_child();
  const hx__cpu_time cpu = asks ? hx__predict_cpu(w, threads) : (hx__cpu_time){0.0, false};
  const bool start_after = bring_devices(hx, w, share, cpu.ns), small = cpu.ns < HX__BREAK_EVEN_NS && !cpu.measure;
  if (open && hx->config.min_offload == UINT64_MAX && small && !hx->team.trace)
    return carry_out(hx, w, 0.0, threads, report); /* what the plan would say; a trace shows that it did */
  const bool pieces = open && hx->wants_devices && !start_after && !hx__in_forked_child() && in_pieces(hx, w, cpu.ns);
  const hx_status s = pieces ? by_pieces(hx, w, threads, report) : carry_out(hx, w, share, threads, report);
  if (start_after) hx__registry_start();
  return s;
}
