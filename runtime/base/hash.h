/* SPDX-License-Identifier: Apache-2.0
 * FNV-1a, 64 bits: a short name for data, and a checksum that detects accidental changes but not malicious ones. */
#ifndef HX_BASE_HASH_H
#define HX_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HX__HASH_START 0xcbf29ce484222325u

static inline uint64_t hx__hash(uint64_t hash, const void *data, size_t bytes) {
  const unsigned char *p = data;
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ p[i]) * 0x100000001b3u;
  return hash;
}

#endif
