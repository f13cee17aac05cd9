/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/api/report.h"

#include <math.h>

#include "runtime/base/energy.h"

static void add_device(hx_report *sum, const hx_device_report *d) {
  uint32_t i = 0;
  while (i < sum->device_count && sum->device[i].index != d->index) i++;
  if (i == sum->device_count) sum->device[sum->device_count++] = (hx_device_report){.index = d->index};
  sum->device[i].chunks += d->chunks;
  sum->device[i].units += d->units;
  sum->device[i].busy_seconds += d->busy_seconds;
}

void hx__report_add(hx_report *sum, const hx_report *part, double weight) {
  sum->chunks += part->chunks;
  sum->recovered += part->recovered;
  sum->bytes_copied += part->bytes_copied;
  sum->gpu_share += part->gpu_share * weight;
  for (uint32_t i = 0; i < part->device_count; i++) add_device(sum, &part->device[i]);
}

/* The energy of a call. NaN if the call was too short for counters that are updated once a millisecond, or if a
 * discrete GPU took part, whose energy they do not include. */
static double joules_of(const hx_context *hx, const hx_report *r, double before) {
  for (uint32_t i = 0; i < r->device_count; i++)
    if (hx->table.entries && hx->table.entry[r->device[i].index].device->is_discrete) return NAN;
  if (isnan(before) || r->seconds * 1e9 < HX__ENERGY_LEAST_NS) return NAN;
  const double joules = hx__energy_joules(hx__energy_of_process()) - before;
  return joules > 0.0 ? joules : NAN;
}

void hx__report_finish(const hx_context *hx, hx_report *r, double joules_before) {
  r->joules = joules_of(hx, r, joules_before);
  if (r->device_count == 1 && r->device[0].index == 0 && r->device[0].busy_seconds == 0.0)
    r->device[0].busy_seconds = r->seconds;
}
