/* SPDX-License-Identifier: Apache-2.0
 * A program of several fields has reduce_scan.cl and reduce_join.cl once for each field, between this file and
 * reduce_field_end.cl. This begins a field: HX_FIELD becomes its number, and the macros that differ from field to field
 * are free again. The functions of a field have its number at the end of their names.
 * -D options, beside those of reduce_scan.cl:
 *   HX_OP_0, HX_TYPE_0, HX_OP_1, ...  the operation and the type of each field
 *   HX_SAME_0, ...                    1: its x is that of the field before it, and is loaded once for both
 *   HX_SUB_GROUP                      default 0; the size of Intel's sub-groups, for a compiler that chooses one which spills */
#if !defined(HX_FIELD)
#define HX_FIELD 0
#define HX_OP HX_PASTE(HX_OP_, HX_FIELD)
#define HX_TYPE HX_PASTE(HX_TYPE_, HX_FIELD)
#define HX_NAME(name) HX_PASTE(name, HX_FIELD)
#define hx_ordered HX_NAME(hx_ordered_1_)
#define hx_ordered4 HX_NAME(hx_ordered_4_)
#define hx_ordered16 HX_NAME(hx_ordered_16_)
#define hx_find HX_NAME(hx_find_)
#define hx_leaf HX_NAME(hx_leaf_)
#define hx_lanes HX_NAME(hx_lanes_)
#define hx_take HX_NAME(hx_take_)
#define hx_take_short HX_NAME(hx_take_short_)
#define hx_clear HX_NAME(hx_clear_)
#define hx_leaf_lanes HX_NAME(hx_leaf_lanes_)
#define hx_tree_of HX_NAME(hx_tree_of_)
#define hx_join_items HX_NAME(hx_join_items_)
#define hx_field_leaf HX_NAME(hx_field_leaf_)
#define hx_field_row HX_NAME(hx_field_row_)
#define hx_field_short HX_NAME(hx_field_short_)
#define hx_field_join HX_NAME(hx_field_join_)
#elif HX_FIELD == 0
#undef HX_FIELD
#define HX_FIELD 1
#elif HX_FIELD == 1
#undef HX_FIELD
#define HX_FIELD 2
#else
#undef HX_FIELD
#define HX_FIELD 3
#endif

#undef HX_T
#undef HX_A
#undef HX_LIFT
#undef HX_JOIN
#undef HX_BETTER
#undef HX_MISSING
#undef HX_NAN
#undef HX_KEY
#undef HX_BITS
#undef HX_ONE_ZERO
#undef HX_DEFINE_ORDERED
#undef HX_WIDE
#undef HX_PLUS
#undef HX_TIMES
#undef HX_ABS
#undef HX_ZERO
#undef HX_ONE
#undef HX_TREE
#undef HX_TREE_JOIN
#undef HX_TREE_BITS
#undef HX_OTHER
#undef HX_LANES_FIRST
#undef HX_LEVEL
