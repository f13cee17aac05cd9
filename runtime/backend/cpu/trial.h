/* SPDX-License-Identifier: Apache-2.0
 * Whether the system has room for a team. */
#ifndef HX_BACKEND_CPU_TRIAL_H
#define HX_BACKEND_CPU_TRIAL_H

/* How many of `threads` threads, the calling one included, can be alive now; at least 1. */
unsigned hx__cpu_startable(unsigned threads);

#endif
