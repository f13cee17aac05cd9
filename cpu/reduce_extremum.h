/* SPDX-License-Identifier: Apache-2.0
 * The keys (base/slot.h) of min, max, argmin and argmax. Floats are compared by their bits as integers. As unsigned
 * numbers all negative floats are greater than all others and grow towards minus infinity; the NaNs of a sign come
 * after its infinity. So the largest unsigned number (high) is the minimum if there is a negative float, and shows
 * negative NaNs; the largest signed number (top) is the maximum if there is a non-negative float, and shows positive
 * NaNs; the smallest unsigned number (low) is the minimum if no float is negative, and the maximum if all are. */
#ifndef HX_CPU_REDUCE_EXTREMUM_H
#define HX_CPU_REDUCE_EXTREMUM_H

#include "cpu/vector.h"
#include "runtime/base/slot.h"

#define X_CHAINS 4u
#define X_STEP (X_CHAINS * V_LANES)
#define E_CHAINS 4u
#define E_STEP (E_CHAINS * E_LANES)
#define F_INFINITY 0x7f800000u
#define F_MINUS_INFINITY 0xff800000u

/* --- The best of a type's elements, floats as either kind of integer. --- */

typedef struct extremum {
  v_u32 best[X_CHAINS];
} extremum;

INLINED extremum extremum_start(v_u32 x) { return (extremum){{x, x, x, x}}; }

INLINED uint32_t extremum_folded(hx_type type, bool most, const extremum *e) {
#define COMBINE(a, b) v_best(type, most, a, b)
  v_u32 best = COMBINE(COMBINE(e->best[0], e->best[1]), COMBINE(e->best[2], e->best[3]));
  V_FOLD(best, COMBINE);
#undef COMBINE
  return best[0];
}

/* Calls TAKE(chain, vector) for all vectors of n > 0 elements; none if n < V_LANES, because extremum_first has them
 * all. Elements may be used twice: the last vector overlaps the one before it. */
#define EXTREMUM_WALK(x, n, distant, TAKE)                                        \
  do {                                                                            \
    const element *p_ = (x);                                                      \
    size_t left_ = (n);                                                           \
    for (; left_ >= 2 * X_STEP; left_ -= 2 * X_STEP, p_ += 2 * X_STEP) {          \
      if (distant) ask_ahead(x, (size_t)(p_ - (x)), 2 * X_STEP);                  \
      TAKE(0, v_load(p_));                                                        \
      TAKE(1, v_load(p_ + V_LANES));                                              \
      TAKE(2, v_load(p_ + 2 * V_LANES));                                          \
      TAKE(3, v_load(p_ + 3 * V_LANES));                                          \
      TAKE(0, v_load(p_ + 4 * V_LANES));                                          \
      TAKE(1, v_load(p_ + 5 * V_LANES));                                          \
      TAKE(2, v_load(p_ + 6 * V_LANES));                                          \
      TAKE(3, v_load(p_ + 7 * V_LANES));                                          \
    }                                                                             \
    for (; left_ > V_LANES; left_ -= V_LANES, p_ += V_LANES) TAKE(0, v_load(p_)); \
    if ((n) >= V_LANES) TAKE(1, v_load((x) + ((n)-V_LANES)));                     \
  } while (0)

INLINED v_u32 extremum_first(const element *x, size_t n) { return n < V_LANES ? v_load_part(x, n, x[0]) : v_load(x); }

INLINED uint32_t integer_extremum(hx_type type, bool most, const element *x, size_t n, bool distant) {
  extremum e = extremum_start(extremum_first(x, n));
#define TAKE(c, v) e.best[c] = v_best(type, most, v, e.best[c])
  EXTREMUM_WALK(x, n, distant, TAKE);
#undef TAKE
  return extremum_folded(type, most, &e);
}

/* --- Floats. --- */

typedef struct float_range {
  uint32_t high, top, low;
} float_range;

/* Computes high, and top or low. */
INLINED float_range float_range_of(bool with_top, const element *x, size_t n, bool distant) {
  const hx_type type = with_top ? HX_I32 : HX_U32;
  extremum high = extremum_start(extremum_first(x, n)), other = high;
#define TAKE(c, v)                                             \
  do {                                                         \
    v_u32 t_ = v;                                              \
    ONCE(t_);                                                  \
    high.best[c] = v_best(HX_U32, true, t_, high.best[c]);     \
    other.best[c] = v_best(type, with_top, t_, other.best[c]); \
  } while (0)
  EXTREMUM_WALK(x, n, distant, TAKE);
#undef TAKE
  const uint32_t o = extremum_folded(type, with_top, &other);
  return (float_range){extremum_folded(HX_U32, true, &high), with_top ? o : 0, with_top ? 0 : o};
}

#define FLOAT_NAN_FOUND HX__CANONICAL_NAN

/* Derives the extremum, or FLOAT_NAN_FOUND, from high and top. *known: whether they suffice. */
INLINED uint32_t extremum_of_mixed(bool most, float_range r, bool *known) {
  *known = true;
  if (r.high > F_MINUS_INFINITY || (r.top > F_INFINITY && !(r.top >> 31))) return FLOAT_NAN_FOUND;
  *known = most ? !(r.top >> 31) : r.high >> 31;
  return most ? r.top : r.high;
}

/* Derives the extremum from high and low. */
INLINED uint32_t extremum_of_one_sign(bool most, float_range r, bool *known) {
  const bool negative = r.high >> 31;
  *known = negative == (r.low >> 31);
  if (r.high > (negative ? F_MINUS_INFINITY : F_INFINITY)) return FLOAT_NAN_FOUND;
  return most == negative ? r.low : r.high;
}

/* Maps the bits of floats to signed integers in the same order. Applied twice, it is the identity. */
INLINED v_u32 float_in_order(v_u32 x) { return x ^ ((v_u32)((v_i32)x >> 31) & 0x7fffffffu); }

/* For few elements: needs no guess; does more work for each element and less at the end. */
INLINED uint32_t float_extremum_few(bool most, const element *x, size_t n) {
  const bool distant = false;
  const v_u32 first = extremum_first(x, n);
  extremum e = extremum_start(float_in_order(first)), size = extremum_start(first & 0x7fffffffu);
#define TAKE(c, v)                                                       \
  do {                                                                   \
    const v_u32 t_ = v;                                                  \
    e.best[c] = v_best(HX_I32, most, float_in_order(t_), e.best[c]);     \
    size.best[c] = v_best(HX_I32, true, t_ & 0x7fffffffu, size.best[c]); \
  } while (0)
  EXTREMUM_WALK(x, n, distant, TAKE);
#undef TAKE
  if (extremum_folded(HX_I32, true, &size) > F_INFINITY) return FLOAT_NAN_FOUND;
  const uint32_t b = extremum_folded(HX_I32, most, &e);
  return b ^ ((uint32_t)((int32_t)b >> 31) & 0x7fffffffu);
}

#if !V_INTEGER_BEST
/* Compares floats, which does not distinguish -0 from +0. */
INLINED uint32_t float_extremum_by_float(bool most, const element *x, size_t n, bool distant) {
  const v_f32 first = (v_f32)extremum_first(x, n);
  v_f32 best[X_CHAINS] = {first, first, first, first};
  v_u32 nan = e_unordered((v_u32)first, (v_u32)first);
#define TAKE(c, v)                                    \
  do {                                                \
    const v_u32 t_ = v;                               \
    best[c] = v_float_best(most, best[c], (v_f32)t_); \
    nan |= e_unordered(t_, t_);                       \
  } while (0)
  EXTREMUM_WALK(x, n, distant, TAKE);
#undef TAKE
  if (e_signs(nan)) return FLOAT_NAN_FOUND;
#define COMBINE(a, b) v_float_best(most, a, b)
  v_f32 b = COMBINE(COMBINE(best[0], best[1]), COMBINE(best[2], best[3]));
  V_FOLD(b, COMBINE);
#undef COMBINE
  if (b[0] != 0) return ((v_u32)b)[0];
  const uint32_t better = most ? 0 : 0x80000000u;
  for (size_t i = 0; i < n; i++)
    if (x[i] == better) return better;
  return better ^ 0x80000000u;
}
#endif

/* Two of high, top and low are enough, but which two depends on the data. *mixed is a guess, from the previous leaf. */
INLINED uint32_t float_extremum(bool most, const element *x, size_t n, bool distant, bool *mixed) {
#if !V_INTEGER_BEST
  (void)mixed;
  return float_extremum_by_float(most, x, n, distant);
#else
  if (n < 2 * X_STEP) return float_extremum_few(most, x, n);
  for (;;) {
    bool known;
    const uint32_t b = *mixed ? extremum_of_mixed(most, float_range_of(true, x, n, distant), &known)
                              : extremum_of_one_sign(most, float_range_of(false, x, n, distant), &known);
    if (known) return b;
    *mixed = !*mixed;
  }
#endif
}

INLINED bool signs_differ(const element *x) {
  const unsigned signs = e_signs(e_load(x));
  return signs != 0 && signs != (1u << E_LANES) - 1u;
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

INLINED uint32_t extremum_key(hx_op op, hx_type type, const element *x, size_t n, bool distant, bool *mixed) {
  const bool most = op == HX_MAX || op == HX_ARGMAX, index = op == HX_ARGMIN || op == HX_ARGMAX;
  uint32_t b =
      type == HX_F32 ? float_extremum(most, x, n, distant, mixed) : integer_extremum(type, most, x, n, distant);
  if (type == HX_F32 && (b & 0x7fffffffu) > F_INFINITY) return 0;
  if (type == HX_F32 && index && b << 1 == 0) b = 0; /* zeros tie */
  const uint32_t ordered = extremum_ordered(type, b);
  return most ? ~ordered : ordered;
}

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

/* The index of a leaf's key. */
INLINED size_t index_of_key(hx_op op, hx_type type, uint32_t key, const element *x, size_t n) {
  if (type == HX_F32 && key == 0) return index_of_first(type, true, x, n, (e_u32){0});
  return index_of_first(type, false, x, n, e_broadcast(extremum_bits(type, op == HX_ARGMAX ? ~key : key)));
}

typedef uint32_t extremum_key_fn(const element *x, size_t n, bool *mixed);

/* Computes the slots of all leaves, with distant_key_of for full leaves. Only the best leaf is read a second time, for
 * its index. */
INLINED void extremum_slots(hx_op op, hx_type type, extremum_key_fn *key_of, extremum_key_fn *distant_key_of,
                            const element *x, size_t n, uint64_t *slots) {
  const bool index = op == HX_ARGMIN || op == HX_ARGMAX;
  bool mixed = type == HX_F32 && n >= 2 * X_STEP && signs_differ(x);
  uint32_t best = 0xffffffffu;
  size_t winner = 0;
  for (size_t at = 0; at < n; at += HX__LEAF) {
    const bool whole = n - at >= HX__LEAF;
    const uint32_t key = (whole ? distant_key_of : key_of)(x + at, whole ? HX__LEAF : n - at, &mixed);
    slots[at / HX__LEAF] = index ? (uint64_t)key << 32 : key;
    if (!index || key >= best) continue;
    best = key;
    winner = at;
  }
  if (index)
    slots[winner / HX__LEAF] |= index_of_key(op, type, best, x + winner, n - winner < HX__LEAF ? n - winner : HX__LEAF);
}

#endif
