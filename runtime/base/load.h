/* SPDX-License-Identifier: Apache-2.0
 * How busy the machine's cores are. */
#ifndef HX_BASE_LOAD_H
#define HX_BASE_LOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether fewer threads than cores run on this machine, the calling one, which is about to wait or to become one of
 * them, left out; false where that cannot be told. */
bool hx__core_is_idle(void);

/* How long a thread of this process was ready and had no core, in all; 0 where the kernel does not say. */
uint64_t hx__thread_delay_ns(pid_t thread);
/* How long a thread of this process has worked or waited for a core, in all; 0 if the kernel does not say. */
uint64_t hx__thread_worked_ns(pid_t thread);

#endif
