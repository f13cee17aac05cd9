/* SPDX-License-Identifier: Apache-2.0
 * Reads cores, kinds of cores and caches from hwloc, and from sysconf what hwloc does not know. */
#define _GNU_SOURCE
#include "runtime/topo/topo.h"

#include <hwloc.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/environment.h"
#include "runtime/base/log.h"
#include "runtime/base/address_space.h"
#include "runtime/base/thread.h"
#include "runtime/topo/cgroup.h"

#define ROOM_BYTES ((size_t)16 << 20) /* hwloc uses 132 KiB on a machine with two cores */
#define MOST_CPUS 16384u              /* Linux has at most 8192 */

static hx__topo topo;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static size_t least_known(size_t a, size_t b) { return a == 0 || (b != 0 && b < a) ? b : a; }

/* The number of objects of a type, such as cores, that share a CPU with the set. */
static unsigned count_in(hwloc_topology_t t, hwloc_obj_type_t type, hwloc_const_cpuset_t set) {
  unsigned count = 0;
  for (hwloc_obj_t o = NULL; (o = hwloc_get_next_obj_by_type(t, type, o));)
    count += (unsigned)hwloc_bitmap_intersects(o->cpuset, set);
  return count;
}

static unsigned cores_in(hwloc_topology_t t, hwloc_const_cpuset_t set) {
  const unsigned cores = count_in(t, HWLOC_OBJ_CORE, set);
  return cores ? cores : count_in(t, HWLOC_OBJ_PU, set);
}

void hx__topo_places(cpu_set_t *places) {
  CPU_ZERO(places);
  const int count = omp_get_proc_bind() == omp_proc_bind_false ? 0 : omp_get_num_places();
  for (int p = 0; p < count; p++) {
    int ids[CPU_SETSIZE];
    const int cpus = omp_get_place_num_procs(p);
    if (cpus > CPU_SETSIZE) continue;
    omp_get_place_proc_ids(p, ids);
    for (int i = 0; i < cpus; i++)
      if (ids[i] >= 0 && ids[i] < CPU_SETSIZE) CPU_SET((size_t)ids[i], places);
  }
}

/* The CPUs that the process may use: those of the allowed ones on which the main thread may run (taskset, cpusets), and
 * those of OpenMP's places, because OpenMP may have bound the main thread. The affinity of the calling thread does not
 * count: if the program pinned it, hx would see only a small machine. */
static void find_usable(hwloc_topology_t t, hwloc_bitmap_t usable, hwloc_bitmap_t scratch) {
  hwloc_bitmap_copy(usable, hwloc_topology_get_allowed_cpuset(t));
  if (hwloc_get_proc_cpubind(t, getpid(), scratch, HWLOC_CPUBIND_THREAD) != 0) return;
  cpu_set_t places;
  hx__topo_places(&places);
  for (unsigned i = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET(i, &places)) hwloc_bitmap_set(scratch, i);
  if (hwloc_bitmap_intersects(usable, scratch)) hwloc_bitmap_and(usable, usable, scratch);
}

/* Counts the usable cores of each kind, in hwloc's order. Kinds beyond HX__TOPO_KINDS are added to the last one. */
static void find_kinds(hwloc_topology_t t, hwloc_const_bitmap_t usable, hwloc_bitmap_t scratch, hx__topo *out) {
  const int kinds = hwloc_cpukinds_get_nr(t, 0);
  for (int i = 0; i < kinds; i++) {
    if (hwloc_cpukinds_get_info(t, (unsigned)i, scratch, NULL, NULL, NULL, 0) != 0) continue;
    hwloc_bitmap_and(scratch, scratch, usable);
    const unsigned cores = hwloc_bitmap_iszero(scratch) ? 0 : cores_in(t, scratch);
    if (cores == 0) continue;
    if (out->kinds < HX__TOPO_KINDS) out->kinds++;
    out->kind_cores[out->kinds - 1] += cores;
  }
}

/* A core's part of its cache at a level: the least over the usable cores, because block sizes have to suit all of
 * them. */
static size_t cache_of_core(hwloc_topology_t t, hwloc_obj_type_t level, hwloc_const_bitmap_t usable,
                            hwloc_bitmap_t scratch) {
  size_t least = 0;
  for (hwloc_obj_t o = NULL; (o = hwloc_get_next_obj_by_type(t, level, o));) {
    hwloc_bitmap_and(scratch, o->cpuset, usable);
    if (hwloc_bitmap_iszero(scratch)) continue;
    least = least_known(least, (size_t)(o->attr->cache.size / cores_in(t, scratch)));
  }
  return least;
}

static size_t largest_cache(hwloc_topology_t t, hwloc_obj_type_t level, hwloc_const_bitmap_t usable) {
  size_t most = 0;
  for (hwloc_obj_t o = NULL; (o = hwloc_get_next_obj_by_type(t, level, o));)
    if (hwloc_bitmap_intersects(o->cpuset, usable) && o->attr->cache.size > most) most = (size_t)o->attr->cache.size;
  return most;
}

static void read_topology(hwloc_topology_t t, hwloc_bitmap_t usable, hwloc_bitmap_t scratch, hx__topo *out) {
  find_usable(t, usable, scratch);
  out->cores = cores_in(t, usable);
  out->hardware_threads = count_in(t, HWLOC_OBJ_PU, usable);
  find_kinds(t, usable, scratch, out);
  out->l1_bytes = cache_of_core(t, HWLOC_OBJ_L1CACHE, usable, scratch);
  out->l2_bytes = cache_of_core(t, HWLOC_OBJ_L2CACHE, usable, scratch);
  out->l3_bytes = largest_cache(t, HWLOC_OBJ_L3CACHE, usable);
  out->memory_bytes = hwloc_get_root_obj(t)->total_memory;
  const hwloc_obj_t package = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_PACKAGE, NULL);
  const char *name = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
  if (name) snprintf(out->cpu_name, sizeof out->cpu_name, "%s", name);
}

/* Discovers only what is read above, and changes no thread's binding, which hwloc's x86 backend otherwise would. */
static bool load_topology(hwloc_topology_t t) {
  return hwloc_topology_set_all_types_filter(t, HWLOC_TYPE_FILTER_KEEP_NONE) == 0 &&
         hwloc_topology_set_cache_types_filter(t, HWLOC_TYPE_FILTER_KEEP_ALL) == 0 &&
         hwloc_topology_set_type_filter(t, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL) == 0 &&
         hwloc_topology_set_type_filter(t, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL) == 0 &&
         hwloc_topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING) == 0 && hwloc_topology_load(t) == 0;
}

bool hx__topo_has_affinity(void) {
  unsigned long set[MOST_CPUS / (8 * sizeof(unsigned long))];
  return syscall(SYS_sched_getaffinity, 0, sizeof set, set) > 0;
}

/* Whether hwloc's data describe this machine (and not that of HWLOC_XMLFILE). True also if hwloc is not used: in a
 * child that was forked while another thread asked hwloc, a lock of hwloc stays taken. */
static bool ask_hwloc(hx__topo *out) {
  hwloc_topology_t t;
  if (hx__is_secure_process() || hx__in_forked_child()) return true;
  const bool room = hx__address_space_available(ROOM_BYTES); /* hwloc crashes if one of its allocations fails */
  if (!room || !hx__topo_has_affinity()) {
    hx__log(HX__LOG_INFO, "%s: cores and caches are what the system says without hwloc",
            room ? "the affinity of this process cannot be read" : "no room for 16 MiB");
    return true;
  }
  if (hwloc_topology_init(&t) != 0) return true;
  const hwloc_bitmap_t usable = hwloc_bitmap_alloc(), scratch = hwloc_bitmap_alloc();
  bool here = true;
  if (usable && scratch && load_topology(t)) {
    read_topology(t, usable, scratch, out);
    here = hwloc_topology_is_thissystem(t) != 0;
  }
  hwloc_bitmap_free(usable);
  hwloc_bitmap_free(scratch);
  hwloc_topology_destroy(t);
  return here;
}

static size_t system_value(int name) {
  const long value = sysconf(name);
  return value > 0 ? (size_t)value : 0;
}

static unsigned system_cpus(void) {
  cpu_set_t set;
  if (sched_getaffinity(getpid(), sizeof set, &set) == 0) return (unsigned)CPU_COUNT(&set);
  const size_t online = system_value(_SC_NPROCESSORS_ONLN); /* if there are more than 1024 CPUs */
  return online ? (unsigned)online : 1;
}

/* Fills in what hwloc did not find, because it failed or a sandbox hides /sys. */
static void fill_gaps(hx__topo *out) {
  if (out->hardware_threads == 0) out->hardware_threads = system_cpus();
  if (out->cores == 0) out->cores = out->hardware_threads;
  if (out->l1_bytes == 0) out->l1_bytes = system_value(_SC_LEVEL1_DCACHE_SIZE);
  if (out->l2_bytes == 0) out->l2_bytes = system_value(_SC_LEVEL2_CACHE_SIZE);
  if (out->l3_bytes == 0) out->l3_bytes = system_value(_SC_LEVEL3_CACHE_SIZE);
  if (out->memory_bytes == 0)
    out->memory_bytes = (uint64_t)system_value(_SC_PHYS_PAGES) * (uint64_t)system_value(_SC_PAGESIZE);
}

static unsigned at_most(unsigned value, unsigned limit) { return value < limit ? value : limit; }

/* Limits the cores of all kinds to out->cores in total. The faster kinds, which come last, are kept first, because the
 * kernel prefers them. */
static void limit_kinds(hx__topo *out) {
  unsigned left = out->cores, first = 0;
  for (unsigned i = out->kinds; i-- > 0;) {
    out->kind_cores[i] = at_most(out->kind_cores[i], left);
    left -= out->kind_cores[i];
  }
  while (first < out->kinds && out->kind_cores[first] == 0) first++;
  out->kinds -= first;
  for (unsigned i = 0; i < HX__TOPO_KINDS; i++) out->kind_cores[i] = i < out->kinds ? out->kind_cores[i + first] : 0;
  if (out->kinds == 0) out->kinds = 1, out->kind_cores[0] = 0;
  out->kind_cores[0] += left; /* cores whose kind hwloc does not know */
}

static void find_topology(void) {
  topo = (hx__topo){0}; /* A thread of the parent may have filled in some of it when this process was forked. */
  const bool here = ask_hwloc(&topo);
  fill_gaps(&topo);
  const double quota = here ? hx__cgroup_cpus("") : 0;
  if (quota > 0 && quota < (double)topo.hardware_threads) {
    const unsigned limit = (unsigned)ceil(quota);
    topo.hardware_threads = at_most(topo.hardware_threads, limit);
    topo.cores = at_most(topo.cores, limit);
  }
  limit_kinds(&topo);
}

const hx__topo *hx__topo_get(void) {
  pthread_once(&once, find_topology);
  return &topo;
}
