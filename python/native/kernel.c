/* SPDX-License-Identifier: Apache-2.0
 * The type hx._native.Kernel: a user kernel (hx_map.h), from which hx.Kernel is derived. */
#include <string.h>

#include "kernel_call.h"

/* Kernel(text, inputs, parameters, outputs, context, what they declare: two tuples for hxpy_kernel_declare; counts) */
static PyObject *kernel_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  hx_kernel_source source = {0};
  PyObject *context, *inputs, *parameters;
  int counts;
  (void)keywords; /* those of hx.Kernel */
  if (!PyArg_ParseTuple(args, "szzzOO!O!p", &source.text, &source.inputs, &source.parameters, &source.outputs, &context,
                        &PyTuple_Type, &inputs, &PyTuple_Type, &parameters, &counts)) {
    return NULL;
  }
  hxpy_context *c = hxpy_context_enter(context == Py_None ? NULL : context);
  if (!c) return NULL;
  hxpy_kernel *k = (hxpy_kernel *)PyType_GenericAlloc(type, 0);
  hx_status s = k ? hx_compile(c->hx, &source, &k->kernel) : HX_OK;
  if (s != HX_OK) hxpy_fail(s);
  hxpy_context_leave(c);
  if (k) {
    k->counts = counts;
    k->names_outputs = source.outputs != NULL && *source.outputs;
    while (hx_kernel_output_type(k->kernel, k->outputs)) k->outputs++;
  }
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

/* Whether an input is a row that all rows of the others share. */
static bool is_one_row(const hxpy_kernel_call *call, const hxpy_operand *o) {
  return call->shaped->view.ndim > 1 && o->view.ndim == 1 && (size_t)o->view.shape[0] == call->cols;
}

/* A value for each row: an array without the last axis of the others, or with one element there. */
static bool has_values(const hxpy_kernel_call *call, const hxpy_operand *o) {
  const Py_buffer *rows = &call->shaped->view, *v = &o->view;
  const int kept = rows->ndim ? rows->ndim - 1 : 0;
  const bool has_axis = v->ndim == rows->ndim && v->ndim && v->shape[kept] == 1;
  return (v->ndim == kept || has_axis) &&
         (!kept || memcmp(v->shape, rows->shape, (size_t)kept * sizeof *v->shape) == 0);
}

static bool check_shapes(hxpy_kernel_call *call, int count) {
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
    } else if (!is_one_row(call, o) && !hxpy_same_shape(&shaped->view, &o->view)) {
      const char *hint = has_values(call, o) ? "; an input with one value for each row is declared with 'row'" : "";
      return hxpy_refuse("%s has shape %s and %s has shape %s%s", shaped->name, hxpy_shape_text(&shaped->view), o->name,
                         hxpy_shape_text(&o->view), hint);
    }
  }
  return true;
}

static bool find_values(hxpy_kernel_call *call, int i) {
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
static bool find_rows(hxpy_kernel_call *call, int count) {
  for (int i = 0; i < count; i++) {
    hxpy_operand *o = &call->in[i];
    if (call->per_row[i]) {
      if (!find_values(call, i)) return false;
      continue;
    }
    const bool one_row = is_one_row(call, o);
    call->ld[i] = one_row ? 0 : hxpy_row_distance(o, call->rows, call->cols);
    if ((one_row ? !hxpy_contiguous(o) : !call->ld[i]) && !hxpy_operand_copy(o, 'C')) return false;
    if (!one_row && !call->ld[i]) call->ld[i] = call->cols;
    call->inputs[i] = o->view.buf;
  }
  return true;
}

static bool inputs_have_same_places(const hxpy_kernel_call *call, int count) {
  if (count == 0) return false;
  for (int i = 0; i < count; i++) {
    if (call->per_row[i] || !hxpy_same_places(&call->in[0].view, &call->in[i].view)) return false;
  }
  return true;
}

/* Makes one row of all elements of arrays that have the same places. */
static void join_places(hxpy_kernel_call *call, int count) {
  call->cols = call->ld_out = call->rows * call->cols;
  call->rows = 1;
  for (int i = 0; i < count; i++) {
    call->inputs[i] = call->in[i].view.buf;
    call->ld[i] = call->cols;
  }
}

/* out: the first output of map, which gives the shape if no input does; NULL: none. */
static bool get_inputs(hxpy_kernel_call *call, const hxpy_kernel *k, PyObject *const *arrays, PyObject *out) {
  for (int i = 0; i < k->inputs; i++) {
    const hxpy_declared *const d = &k->input[i];
    hxpy_operand *o = &call->in[i];
    if (!hxpy_operand_get(o, arrays[i], d->text) || !hxpy_has_type(o, d->type)) return false;
    call->per_row[i] = d->per_row;
    if (!d->per_row && (!call->shaped || o->view.ndim > call->shaped->view.ndim)) call->shaped = o;
  }
  if (!call->shaped) {
    if (!out) return hxpy_refuse("inputs names no array with an element for each result; map with out needs none");
    if (!hxpy_output_hold(call, k, 0, out)) return false;
    call->shaped = &call->out[0];
  }
  return check_shapes(call, k->inputs);
}

/* A reduction of all elements has no rows: inputs that have are copied. */
static bool join_rows(hxpy_kernel_call *call, const hxpy_kernel *k) {
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

static void call_release(hxpy_kernel_call *call, const hxpy_kernel *k) {
  for (int i = 0; i < k->inputs; i++) hxpy_operand_release(&call->in[i]);
  for (unsigned o = 0; o < k->outputs; o++) hxpy_operand_release(&call->out[o]);
}

/* Arranges the arrays as rows. `like`: the inputs have the same places. */
static bool arrange(hxpy_kernel_call *call, const hxpy_kernel *k, bool like) {
  if (like && hxpy_outputs_have_places(call, k)) return join_places(call, k->inputs), true;
  return hxpy_outputs_arrange(call, k) && find_rows(call, k->inputs);
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

static bool run_map(hxpy_kernel_call *call, const hxpy_kernel *k, const hxpy_kernel_arguments *a) {
  const hx_task task = hx_map_rows_outputs(k->kernel, call->inputs, call->ld, call->rows, call->cols, a->parameters,
                                           call->outputs, call->ld_out);
  if (run(&task, a)) return true;
  hxpy_outputs_explain(call, k);
  return false;
}

/* map(*arrays, out, gpu_share, context, and the parameters) */
static PyObject *kernel_map(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
  const hxpy_kernel *k = (hxpy_kernel *)self;
  hxpy_kernel_arguments a;
  hxpy_given given;
  if (!hxpy_kernel_arguments_read(k, false, args, nargs, kwnames, &a) || !hxpy_given_get(k, a.out, &given)) return NULL;
  hxpy_kernel_call call = {0};
  PyObject *result = NULL;
  if (!k->inputs && !a.out) {
    PyErr_SetString(PyExc_TypeError, "the kernel has no inputs: map needs out");
  } else if (get_inputs(&call, k, a.arrays, given.array[0])) {
    const bool like = !k->counts && inputs_have_same_places(&call, k->inputs);
    result = hxpy_outputs_get(&call, k, &given, like);
    if (result && (!arrange(&call, k, like) || !run_map(&call, k, &a))) Py_CLEAR(result);
  }
  call_release(&call, k);
  Py_CLEAR(given.tuple);
  return result;
}

static PyObject *reduce_all(hxpy_kernel_call *call, hx_op op, const hxpy_kernel *k, const hxpy_kernel_arguments *a) {
  hx_value value;
  if (!join_rows(call, k)) return NULL;
  hx_task task = hx_map_reduce(op, k->kernel, call->inputs, call->rows * call->cols, a->parameters, &value);
  return run(&task, a) ? hxpy_scalar(hxpy_cell_of(op, hx_kernel_type(k->kernel)), &value) : NULL;
}

static PyObject *reduce_rows(hxpy_kernel_call *call, hx_op op, const hxpy_kernel *k, const hxpy_kernel_arguments *a) {
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

static PyObject *reduce_call(hxpy_kernel_call *call, hx_op op, const hxpy_kernel *k, const hxpy_kernel_arguments *a) {
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
  hxpy_kernel_call call = {0};
  PyObject *result = NULL;
  if (get_inputs(&call, k, a.arrays, NULL) && find_rows(&call, k->inputs)) result = reduce_call(&call, op, k, &a);
  call_release(&call, k);
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
  "value for each row. A kernel with outputs returns a tuple of arrays, and out is one, of arrays or None.\n"       \
  "A text with index or row counts along the last axis.\n"                                                          \
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
