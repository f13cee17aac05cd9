/* SPDX-License-Identifier: Apache-2.0
 * One leaf of min, max, argmin and argmax. Floats are compared as floats, not as integer keys: beside the smallest
 * value the loop keeps whether it saw a NaN, and the OR (max: AND) of all sign bits. When the smallest value is a zero
 * no element is negative, so that this OR tells whether one of the zeros was -0. */
#ifndef HX_CPU_REDUCE_EXTREMUM_H
#define HX_CPU_REDUCE_EXTREMUM_H

#include "cpu/vector.h"
#include "runtime/base/slot.h"

#define E_CHAINS 4u
#define E_STEP (E_CHAINS * E_LANES)
#define E_BLOCK 128u /* elements that argmin looks at twice, of a whole leaf */

typedef struct extremum {
  e_u32 best[E_CHAINS];
  e_u32 nan;  /* non-zero where there was a NaN */
  e_u32 sign; /* OR (max: AND) of the sign bits */
} extremum;

/* Four vectors, which begin a run (first) or go on with it. What the caller does not read the compiler drops. */
INLINED void extremum_add(extremum *e, hx_type type, bool most, bool first, const element *x) {
  e_u32 a[E_CHAINS];
  UNROLLED for (size_t v = 0; v < E_CHAINS; v++) {
    e_u32 t = e_load(x + v * E_LANES);
    if (type == HX_F32) ONCE(t);
    a[v] = t;
    e->best[v] = first ? t : e_best(type, most, t, e->best[v]);
  }
  e_u32 any = (a[0] | a[1]) | (a[2] | a[3]), all = (a[0] & a[1]) & (a[2] & a[3]);
  e->sign = most ? e->sign & all : e->sign | any;
  e->nan |= e_unordered(a[0], a[1]) | e_unordered(a[2], a[3]);
}
INLINED void extremum_add_one(extremum *e, hx_type type, bool most, e_u32 x) {
  e->best[0] = e_best(type, most, x, e->best[0]);
  e->sign = most ? e->sign & x : e->sign | x;
  e->nan |= e_unordered(x, x);
}
INLINED e_u32 extremum_joined(const extremum *e, hx_type type, bool most) {
  return e_best(type, most, e_best(type, most, e->best[0], e->best[1]), e_best(type, most, e->best[2], e->best[3]));
}
INLINED bool extremum_has_nan(const extremum *e, hx_type type) { return type == HX_F32 && e_signs(e->nan) != 0; }

/* In every lane the value of the best lane. */
INLINED e_u32 extremum_folded(hx_type type, bool most, e_u32 best) {
#define COMBINE(a, b) e_best(type, most, a, b)
  E_FOLD(best, COMBINE);
#undef COMBINE
  return best;
}

/* Any n > 0. Elements may be taken twice: the last vector overlaps the one before it, or is filled up with x[0]. */
INLINED extremum extremum_of(hx_type type, bool most, const element *x, size_t n) {
  extremum e;
  e_u32 first = n < E_LANES ? e_load_part(x, n, x[0]) : e_load(x);
  UNROLLED for (size_t v = 0; v < E_CHAINS; v++) e.best[v] = first;
  e.sign = first;
  e.nan = e_unordered(first, first);
  if (n <= E_LANES) return e;
  const element *last = x + (n - E_LANES);
  for (; n >= E_STEP; n -= E_STEP, x += E_STEP) extremum_add(&e, type, most, false, x);
  for (; n > E_LANES; n -= E_LANES, x += E_LANES) extremum_add_one(&e, type, most, e_load(x));
  extremum_add_one(&e, type, most, e_load(last));
  return e;
}

INLINED e_u32 index_match(hx_type type, e_u32 x, e_u32 wanted) {
  return type == HX_F32 ? (e_u32)((e_f32)x == (e_f32)wanted) : (e_u32)(x == wanted);
}

/* The lowest index in x[0,n) of the wanted value, or of a NaN. There is one: were it not so, n. */
INLINED size_t index_of_first(hx_type type, bool nan, const element *x, size_t n, e_u32 wanted) {
  const size_t last = n < E_LANES ? 0 : n - E_LANES;
  for (size_t i = 0; i < n; i += E_LANES) {
    size_t at = i < last ? i : last;
    e_u32 a = n < E_LANES ? e_load_part(x, n, x[0]) : e_load(x + at);
    unsigned found = e_signs(nan ? e_unordered(a, a) : index_match(type, a, wanted));
    if (found) return at + (size_t)__builtin_ctz(found);
  }
  return n;
}

INLINED uint32_t extremum_key(hx_type type, bool most, uint32_t b) {
  if (type == HX_F32) b ^= b >> 31 ? 0xffffffffu : 0x80000000u;
  if (type == HX_I32) b ^= 0x80000000u;
  return most ? ~b : b;
}

INLINED uint64_t extremum_leaf(hx_type type, bool most, const element *x, size_t n) {
  extremum e = extremum_of(type, most, x, n);
  uint32_t b = extremum_folded(type, most, extremum_joined(&e, type, most))[0];
  if (extremum_has_nan(&e, type)) return 0;
  if (type == HX_F32 && b << 1 == 0) {
    unsigned signs = e_signs(e.sign), all = (1u << E_LANES) - 1u;
    b = (most ? signs == all : signs != 0) ? 0x80000000u : 0;
  }
  return extremum_key(type, most, b);
}

INLINED uint64_t index_slot(hx_type type, bool most, uint32_t best, size_t index) {
  if (type == HX_F32 && best << 1 == 0) best = 0; /* zeros tie */
  return (uint64_t)extremum_key(type, most, best) << 32 | index;
}

INLINED uint64_t index_leaf_part(hx_type type, bool most, const element *x, size_t n) {
  extremum e = extremum_of(type, most, x, n);
  if (extremum_has_nan(&e, type)) return index_of_first(type, true, x, n, e.nan);
  e_u32 wanted = extremum_folded(type, most, extremum_joined(&e, type, most));
  return index_slot(type, most, wanted[0], index_of_first(type, false, x, n, wanted));
}

INLINED uint32_t index_folded(e_u32 index) {
#define COMBINE(a, b) e_best(HX_U32, false, a, b)
  E_FOLD(index, COMBINE);
#undef COMBINE
  return index[0];
}

/* The index of the first of a value that is in a block. Without a branch to wait for, and the next leaf's first cache
 * lines are fetched meanwhile: otherwise memory would lie idle. Each of four chains takes a quarter of the vectors; a
 * lane counts those from its first match to the chain's end. */
INLINED uint32_t index_in_block(hx_type type, const element *x, e_u32 wanted, const element *next) {
  const uint32_t vectors = E_BLOCK / E_LANES, quarter = vectors / E_CHAINS;
  e_u32 most_left = {0};
  UNROLLED for (uint32_t c = 0; c < E_CHAINS; c++) {
    e_u32 found = {0}, left = {0};
    UNROLLED for (uint32_t v = 0; v < quarter; v++) {
      __builtin_prefetch(next + (c * quarter + v) * 16);
      found |= index_match(type, e_load(x + (c * quarter + v) * E_LANES), wanted);
      left -= found;
    }
    most_left = e_best(HX_U32, true, left + (found & (E_CHAINS - 1 - c) * quarter), most_left);
  }
  e_u32 index = (vectors - most_left) * E_LANES;
  UNROLLED for (uint32_t i = 0; i < E_LANES; i++) index[i] += i;
  return index_folded(index);
}

/* A whole leaf: the best of each block; in each lane the first block that has the lane's best; then that block again.
 */
INLINED uint64_t index_leaf(hx_type type, bool most, const element *x) {
  e_u32 all = e_load(x), at = {0};
  extremum e;
  e.nan = e.sign = (e_u32){0};
  for (uint32_t b = 0; b < HX__LEAF; b += E_BLOCK) {
    extremum_add(&e, type, most, true, x + b);
    for (size_t i = E_STEP; i < E_BLOCK; i += E_STEP) extremum_add(&e, type, most, false, x + b + i);
    e_u32 best = e_best(type, most, extremum_joined(&e, type, most), all);
    at = e_best(HX_U32, true, at, ~index_match(type, best, all) & b); /* b grows: the larger is the later change */
    all = best;
  }
  if (extremum_has_nan(&e, type)) return index_of_first(type, true, x, HX__LEAF, e.nan);
  e_u32 wanted = extremum_folded(type, most, all);
  uint32_t block = index_folded(at | ~index_match(type, all, wanted));
  return index_slot(type, most, wanted[0], block + index_in_block(type, x + block, wanted, x + HX__LEAF));
}

#endif
