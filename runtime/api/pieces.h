/* SPDX-License-Identifier: Apache-2.0
 * Independent pieces of one call, each of which one thread computes whole: the small tasks of a list, or the products
 * of a batch. Private to this folder. */
#ifndef HX_API_PIECES_H
#define HX_API_PIECES_H

#include "runtime/api/context.h"
#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/sched/thread_parts.h"

typedef struct hx__pieces {
  hx_context *hx;
  size_t count;
  uint64_t effort; /* of all, in multiply-adds or elements, with HX__PIECE_EFFORT for each piece */
  void (*compute)(struct hx__pieces *pieces, hx__chunk chunk); /* by any thread of the pool */
  uint64_t elements; /* of the operands of all pieces, if these are products that may prefetch for the next piece */

  bool pool_known; /* The state of the thread pool has been read for this call. */
  hx__pool_state pool;

  /* Set while they are computed. */
  bool looks_ahead; /* Each piece prefetches for the one after it in its chunk. */
  hx__thread_parts parts;
  _Atomic uint32_t chunks; /* taken so far */
} hx__pieces;

/* What every piece costs besides its multiply-adds or elements. */
#define HX__PIECE_EFFORT 1024u

/* Computes all pieces by as many threads as their effort is worth. May be called again with another function. Threads
 * take a few pieces of their part at a time, so that one that has lost its core leaves the rest to the others. */
void hx__pieces_run(hx__pieces *pieces);

/* The report of pieces that are done. */
void hx__pieces_report(const hx__pieces *pieces, uint64_t units, hx_report *report);

/* Multiply-adds, and elements of a reduction, up to which `count` tasks that leave their share to hx are pieces. Not
 * for threads of the pool. */
typedef struct hx__piece_limits {
  size_t units, elements;
} hx__piece_limits;
hx__piece_limits hx__piece_limits_of(const hx_context *hx, size_t count);

/* Whether a checked task is a piece: too small for a device, and for several threads if there are other tasks. */
bool hx__is_piece(const hx_context *hx, const hx__piece_limits *most, const hx__work *work);

#endif
