/* SPDX-License-Identifier: Apache-2.0
 * Checks for enough address space before another library allocates memory. */
#include "runtime/base/address_space.h"

#include <sys/mman.h>

/* Maps pages and never touches them. A large block from malloc would change where malloc takes later blocks from. */
bool hx__address_space_available(size_t bytes) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void *const room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  return room != MAP_FAILED && munmap(room, bytes) == 0;
}
