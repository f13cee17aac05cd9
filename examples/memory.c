/* SPDX-License-Identifier: Apache-2.0
 * Memory that devices need not copy for every call: allocated by hx, or the program's own. On a machine without a GPU
 * all of this changes nothing. */
#include <hx.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 512, ELEMENTS = SIDE * SIDE };

static void check(hx_status status) {
  if (status == HX_OK) return;
  fprintf(stderr, "%s: %s\n", hx_status_string(status), hx_error_detail());
  exit(1);
}

static void multiply(hx_context *hx, const float *a, const float *b, float *c) {
  const hx_task task = hx_matmul(SIDE, SIDE, SIDE, a, b, c);
  check(hx_offload(hx, &task, NULL));
}

int main(void) {
  const size_t bytes = ELEMENTS * sizeof(float);
  hx_context *hx;
  check(hx_open(&hx, NULL));

  /* hx's own memory: a GPU that shares the host's memory reads it in place. */
  float *const x = hx_alloc(hx, bytes), *const y = hx_alloc(hx, bytes);
  /* The program's memory: registered once, it is pinned, and copied to a card at full speed. */
  float *const weights = malloc(bytes);
  if (!x || !y || !weights) return fprintf(stderr, "no memory: %s\n", hx_error_detail()), 1;
  check(hx_register(hx, weights, bytes));
  for (int i = 0; i < ELEMENTS; i++) weights[i] = (float)(i / SIDE == i % SIDE) / 2, x[i] = 1; /* half the identity */

  /* The weights seldom change, so that a device may keep its copy. x and y may stay on the card between calls. */
  check(hx_advise(hx, weights, bytes, HX_READ_MOSTLY));
  check(hx_advise(hx, x, bytes, HX_RESIDENT));
  check(hx_advise(hx, y, bytes, HX_RESIDENT));
  for (int call = 0; call < 3; call++) {
    multiply(hx, x, weights, y);
    multiply(hx, y, weights, x);
  }
  check(hx_sync(hx, x, bytes)); /* before the host reads a resident result */
  printf("1 halved six times: %g\n", x[0]);

  for (int i = 0; i < SIDE; i++) weights[i * SIDE + i] = 2;
  check(hx_modified(hx, weights, bytes)); /* after the host has written memory with advice */
  multiply(hx, x, weights, y);
  check(hx_sync(hx, y, bytes));
  printf("doubled: %g\n", y[0]);

  check(hx_unregister(hx, weights)); /* before free */
  free(weights);
  hx_close(hx); /* frees x and y */
}
