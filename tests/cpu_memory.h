/* SPDX-License-Identifier: Apache-2.0
 * Shared by the tests of cpu/: the bits of floats, and memory whose ends are exact. */
#ifndef HX_TESTS_CPU_MEMORY_H
#define HX_TESTS_CPU_MEMORY_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static inline float float_of_bits(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static inline uint32_t bits_of_float(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

/* Memory between two pages that may not be touched: `end` is the first byte of the second one. */
typedef struct guarded {
  char *first, *end;
} guarded;

/* At least `bytes`, rounded up to pages. Ends the test if there is no memory. */
static inline guarded guarded_make(size_t bytes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), inside = (bytes + page - 1) / page * page;
  char *const p = mmap(NULL, inside + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED || mprotect(p + page, inside, PROT_READ | PROT_WRITE)) {
    perror("mmap");
    exit(1);
  }
  return (guarded){p + page, p + page + inside};
}

#endif
