/* SPDX-License-Identifier: Apache-2.0
 * Whether the system has room for a team. */
#ifndef HX_BACKEND_CPU_TRIAL_H
#define HX_BACKEND_CPU_TRIAL_H

#include <stddef.h>

/* How many of `threads` threads, the calling one included, can be alive now; at least 1. */
unsigned hx__cpu_startable(unsigned threads);

/* How many of `threads` more threads, with stacks of so many bytes (0: the default), can be alive at once now. */
unsigned hx__threads_startable(unsigned threads, size_t stack_bytes);

#endif
