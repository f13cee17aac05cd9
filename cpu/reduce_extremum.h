/* SPDX-License-Identifier: Apache-2.0
 * The keys (base/slot.h) of min, max, argmin and argmax. The instructions for minima and maxima of floats lose NaNs, so
 * NaNs are looked for beside them (v_nans_add). */
#ifndef HX_CPU_REDUCE_EXTREMUM_H
#define HX_CPU_REDUCE_EXTREMUM_H

#include "cpu/vector.h"
#include "runtime/base/slot.h"

#define X_CHAINS 4u
#define X_STEP (2 * X_CHAINS * V_LANES)
/* Steps of an iteration. Two are faster with 32-byte vectors on Intel's cores, but not with 64-byte vectors:
 * docs/measurements/cpu-extrema-steps.tsv. */
#define X_STEPS (HX__V_BYTES == 32 && V_DOT_CHAINS ? 2u : 1u)
#define E_CHAINS 4u
#define E_STEP (E_CHAINS * E_LANES)
#define F_INFINITY 0x7f800000u
#define F_MINUS_ZERO 0x80000000u

/* The best elements so far, after each block of a leaf. The index of the best element of all is in the first block
 * whose mark has it, so only this block is searched. */
#define X_BLOCK (64 * V_LANES)
typedef struct extremum_marks {
  element best[HX__LEAF / X_BLOCK * V_LANES];
} extremum_marks;

typedef struct extremum {
  v_u32 best[X_CHAINS];
  v_nans nans[X_CHAINS]; /* of floats */
} extremum;

INLINED bool extremum_is_index(hx_op op) { return op == HX_ARGMIN || op == HX_ARGMAX; }
INLINED bool extremum_is_most(hx_op op) { return op == HX_MAX || op == HX_ARGMAX; }

INLINED v_u32 extremum_best(hx_op op, hx_type type, v_u32 a, v_u32 b) {
  const bool most = extremum_is_most(op);
  return type == HX_F32 ? (v_u32)v_float_best(most, (v_f32)a, (v_f32)b) : v_best(type, most, a, b);
}

INLINED v_u32 extremum_joined(hx_op op, hx_type type, const extremum *e) {
#define COMBINE(a, b) extremum_best(op, type, a, b)
  return COMBINE(COMBINE(e->best[0], e->best[1]), COMBINE(e->best[2], e->best[3]));
}

INLINED uint32_t extremum_folded(hx_op op, hx_type type, v_u32 best) {
  V_FOLD(best, COMBINE);
#undef COMBINE
  return best[0];
}

INLINED void extremum_take(extremum *e, unsigned chain, hx_op op, hx_type type, v_u32 v) {
  ONCE(v);
  if (type == HX_F32) e->nans[chain] = v_nans_add(e->nans[chain], (v_f32)v);
  e->best[chain] = extremum_best(op, type, e->best[chain], v);
}

INLINED void extremum_take_two(extremum *e, unsigned chain, hx_op op, hx_type type, const element *x) {
  v_u32 v = v_load(x), w = v_load(x + V_LANES);
  if (type == HX_F32) {
    ONCE(v);
    ONCE(w);
    e->nans[chain] = v_nans_add_two(e->nans[chain], (v_f32)v, (v_f32)w);
  }
  if (type != HX_F32 && chain == 0)
    e->best[0] =
        v_best_elsewhere(type, extremum_is_most(op), v_best_elsewhere(type, extremum_is_most(op), v, w), e->best[0]);
  else
    e->best[chain] = extremum_best(op, type, e->best[chain], extremum_best(op, type, v, w));
  ONCE(e->best[chain]);
}

/* Takes all n > 0 elements, some of them twice: the last vector overlaps the one before it. */
INLINED void extremum_take_all(extremum *e, hx_op op, hx_type type, const element *x, size_t n, bool distant,
                               extremum_marks *marks) {
  const v_u32 first = n < V_LANES ? v_load_part(x, n, x[0]) : v_load(x);
  UNROLLED for (unsigned c = 0; c < X_CHAINS; c++) e->best[c] = first, e->nans[c] = v_nans_of((v_f32)first);
  const element *p = x, *const last = x + (n - n % X_STEP);
  for (element *mark = marks->best; p != last; mark += V_LANES) {
    const element *const stop = extremum_is_index(op) && (size_t)(last - p) > X_BLOCK ? p + X_BLOCK : last;
    for (; X_STEPS > 1 && !distant && (size_t)(stop - p) >= X_STEPS * X_STEP; p += X_STEPS * X_STEP)
      UNROLLED for (unsigned v = 0; v < X_STEPS * X_CHAINS; v++)
          extremum_take_two(e, v % X_CHAINS, op, type, p + 2 * v * V_LANES);
    for (; p != stop; p += X_STEP) {
      if (distant) ask_ahead(x, (size_t)(p - x), X_STEP);
      UNROLLED for (unsigned c = 0; c < X_CHAINS; c++) extremum_take_two(e, c, op, type, p + 2 * c * V_LANES);
    }
    if (!extremum_is_index(op)) break;
    const v_u32 best = extremum_joined(op, type, e);
    memcpy(mark, &best, sizeof best);
  }
  size_t rest = n % X_STEP;
  if (rest >= X_STEP / 2) {
    UNROLLED for (unsigned c = 0; c < X_CHAINS; c++) extremum_take(e, c, op, type, v_load(p + c * V_LANES));
    rest -= X_STEP / 2, p += X_STEP / 2;
  }
  for (; rest > V_LANES; rest -= V_LANES, p += V_LANES) extremum_take(e, 0, op, type, v_load(p));
  if (rest > 0 && n >= V_LANES) extremum_take(e, 1, op, type, v_load(x + (n - V_LANES)));
}

/* --- Searches. --- */

INLINED e_u32 index_match(hx_type type, bool nan, e_u32 x, e_u32 wanted) {
  if (nan) return e_unordered(x, x);
  return type == HX_F32 ? (e_u32)((e_f32)x == (e_f32)wanted) : (e_u32)(x == wanted);
}

/* The lowest index in x[0,n) of the wanted value, or of a NaN; n if there is none. */
INLINED size_t index_of_first(hx_type type, bool nan, const element *x, size_t n, e_u32 wanted) {
  if (n < E_LANES)
    return (size_t)__builtin_ctz(e_signs(index_match(type, nan, e_load_part(x, n, x[0]), wanted)) | 1u << n);
  size_t i = 0;
  for (; n - i >= E_STEP; i += E_STEP) {
    e_u32 found = {0};
    UNROLLED for (size_t v = 0; v < E_CHAINS; v++) found |= index_match(type, nan, e_load(x + i + v * E_LANES), wanted);
    if (e_signs(found)) break;
  }
  for (; i < n; i += E_LANES) {
    const size_t at = i < n - E_LANES ? i : n - E_LANES;
    const unsigned found = e_signs(index_match(type, nan, e_load(x + at), wanted));
    if (found) return at + (size_t)__builtin_ctz(found);
  }
  return n;
}

/* --- Keys and slots. --- */

INLINED uint32_t extremum_ordered(hx_type type, uint32_t b) {
  if (type == HX_F32) return b ^ (b >> 31 ? 0xffffffffu : 0x80000000u);
  return type == HX_I32 ? b ^ 0x80000000u : b;
}
INLINED uint32_t extremum_bits(hx_type type, uint32_t ordered) {
  if (type == HX_F32) return ordered ^ (ordered >> 31 ? 0x80000000u : 0xffffffffu);
  return type == HX_I32 ? ordered ^ 0x80000000u : ordered;
}

/* The bits of the best element, of either zero if it is one; HX__CANONICAL_NAN if there is a NaN. */
INLINED uint32_t extremum_element(hx_op op, hx_type type, const element *x, size_t n, bool distant,
                                  extremum_marks *marks) {
  extremum e;
  extremum_take_all(&e, op, type, x, n, distant, marks);
  const uint32_t b = extremum_folded(op, type, extremum_joined(op, type, &e));
  return type == HX_F32 && v_nans_are_there(e.nans) ? HX__CANONICAL_NAN : b;
}

/* Chooses the sign of a best element that is a zero. */
INLINED uint32_t extremum_zero(hx_op op, const element *x, size_t n) {
  const uint32_t better = op == HX_MIN ? F_MINUS_ZERO : 0;
  if (extremum_is_index(op)) return 0; /* zeros tie */
  return index_of_first(HX_U32, false, x, n, e_broadcast(better)) < n ? better : better ^ F_MINUS_ZERO;
}

INLINED uint32_t extremum_key(hx_op op, hx_type type, const element *x, size_t n, bool distant, extremum_marks *marks) {
  uint32_t b = extremum_element(op, type, x, n, distant, marks);
  if (type == HX_F32 && b == HX__CANONICAL_NAN) return 0;
  if (type == HX_F32 && b << 1 == 0 && (!V_ORDERS_ZEROS || extremum_is_index(op))) b = extremum_zero(op, x, n);
  const uint32_t ordered = extremum_ordered(type, b);
  return extremum_is_most(op) ? ~ordered : ordered;
}

/* The index of a leaf's key. */
INLINED size_t index_of_key(hx_op op, hx_type type, uint32_t key, const element *x, size_t n,
                            const extremum_marks *marks) {
  if (type == HX_F32 && key == 0) return index_of_first(type, true, x, n, (e_u32){0});
  const e_u32 wanted = e_broadcast(extremum_bits(type, op == HX_ARGMAX ? ~key : key));
  const size_t marked = n - n % X_STEP, blocks = (marked + X_BLOCK - 1) / X_BLOCK;
  size_t from = 0;
  if (blocks > 1) from = index_of_first(type, false, marks->best, blocks * V_LANES, wanted) / V_LANES * X_BLOCK;
  if (from > marked) from = marked; /* it is in the elements after the last mark */
  return from + index_of_first(type, false, x + from, n - from, wanted);
}

typedef uint32_t extremum_key_fn(const element *x, size_t n, extremum_marks *marks);

/* Computes the slots of all leaves, with distant_key_of for full leaves. Only the best leaf is read a second time, for
 * its index. */
INLINED void extremum_slots(hx_op op, hx_type type, extremum_key_fn *key_of, extremum_key_fn *distant_key_of,
                            const element *x, size_t n, uint64_t *slots) {
  const bool index = extremum_is_index(op);
  extremum_marks marks[2], *spare = marks; /* the other one is the best leaf's */
  uint32_t best = 0xffffffffu;
  size_t winner = 0;
  for (size_t at = 0; at < n; at += HX__LEAF) {
    const bool whole = n - at >= HX__LEAF;
    const uint32_t key = (whole ? distant_key_of : key_of)(x + at, whole ? HX__LEAF : n - at, spare);
    slots[at / HX__LEAF] = index ? (uint64_t)key << 32 : key;
    if (!index || (key >= best && at > 0)) continue;
    best = key;
    winner = at;
    spare = &marks[spare == marks];
  }
  if (index)
    slots[winner / HX__LEAF] |=
        index_of_key(op, type, best, x + winner, n - winner < HX__LEAF ? n - winner : HX__LEAF, &marks[spare == marks]);
}

#endif
