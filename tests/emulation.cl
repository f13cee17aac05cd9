/* SPDX-License-Identifier: Apache-2.0
 * What sub-group functions and AMD's cross-lane operations do, in OpenCL C 1.2: local memory and barriers stand in for
 * them, so that the rows made for GPUs run on any device. Comes before the sources of kernels/; HX_HOOK is the
 * first line of every kernel that uses sub-groups. The emulation shows whether the right lanes and elements are
 * combined, not how hardware does it. */
#define HX_HOOK local uint hx_exchange[HX_LOCAL0 * HX_LOCAL1];
#define HX_HOOK_PARAMETER local uint *hx_exchange,
#define HX_HOOK_ARGUMENT hx_exchange,

static uint hx_id(void) { return (uint)(get_local_id(1) * HX_LOCAL0 + get_local_id(0)); }

static uint hx_emulated(local uint *exchange, uint word, uint from) {
  barrier(CLK_LOCAL_MEM_FENCE);
  exchange[hx_id()] = word;
  barrier(CLK_LOCAL_MEM_FENCE);
  return exchange[from];
}

/* Intel's sub-groups: of 16 in reductions, the whole work-group in products. */
#ifdef HX_OP
#define HX_SIZE 16u
#else
#define HX_SIZE ((uint)HX_LOCAL0)
#endif
#define intel_sub_group_shuffle(v, lane) \
  as_float(hx_emulated(hx_exchange, as_uint(v), (uint)(lane) % HX_SIZE + hx_id() / HX_SIZE * HX_SIZE))
#define intel_sub_group_shuffle_xor(w, h) hx_emulated(hx_exchange, (w), hx_id() ^ (h))
#define intel_sub_group_block_read(p) hx_read1(p)
#define intel_sub_group_block_read2(p) hx_read2(p)
#define intel_sub_group_block_read4(p) hx_read4(p)
#define intel_sub_group_block_read8(p) hx_read8(p)
#define intel_sub_group_block_write(p, v) ((p)[hx_id() % HX_SIZE] = (v))
static uint hx_read1(global const uint *p) { return p[hx_id() % HX_SIZE]; }
static uint2 hx_read2(global const uint *p) { return (uint2)(hx_read1(p), hx_read1(p + HX_SIZE)); }
static uint4 hx_read4(global const uint *p) { return (uint4)(hx_read2(p), hx_read2(p + 2 * HX_SIZE)); }
static uint8 hx_read8(global const uint *p) { return (uint8)(hx_read4(p), hx_read4(p + 4 * HX_SIZE)); }

/* AMD's: DS_SWIZZLE in its mode of 32 lanes; DPP's quad_perm (below 0x100) and row_ror (0x120 and its distance). */
#define HX_AMDGCN 1
#define HX_DPP 1
static uint hx_swizzled(uint pattern) {
  const uint id = hx_id();
  return (id & ~31u) | ((((id & 31) & (pattern & 31)) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31));
}
static uint hx_moved(uint how) {
  const uint id = hx_id();
  return how < 0x100 ? (id & ~3u) | (how >> 2 * (id & 3) & 3) : (id & ~15u) | ((id - (how - 0x120)) & 15);
}
#define __builtin_amdgcn_ds_swizzle(w, pattern) as_int(hx_emulated(hx_exchange, as_uint(w), hx_swizzled(pattern)))
#define __builtin_amdgcn_mov_dpp(w, how, rows, banks, bound) \
  as_int(hx_emulated(hx_exchange, as_uint(w), hx_moved(how)))
