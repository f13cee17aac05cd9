/* SPDX-License-Identifier: Apache-2.0
 * The arrays of a task, and the mode in which a device reaches a range: HX_MEMORY if the device can serve it for that
 * memory, otherwise the first mode in which the device accesses it in place, otherwise copy. */
#include "runtime/memory/range.h"

uint64_t hx__next_version(void) {
  static _Atomic uint64_t last;
  return atomic_fetch_add(&last, 1) + 1;
}

static bool has_mode(const hx__device *d, hx__memory_mode mode) { return (d->modes & 1u << mode) != 0; }
static bool has_zero_copy(const hx__device *d, hx__memory_mode mode) { return (d->zero_copy & 1u << mode) != 0; }

/* The mode for memory that the device has not allocated. */
static hx__memory_mode foreign_mode(const hx__memory *m, const hx__device *d) {
  static const hx__memory_mode any[] = {HX__MEMORY_SVM_SYSTEM, HX__MEMORY_HOSTPTR};
  for (size_t i = 0; i < sizeof any / sizeof any[0]; i++) {
    if (m->forced_mode == any[i] && has_mode(d, any[i])) return any[i];
    if (m->forced_mode == HX__MEMORY_AUTO && has_zero_copy(d, any[i])) return any[i];
  }
  return HX__MEMORY_COPY;
}

hx__memory_mode hx__mode_of(const hx__memory *m, const hx__device *d, const hx__range *r) {
  const bool own = r && r->block && r->device == d;
  if (!own || (m->forced_mode != HX__MEMORY_AUTO && m->forced_mode != r->mode)) return foreign_mode(m, d);
  return r->mode;
}

size_t hx__memory_arrays(const hx__work *w) {
  return w->kernel ? w->kernel->expr.inputs : w->matmul ? HX__PRODUCT_ARRAYS : 2 * w->nfields;
}

/* The matrices of a batch as one row, with the gaps between them. */
static hx__array array_of_matrices(const hx__work *w, unsigned which) {
  const hx__matrices x = hx__batch_matrices(w, which);
  const size_t extent = hx__matrices_extent(&x, x.count);
  return (hx__array){.p = x.first.base, .rows = 1, .cols = extent, .ld = extent};
}

hx__array hx__array_of(const hx__work *w, size_t index) {
  if (w->by_products) return array_of_matrices(w, index == 0 ? HX__BATCH_A : HX__BATCH_B);
  if (w->matmul) {
    const hx__gemm *const g = &w->gemm;
    if (index == 0)
      return (hx__array){.p = g->a,
                         .rows = w->trans_a ? g->k : g->m,
                         .cols = w->trans_a ? g->m : g->k,
                         .ld = w->trans_a ? g->a_cs : g->a_rs};
    return (hx__array){.p = g->b,
                       .rows = w->trans_b ? g->n : g->k,
                       .cols = w->trans_b ? g->k : g->n,
                       .ld = w->trans_b ? g->b_cs : g->b_rs};
  }
  if (w->kernel) {
    const hx__matrix m = hx__input_matrix(w, index);
    return (hx__array){.p = m.base, .rows = m.rows, .cols = m.cols, .ld = m.ld};
  }
  const hx_field *const field = &w->fields[index / 2];
  if (w->by_lines) {
    const hx__matrix m = hx__lines_matrix(w, index % 2 && field->op == HX_DOT);
    return (hx__array){.p = m.base, .rows = m.rows, .cols = m.cols, .ld = m.ld};
  }
  const void *const p = index % 2 && field->op == HX_DOT ? field->y : field->x;
  return (hx__array){.p = p, .rows = 1, .cols = w->n, .ld = w->n};
}

bool hx__c_has_gaps(const hx__work *w) {
  const hx__gemm *const g = &w->gemm;
  return w->by_products && (g->ldc != g->n || w->batch.stride_c != g->m * g->n);
}

hx__array hx__array_of_c(const hx__work *w) {
  if (w->by_products && hx__c_has_gaps(w)) return array_of_matrices(w, HX__BATCH_C);
  if (w->by_products) {
    const size_t n = w->gemm.n;
    return (hx__array){.p = w->gemm.c, .rows = w->gemm.m * w->slices, .cols = n, .ld = n};
  }
  return (hx__array){.p = w->gemm.c, .rows = w->gemm.m, .cols = w->gemm.n, .ld = w->gemm.ldc};
}

hx__array hx__array_of_output(const hx__work *w, unsigned output) {
  if (w->map) return (hx__array){.p = w->output[output], .rows = w->units / w->cols, .cols = w->cols, .ld = w->ld_out};
  if (w->matmul) return hx__array_of_c(w);
  const size_t words = hx__work_values(w) * sizeof(hx_value) / sizeof(uint32_t);
  return (hx__array){.p = w->out, .rows = 1, .cols = words, .ld = words};
}

static bool bytes_overlap(const void *x, size_t xb, const void *y, size_t yb) {
  return (uintptr_t)x < (uintptr_t)y + yb && (uintptr_t)y < (uintptr_t)x + xb;
}

/* Bytes from the first matrix of a batch to the last one; 0 if there is no batch. */
static size_t batch_span(const hx__work *w, size_t stride) {
  return w->batch.count && !w->by_products ? (w->batch.count - 1) * stride * sizeof(float) : 0;
}

static bool product_overlaps(const hx__work *w, const void *p, size_t bytes) {
  const hx__array a = hx__array_of(w, 0), b = hx__array_of(w, 1), c = hx__array_of_c(w);
  const struct hx_batch *const s = &w->batch;
  return bytes_overlap(c.p, hx__array_bytes(&c) + batch_span(w, s->stride_c), p, bytes) ||
         bytes_overlap(a.p, hx__array_bytes(&a) + batch_span(w, s->stride_a), p, bytes) ||
         bytes_overlap(b.p, hx__array_bytes(&b) + batch_span(w, s->stride_b), p, bytes);
}

bool hx__memory_task_overlaps(const hx__work *w, const void *p, size_t bytes) {
  if (w->matmul) return product_overlaps(w, p, bytes);
  for (unsigned o = 0; o < hx__work_outputs(w); o++) {
    const hx__array out = hx__array_of_output(w, o);
    if (bytes_overlap(out.p, hx__array_bytes(&out), p, bytes)) return true;
  }
  for (size_t i = 0, n = hx__memory_arrays(w); i < n; i++) {
    const hx__array a = hx__array_of(w, i);
    if (bytes_overlap(a.p, hx__array_bytes(&a), p, bytes)) return true;
  }
  return false;
}
