/* SPDX-License-Identifier: Apache-2.0
 * Whether there is room for what another library will ask for. */
#include "runtime/base/address_space.h"

#include <sys/mman.h>

/* By pages that are never touched: a large block of malloc's would change from where later ones come. */
bool hx__address_space_available(size_t bytes) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void *const room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  return room != MAP_FAILED && munmap(room, bytes) == 0;
}
