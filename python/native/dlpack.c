/* SPDX-License-Identifier: Apache-2.0
 * DLPack in: the tensor of a capsule (github.com/dmlc/dlpack, version 1.0, and the older form without a version) by the
 * buffer protocol. Out, NumPy's own __dlpack__ does it, because hx's arrays are NumPy's. */
#include "native.h"

#include <stdint.h>

typedef struct tensor {
  void *data;
  int32_t device_type, device_id;
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides; /* strides: in elements; NULL if C-contiguous */
  uint64_t byte_offset;
} tensor;

typedef struct managed {
  tensor tensor;
  void *manager_context;
  void (*deleter)(struct managed *);
} managed;

typedef struct versioned {
  uint32_t major, minor;
  void *manager_context;
  void (*deleter)(struct versioned *);
  uint64_t flags; /* bit 0: read-only */
  tensor tensor;
} versioned;

enum {
  MOST_DIMENSIONS = 64,
  KIND_INT = 0,
  KIND_UINT = 1,
  KIND_FLOAT = 2,
  DEVICE_CPU = 1,
  DEVICE_CUDA_HOST = 3,
  DEVICE_ROCM_HOST = 11,
  READ_ONLY = 1
};

/* hx._native.View(capsule). One of the two managers is set. */
typedef struct view_object {
  PyObject_HEAD managed *plain;
  versioned *numbered;
  const tensor *t;
  const char *format;
  Py_ssize_t bytes;
  Py_ssize_t shape[MOST_DIMENSIONS], strides[MOST_DIMENSIONS];
} view_object;

/* The format of the struct module, NULL if there is none. */
static const char *format_of(const tensor *t) {
  static const struct {
    uint8_t code, bits;
    const char *format;
  } rows[] = {{KIND_FLOAT, 32, "f"}, {KIND_FLOAT, 64, "d"}, {KIND_FLOAT, 16, "e"}, {KIND_INT, 8, "b"},
              {KIND_INT, 16, "h"},   {KIND_INT, 32, "i"},   {KIND_INT, 64, "q"},   {KIND_UINT, 8, "B"},
              {KIND_UINT, 16, "H"},  {KIND_UINT, 32, "I"},  {KIND_UINT, 64, "Q"}};
  for (Py_ssize_t i = 0; t->lanes == 1 && i < HXPY_COUNT(rows); i++) {
    if (rows[i].code == t->code && rows[i].bits == t->bits) return rows[i].format;
  }
  return NULL;
}

/* Reads the tensor, before its capsule is taken. False: BufferError is set. */
static bool read_tensor(view_object *v, const tensor *t) {
  const char *wrong = NULL;
  v->t = t;
  v->format = format_of(t);
  if (t->device_type != DEVICE_CPU && t->device_type != DEVICE_CUDA_HOST && t->device_type != DEVICE_ROCM_HOST) {
    PyErr_Format(PyExc_BufferError, "the tensor is on a device of DLPack's type %d; hx takes memory of the host",
                 (int)t->device_type);
    return false;
  }
  if (!v->format) wrong = "the tensor has an element type that NumPy does not have";
  if (t->ndim < 0 || t->ndim > 32) wrong = "the tensor has more than 32 dimensions"; /* NumPy 1 */
  if (wrong) return PyErr_SetString(PyExc_BufferError, wrong), false;
  Py_ssize_t itemsize = t->bits / 8, next = 1;
  for (int i = t->ndim; i-- > 0;) {
    v->shape[i] = (Py_ssize_t)t->shape[i];
    v->strides[i] = (t->strides ? (Py_ssize_t)t->strides[i] : next) * itemsize;
    next *= v->shape[i];
  }
  v->bytes = next * itemsize;
  return true;
}

static PyObject *view_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  PyObject *capsule;
  (void)keywords;
  if (!PyArg_ParseTuple(args, "O", &capsule)) return NULL;
  view_object *v = (view_object *)PyType_GenericAlloc(type, 0);
  if (!v) return NULL;
  bool ok;
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    versioned *m = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    ok = m->major == 1;
    if (!ok) PyErr_Format(PyExc_BufferError, "the tensor has version %u of DLPack; hx knows 1", (unsigned)m->major);
    ok = ok && read_tensor(v, &m->tensor) && PyCapsule_SetName(capsule, "used_dltensor_versioned") == 0;
    if (ok) v->numbered = m;
  } else {
    managed *m = PyCapsule_GetPointer(capsule, "dltensor"); /* sets ValueError if it is no such capsule */
    ok = m && read_tensor(v, &m->tensor) && PyCapsule_SetName(capsule, "used_dltensor") == 0;
    if (ok) v->plain = m;
  }
  if (ok) return (PyObject *)v;
  Py_DECREF(v);
  return NULL;
}

static void view_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  view_object *v = (view_object *)self;
  PyObject *error, *value, *traceback;
  PyErr_Fetch(&error, &value, &traceback); /* a deleter may be written in Python */
  if (v->plain && v->plain->deleter) v->plain->deleter(v->plain);
  if (v->numbered && v->numbered->deleter) v->numbered->deleter(v->numbered);
  PyErr_Restore(error, value, traceback);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

static int view_buffer(PyObject *self, Py_buffer *view, int flags) {
  view_object *v = (view_object *)self;
  bool read_only = v->numbered && (v->numbered->flags & READ_ONLY);
  view->obj = NULL;
  if ((flags & PyBUF_WRITABLE) && read_only) return PyErr_SetString(PyExc_BufferError, "the tensor is read-only"), -1;
  if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES) return PyErr_SetString(PyExc_BufferError, "the view has strides"), -1;
  *view = (Py_buffer){.buf = (char *)v->t->data + v->t->byte_offset,
                      .obj = self,
                      .len = v->bytes,
                      .itemsize = v->t->bits / 8,
                      .readonly = read_only,
                      .ndim = v->t->ndim,
                      .format = (flags & PyBUF_FORMAT) ? (char *)v->format : NULL,
                      .shape = v->shape,
                      .strides = v->strides};
  Py_INCREF(self);
  return 0;
}

static PyType_Slot view_slots[] = {
    {Py_tp_new, view_new}, {Py_tp_dealloc, view_dealloc}, {Py_bf_getbuffer, view_buffer}, {0, NULL}};

PyType_Spec hxpy_view_spec = {"hx._native.View", sizeof(view_object), 0, Py_TPFLAGS_DEFAULT, view_slots};
