/* SPDX-License-Identifier: Apache-2.0
 * The constants of the arithmetic (docs/ARITHMETIC.md) and the 64-bit slot that carries the result of one leaf of a
 * reduction from the CPU or device that computed it to the join. A slot's content by operation and type:
 *
 *   f32 SUM, DOT, SUM_ABS, SUM_SQUARES, PROD   the leaf's sum (product), its 32 bits in the low half, 0 above
 *   i32, u32 of the same operations            the 64-bit sum (product) modulo 2^64
 *   MIN, MAX, all types                        the leaf's smallest key in the low half, 0 above
 *   ARGMIN, ARGMAX, all types                  that key in the high half, the lowest index in the leaf that has it in
 *                                              the low half: the smallest key wins, then the first leaf. Of the leaves
 *                                              of one call only the winner needs the index, others may have any
 *
 * The key of an element is a uint32_t whose smallest value wins. With b the element's bits:
 *   ordered(b) = f32: b ^ ((b >> 31) ? 0xffffffff : 0x80000000)    i32: b ^ 0x80000000    u32: b
 *   key = MIN, ARGMIN: ordered(b)    MAX, ARGMAX: ~ordered(b)
 *   f32 NaN: key 0 in all four. ARGMIN, ARGMAX f32: -0 counts as +0 (zeros tie).
 */
#ifndef HX_BASE_SLOT_H
#define HX_BASE_SLOT_H

#include <stdint.h>

#include "runtime/base/operations.h"

#define HX__LEAF 4096u       /* elements of a leaf: the slice of a reduction */
#define HX__LANES 128u       /* lanes of a leaf */
#define HX__CHECKED_SLOTS 3u /* slots of a chunk that are compared: of its first, middle and last leaf */
#define HX__PANEL 512u       /* k of a panel of a matrix product (KP) */
#define HX__CANONICAL_NAN 0x7fc00000u

#endif
