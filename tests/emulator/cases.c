/* SPDX-License-Identifier: Apache-2.0
 * Functions that all cases share, and the cases of the probe. */
#include "tests/emulator/cases.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/ref.h"

bool case_fault(char *why, size_t why_bytes, const char *format, ...) {
  char what[128], rest[384];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  snprintf(rest, sizeof rest, "%s", why);
  snprintf(why, why_bytes, "%s: %s", what, rest);
  return false;
}

void *case_allocate(size_t bytes) {
  void *const p = calloc(bytes ? bytes : 1, 1);
  if (p) return p;
  fprintf(stderr, "emulate: no memory\n");
  exit(2);
}

static bool is_same_float(float got, float want) {
  return ref_bits(got) == ref_bits(want) || (isnan(got) && isnan(want));
}

/* Tests the three roundings on all combinations of values that need a correct rounding, denormals included. */
static bool test_roundings(const program *program, char *why, size_t why_bytes) {
  static const float values[] = {0.0f,      -0.0f,      1.0f,       0x1.000002p0f,   -0x1.fffffep-1f, 0x1p-149f,
                                 0x1p-126f, 0x1.8p-75f, 0x1.4p-64f, 0x1.fffffep127f, INFINITY,        NAN};
  enum { VALUES = sizeof values / sizeof values[0], COUNT = VALUES * VALUES * VALUES };
  float *const in[3] = {case_allocate(COUNT * 4), case_allocate(COUNT * 4), case_allocate(COUNT * 4)};
  float *const out = case_allocate(COUNT * 12);
  for (int i = 0; i < COUNT; i++) {
    in[0][i] = values[i % VALUES];
    in[1][i] = values[i / VALUES % VALUES];
    in[2][i] = values[i / VALUES / VALUES];
  }
  memory memory = {.count = 0};
  launch launch = {.kernel = "hx_probe", .groups = {COUNT, 1}, .local = {1, 1}, .argument_count = 4};
  for (int i = 0; i < 3; i++) launch.arguments[i] = memory_add(&memory, "an operand", in[i], COUNT, true, true);
  launch.arguments[3] = memory_add(&memory, "the results", out, 3 * COUNT, false, false);
  bool good = launch_run(program, &memory, &launch, 1, why, why_bytes) || case_fault(why, why_bytes, "probe");
  for (int i = 0; i < COUNT && good; i++) {
    const float a = in[0][i], b = in[1][i], want[3] = {a + b, a * b, fmaf(a, b, in[2][i])};
    for (int k = 0; k < 3 && good; k++)
      if (!is_same_float(out[3 * i + k], want[k])) {
        snprintf(why, why_bytes, "%a instead of %a", (double)out[3 * i + k], (double)want[k]);
        good = case_fault(why, why_bytes, "probe %d of %a, %a, %a", k, (double)a, (double)b, (double)in[2][i]);
      }
  }
  memory_free(&memory);
  for (int i = 0; i < 3; i++) free(in[i]);
  free(out);
  return good;
}

static bool test_touch(const program *program, char *why, size_t why_bytes) {
  uint32_t x[5] = {7, 8, 9, 10, 11}, out = 0;
  memory memory = {.count = 0};
  const uint64_t x_at = memory_add(&memory, "x", x, 5, true, true);
  const launch launch = {.kernel = "hx_touch",
                         .groups = {1, 1},
                         .local = {1, 1},
                         .arguments = {x_at, 3, memory_add(&memory, "out", &out, 1, false, false)},
                         .argument_count = 3};
  const bool good = launch_run(program, &memory, &launch, 0, why, why_bytes);
  memory_free(&memory);
  if (good && out != x[3]) snprintf(why, why_bytes, "it reads %u instead of %u", out, x[3]);
  return (good && out == x[3]) || case_fault(why, why_bytes, "touch");
}

bool probe_cases(const program *program, char *why, size_t why_bytes) {
  return test_roundings(program, why, why_bytes) && test_touch(program, why, why_bytes);
}

const char *row_fault(const program *program, const hx__kernel_row *row, hx_op op, hx_type type,
                      hx__kernel_fields fields) {
  static char why[512];
  const bool good = row->kind == HX__KERNEL_REDUCE   ? reduction_cases(program, row, op, type, why, sizeof why)
                    : row->kind == HX__KERNEL_FIELDS ? fields_cases(program, row, fields, why, sizeof why)
                    : row->kind == HX__KERNEL_MATMUL ? product_cases(program, row, why, sizeof why)
                                                     : probe_cases(program, why, sizeof why);
  return good ? NULL : why;
}
