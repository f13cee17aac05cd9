/* SPDX-License-Identifier: Apache-2.0
 * hx_value_as_double, hx_mean, hx_variance and hx_norm give the same bits whatever floating-point state the program has
 * set, and leave that state and its exception flags as they were. */
#include <fenv.h>

#include "tests/check.h"

static void flush_denormals(bool flush) { /* FTZ and DAZ */
#if defined(__SSE2__)
  const unsigned now = __builtin_ia32_stmxcsr(), both = 0x8040;
  __builtin_ia32_ldmxcsr(flush ? now | both : now & ~both);
#else
  (void)flush; /* never run; the rounding mode alone is varied */
#endif
}

enum { FUNCTIONS = 6 };

static double result_of(int function) {
  const hx_value denormal = {.u32 = 3}, third = {.f32 = 1.0f / 3}, large = {.u64 = UINT64_MAX - 1}, small = {.i64 = -7};
  switch (function) {
    case 0:
      return hx_value_as_double(HX_MIN, HX_F32, denormal);
    case 1:
      return hx_value_as_double(HX_SUM, HX_U32, large);
    case 2:
      return hx_mean(HX_F32, third, 3);
    case 3:
      return hx_variance(HX_F32, third, third, 3);
    case 4:
      return hx_variance(HX_I32, small, large, 10);
    default:
      return hx_norm(HX_F32, third);
  }
}

static void compare(int function, int rounding) {
  const double want = result_of(function);
  fesetround(rounding);
  flush_denormals(true);
  feclearexcept(FE_ALL_EXCEPT);
  const double got = result_of(function);
  const int flags = fetestexcept(FE_ALL_EXCEPT), after = fegetround();
  flush_denormals(false);
  fesetround(FE_TONEAREST);
  CHECK(memcmp(&got, &want, sizeof got) == 0, "function %d, rounding %x: %a instead of %a", function, rounding, got,
        want);
  CHECK(flags == 0 && after == rounding, "function %d: flags %x, rounding %x instead of %x", function, flags, after,
        rounding);
}

int main(void) {
  static const int roundings[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  for (int function = 0; function < FUNCTIONS; function++)
    for (size_t i = 0; i < sizeof roundings / sizeof roundings[0]; i++) compare(function, roundings[i]);
  return checks_end("value_test");
}
