/* SPDX-License-Identifier: Apache-2.0
 * The soak: random tasks in one long-lived process, every bit compared with the scalar definition. */
#ifndef HX_TESTS_SOAK_SOAK_H
#define HX_TESTS_SOAK_SOAK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/hx.h"

/* Counters of all threads. */
typedef struct soak_counts {
  atomic_ulong cases, wrong, bad, recovered; /* bad: statuses that hx.h does not allow, children that fail */
  atomic_ulong beside;                       /* cases of processes with driver faults */
  atomic_ulong faults, lost_results, contexts, forks, exits;
  _Atomic int64_t slowest_ns;
} soak_counts;

extern soak_counts counts;

/* A random number below `below`; each thread has its own state. */
uint64_t soak_random(uint64_t *state, uint64_t below);

/* Prints a line `soak: ...` that counts as bad (or wrong). */
__attribute__((format(printf, 1, 2))) void soak_bad(const char *format, ...);

int64_t soak_now_ns(void);

/* case.c: arrays and results that the cases draw from; one case on a context. */
void cases_make(uint64_t seed);
void case_run(hx_context *hx, uint64_t *state);

/* round.c: runs cases for this many seconds in a few threads on a few contexts. ready: begin when the kernels are
 * ready. */
void round_run(uint64_t *state, double seconds, bool pocl, bool ready);

/* Ends this process, in one of several ways, while calls are in flight; does not return. */
void leave_run(unsigned road);
enum { LEAVE_ROADS = 4 };

#endif
