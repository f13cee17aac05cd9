/* SPDX-License-Identifier: Apache-2.0
 * reduce_soa: several reductions in one pass. */
#include "native.h"

#include <stdlib.h>

struct fields {
  Py_ssize_t count;
  hxpy_operand *operands; /* x and y of each field */
  hx_field *rows;
  hx_value *values;
};

static void release(struct fields *f) {
  for (Py_ssize_t i = 0; f->operands && i < 2 * f->count; i++) hxpy_operand_release(&f->operands[i]);
  free(f->operands);
  free(f->rows);
  free(f->values);
}

/* An array of a field as one line; *n: its size, or -1 if no array was seen before. */
static bool get(hxpy_operand *o, PyObject *array, bool memory_order, Py_ssize_t *n) {
  Py_ssize_t stride = 1;
  if (!hxpy_operand_get(o, array, o->name)) return false;
  Py_ssize_t size = (Py_ssize_t)hxpy_operand_size(o);
  if (*n >= 0 && size != *n) {
    return hxpy_refuse("an array of %zd elements (%s) follows one of %zd: all have one size", size, o->name, *n);
  }
  *n = size;
  if (hxpy_flat(&o->view, NULL, o->view.ndim, &stride) && stride == 1) return true;
  return (memory_order && hxpy_dense(&o->view)) || hxpy_operand_copy(o, memory_order ? 'K' : 'C');
}

/* Reads (operation, x) or ("dot", x, y). */
static bool read_field(struct fields *f, Py_ssize_t i, PyObject *item, Py_ssize_t *n) {
  hx_field *row = &f->rows[i];
  hxpy_operand *x = &f->operands[2 * i], *y = x + 1;
  Py_ssize_t size = PyTuple_Check(item) ? PyTuple_Size(item) : 0;
  if (size < 2) {
    PyObject *what = PyTuple_Check(item) ? PyUnicode_FromFormat("a tuple of %zd", size) : hxpy_described(item);
    if (what) hxpy_refuse("field %zd is %U; a field is (operation, array), or ('dot', x, y)", i, what);
    Py_XDECREF(what);
    return false;
  }
  if (!hxpy_op_named(PyTuple_GetItem(item, 0), &row->op)) return false;
  Py_ssize_t arrays = row->op == HX_DOT ? 2 : 1;
  if (size != 1 + arrays) return hxpy_refuse("field %zd has %zd arrays; its operation takes %zd", i, size - 1, arrays);
  bool memory_order = arrays == 1 && row->op != HX_ARGMIN && row->op != HX_ARGMAX;
  x->name = "x of a field";
  y->name = "y of a field";
  if (!get(x, PyTuple_GetItem(item, 1), memory_order, n)) return false;
  if (arrays == 2 && !get(y, PyTuple_GetItem(item, 2), false, n)) return false;
  if (arrays == 2 && x->type != y->type) return hxpy_refuse("x and y of field %zd have different dtypes", i);
  row->type = x->type;
  row->x = x->view.buf;
  row->y = arrays == 2 ? y->view.buf : NULL;
  return true;
}

static PyObject *results(const struct fields *f) {
  PyObject *list = PyList_New(0);
  for (Py_ssize_t i = 0; list && i < f->count; i++) {
    PyObject *scalar = hxpy_scalar(hxpy_cell_of(f->rows[i].op, f->rows[i].type), &f->values[i]);
    if (!scalar || PyList_Append(list, scalar)) Py_CLEAR(list);
    Py_XDECREF(scalar);
  }
  return list;
}

static PyObject *reduce_fields(hxpy_context *c, PyObject *tuple, float share) {
  struct fields f = {.count = PyTuple_Size(tuple)};
  size_t room = (size_t)f.count + 1; /* not 0 */
  Py_ssize_t n = -1;
  f.operands = calloc(2 * room, sizeof *f.operands);
  f.rows = calloc(room, sizeof *f.rows);
  f.values = calloc(room, sizeof *f.values);
  bool ok = f.operands && f.rows && f.values;
  if (!ok) PyErr_NoMemory();
  for (Py_ssize_t i = 0; ok && i < f.count; i++) ok = read_field(&f, i, PyTuple_GetItem(tuple, i), &n);
  if (ok) {
    hx_task task = hx_reduce_soa(f.rows, (size_t)f.count, n < 0 ? 0 : (size_t)n, f.values);
    task.gpu_share = share;
    ok = hxpy_run(c, &task);
  }
  PyObject *list = ok ? results(&f) : NULL;
  release(&f);
  return list;
}

static PyObject *py_reduce_soa(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
  static const char *const names[] = {"fields", "gpu_share", "context"};
  PyObject *v[HXPY_COUNT(names)];
  float share;
  (void)module;
  if (!hxpy_arguments(&(hxpy_signature){"reduce_soa", names, 3, 1, 1}, args, nargs, kwnames, v)) return NULL;
  if (!hxpy_share(v[1], &share)) return NULL;
  PyObject *tuple = PySequence_Tuple(v[0]);
  if (!tuple) return NULL;
  hxpy_context *c = hxpy_context_enter(v[2]);
  PyObject *list = c ? reduce_fields(c, tuple, share) : NULL;
  if (c) hxpy_context_leave(c);
  Py_DECREF(tuple);
  return list;
}

PyMethodDef hxpy_soa_functions[] = {
    HXPY_FUNCTION(
        "reduce_soa", py_reduce_soa,
        "reduce_soa($module, /, fields, *, gpu_share=None, context=None)\n--\n\n"
        "Several reductions over arrays of one size, in one pass over memory.\n\n"
        "fields: an iterable of (operation, x), or of ('dot', x, y). Operations are the names of the functions:\n"
        "sum, prod, min, max, argmin, argmax, sum_abs, sum_squares, dot. x, y: float32, int32 or uint32.\n"
        "Returns a list with the scalar that the function of this name would return for each field.\n"
        "TypeError: another dtype. hx.InvalidArgument: a field is malformed, or sizes differ."),
    {NULL, NULL, 0, NULL},
};
