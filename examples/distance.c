/* SPDX-License-Identifier: Apache-2.0
 * Loops of your own: a x + y over whole arrays, and how far apart two arrays are at most, and on average, without an
 * array of the differences. */
#include <hx_map.h>
#include <stdio.h>

enum { N = 1000000 };

static float x[N], y[N];

static hx_kernel *compile(hx_context *hx, const char *text, const char *parameters) {
  const hx_kernel_source source = {.text = text, .inputs = "float x, float y", .parameters = parameters};
  hx_kernel *kernel;
  if (hx_compile(hx, &source, &kernel) != HX_OK) fprintf(stderr, "%s\n", hx_error_detail());
  return kernel;
}

static int run(hx_context *hx, const hx_task *task) {
  if (hx_offload(hx, task, NULL) == HX_OK) return 1;
  fprintf(stderr, "%s\n", hx_error_detail());
  return 0;
}

int main(void) {
  for (int i = 0; i < N; i++) {
    x[i] = (float)(i % 1000);
    y[i] = (float)(i % 777);
  }
  hx_context *hx;
  if (hx_open(&hx, NULL) != HX_OK) return fprintf(stderr, "%s\n", hx_error_detail()), 1;

  hx_kernel *const saxpy = compile(hx, "a * x + y", "float a"), *const distance = compile(hx, "fabsf(x - y)", NULL);
  if (!saxpy || !distance) return 1;
  const void *const inputs[] = {x, y}; /* in the order of "float x, float y" */
  const hx_value a = {.f32 = 0.5f};
  hx_value greatest, where, sum;

  const hx_task map = hx_map(saxpy, inputs, N, &a, y); /* y = 0.5 x + y: the output may be an input */
  const hx_task tasks[] = {hx_map_reduce(HX_MAX, distance, inputs, N, NULL, &greatest),
                           hx_map_reduce(HX_ARGMAX, distance, inputs, N, NULL, &where),
                           hx_map_reduce(HX_SUM, distance, inputs, N, NULL, &sum)};
  if (!run(hx, &map)) return 1;
  for (int i = 0; i < 3; i++)
    if (!run(hx, &tasks[i])) return 1;
  printf("y[999] = %g\n", y[999]);
  printf("apart by %g at most, first at %llu, and by %g on average\n", greatest.f32, (unsigned long long)where.u64,
         (double)sum.f32 / N);

  /* A mistake is found with its place. */
  const hx_kernel_source wrong = {.text = "x +\n  z", .inputs = "float x"};
  hx_kernel *none;
  if (hx_compile(hx, &wrong, &none) != HX_OK) printf("%s\n", hx_error_detail());

  hx_kernel_free(distance);
  hx_kernel_free(saxpy);
  hx_close(hx);
}
