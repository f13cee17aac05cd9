/* SPDX-License-Identifier: Apache-2.0
 * What hwloc says of this machine, counted only: nobody's binding is changed. Loaded once a process, at the first call
 * that needs threads or block sizes. */
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

/* The CPUs of all OpenMP's places where it binds its threads (OMP_PROC_BIND), the main one too, to the first place,
 * before main begins; none where it does not. */
void hx__topo_places(cpu_set_t *places);

const hx__topo *hx__topo_get(void); /* never NULL: safe values where hwloc fails */

/* Whether the system says on which CPUs this process may run. hwloc, which some drivers use too, asks with ever larger
 * sets until it does, which is for ever in a sandbox that refuses the call. */
bool hx__topo_has_affinity(void);

#endif
