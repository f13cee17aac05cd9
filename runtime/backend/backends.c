/* SPDX-License-Identifier: Apache-2.0
 * The list of backends. A new backend is a folder and a row here. */
#include "runtime/backend/backend.h"

/* In the order of their device numbers; device 0 is the host's CPU. */
#define BACKENDS(X)     \
  X(hx__cpu_backend)    \
  X(hx__opencl_backend) \
  X(hx__sim_backend)

#define DECLARE(backend) extern const hx__backend backend;
#define ADDRESS(backend) &backend,
BACKENDS(DECLARE)
static const hx__backend *const rows[] = {BACKENDS(ADDRESS)};

const hx__backend *const *hx__backend_rows(size_t *count) {
  *count = sizeof rows / sizeof rows[0];
  return rows;
}
