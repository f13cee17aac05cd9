/* SPDX-License-Identifier: Apache-2.0
 * Decides whether two strided matrices share an element: exactly, and in O(log ld) steps for any number of rows.
 *
 * Let x begin at or before y. Row i of y begins p = delta + i y.ld elements after x, in column q = p mod x.ld of row
 * p / x.ld of x. If x has a row after that one, row i of y shares no element with x if and only if q is in the gap
 * [x.cols, x.ld - y.cols]. The number of such rows i is a difference of two sums of floors. */
#include "runtime/task/task.h"

/* Sum of floor((a i + b) / m) for i in [0, n), modulo 2^64, by Euclid's algorithm on (m, a): Graham, Knuth, Patashnik,
 * Concrete Mathematics, section 3.5. a n + b must not overflow. */
static size_t sum_of_floors(size_t n, size_t m, size_t a, size_t b) {
  size_t sum = 0;
  for (;;) {
    const size_t pairs = n % 2 ? n * ((n - 1) / 2) : n / 2 * (n - 1);
    sum += pairs * (a / m) + n * (b / m);
    a %= m;
    b %= m;
    const size_t last = a * n + b, old = m;
    if (last < m) return sum;
    n = last / m;
    b = last % m;
    m = a;
    a = old;
  }
}

/* A matrix without gaps between its rows is one long row. */
static hx__matrix without_gaps(const hx__matrix *x) {
  if (x->rows > 1 && x->ld > x->cols) return *x;
  const size_t all = x->rows * x->cols;
  return (hx__matrix){x->base, 1, all, all};
}

/* Whether x and y share an element. y begins delta elements after x. */
static bool share_in_order(const hx__matrix *x, const hx__matrix *y, size_t delta) {
  const size_t last_row = (x->rows - 1) * x->ld;
  /* Rows of y that begin before the last row of x. */
  size_t rows = delta < last_row ? (last_row - delta + y->ld - 1) / y->ld : 0;
  if (rows >= y->rows)
    rows = y->rows;
  else if (delta + rows * y->ld < last_row + x->cols)
    return true;
  if (rows == 0) return false;
  if (x->cols + y->cols > x->ld) return true;
  return sum_of_floors(rows, x->ld, y->ld, delta + x->ld - x->cols) -
             sum_of_floors(rows, x->ld, y->ld, delta + y->cols - 1) !=
         rows;
}

bool hx__matrices_share(const hx__matrix *x, const hx__matrix *y) {
  if (!x->base || !y->base || !x->rows || !x->cols || !y->rows || !y->cols) return false;
  const hx__matrix u = without_gaps(x), v = without_gaps(y);
  const uintptr_t a = (uintptr_t)u.base, b = (uintptr_t)v.base;
  return a <= b ? share_in_order(&u, &v, (b - a) / sizeof(float)) : share_in_order(&v, &u, (a - b) / sizeof(float));
}
