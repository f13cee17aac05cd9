/* SPDX-License-Identifier: Apache-2.0
 * The bits of a float. */
#ifndef HX_TESTS_FLOAT_BITS_H
#define HX_TESTS_FLOAT_BITS_H

#include <stdint.h>
#include <string.h>

static inline float as_float(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static inline uint32_t as_int(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

#endif
