/* SPDX-License-Identifier: Apache-2.0
 * Arrays as arguments. */
#include "native.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { ELEMENT = 4 };

/* The element type of a format of the struct module, 0 if hx does not have it. Native and little-endian order are the
 * same on every machine that hx supports. */
static hx_type type_of(const Py_buffer *v) {
  const char *format = v->format ? v->format : "B";
  if (*format == '@' || *format == '=' || *format == '<') format++;
  if (v->itemsize != ELEMENT || format[0] == 0 || format[1] != 0) return 0;
  switch (*format) {
    case 'f':
      return HX_F32;
    case 'i':
    case 'l':
      return HX_I32;
    case 'I':
    case 'L':
      return HX_U32;
    default:
      return 0;
  }
}

static bool aligned(const Py_buffer *v) {
  if ((uintptr_t)v->buf % ELEMENT) return false;
  for (int i = 0; i < v->ndim; i++) {
    if (v->shape[i] > 1 && v->strides[i] % ELEMENT) return false;
  }
  return true;
}

/* PyObject_GetBuffer with shape and strides. ctypes gives no strides, though they were asked for; a memoryview of its
 * array has them. */
static bool get_buffer(PyObject *object, Py_buffer *view) {
  if (PyObject_GetBuffer(object, view, PyBUF_FORMAT | PyBUF_STRIDES)) return false;
  if (view->ndim == 0 || (view->shape && view->strides)) return true;
  PyBuffer_Release(view);
  PyObject *full = PyMemoryView_FromObject(object);
  const bool got = full && PyObject_GetBuffer(full, view, PyBUF_FORMAT | PyBUF_STRIDES) == 0;
  Py_XDECREF(full);
  return got;
}

/* Holds the array as it is. type is 0 if hx does not have it. */
static bool hold(hxpy_operand *o, PyObject *object, const char *name) {
  PyObject *array = NULL;
  if (!PyObject_CheckBuffer(object)) {
    array = PyObject_CallFunction(hxpy_py.as_array, "sO", name, object);
    if (!array) return false;
    object = array;
  }
  o->name = name;
  o->type = 0;
  bool held = get_buffer(object, &o->view);
  if (held) {
    o->type = type_of(&o->view);
  } else { /* NumPy has no format for some of its dtypes; the view is as it was, without an object */
    PyErr_Clear();
    o->view.obj = NULL;
    Py_XDECREF(PyObject_CallFunction(hxpy_py.dtype_error, "sO", name, object));
  }
  Py_XDECREF(array);
  return held;
}

/* What is held, for functions in Python, only while it is held. The object in a Py_buffer need not have the buffer
 * protocol itself: for a class with __buffer__ it is an object of Python's own. */
static PyObject *view_of(const hxpy_operand *o) {
  Py_buffer view = o->view; /* Python 3.10 wants one that is not const, and reads it */
  return PyMemoryView_FromBuffer(&view);
}

static bool hold_typed(hxpy_operand *o, PyObject *object, const char *name) {
  if (!hold(o, object, name)) return false;
  if (o->type) return true;
  PyObject *view = view_of(o);
  if (view) Py_XDECREF(PyObject_CallFunction(hxpy_py.dtype_error, "sO", name, view)); /* raises */
  Py_XDECREF(view);
  return false;
}

bool hxpy_operand_get(hxpy_operand *o, PyObject *object, const char *name) {
  return hold_typed(o, object, name) && (aligned(&o->view) || hxpy_operand_copy(o, 'K'));
}

bool hxpy_operand_get_unmoved(hxpy_operand *o, PyObject *object, const char *name) { return hold(o, object, name); }

bool hxpy_operand_get_output(hxpy_operand *o, PyObject *object, const char *name) {
  if (!PyObject_CheckBuffer(object)) {
    PyObject *none = PyObject_CallFunction(hxpy_py.check_output, "sO", name, object);
    if (!none) return false;
    Py_DECREF(none);
  }
  if (!hold_typed(o, object, name)) return false;
  const char *wrong = o->view.readonly ? "read-only" : !aligned(&o->view) ? "not aligned to its elements" : NULL;
  return !wrong || hxpy_refuse("%s is %s", name, wrong);
}

/* Holds `copy` in place of what is held, and takes the reference to it. */
static bool replace(hxpy_operand *o, PyObject *copy) {
  if (!copy) return false;
  const char *name = o->name;
  const hx_type type = o->type;
  const int ndim = o->view.ndim;
  hxpy_operand_release(o);
  bool held = hold(o, copy, name);
  Py_DECREF(copy);
  if (!held || (o->type == type && o->view.ndim == ndim)) return held;
  return hxpy_refuse("%s has a format that NumPy reads as another one", name);
}

bool hxpy_operand_copy(hxpy_operand *o, char order) {
  PyObject *view = view_of(o);
  PyObject *copy = view ? PyObject_CallFunction(hxpy_py.copy, "OC", view, order) : NULL;
  Py_XDECREF(view);
  return replace(o, copy);
}

PyObject *hxpy_operand_like(const hxpy_operand *o, hxpy_cell cell) {
  PyObject *view = view_of(o), *dtype = PyTuple_GetItem(hxpy_py.dtypes, cell);
  PyObject *array = view ? PyObject_CallFunctionObjArgs(hxpy_py.empty_like, view, dtype, NULL) : NULL;
  Py_XDECREF(view);
  return array;
}

void hxpy_operand_release(hxpy_operand *o) {
  if (o->view.obj) PyBuffer_Release(&o->view);
}

size_t hxpy_operand_size(const hxpy_operand *o) { return (size_t)(o->view.len / ELEMENT); }

/* Finds the axis of each distance in turn: 1, then the extent of the axis that has it, and so on. */
bool hxpy_dense(const Py_buffer *v) {
  Py_ssize_t expected = ELEMENT;
  while (expected < v->len) {
    int i = 0;
    while (i < v->ndim && !(v->shape[i] > 1 && v->strides[i] == expected)) i++;
    if (i == v->ndim) return false;
    expected *= v->shape[i];
  }
  return true;
}

bool hxpy_flat(const Py_buffer *v, const int *axes, int count, Py_ssize_t *stride) {
  Py_ssize_t inner = 0, expected = 0; /* bytes; 0: no axis of more than one element was seen */
  *stride = 1;
  if (v->len == 0) return true; /* whatever the strides are: those before an axis of 0 may be 0 */
  for (int i = count; i-- > 0;) {
    int axis = axes ? axes[i] : i;
    if (v->shape[axis] == 1) continue;
    if (v->strides[axis] <= 0 || (inner && v->strides[axis] != expected)) return false;
    if (!inner) inner = v->strides[axis], *stride = inner / ELEMENT;
    expected = v->strides[axis] * v->shape[axis];
  }
  return true;
}

bool hxpy_flat_in_any_order(const Py_buffer *v, const void **first, Py_ssize_t *stride) {
  Py_ssize_t steps[PyBUF_MAX_NDIM];
  Py_buffer turned = *v;
  char *low = v->buf;
  for (int i = 0; i < v->ndim; i++) {
    const Py_ssize_t step = v->strides[i];
    steps[i] = step < 0 ? -step : step;
    if (step < 0 && v->shape[i] > 1) low += (v->shape[i] - 1) * step;
  }
  turned.strides = steps;
  *first = low;
  if (hxpy_flat(&turned, NULL, v->ndim, stride)) return true;
  *stride = 1;
  return hxpy_dense(&turned);
}

bool hxpy_contiguous(const hxpy_operand *o) {
  Py_ssize_t stride;
  return hxpy_flat(&o->view, NULL, o->view.ndim, &stride) && stride == 1;
}

void hxpy_operand_span(const hxpy_operand *o, void **first, size_t *bytes) {
  const Py_buffer *v = &o->view;
  char *low = v->buf, *high = low + v->itemsize;
  for (int i = 0; i < v->ndim; i++) {
    Py_ssize_t reach = (v->shape[i] - 1) * v->strides[i];
    if (reach < 0) low += reach;
    if (reach > 0) high += reach;
  }
  *first = low;
  *bytes = v->len ? (size_t)(high - low) : 0;
}

bool hxpy_overlap(const hxpy_operand *x, const hxpy_operand *y) {
  void *first_x, *first_y;
  size_t bytes_x, bytes_y;
  hxpy_operand_span(x, &first_x, &bytes_x);
  hxpy_operand_span(y, &first_y, &bytes_y);
  return (char *)first_x < (char *)first_y + bytes_y && (char *)first_y < (char *)first_x + bytes_x;
}

const char *hxpy_shape_text(const Py_buffer *v) {
  static _Thread_local char texts[4][160];
  static _Thread_local unsigned turn;
  char *text = texts[turn++ % 4];
  size_t used = 1;
  strcpy(text, "(");
  for (int i = 0; i < v->ndim; i++) {
    const char *comma = i + 1 < v->ndim ? ", " : v->ndim == 1 ? "," : "";
    used += (size_t)snprintf(text + used, sizeof texts[0] - used, "%zd%s", v->shape[i], comma);
    if (used > sizeof texts[0] - 24) return strcpy(text + used - 4, "...)"), text;
  }
  strcpy(text + used, ")");
  return text;
}
