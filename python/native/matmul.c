/* SPDX-License-Identifier: Apache-2.0
 * matmul: the strides of its arrays become transposes, leading dimensions and the distance of matrices of a batch. */
#include <math.h>
#include <string.h>

#include "native.h"

/* A matrix, or several: the last two axes of an array, which in a vector lack one. The others number the matrices. */
struct matrices {
  int leading;
  Py_ssize_t count, shape[2], strides[2]; /* strides in elements */
};

/* is_row, is_column: a vector that is one. */
static struct matrices matrices_of(const Py_buffer *v, bool is_row, bool is_column) {
  struct matrices m = {.leading = v->ndim - 2 + is_row + is_column, .count = 1, .shape = {1, 1}};
  for (int i = 0; i < m.leading; i++) m.count *= v->shape[i];
  int axis = m.leading;
  if (!is_row) m.shape[0] = v->shape[axis], m.strides[0] = v->strides[axis++] / 4;
  if (!is_column) m.shape[1] = v->shape[axis], m.strides[1] = v->strides[axis] / 4;
  return m;
}

/* A matrix with elements side by side in its rows, or in its columns (`trans`), or matrices of a batch `stride`
 * elements apart (0: one for all). */
struct layout {
  size_t ld;
  bool trans;
  size_t stride;
};

/* The elements from one matrix to the next; false: they differ, or are negative. */
static bool find_distance(const Py_buffer *v, int leading, Py_ssize_t *distance) {
  Py_ssize_t next = 0;
  bool first = true;
  *distance = 0;
  for (int i = leading; i-- > 0;) {
    if (v->shape[i] == 1) continue;
    if (!first && v->strides[i] != next) return false;
    if (first) *distance = v->strides[i] / 4;
    first = false;
    next = v->strides[i] * v->shape[i];
  }
  return *distance >= 0;
}

static bool layout_of(const Py_buffer *v, const struct matrices *m, struct layout *l) {
  Py_ssize_t rows = m->shape[0], cols = m->shape[1], apart;
  Py_ssize_t down = rows > 1 ? m->strides[0] : cols, across = cols > 1 ? m->strides[1] : 1;
  if (v->len == 0) return *l = (struct layout){0, false, 0}, true;
  if (!find_distance(v, m->leading, &apart)) return false;
  if (across == 1 && down >= cols) return *l = (struct layout){(size_t)down, false, (size_t)apart}, true;
  down = rows > 1 ? m->strides[0] : 1;
  across = cols > 1 ? m->strides[1] : rows;
  if (down == 1 && across >= rows) return *l = (struct layout){(size_t)across, true, (size_t)apart}, true;
  return false;
}

static bool is_float(const hxpy_operand *o) {
  if (o->type == HX_F32) return true;
  PyErr_Format(PyExc_TypeError, "%s is %s; matmul takes float32", o->name, o->type == HX_I32 ? "int32" : "uint32");
  return false;
}

static bool get_input(hxpy_operand *o, PyObject *object, const char *name, struct matrices *m, struct layout *l) {
  const bool is_a = *name == 'a';
  if (!hxpy_operand_get(o, object, name) || !is_float(o)) return false;
  if (o->view.ndim == 0) return hxpy_refuse("%s has shape (); matmul takes vectors and matrices", name);
  const bool is_vector = o->view.ndim == 1;
  *m = matrices_of(&o->view, is_vector && is_a, is_vector && !is_a);
  if (layout_of(&o->view, m, l)) return true;
  if (!hxpy_operand_copy(o, 'C')) return false;
  *m = matrices_of(&o->view, is_vector && is_a, is_vector && !is_a);
  return layout_of(&o->view, m, l);
}

/* Whether the matrices of the product are numbered as those of a, and not as those of b. */
static bool is_like_a(const struct matrices *a, const struct matrices *b) {
  return a->count != 1 || (b->count == 1 && a->leading > b->leading);
}

/* The shape of the product: the axes that number its matrices, then rows and columns, unless a or b is a vector. */
static int shape_of(const hxpy_product *p, const struct matrices *a, const struct matrices *b, Py_ssize_t *shape) {
  const bool from_a = is_like_a(a, b);
  int ndim = 0;
  for (int i = 0; i < (from_a ? a : b)->leading; i++) shape[ndim++] = (from_a ? &p->a : &p->b)->view.shape[i];
  if (p->a.view.ndim > 1) shape[ndim++] = a->shape[0];
  if (p->b.view.ndim > 1) shape[ndim++] = b->shape[1];
  return ndim;
}

/* A new array, or the caller's. */
static bool get_output(hxpy_product *p, PyObject *out, int ndim, const Py_ssize_t *shape, struct layout *l) {
  const bool is_row = p->a.view.ndim == 1, is_column = p->b.view.ndim == 1;
  p->out = out ? Py_NewRef(out) : hxpy_array(HXPY_FLOAT32, ndim, shape);
  if (!p->out || !hxpy_operand_get_output(&p->c, p->out, "out") || !is_float(&p->c)) return false;
  const Py_buffer *v = &p->c.view;
  if (v->ndim != ndim || (ndim && memcmp(v->shape, shape, (size_t)ndim * sizeof *shape) != 0)) {
    Py_buffer wanted = *v;
    wanted.ndim = ndim;
    wanted.shape = (Py_ssize_t *)shape;
    return hxpy_refuse("out has shape %s; the product has shape %s", hxpy_shape_text(v), hxpy_shape_text(&wanted));
  }
  const struct matrices c = matrices_of(v, is_row, is_column);
  if (layout_of(v, &c, l)) return true;
  Py_ssize_t distance;
  if (c.leading == 1 && !find_distance(v, 1, &distance)) {
    return hxpy_refuse("out has a stride of %zd bytes from matrix to matrix; it has to be positive", v->strides[0]);
  }
  if (!find_distance(v, c.leading, &distance)) {
    return hxpy_refuse("the matrices of out are not equally far apart in the order of memory");
  }
  if (is_row || is_column)
    return hxpy_refuse("out has a stride of %zd bytes; it has to be positive", v->strides[ndim - 1]);
  return hxpy_refuse("out has strides (%zd, %zd) bytes; its rows or its columns have to be contiguous and apart",
                     v->strides[ndim - 2], v->strides[ndim - 1]);
}

static bool number(PyObject *value, const char *name, float otherwise, float *result) {
  double d = value ? PyFloat_AsDouble(value) : otherwise;
  if (value && d == -1.0 && PyErr_Occurred()) {
    /* The text of an integer that has no double may be thousands of digits long. */
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) return hxpy_refuse("%s does not fit float32", name);
    PyErr_Format(PyExc_TypeError, "%s is %R; it is a number", name, value);
    return false;
  }
  *result = (float)d;
  return isfinite(*result) || !isfinite(d) || hxpy_refuse("%s is %R; it does not fit float32", name, value);
}

static const char *const names[] = {"a", "b", "out", "alpha", "beta", "gpu_share", "context"};
const hxpy_signature hxpy_product_signature = {"matmul", names, 7, 5, 2};

/* An out whose columns are contiguous is a product of the transposes: out^T = b^T a^T. It has the same bits, because
 * each element is the same chain of fma, which do not change if their factors are swapped. */
static void swap(hx_task *task) {
  struct hx_matmul_args *t = &task->matmul;
  size_t stride_a = task->batch.stride_a;
  task->batch.stride_a = task->batch.stride_b;
  task->batch.stride_b = stride_a;
  *t = (struct hx_matmul_args){.m = t->n,
                               .n = t->m,
                               .k = t->k,
                               .a = t->b,
                               .lda = t->ldb,
                               .trans_a = !t->trans_b,
                               .b = t->a,
                               .ldb = t->lda,
                               .trans_b = !t->trans_a,
                               .c = t->c,
                               .ldc = t->ldc,
                               .alpha = t->alpha,
                               .beta = t->beta};
}

/* The number of products: as many as there are matrices in a or b. One matrix serves all. */
static bool set_count(hxpy_product *p, const struct matrices *a, const struct matrices *b) {
  const Py_buffer *x = &p->a.view, *y = &p->b.view;
  if (a->leading == 0 && b->leading == 0) return true;
  const bool one = a->count == 1 || b->count == 1;
  if (!one && a->count != b->count) {
    return hxpy_refuse("a has shape %s and b has shape %s: a has %zd matrices and b has %zd", hxpy_shape_text(x),
                       hxpy_shape_text(y), a->count, b->count);
  }
  const bool fits =
      one ? (is_like_a(a, b) ? a->leading >= b->leading : b->leading >= a->leading)
          : a->leading == b->leading && memcmp(x->shape, y->shape, (size_t)a->leading * sizeof *x->shape) == 0;
  if (!fits) {
    return hxpy_refuse("a has shape %s and b has shape %s: axes before the last two differ", hxpy_shape_text(x),
                       hxpy_shape_text(y));
  }
  p->task.kind = HX_MATMUL_BATCHED;
  p->task.batch.count = (size_t)(a->count == 1 ? b->count : a->count);
  return true;
}

bool hxpy_product_prepare(hxpy_product *p, PyObject *const *values) {
  struct matrices in_a = {0}, in_b = {0};
  struct layout a, b, c;
  Py_ssize_t shape[PyBUF_MAX_NDIM];
  if (!get_input(&p->a, values[0], "a", &in_a, &a) || !get_input(&p->b, values[1], "b", &in_b, &b)) return false;
  if (in_a.shape[1] != in_b.shape[0]) {
    return hxpy_refuse("a has shape %s and b has shape %s: a has %zd columns and b has %zd rows",
                       hxpy_shape_text(&p->a.view), hxpy_shape_text(&p->b.view), in_a.shape[1], in_b.shape[0]);
  }
  p->task = hx_matmul((size_t)in_a.shape[0], (size_t)in_b.shape[1], (size_t)in_a.shape[1], p->a.view.buf, p->b.view.buf,
                      NULL);
  struct hx_matmul_args *t = &p->task.matmul;
  if (!set_count(p, &in_a, &in_b)) return false;
  if (!number(values[3], "alpha", 1.0f, &t->alpha) || !number(values[4], "beta", 0.0f, &t->beta) ||
      !hxpy_share(values[5], &p->task.gpu_share)) {
    return false;
  }
  if (!values[2] && t->beta != 0.0f) return hxpy_refuse("beta is %R, and there is no out to add to", values[4]);
  const int ndim = shape_of(p, &in_a, &in_b, shape);
  p->is_scalar = ndim == 0 && !values[2];
  if (!get_output(p, values[2], ndim, shape, &c)) return false;
  t->lda = a.ld;
  t->ldb = b.ld;
  t->ldc = c.ld;
  t->trans_a = a.trans;
  t->trans_b = b.trans;
  t->c = p->c.view.buf;
  if (p->task.kind == HX_MATMUL_BATCHED) {
    p->task.batch.stride_a = a.stride;
    p->task.batch.stride_b = b.stride;
    p->task.batch.stride_c = c.stride;
  }
  if (c.trans) swap(&p->task);
  return true;
}

PyObject *hxpy_product_result(const hxpy_product *p) {
  return p->is_scalar ? PyObject_GetItem(p->out, hxpy_py.no_indices) : Py_NewRef(p->out);
}

void hxpy_product_explain(const hxpy_product *p) {
  if (!PyErr_ExceptionMatches(PyTuple_GetItem(hxpy_py.errors, HX_INVALID_ARGUMENT))) return;
  const char *name = hxpy_overlap(&p->a, &p->c) ? "a" : hxpy_overlap(&p->b, &p->c) ? "b" : NULL;
  if (name) {
    hxpy_refuse("out shares elements with %s", name);
  } else if (p->task.kind == HX_MATMUL_BATCHED) {
    hxpy_refuse("out has a stride of %zd bytes from matrix to matrix: its matrices share elements",
                p->c.view.strides[0]);
  }
}

void hxpy_product_release(hxpy_product *p) {
  hxpy_operand_release(&p->a);
  hxpy_operand_release(&p->b);
  hxpy_operand_release(&p->c);
  Py_CLEAR(p->out);
}

static PyObject *py_matmul(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
  PyObject *v[HXPY_COUNT(names)];
  (void)module;
  if (!hxpy_arguments(&hxpy_product_signature, args, nargs, kwnames, v)) return NULL;
  hxpy_context *context = hxpy_context_enter(v[6]);
  if (!context) return NULL;
  hxpy_product p = {0};
  PyObject *out = NULL;
  if (hxpy_product_prepare(&p, v)) {
    if (hxpy_run(context, &p.task))
      out = hxpy_product_result(&p);
    else
      hxpy_product_explain(&p);
  }
  hxpy_product_release(&p);
  hxpy_context_leave(context);
  return out;
}

PyMethodDef hxpy_matmul_functions[] = {
    HXPY_FUNCTION(
        "matmul", py_matmul,
        "matmul($module, /, a, b, out=None, alpha=1, beta=0, *, gpu_share=None, context=None)\n--\n\n"
        "Matrix product: out = alpha * a @ b + beta * out.\n\n"
        "a: float32 of shape (m, k). b: float32 of shape (k, n). Transposed views and views of whole columns or\n"
        "rows are not copied; other strides are. A vector is a row if it is a, a column if it is b, and the product\n"
        "lacks this axis, as in NumPy: two vectors give a scalar.\n"
        "A batch: a of shape (..., m, k), b of shape (..., k, n), with the same axes before the last two; or one of\n"
        "them is a single matrix, which then serves all products. out has shape (..., m, n).\n"
        "out: float32 of the product's shape that gets the result, or None for a new array. Rows or columns have to\n"
        "be contiguous. It may not overlap a or b.\n"
        "beta: with 0 the old out is not read.\n"
        "gpu_share: fraction of the work for devices other than the CPU; None leaves it to hx.\n"
        "Returns out. The bits do not depend on devices, threads or strides.\n"
        "TypeError: another dtype. hx.InvalidArgument: shapes or strides do not fit, or out overlaps a or b."),
    {NULL, NULL, 0, NULL},
};
