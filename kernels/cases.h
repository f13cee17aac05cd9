/* SPDX-License-Identifier: Apache-2.0
 * Small cases that reach a kernel's remainder paths: for the self-test of a device, and for tests that run a device's
 * program without it. */
#ifndef HX_KERNELS_CASES_H
#define HX_KERNELS_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"

/* Elements of every kind: sums that cancel, denormals and -0; `special` adds infinities and NaNs. For HX_PROD of floats
 * around 1, so that nothing overflows and no zero hides all other elements. */
uint32_t hx__case_element(hx_op op, hx_type type, size_t i, bool special);
/* The same of a matrix. It has fewer denormals, because an Intel core takes over a hundred cycles for each vector with
 * one: with as many as in a sum, the CPU's part was a third of hx_ready (docs/measurements/ready-cold.tsv). */
uint32_t hx__case_matrix_element(size_t i);

/* How the fields of a program share arrays: one reduction over one array, which takes the most registers, or each
 * reduction and the next ones, over one array, over arrays of their own, or pairs over one array. */
typedef enum hx__fields_case {
  HX__FIELDS_ALIKE,
  HX__FIELDS_SHARED,
  HX__FIELDS_APART,
  HX__FIELDS_PAIRS
} hx__fields_case;
#define HX__FIELDS_CASES 4u
extern const char *const hx__fields_case_names[HX__FIELDS_CASES];
/* `count` fields, the first of which is reduction number `first`. */
hx__kernel_fields hx__case_fields(hx__fields_case form, unsigned first, unsigned count);

enum { HX__CASE_SIZES = 6, HX__CASE_PRODUCTS = 24 };

/* The lengths of the reductions. */
extern const size_t hx__case_sizes[HX__CASE_SIZES];

/* A case of the product: its shape in tiles of the program plus a remainder. */
typedef struct hx__case_product {
  unsigned tiles_m, rest_m, tiles_n, rest_n, k;
  bool trans_a, trans_b;
  float alpha;
  bool vec4_b;       /* rows of B at multiples of 16 bytes, in the copy of it on the device */
  unsigned products; /* of a batch, in one launch; 0: no batch */
} hx__case_product;

/* The first writes less than the self-test's pattern covers. The others with a name reach a certain program of a set,
 * by the layout of their operands and by one panel of k or several. */
enum {
  HX__CASE_ONE_ELEMENT,
  HX__CASE_ANY_LAYOUT,
  HX__CASE_TN,
  HX__CASE_NT,
  HX__CASE_VEC4_NN,
  HX__CASE_VEC4_NT,
  HX__CASE_FEW_ROWS_NN,
  HX__CASE_FEW_ROWS_NT,
  HX__CASE_BATCH
};

extern const hx__case_product hx__case_products[HX__CASE_PRODUCTS];

#endif
