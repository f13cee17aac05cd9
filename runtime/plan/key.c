/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/plan/key.h"

#include "runtime/base/hash.h"

#define PLACEMENT_SHIFT 48u /* in `needs`, above the bits of the kernels */
#define SHAPE_SHIFT 56u

/* Lines by the way in which they are read, and by their length. */
#define LINES_CLASS 0x80u
#define ACROSS_CLASS 0x40u
#define APART_CLASS 0x20u

static uint64_t lines_class(const hx__work *w) {
  const hx__lines *const l = &w->lines;
  const uint64_t order = l->across ? ACROSS_CLASS : 0u, apart = l->stride > 1 && l->line_stride > 1 ? APART_CLASS : 0u;
  return LINES_CLASS | order | apart | hx__size_class(w->n) / 2u;
}

#define MAP_CLASS 0x40u

/* A user kernel is known by a hash of its operations, beside the reduction of what it gives. */
static uint64_t kernel_of_map(const hx__work *w) {
  uint64_t hash = w->kernel->hash;
  for (size_t f = 1; f < w->nfields; f++) hash = hx__hash(hash, &w->fields[f].op, sizeof w->fields[f].op);
  const uint64_t op = w->map ? 0u : hx__reduction_index(w->fields->op, w->fields->type) + 1u;
  return (hash & (((uint64_t)1 << (PLACEMENT_SHIFT - 6u)) - 1u)) | op << (PLACEMENT_SHIFT - 6u);
}

/* The bits of the kernels, without those of lines, which have a class of their own. A batch has a bit that no kernel
 * has, because a large product of as many multiply-adds is faster. */
#define BATCH ((uint64_t)1 << (PLACEMENT_SHIFT - 1u))
static uint64_t kernels_of(const hx__work *w) {
  if (w->kernel) return kernel_of_map(w);
  if (w->by_products) return w->needs | BATCH;
  return w->by_lines ? w->needs >> HX__FIRST_LINES : w->needs;
}

/* Products whose shortest sides are within the same power of four have similar rates. 0: a reduction of whole arrays.
 */
static uint64_t shape_class(const hx__work *w) {
  if (w->by_lines) return lines_class(w);
  if (w->kernel) /* matrices by the length of a row, because short ones are slow */
    return MAP_CLASS | (w->cols < w->n ? hx__size_class(w->cols) / 2u + 1u : 0u);
  if (!w->matmul) return 0;
  const size_t side = w->gemm.m < w->gemm.n ? w->gemm.m : w->gemm.n;
  return hx__size_class(side < w->gemm.k ? side : w->gemm.k) / 2u + 1u;
}

hx__rate_key hx__task_key(const hx__work *work, hx__power power) {
  const hx__rate_key key = {.needs = kernels_of(work) | shape_class(work) << SHAPE_SHIFT,
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
