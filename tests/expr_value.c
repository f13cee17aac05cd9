/* SPDX-License-Identifier: Apache-2.0
 * Computes a random expression by C's own operators. */
#include <math.h>

#include "tests/expr_nodes.h"

typedef struct value {
  hx_type type;
  union {
    float f;
    int32_t i;
    uint32_t u;
  };
} value;

static value of_float(float f) { return (value){.type = HX_F32, .f = f}; }
static value of_int(int32_t i) { return (value){.type = HX_I32, .i = i}; }

static value convert(value v, hx_type to) {
  if (v.type == to) return v;
  if (to == HX_F32) return of_float(v.type == HX_I32 ? (float)v.i : (float)v.u);
  if (v.type != HX_F32) return (value){.type = to, .u = v.u};
  const double d = (double)v.f;
  if (d != d) return (value){.type = to, .u = 0};
  if (to == HX_I32) return of_int(d >= INT32_MAX ? INT32_MAX : d <= INT32_MIN ? INT32_MIN : (int32_t)d);
  return (value){.type = to, .u = d >= UINT32_MAX ? UINT32_MAX : d <= 0 ? 0 : (uint32_t)d};
}

static bool is_true(value v) { return v.type == HX_F32 ? v.f != 0 : v.u != 0; }

/* The smaller one, of zeros -0; the other one if one is a NaN. */
static float smaller(float a, float b) {
  if (a != a) return b;
  if (b != b) return a;
  if (a == b) return signbit(a) ? a : b;
  return a < b ? a : b;
}
static float larger(float a, float b) { return a != a ? b : b != b ? a : -smaller(-a, -b); }

/* The sign of a NaN is +. */
static bool negative(float x) { return x == x && signbit(x) != 0; }

static value float_binary(const char *o, float a, float b) {
  if (is(o, "*")) return of_float(a * b);
  if (is(o, "/")) return of_float(a / b);
  if (is(o, "+")) return of_float(a + b);
  if (is(o, "-")) return of_float(a - b);
  if (is(o, "<")) return of_int(a < b);
  if (is(o, ">")) return of_int(a > b);
  if (is(o, "<=")) return of_int(a <= b);
  if (is(o, ">=")) return of_int(a >= b);
  return of_int((a == b) == is(o, "=="));
}

/* By 64-bit arithmetic, of which the low half is kept. */
static value integer_binary(const char *o, hx_type type, int64_t a, int64_t b) {
  int64_t r = 0;
  if (is(o, "*")) r = (int64_t)((uint64_t)a * (uint64_t)b);
  if (is(o, "/")) r = b ? a / b : 0;
  if (is(o, "%")) r = b ? a % b : a;
  if (is(o, "+")) r = a + b;
  if (is(o, "-")) r = a - b;
  if (is(o, "&")) r = a & b;
  if (is(o, "|")) r = a | b;
  if (is(o, "^")) r = a ^ b;
  if (is(o, "<")) return of_int(a < b);
  if (is(o, ">")) return of_int(a > b);
  if (is(o, "<=")) return of_int(a <= b);
  if (is(o, ">=")) return of_int(a >= b);
  if (is(o, "==") || is(o, "!=")) return of_int((a == b) == is(o, "=="));
  return (value){.type = type, .u = (uint32_t)(uint64_t)r};
}

static int64_t wide(value v) { return v.type == HX_I32 ? (int64_t)v.i : (int64_t)v.u; }

static value compute_binary(const node *n, value a, value b) {
  const char *const o = n->op->text;
  if (is(o, "&&")) return of_int(is_true(a) && is_true(b));
  if (is(o, "||")) return of_int(is_true(a) || is_true(b));
  if (is(o, "<<")) return (value){.type = a.type, .u = a.u << (b.u % 32)};
  if (is(o, ">>")) return (value){.type = a.type, .u = (uint32_t)(uint64_t)(wide(a) >> (b.u % 32))};
  const hx_type type = common(n->kid[0], n->kid[1]);
  a = convert(a, type);
  b = convert(b, type);
  return type == HX_F32 ? float_binary(o, a.f, b.f) : integer_binary(o, type, wide(a), wide(b));
}

static value compute_call(const node *n, value a, value b, value c) {
  const char *const f = n->op->text;
  if (is(f, "as_float")) return (value){.type = HX_F32, .u = a.u};
  if (n->op->integers) {
    if (is(f, "abs")) return (value){.type = HX_I32, .u = (uint32_t)llabs((long long)a.i)};
    a = convert(a, n->type);
    b = convert(b, n->type);
    return (wide(a) < wide(b)) == is(f, "min") ? a : b;
  }
  const float x = convert(a, HX_F32).f, y = convert(b, HX_F32).f, z = convert(c, HX_F32).f;
  if (is(f, "fabsf")) return of_float(fabsf(x));
  if (is(f, "sqrtf")) return of_float(sqrtf(x));
  if (is(f, "floorf")) return of_float(floorf(x));
  if (is(f, "ceilf")) return of_float(ceilf(x));
  if (is(f, "truncf")) return of_float(truncf(x));
  if (is(f, "rintf")) return of_float(rintf(x));
  if (is(f, "roundf")) return of_float(roundf(x));
  if (is(f, "copysignf")) return of_float(negative(y) ? -fabsf(x) : fabsf(x));
  if (is(f, "isnan")) return of_int(x != x);
  if (is(f, "isinf")) return of_int(isinf(x) != 0);
  if (is(f, "isfinite")) return of_int(isfinite(x) != 0);
  if (is(f, "signbit")) return of_int(negative(x));
  if (is(f, "as_int") || is(f, "as_uint")) return (value){.type = n->type, .u = x != x ? 0x7fc00000u : of_float(x).u};
  if (is(f, "fminf")) return of_float(smaller(x, y));
  if (is(f, "fmaxf")) return of_float(larger(x, y));
  return of_float(fmaf(x, y, z));
}

static value compute_unary(const node *n, value a) {
  const char o = *n->op->text;
  if (o == '!') return of_int(!is_true(a));
  if (o == '~') return (value){.type = a.type, .u = ~a.u};
  if (o == '+') return a;
  return a.type == HX_F32 ? of_float(-a.f) : (value){.type = a.type, .u = (uint32_t) - (int64_t)a.u};
}

static value compute(const node *n, const uint32_t *const inputs[], const hx_value *parameters, size_t i) {
  value kid[3] = {of_int(0), of_int(0), of_int(0)};
  for (int k = 0; k < 3 && n->kid[k]; k++) kid[k] = compute(n->kid[k], inputs, parameters, i);
  if (n->kind == INPUT) return (value){.type = n->type, .u = inputs[n->which][n->bits * i]};
  if (n->kind == PARAMETER) return (value){.type = n->type, .u = parameters[n->which].u32};
  if (n->kind == POSITION) return (value){.type = n->type, .u = n->which ? 0 : (uint32_t)i};
  if (n->kind == LITERAL) return (value){.type = n->type, .u = n->bits};
  switch (n->kind) {
    case UNARY:
      return compute_unary(n, kid[0]);
    case BINARY:
      return compute_binary(n, kid[0], kid[1]);
    case CONDITION:
      return convert(is_true(kid[0]) ? kid[1] : kid[2], n->type);
    case CAST:
      return convert(kid[0], n->type);
    default:
      return compute_call(n, kid[0], kid[1], kid[2]);
  }
}

uint32_t tree_value(const tree *t, const uint32_t *const inputs[], const hx_value *parameters, size_t i) {
  const value v = compute(t->root, inputs, parameters, i);
  return v.type == HX_F32 && v.f != v.f ? 0x7fc00000u : v.u;
}
