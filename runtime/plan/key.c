/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/plan/key.h"

#define PLACEMENT_SHIFT 48u /* in `needs`, above the bits of the kernels */
#define SHAPE_SHIFT 56u

/* Products whose shortest sides are within the same power of four have similar rates. 0: not a product. */
static uint64_t shape_class(const hx__work *w) {
  if (!w->matmul) return 0;
  const size_t side = w->gemm.m < w->gemm.n ? w->gemm.m : w->gemm.n;
  return hx__size_class(side < w->gemm.k ? side : w->gemm.k) / 2u + 1u;
}

hx__rate_key hx__task_key(const hx__work *work, hx__power power) {
  const hx__rate_key key = {.needs = work->needs | shape_class(work) << SHAPE_SHIFT,
                            .size_class = hx__size_class(work->units),
                            .power = (uint16_t)power};
  return hx__key_with_placement(&key, work->placement);
}

hx__rate_key hx__key_in_company(const hx__rate_key *task, uint64_t device, uint64_t company, unsigned threads) {
  hx__rate_key key = device == HX__CPU_IDENTITY ? hx__key_with_placement(task, 0) : *task; /* the CPU reads in place */
  key.device = device;
  key.company = company;
  key.threads = threads < UINT16_MAX ? (uint16_t)threads : UINT16_MAX;
  return key;
}

hx__rate_key hx__key_with_placement(const hx__rate_key *key, uint32_t placement) {
  hx__rate_key k = *key;
  k.needs &= ~((uint64_t)(HX__PLACEMENTS - 1u) << PLACEMENT_SHIFT);
  k.needs |= (uint64_t)placement << PLACEMENT_SHIFT;
  return k;
}
