/* SPDX-License-Identifier: Apache-2.0
 * Choices between what is compared, for every ISA that this CPU has: the bits of the same C expression for all pairs of
 * special values, and the number of steps, because a choice of the lesser or greater one is a single step, and
 * conditions stay masks. */
#include <math.h>

#include "cpu/cpu.h"
#include "runtime/expr/compile.h"
#include "tests/check.h"
#include "tests/float_bits.h"

static const uint32_t specials[] = {0,           0x80000000u, 1,           0x80000001u, 0x3f800000u, 0xbf800000u,
                                    0x40490fdbu, 0xc0490fdbu, 0x3fc00000u, 0x7f7fffffu, 0xff7fffffu, 0x7f800000u,
                                    0xff800000u, 0x7fc00000u, 0xffc00001u, 0x7fa00000u};
enum { SPECIALS = sizeof specials / sizeof *specials, PAIRS = SPECIALS * SPECIALS, PARAMETER = 0x3fc00000 };

static uint32_t bits_of(float f) { return isnan(f) ? 0x7fc00000u : as_int(f); }

/* NAME##_of: the expression in C; x, y and a have the type. */
#define CHOICES(X)                                                     \
  X(lesser, float, 2, x < y ? x : y)                                   \
  X(greater_by_less, float, 2, x < y ? y : x)                          \
  X(greater, float, 2, x > y ? x : y)                                  \
  X(lesser_by_greater, float, 2, x > y ? y : x)                        \
  X(at_most, float, 3, x <= y ? x : y)                                 \
  X(to_parameter, float, 2, x < a ? x : a)                             \
  X(from_parameter, float, 2, a < x ? x : a)                           \
  X(rectified, float, 2, x > 0 ? x : 0)                                \
  X(of_a_product, float, 3, x *y < a ? x * y : a)                      \
  X(of_a_product_first, float, 3, a < x * y ? a : x * y)               \
  X(with_an_operand, float, 3, x + y > x ? x + y : x)                  \
  X(and_an_operand, float, 3, (x < y ? x : y) + x)                     \
  X(of_choices, float, 3, (x < y ? x : y) > a ? (x < y ? x : y) : a)   \
  X(compared_twice, float, 9, (x < y ? x : y) * (x < y ? 2 : 3))       \
  X(others, float, 3, x < y ? a : y)                                   \
  X(clipped, float, 5, x > a ? a : x < 0 ? 0 : x)                      \
  X(both, float, 6, x < a && y < a ? x : y)                            \
  X(either, float, 6, x < a || y < a ? x : y)                          \
  X(neither, float, 7, !(x < a || y < a) ? x : y)                      \
  X(one_of_them, float, 7, x < a && !(y < a) ? x : y)                  \
  X(three, float, 10, x < a && y < a && x != y ? x : y)                \
  X(both_or_none, float, 10, (x < a && y < a) == 0 || x == y ? x : y)  \
  X(used_twice, float, 12, (x < a ? x : y) + (x < a && y < a ? y : x)) \
  X(as_a_number, int, 9, (x < a) + (x < a && y < a ? 5 : 7))           \
  X(and_a_number, int, 5, (x < a) & y ? x : a)                         \
  X(number_of_both, int, 7, x < a && y < a)                            \
  X(lesser_i, int, 2, x < y ? x : y)                                   \
  X(greater_i, int, 2, x < y ? y : x)                                  \
  X(lesser_u, unsigned, 2, x > y ? y : x)                              \
  X(greater_u, unsigned, 2, x > y ? x : y)

#define VALUE_float(bits) as_float(bits)
#define VALUE_int(bits) (int)(bits)
#define VALUE_unsigned(bits) (bits)
#define BITS_float(value) bits_of((float)(value))
#define BITS_int(value) (uint32_t)(value)
#define BITS_unsigned(value) (value)
#define IN_C(name, type, steps, ...)                                                  \
  static uint32_t name##_of(uint32_t p, uint32_t q) {                                 \
    const type x = VALUE_##type(p), y = VALUE_##type(q), a = VALUE_##type(PARAMETER); \
    (void)x, (void)y, (void)a;                                                        \
    return BITS_##type(__VA_ARGS__);                                                  \
  }
CHOICES(IN_C)

#define ROW(name, type, steps, ...) {#__VA_ARGS__, #type " x, " #type " y", #type " a", steps, name##_of},
static const struct {
  const char *text, *inputs, *parameters;
  unsigned steps;
  uint32_t (*of)(uint32_t p, uint32_t q);
} rows[] = {CHOICES(ROW)};

static void check_row(size_t row, const uint32_t *x, const uint32_t *y) {
  const hx_kernel_source source = {
      .text = rows[row].text, .inputs = rows[row].inputs, .parameters = rows[row].parameters};
  const void *const inputs[] = {x, y};
  const uint32_t parameter = PARAMETER;
  hx__expr e;
  hx__expr_code code;
  CHECK(hx__expr_compile(&source, &e) == HX_OK && !hx__expr_code_of(&e, &code), "%s", hx_error_detail());
  CHECK(code.steps == rows[row].steps, "%s: %u steps, not %u", rows[row].text, code.steps, rows[row].steps);
  for (hx__isa isa = HX__ISA_SSE2; isa < HX__ISAS; isa++) {
    const hx__cpu_kernels *const cpu = hx__cpu_kernels_for(isa);
    uint32_t out[PAIRS];
    if (!cpu) continue;
    cpu->evaluate(&code, inputs, &parameter, (hx__expr_rows){.n = PAIRS, .rows = 1}, false, (void *[]){out});
    for (size_t i = 0; i < PAIRS; i++) {
      const uint32_t want = rows[row].of(x[i], y[i]);
      CHECK(out[i] == want, "isa %d: %s of %08x and %08x is %08x, not %08x", (int)isa, rows[row].text, x[i], y[i],
            out[i], want);
    }
  }
}

int main(void) {
  static uint32_t x[PAIRS], y[PAIRS];
  for (size_t i = 0; i < PAIRS; i++) x[i] = specials[i / SPECIALS], y[i] = specials[i % SPECIALS];
  for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) check_row(row, x, y);
  return checks_end("cpu_choice_test");
}
