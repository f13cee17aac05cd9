/* SPDX-License-Identifier: Apache-2.0
 * The last slices of a product, cut in two dimensions. */
#ifndef HX_RUN_REMAINDER_H
#define HX_RUN_REMAINDER_H

#include "runtime/backend/backend.h"

/* The slices, the last ones of a product or all, are cut into `down` parts, and the cross extent into `across`; parts
 * begin at multiples of a grain. A counter hands the blocks out once all slices before them have been taken. blocks: 0
 * if nothing is cut so. */
typedef struct hx__remainder {
  hx__chunk slices;
  size_t grain, cross_grain, down, across, blocks;
  _Atomic size_t next;
} hx__remainder;

/* Plans the remainder of a product that `threads` threads compute without devices. The caller takes remainder->slices
 * out of its work range. */
void hx__remainder_plan(hx__remainder *remainder, const hx__stream *cpu, const hx__work *work, unsigned threads);

/* Whether blocks pay for a product if some threads are slower than others. */
bool hx__remainder_suits_uneven(const hx__work *work, unsigned threads);

/* Plans all slices of a product so, if blocks pay for it. uneven: some threads are slower than others. */
bool hx__remainder_plan_whole(hx__remainder *remainder, const hx__stream *cpu, const hx__work *work, unsigned threads,
                              bool uneven);

/* Part i of an extent that is cut into so many parts. Parts begin at multiples of the grain; the last one is as long as
 * a grain at least if no more parts are asked for than the extent has grains. */
hx__chunk hx__part_in_grains(size_t extent, size_t grain, size_t parts, size_t i);

/* Takes the next block: its slices and its part of the cross extent. False if none is left. */
bool hx__remainder_next(hx__remainder *remainder, const hx__work *work, hx__chunk *chunk, hx__chunk *cross);

#endif
