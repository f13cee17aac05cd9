/* SPDX-License-Identifier: Apache-2.0
 * Shared by all products of the set and by the sum of their panels: where a tile is in C, which tiles and panels a
 * group computes, and how elements are stored. */
#if HX_SHAPE_TILES

/* How an operand that is read in place is laid out: the bits of `layout`; those of B are twice those of A. */
#define HX_LAYOUT_BY_K 1u  /* [k][line] */
#define HX_LAYOUT_VEC4 4u /* the same, each float4 of lines at a multiple of 16 bytes; matmul_few.cl: either way */
#define HX_LAYOUT_BACKWARDS 16u /* matmul_few.cl: from the end of B, which may be in a cache, to its beginning */

/* A tile's place in C. The last tiles overlap those before, so that no read needs a bound. Each element is stored by
 * one tile, from its row and column `own` on. Columns begin at multiples of `width`. */
typedef struct hx_place {
  ulong i0, j0, own_i, own_j;
} hx_place;

/* What a slice of group g computes: tile g if g < full_tiles (with two slices, each has one of at most two panels).
 * Later groups compute one panel each of the tiles from full_tiles on, all tiles of a panel before the next panel, so
 * that A and B are read from memory once. */
typedef struct hx_job {
  bool part;
  uint tile, panel; /* panel: with `part`, counted over all those tiles */
  ulong k0, count;  /* the first step of k, and how many */
} hx_job;

static uint hx_tiles(uint tile_m, uint tile_n, ulong m, ulong n) {
  return (uint)((m + tile_m - 1) / tile_m) * (uint)((n + tile_n - 1) / tile_n);
}

static hx_job hx_job_of(uint group, uint slice, uint full_tiles, ulong m, ulong n, ulong k) {
  const uint tiles = hx_tiles(HX_TILE_M, HX_TILE_N, m, n);
  const uint panels = (uint)((k + HX_PANEL - 1) / HX_PANEL), tails = tiles - full_tiles;
  hx_job job;
  job.part = group >= full_tiles;
  const uint tail = job.part ? (group - full_tiles) % tails : 0;
  const uint panel = job.part ? (group - full_tiles) / tails * HX_SLICES + slice : slice;
  job.tile = job.part ? full_tiles + tail : group;
  job.panel = tail * panels + panel;
  job.k0 = min((ulong)panel * HX_PANEL, k);
  job.count = job.part || HX_SLICES > 1 ? min(k - job.k0, (ulong)HX_PANEL) : k;
  return job;
}

static hx_place hx_place_of(uint tile, uint tile_m, uint tile_n, uint width, ulong m, ulong n) {
  const ulong lines = max(m, (ulong)tile_m), columns = max((n + width - 1) & ~(ulong)(width - 1), (ulong)tile_n);
  const uint in_row = (uint)((n + tile_n - 1) / tile_n);
  hx_place at;
  at.own_i = (ulong)(tile / in_row) * tile_m;
  at.own_j = (ulong)(tile % in_row) * tile_n;
  at.i0 = min(at.own_i, lines - tile_m);
  at.j0 = min(at.own_j, columns - tile_n);
  return at;
}

/* Adds to a ticket and returns what it was. All that the items of a group have stored before a barrier is visible to
 * the group that reads this value of the ticket, after a barrier of its own. */
#if HX_PTX
static uint hx_ticket(global uint *ticket, uint add) {
  uint was;
  __asm__ __volatile__("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(was) : "l"(ticket), "r"(add) : "memory");
  return was;
}
#else /* The tests run this on CPU devices. */
static uint hx_ticket(global uint *ticket, uint add) {
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  return atomic_add(ticket, add);
}
#endif

/* Where a tile is stored: t, or partials, if its panels are added later. With `transposed` t is C transposed, so that
 * its lines are the columns of C. */
typedef struct hx_target {
  global float *t;
  ulong ldt;
  ulong line, from;         /* where the tile's first element is in t */
  uint line_own, from_own;  /* the first element that this tile stores */
  uint lines, along;        /* where the tile ends */
  float alpha, beta;
} hx_target;

static hx_target hx_target_of(global float *t, ulong ldt, const hx_place at, uint tile_m, uint tile_n, ulong m, ulong n,
                              float alpha, float beta, uint transposed) {
  const uint own_i = (uint)(at.own_i - at.i0), own_j = (uint)(at.own_j - at.j0);
  const uint rows = (uint)min(m - at.i0, (ulong)tile_m), columns = (uint)min(n - at.j0, (ulong)tile_n);
  hx_target to;
  to.line = transposed ? at.j0 : at.i0;
  to.from = transposed ? at.i0 : at.j0;
  to.t = t + to.line * ldt + to.from;
  to.ldt = ldt;
  to.line_own = transposed ? own_j : own_i;
  to.from_own = transposed ? own_i : own_j;
  to.lines = transposed ? columns : rows;
  to.along = transposed ? rows : columns;
  to.alpha = alpha;
  to.beta = beta;
  return to;
}

/* Whether all stores are float4s at multiples of 16 bytes. */
static bool hx_target_is_vec4(const hx_target to) { return ((to.ldt | to.from | to.along) & 3) == 0; }

/* t = alpha * s + beta * t. */
static void hx_store(const hx_target to, uint line, uint from, float s) {
  if (line < to.line_own || line >= to.lines || from < to.from_own || from >= to.along) return;
  global float *const at = to.t + line * to.ldt + from;
  s = HX_MUL(, to.alpha, s); /* alpha == 1 changes nothing */
  if (to.beta != 0.0f) s = fma(to.beta, *at, s);
  *at = HX_CANONICAL(, s);
}

/* Stores four neighbours. Requires hx_target_is_vec4. */
static void hx_store_vec4(const hx_target to, uint line, uint from, float4 s) {
  if (line < to.line_own || line >= to.lines || from < to.from_own || from >= to.along) return;
  global float4 *const at = (global float4 *)(to.t + line * to.ldt + from);
  s = HX_MUL(4, (float4)(to.alpha), s);
  if (to.beta != 0.0f) s = fma((float4)(to.beta), *at, s);
  *at = HX_CANONICAL(4, s);
}

#endif
