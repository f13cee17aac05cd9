/* SPDX-License-Identifier: Apache-2.0
 * hx_compile: constant expressions have the value that C gives them, or docs/USER_KERNELS.md if C leaves it open; and
 * what a task of a kernel refuses. */
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/hx_map.h"
#include "tests/check.h"

static hx_context *hx;

/* ---- values */

typedef struct golden {
  const char *text;
  hx_type type;
  uint32_t bits;
} golden;

static const golden goldens[] = {
    {"1 + 2 * 3", HX_I32, 7},
    {"(1 + 2) * 3", HX_I32, 9},
    {"7 - 2 - 1", HX_I32, 4},
    {"100 / 10 / 5", HX_I32, 2},
    {"1 << 2 + 1", HX_I32, 8},
    {"1 | 6 ^ 3 & 2", HX_I32, 5},
    {"1 < 2 == 1", HX_I32, 1},
    {"3 & 2 == 2", HX_I32, 1},
    {"0 || 1 && 0", HX_I32, 0},
    {"2 && 4", HX_I32, 1},
    {"!5", HX_I32, 0},
    {"!0.0f", HX_I32, 1},
    {"~0", HX_I32, 0xffffffffu},
    {"~0u", HX_U32, 0xffffffffu},
    {"- -3", HX_I32, 3},
    {"1 ? 2 : 0 ? 3 : 4", HX_I32, 2},
    {"0 ? 2 : 0 ? 3 : 4", HX_I32, 4},
    {"1 ? 2 : 3.0f", HX_F32, 0x40000000u},
    {"-1 < 0u", HX_I32, 0},
    {"-1 >> 1", HX_I32, 0xffffffffu},
    {"0xffffffff >> 31", HX_U32, 1},
    {"017", HX_I32, 15},
    {"0x7f", HX_I32, 127},
    {"4294967295u", HX_U32, 0xffffffffu},
    {"2147483647 + 1", HX_I32, 0x80000000u},
    {"65536 * 65536", HX_I32, 0},
    {"7 / -2", HX_I32, 0xfffffffdu},
    {"-7 % 3", HX_I32, 0xffffffffu},
    {"7u % 4u", HX_U32, 3},
    {"5 / 0", HX_I32, 0},
    {"5 % 0", HX_I32, 5},
    {"5u / 0u", HX_U32, 0},
    {"(-2147483647 - 1) / -1", HX_I32, 0x80000000u},
    {"(-2147483647 - 1) % -1", HX_I32, 0},
    {"abs(-2147483647 - 1)", HX_I32, 0x80000000u},
    {"1 << 33", HX_I32, 2},
    {"1 << -1", HX_I32, 0x80000000u},
    {"(int)3e9f", HX_I32, 0x7fffffffu},
    {"(int)-3e9f", HX_I32, 0x80000000u},
    {"(int)-1.9f", HX_I32, 0xffffffffu},
    {"(int)(0.0f / 0.0f)", HX_I32, 0},
    {"(unsigned)-1.0f", HX_U32, 0},
    {"(unsigned)5e9f", HX_U32, 0xffffffffu},
    {"(unsigned int)3000000000.0f", HX_U32, 3000000000u},
    {"(float)16777217", HX_F32, 0x4b800000u},
    {"(float)4294967295u", HX_F32, 0x4f800000u},
    {"(unsigned)-1", HX_U32, 0xffffffffu},
    {"1.5f + 1", HX_F32, 0x40200000u},
    {"0x1p-149f", HX_F32, 1},
    {"1e-45f", HX_F32, 1},
    {".5f", HX_F32, 0x3f000000u},
    {"1.f", HX_F32, 0x3f800000u},
    {"1E2F", HX_F32, 0x42c80000u},
    {"1.0f / 0.0f", HX_F32, 0x7f800000u},
    {"-(0.0f / 0.0f)", HX_F32, 0x7fc00000u},
    {"-0.0f", HX_F32, 0x80000000u},
    {"fminf(0.0f, -0.0f)", HX_F32, 0x80000000u},
    {"fmaxf(-0.0f, 0.0f)", HX_F32, 0},
    {"fmaxf(0.0f / 0.0f, 1.0f)", HX_F32, 0x3f800000u},
    {"fabsf(-2)", HX_F32, 0x40000000u},
    {"sqrtf(2.0f)", HX_F32, 0x3fb504f3u},
    {"sqrtf(-1.0f)", HX_F32, 0x7fc00000u},
    {"fmaf(0x1.000002p0f, 0x1.000002p0f, -0x1.000004p0f)", HX_F32, 0x28800000u},
    {"0x1.000002p0f * 0x1.000002p0f - 0x1.000004p0f", HX_F32, 0},
    {"floorf(-0.5f)", HX_F32, 0xbf800000u},
    {"ceilf(-0.5f)", HX_F32, 0x80000000u},
    {"truncf(-0.5f)", HX_F32, 0x80000000u},
    {"rintf(2.5f)", HX_F32, 0x40000000u},
    {"roundf(2.5f)", HX_F32, 0x40400000u},
    {"roundf(-0.5f)", HX_F32, 0xbf800000u},
    {"roundf(0.49999997f)", HX_F32, 0},
    {"roundf(-0.3f)", HX_F32, 0x80000000u},
    {"copysignf(-2.0f, 0.0f)", HX_F32, 0x40000000u},
    {"copysignf(NAN, -1.0f)", HX_F32, 0x7fc00000u},
    {"copysignf(1, -INFINITY)", HX_F32, 0xbf800000u},
    {"copysignf(1.0f, -NAN)", HX_F32, 0x3f800000u},
    {"isnan(0.0f / 0.0f)", HX_I32, 1},
    {"isnan(INFINITY)", HX_I32, 0},
    {"isinf(-INFINITY)", HX_I32, 1},
    {"isinf(FLT_MAX)", HX_I32, 0},
    {"isfinite(-FLT_MAX)", HX_I32, 1},
    {"isfinite(NAN)", HX_I32, 0},
    {"signbit(-0.0f)", HX_I32, 1},
    {"signbit(-NAN)", HX_I32, 0},
    {"as_int(-0.0f)", HX_I32, 0x80000000u},
    {"as_uint(1.0f)", HX_U32, 0x3f800000u},
    {"as_int(-NAN)", HX_I32, 0x7fc00000u},
    {"as_int(0.0f / 0.0f)", HX_I32, 0x7fc00000u},
    {"as_uint(as_float(0xff800001))", HX_U32, 0x7fc00000u},
    {"as_float(0x40000000)", HX_F32, 0x40000000u},
    {"as_float(-1)", HX_F32, 0x7fc00000u},
    {"INFINITY", HX_F32, 0x7f800000u},
    {"NAN", HX_F32, 0x7fc00000u},
    {"FLT_MAX", HX_F32, 0x7f7fffffu},
    {"FLT_MIN", HX_F32, 0x00800000u},
    {"FLT_EPSILON", HX_F32, 0x34000000u},
    {"INT_MAX", HX_I32, 0x7fffffffu},
    {"INT_MIN", HX_I32, 0x80000000u},
    {"UINT_MAX", HX_U32, 0xffffffffu},
    {"INT32_MIN + INT32_MAX", HX_I32, 0xffffffffu},
    {"UINT32_MAX", HX_U32, 0xffffffffu},
    {"expf(0)", HX_F32, 0x3f800000u},
    {"expf(-1.0f / 0.0f)", HX_F32, 0},
    {"expf(89.5f)", HX_F32, 0x7f800000u},
    {"logf(1)", HX_F32, 0},
    {"logf(0)", HX_F32, 0xff800000u},
    {"logf(-1)", HX_F32, 0x7fc00000u},
    {"logf(1.0f / 0.0f)", HX_F32, 0x7f800000u},
    {"exp2f(10)", HX_F32, 0x44800000u},
    {"exp2f(-149)", HX_F32, 1},
    {"log2f(0.125f)", HX_F32, 0xc0400000u},
    {"log10f(1000)", HX_F32, 0x40400000u},
    {"log10f(1e10f)", HX_F32, 0x41200000u},
    {"expm1f(-0.0f)", HX_F32, 0x80000000u},
    {"expm1f(-200)", HX_F32, 0xbf800000u},
    {"log1pf(-1)", HX_F32, 0xff800000u},
    {"log1pf(1e-30f)", HX_F32, 0x0da24260u},
    {"tanf(-0.0f)", HX_F32, 0x80000000u},
    {"tanf(INFINITY)", HX_F32, 0x7fc00000u},
    {"asinf(1)", HX_F32, 0x3fc90fdbu},
    {"asinf(1.5f)", HX_F32, 0x7fc00000u},
    {"acosf(-1)", HX_F32, 0x40490fdbu},
    {"acosf(1)", HX_F32, 0},
    {"atanf(-INFINITY)", HX_F32, 0xbfc90fdbu},
    {"atan2f(0.0f, -0.0f)", HX_F32, 0x40490fdbu},
    {"atan2f(-1, 0)", HX_F32, 0xbfc90fdbu},
    {"atan2f(INFINITY, INFINITY)", HX_F32, 0x3f490fdbu},
    {"powf(3, 4)", HX_F32, 0x42a20000u},
    {"powf(-2, 3)", HX_F32, 0xc1000000u},
    {"powf(-2, 0.5f)", HX_F32, 0x7fc00000u},
    {"powf(NAN, 0)", HX_F32, 0x3f800000u},
    {"powf(1, NAN)", HX_F32, 0x3f800000u},
    {"powf(-0.0f, -3)", HX_F32, 0xff800000u},
    {"sinhf(-0.0f)", HX_F32, 0x80000000u},
    {"sinhf(-100)", HX_F32, 0xff800000u},
    {"coshf(0)", HX_F32, 0x3f800000u},
    {"coshf(-INFINITY)", HX_F32, 0x7f800000u},
    {"hypotf(3, -4)", HX_F32, 0x40a00000u},
    {"hypotf(-0.0f, 0)", HX_F32, 0},
    {"hypotf(NAN, -INFINITY)", HX_F32, 0x7f800000u},
    {"tanhf(-0.0f)", HX_F32, 0x80000000u},
    {"tanhf(20)", HX_F32, 0x3f800000u},
    {"erff(-9)", HX_F32, 0xbf800000u},
    {"float c = 1; float t = expf(c - 1); t + c", HX_F32, 0x40000000u},
    {"min(-1, 1)", HX_I32, 0xffffffffu},
    {"min(-1, 1u)", HX_U32, 1},
    {"max(3, 4)", HX_I32, 4},
    {"float t = 3; t / 2", HX_F32, 0x3fc00000u},
    {"int t = 2.9f; int u = t * t; return u + 1;", HX_I32, 5},
    {"const unsigned t = 1u; t;", HX_U32, 1},
    {"/* a */ 1 // b\n + 2", HX_I32, 3},
    {"1 // b \\\n + 2\n + 4", HX_I32, 5},
    {"1 - -1", HX_I32, 2},
    {"0.1f", HX_F32, 0x3dcccccdu},
    {"16777217.0f", HX_F32, 0x4b800000u},
    {"\t1\n\r\n+\v\f2 ", HX_I32, 3},
};

static hx_status compile(const char *text, const char *inputs, const char *parameters, hx_kernel **k) {
  const hx_kernel_source source = {.text = text, .inputs = inputs, .parameters = parameters};
  return hx_compile(hx, &source, k);
}

static void check_goldens(void) {
  for (size_t i = 0; i < sizeof goldens / sizeof goldens[0]; i++) {
    const golden *const g = &goldens[i];
    uint32_t out[3] = {0};
    hx_kernel *k;
    CHECK_OK(compile(g->text, NULL, NULL, &k));
    if (!k) continue;
    const hx_task task = hx_map(k, NULL, 3, NULL, out);
    CHECK_OK(hx_offload(hx, &task, NULL));
    CHECK(hx_kernel_type(k) == g->type, "type %d of %s", hx_kernel_type(k), g->text);
    CHECK(out[0] == g->bits && out[2] == g->bits, "%s is %08x, not %08x", g->text, out[0], g->bits);
    hx_kernel_free(k);
  }
}

/* ---- arguments */

static float x[64] = {1, 2, 3}, y[64], out[64];
static const void *inputs[] = {x, y};
static const hx_value a = {.f32 = 2};

static void check_sources(void) {
  hx_kernel *k = NULL;
  hx_kernel_source source = {.text = "x * a", .inputs = "float x, float y", .parameters = "float a"};
  CHECK_REFUSED(hx_compile(NULL, &source, &k), HX_INVALID_ARGUMENT, "hx is NULL");
  CHECK_REFUSED(hx_compile(hx, NULL, &k), HX_INVALID_ARGUMENT, "source is NULL");
  CHECK_REFUSED(hx_compile(hx, &source, NULL), HX_INVALID_ARGUMENT, "out is NULL");
  source.reserved[3] = 7;
  CHECK_REFUSED(hx_compile(hx, &source, &k), HX_INVALID_ARGUMENT, "reserved[3] of the source is 7");
  source.reserved[3] = 0;
  source.text = NULL;
  CHECK_REFUSED(hx_compile(hx, &source, &k), HX_INVALID_ARGUMENT, "text of the source is NULL");
  CHECK(hx_kernel_type(NULL) == 0, "type of NULL");
  hx_kernel_free(NULL);
}

#define REFUSED(task_of, words)                                                \
  do {                                                                         \
    const hx_task refused = task_of;                                           \
    CHECK_REFUSED(hx_offload(hx, &refused, NULL), HX_INVALID_ARGUMENT, words); \
  } while (0)

static void check_maps(const hx_kernel *k) {
  const void *missing[] = {x, NULL}, *misaligned[] = {(char *)x + 1, y};
  const void *high[] = {(const void *)(UINTPTR_MAX - 63), y};
  memset(out, 0x55, sizeof out);
  REFUSED(hx_map(NULL, inputs, 8, &a, out), "kernel is NULL");
  REFUSED(hx_map(k, NULL, 8, &a, out), "inputs is NULL, and the kernel has 2");
  REFUSED(hx_map(k, inputs, 8, NULL, out), "parameters is NULL, and the kernel has 1");
  REFUSED(hx_map(k, missing, 8, &a, out), "inputs[1] is NULL with n = 8");
  REFUSED(hx_map(k, inputs, 8, &a, NULL), "out is NULL with n = 8");
  REFUSED(hx_map(k, misaligned, 8, &a, out), "not aligned to 4 bytes");
  REFUSED(hx_map(k, inputs, 8, &a, (char *)out + 2), "not aligned to 4 bytes");
  REFUSED(hx_map(k, high, 64, &a, out), "wraps the address space with n = 64");
  REFUSED(hx_map(k, inputs, SIZE_MAX / 4 + 1, &a, out), "its bytes overflow size_t");
  REFUSED(hx_map(k, inputs, 8, &a, x + 1), "shares an element with inputs[0]");
  REFUSED(hx_map(k, inputs, 8, &a, y + 7), "shares an element with inputs[1]");
  hx_task task = hx_map(k, inputs, 8, &a, out);
  task.reserved[1] = 1;
  REFUSED(task, "reserved[1] of the task is 1");
  task = hx_map(k, inputs, 8, &a, out);
  task.gpu_share = 2;
  REFUSED(task, "gpu_share is 2");
  for (size_t i = 0; i < 64; i++) CHECK(((uint32_t *)(void *)out)[i] == 0x55555555u, "out[%zu] was written", i);
}

static void check_reductions(const hx_kernel *k) {
  hx_value value;
  REFUSED(hx_map_reduce(HX_SUM, NULL, inputs, 8, &a, &value), "kernel is NULL");
  REFUSED(hx_map_reduce(HX_DOT, k, inputs, 8, &a, &value), "op is HX_DOT");
  REFUSED(hx_map_reduce((hx_op)0, k, inputs, 8, &a, &value), "op is 0: HX_SUM to HX_PROD (1 to 9) are known");
  REFUSED(hx_map_reduce((hx_op)10, k, inputs, 8, &a, &value), "op is 10");
  REFUSED(hx_map_reduce(HX_MAX, k, inputs, 0, &a, &value), "n is 0: HX_MAX has no value");
  REFUSED(hx_map_reduce(HX_SUM, k, inputs, 8, &a, NULL), "out is NULL");
  REFUSED(hx_map_reduce(HX_SUM, k, inputs, 8, &a, (hx_value *)(void *)(x + 1)), "not aligned to 8 bytes");
  REFUSED(hx_map_reduce(HX_SUM, k, inputs, 8, &a, (hx_value *)(void *)x), "shares an element with inputs[0]");
}

static void check_accepted(const hx_kernel *k) {
  hx_value value;
  /* Ends of arrays may touch, and the output may be an input. */
  hx_task task = hx_map(k, inputs, 8, &a, x + 8);
  CHECK_OK(hx_offload(hx, &task, NULL));
  CHECK(x[8] == 2 && x[10] == 6, "x[8] is %g", (double)x[8]);
  task = hx_map(k, inputs, 8, &a, x);
  CHECK_OK(hx_offload(hx, &task, NULL));
  CHECK(x[0] == 2 && x[2] == 6 && x[8] == 2, "x[0] is %g", (double)x[0]);
  task = hx_map(k, NULL, 0, NULL, NULL);
  CHECK_OK(hx_offload(hx, &task, NULL));
  task = hx_map_reduce(HX_SUM, k, NULL, 0, NULL, &value);
  value.u64 = 1;
  CHECK_OK(hx_offload(hx, &task, NULL));
  CHECK(value.u64 == 0, "empty sum %llx", (unsigned long long)value.u64);
}

/* The word row is a name, too. */
static void check_names(void) {
  hx_kernel *k;
  CHECK_OK(compile("float t = row - x; t", "float row, row float x", NULL, &k));
  const hx_task task = hx_map(k, inputs, 2, NULL, out);
  CHECK_OK(hx_offload(hx, &task, NULL));
  CHECK(out[0] == x[0] - y[0] && out[1] == x[1] - y[0], "%g, %g", (double)out[0], (double)out[1]);
  hx_kernel_free(k);
}

static void check_arguments(void) {
  hx_kernel *k;
  check_names();
  check_sources();
  CHECK_OK(compile("x * a", "float x, float y", "float a", &k));
  check_maps(k);
  check_reductions(k);
  check_accepted(k);
  hx_kernel_free(k);
}

int main(void) {
  hx = open_or_exit(NULL);
  check_goldens();
  fesetround(FE_UPWARD);
  check_goldens();
  fesetround(FE_DOWNWARD);
  check_goldens();
  fesetround(FE_TONEAREST);
  check_arguments();
  hx_close(hx);
  return checks_end("compile_test");
}
