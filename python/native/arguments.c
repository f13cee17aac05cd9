/* SPDX-License-Identifier: Apache-2.0
 * Arguments of functions that are called by PEP 590. PyArg_ParseTupleAndKeywords would need a tuple and a dictionary,
 * which cost more than a small reduction. */
#include "native.h"

static Py_ssize_t index_of(const hxpy_signature *s, PyObject *name) {
  for (Py_ssize_t i = 0; i < s->count; i++) {
    if (PyUnicode_CompareWithASCIIString(name, s->names[i]) == 0) return i;
  }
  return -1;
}

bool hxpy_arguments(const hxpy_signature *s, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                    PyObject **values) {
  if (nargs > s->positional) {
    PyErr_Format(PyExc_TypeError, "%s() takes at most %zd positional arguments, and got %zd", s->function,
                 s->positional, nargs);
    return false;
  }
  for (Py_ssize_t i = 0; i < s->count; i++) values[i] = i < nargs ? args[i] : NULL;
  Py_ssize_t named = kwnames ? PyTuple_Size(kwnames) : 0;
  for (Py_ssize_t k = 0; k < named; k++) {
    PyObject *name = PyTuple_GetItem(kwnames, k);
    Py_ssize_t i = index_of(s, name);
    if (i < 0) {
      PyErr_Format(PyExc_TypeError, "%s() has no argument '%U'", s->function, name);
      return false;
    }
    if (values[i]) {
      PyErr_Format(PyExc_TypeError, "%s() got argument '%U' twice", s->function, name);
      return false;
    }
    values[i] = args[nargs + k];
  }
  for (Py_ssize_t i = 0; i < s->count; i++) {
    if (i >= s->required) {
      if (values[i] == Py_None) values[i] = NULL;
    } else if (!values[i]) {
      PyErr_Format(PyExc_TypeError, "%s() needs argument '%s'", s->function, s->names[i]);
      return false;
    }
  }
  return true;
}

bool hxpy_share(PyObject *value, float *share) {
  *share = -1.0f;
  if (!value) return true;
  double number = PyFloat_AsDouble(value);
  if (number == -1.0 && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyObject *what = hxpy_described(value);
    if (what) PyErr_Format(PyExc_TypeError, "gpu_share is %U; it is a fraction from 0 to 1", what);
    Py_XDECREF(what);
    return false;
  }
  if (number == -1.0 && PyErr_Occurred()) return false;
  if (!(number >= 0.0 && number <= 1.0)) return hxpy_refuse("gpu_share is %R; it is a fraction from 0 to 1", value);
  *share = (float)number;
  return true;
}

PyObject *hxpy_described(PyObject *value) {
  return PyUnicode_Check(value) ? PyObject_Repr(value) : PyObject_GetAttrString((PyObject *)Py_TYPE(value), "__name__");
}
