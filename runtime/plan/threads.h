/* SPDX-License-Identifier: Apache-2.0
 * How many threads the CPU's part of a task is worth, and how they share a product. */
#ifndef HX_PLAN_THREADS_H
#define HX_PLAN_THREADS_H

#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/plan/snapshot.h"

/* Whether two threads or more could pay at all, so that the state of the thread pool is worth asking for. */
bool hx__may_use_threads(const hx__work *work, unsigned most);

/* Threads for the CPU's part of such a task, from 1 to `most`: each must have enough to do. pool: of the calling
 * thread. */
unsigned hx__threads_for(const hx__work *work, unsigned most, hx__pool_state pool);

/* How many threads the CPU's part leaves to those that copy for devices behind a link. */
unsigned hx__copy_threads_of(const hx__plan_snapshot *snapshot);

/* Whether so many threads, if the CPU does all of a product, share it by panels of k instead of by parts of C; and
 * whether that depends on the size of the last cache. */
bool hx__may_share_by_panels(const hx__work *work, unsigned threads);
bool hx__shares_by_panels(const hx__work *work, unsigned threads, size_t l3_bytes);

#endif
