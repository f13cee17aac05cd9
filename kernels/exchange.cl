/* SPDX-License-Identifier: Apache-2.0
 * The 32 work-items of a leaf exchange values within a wavefront (AMD GPUs), without local memory and barriers.
 * HX_ACROSS is defined if the row asks for it (HX_CROSS_LANES) and the compiler can do it. HX_ACROSS_16(w) to
 * HX_ACROSS_1(w): the 32-bit word of the item whose number differs in that bit. They must be used from 16 downwards:
 * the shorter ones rotate a row of 16, which gives the same result once the longer ones have made its halves equal. */
#if HX_CROSS_LANES

#if !HX_AMDGCN && defined(__has_builtin)
#if __has_builtin(__builtin_amdgcn_ds_swizzle)
#define HX_AMDGCN 1
#endif
#endif

#if HX_AMDGCN
#define HX_ACROSS 1
#define HX_SWIZZLE(w, h) as_uint(__builtin_amdgcn_ds_swizzle(as_int(w), (h) << 10 | 31))
#define HX_ACROSS_16(w) HX_SWIZZLE(w, 16)
#if defined(__GFX8__) || defined(__GFX9__) || defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__) || HX_DPP
/* Data-parallel primitives (operand modifiers): rotation by 8 and 4, and permutation of four. */
#define HX_MOVE(w, how) as_uint(__builtin_amdgcn_mov_dpp(as_int(w), (how), 15, 15, false))
#define HX_ACROSS_8(w) HX_MOVE(w, 0x128)
#define HX_ACROSS_4(w) HX_MOVE(w, 0x124)
#define HX_ACROSS_2(w) HX_MOVE(w, 0x4e)
#define HX_ACROSS_1(w) HX_MOVE(w, 0xb1)
#else
#define HX_ACROSS_8(w) HX_SWIZZLE(w, 8)
#define HX_ACROSS_4(w) HX_SWIZZLE(w, 4)
#define HX_ACROSS_2(w) HX_SWIZZLE(w, 2)
#define HX_ACROSS_1(w) HX_SWIZZLE(w, 1)
#endif

#elif defined(cl_khr_subgroup_shuffle)
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
#define HX_ACROSS 1
#define HX_ACROSS_16(w) sub_group_shuffle_xor((w), 16u)
#define HX_ACROSS_8(w) sub_group_shuffle_xor((w), 8u)
#define HX_ACROSS_4(w) sub_group_shuffle_xor((w), 4u)
#define HX_ACROSS_2(w) sub_group_shuffle_xor((w), 2u)
#define HX_ACROSS_1(w) sub_group_shuffle_xor((w), 1u)
#endif

#endif
