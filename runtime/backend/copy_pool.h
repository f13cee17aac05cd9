/* SPDX-License-Identifier: Apache-2.0
 * A pool of threads that copy memory together with a device's worker: one core copies at a sixth of the speed of a
 * link.
 */
#ifndef HX_BACKEND_COPY_POOL_H
#define HX_BACKEND_COPY_POOL_H

#include <stddef.h>

#include "runtime/backend/backend.h"

/* Calls part(arg, i) for each i < parts, on the calling thread and on the threads that `threads` names if they are
 * free. Returns when all calls have returned. */
void hx__copy_pool_run(hx__copy_threads threads, void (*part)(void *arg, size_t index), void *arg, size_t parts);

/* Copies bytes from `from` to `to` in the same way. The two do not overlap. */
void hx__copy_pool_copy(hx__copy_threads threads, void *to, const void *from, size_t bytes);

#endif
