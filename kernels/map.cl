/* SPDX-License-Identifier: Apache-2.0
 * The operations of user kernels (docs/USER_KERNELS.md), each rounded as IEEE 754 says. The kernel itself follows: it is
 * made of a user's expression (backend/opencl/map_text.c), a line for each of its values. Comparisons give 0 or 1. */
#define HX_WORD(x) as_uint(x)

#define HX_NEGATE_F(x) as_float(HX_WORD(x) ^ 0x80000000u)
#define HX_ABS_F(x) as_float(HX_WORD(x) & 0x7fffffffu)
#define HX_FLOOR_F(x) floor(x)
#define HX_CEIL_F(x) ceil(x)
#define HX_TRUNC_F(x) trunc(x)
#define HX_RINT_F(x) rint(x)
#define HX_ADD_F(x, y) HX_ADD(, x, y)
#define HX_SUB_F(x, y) HX_ADD(, x, HX_NEGATE_F(y))
#define HX_MUL_F(x, y) HX_MUL(, x, y)
#define HX_FMA_F(x, y, z) HX_FMA(, x, y, z)
#define HX_LESS_F(x, y) ((x) < (y))
#define HX_AT_MOST_F(x, y) ((x) <= (y))
#define HX_EQUAL_F(x, y) ((x) == (y))
#define HX_DIFFER_F(x, y) ((x) != (y))

/* OpenCL C allows a division an error of 2.5 units in the last place and a root one of 3 (section 7.4), unless the device
 * has CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT. Mesa's drivers and Intel's for CPUs do not. */
#if HX_SOFT_DIVISION
#define HX_DIV_F(x, y) hx_divided((x), (y))
#define HX_SQRT_F(x) hx_root(x)

/* The significand of a finite magnitude that is not zero, its top bit at bit 23: the value is that times 2^*e. */
static uint hx_significand(uint bits, int *e) {
  const int biased = (int)(bits >> 23), shift = biased ? 0 : (int)clz(bits) - 8;
  *e = (biased ? biased : 1) - 150 - shift;
  return biased ? (bits & 0x7fffffu) | 0x800000u : bits << shift;
}

/* 27 bits of the quotient, and one that says whether any bit behind them is set. */
static float hx_divided(float x, float y) {
  const uint a = HX_WORD(x) & 0x7fffffffu, b = HX_WORD(y) & 0x7fffffffu, sign = (HX_WORD(x) ^ HX_WORD(y)) & 0x80000000u;
  if (a > 0x7f800000u || b > 0x7f800000u || (a == b && (a == 0 || a == 0x7f800000u))) return as_float(0x7fc00000u);
  if (a == 0x7f800000u || b == 0) return as_float(sign | 0x7f800000u);
  if (a == 0 || b == 0x7f800000u) return as_float(sign);
  int ex, ey;
  uint rest = hx_significand(a, &ex), quotient = 0;
  const uint divisor = hx_significand(b, &ey);
  for (uint i = 0; i < 27; i++) {
    const uint bit = rest >= divisor;
    rest = (rest - (bit ? divisor : 0u)) << 1;
    quotient = quotient << 1 | bit;
  }
  return hx_rounded(sign, (ulong)quotient << 1 | (rest != 0), ex - ey - 27);
}

/* 27 bits of the root, each from two bits of the radicand, and one that says whether any bit behind them is set. */
static float hx_root(float x) {
  const uint a = HX_WORD(x);
  if ((a & 0x7fffffffu) == 0 || a == 0x7f800000u) return x;
  if (a > 0x7f800000u) return as_float(0x7fc00000u); /* negative, or a NaN */
  int e;
  uint radicand = hx_significand(a, &e), rest = 0, root = 0;
  radicand <<= 6 + (e & 1); /* times 2^(e - e % 2 - 6), and 11 pairs of zeros follow */
  e -= e & 1;
  for (uint i = 0; i < 27; i++, radicand <<= 2) {
    rest = rest << 2 | radicand >> 30;
    const uint trial = root << 2 | 1, bit = rest >= trial;
    rest -= bit ? trial : 0u;
    root = root << 1 | bit;
  }
  return hx_rounded(0, (ulong)root << 1 | (rest != 0), e / 2 - 15);
}
#else
#define HX_DIV_F(x, y) ((x) / (y))
#define HX_SQRT_F(x) sqrt(x)
#endif

/* The other operand if one is a NaN; equal ones differ in the sign of a zero at most. */
static float HX_MIN_F(float x, float y) {
  if (x < y || isnan(y)) return x;
  if (y < x || isnan(x)) return y;
  return as_float(HX_WORD(x) | HX_WORD(y));
}
static float HX_MAX_F(float x, float y) {
  if (x > y || isnan(y)) return x;
  if (y > x || isnan(x)) return y;
  return as_float(HX_WORD(x) & HX_WORD(y));
}

static int HX_TO_I32(float x) {
  if (isnan(x)) return 0;
  return x >= 2147483648.0f ? 0x7fffffff : x < -2147483648.0f ? (int)0x80000000u : (int)x;
}
static uint HX_TO_U32(float x) {
  if (!(x > 0.0f)) return 0u;
  return x >= 4294967296.0f ? 0xffffffffu : (uint)x;
}
#define HX_FROM_I32(x) convert_float_rte(x)
#define HX_FROM_U32(x) convert_float_rte(x)
#define HX_AS_I32(x) as_int(x)
#define HX_AS_F32(x) as_float(x)

/* Modulo 2^32: of signed integers by way of unsigned ones. HX_I(x): as an int. */
#define HX_I(x) as_int((uint)(x))
#define HX_U(x) ((uint)(x))
#define HX_NEGATE_I(x) (0u - HX_U(x))
#define HX_NOT_I(x) (~HX_U(x))
#define HX_ABS_I(x) (HX_I(x) < 0 ? 0u - HX_U(x) : HX_U(x))
#define HX_ADD_I(x, y) (HX_U(x) + HX_U(y))
#define HX_SUB_I(x, y) (HX_U(x) - HX_U(y))
#define HX_MUL_I(x, y) (HX_U(x) * HX_U(y))
#define HX_AND_I(x, y) (HX_U(x) & HX_U(y))
#define HX_OR_I(x, y) (HX_U(x) | HX_U(y))
#define HX_XOR_I(x, y) (HX_U(x) ^ HX_U(y))
#define HX_SHIFT_LEFT(x, y) (HX_U(x) << (HX_U(y) & 31u))
#define HX_SHIFT_RIGHT_I(x, y) (HX_I(x) >> (HX_U(y) & 31u))
#define HX_SHIFT_RIGHT_U(x, y) (HX_U(x) >> (HX_U(y) & 31u))
#define HX_MIN_I(x, y) min(HX_I(x), HX_I(y))
#define HX_MIN_U(x, y) min(HX_U(x), HX_U(y))
#define HX_MAX_I(x, y) max(HX_I(x), HX_I(y))
#define HX_MAX_U(x, y) max(HX_U(x), HX_U(y))
#define HX_LESS_I(x, y) (HX_I(x) < HX_I(y))
#define HX_LESS_U(x, y) (HX_U(x) < HX_U(y))
#define HX_AT_MOST_I(x, y) (HX_I(x) <= HX_I(y))
#define HX_AT_MOST_U(x, y) (HX_U(x) <= HX_U(y))
#define HX_EQUAL_I(x, y) (HX_U(x) == HX_U(y))
#define HX_DIFFER_I(x, y) (HX_U(x) != HX_U(y))
#define HX_SELECT(x, y, z) ((x) ? (y) : (z))

/* A divisor of 0 or -1 is replaced before the division. */
static uint HX_DIV_I(int x, int y) {
  const int quotient = x / (y == 0 || y == -1 ? 1 : y);
  return y == 0 ? 0u : y == -1 ? 0u - (uint)x : (uint)quotient;
}
static uint HX_DIV_U(uint x, uint y) { return y == 0 ? 0u : x / (y == 0 ? 1u : y); }
#define HX_MOD_I(x, y) (HX_U(x) - HX_DIV_I(HX_I(x), HX_I(y)) * HX_U(y))
#define HX_MOD_U(x, y) (HX_U(x) - HX_DIV_U(HX_U(x), HX_U(y)) * HX_U(y))

/* The bits of a result. */
#define HX_OUT_F32(x) as_uint(HX_CANONICAL(, x))
#define HX_OUT_I32(x) HX_U(x)
#define HX_OUT_U32(x) (x)
