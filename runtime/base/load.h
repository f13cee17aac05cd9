/* SPDX-License-Identifier: Apache-2.0
 * How busy the machine's cores are. */
#ifndef HX_BASE_LOAD_H
#define HX_BASE_LOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether fewer threads than cores are running on this machine, not counting the calling one. False if unknown. */
bool hx__core_is_idle(void);

/* The total time for which a thread of this process was ready to run but had no core; 0 if the kernel does not say. */
uint64_t hx__thread_delay_ns(pid_t thread);
/* The total time for which a thread of this process has run or waited for a core; 0 if the kernel does not say. */
uint64_t hx__thread_worked_ns(pid_t thread);

#endif
