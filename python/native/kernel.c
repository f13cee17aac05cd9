/* SPDX-License-Identifier: Apache-2.0
 * The type hx._native.Kernel: a user kernel (hx_map.h). hx/_kernel.py knows the types of its inputs and parameters. */
#include "native.h"

#include <string.h>

#include "hx_map.h"

typedef struct kernel_object {
  PyObject_HEAD hx_kernel *kernel;
} kernel_object;

/* Arrays of one call, as rows of their last axis. They do not move, because operands may not. */
struct call {
  hxpy_operand in[HX_MAX_INPUTS], out;
  const void *inputs[HX_MAX_INPUTS];
  size_t ld[HX_MAX_INPUTS];    /* 0: one row for all */
  bool per_row[HX_MAX_INPUTS]; /* inputs that have one value for each row */
  hx_value parameters[HX_MAX_PARAMETERS];
  int shaped; /* the input whose shape the results have: of those that have rows, the one with the most axes */
  size_t rows, cols, ld_out;
};

/* Kernel(text, inputs, parameters, context) */
static PyObject *kernel_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  hx_kernel_source source = {0};
  PyObject *context;
  (void)keywords;
  if (!PyArg_ParseTuple(args, "szzO", &source.text, &source.inputs, &source.parameters, &context)) return NULL;
  hxpy_context *c = hxpy_context_enter(context == Py_None ? NULL : context);
  if (!c) return NULL;
  kernel_object *k = (kernel_object *)PyType_GenericAlloc(type, 0);
  hx_status s = k ? hx_compile(c->hx, &source, &k->kernel) : HX_OK;
  if (s != HX_OK) hxpy_fail(s);
  hxpy_context_leave(c);
  if (s != HX_OK) Py_CLEAR(k);
  return (PyObject *)k;
}

static void kernel_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  hx_kernel_free(((kernel_object *)self)->kernel);
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
  return call->in[call->shaped].view.ndim > 1 && o->view.ndim == 1 && (size_t)o->view.shape[0] == call->cols;
}

/* A value for each row: an array without the last axis of the others, or with one element there. */
static bool check_values(const struct call *call, const hxpy_operand *o) {
  const Py_buffer *rows = &call->in[call->shaped].view, *v = &o->view;
  const int kept = rows->ndim ? rows->ndim - 1 : 0;
  const bool has_axis = v->ndim == rows->ndim && v->ndim && v->shape[kept] == 1;
  if ((v->ndim == kept || has_axis) && (!kept || memcmp(v->shape, rows->shape, (size_t)kept * sizeof *v->shape) == 0))
    return true;
  return hxpy_refuse("%s has shape %s; it has one value for each row of %s, whose shape is %s", o->name,
                     hxpy_shape_text(v), call->in[call->shaped].name, hxpy_shape_text(rows));
}

static bool check_shapes(struct call *call, int count) {
  const hxpy_operand *shaped = &call->in[call->shaped];
  const int last = shaped->view.ndim - 1;
  call->cols = last < 0 ? 1 : (size_t)shaped->view.shape[last];
  call->rows = 1;
  for (int i = 0; i < last; i++) call->rows *= (size_t)shaped->view.shape[i];
  for (int i = 0; i < count; i++) {
    const hxpy_operand *o = &call->in[i];
    if (call->per_row[i]) {
      if (!check_values(call, o)) return false;
    } else if (!is_one_row(call, o) && !same_shape(&shaped->view, &o->view)) {
      return hxpy_refuse("%s has shape %s and %s has shape %s", shaped->name, hxpy_shape_text(&shaped->view), o->name,
                         hxpy_shape_text(&o->view));
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

/* arrays: a tuple of (name, type, whether it has one value per row, array). parameters: bytes, one hx_value after the
 * other. */
static bool get_inputs(struct call *call, PyObject *arrays, PyObject *parameters) {
  const int count = (int)PyTuple_Size(arrays);
  memcpy(call->parameters, PyBytes_AsString(parameters), (size_t)PyBytes_Size(parameters));
  call->shaped = -1;
  for (int i = 0; i < count; i++) {
    const char *name;
    int type, per_row;
    PyObject *array;
    hxpy_operand *o = &call->in[i];
    if (!PyArg_ParseTuple(PyTuple_GetItem(arrays, i), "sipO", &name, &type, &per_row, &array)) return false;
    if (!hxpy_operand_get(o, array, name) || !has_type(o, (hx_type)type)) return false;
    call->per_row[i] = per_row;
    if (!per_row && (call->shaped < 0 || o->view.ndim > call->in[call->shaped].view.ndim)) call->shaped = i;
  }
  return check_shapes(call, count);
}

/* A reduction of all elements has no rows: inputs that have are copied. */
static bool join_rows(struct call *call, int count) {
  for (int i = 0; i < count; i++) {
    hxpy_operand *o = &call->in[i];
    if (call->rows > 1 && (call->ld[i] == 0 || call->per_row[i])) {
      return hxpy_refuse(
          call->per_row[i] ? "%s has one value for each row; give an axis" : "%s has one row for all; give an axis",
          o->name);
    }
    if (!hxpy_contiguous(o) && !hxpy_operand_copy(o, 'C')) return false;
    call->inputs[i] = o->view.buf;
  }
  return true;
}

static void call_release(struct call *call) {
  for (int i = 0; i < HX_MAX_INPUTS; i++) hxpy_operand_release(&call->in[i]);
  hxpy_operand_release(&call->out);
}

/* A new reference to the array that is written, which `out` holds. like: a new one has the places of the inputs. */
static PyObject *get_output(struct call *call, hx_type type, PyObject *out, bool like) {
  static const hxpy_cell cells[] = {[HX_F32] = HXPY_FLOAT32, [HX_I32] = HXPY_INT32, [HX_U32] = HXPY_UINT32};
  const hxpy_operand *shaped = &call->in[call->shaped];
  const Py_buffer *first = &shaped->view;
  PyObject *result = out                                ? Py_NewRef(out)
                     : like && !hxpy_contiguous(shaped) ? hxpy_operand_like(shaped, cells[type])
                                                        : hxpy_array(cells[type], first->ndim, first->shape);
  bool ok = result && hxpy_operand_get_output(&call->out, result, "out") && has_type(&call->out, type);
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

static PyObject *run(const hx_task *made, PyObject *share, PyObject *context) {
  hx_task task = *made;
  if (!hxpy_share(share == Py_None ? NULL : share, &task.gpu_share)) return NULL;
  hxpy_context *c = hxpy_context_enter(context == Py_None ? NULL : context);
  if (!c) return NULL;
  bool ok = hxpy_run(c, &task);
  hxpy_context_leave(c);
  return ok ? Py_None : NULL;
}

/* With an exception set: if hx refused the map, which it does only if out overlaps an input in part, says so in the
 * names of map's arguments. */
static void explain(const struct call *call, int count) {
  if (!PyErr_ExceptionMatches(PyTuple_GetItem(hxpy_py.errors, HX_INVALID_ARGUMENT))) return;
  for (int i = 0; i < count; i++) {
    const hxpy_operand *o = &call->in[i];
    const bool same = o->view.buf == call->out.view.buf && (call->rows == 1 || call->ld[i] == call->ld_out);
    if (!same && hxpy_overlap(o, &call->out)) {
      hxpy_refuse("out overlaps %s in part", o->name);
      return;
    }
  }
}

/* map(arrays, parameters, out, gpu_share, context) */
static PyObject *kernel_map(PyObject *self, PyObject *args) {
  const hx_kernel *k = ((kernel_object *)self)->kernel;
  PyObject *arrays, *parameters, *out, *share, *context;
  if (!PyArg_ParseTuple(args, "O!O!OOO", &PyTuple_Type, &arrays, &PyBytes_Type, &parameters, &out, &share, &context)) {
    return NULL;
  }
  struct call call = {0};
  PyObject *result = NULL;
  const int count = (int)PyTuple_Size(arrays);
  if (get_inputs(&call, arrays, parameters)) {
    const bool like = inputs_have_same_places(&call, count);
    result = get_output(&call, hx_kernel_type(k), out == Py_None ? NULL : out, like);
    if (result && !arrange(&call, count, like)) Py_CLEAR(result);
  }
  if (result) {
    hx_task task =
        hx_map_rows(k, call.inputs, call.ld, call.rows, call.cols, call.parameters, call.out.view.buf, call.ld_out);
    if (!run(&task, share, context)) {
      explain(&call, count);
      Py_CLEAR(result);
    }
  }
  call_release(&call);
  return result;
}

/* The arguments of a reduction that are not arrays. */
struct reduction {
  hx_op op;
  PyObject *axis, *share, *context;
};

static PyObject *reduce_all(struct call *call, int count, const hx_kernel *k, const struct reduction *r) {
  hx_value value;
  if (!join_rows(call, count)) return NULL;
  hx_task task = hx_map_reduce(r->op, k, call->inputs, call->rows * call->cols, call->parameters, &value);
  return run(&task, r->share, r->context) ? hxpy_scalar(hxpy_cell_of(r->op, hx_kernel_type(k)), &value) : NULL;
}

static PyObject *reduce_rows(struct call *call, const hx_kernel *k, const struct reduction *r) {
  const Py_buffer *shaped = &call->in[call->shaped].view;
  const hxpy_cell cell = hxpy_cell_of(r->op, hx_kernel_type(k));
  hx_value *values = PyMem_Malloc((call->rows ? call->rows : 1) * sizeof *values);
  if (!values) return PyErr_NoMemory();
  hx_task task = hx_map_reduce_rows(r->op, k, call->inputs, call->ld, call->rows, call->cols, call->parameters, values);
  PyObject *result = run(&task, r->share, r->context) ? hxpy_array(cell, shaped->ndim - 1, shaped->shape) : NULL;
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

static PyObject *reduce_call(struct call *call, int count, const hx_kernel *k, const struct reduction *r) {
  int axes[PyBUF_MAX_NDIM], ndim = call->in[call->shaped].view.ndim;
  if (r->axis == Py_None) return reduce_all(call, count, k, r);
  if (hxpy_axes(r->axis, ndim, true, axes) != 1) return NULL;
  if (axes[0] != ndim - 1) return hxpy_refuse("axis is %R; a kernel reduces the last axis, or all", r->axis);
  return ndim == 1 ? reduce_all(call, count, k, r) : reduce_rows(call, k, r);
}

/* reduce(operation, arrays, parameters, axis, gpu_share, context) */
static PyObject *kernel_reduce(PyObject *self, PyObject *args) {
  const hx_kernel *k = ((kernel_object *)self)->kernel;
  PyObject *name, *arrays, *parameters, *result = NULL;
  struct reduction r;
  if (!PyArg_ParseTuple(args, "OO!O!OOO", &name, &PyTuple_Type, &arrays, &PyBytes_Type, &parameters, &r.axis, &r.share,
                        &r.context) ||
      !hxpy_op_named(name, &r.op)) {
    return NULL;
  }
  struct call call = {0};
  const int count = (int)PyTuple_Size(arrays);
  if (get_inputs(&call, arrays, parameters) && find_rows(&call, count)) result = reduce_call(&call, count, k, &r);
  call_release(&call);
  return result;
}

static PyMethodDef kernel_methods[] = {
    {"map", kernel_map, METH_VARARGS, NULL}, {"reduce", kernel_reduce, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};

static PyType_Slot kernel_slots[] = {
    {Py_tp_new, kernel_new}, {Py_tp_dealloc, kernel_dealloc}, {Py_tp_methods, kernel_methods}, {0, NULL}};

PyType_Spec hxpy_kernel_spec = {"hx._native.Kernel", sizeof(kernel_object), 0, Py_TPFLAGS_DEFAULT, kernel_slots};
