/* SPDX-License-Identifier: Apache-2.0
 * The check of a product, and of a batch of products. */
#include "runtime/task/check.h"

/* Checks an operand of rows x cols stored elements: its leading dimension (0: packed), alignment and extent. If C is
 * empty no element is accessed, so any extent is allowed. */
static hx_status check_matrix(const float *p, size_t rows, size_t cols, size_t *ld, bool empty, const char *name) {
  if (*ld == 0) *ld = cols;
  if (*ld < cols) REFUSE("ld%s is %zu: less than the %zu elements of a stored row", name, *ld, cols);
  if (p && misaligned(p, ELEMENT)) REFUSE("%s is %p: not aligned to 4 bytes", name, (const void *)p);
  if (empty) return HX_OK;
  size_t elements, bytes;
  if (__builtin_mul_overflow(rows ? rows - 1 : 0, *ld, &elements) ||
      __builtin_add_overflow(elements, cols, &elements) || __builtin_mul_overflow(elements, (size_t)ELEMENT, &bytes))
    REFUSE("%s of %zu x %zu with ld%s = %zu: its bytes overflow size_t", name, rows, cols, name, *ld);
  if (p && (uintptr_t)p > UINTPTR_MAX - bytes) REFUSE("%s wraps the address space", name);
  return HX_OK;
}

/* `empty`: no element is accessed, whatever the shapes are. */
static hx_status check_product(const struct hx_matmul_args *t, bool empty, hx__work *w) {
  const size_t m = t->m, n = t->n, k = t->k;
  size_t lda = t->lda, ldb = t->ldb, ldc = t->ldc;
  const size_t a_rows = t->trans_a ? k : m, a_cols = t->trans_a ? m : k;
  const size_t b_rows = t->trans_b ? n : k, b_cols = t->trans_b ? k : n;
  hx_status s;
  if ((s = check_matrix(t->a, a_rows, a_cols, &lda, empty, "a")) != HX_OK) return s;
  if ((s = check_matrix(t->b, b_rows, b_cols, &ldb, empty, "b")) != HX_OK) return s;
  if ((s = check_matrix(t->c, m, n, &ldc, empty, "c")) != HX_OK) return s;
  const bool reads = k != 0 && t->alpha != 0.0f && !empty;
  if (!empty && !t->c) REFUSE("c is NULL with m = %zu, n = %zu", m, n);
  if (reads && !t->a) REFUSE("a is NULL with k = %zu and alpha = %g", k, (double)t->alpha);
  if (reads && !t->b) REFUSE("b is NULL with k = %zu and alpha = %g", k, (double)t->alpha);
  if (reads) {
    const hx__matrix a = {t->a, a_rows, a_cols, lda}, b = {t->b, b_rows, b_cols, ldb}, c = {t->c, m, n, ldc};
    if (hx__matrices_share(&c, &a)) REFUSE("c at %p shares an element with a at %p", (void *)t->c, (const void *)t->a);
    if (hx__matrices_share(&c, &b)) REFUSE("c at %p shares an element with b at %p", (void *)t->c, (const void *)t->b);
  }
  w->matmul = true;
  w->fields = NULL;
  w->nfields = w->n = 0;
  w->out = NULL;
  hx__store_strides(t, lda, ldb, ldc, &w->gemm);
  w->by_columns = n > m;
  w->trans_a = t->trans_a;
  w->trans_b = t->trans_b;
  w->slices = empty ? 0 : w->by_columns ? n : m;
  w->needs = reads ? HX__NEED_MATMUL : 0;
  if (__builtin_mul_overflow(m, n, &w->units) || __builtin_mul_overflow(w->units, k, &w->units)) w->units = UINT64_MAX;
  return HX_OK;
}

hx_status hx__check_matmul(const struct hx_matmul_args *t, hx__work *w) {
  return check_product(t, t->m == 0 || t->n == 0, w);
}

/* Whether the last matrix of an operand ends within the address space. */
static hx_status check_matrices(const hx__matrices *x, char name) {
  const hx__matrix *const one = &x->first;
  size_t span, elements, bytes;
  if (__builtin_mul_overflow(x->count - 1, x->stride, &span) ||
      __builtin_add_overflow(span, (one->rows - 1) * one->ld + one->cols, &elements) ||
      __builtin_mul_overflow(elements, (size_t)ELEMENT, &bytes))
    REFUSE("%c of %zu matrices with stride_%c = %zu: its bytes overflow size_t", name, x->count, name, x->stride);
  if ((uintptr_t)one->base > UINTPTR_MAX - bytes)
    REFUSE("%c of %zu matrices with stride_%c = %zu: wraps the address space", name, x->count, name, x->stride);
  return HX_OK;
}

/* Checks an operand that is read, against matrices C that have been checked. */
static hx_status check_input(const hx__matrices *x, const hx__matrices *c, char name) {
  const hx_status s = check_matrices(x, name);
  if (s != HX_OK) return s;
  if (hx__batches_share(c, x))
    REFUSE("c at %p shares an element with %c at %p in one of %zu products, or lies between its matrices",
           (const void *)c->first.base, name, (const void *)x->first.base, c->count);
  return HX_OK;
}

static hx_status check_matrices_of(const hx__work *w) {
  const hx__gemm *const g = &w->gemm;
  const hx__matrices a = hx__batch_matrices(w, HX__BATCH_A), b = hx__batch_matrices(w, HX__BATCH_B);
  hx__matrices c = hx__batch_matrices(w, HX__BATCH_C);
  c.count = w->batch.count; /* also with a stride of 0, which is refused */
  hx_status s = check_matrices(&c, 'c');
  if (s != HX_OK) return s;
  if (hx__batch_shares_within(&c))
    REFUSE("stride_c is %zu: two of %zu matrices c of %zu x %zu with ldc = %zu share an element", c.stride, c.count,
           g->m, g->n, g->ldc);
  if (!w->needs) return HX_OK;
  if ((s = check_input(&a, &c, 'a')) != HX_OK) return s;
  return check_input(&b, &c, 'b');
}

/* Whether the rows of op(A) and of C go on in the next product, which has the same B; and the same for columns. */
static bool rows_go_on(const hx__work *w, size_t m) {
  const hx__gemm *const g = &w->gemm;
  const struct hx_batch *const batch = &w->batch;
  const bool of_a = batch->stride_a == g->m * g->a_rs && (!w->trans_a || m <= g->a_cs);
  return batch->stride_c == g->m * g->ldc && (!w->needs || (of_a && batch->stride_b == 0));
}
static bool columns_go_on(const hx__work *w, size_t n) {
  const hx__gemm *const g = &w->gemm;
  const struct hx_batch *const batch = &w->batch;
  const bool of_b = batch->stride_b == g->n * g->b_cs && (w->trans_b || n <= g->b_rs);
  return batch->stride_c == g->n && n <= g->ldc && (!w->needs || (of_b && batch->stride_a == 0));
}

/* Makes one product of the batch if its matrices C are the rows, or the columns, of a larger one. Elements of C do not
 * depend on one another, so the bits are the same; and one product may be shared among devices, and packs B once. */
static void join_products(hx__work *w) {
  hx__gemm *const g = &w->gemm;
  size_t m, n;
  const bool fits_m = !__builtin_mul_overflow(g->m, w->batch.count, &m),
             fits_n = !__builtin_mul_overflow(g->n, w->batch.count, &n);
  if (w->batch.count > 1) {
    if (fits_m && rows_go_on(w, m))
      g->m = m;
    else if (fits_n && columns_go_on(w, n))
      g->n = n;
    else
      return;
  }
  w->batch.count = 0;
  w->by_columns = g->n > g->m;
  w->slices = w->by_columns ? g->n : g->m;
}

hx_status hx__check_batch(const hx_task *task, hx__work *w) {
  const struct hx_matmul_args *const one = &task->matmul;
  const bool empty = task->batch.count == 0 || one->m == 0 || one->n == 0;
  hx_status s = check_product(one, empty, w);
  if (s != HX_OK) return s;
  if (empty) {
    w->units = 0;
    return HX_OK;
  }
  w->batch = task->batch;
  if (!w->needs) w->batch.stride_a = w->batch.stride_b = 0; /* A and B are not read, and may be NULL. */
  if (w->batch.count > 1) s = check_matrices_of(w);
  if (s != HX_OK) return s;
  if (__builtin_mul_overflow(w->units, (uint64_t)w->batch.count, &w->units)) w->units = UINT64_MAX;
  join_products(w);
  return HX_OK;
}
