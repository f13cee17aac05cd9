/* SPDX-License-Identifier: Apache-2.0
 * Times the elementary functions of user kernels on one thread beside the loops that gcc -O3 makes of the C library's:
 * the data behind docs/measurements/user-kernels-functions.tsv. time_functions [ROUNDS [FUNCTION...]]; HX_ISA chooses
 * the instruction set. Prints the least time of an element of an array that fits into the second cache. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/hx_map.h"

#define ELEMENTS ((size_t)1 << 14)
#define REPEATS 32

typedef void loop(const float *restrict x, const float *restrict y, float *restrict out);

#define ROWS(X)                  \
  X(expf, expf(x), -20, 20)      \
  X(exp2f, exp2f(x), -20, 20)    \
  X(expm1f, expm1f(x), -2, 2)    \
  X(logf, logf(x), 0, 20)        \
  X(log2f, log2f(x), 0, 20)      \
  X(log10f, log10f(x), 0, 20)    \
  X(log1pf, log1pf(x), 0, 20)    \
  X(powf, powf(x, y), 0, 20)     \
  X(gamma, powf(x, 2.2f), 0, 1)  \
  X(sinf, sinf(x), -20, 20)      \
  X(cosf, cosf(x), -20, 20)      \
  X(tanf, tanf(x), -20, 20)      \
  X(asinf, asinf(x), -1, 1)      \
  X(acosf, acosf(x), -1, 1)      \
  X(atanf, atanf(x), -2, 2)      \
  X(atan2f, atan2f(x, y), -3, 3) \
  X(sinhf, sinhf(x), -20, 20)    \
  X(coshf, coshf(x), -20, 20)    \
  X(tanhf, tanhf(x), -2, 2)      \
  X(hypotf, hypotf(x, y), -3, 3) \
  X(erff, erff(x), -2, 2)        \
  X(roundf, roundf(x), -20, 20)

#define LOOP(name, expression, least, most)                                                                          \
  static __attribute__((noinline, optimize("O3"))) void loop_##name(const float *restrict xs,                        \
                                                                    const float *restrict ys, float *restrict out) { \
    for (size_t i = 0; i < ELEMENTS; i++) {                                                                          \
      const float x = xs[i], y = ys[i];                                                                              \
      (void)y;                                                                                                       \
      out[i] = expression;                                                                                           \
    }                                                                                                                \
  }
ROWS(LOOP)

#define ROW(name, expression, least, most) {#name, #expression, loop_##name, least, most},
static const struct {
  const char *name, *text;
  loop *loop;
  float least, most; /* of x */
} rows[] = {ROWS(ROW)};

static float x[ELEMENTS], y[ELEMENTS], out[ELEMENTS];

static void fail(void) {
  fprintf(stderr, "time_functions: %s\n", hx_error_detail());
  exit(1);
}

static void time_row(hx_context *hx, size_t row, int rounds) {
  const hx_kernel_source source = {.text = rows[row].text, .inputs = "float x, float y"};
  const void *const inputs[] = {x, y};
  hx_kernel *k;
  if (hx_compile(hx, &source, &k) != HX_OK) fail();
  for (size_t i = 0; i < ELEMENTS; i++) {
    x[i] = rows[row].least + (rows[row].most - rows[row].least) * ((float)(i * 7919 % ELEMENTS) + 0.5f) / ELEMENTS;
    y[i] = (float)(i * 104729 % ELEMENTS) / ELEMENTS * 6.0f - 3.0f;
  }
  const hx_task task = hx_map(k, inputs, ELEMENTS, NULL, out);
  double best[2] = {INFINITY, INFINITY};
  for (int r = 0; r < 2 * rounds; r++) {
    const uint64_t from = hx__now_ns();
    for (size_t i = 0; i < REPEATS; i++)
      if (r % 2 == 0)
        rows[row].loop(x, y, out);
      else if (hx_offload(hx, &task, NULL) != HX_OK)
        fail();
    best[r % 2] = fmin(best[r % 2], (double)(hx__now_ns() - from) / (REPEATS * (double)ELEMENTS));
  }
  printf("%s\t%.2f\t%.2f\t%.2f\n", rows[row].text, best[0], best[1], best[0] / best[1]);
  hx_kernel_free(k);
}

int main(int argc, char **argv) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  hx_context *hx;
  settings.threads = "1";
  settings.devices = "cpu";
  if (hx_open(&hx, &settings) != HX_OK) fail();
  printf("expression\tgcc_ns\thx_ns\tgcc_over_hx\n");
  for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
    bool wanted = argc <= 2;
    for (int i = 2; i < argc; i++) wanted = wanted || strcmp(argv[i], rows[row].name) == 0;
    if (wanted) time_row(hx, row, argc > 1 ? atoi(argv[1]) : 15);
  }
  hx_close(hx);
}
