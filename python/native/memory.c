/* SPDX-License-Identifier: Apache-2.0
 * Memory: blocks of hx_alloc, registered arrays, and advice. */
#include "native.h"

/* hx._native.Block(context, bytes): memory of hx_alloc, by the buffer protocol. NumPy arrays are made over it. */
typedef struct block_object {
  PyObject_HEAD hxpy_context *context;
  void *memory;
  Py_ssize_t bytes;
} block_object;

static PyObject *block_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  PyObject *context;
  Py_ssize_t bytes;
  (void)keywords;
  if (!PyArg_ParseTuple(args, "On", &context, &bytes)) return NULL;
  if (bytes < 0) return hxpy_refuse("%zd bytes were asked for", bytes);
  hxpy_context *c = hxpy_context_enter(context == Py_None ? NULL : context);
  if (!c) return NULL;
  void *memory;
  Py_BEGIN_ALLOW_THREADS;
  memory = hx_alloc(c->hx, (size_t)bytes);
  Py_END_ALLOW_THREADS;
  block_object *b = memory ? (block_object *)PyType_GenericAlloc(type, 0) : NULL;
  if (!b) {
    if (!memory) hxpy_fail(HX_OUT_OF_MEMORY);
    hx_free(c->hx, memory);
    hxpy_context_leave(c);
    return NULL;
  }
  b->context = c;
  b->memory = memory;
  b->bytes = bytes;
  return (PyObject *)b;
}

static void block_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  block_object *b = (block_object *)self;
  if (b->context) {
    Py_BEGIN_ALLOW_THREADS; /* it waits for the tasks that use the memory */
    hx_free(b->context->hx, b->memory);
    Py_END_ALLOW_THREADS;
    hxpy_context_leave(b->context);
  }
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

static int block_buffer(PyObject *self, Py_buffer *view, int flags) {
  block_object *b = (block_object *)self;
  return PyBuffer_FillInfo(view, self, b->memory, b->bytes, 0, flags);
}

static PyType_Slot block_slots[] = {
    {Py_tp_new, block_new}, {Py_tp_dealloc, block_dealloc}, {Py_bf_getbuffer, block_buffer}, {0, NULL}};

PyType_Spec hxpy_block_spec = {"hx._native.Block", sizeof(block_object), 0, Py_TPFLAGS_DEFAULT, block_slots};

/* hx._native.Registration(context, array): holds the array, so that it is not freed while it is registered. */
typedef struct registration_object {
  PyObject_HEAD hxpy_context *context; /* NULL: nothing is registered */
  hxpy_operand array;
  void *first;
} registration_object;

static hx_status unregister(registration_object *r) {
  hx_status s;
  hxpy_context *c = r->context;
  if (!c) return HX_OK;
  r->context = NULL;
  Py_BEGIN_ALLOW_THREADS;
  s = hx_unregister(c->hx, r->first);
  Py_END_ALLOW_THREADS;
  hxpy_operand_release(&r->array);
  hxpy_context_leave(c);
  return s;
}

static PyObject *registration_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  PyObject *context, *array;
  size_t bytes;
  (void)keywords;
  if (!PyArg_ParseTuple(args, "OO", &context, &array)) return NULL;
  registration_object *r = (registration_object *)PyType_GenericAlloc(type, 0);
  if (!r) return NULL;
  if (!hxpy_operand_get_unmoved(&r->array, array, "a")) return Py_DECREF(r), NULL;
  hxpy_operand_span(&r->array, &r->first, &bytes);
  hxpy_context *c = hxpy_context_enter(context == Py_None ? NULL : context);
  if (!c) return Py_DECREF(r), NULL;
  hx_status s;
  Py_BEGIN_ALLOW_THREADS;
  s = hx_register(c->hx, r->first, bytes);
  Py_END_ALLOW_THREADS;
  if (s == HX_OK) {
    r->context = c;
    return (PyObject *)r;
  }
  hxpy_fail(s);
  hxpy_context_leave(c);
  Py_DECREF(r);
  return NULL;
}

static void registration_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  registration_object *r = (registration_object *)self;
  unregister(r);
  hxpy_operand_release(&r->array);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

static PyObject *registration_end(PyObject *self, PyObject *unused) {
  (void)unused;
  hx_status s = unregister((registration_object *)self);
  if (s != HX_OK) return hxpy_fail(s);
  return Py_NewRef(Py_None);
}

static PyMethodDef registration_methods[] = {{"unregister", registration_end, METH_NOARGS, NULL},
                                             {NULL, NULL, 0, NULL}};

static PyType_Slot registration_slots[] = {{Py_tp_new, registration_new},
                                           {Py_tp_dealloc, registration_dealloc},
                                           {Py_tp_methods, registration_methods},
                                           {0, NULL}};

PyType_Spec hxpy_registration_spec = {"hx._native.Registration", sizeof(registration_object), 0, Py_TPFLAGS_DEFAULT,
                                      registration_slots};

/* Advice on the memory of an array: what advise, modified and sync have in common. */
enum change { ADVISE, MODIFIED, SYNC };

static PyObject *change(enum change what, PyObject *array, PyObject *context, unsigned advice) {
  hxpy_operand o = {0};
  void *first;
  size_t bytes;
  if (!hxpy_operand_get_unmoved(&o, array, "a")) return NULL;
  hxpy_operand_span(&o, &first, &bytes);
  hxpy_context *c = hxpy_context_enter(context);
  hx_status s = HX_OK;
  if (c) {
    Py_BEGIN_ALLOW_THREADS;
    s = what == ADVISE     ? hx_advise(c->hx, first, bytes, advice)
        : what == MODIFIED ? hx_modified(c->hx, first, bytes)
                           : hx_sync(c->hx, first, bytes);
    Py_END_ALLOW_THREADS;
    if (s != HX_OK) hxpy_fail(s);
    hxpy_context_leave(c);
  }
  hxpy_operand_release(&o);
  if (!c || s != HX_OK) return NULL;
  return Py_NewRef(Py_None);
}

static PyObject *py_advise(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
  static const char *const names[] = {"a", "advice", "context"};
  PyObject *v[HXPY_COUNT(names)];
  (void)module;
  if (!hxpy_arguments(&(hxpy_signature){"advise", names, 3, 2, 2}, args, nargs, kwnames, v)) return NULL;
  long advice = PyLong_AsLong(v[1]);
  if (advice == -1 && PyErr_Occurred()) return NULL;
  if (advice < 0 || advice > 255) return hxpy_refuse("advice is %R; it consists of hx.Advice's bits", v[1]);
  return change(ADVISE, v[0], v[2], (unsigned)advice);
}

static PyObject *change_plainly(enum change what, const char *function, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames) {
  static const char *const names[] = {"a", "context"};
  PyObject *v[HXPY_COUNT(names)];
  if (!hxpy_arguments(&(hxpy_signature){function, names, 2, 1, 1}, args, nargs, kwnames, v)) return NULL;
  return change(what, v[0], v[1], 0);
}

static PyObject *py_modified(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
  (void)module;
  return change_plainly(MODIFIED, "modified", args, nargs, kwnames);
}

static PyObject *py_sync(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
  (void)module;
  return change_plainly(SYNC, "sync", args, nargs, kwnames);
}

PyMethodDef hxpy_memory_functions[] = {
    HXPY_FUNCTION(
        "advise", py_advise,
        "advise($module, /, a, advice, *, context=None)\n--\n\n"
        "Set the advice for the memory of an array, which hx.empty or hx.register have to know.\n\n"
        "advice: hx.Advice.READ_MOSTLY, hx.Advice.RESIDENT, both, or 0 to take advice back. Each block or\n"
        "registered array has one advised part, the last one given.\n"
        "hx.InvalidArgument: hx does not know the memory, or a bit is unknown. hx.DeviceFailed: a result that\n"
        "only a device had was lost."),
    HXPY_FUNCTION(
        "modified", py_modified,
        "modified($module, /, a, *, context=None)\n--\n\n"
        "To be called when Python or NumPy has written an array with advice: copies on devices become invalid.\n\n"
        "hx.InvalidArgument: hx does not know the memory."),
    HXPY_FUNCTION("sync", py_sync,
                  "sync($module, /, a, *, context=None)\n--\n\n"
                  "Bring results with the advice RESIDENT to the host, before Python or NumPy reads them.\n\n"
                  "hx.InvalidArgument: hx does not know the memory. hx.DeviceFailed: the device was lost."),
    {NULL, NULL, 0, NULL},
};
