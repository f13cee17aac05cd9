/* SPDX-License-Identifier: Apache-2.0
 * One call of a user kernel: the arrays that it reads and writes. */
#ifndef HX_PYTHON_KERNEL_CALL_H
#define HX_PYTHON_KERNEL_CALL_H

#include "kernel.h"

/* Arrays of one call, as rows of their last axis. They do not move, because operands may not. */
typedef struct hxpy_kernel_call {
  hxpy_operand in[HX_MAX_INPUTS], out[HX_MAX_OUTPUTS];
  const void *inputs[HX_MAX_INPUTS];
  void *outputs[HX_MAX_OUTPUTS];
  size_t ld[HX_MAX_INPUTS];    /* 0: one row for all */
  bool per_row[HX_MAX_INPUTS]; /* inputs that have one value for each row */
  const hxpy_operand *shaped;  /* has the shape of the results: the input with rows with the most axes, or else out */
  size_t rows, cols, ld_out;
} hxpy_kernel_call;

bool hxpy_same_shape(const Py_buffer *a, const Py_buffer *b);
/* False: an exception names both types. */
bool hxpy_has_type(const hxpy_operand *o, hx_type type);
/* The elements from row to row. 0: the array has to be copied. */
size_t hxpy_row_distance(const hxpy_operand *o, size_t rows, size_t cols);
/* Whether arrays lie in memory without gaps and with their axes in one order, so that equal indices are equal places.
 */
bool hxpy_same_places(const Py_buffer *a, const Py_buffer *b);

/* The arrays that map was given as out, in a tuple if the kernel names its outputs. */
typedef struct hxpy_given {
  PyObject *tuple;                 /* keeps them; NULL: there is none */
  PyObject *array[HX_MAX_OUTPUTS]; /* NULL: none, so that a new one is made */
} hxpy_given;
/* False: an exception is set, and nothing has to be released. */
bool hxpy_given_get(const hxpy_kernel *k, PyObject *out, hxpy_given *given);

/* Holds output `o` of the call, which may be held already. */
bool hxpy_output_hold(hxpy_kernel_call *call, const hxpy_kernel *k, unsigned o, PyObject *array);
/* A new reference to the array that is written, or to a tuple of them, which the call then holds. like: new ones have
 * the places of the inputs. */
PyObject *hxpy_outputs_get(hxpy_kernel_call *call, const hxpy_kernel *k, const hxpy_given *given, bool like);
/* Whether all outputs have the places of the first input, which has no gaps. */
bool hxpy_outputs_have_places(const hxpy_kernel_call *call, const hxpy_kernel *k);
/* Finds the elements from row to row of the outputs. */
bool hxpy_outputs_arrange(hxpy_kernel_call *call, const hxpy_kernel *k);
/* With an exception set: if hx refused the map, which it does only if an output overlaps another array, says so in the
 * names of map's arguments. */
void hxpy_outputs_explain(const hxpy_kernel_call *call, const hxpy_kernel *k);

#endif
