/* SPDX-License-Identifier: Apache-2.0
 * The functions sum, prod, min, ... dot, vdot and vecdot. */
#include "native.h"

/* What a function was called with; NULL: not given. vectors: only one-dimensional arrays are accepted. */
struct arguments {
  PyObject *a, *b, *axis, *out, *keepdims, *gpu_share, *context;
  bool vectors;
};

bool hxpy_has_value(hx_op op, const hxpy_operand *a, size_t n) {
  bool chooses = op == HX_MIN || op == HX_MAX || op == HX_ARGMIN || op == HX_ARGMAX;
  if (n || !chooses) return true;
  return hxpy_refuse("%s has shape %s: there is no element to choose from", a->name, hxpy_shape_text(&a->view));
}

bool hxpy_any_order(hx_op op, hx_type type) {
  return op == HX_MIN || op == HX_MAX || (type != HX_F32 && op != HX_ARGMIN && op != HX_ARGMAX && op != HX_DOT);
}

bool hxpy_pair_fits(const hxpy_operand *a, const hxpy_operand *b, bool vectors) {
  if (a->type != b->type) return hxpy_refuse("a and b have different dtypes");
  if (hxpy_operand_size(a) != hxpy_operand_size(b)) {
    return hxpy_refuse("a has shape %s and b has shape %s: their sizes differ", hxpy_shape_text(&a->view),
                       hxpy_shape_text(&b->view));
  }
  if (!vectors || (a->view.ndim == 1 && b->view.ndim == 1)) return true;
  return hxpy_refuse("a has shape %s and b has shape %s; dot takes vectors, hx.vdot and hx.matmul take more",
                     hxpy_shape_text(&a->view), hxpy_shape_text(&b->view));
}

/* One array as a line: in the order of memory, unless results are indices, which count in C order. */
static bool find_line(hxpy_reduction *r) {
  const bool index = r->op == HX_ARGMIN || r->op == HX_ARGMAX;
  const Py_buffer *v = &r->a.view;
  r->first = v->buf;
  if (hxpy_flat(v, NULL, v->ndim, &r->stride_a)) return true;
  if (hxpy_any_order(r->op, r->a.type) && hxpy_flat_in_any_order(v, &r->first, &r->stride_a)) return true;
  r->stride_a = 1;
  const bool dense = !index && hxpy_dense(v);
  r->in_blocks = r->may_be_in_blocks && !dense && !index && !hxpy_any_order(r->op, r->a.type);
  if (!dense && !r->in_blocks && !hxpy_operand_copy(&r->a, index ? 'C' : 'K')) return false;
  r->first = r->a.view.buf;
  return true;
}

bool hxpy_reduction_prepare(hxpy_reduction *r, hx_op op, PyObject *a, PyObject *b) {
  r->op = op;
  r->stride_a = r->stride_b = 1;
  if (!hxpy_operand_get(&r->a, a, "a")) return false;
  r->n = hxpy_operand_size(&r->a);
  if (!hxpy_has_value(op, &r->a, r->n)) return false;
  if (!b) return find_line(r);
  if (!hxpy_operand_get(&r->b, b, "b")) return false;
  if (!hxpy_pair_fits(&r->a, &r->b, false)) return false;
  if (!hxpy_flat(&r->a.view, NULL, r->a.view.ndim, &r->stride_a)) {
    r->stride_a = 1;
    if (!hxpy_operand_copy(&r->a, 'C')) return false;
  }
  if (!hxpy_flat(&r->b.view, NULL, r->b.view.ndim, &r->stride_b)) {
    r->stride_b = 1;
    if (!hxpy_operand_copy(&r->b, 'C')) return false;
  }
  r->first = r->a.view.buf;
  return true;
}

void hxpy_reduction_release(hxpy_reduction *r) {
  hxpy_operand_release(&r->a);
  hxpy_operand_release(&r->b);
}

hx_task hxpy_reduction_task(hxpy_reduction *r, float share) {
  hx_task task;
  const void *y = r->b.view.obj ? r->b.view.buf : NULL;
  if (r->stride_a == 1 && r->stride_b == 1) {
    task = hx_reduce(r->op, r->a.type, r->first, r->n, &r->value);
    task.reduce.y = y;
  } else {
    task = hx_reduce_strided(r->op, r->a.type, r->first, (size_t)r->stride_a, r->n, &r->value);
    task.lines.y = y;
    task.lines.y_stride = (size_t)r->stride_b;
  }
  task.gpu_share = share;
  return task;
}

static bool run_whole(hxpy_context *c, hxpy_reduction *r, float share) {
  if (r->in_blocks) return hxpy_reduce_array_in_blocks(c, r->op, &r->a, share, &r->value);
  hx_task task = hxpy_reduction_task(r, share);
  return hxpy_run(c, &task);
}

/* The scalar as an array of `ndim` axes of extent 1; without an axis it stays a scalar, as along axes. Takes the
 * reference to it. */
static PyObject *with_axes(PyObject *scalar, int ndim) {
  if (ndim == 0) return scalar;
  PyObject *ones = PyTuple_New(ndim);
  for (int i = 0; ones && i < ndim; i++) PyTuple_SetItem(ones, i, PyLong_FromLong(1));
  PyObject *array = scalar && ones ? PyObject_CallMethod(scalar, "reshape", "(O)", ones) : NULL;
  Py_XDECREF(ones);
  Py_XDECREF(scalar);
  return array;
}

static PyObject *reduce_whole(hxpy_context *c, hx_op op, const struct arguments *p, bool keepdims, float share) {
  hxpy_reduction r = {.may_be_in_blocks = true};
  PyObject *result = NULL;
  if (hxpy_reduction_prepare(&r, op, p->a, p->b) && (!p->vectors || hxpy_pair_fits(&r.a, &r.b, true))) {
    if (run_whole(c, &r, share)) result = hxpy_scalar(hxpy_cell_of(op, r.a.type), &r.value);
    if (result && keepdims) result = with_axes(result, r.a.view.ndim);
  }
  hxpy_reduction_release(&r);
  return result;
}

static PyObject *reduce_along(hxpy_context *c, hx_op op, const struct arguments *p, bool keepdims, float share) {
  hxpy_operand x = {0}, y = {0};
  PyObject *result = NULL;
  int axes[64];
  if (hxpy_operand_get(&x, p->a, "a") && (!p->b || hxpy_operand_get(&y, p->b, "b"))) {
    int count = hxpy_axes(p->axis, x.view.ndim, op == HX_ARGMIN || op == HX_ARGMAX, axes);
    if (count >= 0) result = hxpy_reduce_axes(c, op, &x, p->b ? &y : NULL, axes, count, keepdims, share);
  }
  hxpy_operand_release(&x);
  hxpy_operand_release(&y);
  return result;
}

static PyObject *reduce(hx_op op, const struct arguments *p) {
  float share;
  int keepdims = p->keepdims ? PyObject_IsTrue(p->keepdims) : 0;
  if (keepdims < 0 || !hxpy_share(p->gpu_share, &share)) return NULL;
  hxpy_context *c = hxpy_context_enter(p->context);
  if (!c) return NULL;
  PyObject *result = p->axis ? reduce_along(c, op, p, keepdims, share) : reduce_whole(c, op, p, keepdims, share);
  hxpy_context_leave(c);
  if (!result || !p->out) return result;
  PyObject *out = PyObject_CallFunctionObjArgs(hxpy_py.assign, p->out, result, NULL);
  Py_DECREF(result);
  return out;
}

static PyObject *reduce_one(const char *name, hx_op op, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
  static const char *const names[] = {"a", "axis", "out", "keepdims", "gpu_share", "context"};
  PyObject *v[HXPY_COUNT(names)];
  if (!hxpy_arguments(&(hxpy_signature){name, names, 6, 4, 1}, args, nargs, kwnames, v)) return NULL;
  return reduce(op, &(struct arguments){
                        .a = v[0], .axis = v[1], .out = v[2], .keepdims = v[3], .gpu_share = v[4], .context = v[5]});
}

static PyObject *reduce_pairs(const char *name, bool vectors, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames) {
  static const char *const names[] = {"a", "b", "gpu_share", "context"};
  PyObject *v[HXPY_COUNT(names)];
  if (!hxpy_arguments(&(hxpy_signature){name, names, 4, 2, 2}, args, nargs, kwnames, v)) return NULL;
  return reduce(HX_DOT,
                &(struct arguments){.a = v[0], .b = v[1], .vectors = vectors, .gpu_share = v[2], .context = v[3]});
}

static PyObject *py_dot(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
  (void)module;
  return reduce_pairs("dot", true, args, nargs, kwnames);
}

static PyObject *py_vdot(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
  (void)module;
  return reduce_pairs("vdot", false, args, nargs, kwnames);
}

#define AXIS_SIGNATURE "($module, /, a, axis=None, out=None, keepdims=False, *, gpu_share=None, context=None)\n--\n\n"
#define ARGUMENTS                                                                           \
  "\n\na: array of float32, int32 or uint32, of any shape and strides.\n"                   \
  "axis: None for all elements, an integer, or a tuple of integers.\n"                      \
  "out: array of the result's shape and dtype that gets the result, and is returned.\n"     \
  "keepdims: reduced axes stay, with extent 1.\n"                                           \
  "gpu_share: fraction of the work for devices other than the CPU; None leaves it to hx.\n" \
  "Returns a NumPy scalar, or with axis an array of the shape without the reduced axes.\n"  \
  "TypeError: a has another dtype. hx.InvalidArgument: an axis or out does not fit"
#define EMPTY ",\nor there is no element to choose from."

/* name, operation, what the docstring says. */
#define OPERATIONS(X)                                                                                                 \
  X(sum, HX_SUM,                                                                                                      \
    "Sum of the elements. float32 gives float32, int32 gives int64, uint32 gives uint64 (modulo 2^64). Bits of\n"     \
    "float32 sums do not depend on the machine; without axis the elements are added in the order of\n"                \
    "numpy.array(a, order='K') in memory." ARGUMENTS ".")                                                             \
  X(prod, HX_PROD, "Product of the elements; dtypes and order as for sum." ARGUMENTS ".")                             \
  X(min, HX_MIN, "Least element, NaN if there is one." ARGUMENTS EMPTY)                                               \
  X(max, HX_MAX, "Greatest element, NaN if there is one." ARGUMENTS EMPTY)                                            \
  X(argmin, HX_ARGMIN,                                                                                                \
    "Lowest index of a least element, or of the first NaN; without axis an index into a.ravel()." ARGUMENTS EMPTY)    \
  X(argmax, HX_ARGMAX,                                                                                                \
    "Lowest index of a greatest element, or of the first NaN; without axis an index into a.ravel()." ARGUMENTS EMPTY) \
  X(sum_abs, HX_SUM_ABS, "Sum of the absolute values; dtypes and order as for sum." ARGUMENTS ".")                    \
  X(sum_squares, HX_SUM_SQUARES, "Sum of the squares; dtypes and order as for sum." ARGUMENTS ".")

#define DEFINE(name, op, doc)                                                                                \
  static PyObject *py_##name(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) { \
    (void)module;                                                                                            \
    return reduce_one(#name, op, args, nargs, kwnames);                                                      \
  }
OPERATIONS(DEFINE)

static PyObject *py_vecdot(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
  static const char *const names[] = {"a", "b", "axis", "gpu_share", "context"};
  PyObject *v[HXPY_COUNT(names)];
  (void)module;
  if (!hxpy_arguments(&(hxpy_signature){"vecdot", names, 5, 3, 2}, args, nargs, kwnames, v)) return NULL;
  PyObject *last = v[2] ? NULL : PyLong_FromLong(-1);
  PyObject *result =
      reduce(HX_DOT,
             &(struct arguments){.a = v[0], .b = v[1], .axis = last ? last : v[2], .gpu_share = v[3], .context = v[4]});
  Py_XDECREF(last);
  return result;
}

bool hxpy_op_named(PyObject *name, hx_op *op) {
#define ROW(name, op, doc) {#name, op},
  static const struct {
    const char *name;
    hx_op op;
  } rows[] = {OPERATIONS(ROW){"dot", HX_DOT}};
  for (Py_ssize_t i = 0; PyUnicode_Check(name) && i < HXPY_COUNT(rows); i++) {
    if (PyUnicode_CompareWithASCIIString(name, rows[i].name) == 0) return *op = rows[i].op, true;
  }
  PyObject *what = hxpy_described(name);
  if (what) {
    hxpy_refuse("there is no operation %U; accepted: sum, prod, min, max, argmin, argmax, sum_abs, sum_squares, dot",
                what);
  }
  Py_XDECREF(what);
  return false;
}

#define METHOD(name, op, doc) HXPY_FUNCTION(#name, py_##name, #name AXIS_SIGNATURE doc),
PyMethodDef hxpy_reduce_functions[] = {
    HXPY_FUNCTION("dot", py_dot,
                  "dot($module, /, a, b, *, gpu_share=None, context=None)\n--\n\n"
                  "Sum of a[i] * b[i] of two vectors.\n\n"
                  "a, b: one-dimensional arrays of one dtype and size.\n"
                  "Returns float32 of float32, int64 of int32, uint64 of uint32.\n"
                  "TypeError: another dtype. hx.InvalidArgument: dtypes, sizes or dimensions do not fit."),
    HXPY_FUNCTION("vdot", py_vdot,
                  "vdot($module, /, a, b, *, gpu_share=None, context=None)\n--\n\n"
                  "Sum of a[i] * b[i] over all elements in C order.\n\n"
                  "a, b: arrays of one dtype and of equal size.\n"
                  "Returns float32 of float32, int64 of int32, uint64 of uint32.\n"
                  "TypeError: another dtype. hx.InvalidArgument: dtypes or sizes differ."),
    HXPY_FUNCTION("vecdot", py_vecdot,
                  "vecdot($module, /, a, b, axis=-1, *, gpu_share=None, context=None)\n--\n\n"
                  "Sum of a[i] * b[i] along an axis.\n\n"
                  "a, b: arrays of one dtype and of one shape.\n"
                  "Returns an array of that shape without the axis; a scalar if both have one dimension.\n"
                  "TypeError: another dtype. hx.InvalidArgument: dtypes or shapes differ."),
    OPERATIONS(METHOD){NULL, NULL, 0, NULL},
};
