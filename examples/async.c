/* SPDX-License-Identifier: Apache-2.0
 * Two tasks in the background: a sum and a product run while this thread does something else. */
#include <hx.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1 << 22, SIDE = 512 };

static hx_event *start(hx_context *hx, const hx_task *task) {
  hx_event *event;
  if (hx_offload_async(hx, task, &event) == HX_OK) return event;
  fprintf(stderr, "%s\n", hx_error_detail());
  exit(1);
}

/* The task is over when hx_wait returns: only now may its result be read, and its arrays changed. */
static void finish(hx_event *event) {
  if (hx_wait(event, NULL) == HX_OK) return;
  fprintf(stderr, "%s\n", hx_error_detail());
  exit(1);
}

int main(void) {
  hx_context *hx;
  if (hx_open(&hx, NULL) != HX_OK) return fprintf(stderr, "%s\n", hx_error_detail()), 1;
  int32_t *const x = malloc(N * sizeof *x);
  float *const a = malloc(3 * SIDE * SIDE * sizeof *a), *const b = a + SIDE * SIDE, *const c = b + SIDE * SIDE;
  if (!x || !a) return fprintf(stderr, "no memory\n"), 1;
  for (int i = 0; i < N; i++) x[i] = i % 7;
  for (int i = 0; i < SIDE * SIDE; i++) a[i] = (float)(i % 3), b[i] = (float)(i % 5);

  hx_value sum;
  const hx_task add = hx_reduce(HX_SUM, HX_I32, x, N, &sum);
  const hx_task multiply = hx_matmul(SIDE, SIDE, SIDE, a, b, c);
  hx_event *const adding = start(hx, &add), *const multiplying = start(hx, &multiply);
  puts("both tasks have begun");
  finish(multiplying);
  finish(adding);
  printf("sum: %lld, first element of the product: %g\n", (long long)sum.i64, c[0]);
  hx_close(hx);
  free(x);
  free(a);
}
