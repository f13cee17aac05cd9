/* SPDX-License-Identifier: Apache-2.0
 *
 * User kernels: one expression over the elements of up to eight arrays, which hx computes with the CPU's vectors on all
 * cores, without a compiler on the machine, and on OpenCL devices. docs/USER_KERNELS.md describes the language.
 *
 *     hx_kernel *distance;
 *     hx_kernel_source source = {.text = "fabsf(x - y) * scale", .inputs = "float x, float y",
 *                                .parameters = "float scale"};
 *     if (hx_compile(hx, &source, &distance) != HX_OK) { puts(hx_error_detail()); return 1; }
 *     const void *inputs[] = {x, y};
 *     hx_value scale = {.f32 = 2.0f}, greatest;
 *     hx_task map = hx_map(distance, inputs, n, &scale, out);
 *     hx_task reduction = hx_map_reduce(HX_MAX, distance, inputs, n, &scale, &greatest);
 *     hx_offload(hx, &map, NULL);
 *     hx_offload(hx, &reduction, NULL);
 *     hx_kernel_free(distance);
 *
 * What hx.h says of threads, errors and tasks holds here, too. */
#ifndef HX_MAP_H
#define HX_MAP_H

#include "hx.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HX_MAX_INPUTS 8     /* arrays of a user kernel */
#define HX_MAX_PARAMETERS 8 /* parameters of a user kernel */
#define HX_MAX_OUTPUTS 8    /* arrays that a user kernel writes */

typedef struct hx_kernel hx_kernel;

/* What hx_compile compiles. The strings are read only during the call. */
typedef struct hx_kernel_source {
  const char *text;       /* the expression, such as "a * x + y"; local variables may come before it. Unless the source
                             declares names that are the same, index is the i of the loop of hx_map below, or the j of
                             that of hx_map_rows, and row the i of the latter: both unsigned, modulo 2^32 */
  const char *inputs;     /* type and name of an element of each array, such as "float x, int y"; NULL: no arrays. With
                             the word row before it, "row float m", the array has one value per row (hx_map_rows) */
  const char *parameters; /* the same of values that all elements share, such as "float a"; NULL: none */
  const char *outputs;    /* NULL: one array, of the expression. Otherwise names of variables of the text, such as
                             "u, v", each of which has an array (hx_map_outputs); there is then no expression */
  uint64_t reserved[4];   /* zero */
} hx_kernel_source;

/* Compiles an expression. *out: freed by hx_kernel_free; NULL on failure. It may be used by any number of threads, and
 * in tasks of any context.
 * HX_INVALID_ARGUMENT: an argument or source->text is NULL; a reserved word is not zero; or the source is wrong, and
 *   then the detail begins with "text", "inputs", "parameters" or "outputs", and with line and column: "text 1:9: ...".
 * So begins the detail, too, if the text exceeds a limit of docs/USER_KERNELS.md. HX_OUT_OF_MEMORY: no memory for the
 * kernel. */
HX_API hx_status hx_compile(hx_context *hx, const hx_kernel_source *source, hx_kernel **out);

/* Frees a kernel. Tasks that use it must have ended. NULL does nothing. */
HX_API void hx_kernel_free(hx_kernel *kernel);

/* The type of f(x[i], y[i], ...), and so of the elements that hx_map writes and hx_map_reduce reduces. 0: kernel is
 * NULL. */
HX_API hx_type hx_kernel_type(const hx_kernel *kernel);

/* The type of an output, counted from 0 in the order of source->outputs. 0: kernel is NULL, or has no such output. */
HX_API hx_type hx_kernel_output_type(const hx_kernel *kernel, unsigned output);

/* The task out[i] = f(x[i], y[i], ...), where inputs[] are x, y, ... in the order of source->inputs:
 *     for (i = 0; i < n; i++) out[i] = f(inputs[0][i], inputs[1][i], ...);
 * A result that is NaN is stored as 0x7fc00000. inputs and parameters: as many as the source names, NULL if it names
 * none; parameters[p] has the member of the parameter's type. Both arrays have to live until the call, or with
 * hx_offload_async until that has returned. out: n elements of hx_kernel_type; it may be one of the inputs, whose
 * elements are then replaced. An input with one value per row has one value: inputs[k][0]. n == 0: HX_OK, out is not
 * touched. HX_INVALID_ARGUMENT: kernel, out, inputs, parameters or an input is NULL; an array is not aligned to 4 bytes
 * or wraps the address space; out overlaps an input but does not begin where it begins, or one with one value per row.
 */
HX_API hx_task hx_map(const hx_kernel *kernel, const void *const inputs[], size_t n, const hx_value *parameters,
                      void *out);

/* The task of hx_map for the elements of matrices, or of a rectangle of them:
 *     for (i = 0; i < rows; i++)
 *       for (j = 0; j < cols; j++) out[i * ld_out + j] = f(inputs[0][i * ld[0] + j], inputs[1][i * ld[1] + j], ...);
 * ld: the elements from row to row of each input; 0: every row is the first one, as of a bias that is added to each
 * row; NULL: all are cols. ld_out: at least cols; 0: cols. ld has to live as long as inputs.
 * An input that source->inputs declares as in "row float m" has one value for all elements of a row: row i has
 * inputs[k][i * ld[k]]. Its ld is 1 for an array of `rows` values (also if ld is NULL), any other number for a column
 * of a matrix, and 0 if all rows share the value. Results of hx_map_reduce_rows can be such an input, with their first
 * member as the array, &results[0].f32, and ld = sizeof(hx_value) / sizeof(float); .i32 and .u32 are the low 32 bits of
 * results that have 64. Softmax is three tasks:
 *     hx_map_reduce_rows(HX_MAX, of "x", ..., m);
 *     hx_map_reduce_rows(HX_SUM, of "expf(x - m)" with "float x, row float m", ..., s);
 *     hx_map_rows(of "expf(x - m) / s" with "float x, row float m, row float s", ..., out, cols);
 * HX_INVALID_ARGUMENT: as for hx_map, where an array reaches from its first element to the last of its last row; an ld
 *   is less than cols and not 0, unless the input has one value per row; or out is an input whose ld is not ld_out. */
HX_API hx_task hx_map_rows(const hx_kernel *kernel, const void *const inputs[], const size_t ld[], size_t rows,
                           size_t cols, const hx_value *parameters, void *out, size_t ld_out);

/* The task of hx_map for a kernel that writes several arrays, which reads its inputs once:
 *     for (i = 0; i < n; i++) { the text, with inputs[0][i], ...; outputs[0][i] = u; outputs[1][i] = v; ... }
 * outputs: as many arrays as source->outputs names, in that order, each of n elements of its variable's type. Any of
 * them may be one of the inputs; all inputs of an element are read before it is written. The list has to live as long
 * as that of the inputs. A kernel without source->outputs has one output. HX_INVALID_ARGUMENT: as for hx_map, for each
 * output; or outputs is NULL; or two outputs share an element. hx_map, hx_map_rows and map-reduces take kernels with
 * one output. */
HX_API hx_task hx_map_outputs(const hx_kernel *kernel, const void *const inputs[], size_t n, const hx_value *parameters,
                              void *const outputs[]);

/* The same for matrices, as hx_map_rows. ld_out: elements from row to row of every output; 0: cols. */
HX_API hx_task hx_map_rows_outputs(const hx_kernel *kernel, const void *const inputs[], const size_t ld[], size_t rows,
                                   size_t cols, const hx_value *parameters, void *const outputs[], size_t ld_out);

/* The task out = op over f(x[i], y[i], ...), i < n, without an array of them and with the bits of:
 *     hx_map(kernel, inputs, n, parameters, t);  hx_reduce(op, hx_kernel_type(kernel), t, n, out);
 * HX_INVALID_ARGUMENT: as for hx_map and hx_reduce, and if op is HX_DOT, for which x * y is written in the expression
 *   and HX_SUM used. */
HX_API hx_task hx_map_reduce(hx_op op, const hx_kernel *kernel, const void *const inputs[], size_t n,
                             const hx_value *parameters, hx_value *out);

/* The tasks of hx_map_reduce for several operations over the same elements, in one pass:
 *     for (f = 0; f < nfields; f++) out[f] = fields[f].op over f(x[i], y[i], ...), i < n;
 * such as the sum and the sum of squares that hx_variance needs. fields: the operation, and hx_kernel_type as type; x
 * and y are not read. nfields == 0: HX_OK. hx_report counts each element once. HX_INVALID_ARGUMENT: as for
 * hx_map_reduce, or another type. */
HX_API hx_task hx_map_reduce_fields(const hx_field *fields, size_t nfields, const hx_kernel *kernel,
                                    const void *const inputs[], size_t n, const hx_value *parameters, hx_value *out);

/* The task out[i] = op over row i of the matrices of hx_map_rows, with the bits of hx_map_reduce for that row:
 *     for (i = 0; i < rows; i++)
 *       out[i] = op over j < cols of f(inputs[0][i * ld[0] + j], inputs[1][i * ld[1] + j], ...);
 * such as the distances of many points from one, whose ld is 0. HX_ARGMIN and HX_ARGMAX give the index in the row.
 * out: rows results. rows == 0: HX_OK, out is not touched. HX_INVALID_ARGUMENT: as for hx_map_rows and
 * hx_map_reduce. */
HX_API hx_task hx_map_reduce_rows(hx_op op, const hx_kernel *kernel, const void *const inputs[], const size_t ld[],
                                  size_t rows, size_t cols, const hx_value *parameters, hx_value *out);

#ifdef __cplusplus
}
#endif
#endif
