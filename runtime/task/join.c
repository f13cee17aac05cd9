/* SPDX-License-Identifier: Apache-2.0
 * Computes the value of a reduction from the slots of its leaves. Every reduction ends here, on the CPU, whichever
 * devices computed the slots. */
#include <string.h>

#include "runtime/task/task.h"

static float slot_float(uint64_t slot) {
  const uint32_t bits = (uint32_t)slot;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static uint64_t float_slot(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

static float add_floats(float a, float b) { return a + b; }
static float multiply_floats(float a, float b) { return a * b; }

/* Combines neighbours level by level; an odd last one moves up unchanged (docs/ARITHMETIC.md). */
static inline __attribute__((always_inline)) uint32_t join_pairs(uint64_t *slots, size_t count,
                                                                 float (*combine)(float, float)) {
  while (count > 1) {
    const size_t pairs = count / 2;
    for (size_t i = 0; i < pairs; i++)
      slots[i] = float_slot(combine(slot_float(slots[2 * i]), slot_float(slots[2 * i + 1])));
    if (count & 1) slots[pairs] = slots[count - 1];
    count -= pairs;
  }
  const float f = slot_float(slots[0]);
  return f != f ? HX__CANONICAL_NAN : (uint32_t)slots[0];
}

static uint64_t join_sum(const uint64_t *slots, size_t count) {
  uint64_t s = 0;
  for (size_t i = 0; i < count; i++) s += slots[i];
  return s;
}

static uint64_t join_product(const uint64_t *slots, size_t count) {
  uint64_t p = 1;
  for (size_t i = 0; i < count; i++) p *= slots[i];
  return p;
}

static uint64_t join_min(const uint64_t *slots, size_t count) {
  uint64_t least = slots[0];
  for (size_t i = 1; i < count; i++)
    if (slots[i] < least) least = slots[i];
  return least;
}

/* The index of the smallest key, in the first leaf that has it. */
static uint64_t join_index(const uint64_t *slots, size_t count) {
  size_t best = 0;
  for (size_t i = 1; i < count; i++)
    if (slots[i] >> 32 < slots[best] >> 32) best = i;
  return (uint64_t)best * HX__LEAF + (uint32_t)slots[best];
}

/* The bits of an element from its key (base/slot.h). flip: what turns a key into the order of the elements. */
static inline uint32_t float_of_key(uint32_t key, uint32_t flip) {
  const uint32_t ordered = key ^ flip, positive = ordered >> 31; /* without a branch, because signs are random */
  return key == 0 ? HX__CANONICAL_NAN : ordered ^ ((positive - 1u) | 0x80000000u);
}
static inline uint32_t int_of_key(uint32_t key, uint32_t flip) { return key ^ flip ^ 0x80000000u; }
static inline uint32_t unsigned_of_key(uint32_t key, uint32_t flip) { return key ^ flip; }

static uint32_t flip_of(hx_op op) { return op == HX_MIN ? 0 : UINT32_MAX; }

static uint32_t key_bits(hx_op op, hx_type type, uint32_t key) {
  if (type == HX_F32) return float_of_key(key, flip_of(op));
  return type == HX_I32 ? int_of_key(key, flip_of(op)) : unsigned_of_key(key, flip_of(op));
}

hx_value hx__join(hx_op op, hx_type type, uint64_t *slots, size_t leaves) {
  hx_value v = {.u64 = 0};
  switch (op) {
    case HX_SUM:
    case HX_DOT:
    case HX_SUM_ABS:
    case HX_SUM_SQUARES:
      v.u64 = type == HX_F32 ? join_pairs(slots, leaves, add_floats) : join_sum(slots, leaves);
      return v;
    case HX_PROD:
      v.u64 = type == HX_F32 ? join_pairs(slots, leaves, multiply_floats) : join_product(slots, leaves);
      return v;
    case HX_MIN:
    case HX_MAX:
      v.u64 = key_bits(op, type, (uint32_t)join_min(slots, leaves));
      return v;
    case HX_ARGMIN:
    case HX_ARGMAX:
      v.u64 = join_index(slots, leaves);
      return v;
  }
  return v;
}

void hx__join_lines(const hx__work *w, uint64_t *slots, uint64_t *line) {
  const hx__lines *const l = &w->lines;
  for (size_t i = 0; i < l->count; i++) {
    uint64_t *const own = l->across ? line : slots + i * l->leaves;
    for (size_t leaf = 0; l->across && leaf < l->leaves; leaf++) own[leaf] = slots[leaf * l->count + i];
    w->out[i] = hx__join(w->fields->op, w->fields->type, own, l->leaves);
  }
}

hx_value hx__empty_value(hx_op op, hx_type type) {
  hx_value v = {.u64 = 0};
  if (op == HX_PROD && type == HX_F32) v.f32 = 1.0f;
  if (op == HX_PROD && type != HX_F32) v.u64 = 1;
  return v;
}
