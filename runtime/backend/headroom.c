/* SPDX-License-Identifier: Apache-2.0
 * Checks that the process has the resources without which drivers crash or hang. The process that checks drivers
 * (opencl/driver_check.c) has the same limits, but its result is cached and must not depend on the limits of one
 * process. */
#include "runtime/backend/headroom.h"

#include <unistd.h>

#include "runtime/backend/cpu/thread_limit.h"
#include "runtime/base/address_space.h"
#include "runtime/topo/topo.h"

#define DRIVER_BYTES ((size_t)1 << 30) /* PoCL with LLVM crashes with 0.8 GB and works with 0.9 */
#define DRIVER_THREADS 8u              /* of hx and of a driver, in addition to one for each core */

const char *hx__driver_headroom_missing(void) {
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  const unsigned threads = (cores > 0 ? (unsigned)cores : 1u) + DRIVER_THREADS;
  if (!hx__address_space_available(DRIVER_BYTES)) return "less than 1 GiB of address space is left";
  if (!hx__topo_has_affinity()) return "the affinity of this process cannot be read";
  return hx__threads_startable(threads, 0) < threads ? "the system has no room for a driver's threads" : NULL;
}
