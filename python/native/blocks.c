/* SPDX-License-Identifier: Apache-2.0
 * Sums and products of many elements of float32 that hx cannot read in their order. They are copied a block at a time:
 * a block has 2^k leaves, and docs/ARITHMETIC.md joins the leaves of such a block with each other before it joins them
 * with others, so that the results of blocks are joined as those of leaves are. */
#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#include "native.h"

/* The axes from the one with the longest step to the one with the shortest, as NumPy's order 'K' has them. */
static int order_axes(const Py_buffer *v, int *axes) {
  int count = 0;
  for (int i = 0; i < v->ndim; i++) {
    int at = count++;
    for (; at > 0 && labs(v->strides[axes[at - 1]]) < labs(v->strides[i]); at--) axes[at] = axes[at - 1];
    axes[at] = i;
  }
  return count;
}

/* Joins n results with their neighbours, level by level, in the floating-point state of hx. */
static float join(hx_op op, float *s, size_t n) {
  fenv_t callers;
  fegetenv(&callers);
  fesetenv(FE_DFL_ENV);
  for (; n > 1; n = (n + 1) / 2) {
    for (size_t i = 0; i < n / 2; i++) s[i] = op == HX_PROD ? s[2 * i] * s[2 * i + 1] : s[2 * i] + s[2 * i + 1];
    if (n % 2) s[n / 2] = s[n - 1];
  }
  fesetenv(&callers);
  uint32_t bits;
  memcpy(&bits, s, sizeof bits); /* a comparison of floats would set a flag of the caller if they are denormal */
  return (bits & 0x7fffffffu) > 0x7f800000u ? __builtin_nanf("") : s[0];
}

static bool reduce_blocks(hxpy_context *c, hx_op op, hxpy_pack_cursor *cursor, size_t n, float share, float *copy,
                          float *results, hx_value *value) {
  size_t count = 0;
  for (size_t left = n; left > 0;) {
    const size_t size = left < HXPY_BLOCK ? left : HXPY_BLOCK;
    hxpy_pack_next(cursor, size, copy);
    hx_task task = hx_reduce(op, HX_F32, copy, size, value);
    task.gpu_share = share;
    if (!hxpy_run(c, &task) || PyErr_CheckSignals()) return false;
    results[count++] = value->f32;
    left -= size;
  }
  if (count > 1) value->f32 = join(op, results, count);
  return true;
}

bool hxpy_reduce_in_blocks(hxpy_context *c, hx_op op, const hxpy_pack *pack, const char *first, size_t n, float share,
                           hx_value *value) {
  hxpy_pack_cursor cursor = {.pack = pack, .at = first};
  float *const copy = malloc((n < HXPY_BLOCK ? n : HXPY_BLOCK) * sizeof *copy);
  float *const results = malloc((n / HXPY_BLOCK + 1) * sizeof *results);
  const bool ok = copy && results ? reduce_blocks(c, op, &cursor, n, share, copy, results, value) : hxpy_no_memory(n);
  free(copy);
  free(results);
  return ok;
}

bool hxpy_reduce_array_in_blocks(hxpy_context *c, hx_op op, const hxpy_operand *a, float share, hx_value *value) {
  int axes[PyBUF_MAX_NDIM];
  hxpy_pack pack;
  hxpy_pack_set(&pack, &a->view, axes, order_axes(&a->view, axes));
  return hxpy_reduce_in_blocks(c, op, &pack, a->view.buf, hxpy_operand_size(a), share, value);
}
