/* SPDX-License-Identifier: Apache-2.0
 * From a device's block to the caller's memory: the only place where a device's results reach it. */
#include <string.h>

#include "runtime/backend/backend.h"

void hx__deliver(const hx__request *request, hx__chunk chunk, hx__chunk part, const void *from, size_t ldt) {
  const hx__work *const w = request->work;
  if (w->matmul) {
    const hx__gemm g = hx__chunk_gemm(w, part);
    const size_t skipped = part.first - chunk.first;
    request->kernels->store((const float *)from + (w->by_columns ? skipped : skipped * ldt), ldt, g.m, g.n, g.c, g.ldc,
                            g.beta);
    return;
  }
  const uint64_t *slots = from;
  for (size_t f = 0; f < w->nfields; f++, slots += chunk.count)
    memcpy(request->slots + f * w->slices + part.first, slots + (part.first - chunk.first), part.count * sizeof *slots);
}
