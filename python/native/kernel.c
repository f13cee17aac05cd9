/* SPDX-License-Identifier: Apache-2.0
 * The type hx._native.Kernel: a user kernel (hx_map.h), from which hx.Kernel is derived. */
#include "kernel.h"

#include <string.h>

/* Arrays of one call, as rows of their last axis. They do not move, because operands may not. */
struct call {
  hxpy_operand in[HX_MAX_INPUTS], out;
  const void *inputs[HX_MAX_INPUTS];
  size_t ld[HX_MAX_INPUTS];    /* 0: one row for all */
  bool per_row[HX_MAX_INPUTS]; /* inputs that have one value for each row */
  const hxpy_operand *shaped;  /* has the shape of the results: the input with rows with the most axes, or else out */
  size_t rows, cols, ld_out;
};

/* Kernel(text, inputs, parameters, context, what they declare: two tuples for hxpy_kernel_declare; counts) */
static PyObject *kernel_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  hx_kernel_source source = {0};
  PyObject *context, *inputs, *parameters;
  int counts;
  (void)keywords; /* those of hx.Kernel */
  if (!PyArg_ParseTuple(args, "szzOO!O!p", &source.text, &source.inputs, &source.parameters, &context, &PyTuple_Type,
                        &inputs, &PyTuple_Type, &parameters, &counts)) {
    return NULL;
  }
  hxpy_context *c = hxpy_context_enter(context == Py_None ? NULL : context);
  if (!c) return NULL;
  hxpy_kernel *k = (hxpy_kernel *)PyType_GenericAlloc(type, 0);
  hx_status s = k ? hx_compile(c->hx, &source, &k->kernel) : HX_OK;
  if (s != HX_OK) hxpy_fail(s);
  hxpy_context_leave(c);
  if (k) k->counts = counts;
  if (k && (s != HX_OK || !hxpy_kernel_declare(k, inputs, parameters))) Py_CLEAR(k);
  return (PyObject *)k;
}

static void kernel_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  hxpy_kernel *k = (hxpy_kernel *)self;
  hx_kernel_free(k->kernel);
  hxpy_kernel_forget(k);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

static bool same_shape(const Py_buffer *a, const Py_buffer *b) {
  return a->ndim == b->ndim && (a->ndim == 0 || memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0);
}

static const char *type_name(hx_type t) { return t == HX_F32 ? "float32" : t == HX_I32 ? "int32" : "uint32"; }

static bool has_type(const hxpy_operand *o, hx_type type) {
  if (o->type == type) return true;
  PyErr_Format(PyExc_TypeError, "%s is %s; the kernel has %s there", o->name, type_name(o->type), type_name(type));
  return false;
}

/* The elements from row to row. 0: the array has to be copied. */
static size_t row_distance(const hxpy_operand *o, size_t rows, size_t cols) {
  int axes[PyBUF_MAX_NDIM];
  const Py_buffer *v = &o->view;
  Py_ssize_t stride;
  if (hxpy_contiguous(o)) return cols;
  if (v->ndim < 2 || (cols > 1 && v->strides[v->ndim - 1] != 4)) return 0;
  for (int i = 0; i < v->ndim - 1; i++) axes[i] = i;
  if (!hxpy_flat(v, axes, v->ndim - 1, &stride)) return 0;
  return rows < 2 ? cols : (size_t)stride >= cols ? (size_t)stride : 0;
}

/* Whether an input is a row that all rows of the others share. */
static bool is_one_row(const struct call *call, const hxpy_operand *o) {
  return call->shaped->view.ndim > 1 && o->view.ndim == 1 && (size_t)o->view.shape[0] == call->cols;
}

/* A value for each row: an array without the last axis of the others, or with one element there. */
static bool has_values(const struct call *call, const hxpy_operand *o) {
  const Py_buffer *rows = &call->shaped->view, *v = &o->view;
  const int kept = rows->ndim ? rows->ndim - 1 : 0;
  const bool has_axis = v->ndim == rows->ndim && v->ndim && v->shape[kept] == 1;
  return (v->ndim == kept || has_axis) &&
         (!kept || memcmp(v->shape, rows->shape, (size_t)kept * sizeof *v->shape) == 0);
}

static bool check_shapes(struct call *call, int count) {
  const hxpy_operand *const shaped = call->shaped;
  const int last = shaped->view.ndim - 1;
  call->cols = last < 0 ? 1 : (size_t)shaped->view.shape[last];
  call->rows = 1;
  for (int i = 0; i < last; i++) call->rows *= (size_t)shaped->view.shape[i];
  for (int i = 0; i < count; i++) {
    const hxpy_operand *o = &call->in[i];
    if (call->per_row[i]) {
      if (!has_values(call, o)) {
        return hxpy_refuse("%s has shape %s; it has one value for each row of %s, whose shape is %s", o->name,
                           hxpy_shape_text(&o->view), shaped->name, hxpy_shape_text(&shaped->view));
      }
    } else if (!is_one_row(call, o) && !same_shape(&shaped->view, &o->view)) {
      const char *hint = has_values(call, o) ? "; an input with one value for each row is declared with 'row'" : "";
      return hxpy_refuse("%s has shape %s and %s has shape %s%s", shaped->name, hxpy_shape_text(&shaped->view), o->name,
                         hxpy_shape_text(&o->view), hint);
    }
  }
  return true;
}

static bool find_values(struct call *call, int i) {
  hxpy_operand *o = &call->in[i];
  Py_ssize_t stride = 1;
  if (!hxpy_flat(&o->view, NULL, o->view.ndim, &stride)) {
    if (!hxpy_operand_copy(o, 'C')) return false;
    stride = 1;
  }
  call->ld[i] = (size_t)stride;
  call->inputs[i] = o->view.buf;
  return true;
}

/* The rows of all inputs. */
static bool find_rows(struct call *call, int count) {
  for (int i = 0; i < count; i++) {
    hxpy_operand *o = &call->in[i];
    if (call->per_row[i]) {
      if (!find_values(call, i)) return false;
      continue;
    }
    const bool one_row = is_one_row(call, o);
    call->ld[i] = one_row ? 0 : row_distance(o, call->rows, call->cols);
    if ((one_row ? !hxpy_contiguous(o) : !call->ld[i]) && !hxpy_operand_copy(o, 'C')) return false;
    if (!one_row && !call->ld[i]) call->ld[i] = call->cols;
    call->inputs[i] = o->view.buf;
  }
  return true;
}

/* Whether arrays lie in memory without gaps and with their axes in one order, so that equal indices are equal places.
 */
static bool same_places(const Py_buffer *a, const Py_buffer *b) {
  if (!hxpy_dense(a) || !same_shape(a, b)) return false;
  for (int i = 0; i < a->ndim; i++) {
    if (a->shape[i] > 1 && a->strides[i] != b->strides[i]) return false;
  }
  return true;
}

static bool inputs_have_same_places(const struct call *call, int count) {
  if (count == 0) return false;
  for (int i = 0; i < count; i++) {
    if (call->per_row[i] || !same_places(&call->in[0].view, &call->in[i].view)) return false;
  }
  return true;
}

/* Makes one row of all elements of arrays that have the same places. */
static void join_places(struct call *call, int count) {
  call->cols = call->ld_out = call->rows * call->cols;
  call->rows = 1;
  for (int i = 0; i < count; i++) {
    call->inputs[i] = call->in[i].view.buf;
    call->ld[i] = call->cols;
  }
}

/* out: the argument of map, which gives the shape if no input does; NULL: none. */
static bool get_inputs(struct call *call, const hxpy_kernel *k, PyObject *const *arrays, PyObject *out) {
  for (int i = 0; i < k->inputs; i++) {
    const hxpy_declared *const d = &k->input[i];
    hxpy_operand *o = &call->in[i];
    if (!hxpy_operand_get(o, arrays[i], d->text) || !has_type(o, d->type)) return false;
    call->per_row[i] = d->per_row;
    if (!d->per_row && (!call->shaped || o->view.ndim > call->shaped->view.ndim)) call->shaped = o;
  }
  if (!call->shaped) {
    if (!out) return hxpy_refuse("inputs names no array with an element for each result; map with out needs none");
    if (!hxpy_operand_get_output(&call->out, out, "out")) return false;
    call->shaped = &call->out;
  }
  return check_shapes(call, k->inputs);
}

/* A reduction of all elements has no rows: inputs that have are copied. */
static bool join_rows(struct call *call, const hxpy_kernel *k) {
  const int count = k->inputs;
  if (k->counts && call->rows > 1) return hxpy_refuse("the text uses index or row, which count in rows; give an axis");
  for (int i = 0; i < count; i++) {
    hxpy_operand *o = &call->in[i];
    if (call->rows > 1 && (is_one_row(call, o) || call->per_row[i])) {
      return hxpy_refuse(
          call->per_row[i] ? "%s has one value for each row; give an axis" : "%s has one row for all; give an axis",
          o->name);
    }
    if (!hxpy_contiguous(o) && !hxpy_operand_copy(o, 'C')) return false;
    call->inputs[i] = o->view.buf;
  }
  return true;
}

static void call_release(struct call *call, int count) {
  for (int i = 0; i < count; i++) hxpy_operand_release(&call->in[i]);
  hxpy_operand_release(&call->out);
}

/* A new reference to the array that is written, which `out` holds. like: a new one has the places of the inputs. */
static PyObject *get_output(struct call *call, hx_type type, PyObject *out, bool like) {
  static const hxpy_cell cells[] = {[HX_F32] = HXPY_FLOAT32, [HX_I32] = HXPY_INT32, [HX_U32] = HXPY_UINT32};
  const hxpy_operand *const shaped = call->shaped;
  const Py_buffer *first = &shaped->view;
  PyObject *result = out                                ? Py_NewRef(out)
                     : like && !hxpy_contiguous(shaped) ? hxpy_operand_like(shaped, cells[type])
                                                        : hxpy_array(cells[type], first->ndim, first->shape);
  bool ok = result && (call->out.view.obj || hxpy_operand_get_output(&call->out, result, "out")) &&
            has_type(&call->out, type);
  if (ok && !same_shape(first, &call->out.view)) {
    ok = hxpy_refuse("out has shape %s; the inputs have shape %s", hxpy_shape_text(&call->out.view),
                     hxpy_shape_text(first));
  }
  if (!ok) Py_CLEAR(result);
  return result;
}

/* Arranges the arrays as rows. `like`: the inputs have the same places. */
static bool arrange(struct call *call, int count, bool like) {
  if (like && same_places(&call->in[0].view, &call->out.view)) return join_places(call, count), true;
  call->ld_out = row_distance(&call->out, call->rows, call->cols);
  if (!call->ld_out && call->out.view.len) {
    return hxpy_refuse("the rows of out are not C-contiguous and equally far apart");
  }
  return find_rows(call, count);
}

static bool run(const hx_task *made, const hxpy_kernel_arguments *a) {
  hx_task task = *made;
  if (!hxpy_share(a->share, &task.gpu_share)) return false;
  hxpy_context *c = hxpy_context_enter(a->context);
  if (!c) return false;
  bool ok = hxpy_run(c, &task);
  hxpy_context_leave(c);
  return ok;
}

/* With an exception set: if hx refused the map, which it does only if out overlaps an input in part, or one that has
 * one value for each row, says so in the names of map's arguments. */
static void explain(const struct call *call, int count) {
  if (!PyErr_ExceptionMatches(PyTuple_GetItem(hxpy_py.errors, HX_INVALID_ARGUMENT))) return;
  for (int i = 0; i < count; i++) {
    const hxpy_operand *o = &call->in[i];
    const bool same = o->view.buf == call->out.view.buf && (call->rows == 1 || call->ld[i] == call->ld_out);
    if ((!same || call->per_row[i]) && hxpy_overlap(o, &call->out)) {
      hxpy_refuse(call->per_row[i] ? "out overlaps %s, which has one value for each row" : "out overlaps %s in part",
                  o->name);
      return;
    }
  }
}

/* map(*arrays, out, gpu_share, context, and the parameters) */
static PyObject *kernel_map(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
  const hxpy_kernel *k = (hxpy_kernel *)self;
  hxpy_kernel_arguments a;
  if (!hxpy_kernel_arguments_read(k, false, args, nargs, kwnames, &a)) return NULL;
  struct call call = {0};
  PyObject *result = NULL;
  if (!k->inputs && !a.out) {
    PyErr_SetString(PyExc_TypeError, "the kernel has no inputs: map needs out");
  } else if (get_inputs(&call, k, a.arrays, a.out)) {
    const bool like = !k->counts && inputs_have_same_places(&call, k->inputs);
    result = get_output(&call, hx_kernel_type(k->kernel), a.out, like);
    if (result && !arrange(&call, k->inputs, like)) Py_CLEAR(result);
  }
  if (result) {
    hx_task task = hx_map_rows(k->kernel, call.inputs, call.ld, call.rows, call.cols, a.parameters, call.out.view.buf,
                               call.ld_out);
    if (!run(&task, &a)) {
      explain(&call, k->inputs);
      Py_CLEAR(result);
    }
  }
  call_release(&call, k->inputs);
  return result;
}

static PyObject *reduce_all(struct call *call, hx_op op, const hxpy_kernel *k, const hxpy_kernel_arguments *a) {
  hx_value value;
  if (!join_rows(call, k)) return NULL;
  hx_task task = hx_map_reduce(op, k->kernel, call->inputs, call->rows * call->cols, a->parameters, &value);
  return run(&task, a) ? hxpy_scalar(hxpy_cell_of(op, hx_kernel_type(k->kernel)), &value) : NULL;
}

static PyObject *reduce_rows(struct call *call, hx_op op, const hxpy_kernel *k, const hxpy_kernel_arguments *a) {
  const Py_buffer *shaped = &call->shaped->view;
  const hxpy_cell cell = hxpy_cell_of(op, hx_kernel_type(k->kernel));
  hx_value *values = PyMem_Malloc((call->rows ? call->rows : 1) * sizeof *values);
  if (!values) return PyErr_NoMemory();
  hx_task task =
      hx_map_reduce_rows(op, k->kernel, call->inputs, call->ld, call->rows, call->cols, a->parameters, values);
  PyObject *result = run(&task, a) ? hxpy_array(cell, shaped->ndim - 1, shaped->shape) : NULL;
  Py_buffer view;
  if (result && PyObject_GetBuffer(result, &view, PyBUF_WRITABLE) == 0) {
    hxpy_store(cell, view.buf, 0, 1, values, call->rows);
    PyBuffer_Release(&view);
  } else {
    Py_CLEAR(result);
  }
  PyMem_Free(values);
  return result;
}

static PyObject *reduce_call(struct call *call, hx_op op, const hxpy_kernel *k, const hxpy_kernel_arguments *a) {
  int axes[PyBUF_MAX_NDIM], ndim = call->shaped->view.ndim;
  if (op == HX_DOT) return hxpy_refuse("'dot' takes two arrays: write x * y in the expression, and use 'sum'");
  if (a->axis && hxpy_axes(a->axis, ndim, true, axes) != 1) return NULL;
  if (a->axis && axes[0] != ndim - 1) {
    return hxpy_refuse("axis is %R; a kernel reduces the last axis, or all", a->axis);
  }
  const bool all = !a->axis || ndim == 1;
  const size_t lines = all ? 1 : call->rows, n = all ? call->rows * call->cols : call->cols;
  if (lines && !hxpy_has_value(op, call->shaped, n)) return NULL;
  return (all ? reduce_all : reduce_rows)(call, op, k, a);
}

/* reduce(operation, *arrays, axis, gpu_share, context, and the parameters) */
static PyObject *kernel_reduce(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
  const hxpy_kernel *k = (hxpy_kernel *)self;
  hxpy_kernel_arguments a;
  hx_op op;
  if (nargs == 0) {
    PyErr_SetString(PyExc_TypeError, "reduce() needs an operation: reduce('sum', x)");
    return NULL;
  }
  if (!hxpy_op_named(args[0], &op) || !hxpy_kernel_arguments_read(k, true, args + 1, nargs - 1, kwnames, &a)) {
    return NULL;
  }
  if (!k->inputs) {
    PyErr_SetString(PyExc_TypeError, "the kernel has no inputs: reduce has no number of elements");
    return NULL;
  }
  struct call call = {0};
  PyObject *result = NULL;
  if (get_inputs(&call, k, a.arrays, NULL) && find_rows(&call, k->inputs)) result = reduce_call(&call, op, k, &a);
  call_release(&call, k->inputs);
  return result;
}

#define MAP_TEXT                                                                                                    \
  "map($self, /, *arrays, out=None, gpu_share=None, context=None, **parameters)\n--\n\n"                            \
  "out[i] = f(x[i], y[i], ...) of arrays of one shape, which the result has, too; as NumPy's ufuncs. Of NumPy's\n"  \
  "broadcasting there is one case: an array with one axis may be a row that all rows of the others share. An\n"     \
  "array with one value for each row lacks their last axis, or has one element there: of shape (n,) or (n, 1)\n"    \
  "beside (n, m).\n\n"                                                                                              \
  "Arrays without gaps whose axes have one order in memory are taken as they lie, and a new result lies so, too.\n" \
  "Otherwise those whose rows are not C-contiguous and equally far apart are copied, and such an out is refused.\n" \
  "out may be one of the arrays. It has to be given, and gives the shape, if there are no arrays or each has one\n" \
  "value for each row. A text with index or row counts along the last axis.\n"                                      \
  "TypeError: a dtype that differs from the kernel's, a parameter that is missing or unknown.\n"                    \
  "hx.InvalidArgument: shapes differ, out overlaps an array in part, or a parameter does not fit its type."
#define REDUCE_TEXT                                                                                                 \
  "reduce($self, operation, /, *arrays, axis=None, gpu_share=None, context=None, **parameters)\n--\n\n"             \
  "The reduction of map(*arrays), in C order, without an array of it.\n\n"                                          \
  "operation: sum, prod, min, max, argmin, argmax, sum_abs or sum_squares. The result has the type and the bits\n"  \
  "of hx's function of that name. axis: the last one, for a result of each row; without it, no row may be shared\n" \
  "or have a value of its own.\n"                                                                                   \
  "hx.InvalidArgument: as for map, for another axis, and for min, max, argmin, argmax of no element."

static PyMethodDef kernel_methods[] = {
    HXPY_FUNCTION("map", kernel_map, MAP_TEXT),
    HXPY_FUNCTION("reduce", kernel_reduce, REDUCE_TEXT),
    {NULL, NULL, 0, NULL},
};

static PyType_Slot kernel_slots[] = {
    {Py_tp_new, kernel_new}, {Py_tp_dealloc, kernel_dealloc}, {Py_tp_methods, kernel_methods}, {0, NULL}};

PyType_Spec hxpy_kernel_spec = {"hx._native.Kernel", sizeof(hxpy_kernel), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                kernel_slots};
