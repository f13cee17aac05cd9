/* SPDX-License-Identifier: Apache-2.0
 * Matrix product t = alpha * op(A) op(B) in four shapes of one order: each element is a chain of fma, k ascending from
 * +0, cut every HX_PANEL; panel sums are added in order. A chain has exactly as many steps as k has left: rows and
 * columns are padded at edges, k never is. The running sum is stored in t, so that the registers have one tile only.
 *   HX_SHAPE_PACKED   one work-item computes a tile of float16s from packed operands (CPU devices): matmul_packed.cl
 *   HX_SHAPE_SUBGROUP one sub-group of HX_LOCAL0 computes a tile, its items being columns, from packed operands (Intel)
 *   HX_SHAPE_UNIFORM  the same for compilers without block reads (Mesa): matmul_uniform.cl
 *   otherwise         a work-group shares a tile through local memory (any device)
 * HX_TILE_M, HX_TILE_N, HX_TILE_K: the tile; HX_LOCAL0, HX_LOCAL1: the work-group.
 * -D options, beside those of common.cl:
 *   HX_TILE_M, HX_TILE_N rows and columns of C of a work-group, or of a sub-group
 *   HX_TILE_K            steps of k of a tile in local memory, or of an unrolled iteration
 *   HX_PACK              steps of k that a group packs; 0: operands are not packed
 *   HX_LANES_M, HX_LANES_N  HX_SHAPE_SUBGROUP: rows and columns of the tile that an item has, by HX_LOCAL0
 *   HX_ROWS, HX_WIDTH, HX_STEPS  HX_SHAPE_SUBGROUP on CPU devices: rows, columns of an item and steps of k at once
 *   HX_WIDE_READS        HX_SHAPE_SUBGROUP, default 0: operands are read four steps of k at a time
 *   HX_VECTOR_COPIES     work-group: operands are copied by vectors of four (matmul_copies.cl)
 *   HX_DIAGONAL          work-group: multiply-adds go along diagonals of an item's sums
 *   HX_UNROLL            work-group, default 8: steps of k that are unrolled
 *   HX_COLUMNS           HX_SHAPE_PACKED: columns whose sums are in registers at once
 *   HX_SUB_GROUP         default the compiler's choice: the sub-group size that is required */

/* Whether the panel that begins at k0 is the first, and whether it is the last, of its element's sum. A launch may
 * compute only some of the panels. */
#define HX_FIRST (k0 == 0 && !(part & 1))
#define HX_LAST (k - k0 <= HX_PANEL && !(part & 2))

/* Adds the sum p of one panel of an element to the running sum in *t. */
static void hx_put(global float *t, float p, bool first, bool last, float alpha) {
  float s = first ? p : HX_ADD(, *t, p);
  if (last) {
    s = HX_MUL(, alpha, s); /* alpha == 1 changes nothing */
    s = HX_CANONICAL(, s);
  }
  *t = s;
}

#if HX_SHAPE_SUBGROUP

#pragma OPENCL EXTENSION cl_intel_subgroups : enable

#define HX_PACKER \
  kernel __attribute__((reqd_work_group_size(HX_LOCAL0, 1, 1))) __attribute__((intel_reqd_sub_group_size(HX_LOCAL0)))

/* Sums that are in registers at once: of HX_ROWS rows (after the tile's last row, rows are computed again and not
 * stored) and of HX_WIDTH columns of an item. GPUs have all of them in registers and no loop, which would cause spills
 * on some. HX_STEPS: steps of k of an iteration; compilers for CPUs load the operands of all of them before they add,
 * more than there are registers. Each further copy of a loop with a shuffle doubles the code that PoCL generates for
 * the kernel. */
#ifdef HX_ROWS
#define HX_TURNS                                                      \
  _Pragma("unroll 1") for (uint w = 0; w < HX_LANES_N; w += HX_WIDTH) \
      _Pragma("unroll") for (uint h = 0; h < HX_TILE_M; h += HX_ROWS)
#define HX_TOP h
#define HX_LEFT w
#else
#define HX_ROWS HX_TILE_M
#define HX_WIDTH HX_LANES_N
#define HX_STEPS HX_TILE_K
#define HX_TURNS
#define HX_TOP 0
#define HX_LEFT 0
#endif

/* An item has columns id, id + HX_LOCAL0, ... of the tile, each in separate scalars, because compilers for CPUs would
 * have to split vectors. HX_LANES_M, HX_LANES_N: rows and columns of the tile that an item has. Offsets are incremented
 * and pointers are not, so that buffers stay in binding-table entries. */
#define HX_BLOCK(N, p) HX_PASTE(as_float, N)(HX_PASTE(intel_sub_group_block_read, N)((global const uint *)(p)))
#define HX_WRITE(p, v) intel_sub_group_block_write((global uint *)(p), as_uint(v))

#if HX_WIDTH == 2
#define HX_ROW_OF_B                          \
  const float2 two = HX_BLOCK(2, pb + b_at); \
  const float bv[2] = {two.s0, two.s1};
#else
#define HX_ROW_OF_B const float bv[1] = {HX_BLOCK(, pb + b_at + HX_LOCAL0 * HX_LEFT)};
#endif

/* The multiply-adds of a step of k, from an item's part of a column of A and of a row of B; the broadcast of an item's
 * value costs no instruction. */
#define HX_MULTIPLY(av, bv)                                                                            \
  _Pragma("unroll") for (uint i = 0; i < HX_ROWS; i++) {                                               \
    const uint row = (HX_TOP + i) % HX_TILE_M;                                                         \
    const float s = intel_sub_group_shuffle((av)[row / HX_LOCAL0], row % HX_LOCAL0);                   \
    _Pragma("unroll") for (uint c = 0; c < HX_WIDTH; c++) acc[c][i] = HX_FMA(, s, (bv)[c], acc[c][i]); \
  }
#define HX_STEP                                                                                            \
  {                                                                                                        \
    float av[HX_LANES_M];                                                                                  \
    _Pragma("unroll") for (uint i = 0; i < HX_LANES_M; i++) av[i] = HX_BLOCK(, pa + a_at + HX_LOCAL0 * i); \
    HX_ROW_OF_B                                                                                            \
    a_at += HX_TILE_M;                                                                                     \
    b_at += HX_TILE_N;                                                                                     \
    HX_MULTIPLY(av, bv)                                                                                    \
  }

/* Four steps of k by one wide read of each operand. Offsets within the panel are 32-bit numbers, because a 64-bit sum
 * takes five instructions. Most other forms spill on some GPU (docs/measurements/static-model-designs.tsv). */
#if HX_LANES_M == 1
#define HX_FOUR_OF_A(to, from) vstore4(HX_BLOCK(4, from), 0, (to))
#else
#define HX_FOUR_OF_A(to, from) vstore8(HX_BLOCK(8, from), 0, (to))
#endif
#define HX_FOUR_STEPS                              \
  {                                                \
    float av[4 * HX_LANES_M], bv[8];               \
    HX_FOUR_OF_A(av, pa + a_at + a_in);            \
    vstore8(HX_BLOCK(8, pb + b_at + b_in), 0, bv); \
    HX_MULTIPLY(av, bv)                            \
    HX_MULTIPLY((av + HX_LANES_M), (bv + 2))       \
    HX_MULTIPLY((av + 2 * HX_LANES_M), (bv + 4))   \
    HX_MULTIPLY((av + 3 * HX_LANES_M), (bv + 6))   \
  }

kernel __attribute__((reqd_work_group_size(HX_LOCAL0, 1, 1))) __attribute__((intel_reqd_sub_group_size(HX_LOCAL0))) void
hx_matmul(global const float *pa, global const float *pb, ulong m, ulong n, ulong k, float alpha, global float *t,
          ulong ldt, uint part, ulong t_step) {
  HX_HOOK
  const ulong lane = get_local_id(0);
  /* Consecutive groups compute tiles one below another: they share the panel of B, which is the larger one. No t has
   * 2^32 tiles, and a division of 64-bit numbers is a loop of 64 turns on Intel's GPUs. */
  const uint below = (uint)get_num_groups(1);
  const uint id = (uint)get_group_id(1) * (uint)get_num_groups(0) + (uint)get_group_id(0);
  const ulong i0 = (ulong)(id % below) * HX_TILE_M, j0 = (ulong)(id / below) * HX_TILE_N;
  const uint rows = (uint)min(m - i0, (ulong)HX_TILE_M), columns = (uint)min(n - j0, (ulong)HX_TILE_N);
  const ulong product = get_group_id(2);
  const ulong a_line = product * below * HX_TILE_M + i0, b_line = product * get_num_groups(0) * HX_TILE_N + j0;
  ulong a_at = a_line * k, b_at = b_line * k;
  for (ulong k0 = 0; k0 < k; k0 += HX_PANEL) {
    const bool first = HX_FIRST, last = HX_LAST;
    /* Always zero, which no compiler knows: otherwise the addresses of all stores would stay in registers. */
    const uint zero = (uint)(k0 >> 63);
    HX_TURNS {
      uint steps = (uint)min(k - k0, (ulong)HX_PANEL);
#if HX_ROWS < HX_TILE_M
      a_at = a_line * k + k0 * HX_TILE_M, b_at = b_line * k + k0 * HX_TILE_N;
#endif
      float acc[HX_WIDTH][HX_ROWS];
#pragma unroll
      for (uint i = 0; i < HX_ROWS; i++) {
#pragma unroll
        for (uint c = 0; c < HX_WIDTH; c++) acc[c][i] = 0.0f;
      }

#if HX_WIDE_READS
      uint a_in = 0, b_in = 0;
      for (; steps >= 4; steps -= 4, a_in += 4 * HX_TILE_M, b_in += 4 * HX_TILE_N) HX_FOUR_STEPS
      a_at += a_in, b_at += b_in;
#elif HX_STEPS > 1
      for (; steps >= HX_TILE_K; steps -= HX_TILE_K) {
#pragma unroll HX_STEPS
        for (uint p = 0; p < HX_TILE_K; p++) HX_STEP
      }
#endif
#pragma unroll 1
      for (; steps > 0; steps--) HX_STEP

      /* All items store, also past the last column, because t has room for them: none is masked. */
      ulong t_at = product * t_step + (i0 + HX_TOP) * ldt + j0 + HX_LOCAL0 * HX_LEFT + zero;
#pragma unroll
      for (uint i = 0; i < HX_ROWS; i++, t_at += ldt) {
#pragma unroll
        for (uint c = 0; c < HX_WIDTH; c++) {
          if (HX_TOP + i + zero < rows && HX_LOCAL0 * (HX_LEFT + c) + zero < columns)
            hx_put(t + t_at + HX_LOCAL0 * c + lane, acc[c][i], first, last, alpha);
        }
      }
    }
  }
}

#elif !HX_SHAPE_TILES && !HX_SHAPE_PACKED && !HX_SHAPE_UNIFORM /* local memory */

/* Item (x, y) has rows of the tile in runs of up to 4 from y on, and columns likewise from x on, so that it reads local
 * memory in vectors, and neighbouring items read neighbouring vectors. */
#define HX_ITEMS (HX_LOCAL0 * HX_LOCAL1)
#define HX_ITEM_M (HX_TILE_M / HX_LOCAL1)
#define HX_ITEM_N (HX_TILE_N / HX_LOCAL0)
#if HX_ITEM_M >= 4
#define HX_RUN_M 4
#define HX_GET_M(to, from) vstore4(*(local const float4 *)(from), 0, (to))
#elif HX_ITEM_M == 2
#define HX_RUN_M 2
#define HX_GET_M(to, from) vstore2(*(local const float2 *)(from), 0, (to))
#else
#define HX_RUN_M 1
#define HX_GET_M(to, from) *(to) = *(from)
#endif
#if HX_ITEM_N >= 4
#define HX_RUN_N 4
#define HX_N 4
#define HX_GIVE_N(from, to) vstore4((from), 0, (to))
#elif HX_ITEM_N == 2
#define HX_RUN_N 2
#define HX_N 2
#define HX_GIVE_N(from, to) vstore2((from), 0, (to))
#else
#define HX_RUN_N 1
#define HX_N
#define HX_GIVE_N(from, to) *(to) = (from)
#endif
#define HX_VN HX_PASTE(float, HX_N)
#define HX_RUNS_M (HX_ITEM_M / HX_RUN_M)
#define HX_RUNS_N (HX_ITEM_N / HX_RUN_N)
#define HX_ROW(run, y) (((run) * HX_LOCAL1 + (y)) * HX_RUN_M)
#define HX_COLUMN(run, x) (((run) * HX_LOCAL0 + (x)) * HX_RUN_N)
#define HX_PAD 4 /* spreads the columns of A over the banks and keeps vectors aligned */

/* count * stride, in elements; see HX_MAD_OVERLAPS. */
#if HX_MAD_OVERLAPS
#define HX_OFFSET(count, stride) hx_offset((count), (stride), (uint)(k >> 63))
static ulong hx_offset(uint count, ulong stride, uint zero) {
  const uint high = count * (uint)(stride >> 32);
  return (ulong)count * (uint)stride + ((ulong)(high ^ zero) << 32);
}
#else
#define HX_OFFSET(count, stride) ((count) * (stride))
#endif

#if !HX_VECTOR_COPIES /* otherwise matmul_copies.cl */
#define HX_COUNT ulong
#define HX_UP_TO(most, steps) (steps)

/* An item's share of an operand's tile of lines x HX_TILE_K, read along the direction in which it is contiguous: from
 * (line, step) in steps of (next_line, next_step). It is loaded into registers while the tile before is in use; at
 * edges element by element, with zeros past the edge; k past its end is never used. Macros and plain variables are used
 * because one driver confuses structs that contain pointers. */
#define HX_WALK(w, x, line_stride, step_stride, lines, lines_left)                                   \
  const bool w##_along_k = (step_stride) == 1;                                                       \
  const uint w##_step = w##_along_k ? id % HX_TILE_K : id / (lines);                                 \
  const uint w##_line = w##_along_k ? id / HX_TILE_K : id % (lines);                                 \
  const uint w##_next_step = w##_along_k ? 0 : HX_ITEMS / (lines);                                   \
  const uint w##_next_line = w##_along_k ? HX_ITEMS / HX_TILE_K : 0;                                 \
  const ulong w##_stride = w##_next_line * (line_stride) + w##_next_step * (step_stride);            \
  const ulong w##_ahead = HX_TILE_K * (step_stride);                                                 \
  global const float *w = (x) + HX_OFFSET(w##_line, line_stride) + HX_OFFSET(w##_step, step_stride); \
  float w##_next[(lines) * HX_TILE_K / HX_ITEMS];

#define HX_FETCH(w, lines, lines_left, k_left)                                                                    \
  if ((lines_left) == (lines) && (k_left) >= HX_TILE_K) {                                                         \
    _Pragma("unroll") for (uint u = 0; u < (lines) * HX_TILE_K / HX_ITEMS; u++) w##_next[u] =                     \
        w[HX_OFFSET(u, w##_stride)];                                                                              \
  } else {                                                                                                        \
    _Pragma("unroll") for (uint u = 0; u < (lines) * HX_TILE_K / HX_ITEMS; u++) {                                 \
      const bool inside = w##_line + u * w##_next_line < (lines_left) && w##_step + u * w##_next_step < (k_left); \
      w##_next[u] = inside ? w[HX_OFFSET(u, w##_stride)] : 0.0f;                                                  \
    }                                                                                                             \
  }

#define HX_SPREAD(w, lines, tile, pitch)                                      \
  _Pragma("unroll") for (uint u = 0; u < (lines) * HX_TILE_K / HX_ITEMS; u++) \
      tile[(w##_step + u * w##_next_step) * (pitch) + w##_line + u * w##_next_line] = w##_next[u];
#endif

#define HX_PITCH_A (HX_TILE_M + HX_PAD)
#define HX_STEP(p)                                                             \
  {                                                                            \
    float av[HX_ITEM_M];                                                       \
    HX_VN bv[HX_RUNS_N];                                                       \
    _Pragma("unroll") for (uint i = 0; i < HX_RUNS_M; i++)                     \
        HX_GET_M(av + i * HX_RUN_M, tile_a + (p) * HX_PITCH_A + HX_ROW(i, y)); \
    _Pragma("unroll") for (uint j = 0; j < HX_RUNS_N; j++) bv[j] =             \
        *(local const HX_VN *)(tile_b + (p) * HX_TILE_N + HX_COLUMN(j, x));    \
    HX_MULTIPLY(acc, av, bv)                                                   \
  }

#if HX_DIAGONAL
/* Along the diagonals of the item's sums: neighbouring multiply-adds have different operands and neighbouring sums, so
 * that clang for GFX11 makes one v_dual_fmac of two. Row by row it finds a third of the pairs. */
#define HX_SUMS(acc)               \
  float acc[HX_ITEM_M][HX_ITEM_N]; \
  _Pragma("unroll") for (uint i = 0; i < HX_ITEM_M * HX_ITEM_N; i++) acc[i / HX_ITEM_N][i % HX_ITEM_N] = 0.0f;
#define HX_MULTIPLY(acc, av, bv)                                                               \
  float row[HX_ITEM_N];                                                                        \
  _Pragma("unroll") for (uint j = 0; j < HX_RUNS_N; j++) HX_GIVE_N(bv[j], row + j * HX_RUN_N); \
  _Pragma("unroll") for (uint d = 0; d < HX_ITEM_N; d++) {                                     \
    _Pragma("unroll") for (uint i = 0; i < HX_ITEM_M; i++) acc[i][(i + d) % HX_ITEM_N] =       \
        HX_FMA(, av[i], row[(i + d) % HX_ITEM_N], acc[i][(i + d) % HX_ITEM_N]);                \
  }
#define HX_TAKE_RUN(values, acc, i, j) \
  _Pragma("unroll") for (uint v = 0; v < HX_RUN_N; v++) (values)[v] = acc[i][(j) * HX_RUN_N + v];
#else
#define HX_SUMS(acc)               \
  HX_VN acc[HX_ITEM_M][HX_RUNS_N]; \
  _Pragma("unroll") for (uint i = 0; i < HX_ITEM_M * HX_RUNS_N; i++) acc[i / HX_RUNS_N][i % HX_RUNS_N] = 0.0f;
#define HX_MULTIPLY(acc, av, bv)                                                                                       \
  _Pragma("unroll") for (uint i = 0; i < HX_ITEM_M; i++) {                                                             \
    _Pragma("unroll") for (uint j = 0; j < HX_RUNS_N; j++) acc[i][j] = HX_FMA(HX_N, (HX_VN)(av[i]), bv[j], acc[i][j]); \
  }
#define HX_TAKE_RUN(values, acc, i, j) HX_GIVE_N(acc[i][j], (values));
#endif

#ifndef HX_UNROLL
#define HX_UNROLL 8
#endif
#define HX_TEXT_(...) #__VA_ARGS__
#define HX_TEXT(...) HX_TEXT_(__VA_ARGS__)

/* `steps` of k, while the next tile is being loaded. Full tiles and the rest of k have separate loops, one after the
 * other: two loops within one would cost copies of all sums in every iteration. */
#define HX_K_TILE(unroll, steps)                                    \
  {                                                                 \
    barrier(CLK_LOCAL_MEM_FENCE); /* all have read the last tile */ \
    HX_SPREAD(wa, HX_TILE_M, tile_a, HX_PITCH_A)                    \
    HX_SPREAD(wb, HX_TILE_N, tile_b, HX_TILE_N)                     \
    barrier(CLK_LOCAL_MEM_FENCE);                                   \
    if (left - k1 > HX_TILE_K) {                                    \
      wa += wa_ahead;                                               \
      wb += wb_ahead;                                               \
      HX_FETCH(wa, HX_TILE_M, rows, left - k1 - HX_TILE_K)          \
      HX_FETCH(wb, HX_TILE_N, columns, left - k1 - HX_TILE_K)       \
    }                                                               \
    _Pragma(unroll) for (uint p = 0; p < (steps); p++) HX_STEP(p)   \
  }

#ifdef HX_SUB_GROUP /* for a compiler that would choose another size */
__attribute__((intel_reqd_sub_group_size(HX_SUB_GROUP)))
#endif
kernel __attribute__((reqd_work_group_size(HX_LOCAL0, HX_LOCAL1, 1))) void
hx_matmul(global const float *a, ulong a_first, ulong a_rs, ulong a_cs, global const float *b, ulong b_first,
          ulong b_rs, ulong b_cs, ulong m, ulong n, ulong k, float alpha, global float *t, ulong ldt, uint part,
          ulong a_step, ulong b_step, ulong t_step) {
  local float tile_a[HX_TILE_K * (HX_PITCH_A + HX_TILE_N)] __attribute__((aligned(16)));
  local float *const tile_b = tile_a + HX_TILE_K * HX_PITCH_A;
  const uint x = (uint)get_local_id(0), y = (uint)get_local_id(1), id = y * HX_LOCAL0 + x;
  const ulong i0 = (ulong)get_group_id(1) * HX_TILE_M, j0 = (ulong)get_group_id(0) * HX_TILE_N;
  const uint rows = (uint)min(m - i0, (ulong)HX_TILE_M), columns = (uint)min(n - j0, (ulong)HX_TILE_N);
  const uint product = (uint)get_group_id(2);
  HX_WALK(wa, a + a_first + HX_OFFSET(product, a_step) + i0 * a_rs, a_rs, a_cs, HX_TILE_M, rows)
  HX_WALK(wb, b + b_first + HX_OFFSET(product, b_step) + j0 * b_cs, b_cs, b_rs, HX_TILE_N, columns)
  const HX_COUNT k_left = HX_UP_TO(HX_TILE_K, k);
  HX_FETCH(wa, HX_TILE_M, rows, k_left)
  HX_FETCH(wb, HX_TILE_N, columns, k_left)
  t += HX_OFFSET(product, t_step) + i0 * ldt + j0;
  for (ulong k0 = 0; k0 < k; k0 += HX_PANEL) {
    const HX_COUNT left = HX_UP_TO(HX_PANEL + HX_TILE_K, k - k0), end = min(left, (HX_COUNT)HX_PANEL);
    HX_SUMS(acc)
    HX_COUNT k1 = 0;
#if HX_ARITHMETIC != HX_SOFT_FMA /* too much code to repeat */
    for (; k1 + HX_TILE_K <= end; k1 += HX_TILE_K) HX_K_TILE(HX_TEXT(unroll HX_UNROLL), HX_TILE_K)
#endif
    for (; k1 < end; k1 += HX_TILE_K) HX_K_TILE("unroll 1", (uint)min(end - k1, (HX_COUNT)HX_TILE_K))
    /* Always zero, which no compiler knows: otherwise the addresses of all stores would stay in registers. */
    const uint zero = (uint)(k0 >> 63);
#pragma unroll
    for (uint i = 0; i < HX_ITEM_M; i++) {
      const uint row = HX_ROW(i / HX_RUN_M, y ^ zero) + i % HX_RUN_M;
#pragma unroll
      for (uint j = 0; j < HX_RUNS_N; j++) {
        float values[HX_RUN_N];
        HX_TAKE_RUN(values, acc, i, j)
#pragma unroll
        for (uint v = 0; v < HX_RUN_N; v++) {
          const uint column = HX_COLUMN(j, x ^ zero) + v;
          if (row < rows && column < columns)
            hx_put(t + HX_OFFSET(row, ldt) + column, values[v], HX_FIRST, HX_LAST, alpha);
        }
      }
    }
  }
}

#endif
