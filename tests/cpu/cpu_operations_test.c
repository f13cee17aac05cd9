/* SPDX-License-Identifier: Apache-2.0
 * Operations that instruction sets compute in different ways, for every ISA that this CPU has: the bits of the
 * definition (hx__expr_fold). Roundings and conversions of floats around every whole number that matters, of halves,
 * NaNs and a million others; divisions of integers around multiples of the divisor. Usage: cpu_operations_test [seed]
 */
#include "cpu/cpu.h"
#include "reference/data.h"
#include "runtime/expr/compile.h"
#include "runtime/expr/values.h"
#include "tests/check.h"
#include "tests/cpu_memory.h"

enum { SWEEP = 1 << 20 };

static const struct {
  const char *text, *inputs;
  hx__expr_op op;
} of_one[] = {{"floorf(x)", "float x", HX__EXPR_FLOOR_F}, {"ceilf(x)", "float x", HX__EXPR_CEIL_F},
              {"truncf(x)", "float x", HX__EXPR_TRUNC_F}, {"rintf(x)", "float x", HX__EXPR_RINT_F},
              {"(int)x", "float x", HX__EXPR_TO_I32},     {"(unsigned)x", "float x", HX__EXPR_TO_U32},
              {"(float)x", "int x", HX__EXPR_FROM_I32},   {"(float)x", "unsigned x", HX__EXPR_FROM_U32}},
  of_two[] = {{"x / y", "int x, int y", HX__EXPR_DIV_I},
              {"x % y", "int x, int y", HX__EXPR_MOD_I},
              {"x / y", "unsigned x, unsigned y", HX__EXPR_DIV_U},
              {"x % y", "unsigned x, unsigned y", HX__EXPR_MOD_U}};

static uint32_t x[SWEEP], y[SWEEP], wanted[SWEEP], out[SWEEP];
static size_t count;

static void add(uint32_t a, uint32_t b) {
  if (count == SWEEP) return;
  x[count] = a;
  y[count++] = b;
}

/* The floats next to and at a float, and their negatives. */
static void add_neighbours(float f) {
  for (uint32_t i = 0; i < 5; i++) {
    const uint32_t bits = bits_of_float(f) + i - 2u;
    add(bits, 0);
    add(bits ^ 0x80000000u, 0);
  }
}

static void make_floats(void) {
  count = 0;
  for (uint32_t whole = 0; whole < 300; whole++) add_neighbours((float)whole * 0.5f);
  for (uint32_t exponent = 0; exponent < 256; exponent++) {
    add_neighbours(float_of_bits(exponent << 23));
    add_neighbours(float_of_bits(exponent << 23 | 0x400000u));
    add_neighbours(float_of_bits(exponent << 23 | 0x7fffffu));
  }
  while (count < SWEEP) add((uint32_t)count * 4093u, 0);
}

/* Every divisor with numbers around its multiples, which round to a whole quotient if they are not divided exactly. */
static void make_integers(uint64_t seed) {
  static const uint32_t some[] = {0, 1, 2, 3, 7, 10, 255, 641, 65535, 65536, 65537, 0x7ffffffeu, 0x7fffffffu};
  uint64_t drawn = 0;
  count = 0;
  for (size_t i = 0; i < sizeof some / sizeof *some; i++)
    for (size_t k = 0; k < sizeof some / sizeof *some; k++)
      for (uint32_t sign = 0; sign < 4; sign++)
        add(sign & 1 ? 0u - some[i] - (sign >> 1) : some[i], sign & 2 ? 0u - some[k] - (sign & 1) : some[k]);
  while (count < SWEEP) {
    const uint32_t a = (uint32_t)data_u64(seed, drawn++), shift = (uint32_t)data_u64(seed, drawn++) % 32;
    const uint32_t divisor = (uint32_t)data_u64(seed, drawn++) >> shift;
    const uint32_t near = divisor ? a / divisor * divisor + a % 3 - 1u : a; /* around a multiple */
    add(a, divisor);
    add(near, divisor);
    add(near, 0u - divisor);
  }
}

static void check_operation(const char *text, const char *inputs, hx__expr_op op) {
  const hx_kernel_source source = {.text = text, .inputs = inputs};
  hx__expr e;
  hx__expr_code code;
  CHECK(hx__expr_compile(&source, &e) == HX_OK && !hx__expr_code_of(&e, &code), "%s", hx_error_detail());
  for (size_t i = 0; i < count; i++) {
    const uint32_t bits = hx__expr_fold(op, x[i], y[i], 0);
    wanted[i] = hx__expr_type(&e) == HX_F32 && (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : bits;
  }
  for (hx__isa isa = HX__ISA_SSE2; isa < HX__ISAS; isa++) {
    const hx__cpu_kernels *const cpu = hx__cpu_kernels_for(isa);
    const void *const arrays[] = {x, y};
    if (!cpu) continue;
    cpu->evaluate(&code, arrays, NULL, (hx__expr_rows){.n = count, .rows = 1}, false, (void *[]){out});
    size_t wrong = 0;
    while (wrong < count && out[wrong] == wanted[wrong]) wrong++;
    CHECK(wrong == count, "isa %d: %s of %08x, %08x is %08x, not %08x (%s)", (int)isa, text, x[wrong], y[wrong],
          out[wrong], wanted[wrong], inputs);
  }
}

int main(int argc, char **argv) {
  const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
  make_floats();
  for (size_t i = 0; i < sizeof of_one / sizeof *of_one; i++)
    check_operation(of_one[i].text, of_one[i].inputs, of_one[i].op);
  make_integers(seed);
  for (size_t i = 0; i < sizeof of_two / sizeof *of_two; i++)
    check_operation(of_two[i].text, of_two[i].inputs, of_two[i].op);
  printf("cpu_operations_test: seed %llu\n", (unsigned long long)seed);
  return checks_end("cpu_operations_test");
}
