/* SPDX-License-Identifier: Apache-2.0
 * What hwloc knows about this machine. It is only asked for counts; no thread's binding is changed. Loaded once per
 * process, by the first call that needs threads or block sizes. */
#ifndef HX_TOPO_TOPO_H
#define HX_TOPO_TOPO_H

#include <sched.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#define HX__TOPO_KINDS 4

typedef struct hx__topo {
  char cpu_name[128];                  /* "" where unknown */
  unsigned cores;                      /* cores this process may use: cpuset, cgroup quota rounded up; at least 1 */
  unsigned hardware_threads;           /* likewise */
  unsigned kinds;                      /* kinds of cores (efficiency, performance), the slowest first; at least 1 */
  unsigned kind_cores[HX__TOPO_KINDS]; /* cores of each; their sum is cores; under a quota the faster count first */
  size_t l1_bytes, l2_bytes, l3_bytes; /* one core's data caches, its part of a shared one, the least over the cores;
                                          l3 the whole shared one; 0 where there is none */
  uint64_t memory_bytes;
} hx__topo;

/* The CPUs of all OpenMP places if OpenMP binds its threads (OMP_PROC_BIND); it then binds the main thread, too, to the
 * first place before main begins. Empty if it does not. */
void hx__topo_places(cpu_set_t *places);

const hx__topo *hx__topo_get(void); /* never NULL: safe values where hwloc fails */

/* Whether the system tells on which CPUs this process may run. hwloc, which some drivers use as well, repeats that
 * question with ever larger sets until it is answered, so it never ends in a sandbox that refuses the call. */
bool hx__topo_has_affinity(void);

#endif
