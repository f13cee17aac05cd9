/* SPDX-License-Identifier: Apache-2.0
 * The type hx._native.Kernel: a user kernel (hx_map.h). hx/_kernel.py knows the types of its inputs and parameters. */
#include "native.h"

#include <string.h>

#include "hx_map.h"

typedef struct kernel_object {
  PyObject_HEAD hx_kernel *kernel;
} kernel_object;

/* Arrays of one call. They do not move, because operands may not. */
struct call {
  hxpy_operand in[HX_MAX_INPUTS], out;
  const void *inputs[HX_MAX_INPUTS];
  hx_value parameters[HX_MAX_PARAMETERS];
  size_t n;
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

static bool contiguous(const hxpy_operand *o) {
  Py_ssize_t stride;
  return hxpy_flat(&o->view, NULL, o->view.ndim, &stride) && stride == 1;
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

/* arrays: a tuple of (name, type, array). parameters: bytes, one hx_value after the other. */
static bool get_inputs(struct call *call, PyObject *arrays, PyObject *parameters) {
  memcpy(call->parameters, PyBytes_AsString(parameters), (size_t)PyBytes_Size(parameters));
  for (Py_ssize_t i = 0; i < PyTuple_Size(arrays); i++) {
    const char *name;
    int type;
    PyObject *array;
    hxpy_operand *o = &call->in[i];
    if (!PyArg_ParseTuple(PyTuple_GetItem(arrays, i), "siO", &name, &type, &array)) return false;
    if (!hxpy_operand_get(o, array, name) || !has_type(o, (hx_type)type)) return false;
    if (i && !same_shape(&call->in[0].view, &o->view)) {
      return hxpy_refuse("%s has shape %s and %s has shape %s", call->in[0].name, hxpy_shape_text(&call->in[0].view),
                         name, hxpy_shape_text(&o->view));
    }
    if (!contiguous(o) && !hxpy_operand_copy(o, 'C')) return false;
    call->inputs[i] = o->view.buf;
    call->n = hxpy_operand_size(o);
  }
  return true;
}

static void call_release(struct call *call) {
  for (int i = 0; i < HX_MAX_INPUTS; i++) hxpy_operand_release(&call->in[i]);
  hxpy_operand_release(&call->out);
}

/* A new reference to the array that is written, which `out` holds. */
static PyObject *get_output(struct call *call, hx_type type, PyObject *out) {
  static const hxpy_cell cells[] = {[HX_F32] = HXPY_FLOAT32, [HX_I32] = HXPY_INT32, [HX_U32] = HXPY_UINT32};
  const Py_buffer *first = &call->in[0].view;
  PyObject *result = out ? Py_NewRef(out) : hxpy_array(cells[type], first->ndim, first->shape);
  bool ok = result && hxpy_operand_get_output(&call->out, result, "out") && has_type(&call->out, type);
  if (ok && !same_shape(first, &call->out.view)) {
    ok = hxpy_refuse("out has shape %s; the inputs have shape %s", hxpy_shape_text(&call->out.view),
                     hxpy_shape_text(first));
  } else if (ok && !contiguous(&call->out)) {
    ok = hxpy_refuse("out is not C-contiguous");
  }
  if (!ok) Py_CLEAR(result);
  return result;
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

/* map(arrays, parameters, out, gpu_share, context) */
static PyObject *kernel_map(PyObject *self, PyObject *args) {
  const hx_kernel *k = ((kernel_object *)self)->kernel;
  PyObject *arrays, *parameters, *out, *share, *context;
  if (!PyArg_ParseTuple(args, "O!O!OOO", &PyTuple_Type, &arrays, &PyBytes_Type, &parameters, &out, &share, &context)) {
    return NULL;
  }
  struct call call = {0};
  PyObject *result = NULL;
  if (get_inputs(&call, arrays, parameters)) {
    result = get_output(&call, hx_kernel_type(k), out == Py_None ? NULL : out);
  }
  if (result) {
    hx_task task = hx_map(k, call.inputs, call.n, call.parameters, call.out.view.buf);
    if (!run(&task, share, context)) Py_CLEAR(result);
  }
  call_release(&call);
  return result;
}

/* reduce(operation, arrays, parameters, gpu_share, context) */
static PyObject *kernel_reduce(PyObject *self, PyObject *args) {
  const hx_kernel *k = ((kernel_object *)self)->kernel;
  PyObject *name, *arrays, *parameters, *share, *context, *result = NULL;
  hx_op op;
  if (!PyArg_ParseTuple(args, "OO!O!OO", &name, &PyTuple_Type, &arrays, &PyBytes_Type, &parameters, &share, &context) ||
      !hxpy_op_named(name, &op)) {
    return NULL;
  }
  struct call call = {0};
  hx_value value;
  if (get_inputs(&call, arrays, parameters)) {
    hx_task task = hx_map_reduce(op, k, call.inputs, call.n, call.parameters, &value);
    if (run(&task, share, context)) result = hxpy_scalar(hxpy_cell_of(op, hx_kernel_type(k)), &value);
  }
  call_release(&call);
  return result;
}

static PyMethodDef kernel_methods[] = {
    {"map", kernel_map, METH_VARARGS, NULL}, {"reduce", kernel_reduce, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};

static PyType_Slot kernel_slots[] = {
    {Py_tp_new, kernel_new}, {Py_tp_dealloc, kernel_dealloc}, {Py_tp_methods, kernel_methods}, {0, NULL}};

PyType_Spec hxpy_kernel_spec = {"hx._native.Kernel", sizeof(kernel_object), 0, Py_TPFLAGS_DEFAULT, kernel_slots};
