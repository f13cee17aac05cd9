/* SPDX-License-Identifier: Apache-2.0
 * Checks that the process has the resources without which drivers crash or hang. The process that checks drivers
 * (opencl/driver_check.c) has the same limits, but its result is cached and must not depend on the limits of one
 * process. */
#define _GNU_SOURCE
#include "runtime/backend/headroom.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/backend/cpu/thread_limit.h"
#include "runtime/base/address_space.h"
#include "runtime/topo/topo.h"

#define DRIVER_BYTES ((size_t)1 << 30)         /* PoCL with LLVM crashes with 0.8 GB and works with 0.9 */
#define DRIVER_STACK_BYTES ((size_t)256 << 10) /* PoCL with LLVM crashes with 80 KiB and works with 96 */
#define DRIVER_THREADS 8u                      /* of hx and of a driver, in addition to one for each core */

/* Of the threads of hx that call drivers and of those that drivers start, and of the process that checks drivers. */
static bool has_small_stacks(void) {
  struct rlimit limit;
  pthread_attr_t attr;
  size_t bytes = DRIVER_STACK_BYTES;
  if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < DRIVER_STACK_BYTES) return true;
  if (pthread_getattr_default_np(&attr) != 0) return false;
  pthread_attr_getstacksize(&attr, &bytes);
  pthread_attr_destroy(&attr);
  return bytes < DRIVER_STACK_BYTES;
}

const char *hx__driver_headroom_missing(void) {
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  const unsigned threads = (cores > 0 ? (unsigned)cores : 1u) + DRIVER_THREADS;
  if (!hx__address_space_available(DRIVER_BYTES)) return "less than 1 GiB of address space is left";
  if (has_small_stacks()) return "threads have a stack of less than 256 KiB (ulimit -s)";
  if (!hx__topo_has_affinity()) return "the affinity of this process cannot be read";
  return hx__threads_startable(threads, 0) < threads ? "the system has no room for a driver's threads" : NULL;
}
