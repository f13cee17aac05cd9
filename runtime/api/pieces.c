/* SPDX-License-Identifier: Apache-2.0
 * A long product whose devices are still being found or built: done half a second at a time, so that a device
 * joins as soon as it is ready. Rows (columns) of C do not depend on one another, so the bits are the same. */
#include "runtime/api/context.h"
#include "runtime/backend/registry.h"
#include "runtime/dispatch/dispatch.h"
#include "runtime/dispatch/prospect.h"

#define LONG_NS 10e9 /* shorter ones are over before a device is prepared beside them */
#define PIECE_NS 0.5e9
#define PIECE_MULTIPLE 192u /* slices: whole register tiles of every variant, and enough rows for packing to pay */

static bool devices_pending(const hx_context *hx, const hx__work *w) {
  if (!atomic_load_explicit(&hx->seated, memory_order_acquire)) return true;
  for (size_t i = 0; i < hx->team.seats; i++)
    if (hx__seat_hopeful(&hx->team, &hx->team.seat[i], w) && !hx__seat_usable(&hx->team, &hx->team.seat[i], w))
      return true;
  return false;
}

bool hx__in_pieces(const hx_context *hx, const hx__work *w, double cpu_ns) {
  return w->matmul && cpu_ns >= LONG_NS && devices_pending(hx, w);
}

/* Slices of the next piece: what the CPU alone does in PIECE_NS, or all that is left once no device is awaited. */
static size_t next_count(const hx_context *hx, const hx__work *w, size_t done, unsigned threads) {
  const size_t left = w->slices - done;
  if (!devices_pending(hx, w)) return left;
  const double slices = (double)w->slices * PIECE_NS / hx__predict_cpu_ns(w, threads);
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

hx_status hx__offload_pieces(hx_context *hx, const hx__work *w, unsigned threads, hx_report *report) {
  for (size_t done = 0, count; done < w->slices; done += count) {
    count = next_count(hx, w, done, threads);
    const hx__chunk chunk = {done, count};
    hx__work piece = *w;
    hx_report part = {.chunks = 0};
    piece.gemm = hx__chunk_gemm(w, chunk);
    piece.slices = count;
    piece.units = hx__chunk_units(w, chunk);
    const hx_status s = hx__offload_once(hx, &piece, threads, report ? &part : NULL);
    if (s != HX_OK) return s;
    if (report) add_report(report, &part, (double)count / (double)w->slices);
  }
  return HX_OK;
}
