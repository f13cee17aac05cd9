/* SPDX-License-Identifier: Apache-2.0
 * Deterministic data for tests and benchmarks: a value is a function of (kind, seed, index) and nothing else, so a
 * failing case is named by a few numbers. Kinds 0 to 4 of f32, and u itself for integers, are those of golden.txt. */
#ifndef HX_REFERENCE_DATA_H
#define HX_REFERENCE_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/hx.h"

typedef enum data_kind {
  DATA_SIGNED = 0,    /* [-0.5, 0.5)                               integers: all 32 bits random */
  DATA_POSITIVE = 1,  /* [0, 1) */
  DATA_EXPONENTS = 2, /* exponents over 60 powers of two, both signs */
  DATA_DENORMALS = 3, /* denormals and zeros of both signs */
  DATA_ZEROS = 4,     /* -0, sometimes +0 */
  DATA_SMALL = 5,     /* integers from -8 to 8: exact in any order  integers: the same (u32: 0 to 16) */
  DATA_INF = 6,       /* as 0, with a rare +inf or, for odd seeds, infinities of both signs */
  DATA_NAN = 7,       /* as 0, with rare quiet and signalling NaNs of both signs and any payload */
  DATA_CANCEL = 8,    /* huge pairs that cancel, small values between */
  DATA_ANY = 9,       /* any finite bit pattern: sums overflow, products underflow */
  DATA_NEAR_ONE = 10, /* 1 + x * 2^-13, x of kind 0: products stay in range */
  DATA_EXTREME = 11,  /* the least, greatest and middle values      integers: INT_MIN, INT_MAX, UINT_MAX, 0, 1, ... */
  DATA_KINDS = 12
} data_kind;

/* The i-th output of splitmix64 (from 0) for the state `seed`: all 64 bits, and the high 32. */
uint64_t data_u64(uint64_t seed, uint64_t i);
uint32_t data_u(uint64_t seed, uint64_t i);

/* One f32 of a kind. */
float data_f32(data_kind kind, uint64_t seed, uint64_t i);

/* p[0..n) of a type. Kinds that a type does not have are filled as kind 0. */
void data_fill(hx_type type, data_kind kind, uint64_t seed, void *p, size_t n);

#endif
