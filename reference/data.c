/* SPDX-License-Identifier: Apache-2.0
 * Deterministic data: see data.h. */
#include "reference/data.h"

#include <limits.h>
#include <string.h>

uint64_t data_u64(uint64_t seed, uint64_t i) {
  uint64_t z = seed + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

uint32_t data_u(uint64_t seed, uint64_t i) { return (uint32_t)(data_u64(seed, i) >> 32); }

static float from_bits(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static float signed_half(uint32_t u) { return (float)(int32_t)u * 0x1p-32f; }

/* A rare event, different for each seed: about one element in 2000, and element 0 for one seed in 16. */
static bool is_rare_event(uint32_t u, uint64_t seed, uint64_t i) {
  return (u & 2047u) == 77u || (i == 0 && (seed & 15u) == 5u);
}

static float cancel(uint64_t seed, uint64_t i) {
  uint64_t group = i / 4; /* huge, small, -huge, small */
  float huge = from_bits((data_u(seed, 4 * group) & 0x007fffffu) | (200u + (uint32_t)(group % 40u)) << 23);
  if (i % 4 == 0) return huge;
  return i % 4 == 2 ? -huge : signed_half(data_u(seed, i));
}

float data_f32(data_kind kind, uint64_t seed, uint64_t i) {
  static const uint32_t kExtreme[8] = {0x7f7fffffu, 0xff7fffffu, 0x00000001u, 0x80000001u,
                                       0x00800000u, 0x80800000u, 0x3f800000u, 0x80000000u};
  uint32_t u = data_u(seed, i);
  switch (kind) {
    case DATA_POSITIVE:
      return (float)(u >> 8) * 0x1p-24f;
    case DATA_EXPONENTS:
      return from_bits((u & 0x807fffffu) | (100u + (u >> 8) % 60u) << 23);
    case DATA_DENORMALS:
      return from_bits(u & 0x807fffffu);
    case DATA_ZEROS:
      return u % 3 ? -0.0f : 0.0f;
    case DATA_SMALL:
      return (float)((int32_t)(u % 17u) - 8);
    case DATA_INF:
      return !is_rare_event(u, seed, i) ? signed_half(u) : from_bits(0x7f800000u | (seed & 1u ? u & 0x80000000u : 0u));
    case DATA_NAN:
      return !is_rare_event(u, seed, i) ? signed_half(u) : from_bits(0x7f800001u | (uint32_t)data_u64(seed, i));
    case DATA_CANCEL:
      return cancel(seed, i);
    case DATA_ANY:
      return from_bits((u & 0x7f800000u) == 0x7f800000u ? u ^ 0x40000000u : u);
    case DATA_NEAR_ONE:
      return 1.0f + signed_half(u) * 0x1p-13f;
    case DATA_EXTREME:
      return from_bits(kExtreme[u >> 29]);
    default:
      return signed_half(u);
  }
}

static uint32_t integer(hx_type type, data_kind kind, uint64_t seed, uint64_t i) {
  static const uint32_t kExtreme[8] = {0x80000000u, 0x7fffffffu, 0xffffffffu, 0, 1, 0x80000001u, 0xfffffffeu, 2};
  uint32_t u = data_u(seed, i);
  if (kind == DATA_SMALL) return u % 17u - (type == HX_I32 ? 8u : 0u);
  return kind == DATA_EXTREME ? kExtreme[u >> 29] : u;
}

void data_fill(hx_type type, data_kind kind, uint64_t seed, void *p, size_t n) {
  uint32_t *bits = p;
  if (type == HX_F32)
    for (size_t i = 0; i < n; i++) {
      float f = data_f32(kind, seed, i);
      memcpy(&bits[i], &f, sizeof f);
    }
  else
    for (size_t i = 0; i < n; i++) bits[i] = integer(type, kind, seed, i);
}
