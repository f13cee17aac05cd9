/* SPDX-License-Identifier: Apache-2.0
 *
 * The extension module hx._native: hx's C interface on arrays of Python. It reads arrays by the buffer protocol, so it
 * needs no header of NumPy; result arrays and scalars are NumPy's, made by calling it. The module keeps to Python's
 * stable interface (PEP 384) of version 3.11: one wheel serves that version and all later ones.
 *
 * Threads. Everything here runs with the GIL, except hx's own work (hxpy_run, hxpy_task_wait and the calls in context.c
 * and memory.c that may wait).
 */
#ifndef HX_PYTHON_NATIVE_H
#define HX_PYTHON_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

#include "hx_map.h"

/* The objects of hx/_support.py that are called from here. */
typedef struct hxpy_support {
  PyObject *errors;       /* tuple: the exception of each hx_status */
  PyObject *as_array;     /* as_array(name, object): an object with the buffer protocol, or TypeError */
  PyObject *check_output; /* check_output(name, object): TypeError if an array over the object is a copy of it */
  PyObject *dtype_error;  /* dtype_error(name, object): raises TypeError that names the dtype */
  PyObject *copy;         /* copy(object, order): a contiguous NumPy array */
  PyObject *empty;        /* numpy.empty */
  PyObject *empty_like;   /* empty_like(object, dtype): an array with its shape, and its axes in the same order */
  PyObject *assign;       /* assign(out, result): checks dtype and shape, copies the result and returns out */
  PyObject *dtypes;       /* tuple: the NumPy dtype of each hxpy_cell */
  PyObject *no_indices;   /* the empty tuple */
  PyObject *new_context;  /* the default context's maker */
} hxpy_support;
extern hxpy_support hxpy_py;

/* arguments.c: the parameters of a function. The first `positional` of them may be given by position, the first
 * `required` have to be given. */
typedef struct hxpy_signature {
  const char *function;
  const char *const *names;
  Py_ssize_t count, positional, required;
} hxpy_signature;

/* values[i]: borrowed; NULL if argument i is not given, or if it is optional and None. False: an exception is set. */
bool hxpy_arguments(const hxpy_signature *s, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                    PyObject **values);

/* A number for gpu_share; value NULL: negative, which leaves it to hx. */
bool hxpy_share(PyObject *value, float *share);

/* What a message calls a value of the wrong type: a string by its text, anything else by its type, because an array has
 * a long text. A new reference. */
PyObject *hxpy_described(PyObject *value);

/* context.c */
typedef struct hxpy_context {
  PyObject_HEAD hx_context *hx; /* NULL once it is closed */
  Py_ssize_t users; /* calls, tasks, blocks and registrations; the last one closes a context that is `closing` */
  bool closing;
  bool small_stay; /* no setting sends small calls to a device, so that they never wait */
  bool may_map;    /* reductions may be computed by user kernels, which not every device takes */
} hxpy_context;
extern PyType_Spec hxpy_context_spec;
extern PyMethodDef hxpy_context_functions[];
void hxpy_context_type_set(PyObject *type);

/* The context that an argument names (NULL: the default one, made by the first call) with one more user, or NULL and an
 * exception. */
hxpy_context *hxpy_context_enter(PyObject *value);
void hxpy_context_leave(hxpy_context *c);

/* Does a task. The GIL is released unless the call is shorter than handing it over. Reports go to the list that
 * hx.reports() has set for this thread. */
bool hxpy_run(hxpy_context *c, const hx_task *task);

/* Sets the exception of a status with hx_error_detail(), or with `detail`. Returns NULL. */
PyObject *hxpy_fail(hx_status s);
PyObject *hxpy_fail_detail(hx_status s, const char *detail);

/* HX_INVALID_ARGUMENT with a text of the caller. Returns NULL. */
PyObject *hxpy_refuse(const char *format, ...);

/* HX_OUT_OF_MEMORY: there is none for a copy of lines of `count` elements. Returns false. */
bool hxpy_no_memory(size_t count);

/* The report as a tuple, whose order hx/_reports.py knows. */
PyObject *hxpy_report_tuple(const hx_report *r);

/* operand.c: an array as an argument. Not to be moved while it is held, because views may point into themselves. */
typedef struct hxpy_operand {
  const char *name;
  hx_type type;
  Py_buffer view; /* obj NULL: nothing is held */
} hxpy_operand;

/* Holds the array: float32, int32 or uint32, with strides that are whole elements (copied if it is not aligned). */
bool hxpy_operand_get(hxpy_operand *o, PyObject *object, const char *name);
/* The same without a copy, and of any element type: for functions that look at the memory alone. */
bool hxpy_operand_get_unmoved(hxpy_operand *o, PyObject *object, const char *name);
/* The same as hxpy_operand_get of an array that will be written: refuses what is read-only or not aligned. */
bool hxpy_operand_get_output(hxpy_operand *o, PyObject *object, const char *name);
/* Replaces the array by a contiguous copy. order: 'C', or 'K' for the order in which the elements lie in memory. */
bool hxpy_operand_copy(hxpy_operand *o, char order);
void hxpy_operand_release(hxpy_operand *o);

size_t hxpy_operand_size(const hxpy_operand *o);
/* Whether the elements lie in memory without a gap, in any order of the axes. */
bool hxpy_dense(const Py_buffer *v);
/* Whether the elements lie in memory in C order and without a gap. */
bool hxpy_contiguous(const hxpy_operand *o);
/* Whether the elements that `count` axes span, the last one fastest, lie at one positive distance. axes NULL: all axes.
 * *stride: in elements; 1 if there are fewer than two elements. */
bool hxpy_flat(const Py_buffer *v, const int *axes, int count, Py_ssize_t *stride);
/* Whether the elements lie at one positive distance, in any order of the axes and whatever the signs of their steps.
 * *first: the one at the lowest address. */
bool hxpy_flat_in_any_order(const Py_buffer *v, const void **first, Py_ssize_t *stride);
/* The lowest byte of the array and the number of bytes to its highest one. */
void hxpy_operand_span(const hxpy_operand *o, void **first, size_t *bytes);
/* Whether the memory between the first and the last element of one overlaps that of the other. */
bool hxpy_overlap(const hxpy_operand *x, const hxpy_operand *y);
/* "(2, 3)" in one of a few buffers of the thread. */
const char *hxpy_shape_text(const Py_buffer *v);

/* result.c: the types of results. */
typedef enum hxpy_cell {
  HXPY_FLOAT32,
  HXPY_INT32,
  HXPY_UINT32,
  HXPY_INT64,
  HXPY_UINT64,
  HXPY_INDEX, /* numpy.intp, as NumPy's own argmin gives */
  HXPY_CELLS
} hxpy_cell;

bool hxpy_cells_make(void);
hxpy_cell hxpy_cell_of(hx_op op, hx_type type);
/* A NumPy scalar. */
PyObject *hxpy_scalar(hxpy_cell cell, const hx_value *value);
PyObject *hxpy_array(hxpy_cell cell, int ndim, const Py_ssize_t *shape);
/* The same with the shape of an operand, and with its axes in the order that they have in memory. */
PyObject *hxpy_operand_like(const hxpy_operand *o, hxpy_cell cell);
/* Stores values in the memory of such an array, from element `first` on and `step` elements apart. */
void hxpy_store(hxpy_cell cell, void *memory, Py_ssize_t first, Py_ssize_t step, const hx_value *values, size_t count);
/* Whether an element of such an array is as large as a hx_value, so that hx may store its values there itself. */
bool hxpy_stores_values(hxpy_cell cell);

/* reduce.c, soa.c */
extern PyMethodDef hxpy_reduce_functions[];
extern PyMethodDef hxpy_soa_functions[];

/* One reduction of whole arrays. Prepared in place, because operands do not move. */
typedef struct hxpy_reduction {
  hxpy_operand a, b;
  hx_op op;
  size_t n;
  bool may_be_in_blocks;         /* set by the caller, who then calls hxpy_reduce_array_in_blocks if in_blocks is set */
  bool in_blocks;                /* a is no line, and no copy of it was made */
  const void *first;             /* the first element of a that is read */
  Py_ssize_t stride_a, stride_b; /* in elements */
  hx_value value;
} hxpy_reduction;
bool hxpy_reduction_prepare(hxpy_reduction *r, hx_op op, PyObject *a, PyObject *b);
hx_task hxpy_reduction_task(hxpy_reduction *r, float share);
void hxpy_reduction_release(hxpy_reduction *r);
/* False: dtypes or sizes differ, or with `vectors` one of them has not one dimension, and an exception is set. */
bool hxpy_pair_fits(const hxpy_operand *a, const hxpy_operand *b, bool vectors);
/* Whether the value does not depend on the order of the elements. Pairs of a dot product have to stay pairs. */
bool hxpy_any_order(hx_op op, hx_type type);
/* False: `op` has no value of n == 0 elements of `a`, and an exception is set. */
bool hxpy_has_value(hx_op op, const hxpy_operand *a, size_t n);
/* False: unknown, and an exception is set. */
bool hxpy_op_named(PyObject *name, hx_op *op);

/* pack.c: the elements that some axes span, the last one fastest, as runs of elements that are `stride` bytes apart. */
typedef struct hxpy_steps {
  Py_ssize_t extent, stride;
} hxpy_steps;
typedef struct hxpy_pack {
  int count;
  hxpy_steps run[PyBUF_MAX_NDIM]; /* the last one is the innermost */
} hxpy_pack;
void hxpy_pack_set(hxpy_pack *p, const Py_buffer *v, const int *axes, int count);
/* Copies lines of n elements, of which the first one begins at `first`: one after the other, or side by side. */
void hxpy_pack_lines(const hxpy_pack *p, const char *first, hxpy_steps lines, size_t n, bool side_by_side,
                     void *packed);

/* Where the copy of one line stands: `at` is its next element. At first it is the line's first one, and index is 0. */
typedef struct hxpy_pack_cursor {
  const hxpy_pack *pack;
  const char *at;
  Py_ssize_t index[PyBUF_MAX_NDIM];
} hxpy_pack_cursor;
/* Copies its next n elements. */
void hxpy_pack_next(hxpy_pack_cursor *c, size_t n, void *packed);

/* blocks.c: the sum or product of n elements of float32 that are copied, HXPY_BLOCK at a time. Not HX_DOT. */
enum { HXPY_BLOCK = 1 << 18 }; /* a power of two of leaves, whose elements fit in the second cache */
bool hxpy_reduce_in_blocks(hxpy_context *c, hx_op op, const hxpy_pack *pack, const char *first, size_t n, float share,
                           hx_value *value);
/* The same of all elements of an array, in the order of memory: that of numpy.array(a, order="K"). */
bool hxpy_reduce_array_in_blocks(hxpy_context *c, hx_op op, const hxpy_operand *a, float share, hx_value *value);

/* axis.c: a reduction along some axes: an array, or a scalar if no axis is left. axes: `count` numbers in ascending
 * order. b: NULL but for HX_DOT. */
PyObject *hxpy_reduce_axes(hxpy_context *c, hx_op op, hxpy_operand *a, hxpy_operand *b, const int *axes, int count,
                           bool keepdims, float share);
/* Reads the argument axis: an integer, or a tuple of them. Returns how many axes, in ascending order, or -1. */
int hxpy_axes(PyObject *axis, int ndim, bool single, int *axes);

/* columns.c: the user kernel of a reduction of n elements, from 1 to HX_MAX_INPUTS, which are its inputs. NULL: an
 * exception is set. Of float32, not HX_ARGMIN, HX_ARGMAX or HX_DOT; of integers, HX_MIN or HX_MAX. */
const hx_kernel *hxpy_columns_kernel(hxpy_context *c, hx_op op, hx_type type, int n);

/* matmul.c */
typedef struct hxpy_product {
  hxpy_operand a, b, c;
  PyObject *out;  /* what the caller gets */
  bool is_scalar; /* or its only element */
  hx_task task;
} hxpy_product;
extern const hxpy_signature hxpy_product_signature;
bool hxpy_product_prepare(hxpy_product *p, PyObject *const *values);
/* With an exception set: if hx refused the prepared product, which it does only if out overlaps, says so in the names
 * of matmul's arguments. */
void hxpy_product_explain(const hxpy_product *p);
PyObject *hxpy_product_result(const hxpy_product *p); /* a new reference */
void hxpy_product_release(hxpy_product *p);
extern PyMethodDef hxpy_matmul_functions[];

/* task.c, memory.c, dlpack.c, kernel.c, call.c */
extern PyType_Spec hxpy_task_spec, hxpy_block_spec, hxpy_registration_spec, hxpy_view_spec, hxpy_kernel_spec,
    hxpy_call_spec;
extern PyMethodDef hxpy_task_functions[];
extern PyMethodDef hxpy_memory_functions[];
void hxpy_task_type_set(PyObject *type);

#define HXPY_FUNCTION(name, function, doc) \
  { name, (PyCFunction)(void (*)(void))(function), METH_FASTCALL | METH_KEYWORDS, doc }
#define HXPY_COUNT(array) ((Py_ssize_t)(sizeof(array) / sizeof *(array)))

#endif
