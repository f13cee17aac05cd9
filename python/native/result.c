/* SPDX-License-Identifier: Apache-2.0
 * Results as NumPy's scalars and arrays. */
#include "native.h"

#include <stdint.h>

/* An array of one element for each type of result. Reading its element is the fastest way to a NumPy scalar that needs
 * no header of NumPy: calling numpy.float32 takes several times as long. Only used with the GIL. */
static struct {
  PyObject *array;
  Py_buffer view;
} cells[HXPY_CELLS];

bool hxpy_cells_make(void) {
  for (hxpy_cell i = 0; i < HXPY_CELLS; i++) {
    cells[i].array = hxpy_array(i, 1, (Py_ssize_t[]){1});
    if (!cells[i].array || PyObject_GetBuffer(cells[i].array, &cells[i].view, PyBUF_WRITABLE)) return false;
  }
  return true;
}

hxpy_cell hxpy_cell_of(hx_op op, hx_type type) {
  static const hxpy_cell element[] = {[HX_F32] = HXPY_FLOAT32, [HX_I32] = HXPY_INT32, [HX_U32] = HXPY_UINT32};
  static const hxpy_cell wide[] = {[HX_F32] = HXPY_FLOAT32, [HX_I32] = HXPY_INT64, [HX_U32] = HXPY_UINT64};
  switch (op) {
    case HX_ARGMIN:
    case HX_ARGMAX:
      return HXPY_INDEX;
    case HX_MIN:
    case HX_MAX:
      return element[type];
    default:
      return wide[type];
  }
}

bool hxpy_stores_values(hxpy_cell cell) { return cell > HXPY_UINT32; }

/* Every member of hx_value begins at its first byte, so that the size alone counts. */
void hxpy_store(hxpy_cell cell, void *memory, Py_ssize_t first, Py_ssize_t step, const hx_value *values, size_t count) {
  uint64_t *const wide = (uint64_t *)memory + first;
  uint32_t *const to = (uint32_t *)memory + first;
  if (hxpy_stores_values(cell)) {
    for (size_t i = 0; i < count; i++) wide[(Py_ssize_t)i * step] = values[i].u64;
  } else if (step == 1) { /* a loop of its own, which compilers make of vectors */
    for (size_t i = 0; i < count; i++) to[i] = values[i].u32;
  } else {
    for (size_t i = 0; i < count; i++) to[(Py_ssize_t)i * step] = values[i].u32;
  }
}

PyObject *hxpy_scalar(hxpy_cell cell, const hx_value *value) {
  hxpy_store(cell, cells[cell].view.buf, 0, 1, value, 1);
  return PySequence_GetItem(cells[cell].array, 0);
}

PyObject *hxpy_array(hxpy_cell cell, int ndim, const Py_ssize_t *shape) {
  PyObject *extents = PyTuple_New(ndim);
  if (!extents) return NULL;
  for (int i = 0; i < ndim; i++) {
    PyObject *extent = PyLong_FromSsize_t(shape[i]);
    if (!extent) return Py_DECREF(extents), NULL;
    PyTuple_SetItem(extents, i, extent);
  }
  PyObject *array = PyObject_CallFunctionObjArgs(hxpy_py.empty, extents, PyTuple_GetItem(hxpy_py.dtypes, cell), NULL);
  Py_DECREF(extents);
  return array;
}
