/* SPDX-License-Identifier: Apache-2.0
 * Whether two strided matrices share an element, in O(1): exact for one leading dimension, and where one of the two is
 * contiguous. Two different leading dimensions that interleave are not decided. */
#include "runtime/task/task.h"

static size_t extent(const hx__matrix *x) { return (x->rows - 1) * x->ld + x->cols; } /* elements, first to last */

static bool contiguous(const hx__matrix *x) { return x->rows == 1 || x->ld == x->cols; }

static bool spans_meet(size_t x, size_t xn, size_t y, size_t yn) { return x < y + yn && y < x + xn; }

/* y starts `delta` elements after x and has x's leading dimension. */
static bool same_ld_share(const hx__matrix *x, const hx__matrix *y, size_t delta) {
  const size_t row = delta / x->ld, col = delta % x->ld;
  if (row < x->rows && col < x->cols) return true;
  /* y's rows that run over the end of x's row go on in the next one. */
  return col + y->cols > x->ld && spans_meet(row + 1, y->rows, 0, x->rows);
}

/* A run of `count` elements that starts `delta` after x's first. */
static bool run_shares(const hx__matrix *x, size_t count, size_t delta) {
  const size_t row = delta / x->ld, col = delta % x->ld;
  if (row >= x->rows) return false;
  if (col < x->cols) return true;
  return row + 1 < x->rows && count > x->ld - col;
}

/* x begins at or before y, both have elements. */
static bool ordered_share(const hx__matrix *x, const hx__matrix *y, size_t delta) {
  if (delta >= extent(x)) return false;
  if (contiguous(x)) return true; /* y's first element lies inside the run */
  if (x->ld == y->ld && y->cols <= y->ld) return same_ld_share(x, y, delta);
  if (contiguous(y)) return run_shares(x, extent(y), delta);
  return false;
}

bool hx__matrices_share(const hx__matrix *x, const hx__matrix *y) {
  if (!x->base || !y->base || !x->rows || !x->cols || !y->rows || !y->cols) return false;
  const uintptr_t a = (uintptr_t)x->base, b = (uintptr_t)y->base;
  return a <= b ? ordered_share(x, y, (b - a) / sizeof(float)) : ordered_share(y, x, (a - b) / sizeof(float));
}
