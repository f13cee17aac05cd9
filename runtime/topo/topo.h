/* SPDX-License-Identifier: Apache-2.0
 * This machine's cores and caches, from hwloc. hwloc is only queried; no thread's binding is changed. Loaded once in a
 * process, by the first call that needs threads or block sizes. */
#ifndef HX_TOPO_TOPO_H
#define HX_TOPO_TOPO_H

#include <sched.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#define HX__TOPO_KINDS 4

typedef struct hx__topo {
  char cpu_name[128];                  /* "": unknown */
  unsigned cores;                      /* cores this process may use: cpuset, cgroup quota rounded up; at least 1 */
  unsigned hardware_threads;           /* likewise */
  unsigned kinds;                      /* kinds of cores (efficiency, performance), the slowest first; at least 1 */
  unsigned kind_cores[HX__TOPO_KINDS]; /* cores of each kind, `cores` in total; under a quota the fastest kinds are
                                        * counted first */
  size_t l1_bytes, l2_bytes, l3_bytes; /* data caches of a core, or its part of a shared cache, the least over the
                                        * cores; l3: the whole shared cache. 0: none */
  uint64_t memory_bytes;
} hx__topo;

/* The CPUs of all OpenMP places if OpenMP binds its threads (OMP_PROC_BIND); it then binds the main thread, too, to the
 * first place before main begins. Empty if it does not. */
void hx__topo_places(cpu_set_t *places);

const hx__topo *hx__topo_get(void); /* never NULL; has safe values if hwloc fails */

/* Whether the process can read its own CPU affinity. hwloc, which some drivers use as well, repeats that query with
 * ever larger sets until it succeeds, so it never returns in a sandbox that refuses the query. */
bool hx__topo_has_affinity(void);

#endif
