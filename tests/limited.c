/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/limited.h"

#include <stdint.h>
#include <stdio.h>

enum { MAX_N = 1 << 22, MAX_SIDE = 640 };

static uint32_t x[MAX_N];
static float a[MAX_SIDE * MAX_SIDE], c[MAX_SIDE * MAX_SIDE];
static size_t elements, rows;

size_t address_space_bytes(void) {
  size_t kib = 0;
  char line[256];
  FILE *const status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status))
    if (sscanf(line, "VmSize: %zu", &kib) == 1) break;
  if (status) fclose(status);
  return kib << 10;
}

void limited_tasks_prepare(size_t n, size_t side) {
  elements = n;
  rows = side;
  for (size_t i = 0; i < n; i++) x[i] = 1;
  for (size_t i = 0; i < side * side; i++) a[i] = 1.0f;
}

int limited_tasks_run(hx_context *hx, float share) {
  hx_value sum;
  hx_task t = hx_reduce(HX_SUM, HX_U32, x, elements, &sum), p = hx_matmul(rows, rows, rows, a, a, c);
  t.gpu_share = p.gpu_share = share;
  p.matmul.beta = 0.5f;
  for (size_t i = 0; i < rows * rows; i++) c[i] = 2.0f;
  const hx_status s = hx_offload(hx, &t, NULL);
  if (s != HX_OUT_OF_MEMORY && (s != HX_OK || sum.u64 != elements)) return CHILD_WRONG_SUM;
  if (hx_offload(hx, &p, NULL) != HX_OK) return CHILD_WRONG_PRODUCT;
  for (size_t i = 0; i < rows * rows; i++)
    if (c[i] != (float)rows + 1.0f) return CHILD_WRONG_PRODUCT;
  return CHILD_RIGHT;
}
