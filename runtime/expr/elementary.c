/* SPDX-License-Identifier: Apache-2.0
 * exp, log, sin and others as texts in the language of user kernels, of an x, or of an x and a y: each is one fixed
 * sequence of operations that IEEE 754 rounds, so that its bits are the same wherever it is computed. as_int of these
 * texts leaves a NaN as it is, unlike that of users, because what it gives of a NaN is never a part of a result.
 * Polynomials are minimax fits by weighted least squares in double. Errors: tests/expr/elementary_test.c. */
#include "runtime/expr/elementary_angles.h"
#include "runtime/expr/elementary_hyperbolic.h"
#include "runtime/expr/elementary_powers.h"
#include "runtime/expr/parser.h"

/* x = n ln 2 + r, |r| <= ln 2 / 2. The sum with 1.5 * 2^23 rounds n to an integer. 2^n is applied as two factors, so
 * that denormal results are rounded once, and too large ones become infinite. */
#define EXP                                                          \
  "float c = x > 89.0f ? 89.0f : x < -104.0f ? -104.0f : x;"         \
  "float t = fmaf(c, 0x1.715476p+0f, 0x1.8p+23f);"                   \
  "float n = t - 0x1.8p+23f;"                                        \
  "int i = as_int(t) - 0x4b400000;"                                  \
  "float r = fmaf(n, 0x1.05c610p-29f, fmaf(n, -0x1.62e430p-1f, c));" \
  "float q = fmaf(0x1.a1aef0p-13f, r, 0x1.6d9782p-10f);"             \
  "float q2 = fmaf(fmaf(q, r, 0x1.111084p-7f), r, 0x1.555480p-5f);"  \
  "float q3 = fmaf(fmaf(q2, r, 0x1.555556p-3f), r, 0.5f);"           \
  "float p = fmaf(fmaf(q3, r, 1.0f), r, 1.0f);"                      \
  "int h = i >> 1;"                                                  \
  "p * as_float((h + 127) << 23) * as_float((i - h + 127) << 23)"

/* x = 2^k (1 + f) with 1 + f in [2/3, 4/3). Denormals are scaled first. */
#define LOG                                                           \
  "int denormal = x < 0x1p-126f;"                                     \
  "int b = as_int(denormal ? x * 0x1p+23f : x);"                      \
  "int e = (b - 0x3f2aaaab) >> 23;"                                   \
  "float f = as_float(b - (e << 23)) - 1.0f;"                         \
  "float k = (float)(denormal ? e - 23 : e);"                         \
  "float q = fmaf(-0x1.10c81ep-3f, f, 0x1.1efcaep-3f);"               \
  "float q2 = fmaf(fmaf(q, f, -0x1.eea542p-4f), f, 0x1.1eb5f6p-3f);"  \
  "float q3 = fmaf(fmaf(q2, f, -0x1.55cdd4p-3f), f, 0x1.99d272p-3f);" \
  "float q4 = fmaf(fmaf(q3, f, -0x1.fffd66p-3f), f, 0x1.555500p-2f);" \
  "float r = fmaf(f * f, fmaf(q4, f, -0.5f), f);"                     \
  "float l = fmaf(k, 0x1.62e430p-1f, fmaf(k, -0x1.05c610p-29f, r));"  \
  "x > 0.0f ? (x < 1.0f / 0.0f ? l : x) : x == 0.0f ? -1.0f / 0.0f : 0.0f / 0.0f"

/* Odd functions: of |x|, with the sign of x. A polynomial in x^2 near 0, exp elsewhere. */
#define SIGNED "as_float(as_int(t) | (as_int(x) & 0x80000000))"

#define TANH                                                         \
  "float a = fabsf(x);"                                              \
  "float s = a * a;"                                                 \
  "float q = fmaf(-0x1.958744p-8f, s, 0x1.584a0ap-6f);"              \
  "float q2 = fmaf(fmaf(q, s, -0x1.b90cd2p-5f), s, 0x1.110c8ap-3f);" \
  "float small = fmaf(a * s, fmaf(q2, s, -0x1.555548p-2f), a);"      \
  "float t = a < 0.55f ? small : 1.0f - 2.0f / (expf(a + a) + 1.0f);" SIGNED

/* From 0.94 on 1 - exp(g), where g is a polynomial near the logarithm of erfc. */
#define ERF                                                            \
  "float a = fabsf(x);"                                                \
  "float s = a * a;"                                                   \
  "float q = fmaf(0x1.589466p-14f, s, -0x1.a8fc68p-11f);"              \
  "float q2 = fmaf(fmaf(q, s, 0x1.54a490p-8f), s, -0x1.b80b0ep-6f);"   \
  "float q3 = fmaf(fmaf(q2, s, 0x1.ce2de2p-4f), s, -0x1.812742p-2f);"  \
  "float small = fmaf(a, fmaf(q3, s, 0x1.06eba8p-3f), a);"             \
  "float c = a > 3.95f ? 3.95f : a;"                                   \
  "float g = fmaf(0x1.98d5e4p-13f, c, -0x1.8da232p-9f);"               \
  "float g2 = fmaf(fmaf(g, c, 0x1.6b8ed8p-6f), c, -0x1.a96562p-4f);"   \
  "float g3 = fmaf(fmaf(g2, c, -0x1.4647b0p-1f), c, -0x1.20ac32p+0f);" \
  "float t = a < 0.94f ? small : 1.0f - expf(fmaf(g3, c, -0x1.b21af8p-13f));" SIGNED

/* What needs the bits of a float has those of the canonical NaN of every NaN, because which one a CPU or a device has
 * is left open. */
#define AS_INT "x == x ? as_int(x) : 0x7fc00000"
#define AS_UINT "(unsigned)(" AS_INT ")"
#define SIGNBIT "(x == x ? as_int(x) : 0) >> 31 & 1"
#define COPYSIGN "as_float(as_int(x) & 0x7fffffff | (y == y ? as_int(y) : 0) & 0x80000000)"

/* The greatest float below a half is added to |x|: a half would round 0.49999997 up. */
#define ROUND "truncf(x + as_float(as_int(x) & 0x80000000 | 0x3effffff))"

static const elementary functions[] = {
    {"expf", EXP, 1, false, HX__EXPR_CONSTANT},
    {"logf", LOG, 1, false, HX__EXPR_CONSTANT},
    {"sinf", SIN, 1, false, HX__EXPR_SIN_F},
    {"cosf", COS, 1, false, HX__EXPR_COS_F},
    {"tanf", TAN, 1, false, HX__EXPR_TAN_F},
    {"asinf", ASIN, 1, false, HX__EXPR_CONSTANT},
    {"acosf", ACOS, 1, false, HX__EXPR_CONSTANT},
    {"atanf", ATAN, 1, false, HX__EXPR_CONSTANT},
    {"atan2f", ATAN2, 2, false, HX__EXPR_CONSTANT},
    {"expm1f", EXPM1, 1, false, HX__EXPR_CONSTANT},
    {"log1pf", LOG1P, 1, false, HX__EXPR_CONSTANT},
    {"exp2f", EXP2, 1, false, HX__EXPR_CONSTANT},
    {"log2f", LOG2, 1, false, HX__EXPR_CONSTANT},
    {"log10f", LOG10, 1, false, HX__EXPR_CONSTANT},
    {"powf", POW, 2, false, HX__EXPR_POW_F},
    {"sinhf", SINH, 1, false, HX__EXPR_CONSTANT},
    {"coshf", COSH, 1, false, HX__EXPR_CONSTANT},
    {"tanhf", TANH, 1, false, HX__EXPR_CONSTANT},
    {"hypotf", HYPOT, 2, false, HX__EXPR_CONSTANT},
    {"erff", ERF, 1, false, HX__EXPR_CONSTANT},
    {"roundf", ROUND, 1, false, HX__EXPR_CONSTANT},
    {"copysignf", COPYSIGN, 2, false, HX__EXPR_CONSTANT},
    {"isnan", "x != x", 1, true, HX__EXPR_CONSTANT},
    {"isinf", "fabsf(x) == INFINITY", 1, true, HX__EXPR_CONSTANT},
    {"isfinite", "fabsf(x) < INFINITY", 1, true, HX__EXPR_CONSTANT},
    {"signbit", SIGNBIT, 1, true, HX__EXPR_CONSTANT},
    {"as_int", AS_INT, 1, true, HX__EXPR_CONSTANT},
    {"as_uint", AS_UINT, 1, true, HX__EXPR_CONSTANT},
};

const elementary *hx__elementary_at(const source *s) {
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
    if (hx__source_is_word(s, functions[i].name)) return &functions[i];
  return NULL;
}
