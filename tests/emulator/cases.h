/* SPDX-License-Identifier: Apache-2.0
 * Runs the self-test's cases (kernels/cases.h) of a row on the emulated GPU and compares results with the scalar
 * definition. */
#ifndef HX_TESTS_EMULATOR_CASES_H
#define HX_TESTS_EMULATOR_CASES_H

#include "kernels/kernels.h"
#include "tests/emulator/launch.h"

/* Returns NULL, or a description of the first case that differs or fails. op and type: for reductions;
 * fields: for several. */
const char *row_fault(const program *program, const hx__kernel_row *row, hx_op op, hx_type type,
                      hx__kernel_fields fields);

/* The cases of each kind of row. */
bool reduction_cases(const program *program, const hx__kernel_row *row, hx_op op, hx_type type, char *why,
                     size_t why_bytes);
bool fields_cases(const program *program, const hx__kernel_row *row, hx__kernel_fields fields, char *why,
                  size_t why_bytes);
/* Whether the slots of all leaves of a field are right, and their result. */
bool slots_right(hx_op op, hx_type type, const uint32_t *x, const uint32_t *y, size_t n, const uint64_t *slots,
                 char *why, size_t why_bytes);
bool product_cases(const program *program, const hx__kernel_row *row, char *why, size_t why_bytes);
bool probe_cases(const program *program, char *why, size_t why_bytes);

/* Puts a description of the case before the text in why. Returns false. */
bool case_fault(char *why, size_t why_bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));
void *case_allocate(size_t bytes);

#endif
