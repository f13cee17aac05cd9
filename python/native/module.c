/* SPDX-License-Identifier: Apache-2.0
 * The module: its types and functions, and the Python objects that C code uses. */
#include "native.h"

hxpy_support hxpy_py;

/* Reads hx/_support.py, which has a name for each member. */
static bool support_read(void) {
  PyObject *module = PyImport_ImportModule("hx._support");
  if (!module) return false;
  const struct {
    PyObject **member;
    const char *name;
  } rows[] = {
      {&hxpy_py.errors, "ERRORS"},           {&hxpy_py.as_array, "as_array"}, {&hxpy_py.check_output, "check_output"},
      {&hxpy_py.dtype_error, "dtype_error"}, {&hxpy_py.copy, "copy"},         {&hxpy_py.empty, "empty"},
      {&hxpy_py.empty_like, "empty_like"},   {&hxpy_py.assign, "assign"},     {&hxpy_py.dtypes, "DTYPES"},
      {&hxpy_py.new_context, "new_context"},
  };
  bool ok = true;
  for (Py_ssize_t i = 0; ok && i < HXPY_COUNT(rows); i++) {
    *rows[i].member = PyObject_GetAttrString(module, rows[i].name);
    ok = *rows[i].member != NULL;
  }
  Py_DECREF(module);
  hxpy_py.no_indices = PyTuple_New(0);
  return ok && hxpy_py.no_indices;
}

static PyObject *add_type(PyObject *module, const char *name, PyType_Spec *spec) {
  PyObject *type = PyType_FromSpec(spec);
  if (type && PyModule_AddObjectRef(module, name, type)) Py_CLEAR(type);
  return type; /* the module is never unloaded, and neither is the type */
}

static bool fill(PyObject *module) {
  PyObject *context = add_type(module, "Context", &hxpy_context_spec);
  PyObject *task = add_type(module, "Task", &hxpy_task_spec);
  if (!context || !task || !add_type(module, "Block", &hxpy_block_spec) ||
      !add_type(module, "Registration", &hxpy_registration_spec) || !add_type(module, "View", &hxpy_view_spec) ||
      !add_type(module, "Kernel", &hxpy_kernel_spec) || !add_type(module, "Call", &hxpy_call_spec)) {
    return false;
  }
  hxpy_context_type_set(context);
  hxpy_task_type_set(task);
  PyMethodDef *tables[] = {hxpy_context_functions, hxpy_reduce_functions, hxpy_soa_functions,
                           hxpy_matmul_functions,  hxpy_task_functions,   hxpy_memory_functions};
  for (Py_ssize_t i = 0; i < HXPY_COUNT(tables); i++) {
    if (PyModule_AddFunctions(module, tables[i])) return false;
  }
  return PyModule_AddStringConstant(module, "version", hx_version()) == 0;
}

PyMODINIT_FUNC PyInit__native(void) {
  static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "hx._native", NULL, -1, NULL, NULL, NULL, NULL, NULL};
  PyObject *module = support_read() && hxpy_cells_make() ? PyModule_Create(&definition) : NULL;
  if (module && !fill(module)) Py_CLEAR(module);
  return module;
}
