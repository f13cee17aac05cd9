/* SPDX-License-Identifier: Apache-2.0
 * The type hx._native.Call: what libhx_mpi needs for one call, as addresses. hx/mpi.py makes the call, because this
 * module is not compiled with any MPI. The context stays open and the arrays stay where they are while the object
 * lives. */
#include "native.h"

typedef struct call_object {
  PyObject_HEAD hxpy_context *context;
  hxpy_reduction reduction;
  hx_task task;
} call_object;

/* Call(context) */
static PyObject *call_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  PyObject *context;
  (void)keywords;
  if (!PyArg_ParseTuple(args, "O", &context)) return NULL;
  hxpy_context *c = hxpy_context_enter(context == Py_None ? NULL : context);
  if (!c) return NULL;
  call_object *call = (call_object *)PyType_GenericAlloc(type, 0);
  if (call)
    call->context = c;
  else
    hxpy_context_leave(c);
  return (PyObject *)call;
}

static void call_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  call_object *call = (call_object *)self;
  hxpy_reduction_release(&call->reduction);
  if (call->context) hxpy_context_leave(call->context);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

static bool hold(hxpy_operand *o, PyObject *array, const char *name) {
  return hxpy_operand_get(o, array, name) && (hxpy_contiguous(o) || hxpy_operand_copy(o, 'C'));
}

/* The elements in C order, because those of the other ranks follow them. There may be none, whatever the operation. */
static bool prepare(hxpy_reduction *r, hx_op op, PyObject *a, PyObject *b, bool vectors) {
  r->op = op;
  r->stride_a = r->stride_b = 1;
  if (!hold(&r->a, a, "a")) return false;
  r->first = r->a.view.buf;
  r->n = hxpy_operand_size(&r->a);
  return !b || (hold(&r->b, b, "b") && hxpy_pair_fits(&r->a, &r->b, vectors));
}

/* reduction(operation, a, b, vectors, gpu_share): the address of the task. Called at most once. */
static PyObject *call_reduction(PyObject *self, PyObject *args) {
  call_object *call = (call_object *)self;
  PyObject *name, *a, *b, *share;
  int vectors;
  float fraction;
  hx_op op;
  if (!PyArg_ParseTuple(args, "OOOpO", &name, &a, &b, &vectors, &share) || !hxpy_op_named(name, &op) ||
      !hxpy_share(share == Py_None ? NULL : share, &fraction) ||
      !prepare(&call->reduction, op, a, b == Py_None ? NULL : b, vectors)) {
    return NULL;
  }
  call->task = hxpy_reduction_task(&call->reduction, fraction);
  return PyLong_FromVoidPtr(&call->task);
}

/* What the task has stored, as a NumPy scalar. */
static PyObject *call_value(PyObject *self, PyObject *unused) {
  const hxpy_reduction *r = &((call_object *)self)->reduction;
  (void)unused;
  return hxpy_scalar(hxpy_cell_of(r->op, r->a.type), &r->value);
}

static PyObject *call_context(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromVoidPtr(((call_object *)self)->context->hx);
}

static PyMethodDef call_methods[] = {
    {"reduction", call_reduction, METH_VARARGS, NULL}, {"value", call_value, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};

static PyGetSetDef call_attributes[] = {{"context", call_context, NULL, NULL, NULL}, {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot call_slots[] = {{Py_tp_new, call_new},
                                   {Py_tp_dealloc, call_dealloc},
                                   {Py_tp_methods, call_methods},
                                   {Py_tp_getset, call_attributes},
                                   {0, NULL}};

PyType_Spec hxpy_call_spec = {"hx._native.Call", sizeof(call_object), 0, Py_TPFLAGS_DEFAULT, call_slots};
