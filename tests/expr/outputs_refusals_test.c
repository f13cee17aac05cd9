/* SPDX-License-Identifier: Apache-2.0
 * Sources and tasks of kernels with several outputs: what is refused, and the limits. Two outputs that change places.
 */
#include <stdio.h>
#include <string.h>

#include "reference/data.h"
#include "runtime/hx_map.h"
#include "tests/check.h"

/* u and v change places, which needs both before either is written. */
static void check_exchange(hx_context *hx) {
  enum { N = 1000 };
  const hx_kernel_source source = {.text = "float a = y; float b = x;", .inputs = "float x, float y", .outputs = "a,b"};
  float x[N], y[N];
  hx_kernel *k;
  for (size_t n = 1; n <= N; n += n < 140 ? 1 : 215) {
    for (size_t i = 0; i < n; i++) x[i] = (float)i, y[i] = -(float)i - 1.0f;
    CHECK_OK(hx_compile(hx, &source, &k));
    const hx_task task = hx_map_outputs(k, (const void *[]){x, y}, n, NULL, (void *[]){x, y});
    CHECK_OK(hx_offload(hx, &task, NULL));
    size_t wrong = 0;
    while (wrong < n && x[wrong] == -(float)wrong - 1.0f && y[wrong] == (float)wrong) wrong++;
    CHECK(wrong == n, "element %zu of %zu", wrong, n);
    hx_kernel_free(k);
  }
}

static void check_sources(hx_context *hx) {
  static const struct {
    const char *text, *outputs, *words;
  } rows[] = {{"float u = x;", "v", "outputs 1:1: 'v' is not a variable of the text"},
              {"float u = x;", "u v", "outputs 1:3: ',' is expected before 'v'"},
              {"float u = x;", "u,", "outputs 1:3: the name of a variable is expected before the end"},
              {"float u = x;", " ", "outputs 1:2: the name of a variable is expected before the end"},
              {"float u = x;", "1", "outputs 1:1: the name of a variable is expected before '1'"},
              {"float u = x;", "u,u,u,u,u,u,u,u,u", "outputs 1:17: more than 8 outputs"},
              {"float u = x; u + 1", "u", "text 1:14: 'u' follows the variables"},
              {"float u = x; return u;", "u", "text 1:14: 'return' follows the variables"},
              {"float u = y;", "u", "text 1:11: 'y' is not"},
              {"float u = x", "u", "text 1:12: ';' is expected"},
              {"x", "x", "text 1:1: 'x' follows the variables"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const hx_kernel_source source = {.text = rows[i].text, .inputs = "float x", .outputs = rows[i].outputs};
    hx_kernel *k;
    CHECK_REFUSED(hx_compile(hx, &source, &k), HX_INVALID_ARGUMENT, rows[i].words);
    CHECK(!k, "a kernel of %s", rows[i].text);
  }
}

/* Eight products that are used twice, and outputs that wait beside them: with eight inputs, seven outputs fill the room
 * of narrow rows but for one, and eight need one more than there is. */
static void check_room(hx_context *hx) {
  enum { N = 5, PRODUCTS = 8 };
  float x[HX_MAX_INPUTS][N], out[HX_MAX_OUTPUTS][N];
  const void *inputs[HX_MAX_INPUTS];
  void *outputs[HX_MAX_OUTPUTS];
  for (unsigned i = 0; i < HX_MAX_INPUTS; i++) inputs[i] = x[i], data_fill(HX_F32, DATA_SIGNED, i, x[i], N);
  for (unsigned o = 0; o < HX_MAX_OUTPUTS; o++) outputs[o] = out[o];
  for (unsigned others = 4; others <= 6; others++) {
    char text[2048] = "", names[128] = "";
    for (unsigned o = 0; o < others; o++) {
      sprintf(text + strlen(text), "float o%u = %c - %c; ", o, "abcdefgh"[o], "abcdefgh"[o + 1]);
      sprintf(names + strlen(names), "o%u, ", o);
    }
    for (unsigned i = 0; i < PRODUCTS; i++)
      sprintf(text + strlen(text), "float u%u = %c * %c; ", i, "abcdefgh"[i], "abcdefgh"[(i + 1) % 8]);
    strcat(text, "float s = u0 + u1 + u2 + u3 + u4 + u5 + u6 + u7; ");
    strcat(text, "float p = u7 * u6 * u5 * u4 * u3 * u2 * u1 * u0;");
    strcat(names, "s, p");
    const hx_kernel_source source = {.text = text,
                                     .inputs = "float a, float b, float c, float d, float e, float f, float g, float h",
                                     .outputs = names};
    hx_kernel *k;
    if (others == 6) {
      CHECK_REFUSED(hx_compile(hx, &source, &k), HX_INVALID_ARGUMENT, "more than 30 intermediate results, inputs and");
      return;
    }
    CHECK_OK(hx_compile(hx, &source, &k));
    const hx_task task = hx_map_outputs(k, inputs, N, NULL, outputs);
    CHECK_OK(hx_offload(hx, &task, NULL));
    for (unsigned i = 0; i < N; i++) {
      float u[PRODUCTS];
      for (unsigned m = 0; m < PRODUCTS; m++) u[m] = x[m][i] * x[(m + 1) % 8][i];
      const volatile float sum = u[0] + u[1] + u[2] + u[3] + u[4] + u[5] + u[6] + u[7];
      CHECK(out[others][i] == sum, "%u outputs: the sum is %g, not %g", others + 2, (double)out[others][i],
            (double)sum);
      CHECK(out[0][i] == x[0][i] - x[1][i], "%u outputs: the first is %g", others + 2, (double)out[0][i]);
    }
    hx_kernel_free(k);
  }
}

static void check_refusals(hx_context *hx) {
  const hx_kernel_source two = {.text = "float u = x; int v = 1;", .inputs = "float x, row float r", .outputs = "u, v"},
                         one = {.text = "float u = x;", .inputs = "float x", .outputs = "u"},
                         none = {.text = "", .outputs = "x", .inputs = "float x"};
  enum { N = 64 };
  float x[4 * N] = {1.0f}, r[N] = {0.0f}, u[4 * N], v[4 * N];
  const void *inputs[] = {x, r};
  hx_value sum;
  hx_kernel *k, *single, *copy;
  CHECK_OK(hx_compile(hx, &two, &k));
  CHECK_OK(hx_compile(hx, &one, &single));
  CHECK_OK(hx_compile(hx, &none, &copy));
  const struct {
    hx_task task;
    const char *words;
  } rows[] = {
      {hx_map(k, inputs, N, NULL, u), "the kernel has 2 outputs: hx_map_outputs takes the list of them"},
      {hx_map_rows(k, inputs, NULL, 2, N, NULL, u, 0), "the kernel has 2 outputs"},
      {hx_map_reduce(HX_SUM, k, inputs, N, NULL, &sum), "the kernel has 2 outputs: a map-reduce takes one"},
      {hx_map_outputs(k, inputs, N, NULL, NULL), "outputs is NULL, and the kernel has 2"},
      {hx_map_outputs(NULL, inputs, N, NULL, (void *[]){u, v}), "kernel is NULL"},
      {hx_map_outputs(k, inputs, N, NULL, (void *[]){u, NULL}), "outputs[1] is NULL"},
      {hx_map_outputs(k, inputs, N, NULL, (void *[]){u, (char *)v + 2}), "outputs[1] is"},
      {hx_map_outputs(k, inputs, N, NULL, (void *[]){u, u}), "outputs[1] at"},
      {hx_map_outputs(k, inputs, N, NULL, (void *[]){u + N - 1, u}), "shares an element with outputs[0]"},
      {hx_map_outputs(k, inputs, N, NULL, (void *[]){u, x + 1}), "outputs[1] at"},
      {hx_map_outputs(k, inputs, N, NULL, (void *[]){u, r}), "which has one value for each row"},
      {hx_map_rows_outputs(k, inputs, NULL, 2, N, NULL, (void *[]){u, x}, N + 1), "its rows are not as far apart"},
      {hx_map_rows_outputs(k, inputs, NULL, 2, N, NULL, (void *[]){u, v}, N - 1), "ld of outputs[0] is 63"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    CHECK_REFUSED(hx_offload(hx, &rows[i].task, NULL), HX_INVALID_ARGUMENT, rows[i].words);
  hx_task several = hx_map_outputs(k, inputs, N, NULL, (void *[]){u, v});
  several.map.nfields = 2;
  CHECK_REFUSED(hx_offload(hx, &several, NULL), HX_INVALID_ARGUMENT, "nfields is not 0 or 1");
  const hx_task accepted[] = {hx_map_outputs(single, inputs, N, NULL, (void *[]){u}),
                              hx_map(single, inputs, N, NULL, u), hx_map(copy, inputs, N, NULL, u),
                              hx_map_outputs(k, NULL, 0, NULL, NULL)};
  for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; i++) CHECK_OK(hx_offload(hx, &accepted[i], NULL));
  CHECK(u[0] == 1.0f, "u is %g", (double)u[0]);
  hx_kernel_free(k);
  hx_kernel_free(single);
  hx_kernel_free(copy);
}

int main(void) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "cpu";
  hx_context *const hx = open_or_exit(&settings);
  check_sources(hx);
  check_refusals(hx);
  check_exchange(hx);
  check_room(hx);
  hx_close(hx);
  return checks_end("outputs_refusals_test");
}
