/* SPDX-License-Identifier: Apache-2.0
 * What the kernel of adjacent lines (lines_columns.h) keeps of one lane of HX__V_BYTES / 4 lines: one vector for the
 * sums and products of float32 and for minima and maxima (extreme_number), two for the others:
 *   i32, u32 SUM, SUM_ABS           the sums modulo 2^32 of the values, and those of their upper halves
 *   i32, u32 DOT, SUM_SQUARES, PROD the 64-bit values of the even lines, then those of the odd ones
 *   ARGMIN, ARGMAX                  keys, and where they are: the round of 128 elements, later the index in the leaf
 * These keys are those of base/slot.h with the first bit inverted, so that they compare as signed integers. */
#ifndef HX_CPU_LINES_STATE_H
#define HX_CPU_LINES_STATE_H

#include "cpu/reduce_float.h"

#define KEY_SIGN 0x80000000u

typedef struct line_state {
  v_u32 a, b; /* b: unused if there is one vector */
} line_state;

INLINED bool is_index(hx_op op) { return op == HX_ARGMIN || op == HX_ARGMAX; }
INLINED bool is_key(hx_op op) { return op == HX_MIN || op == HX_MAX || is_index(op); }
INLINED bool is_float_tree(hx_op op, hx_type type) { return type == HX_F32 && !is_key(op); }
INLINED bool is_wide(hx_op op, hx_type type) {
  return type != HX_F32 && (op == HX_DOT || op == HX_SUM_SQUARES || op == HX_PROD);
}

/* Whether rows may be taken as one long row: at least half of it is elements, or so little is between them that a
 * vector of both costs less than elements one by one. */
#define NARROW 4u
INLINED bool rows_may_join(const hx__columns *c) { return 2 * c->lines >= c->ld || c->ld <= NARROW; }

/* Vectors of a state. */
INLINED size_t state_vectors(hx_op op, hx_type type) { return is_index(op) || (type != HX_F32 && !is_key(op)) ? 2 : 1; }

/* The state of no element: joining it changes nothing, except that a key may have its index. */
INLINED line_state state_start(hx_op op, hx_type type) {
  if (is_key(op)) return (line_state){v_broadcast(op == HX_MAX ? KEY_SIGN : ~KEY_SIGN), (v_u32){0}};
  if (type == HX_F32) return (line_state){v_broadcast(float_identity(op)), (v_u32){0}};
  const v_u64 one = op == HX_PROD ? 1u - (v_u64){0} : (v_u64){0};
  return (line_state){(v_u32)one, (v_u32)one};
}

/* The element that stands for one that is missing. An index of such an element is above all others. */
INLINED uint32_t missing_element(hx_op op, hx_type type) {
  const bool most = op == HX_MAX || op == HX_ARGMAX;
  if (is_float_tree(op, type)) return float_identity(op);
  if (!is_key(op)) return op == HX_PROD;
  if (type == HX_F32) return most ? 0xff800000u : 0x7f800000u;
  return type == HX_I32 ? (most ? KEY_SIGN : ~KEY_SIGN) : (most ? 0u : 0xffffffffu);
}

/* What stands for its factor in a dot product. */
INLINED uint32_t missing_factor(hx_type type) { return type == HX_F32 ? F_ONE : 0; }

INLINED v_u32 v_select(v_u32 mask, v_u32 a, v_u32 b) { return (mask & a) | (~mask & b); }

/* All bits set for each element that is a NaN. */
INLINED v_u32 float_nans(v_u32 x) {
  const v_f32 f = (v_f32)x;
  return (v_u32)(f != f);  // NOLINT(misc-redundant-expression): f != f is true of a NaN alone
}

/* The key of an element for its index. */
INLINED v_u32 signed_key(hx_op op, hx_type type, v_u32 x) {
  const bool most = op == HX_ARGMAX;
  if (type == HX_I32) return most ? ~x : x;
  if (type == HX_U32) return most ? ~(x ^ KEY_SIGN) : x ^ KEY_SIGN;
  const v_u32 nan = float_nans(x);
  x &= ~(v_u32)(x == KEY_SIGN); /* zeros tie */
  const v_u32 ordered = x ^ ((v_u32)((v_i32)x >> 31) & ~KEY_SIGN), key = most ? ~ordered : ordered;
  return v_select(nan, v_broadcast(KEY_SIGN), key);
}

/* Minima and maxima: the signed number of an element, of which the least or the greatest wins. Those of floats without
 * NaNs end at the numbers of infinity, NaNs of both signs lie on the winning side of them: what would be on the other
 * side wraps around. So a NaN costs an addition, and not a comparison of each element. */
#define NAN_NUMBERS 0x007fffffu
INLINED v_u32 extreme_number(hx_op op, hx_type type, v_u32 x) {
  if (type == HX_I32) return x;
  if (type == HX_U32) return x ^ KEY_SIGN;
  const v_u32 ordered = x ^ ((v_u32)((v_i32)x >> 31) & ~KEY_SIGN);
  return op == HX_MAX ? ordered - NAN_NUMBERS : ordered + NAN_NUMBERS;
}

/* The key of base/slot.h. */
INLINED v_u32 key_of_number(hx_op op, hx_type type, v_u32 number) {
  const bool most = op == HX_MAX;
  const v_u32 ordered = type != HX_F32 ? number
                        : most         ? number + NAN_NUMBERS
                                       : number - NAN_NUMBERS,
              key = (most ? ~ordered : ordered) ^ KEY_SIGN;
  if (type != HX_F32) return key;
  const v_i32 nan = most ? (v_i32)number > (int32_t)(0x7f800000u - NAN_NUMBERS)
                         : (v_i32)number < (int32_t)(KEY_SIGN + NAN_NUMBERS + NAN_NUMBERS);
  return key & ~(v_u32)nan;
}

/* The even (odd) elements, widened to 64 bits. */
INLINED v_u64 widened_half(hx_type type, v_u32 x, bool odd) {
  const v_u64 low = odd ? (v_u64)x >> 32 : (v_u64)x & 0xffffffffu;
  return type == HX_I32 ? (low ^ KEY_SIGN) - KEY_SIGN : low;
}

INLINED line_state take_wide(hx_op op, hx_type type, line_state s, v_u32 x, v_u32 y) {
  if (op == HX_PROD) {
    s.a = (v_u32)((v_u64)s.a * widened_half(type, x, false));
    s.b = (v_u32)((v_u64)s.b * widened_half(type, x, true));
    return s;
  }
  const v_u32 second = op == HX_DOT ? y : x;
  s.a = (v_u32)((v_u64)s.a + v_product(x, second, type));
  s.b = (v_u32)((v_u64)s.b + v_product((v_u32)((v_u64)x >> 32), (v_u32)((v_u64)second >> 32), type));
  return s;
}

/* Adds an element of each line, which is in this round of its leaf. */
INLINED line_state state_take(hx_op op, hx_type type, line_state s, v_u32 x, v_u32 y, uint32_t round) {
  if (is_index(op)) {
    const v_u32 key = signed_key(op, type, x), better = (v_u32)((v_i32)key < (v_i32)s.a);
    s.a = v_select(better, key, s.a);
    s.b = v_select(better, v_broadcast(round), s.b);
  } else if (is_key(op)) {
    s.a = v_best(HX_I32, op == HX_MAX, s.a, extreme_number(op, type, x));
  } else if (type == HX_F32) {
    s.a = (v_u32)float_combine(op, (v_f32)s.a, float_term(op, x, y));
  } else if (is_wide(op, type)) {
    s = take_wide(op, type, s, x, y);
  } else {
    if (op == HX_SUM_ABS && type == HX_I32) x = v_absolute(x);
    s.a += x;
    s.b += op == HX_SUM && type == HX_I32 ? (v_u32)((v_i32)x >> 16) : x >> 16;
  }
  return s;
}

/* Joins two lanes, the one with the lower number first. Indices are those in the leaf. */
INLINED line_state state_join(hx_op op, hx_type type, line_state s, line_state t) {
  if (is_index(op)) {
    const v_i32 earlier = ((v_i32)t.a == (v_i32)s.a) & ((v_i32)t.b < (v_i32)s.b);
    const v_u32 better = (v_u32)(((v_i32)t.a < (v_i32)s.a) | earlier);
    return (line_state){v_select(better, t.a, s.a), v_select(better, t.b, s.b)};
  }
  if (is_key(op)) return (line_state){v_best(HX_I32, op == HX_MAX, s.a, t.a), s.b};
  if (type == HX_F32) return (line_state){(v_u32)float_combine(op, (v_f32)s.a, (v_f32)t.a), s.b};
  if (!is_wide(op, type)) return (line_state){s.a + t.a, s.b + t.b};
  if (op == HX_PROD) return (line_state){(v_u32)((v_u64)s.a * (v_u64)t.a), (v_u32)((v_u64)s.b * (v_u64)t.b)};
  return (line_state){(v_u32)((v_u64)s.a + (v_u64)t.a), (v_u32)((v_u64)s.b + (v_u64)t.b)};
}

INLINED line_state state_load(hx_op op, hx_type type, const v_u32 *p, size_t index) {
  const size_t vectors = state_vectors(op, type);
  return (line_state){p[index * vectors], vectors == 2 ? p[index * vectors + 1] : (v_u32){0}};
}
INLINED void state_store(hx_op op, hx_type type, v_u32 *p, size_t index, line_state s) {
  const size_t vectors = state_vectors(op, type);
  p[index * vectors] = s.a;
  if (vectors == 2) p[index * vectors + 1] = s.b;
}

/* The slot (base/slot.h) of the element `at` of stored states. A NaN is not canonical yet. Not of minima and maxima,
 * which are not stored. */
INLINED uint64_t state_slot(hx_op op, hx_type type, const v_u32 *p, size_t at) {
  const size_t vectors = state_vectors(op, type), lane = at % V_LANES;
  const element *const a = (const element *)(p + at / V_LANES * vectors), *const b = a + V_LANES;
  if (is_index(op)) return (uint64_t)(a[lane] ^ KEY_SIGN) << 32 | b[lane];
  if (type == HX_F32) return a[lane];
  if (is_wide(op, type)) {
    const element *const word = (lane % 2 ? b : a) + (lane & ~(size_t)1);
    return (uint64_t)word[1] << 32 | word[0];
  }
  return (uint64_t)(int64_t)(int32_t)b[lane] * 65536u + (uint32_t)(a[lane] - (b[lane] << 16));
}

/* Two vectors of words as 64-bit values, the low words and the high ones. */
INLINED void store_words(uint64_t *to, v_u32 low, v_u32 high) {
#if HX__V_BYTES == 64
  const v_u32 first = SHUFFLE(low, high, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const v_u32 second = SHUFFLE(low, high, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
#elif HX__V_BYTES == 32
  const v_u32 first = SHUFFLE(low, high, 0, 8, 1, 9, 2, 10, 3, 11),
              second = SHUFFLE(low, high, 4, 12, 5, 13, 6, 14, 7, 15);
#else
  const v_u32 first = SHUFFLE(low, high, 0, 4, 1, 5), second = SHUFFLE(low, high, 2, 6, 3, 7);
#endif
  memcpy(to, &first, sizeof first);
  memcpy(to + V_LANES / 2, &second, sizeof second);
}

/* Stores the slots (base/slot.h) of V_LANES lines. */
INLINED void state_store_slots(hx_op op, hx_type type, line_state s, uint64_t *slots) {
  if (is_index(op)) {
    store_words(slots, s.b, s.a ^ KEY_SIGN);
  } else if (is_key(op)) {
    store_words(slots, key_of_number(op, type, s.a), (v_u32){0});
  } else if (type == HX_F32) {
    store_words(slots, v_select(float_nans(s.a), v_broadcast(HX__CANONICAL_NAN), s.a), (v_u32){0});
  } else if (is_wide(op, type)) {
    const v_u64 even = (v_u64)s.a, odd = (v_u64)s.b, low = 0xffffffffu - (v_u64){0};
    store_words(slots, (v_u32)((even & low) | odd << 32), (v_u32)(even >> 32 | (odd & ~low)));
  } else { /* 65536 times the upper halves, and a carry */
    const v_u32 carry = (v_u32)(s.a < s.b << 16);
    store_words(slots, s.a, (v_u32)((v_i32)s.b >> 16) - carry);
  }
}

INLINED float slot_as_float(uint64_t slot) {
  const uint32_t bits = (uint32_t)slot;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

/* Joins the slots of two lanes, the one with the lower number first. */
INLINED uint64_t join_slots(hx_op op, hx_type type, uint64_t s, uint64_t t) {
  if (is_key(op)) return s < t ? s : t;
  if (type != HX_F32) return op == HX_PROD ? s * t : s + t;
  const float f = op == HX_PROD ? slot_as_float(s) * slot_as_float(t) : slot_as_float(s) + slot_as_float(t);
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

INLINED uint64_t finished_slot(hx_op op, hx_type type, uint64_t slot) {
  return is_float_tree(op, type) && slot_as_float(slot) != slot_as_float(slot) ? HX__CANONICAL_NAN : slot;
}

/* The same of a row of slots: row[c] and second[c]. The last vector is read and written beyond `count`. */
INLINED void join_slot_rows(hx_op op, hx_type type, uint64_t *row, size_t count, const uint64_t *second) {
  for (size_t c = 0; c < count; c += V_LANES / 2) {
    v_u64 s, t;
    memcpy(&s, row + c, sizeof s);
    memcpy(&t, second + c, sizeof t);
    if (is_index(op))
      s = (v_u64)v_select((v_u32)(s < t), (v_u32)s, (v_u32)t);
    else if (is_key(op))
      s = (v_u64)v_best(HX_U32, false, (v_u32)s, (v_u32)t);
    else if (type == HX_F32)
      s = (v_u64)float_combine(op, (v_f32)s, (v_f32)t); /* what is above the floats is 0, and remains 0 */
    else
      s = op == HX_PROD ? s * t : s + t;
    memcpy(row + c, &s, sizeof s);
  }
}

#endif
