/* SPDX-License-Identifier: Apache-2.0
 * What a kernel declares, and the arguments of its calls: arrays by position, parameters and options by name. */
#include <math.h>

#include "kernel.h"

static bool declare(hxpy_declared *d, PyObject *row) {
  int type, per_row;
  PyObject *name;
  if (!PyArg_ParseTuple(row, "Uip", &name, &type, &per_row)) return false;
  d->name = Py_NewRef(name);
  PyUnicode_InternInPlace(&d->name); /* as names of arguments are, so that they are mostly the same object */
  d->text = PyUnicode_AsUTF8AndSize(d->name, NULL);
  d->type = (hx_type)type;
  d->per_row = per_row;
  return d->text != NULL;
}

bool hxpy_kernel_declare(hxpy_kernel *k, PyObject *inputs, PyObject *parameters) {
  const int count = (int)PyTuple_Size(inputs), values = (int)PyTuple_Size(parameters);
  if (count > HX_MAX_INPUTS || values > HX_MAX_PARAMETERS) return hxpy_refuse("too many inputs or parameters");
  for (int i = 0; i < count; i++) {
    if (!declare(&k->input[k->inputs++], PyTuple_GetItem(inputs, i))) return false;
  }
  for (int i = 0; i < values; i++) {
    if (!declare(&k->parameter[k->parameters++], PyTuple_GetItem(parameters, i))) return false;
  }
  return true;
}

void hxpy_kernel_forget(hxpy_kernel *k) {
  for (int i = 0; i < k->inputs; i++) Py_XDECREF(k->input[i].name);
  for (int i = 0; i < k->parameters; i++) Py_XDECREF(k->parameter[i].name);
}

/* A float32 from anything that is a number to Python; false without an exception: it is none, or too large. */
static bool to_float(PyObject *object, float *value) {
  const double number = PyFloat_AsDouble(object);
  if (number == -1.0 && PyErr_Occurred()) return false;
  *value = (float)number;
  return isfinite(*value) || !isfinite(number);
}

static bool to_integer(PyObject *object, hx_type type, hx_value *value) {
  PyObject *index = PyNumber_Index(object);
  const long long number = index ? PyLong_AsLongLong(index) : -1;
  Py_XDECREF(index);
  if (number == -1 && PyErr_Occurred()) return false;
  value->u32 = (uint32_t)number;
  return type == HX_I32 ? number == value->i32 : number == (long long)value->u32;
}

static bool to_value(const hxpy_declared *d, PyObject *object, hx_value *value) {
  value->u64 = 0;
  if (d->type == HX_F32 ? to_float(object, &value->f32) : to_integer(object, d->type, value)) return true;
  if (PyErr_Occurred()) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_OverflowError)) return false;
    PyErr_Clear();
  }
  const bool is_number = PyFloat_Check(object) || PyLong_Check(object);
  PyObject *what = is_number ? PyObject_Repr(object) : hxpy_described(object);
  if (what) {
    hxpy_refuse("%s is %U; it does not fit its type", d->text, what);
  } else if (PyErr_ExceptionMatches(PyExc_ValueError)) { /* Python makes no text of thousands of digits */
    PyErr_Clear();
    hxpy_refuse("%s does not fit its type", d->text);
  }
  Py_XDECREF(what);
  return false;
}

/* The option of a name, or NULL. */
static PyObject **option_named(hxpy_kernel_arguments *a, bool reduces, PyObject *name) {
  if (PyUnicode_CompareWithASCIIString(name, reduces ? "axis" : "out") == 0) return reduces ? &a->axis : &a->out;
  if (PyUnicode_CompareWithASCIIString(name, "gpu_share") == 0) return &a->share;
  return PyUnicode_CompareWithASCIIString(name, "context") == 0 ? &a->context : NULL;
}

static int parameter_named(const hxpy_kernel *k, PyObject *name) {
  for (int i = 0; i < k->parameters; i++) {
    if (k->parameter[i].name == name) return i;
  }
  for (int i = 0; i < k->parameters; i++) {
    if (PyUnicode_Compare(k->parameter[i].name, name) == 0) return i;
  }
  return -1;
}

bool hxpy_kernel_arguments_read(const hxpy_kernel *k, bool reduces, PyObject *const *args, Py_ssize_t count,
                                PyObject *names, hxpy_kernel_arguments *a) {
  const Py_ssize_t named = names ? PyTuple_Size(names) : 0;
  unsigned given = 0;
  *a = (hxpy_kernel_arguments){.arrays = args};
  for (Py_ssize_t j = 0; j < named; j++) {
    PyObject *const name = PyTuple_GetItem(names, j), *const value = args[count + j];
    const int i = parameter_named(k, name);
    PyObject **option = i < 0 ? option_named(a, reduces, name) : NULL;
    if (option) {
      *option = value == Py_None ? NULL : value;
    } else if (i < 0) {
      PyErr_Format(PyExc_TypeError, "the kernel has no parameter '%U'", name);
      return false;
    } else if (!to_value(&k->parameter[i], value, &a->parameters[i])) {
      return false;
    } else {
      given |= 1u << i;
    }
  }
  for (int i = 0; i < k->parameters; i++) {
    if (given & 1u << i) continue;
    PyErr_Format(PyExc_TypeError, "the kernel needs parameter '%s'", k->parameter[i].text);
    return false;
  }
  if (count == k->inputs) return true;
  PyErr_Format(PyExc_TypeError, "%zd arrays were given; the kernel has %d inputs", count, k->inputs);
  return false;
}
