/* SPDX-License-Identifier: Apache-2.0
 * How many threads the CPU's part of a task is worth, and how they share a product. */
#ifndef HX_PLAN_THREADS_H
#define HX_PLAN_THREADS_H

#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/plan/snapshot.h"

/* The work of a task: of a product in multiply-adds, with the time for reading the operands, which is nearly all of it
 * for a product with a vector; of a reduction or a map in elements. */
uint64_t hx__effort_of(const hx__work *work);

/* Whether two or more threads could pay at all. If not, the state of the thread pool need not be read. */
bool hx__may_use_threads(const hx__work *work, unsigned most);

/* Threads for the CPU's part of such a task, from 1 to `most`: each must have enough to do. pool: of the calling
 * thread. */
unsigned hx__threads_for(const hx__work *work, unsigned most, hx__pool_state pool);

/* The same for `count` pieces of work that threads compute whole. effort: of all, in multiply-adds or elements. */
unsigned hx__threads_for_pieces(uint64_t effort, size_t count, unsigned most, hx__pool_state pool);

/* How many of `count` pieces of work, or products of a batch, a thread takes at a time: equal parts if there is little
 * to do, so that the same arrays stay in the caches of the same cores. effort: of those. */
size_t hx__taken_at_once(uint64_t effort, size_t count, unsigned threads);
size_t hx__products_at_once(const hx__work *batch, size_t count, unsigned threads);

/* How many threads fewer the CPU's part uses, so that threads that copy for devices behind a link have cores. */
unsigned hx__copy_threads_of(const hx__plan_snapshot *snapshot);

/* Whether `threads` threads share a product that the CPU computes alone by panels of k instead of by parts of C. */
bool hx__shares_by_panels(const hx__work *work, unsigned threads);

/* The parts into which the CPU cuts k of a product that it has for itself, and which divide the threads: of one with
 * few rows or columns whose threads would otherwise each read a narrow part of every row of the large operand. 1: it
 * does not (run/panel_grid.c). */
unsigned hx__parts_of_k(const hx__work *work, unsigned threads);

#endif
