/* SPDX-License-Identifier: Apache-2.0
 * Checks that the system can start threads. */
#ifndef HX_BACKEND_CPU_THREAD_LIMIT_H
#define HX_BACKEND_CPU_THREAD_LIMIT_H

#include <stddef.h>

/* How many of `threads` threads, including the calling one, OpenMP can run now; at least 1. */
unsigned hx__cpu_startable(unsigned threads);

/* How many of `threads` additional threads with this stack size (0: the default) can be alive at once now. */
unsigned hx__threads_startable(unsigned threads, size_t stack_bytes);

#endif
