/* SPDX-License-Identifier: Apache-2.0
 * Threads that copy for a worker while the cores have nothing else to do: one core moves a sixth of what a link does.
 */
#ifndef HX_BACKEND_CREW_H
#define HX_BACKEND_CREW_H

#include <stddef.h>

#include "runtime/backend/backend.h"

/* part(arg, i) for each i < parts, by this thread and, where they are free, others; returns when all are done. */
void hx__copy_pool_run(hx__copy_threads who, void (*part)(void *arg, size_t index), void *arg, size_t parts);

/* The same for a block of memory. */
void hx__copy_pool_copy(hx__copy_threads who, void *to, const void *from, size_t bytes);

#endif
