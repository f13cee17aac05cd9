/* SPDX-License-Identifier: Apache-2.0
 * The names of operations and element types. */
#include "runtime/base/operations.h"

const char *const hx__op_names[HX__OPS] = {HX__OPERATIONS(HX__NAME_ROW)};
const char *const hx__type_names[HX__TYPES] = {HX__ELEMENT_TYPES(HX__NAME_ROW)};

/* The enumerators of hx.h count from 1 in the order of the rows. */
#define ROW_NUMBER(enumerator, name) ROW_OF_##enumerator,
#define CHECK_ORDER(enumerator, name) \
  _Static_assert((int)ROW_OF_##enumerator + 1 == (int)enumerator, "the order of " #enumerator);
enum { HX__OPERATIONS(ROW_NUMBER) };
enum { HX__ELEMENT_TYPES(ROW_NUMBER) };
HX__OPERATIONS(CHECK_ORDER)
HX__ELEMENT_TYPES(CHECK_ORDER)
