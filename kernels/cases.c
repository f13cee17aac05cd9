/* SPDX-License-Identifier: Apache-2.0
 * The cases of cases.h. */
#include "kernels/cases.h"

/* Every so many elements of a float array is a denormal. */
#define DENORMALS 13u
#define DENORMALS_OF_MATRIX 1009u

static uint32_t element(hx_type type, size_t i, bool special, size_t denormals) {
  const uint32_t r = (uint32_t)((i + 1) * 2654435761u) ^ (uint32_t)(i >> 7);
  if (type != HX_F32) return r;
  if (special && i % 97 == 5) return i % 2 ? 0x7f800000u : 0xffc12345u;
  if (i % denormals == 3) return r & 0x807fffffu;
  if (i % 17 == 4) return 0x80000000u;
  return (r & 0x807fffffu) | (96u + (r >> 8) % 60u) << 23;
}

static uint32_t factor(size_t i, bool special) {
  const uint32_t r = element(HX_F32, i, special, DENORMALS), least = r & 0x3ffffu;
  if ((r & 0x7f800000u) == 0x7f800000u) return r;
  return (uint32_t)(i * 2654435761u & 0x80000000u) | (i & 1 ? 0x3f800000u + least / 2 : 0x3f800000u - least);
}

uint32_t hx__case_element(hx_op op, hx_type type, size_t i, bool special) {
  return op == HX_PROD && type == HX_F32 ? factor(i, special) : element(type, i, special, DENORMALS);
}

uint32_t hx__case_matrix_element(size_t i) { return element(HX_F32, i, false, DENORMALS_OF_MATRIX); }

const char *const hx__fields_case_names[HX__FIELDS_CASES] = {"alike", "shared", "apart", "pairs"};

hx__kernel_fields hx__case_fields(hx__fields_case form, unsigned first, unsigned count) {
  hx__kernel_fields fields = 0;
  for (unsigned f = 0; f < count; f++) {
    const unsigned reduction = form == HX__FIELDS_ALIKE ? first : (first + f) % HX__REDUCTIONS;
    const bool same = f && form != HX__FIELDS_APART && (form != HX__FIELDS_PAIRS || f % 2);
    fields |= (uint64_t)((reduction + 1) | (same ? HX__SAME_ARRAY : 0)) << 8 * f;
  }
  return fields;
}

const size_t hx__case_sizes[HX__CASE_SIZES] = {1, 127, 130, 4095, 4097, 11 * HX__LEAF + 77};

const hx__case_product hx__case_products[HX__CASE_PRODUCTS] = {
    [HX__CASE_ONE_ELEMENT] = {0, 1, 0, 1, 1, false, false, 1.0f, false, 0},
    [HX__CASE_ANY_LAYOUT] = {1, 3, 0, 7, 19, true, false, 1.0f, false, 0},
    [HX__CASE_TN] = {1, 8, 1, 4, 520, true, false, -1.0f, false, 0},
    [HX__CASE_NT] = {1, 4, 1, 8, 1036, false, true, 1.0f, false, 0},
    [HX__CASE_VEC4_NN] = {1, 5, 1, 4, 1016, false, false, 1.0f, false, 0},
    [HX__CASE_VEC4_NT] = {1, 4, 1, 8, 1036, false, true, 1.0f, true, 0},
    [HX__CASE_FEW_ROWS_NN] = {1, 0, 2, 5, 1030, false, false, 1.0f, false, 0},
    [HX__CASE_FEW_ROWS_NT] = {1, 0, 1, 7, 1540, true, true, -2.0f, false, 0},
    [HX__CASE_BATCH] = {0, 13, 0, 16, 40, false, false, -0.5f, true, 9},
    {0, 5, 1, 2, 515, false, true, -0.75f, false, 0},
    {1, 0, 1, 0, 32, false, false, 1.0f, false, 0},
    {1, 1, 2, 3, 1030, true, true, 1.0f, false, 0},
    {0, 9, 0, 11, 2100, true, false, 1.0f, false, 0},
    {1, 4, 1, 8, 544, false, false, -2.0f, false, 0},
    {2, 3, 1, 9, 100, false, true, 1.0f, false, 0},
    {2, 4, 1, 12, 1040, true, false, 1.0f, false, 0},
    {1, 8, 1, 4, 523, true, false, 1.0f, true, 0},
    {1, 9, 1, 5, 1541, true, true, 1.0f, false, 0},
    {1, 4, 1, 8, 1042, false, false, 1.0f, true, 0},
    {2, 7, 0, 1, 1100, false, false, 1.0f, false, 0},
    {1, 9, 0, 1, 600, true, false, 0.5f, false, 0},
    {1, 4, 1, 8, 40, false, false, -0.5f, true, 3},
    {1, 0, 1, 0, 36, false, true, 1.0f, false, 5},
    {0, 15, 1, 0, 68, true, true, 1.0f, true, 2},
};
