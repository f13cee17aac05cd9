/* SPDX-License-Identifier: Apache-2.0
 * The builders of tasks. */
#include <string.h>

#include "runtime/hx_map.h"
#include "runtime/task/task.h"

_Static_assert(sizeof(struct hx_lines_args) <= sizeof(struct hx_matmul_args) &&
                   sizeof(struct hx_map_args) <= sizeof(struct hx_matmul_args) &&
                   sizeof(hx_task) == 8 + sizeof(struct hx_matmul_args) + 8 * sizeof(uint64_t),
               "hx_task has its size for good");

/* All bytes zero, then the share left to hx. */
static hx_task empty_task(hx_kind kind) {
  hx_task t;
  memset(&t, 0, sizeof t);
  t.kind = kind;
  t.gpu_share = -1.0f;
  return t;
}

hx_task hx_reduce(hx_op op, hx_type type, const void *x, size_t n, hx_value *out) {
  hx_task t = empty_task(HX_REDUCE);
  t.reduce = (struct hx_reduce_args){op, type, x, NULL, n, out};
  return t;
}

hx_task hx_dot(hx_type type, const void *x, const void *y, size_t n, hx_value *out) {
  hx_task t = empty_task(HX_REDUCE);
  t.reduce = (struct hx_reduce_args){HX_DOT, type, x, y, n, out};
  return t;
}

hx_task hx_reduce_soa(const hx_field *fields, size_t nfields, size_t n, hx_value *out) {
  hx_task t = empty_task(HX_REDUCE_SOA);
  t.soa = (struct hx_soa_args){fields, nfields, n, out};
  return t;
}

/* The second array of a dot product has the strides of the first, until they are set. */
static hx_task lines_task(struct hx_lines_args lines) {
  hx_task t = empty_task(HX_REDUCE_LINES);
  lines.y_line_stride = lines.line_stride;
  lines.y_stride = lines.stride;
  t.lines = lines;
  return t;
}

hx_task hx_reduce_rows(hx_op op, hx_type type, const void *x, size_t rows, size_t columns, size_t ld, hx_value *out) {
  return lines_task((struct hx_lines_args){.op = op,
                                           .type = type,
                                           .x = x,
                                           .lines = rows,
                                           .n = columns,
                                           .line_stride = ld ? ld : columns,
                                           .stride = 1,
                                           .out = out});
}

hx_task hx_reduce_columns(hx_op op, hx_type type, const void *x, size_t rows, size_t columns, size_t ld,
                          hx_value *out) {
  return lines_task((struct hx_lines_args){.op = op,
                                           .type = type,
                                           .x = x,
                                           .lines = columns,
                                           .n = rows,
                                           .line_stride = 1,
                                           .stride = ld ? ld : columns,
                                           .out = out});
}

hx_task hx_reduce_strided(hx_op op, hx_type type, const void *x, size_t stride, size_t n, hx_value *out) {
  return lines_task((struct hx_lines_args){
      .op = op, .type = type, .x = x, .lines = 1, .n = n, .line_stride = 1, .stride = stride, .out = out});
}

hx_task hx_matmul(size_t m, size_t n, size_t k, const float *a, const float *b, float *c) {
  /* Each member is written to the caller's task directly. Clearing the task first, or copying it in larger pieces than
   * it was written in, stalls for as long as a product of 8 x 8 takes. The asm hides from the compiler that z is 0, so
   * that it does not clear the members together. */
  uint64_t z = 0;
  __asm__("" : "+r"(z));
  return (hx_task){
      .kind = HX_MATMUL,
      .gpu_share = -1.0f,
      .matmul = {.m = m, .n = n, .k = k, .lda = z, .ldb = z, .ldc = z, .a = a, .b = b, .c = c, .alpha = 1.0f},
      .reserved = {z, z, z, z, z, z, z, z},
  };
}

hx_task hx_matmul_batched(size_t m, size_t n, size_t k, const float *a, size_t stride_a, const float *b,
                          size_t stride_b, float *c, size_t stride_c, size_t count) {
  hx_task t = hx_matmul(m, n, k, a, b, c);
  t.kind = HX_MATMUL_BATCHED;
  t.batch = (struct hx_batch){count, stride_a, stride_b, stride_c};
  return t;
}

hx_task hx_map(const hx_kernel *kernel, const void *const inputs[], size_t n, const hx_value *parameters, void *out) {
  hx_task t = empty_task(HX_MAP);
  t.map = (struct hx_map_args){
      .kernel = kernel, .inputs = inputs, .n = n, .parameters = parameters, .out = out}; /* op: 0 */
  return t;
}

hx_task hx_map_rows(const hx_kernel *kernel, const void *const inputs[], const size_t ld[], size_t rows, size_t cols,
                    const hx_value *parameters, void *out, size_t ld_out) {
  hx_task t = hx_map(kernel, inputs, rows ? cols : 0, parameters, out);
  t.map.ld = ld;
  t.map.rows = rows;
  t.map.ld_out = ld_out;
  return t;
}

hx_task hx_map_rows_outputs(const hx_kernel *kernel, const void *const inputs[], const size_t ld[], size_t rows,
                            size_t cols, const hx_value *parameters, void *const outputs[], size_t ld_out) {
  hx_task t = hx_map_rows(kernel, inputs, ld, rows, cols, parameters, (void *)(uintptr_t)outputs, ld_out);
  t.map.nfields = 1;
  return t;
}

hx_task hx_map_outputs(const hx_kernel *kernel, const void *const inputs[], size_t n, const hx_value *parameters,
                       void *const outputs[]) {
  return hx_map_rows_outputs(kernel, inputs, NULL, n != 0, n, parameters, outputs, 0);
}

hx_task hx_map_reduce_fields(const hx_field *fields, size_t nfields, const hx_kernel *kernel,
                             const void *const inputs[], size_t n, const hx_value *parameters, hx_value *out) {
  static const hx_field none; /* NULL: a task of hx_map_reduce */
  hx_task t = hx_map_reduce(HX_SUM, kernel, inputs, nfields ? n : 0, parameters, out);
  t.map.fields = nfields ? fields : &none;
  t.map.nfields = nfields;
  return t;
}

/* ld_out: the results are one after the other. */
hx_task hx_map_reduce_rows(hx_op op, const hx_kernel *kernel, const void *const inputs[], const size_t ld[],
                           size_t rows, size_t cols, const hx_value *parameters, hx_value *out) {
  hx_task t = hx_map_reduce(op, kernel, inputs, rows ? cols : 0, parameters, out);
  t.map.ld = ld;
  t.map.rows = rows;
  t.map.ld_out = 1;
  return t;
}

/* An operation that is not set must not make a map of it. */
hx_task hx_map_reduce(hx_op op, const hx_kernel *kernel, const void *const inputs[], size_t n,
                      const hx_value *parameters, hx_value *out) {
  hx_task t = empty_task(HX_MAP);
  t.map = (struct hx_map_args){
      .op = op ? op : HX__NO_OP, .kernel = kernel, .inputs = inputs, .n = n, .parameters = parameters, .out = out};
  return t;
}
