/* SPDX-License-Identifier: Apache-2.0
 * The outputs of hx.Kernel.map. */
#include <string.h>

#include "kernel_call.h"

bool hxpy_same_shape(const Py_buffer *a, const Py_buffer *b) {
  return a->ndim == b->ndim && (a->ndim == 0 || memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0);
}

static const char *type_name(hx_type t) { return t == HX_F32 ? "float32" : t == HX_I32 ? "int32" : "uint32"; }

bool hxpy_has_type(const hxpy_operand *o, hx_type type) {
  if (o->type == type) return true;
  PyErr_Format(PyExc_TypeError, "%s is %s; the kernel has %s there", o->name, type_name(o->type), type_name(type));
  return false;
}

size_t hxpy_row_distance(const hxpy_operand *o, size_t rows, size_t cols) {
  int axes[PyBUF_MAX_NDIM];
  const Py_buffer *v = &o->view;
  Py_ssize_t stride;
  if (hxpy_contiguous(o)) return cols;
  if (v->ndim < 2 || (cols > 1 && v->strides[v->ndim - 1] != 4)) return 0;
  for (int i = 0; i < v->ndim - 1; i++) axes[i] = i;
  if (!hxpy_flat(v, axes, v->ndim - 1, &stride)) return 0;
  return rows < 2 ? cols : (size_t)stride >= cols ? (size_t)stride : 0;
}

bool hxpy_same_places(const Py_buffer *a, const Py_buffer *b) {
  if (!hxpy_dense(a) || !hxpy_same_shape(a, b)) return false;
  for (int i = 0; i < a->ndim; i++) {
    if (a->shape[i] > 1 && a->strides[i] != b->strides[i]) return false;
  }
  return true;
}

bool hxpy_given_get(const hxpy_kernel *k, PyObject *out, hxpy_given *given) {
  *given = (hxpy_given){.tuple = NULL};
  if (!out) return true;
  if (!k->names_outputs) {
    given->array[0] = out;
    return true;
  }
  if (!PyTuple_Check(out) && !PyList_Check(out)) {
    PyErr_Format(PyExc_TypeError, "out is not a tuple; the kernel names its outputs, and out has an array for each");
    return false;
  }
  given->tuple = PySequence_Tuple(out);
  if (!given->tuple) return false;
  if (PyTuple_Size(given->tuple) != (Py_ssize_t)k->outputs) {
    PyErr_Format(PyExc_TypeError, "out has %zd arrays; the kernel has %u outputs", PyTuple_Size(given->tuple),
                 k->outputs);
    Py_CLEAR(given->tuple);
    return false;
  }
  for (unsigned o = 0; o < k->outputs; o++) {
    PyObject *array = PyTuple_GetItem(given->tuple, (Py_ssize_t)o);
    given->array[o] = array == Py_None ? NULL : array;
  }
  return true;
}

bool hxpy_output_hold(hxpy_kernel_call *call, const hxpy_kernel *k, unsigned o, PyObject *array) {
  static const char *const names[HX_MAX_OUTPUTS] = {"out[0]", "out[1]", "out[2]", "out[3]",
                                                    "out[4]", "out[5]", "out[6]", "out[7]"};
  hxpy_operand *out = &call->out[o];
  return out->view.obj || hxpy_operand_get_output(out, array, k->names_outputs ? names[o] : "out");
}

static PyObject *get_output(hxpy_kernel_call *call, const hxpy_kernel *k, unsigned o, PyObject *given, bool like) {
  static const hxpy_cell cells[] = {[HX_F32] = HXPY_FLOAT32, [HX_I32] = HXPY_INT32, [HX_U32] = HXPY_UINT32};
  const hx_type type = hx_kernel_output_type(k->kernel, o);
  const hxpy_operand *const shaped = call->shaped, *const out = &call->out[o];
  const Py_buffer *first = &shaped->view;
  PyObject *result = given                              ? Py_NewRef(given)
                     : like && !hxpy_contiguous(shaped) ? hxpy_operand_like(shaped, cells[type])
                                                        : hxpy_array(cells[type], first->ndim, first->shape);
  bool ok = result && hxpy_output_hold(call, k, o, result) && hxpy_has_type(out, type);
  if (ok && !hxpy_same_shape(first, &out->view)) {
    ok = hxpy_refuse("%s has shape %s; the inputs have shape %s", out->name, hxpy_shape_text(&out->view),
                     hxpy_shape_text(first));
  }
  if (!ok) Py_CLEAR(result);
  return result;
}

PyObject *hxpy_outputs_get(hxpy_kernel_call *call, const hxpy_kernel *k, const hxpy_given *given, bool like) {
  if (!k->names_outputs) {
    PyObject *result = get_output(call, k, 0, given->array[0], like);
    call->outputs[0] = call->out[0].view.buf;
    return result;
  }
  PyObject *all = PyTuple_New((Py_ssize_t)k->outputs);
  for (unsigned o = 0; all && o < k->outputs; o++) {
    PyObject *result = get_output(call, k, o, given->array[o], like);
    call->outputs[o] = call->out[o].view.buf;
    if (!result || PyTuple_SetItem(all, (Py_ssize_t)o, result) < 0) Py_CLEAR(all);
  }
  return all;
}

bool hxpy_outputs_have_places(const hxpy_kernel_call *call, const hxpy_kernel *k) {
  for (unsigned o = 0; o < k->outputs; o++) {
    if (!hxpy_same_places(&call->in[0].view, &call->out[o].view)) return false;
  }
  return true;
}

bool hxpy_outputs_arrange(hxpy_kernel_call *call, const hxpy_kernel *k) {
  for (unsigned o = 0; o < k->outputs; o++) {
    const hxpy_operand *const out = &call->out[o];
    const size_t distance = hxpy_row_distance(out, call->rows, call->cols);
    if (!distance && out->view.len) {
      return hxpy_refuse("the rows of %s are not C-contiguous and equally far apart", out->name);
    }
    if (o && distance != call->ld_out) {
      return hxpy_refuse("the rows of %s are %zu elements apart, and those of out[0] %zu: they have to be equal",
                         out->name, distance, call->ld_out);
    }
    call->ld_out = distance;
  }
  return true;
}

/* Whether hx refuses an output because of an input. */
static bool explain_input(const hxpy_kernel_call *call, const hxpy_operand *out, int i) {
  const hxpy_operand *in = &call->in[i];
  const bool same = in->view.buf == out->view.buf && (call->rows == 1 || call->ld[i] == call->ld_out);
  if ((same && !call->per_row[i]) || !hxpy_overlap(in, out)) return false;
  hxpy_refuse(call->per_row[i] ? "%s overlaps %s, which has one value for each row" : "%s overlaps %s in part",
              out->name, in->name);
  return true;
}

void hxpy_outputs_explain(const hxpy_kernel_call *call, const hxpy_kernel *k) {
  if (!PyErr_ExceptionMatches(PyTuple_GetItem(hxpy_py.errors, HX_INVALID_ARGUMENT))) return;
  for (unsigned o = 0; o < k->outputs; o++) {
    const hxpy_operand *const out = &call->out[o];
    for (int i = 0; i < k->inputs; i++) {
      if (explain_input(call, out, i)) return;
    }
    for (unsigned other = 0; other < o; other++) {
      if (hxpy_overlap(&call->out[other], out)) {
        hxpy_refuse("%s overlaps %s", out->name, call->out[other].name);
        return;
      }
    }
  }
}
