/* SPDX-License-Identifier: Apache-2.0
 * matmul: the strides of its arrays become transposes, leading dimensions and the distance of matrices of a batch. */
#include <math.h>
#include <string.h>

#include "native.h"

/* A matrix with elements side by side in its rows, or in its columns (`trans`), or matrices of a batch `stride`
 * elements apart (0: one for all). */
struct layout {
  size_t ld;
  bool trans;
  size_t stride;
};

static bool layout_of(const Py_buffer *v, struct layout *l) {
  const Py_ssize_t *shape = v->shape + v->ndim - 2, *strides = v->strides + v->ndim - 2;
  Py_ssize_t rows = shape[0], cols = shape[1], apart = v->ndim > 2 && v->shape[0] > 1 ? v->strides[0] / 4 : 0;
  Py_ssize_t down = rows > 1 ? strides[0] / 4 : cols, across = cols > 1 ? strides[1] / 4 : 1;
  if (v->len == 0) return *l = (struct layout){0, false, 0}, true;
  if (apart < 0) return false;
  if (across == 1 && down >= cols) return *l = (struct layout){(size_t)down, false, (size_t)apart}, true;
  down = rows > 1 ? strides[0] / 4 : 1;
  across = cols > 1 ? strides[1] / 4 : rows;
  if (down == 1 && across >= rows) return *l = (struct layout){(size_t)across, true, (size_t)apart}, true;
  return false;
}

static bool check(const hxpy_operand *o) {
  if (o->type != HX_F32) {
    PyErr_Format(PyExc_TypeError, "%s is %s; matmul takes float32", o->name, o->type == HX_I32 ? "int32" : "uint32");
    return false;
  }
  if (o->view.ndim == 2 || o->view.ndim == 3) return true;
  return hxpy_refuse("%s has shape %s; matmul takes two dimensions, or three for a batch", o->name,
                     hxpy_shape_text(&o->view));
}

static bool get_input(hxpy_operand *o, PyObject *object, const char *name, struct layout *l) {
  if (!hxpy_operand_get(o, object, name) || !check(o)) return false;
  return layout_of(&o->view, l) || (hxpy_operand_copy(o, 'C') && layout_of(&o->view, l));
}

/* A new array, or the caller's. */
static bool get_output(hxpy_product *p, PyObject *out, struct layout *l) {
  const struct hx_matmul_args *t = &p->task.matmul;
  Py_ssize_t all[] = {(Py_ssize_t)p->task.batch.count, (Py_ssize_t)t->m, (Py_ssize_t)t->n};
  int ndim = p->task.kind == HX_MATMUL_BATCHED ? 3 : 2;
  const Py_ssize_t *shape = all + 3 - ndim;
  if (!out) {
    p->out = hxpy_array(HXPY_FLOAT32, ndim, shape);
    *l = (struct layout){t->n, false, t->m * t->n};
    return p->out && hxpy_operand_get_output(&p->c, p->out, "out");
  }
  Py_INCREF(out);
  p->out = out;
  if (!hxpy_operand_get_output(&p->c, out, "out") || !check(&p->c)) return false;
  const Py_buffer *v = &p->c.view;
  if (v->ndim != ndim || memcmp(v->shape, shape, (size_t)ndim * sizeof *shape) != 0) {
    if (ndim == 2) {
      return hxpy_refuse("out has shape %s; the product has shape (%zd, %zd)", hxpy_shape_text(v), shape[0], shape[1]);
    }
    return hxpy_refuse("out has shape %s; the products have shape (%zd, %zd, %zd)", hxpy_shape_text(v), all[0], all[1],
                       all[2]);
  }
  if (layout_of(v, l)) return true;
  if (ndim == 3 && all[0] > 1 && v->strides[0] < 0) {
    return hxpy_refuse("out has a stride of %zd bytes from matrix to matrix; it has to be positive", v->strides[0]);
  }
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

/* The number of products: as many as there are matrices in an operand of three dimensions. One matrix serves all. */
static bool set_count(hxpy_product *p) {
  const Py_buffer *a = &p->a.view, *b = &p->b.view;
  if (a->ndim == 2 && b->ndim == 2) return true;
  Py_ssize_t in_a = a->ndim == 3 ? a->shape[0] : 1, in_b = b->ndim == 3 ? b->shape[0] : 1;
  if (in_a != in_b && in_a != 1 && in_b != 1) {
    return hxpy_refuse("a has shape %s and b has shape %s: a has %zd matrices and b has %zd", hxpy_shape_text(a),
                       hxpy_shape_text(b), in_a, in_b);
  }
  p->task.kind = HX_MATMUL_BATCHED;
  p->task.batch.count = (size_t)(in_a == 1 ? in_b : in_a);
  return true;
}

bool hxpy_product_prepare(hxpy_product *p, PyObject *const *values) {
  struct layout a, b, c;
  if (!get_input(&p->a, values[0], "a", &a) || !get_input(&p->b, values[1], "b", &b)) return false;
  const Py_ssize_t *shape_a = p->a.view.shape + p->a.view.ndim - 2, *shape_b = p->b.view.shape + p->b.view.ndim - 2;
  if (shape_a[1] != shape_b[0]) {
    return hxpy_refuse("a has shape %s and b has shape %s: a has %zd columns and b has %zd rows",
                       hxpy_shape_text(&p->a.view), hxpy_shape_text(&p->b.view), shape_a[1], shape_b[0]);
  }
  p->task = hx_matmul((size_t)shape_a[0], (size_t)shape_b[1], (size_t)shape_a[1], p->a.view.buf, p->b.view.buf, NULL);
  struct hx_matmul_args *t = &p->task.matmul;
  if (!set_count(p)) return false;
  if (!number(values[3], "alpha", 1.0f, &t->alpha) || !number(values[4], "beta", 0.0f, &t->beta) ||
      !hxpy_share(values[5], &p->task.gpu_share)) {
    return false;
  }
  if (!values[2] && t->beta != 0.0f) return hxpy_refuse("beta is %R, and there is no out to add to", values[4]);
  if (!get_output(p, values[2], &c)) return false;
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
      out = Py_NewRef(p.out);
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
        "rows are not copied; other strides are.\n"
        "A batch: a of shape (count, m, k), b of shape (count, k, n), or one of them with two dimensions, which then\n"
        "serves all products; out has shape (count, m, n).\n"
        "out: float32 of shape (m, n) that gets the result, or None for a new array. Rows or columns have to be\n"
        "contiguous. It may not overlap a or b.\n"
        "beta: with 0 the old out is not read.\n"
        "gpu_share: fraction of the work for devices other than the CPU; None leaves it to hx.\n"
        "Returns out. The bits do not depend on devices, threads or strides.\n"
        "TypeError: another dtype. hx.InvalidArgument: shapes or strides do not fit, or out overlaps a or b."),
    {NULL, NULL, 0, NULL},
};
