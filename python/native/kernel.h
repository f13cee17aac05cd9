/* SPDX-License-Identifier: Apache-2.0
 * The type hx._native.Kernel and the arguments of its methods. */
#ifndef HX_PYTHON_KERNEL_H
#define HX_PYTHON_KERNEL_H

#include "hx_map.h"
#include "native.h"

/* An input or a parameter. */
typedef struct hxpy_declared {
  PyObject *name;   /* interned */
  const char *text; /* of the name */
  hx_type type;
  bool per_row; /* an input that has one value for each row */
} hxpy_declared;

typedef struct hxpy_kernel {
  PyObject_HEAD hx_kernel *kernel;
  int inputs, parameters, counts; /* counts: the text uses index or row, so elements have to be in C order */
  unsigned outputs;
  bool names_outputs; /* map returns a tuple, and takes one as out */
  hxpy_declared input[HX_MAX_INPUTS], parameter[HX_MAX_PARAMETERS];
} hxpy_kernel;

/* inputs, parameters: tuples of (name, hx_type, whether it has one value for each row). hx has compiled a kernel that
 * declares them. False: an exception is set. */
bool hxpy_kernel_declare(hxpy_kernel *k, PyObject *inputs, PyObject *parameters);
void hxpy_kernel_forget(hxpy_kernel *k);

/* What map or reduce was called with; NULL: not given, or None. */
typedef struct hxpy_kernel_arguments {
  PyObject *const *arrays; /* as many as the kernel has inputs */
  PyObject *out, *axis, *share, *context;
  hx_value parameters[HX_MAX_PARAMETERS];
} hxpy_kernel_arguments;

/* args: `count` arrays, then the values of the names. reduces: there may be an axis, and no out. */
bool hxpy_kernel_arguments_read(const hxpy_kernel *k, bool reduces, PyObject *const *args, Py_ssize_t count,
                                PyObject *names, hxpy_kernel_arguments *a);

#endif
