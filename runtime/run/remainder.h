/* SPDX-License-Identifier: Apache-2.0
 * The last slices of a product, cut in two dimensions. */
#ifndef HX_RUN_TAIL_H
#define HX_RUN_TAIL_H

#include "runtime/backend/backend.h"

/* Blocks handed out by a counter when the slices before them are gone: of `rows` slices and `width` of the lines that
 * they cross. No blocks: there is no tail. */
typedef struct hx__remainder {
  hx__chunk slices;
  size_t rows, width, parts, blocks;
  _Atomic size_t next;
} hx__remainder;

/* Plans the tail of a product of which `threads` threads do all; tail->slices are for the caller to set aside. */
void hx__remainder_plan(hx__remainder *tail, const hx__stream *cpu, const hx__work *work, unsigned threads);

/* Takes the next block; false when there is none left. */
bool hx__remainder_next(hx__remainder *tail, const hx__work *work, hx__chunk *chunk, hx__chunk *across);

#endif
