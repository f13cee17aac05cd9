/* SPDX-License-Identifier: Apache-2.0
 * The scalar definition: see ref.h. Section numbers are those of docs/ARITHMETIC.md. */
#include "reference/ref.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(FLT_EVAL_METHOD == 0, "float has to be computed as float");

enum { LANES = 128, LEAF = 4096, PANEL = 512 };

uint32_t ref_bits(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

static float from_bits(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static bool is_nan(float f) { return (ref_bits(f) & 0x7fffffffu) > 0x7f800000u; }

/* Section 1: one NaN. */
static float canonical(float f) { return is_nan(f) ? from_bits(0x7fc00000u) : f; }

/* A product that is rounded whatever the compiler's flags: through memory, it cannot become half of an fma. */
static float rounded_product(float a, float b) {
  volatile float p = a * b;
  return p;
}

/* Section 3: the term of an element. */
static float reduction_term(hx_op op, const float *x, const float *y, size_t i) {
  switch (op) {
    case HX_DOT:
      return rounded_product(x[i], y[i]);
    case HX_SUM_SQUARES:
      return rounded_product(x[i], x[i]);
    case HX_SUM_ABS:
      return from_bits(ref_bits(x[i]) & 0x7fffffffu);
    default:
      return x[i];
  }
}

static float combine(hx_op op, float a, float b) { return op == HX_PROD ? a * b : a + b; }

/* Section 2: one leaf. */
static float reduce_leaf(hx_op op, const float *x, const float *y, size_t first, size_t count) {
  float lane[LANES];
  for (size_t j = 0; j < LANES; j++) lane[j] = op == HX_PROD ? 1.0f : -0.0f;
  for (size_t i = 0; i < count; i++)
    lane[i % LANES] = combine(op, lane[i % LANES], reduction_term(op, x, y, first + i));
  for (size_t h = LANES / 2; h > 0; h /= 2)
    for (size_t j = 0; j < h; j++) lane[j] = combine(op, lane[j], lane[j + h]);
  return lane[0];
}

/* Section 2: the leaves, level by level. */
static float reduce_leaves(hx_op op, const float *x, const float *y, size_t n) {
  if (n == 0) return op == HX_PROD ? 1.0f : 0.0f;
  size_t count = n / LEAF + (n % LEAF != 0);
  float *s = malloc(count * sizeof *s);
  if (s == NULL) {
    fprintf(stderr, "ref: no memory for %zu leaves\n", count);
    exit(1);
  }
  for (size_t l = 0; l < count; l++) s[l] = reduce_leaf(op, x, y, l * LEAF, n - l * LEAF < LEAF ? n - l * LEAF : LEAF);
  while (count > 1) {
    for (size_t i = 0; i < count / 2; i++) s[i] = combine(op, s[2 * i], s[2 * i + 1]);
    if (count % 2) s[count / 2] = s[count - 1];
    count = count / 2 + count % 2;
  }
  float result = s[0];
  free(s);
  return canonical(result);
}

/* Section 4: whether a is less than b, with -0 less than +0. Neither is a NaN. */
static bool is_less(float a, float b) { return a < b || (a == b && ref_bits(a) == 0x80000000u && ref_bits(b) == 0); }

static float extreme(hx_op op, const float *x, size_t n) {
  float best = x[0];
  for (size_t i = 0; i < n; i++) {
    if (is_nan(x[i])) return canonical(x[i]);
    if (op == HX_MIN ? is_less(x[i], best) : is_less(best, x[i])) best = x[i];
  }
  return best;
}

static uint64_t index_of_extreme(hx_op op, const float *x, size_t n) {
  size_t best = 0;
  for (size_t i = 0; i < n; i++) {
    if (is_nan(x[i])) return i;
    if (op == HX_ARGMIN ? x[i] < x[best] : x[i] > x[best]) best = i;
  }
  return best;
}

static hx_value reduce_f32(hx_op op, const float *x, const float *y, size_t n) {
  hx_value r = {.u64 = 0};
  if (op == HX_ARGMIN || op == HX_ARGMAX)
    r.u64 = index_of_extreme(op, x, n);
  else
    r.f32 = op == HX_MIN || op == HX_MAX ? extreme(op, x, n) : reduce_leaves(op, x, y, n);
  return r;
}

/* Section 5. An element, widened: the 64 bits of an int64_t or uint64_t, on which +, - and * agree modulo 2^64. */
static uint64_t widened(hx_type type, const void *x, size_t i) {
  return type == HX_I32 ? (uint64_t)(int64_t)((const int32_t *)x)[i] : ((const uint32_t *)x)[i];
}

static bool is_better(hx_op op, hx_type type, uint64_t a, uint64_t b) {
  bool a_less = type == HX_I32 ? (int64_t)a < (int64_t)b : a < b;
  bool b_less = type == HX_I32 ? (int64_t)b < (int64_t)a : b < a;
  return op == HX_MIN || op == HX_ARGMIN ? a_less : b_less;
}

static hx_value reduce_integer(hx_op op, hx_type type, const void *x, const void *y, size_t n) {
  hx_value r = {.u64 = 0};
  uint64_t acc = op == HX_PROD ? 1 : 0;
  size_t best = 0;
  for (size_t i = 0; i < n; i++) {
    uint64_t v = widened(type, x, i);
    switch (op) {
      case HX_DOT:
        acc += v * widened(type, y, i);
        break;
      case HX_SUM_SQUARES:
        acc += v * v;
        break;
      case HX_SUM_ABS:
        acc += type == HX_I32 && (int64_t)v < 0 ? 0 - v : v;
        break;
      case HX_PROD:
        acc *= v;
        break;
      case HX_SUM:
        acc += v;
        break;
      default:
        if (is_better(op, type, v, widened(type, x, best))) best = i;
    }
  }
  if (op == HX_MIN || op == HX_MAX)
    r.u32 = ((const uint32_t *)x)[best];
  else
    r.u64 = op == HX_ARGMIN || op == HX_ARGMAX ? best : acc;
  return r;
}

hx_value ref_reduce(hx_op op, hx_type type, const void *x, const void *y, size_t n) {
  return type == HX_F32 ? reduce_f32(op, x, y, n) : reduce_integer(op, type, x, y, n);
}

size_t ref_lda(const struct hx_matmul_args *args) { return args->lda ? args->lda : args->trans_a ? args->m : args->k; }
size_t ref_ldb(const struct hx_matmul_args *args) { return args->ldb ? args->ldb : args->trans_b ? args->k : args->n; }
size_t ref_ldc(const struct hx_matmul_args *args) { return args->ldc ? args->ldc : args->n; }

/* Section 7: S(i,j), k >= 1. */
static float product(const struct hx_matmul_args *args, size_t i, size_t j) {
  size_t lda = ref_lda(args), ldb = ref_ldb(args);
  float sum = 0.0f;
  for (size_t first = 0; first < args->k; first += PANEL) {
    size_t end = args->k - first < PANEL ? args->k : first + PANEL;
    float panel = 0.0f;
    for (size_t p = first; p < end; p++) {
      float a = args->trans_a ? args->a[p * lda + i] : args->a[i * lda + p];
      float b = args->trans_b ? args->b[j * ldb + p] : args->b[p * ldb + j];
      panel = fmaf(a, b, panel);
    }
    sum = first == 0 ? panel : sum + panel;
  }
  return sum;
}

float ref_matmul_element(const struct hx_matmul_args *args, size_t i, size_t j) {
  const float *c = &args->c[i * ref_ldc(args) + j];
  if (args->alpha == 0 || args->k == 0) return canonical(args->beta == 0 ? 0.0f : args->beta * *c);
  float t = product(args, i, j);
  if (args->alpha != 1) t = rounded_product(args->alpha, t);
  return canonical(args->beta == 0 ? t : fmaf(args->beta, *c, t));
}

void ref_matmul(const struct hx_matmul_args *args) {
  for (size_t i = 0; i < args->m; i++)
    for (size_t j = 0; j < args->n; j++) args->c[i * ref_ldc(args) + j] = ref_matmul_element(args, i, j);
}
