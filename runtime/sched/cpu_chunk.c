/* SPDX-License-Identifier: Apache-2.0
 * The chunk of a CPU thread beside devices: a guided part of the CPU's fair share, so that the run does not wait at its
 * end for a slow core or one that another program uses, and at least 20 us of work. In a product, each chunk may read
 * the shared operand from memory. Then a chunk has at least `worth` slices, as far as the fair share allows: threads
 * that read the operand for a few rows each would compete for memory bandwidth with one another and with the devices.
 */
#include <math.h>

#include "runtime/sched/policy.h"

#define GUIDED 8.0
#define LEAST_NS 20e3

size_t hx__cpu_chunk_size(const hx__cpu_chunk_view *v) {
  if (v->left == 0) return 0;
  const double left = (double)v->left, threads = v->threads ? (double)v->threads : 1.0;
  double fair = left, least = 0.0;
  if (v->rate > 0.0 && isfinite(v->rate)) {
    hx__participant all[HX_MAX_DEVICES + 1];
    for (unsigned i = 0; i < v->others; i++) all[i] = v->other[i];
    all[v->others] = (hx__participant){v->rate, 0.0};
    const double end = hx__finish_ns(left, all, v->others + 1);
    if (isfinite(end) && v->rate * end < left) fair = v->rate * end;
    least = v->rate / threads * LEAST_NS;
  }
  double want = fair / (GUIDED * threads);
  if (want < least) want = least;
  const double worth = fmin((double)v->worth, fair / threads);
  if (want < worth) want = worth;
  if (want > (double)v->most) want = (double)v->most;
  if (want < (double)v->least) want = (double)v->least;
  const size_t grain = v->grain ? v->grain : 1;
  if (!(want < left)) return v->left;
  const size_t whole = ((size_t)want / grain + ((size_t)want % grain != 0)) * grain;
  return whole < grain ? grain : whole > v->left ? v->left : whole;
}
