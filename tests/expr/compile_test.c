/* SPDX-License-Identifier: Apache-2.0
 * hx_compile: constant expressions have the value that C gives them, or docs/USER_KERNELS.md if C leaves it open; every
 * error is refused with its line and column; and what a task of a kernel refuses. */
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
    {"expf(0)", HX_F32, 0x3f800000u},
    {"expf(-1.0f / 0.0f)", HX_F32, 0},
    {"expf(89.5f)", HX_F32, 0x7f800000u},
    {"logf(1)", HX_F32, 0},
    {"logf(0)", HX_F32, 0xff800000u},
    {"logf(-1)", HX_F32, 0x7fc00000u},
    {"logf(1.0f / 0.0f)", HX_F32, 0x7f800000u},
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

/* ---- errors: the whole detail */

typedef struct refusal {
  const char *text, *inputs, *parameters, *detail;
} refusal;

static const refusal refusals[] = {
    {"", NULL, NULL, "text 1:1: an expression is expected before the end"},
    {"  \n ", NULL, NULL, "text 2:2: an expression is expected before the end"},
    {"--x", "float x", NULL,
     "text 1:1: -- changes a variable in C, and nothing can be changed here: write a blank between the signs"},
    {"x ++", "float x", NULL,
     "text 1:3: ++ changes a variable in C, and nothing can be changed here: write a blank between the signs"},
    {"0x1e+3", NULL, NULL, "text 1:1: 0x1e+3 is not a number"},
    {"float if = 1; if", NULL, NULL, "text 1:7: 'if' cannot be a name"},
    {"1", "float sizeof", NULL, "inputs 1:7: 'sizeof' cannot be a name"},
    {"1 +", NULL, NULL, "text 1:4: an expression is expected before the end"},
    {"1 + * 2", NULL, NULL, "text 1:5: an expression is expected before '*'"},
    {"(1", NULL, NULL, "text 1:3: ')' is expected before the end"},
    {"1)", NULL, NULL, "text 1:2: an operator is expected before ')'"},
    {"1 2", NULL, NULL, "text 1:3: an operator is expected before '2'"},
    {"x", NULL, NULL, "text 1:1: 'x' is not an input, a parameter or a variable"},
    {"x +\n  y", "float x", NULL, "text 2:3: 'y' is not an input, a parameter or a variable"},
    {"x + yy1", "float x", "float y", "text 1:5: 'yy1' is not an input, a parameter or a variable"},
    {"pow(1, 2)", NULL, NULL, "text 1:1: 'pow' is not a function; docs/USER_KERNELS.md lists them"},
    {"as_int(1.0f)", NULL, NULL, "text 1:1: 'as_int' is not a function; docs/USER_KERNELS.md lists them"},
    {"expf(as_float(1))", NULL, NULL, "text 1:6: 'as_float' is not a function; docs/USER_KERNELS.md lists them"},
    {"expf", NULL, NULL, "text 1:5: '(' is expected before the end"},
    {"expf()", NULL, NULL, "text 1:6: an expression is expected before ')'"},
    {"1 + expf(1, 2)", NULL, NULL, "text 1:11: ')' is expected before ','"},
    {"float expf = 1; 1", NULL, NULL, "text 1:7: 'expf' cannot be a name"},
    {"x(1)", "float x", NULL, "text 1:2: an operator is expected before '('"},
    {"fabsf", NULL, NULL, "text 1:6: '(' is expected before the end"},
    {"fabsf()", NULL, NULL, "text 1:1: fabsf takes 1 argument"},
    {"fabsf(1, 2)", NULL, NULL, "text 1:1: fabsf takes 1 argument"},
    {"fmaf(1, 2)", NULL, NULL, "text 1:1: fmaf takes 3 arguments"},
    {"fmaf(1, 2, 3, 4)", NULL, NULL, "text 1:1: fmaf takes 3 arguments"},
    {"fmaf(1, 2, 3", NULL, NULL, "text 1:13: ')' is expected before the end"},
    {"1 + abs(1.0f)", NULL, NULL,
     "text 1:5: abs of float: it takes integers; the functions of floats are fabsf, fminf and fmaxf"},
    {"abs(1u)", NULL, NULL, "text 1:1: abs of unsigned: it takes integers of type int"},
    {"min(1, 1.0f)", NULL, NULL,
     "text 1:1: min of float: it takes integers; the functions of floats are fabsf, fminf and fmaxf"},
    {"1 + x % 2", "float x", NULL, "text 1:7: '%' has integer operands in C, and one is a float"},
    {"1 << 2.0f", NULL, NULL, "text 1:3: '<<' has integer operands in C, and one is a float"},
    {"x | 1", "float x", NULL, "text 1:3: '|' has integer operands in C, and one is a float"},
    {"~1.0f", NULL, NULL, "text 1:1: '~' has an integer operand in C, and this one is a float"},
    {"1.5", NULL, NULL, "text 1:1: 1.5 is a double in C, and there is no double here: write 1.5f"},
    {"1 + 1e3", NULL, NULL, "text 1:5: 1e3 is a double in C, and there is no double here: write 1e3f"},
    {"1e", NULL, NULL, "text 1:1: 1e is not a number"},
    {"1f", NULL, NULL, "text 1:1: 1f is an integer with the suffix of a float: write 1.0f"},
    {"1 + 0x1.8f", NULL, NULL,
     "text 1:5: 0x1.8f has a point and no exponent: a hexadecimal float has one in C, as 0x1.8p0f"},
    {"2x", "float x", NULL, "text 1:1: 2x is not a number; a product is written 2 * x"},
    {"1.5fx", NULL, NULL, "text 1:1: 1.5fx is not a number"},
    {"1.2.3f", NULL, NULL, "text 1:1: 1.2.3f is not a number"},
    {"1e39f", NULL, NULL, "text 1:1: 1e39f is too large for a float"},
    {"08", NULL, NULL, "text 1:1: 08 is not a number"},
    {"0x", NULL, NULL, "text 1:1: 0x is not a number"},
    {"12l", NULL, NULL, "text 1:1: 12l has more than 32 bits in C, and no number has here: write 12"},
    {"1 | 0xfull", NULL, NULL, "text 1:5: 0xfull has more than 32 bits in C, and no number has here: write 0xfu"},
    {"12llll", NULL, NULL, "text 1:1: 12llll is not a number; a product is written 12 * llll"},
    {"1_000", NULL, NULL, "text 1:1: 1_000 is not a number"},
    {"2147483649", NULL, NULL, "text 1:1: 2147483649 is too large for an int: write 2147483649u"},
    {"-2147483648", NULL, NULL,
     "text 1:2: 2147483648 is too large for an int: write 2147483648u, or -2147483647 - 1 for the least int"},
    {"4294967296u", NULL, NULL, "text 1:1: 4294967296u has more than 32 bits"},
    {"99999999999999999999999", NULL, NULL, "text 1:1: 99999999999999999999999 has more than 32 bits"},
    {"1 $ 2", NULL, NULL, "text 1:3: the character '$' (0x24) has no meaning here"},
    {"1 + \xc3\xa9", NULL, NULL, "text 1:5: the character '\xc3\xa9' (U+00E9) has no meaning here"},
    {"1 \xe2\x88\x92 2", NULL, NULL, "text 1:3: the character '\xe2\x88\x92' (U+2212) has no meaning here"},
    {"\xf0\x9d\x9f\x8f", NULL, NULL, "text 1:1: the character '\xf0\x9d\x9f\x8f' (U+1D7CF) has no meaning here"},
    {"\xc3", NULL, NULL, "text 1:1: the character '?' (0xc3) has no meaning here"},
    {"\xc0\x80", NULL, NULL, "text 1:1: the character '?' (0xc0) has no meaning here"},
    {"\xed\xa0\x80", NULL, NULL, "text 1:1: the character '?' (0xed) has no meaning here"},
    {"\xf4\x90\x80\x80", NULL, NULL, "text 1:1: the character '?' (0xf4) has no meaning here"},
    {"1 /* 2", NULL, NULL, "text 1:3: a comment begins here and does not end"},
    {"1 ? 2", NULL, NULL, "text 1:6: ':' is expected before the end"},
    {"x = 1", "int x", NULL,
     "text 1:3: = changes a variable in C, and nothing can be changed here: write == to compare"},
    {"x\n+= 1", "int x", NULL,
     "text 2:1: += changes a variable in C, and nothing can be changed here: declare another variable"},
    {"x >>= 1", "int x", NULL,
     "text 1:3: >>= changes a variable in C, and nothing can be changed here: declare another variable"},
    {"if (1) 2", NULL, NULL, "text 1:1: 'if' is a statement, and a text is one expression: write condition ? a : b"},
    {"for (;;) 2", NULL, NULL,
     "text 1:1: 'for' is a loop, and a text is one expression, which hx computes for every element"},
    {"1 + sqrt(2)", NULL, NULL,
     "text 1:5: 'sqrt' is a function of doubles in C, and there is no double here: write sqrtf"},
    {"exp(2)", NULL, NULL, "text 1:1: 'exp' is a function of doubles in C, and there is no double here: write expf"},
    {"exp", NULL, NULL, "text 1:1: 'exp' is not an input, a parameter or a variable"},
    {"float t = 1, u = 2; t", NULL, NULL,
     "text 1:12: each variable has a declaration of its own: write ; and the type again"},
    {"(unsigned char)1", NULL, NULL,
     "text 1:11: 'char' is not part of an expression; a cast is (float), (int) or (unsigned)"},
    {"(uint8_t)1", NULL, NULL,
     "text 1:2: 'uint8_t' is not part of an expression; a cast is (float), (int) or (unsigned)"},
    {"int(2.0f)", NULL, NULL, "text 1:4: a cast has its type in brackets: (float), (int) or (unsigned)"},
    {"(double)1", NULL, NULL,
     "text 1:2: 'double' is not part of an expression; a cast is (float), (int) or (unsigned)"},
    {"(float 1", NULL, NULL, "text 1:8: ')' is expected before '1'"},
    {"double t = 1; t", NULL, NULL, "text 1:1: a type is expected before 'double': float, int or unsigned"},
    {"float t; t", NULL, NULL, "text 1:8: '=' is expected before ';'"},
    {"float t = 1 t", NULL, NULL, "text 1:13: ';' is expected before 't'"},
    {"float t = 1;", NULL, NULL, "text 1:13: an expression is expected before the end"},
    {"float t = t; t", NULL, NULL, "text 1:11: 't' is not an input, a parameter or a variable"},
    {"float x = 1; x", "int x", NULL, "text 1:7: 'x' is declared twice"},
    {"float 1 = 1; 1", NULL, NULL, "text 1:7: a name is expected before '1'"},
    {"float fabsf = 1; 1", NULL, NULL, "text 1:7: 'fabsf' cannot be a name"},
    {"float int = 1; 1", NULL, NULL, "text 1:7: 'int' cannot be a name"},
    {"1; 2", NULL, NULL, "text 1:4: an operator is expected before '2'"},
    {"return", NULL, NULL, "text 1:7: an expression is expected before the end"},
    {"1", "x", NULL, "inputs 1:1: a type is expected before 'x': float, int or unsigned"},
    {"1", "float", NULL, "inputs 1:6: a name is expected before the end"},
    {"1", "float x y", NULL, "inputs 1:9: ',' is expected before 'y'"},
    {"1", "float x,", NULL, "inputs 1:9: a type is expected before the end: float, int or unsigned"},
    {"1", "float x,\nfloat x", NULL, "inputs 2:7: 'x' is declared twice"},
    {"1", "float x", "int x", "parameters 1:5: 'x' is declared twice"},
    {"1", "row", NULL, "inputs 1:4: a type is expected before the end: float, int or unsigned"},
    {"1", "row x", NULL, "inputs 1:5: a type is expected before 'x': float, int or unsigned"},
    {"1", "row row int x", NULL, "inputs 1:5: a type is expected before 'row': float, int or unsigned"},
    {"1", "float row x", NULL, "inputs 1:11: ',' is expected before 'x'"},
    {"1", "row float x, row int x", NULL, "inputs 1:22: 'x' is declared twice"},
    {"row float t = 1; t", NULL, NULL, "text 1:1: 'row' is not an input, a parameter or a variable"},
    {"1", NULL, "row float a", "parameters 1:1: a type is expected before 'row': float, int or unsigned"},
    {"1", NULL, "double a", "parameters 1:1: a type is expected before 'double': float, int or unsigned"},
    {"1", "int a, int b, int c, int d, int e, int f, int g, int h, int i", NULL, "inputs 1:61: more than 8 inputs"},
    {"1", NULL, "int a, int b, int c, int d, int e, int f, int g, int h, int i",
     "parameters 1:61: more than 8 parameters"},
};

static void check_refusals(void) {
  for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
    const refusal *const r = &refusals[i];
    hx_kernel *k = (hx_kernel *)&hx;
    const hx_status s = compile(r->text, r->inputs, r->parameters, &k);
    CHECK(s == HX_INVALID_ARGUMENT && !strcmp(hx_error_detail(), r->detail), "%s: '%s', not '%s'", hx_status_string(s),
          hx_error_detail(), r->detail);
    CHECK(k == NULL, "out is not NULL after %s", r->detail);
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
  source.reserved[4] = 7;
  CHECK_REFUSED(hx_compile(hx, &source, &k), HX_INVALID_ARGUMENT, "reserved[4] of the source is 7");
  source.reserved[4] = 0;
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
  check_refusals();
  check_arguments();
  hx_close(hx);
  return checks_end("compile_test");
}
