/* SPDX-License-Identifier: Apache-2.0
 * Matrix product for NVIDIA GPUs if C has one row or a few rows (or columns: A and B are then exchanged). A is a vector
 * or a few vectors, and B is read once, at the speed of memory. A tile is HX_TILE_N lines, columns of B; an item
 * computes one line, its chain of fma over a panel of k in the order of matmul.cl. Each of the two layouts of B has a
 * kernel: matmul_few_lines.cl, matmul_few_turns.cl. -D options:
 *   HX_TILE_M            rows of C at most
 *   HX_TILE_N            lines of B of a group: 32
 *   HX_TILE_K            steps of k of a stage, or of a warp's part
 *   HX_STAGES            stages in local memory, or parts being loaded
 *   HX_LAYOUT            2: B is laid out [column][k], else [k][column]
 *   HX_PTX               default 0; 1: inline PTX; 0: plain OpenCL 1.2, for the tests */
#if HX_SHAPE_TILES && HX_FEW_ROWS

#define HX_FEW_SUMS (HX_TILE_M * HX_TILE_N) /* the sums of one panel of one tile */
#define HX_FEW_JOINS (HX_TILE_M > 4 ? 2048 : 4096) /* how many sums are loaded at once when panels are added */

#if HX_PTX
static void hx_few_move1(uint to, global const float *from, uint some) {
  __asm__ __volatile__("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p cp.async.ca.shared.global [%0], [%1], 4; }"
                       :
                       : "r"(to), "l"(from), "r"(some));
}
static void hx_few_move4(uint to, global const float *from, uint some) { hx_copy16_if(to, from, some); }
#define HX_FEW_MOVE(width, to, from, some) hx_few_move##width((uint)(size_t)(to), from, some);
#define HX_FEW_COMMIT __asm__ __volatile__("cp.async.commit_group;" : : : "memory");
#define HX_FEW_WAIT __asm__ __volatile__("cp.async.wait_group %0;" : : "n"(HX_STAGES - 2) : "memory");
#define HX_FEW_HIDE(x) __asm__ __volatile__("" : "+r"(x)); /* values derived from x are not cached in registers */
#else /* for the tests, on CPU devices */
#define HX_FEW_MOVE(width, to, from, some) \
  if (some)                                \
    for (uint hx_i = 0; hx_i < width; hx_i++) (to)[hx_i] = (from)[hx_i];
#define HX_FEW_COMMIT
#define HX_FEW_WAIT
#define HX_FEW_HIDE(x)
#endif

/* How many floats there are between the last multiple of 16 bytes and p. */
static uint hx_few_shift(global const float *p) { return (uint)((size_t)p >> 2) & 3; }

/* The tiles of lines and panels of a product. With HX_LAYOUT_BACKWARDS they are computed from the last to the first: if
 * launches alternate, each reads first what the one before it read last, which may still be in a cache. */
typedef struct hx_units {
  uint tiles, panels;
  bool back;
} hx_units;

static hx_units hx_units_of(ulong n, ulong k, uint layout) {
  const hx_units s = {(uint)((n + HX_TILE_N - 1) / HX_TILE_N), (uint)((k + HX_PANEL - 1) / HX_PANEL),
                      (layout & HX_LAYOUT_BACKWARDS) != 0};
  return s;
}

typedef struct hx_few_target {
  global float *t;
  ulong ldt, m, n;
  float alpha, beta;
  uint transposed;
} hx_few_target;

static void hx_few_store(const hx_few_target to, uint tile, uint line, const float *sum) {
  const hx_place at = {0, (ulong)tile * HX_TILE_N, 0, (ulong)tile * HX_TILE_N};
  const hx_target target =
      hx_target_of(to.t, to.ldt, at, HX_TILE_M, HX_TILE_N, to.m, to.n, to.alpha, to.beta, to.transposed);
#pragma unroll
  for (uint r = 0; r < HX_TILE_M; r++) hx_store(target, to.transposed ? line : r, to.transposed ? r : line, sum[r]);
}

/* If several groups have panels of a tile, each stores its sums in partials, and the group that finishes last adds
 * them. Every ticket is 0 before the launch and after it. `room` has space for HX_FEW_JOINS sums. */
#define HX_FEW_PART(s, tile, panel) (partials + ((ulong)(tile) * (s).panels + (panel)) * HX_FEW_SUMS)
static void hx_few_join(const hx_units s, uint tile, uint done, const hx_few_target to, global const float *partials,
                        global uint *tickets, local float *room, local uint *taken) {
  const uint id = (uint)get_local_id(0), at_once = HX_FEW_JOINS / HX_FEW_SUMS;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (id == 0) taken[0] = hx_ticket(tickets + tile, done) + done;
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint panels = taken[0] == s.panels ? s.panels : 0;
  if (panels && id == 0) tickets[tile] = 0; /* as the next launch expects it */
  float sum[HX_TILE_M];
#pragma unroll
  for (uint r = 0; r < HX_TILE_M; r++) sum[r] = -0.0f; /* changes no sum */
#pragma unroll 1
  for (uint p = 0; p < panels; p += at_once) {
    const uint these = min(panels - p, at_once);
#pragma unroll 1
    for (uint e = 4 * id; e < these * HX_FEW_SUMS; e += 4 * HX_LOCAL0)
      HX_FEW_MOVE(4, room + e, HX_FEW_PART(s, tile, p) + e, 1)
    HX_COPY_ALL
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id < HX_TILE_N) {
#pragma unroll 8
      for (uint q = 0; q < these; q++) {
#pragma unroll
        for (uint r = 0; r < HX_TILE_M; r++) sum[r] = HX_ADD(, sum[r], room[q * HX_FEW_SUMS + r * HX_TILE_N + id]);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (panels && id < HX_TILE_N) hx_few_store(to, tile, id, sum);
}

#endif
