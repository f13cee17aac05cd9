/* SPDX-License-Identifier: Apache-2.0
 * Matrix product for NVIDIA GPUs where C has one row or a few (or columns: A and B then change places): A is a vector
 * or a few, and B is read once, as fast as memory gives it. A tile is HX_TILE_N lines, columns of B: an item a line,
 * its chain of fma over a panel of k in the order of matmul.cl. The two ways that B may lie have a kernel each
 * (HX_LAYOUT). */
#if HX_SHAPE_TILES && HX_FEW

#define HX_FEW_SUMS (HX_TILE_M * HX_TILE_N) /* of a unit */
#define HX_FEW_JOINS (HX_TILE_M > 4 ? 2048 : 4096) /* sums that are on their way at once when panels are added */

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
#define HX_FEW_HIDE(x) __asm__ __volatile__("" : "+r"(x)); /* what is made of it is not kept in registers */
/* What the items of the group have stored is there for whom the ticket tells so. */
static uint hx_few_ticket(global uint *ticket, uint add) {
  uint taken;
  __asm__ __volatile__("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
                       : "=r"(taken)
                       : "l"(ticket), "r"(add)
                       : "memory");
  return taken;
}
#else /* for the tests, on CPU devices */
#define HX_FEW_MOVE(width, to, from, some) \
  if (some)                                \
    for (uint hx_i = 0; hx_i < width; hx_i++) (to)[hx_i] = (from)[hx_i];
#define HX_FEW_COMMIT
#define HX_FEW_WAIT
#define HX_FEW_HIDE(x)
static uint hx_few_ticket(global uint *ticket, uint add) {
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  return atomic_add(ticket, add);
}
#endif

/* How many floats lie between a multiple of 16 bytes and p. */
static uint hx_few_shift(global const float *p) { return (uint)((size_t)p >> 2) & 3; }

/* The tiles of lines and panels of a product. With HX_LIES_BACK they are done from the last one to the first: where
 * launches take turns, the one reads first what the one before it read last, and a cache may hold. */
typedef struct hx_units {
  uint tiles, panels;
  bool back;
} hx_units;

static hx_units hx_units_of(ulong n, ulong k, uint lies) {
  const hx_units s = {(uint)((n + HX_TILE_N - 1) / HX_TILE_N), (uint)((k + HX_PANEL - 1) / HX_PANEL),
                      (lies & HX_LIES_BACK) != 0};
  return s;
}

typedef struct hx_few_target {
  global float *t;
  ulong ldt, m, n;
  float alpha, beta;
  uint across;
} hx_few_target;

static void hx_few_store(const hx_few_target to, uint tile, uint line, const float *sum) {
  const hx_place at = {0, (ulong)tile * HX_TILE_N, 0, (ulong)tile * HX_TILE_N};
  const hx_target target =
      hx_target_of(to.t, to.ldt, at, HX_TILE_M, HX_TILE_N, to.m, to.n, to.alpha, to.beta, to.across);
#pragma unroll
  for (uint r = 0; r < HX_TILE_M; r++) hx_store(target, to.across ? line : r, to.across ? r : line, sum[r]);
}

/* Where several groups have panels of a tile: the sums of each wait in partials, and the group that ends the last one
 * adds them. Every ticket is 0 before the launch, and after it. `room` is free for HX_FEW_JOINS sums. */
#define HX_FEW_PART(s, tile, panel) (partials + ((ulong)(tile) * (s).panels + (panel)) * HX_FEW_SUMS)
static void hx_few_join(const hx_units s, uint tile, uint done, const hx_few_target to, global const float *partials,
                        global uint *tickets, local float *room, local uint *taken) {
  const uint id = (uint)get_local_id(0), at_once = HX_FEW_JOINS / HX_FEW_SUMS;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (id == 0) taken[0] = hx_few_ticket(tickets + tile, done) + done;
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint panels = taken[0] == s.panels ? s.panels : 0;
  if (panels && id == 0) tickets[tile] = 0; /* for the next launch */
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

#if HX_LAYOUT == 2
/* B [line][k]: an item is a line, whose k would come from far apart for neighbours. So a group's items copy stages of
 * HX_TILE_K steps of all lines into a ring in local memory, and each reads its own from there, by fours. Fours of far
 * memory are at multiples of 16 bytes, where lines need not begin: what a line has is `shift` places further on, and of
 * its first and last four single elements are copied. */
#define HX_FEW_SPARE 4 /* of k: before A's stage, after B's */
#define HX_FEW_PITCH (HX_TILE_K + HX_FEW_SPARE) /* fours of neighbouring lines meet all banks */
#define HX_FEW_B (HX_TILE_N * HX_FEW_PITCH)
#define HX_FEW_STAGE (HX_FEW_B + HX_FEW_PITCH * HX_TILE_M)

#define HX_FEW_ALONG (HX_TILE_K / 4)
#define HX_FEW_LINES (HX_LOCAL0 / HX_FEW_ALONG) /* whose fours the items copy at once */
#define HX_FEW_MINE (HX_TILE_N / HX_FEW_LINES)

kernel __attribute__((reqd_work_group_size(HX_LOCAL0, 1, 1))) void hx_matmul(
    global const float *a, ulong a_first, ulong lda, global const float *b, ulong b_first, ulong ldb, ulong m, ulong n,
    ulong k, float alpha, float beta, global float *t, ulong ldt, uint across, uint whole, global float *partials,
    uint lies, uint join, global uint *tickets) {
  local float ring[HX_STAGES * HX_FEW_STAGE > HX_FEW_JOINS ? HX_STAGES * HX_FEW_STAGE : HX_FEW_JOINS]
      __attribute__((aligned(16)));
  local uint taken[1];
  const uint id = (uint)get_local_id(0), rows = (uint)m, group = (uint)get_group_id(0);
  const hx_units units = hx_units_of(n, k, lies);
  const uint unit = units.back ? units.tiles * units.panels - 1 - group : group; /* panels of a tile are neighbours */
  const uint tile = unit / units.panels, panel = unit % units.panels;
  const hx_few_target to = {t, ldt, m, n, alpha, beta, across};
  const bool a_by_k = lies & HX_LIES_BY_K, fours = lies >> 1 & HX_LIES_FOURS;
  const ulong k0 = (ulong)panel * HX_PANEL, line0 = (ulong)tile * HX_TILE_N;
  const uint lines = (uint)min(n - line0, (ulong)HX_TILE_N), count = (uint)min(k - k0, (ulong)HX_PANEL);
  const uint steps = (count + 3 + HX_TILE_K - 1) / HX_TILE_K, stages = min(steps, (uint)(HX_PANEL / HX_TILE_K));
  a += a_first + k0 * (a_by_k ? lda : 1);
  b += b_first + line0 * ldb + k0;

  /* An item's fours of a stage; of each up to where the last one begins. */
  const uint column = id % HX_FEW_ALONG * 4;
  global const float *from_b[HX_FEW_MINE];
  int ends[HX_FEW_MINE];
  bool begins[HX_FEW_MINE];
#pragma unroll
  for (uint u = 0; u < HX_FEW_MINE; u++) {
    const uint line = id / HX_FEW_ALONG + u * HX_FEW_LINES;
    global const float *const bp = b + min(line, lines - 1) * ldb;
    const uint shift = hx_few_shift(bp);
    from_b[u] = bp + column - shift;
    ends[u] = line < lines ? (int)(count + shift) - 4 - (int)column : -1;
    begins[u] = column >= shift;
  }
  uint ask_slot = 0;
#define HX_FEW_ASK(s)                                                                                                  \
  if ((s) < stages) {                                                                                                  \
    const uint from = (s)*HX_TILE_K;                                                                                   \
    local float *const bs = ring + ask_slot * HX_FEW_STAGE, *const as = bs + HX_FEW_B;                                 \
    _Pragma("unroll") for (uint u = 0; u < HX_FEW_MINE; u++) {                                                         \
      HX_FEW_MOVE(4, bs + (id / HX_FEW_ALONG + u * HX_FEW_LINES) * HX_FEW_PITCH + column, from_b[u],                   \
                  ((int)from <= ends[u]) & (from || begins[u]))                                                        \
      from_b[u] += HX_TILE_K;                                                                                          \
    }                                                                                                                  \
    if (!(fours && (count & 3) == 0) && ((s) == 0 || (s) + 2 >= stages)) { /* single elements */                       \
      for (uint line = id; line < lines; line += HX_LOCAL0) {                                                          \
        global const float *const bp = b + line * ldb;                                                                 \
        const uint shift = hx_few_shift(bp), end = count + shift & ~3u;                                                \
        const bool here = end > 0 && min(end / HX_TILE_K, stages - 1) == (s);                                          \
        local float *const to_line = bs + line * HX_FEW_PITCH;                                                         \
        _Pragma("unroll") for (uint i = 0; i < 4; i++) {                                                               \
          const uint first = (s) == 0 && (shift || count < 4) && i >= shift && i < count + shift;                      \
          HX_FEW_MOVE(1, to_line + i, bp + i - shift, first)                                                           \
          HX_FEW_MOVE(1, to_line + end + i - from, bp + end + i - shift, here && end + i < count + shift)              \
        }                                                                                                              \
      }                                                                                                                \
    }                                                                                                                  \
    _Pragma("unroll") for (uint e = 0; e < HX_FEW_PITCH * HX_TILE_M; e += HX_LOCAL0) {                                 \
      const uint at = e + id, row = a_by_k ? at % HX_TILE_M : at / HX_FEW_PITCH;                                       \
      const uint i = a_by_k ? at / HX_TILE_M : at % HX_FEW_PITCH, q = from + i - HX_FEW_SPARE;                         \
      const ulong row_at = min(row, rows - 1);                                                                         \
      HX_FEW_MOVE(1, as + i * HX_TILE_M + row, a + (a_by_k ? q * lda + row_at : row_at * lda + q),                     \
                  (q < count) & (at < HX_FEW_PITCH * HX_TILE_M))                                                       \
    }                                                                                                                  \
    ask_slot = ask_slot + 1 < HX_STAGES ? ask_slot + 1 : 0;                                                            \
  }                                                                                                                    \
  HX_FEW_COMMIT

#pragma unroll 1
  for (uint s = 0; s + 1 < HX_STAGES; s++) {
    HX_FEW_ASK(s)
  }
  const uint shift = hx_few_shift(b + min(id, lines - 1) * ldb);
  uint slot = 0;
  float acc[HX_TILE_M];
#pragma unroll
  for (uint r = 0; r < HX_TILE_M; r++) acc[r] = 0.0f;
#pragma unroll 1
  for (uint s = 0; s < stages; s++) {
    HX_FEW_WAIT
    barrier(CLK_LOCAL_MEM_FENCE);
    HX_FEW_ASK(s + HX_STAGES - 1)
    if (id < HX_TILE_N) {
      const uint from = s * HX_TILE_K;
      local const float *const bs = ring + slot * HX_FEW_STAGE + id * HX_FEW_PITCH;
      local const float *const as = ring + slot * HX_FEW_STAGE + HX_FEW_B + HX_FEW_SPARE * HX_TILE_M;
      local const float *const own = as - shift * HX_TILE_M;
#define HX_FEW_FMA(x, value)                                                                        \
  {                                                                                                 \
    const float hx_v = (value);                                                                     \
    _Pragma("unroll") for (uint r = 0; r < HX_TILE_M; r++) acc[r] = fma((x)[r], hx_v, acc[r]);      \
  }
      if (fours && from + HX_TILE_K <= count) {
#pragma unroll
        for (uint p = 0; p < HX_TILE_K; p += 4) {
          float x[4 * HX_TILE_M];
#pragma unroll
          for (uint e = 0; e < HX_TILE_M; e++) vstore4(*(local const float4 *)(as + p * HX_TILE_M + 4 * e), e, x);
          const float4 w = *(local const float4 *)(bs + p);
          HX_FEW_FMA(x, w.x)
          HX_FEW_FMA(x + HX_TILE_M, w.y)
          HX_FEW_FMA(x + 2 * HX_TILE_M, w.z)
          HX_FEW_FMA(x + 3 * HX_TILE_M, w.w)
        }
      } else if (from + HX_TILE_K <= count) {
#pragma unroll
        for (uint p = 0; p < HX_TILE_K; p += 4) {
          const float4 w = *(local const float4 *)(bs + p);
          if (p || from || shift == 0) HX_FEW_FMA(own + p * HX_TILE_M, w.x)
          if (p || from || shift <= 1) HX_FEW_FMA(own + (p + 1) * HX_TILE_M, w.y)
          if (p || from || shift <= 2) HX_FEW_FMA(own + (p + 2) * HX_TILE_M, w.z)
          HX_FEW_FMA(own + (p + 3) * HX_TILE_M, w.w)
        }
        if (s + 1 == stages) { /* what single elements are past it */
#pragma unroll
          for (uint p = HX_TILE_K; p < HX_TILE_K + 3; p++)
            if (from + p < count + shift) HX_FEW_FMA(own + p * HX_TILE_M, bs[p])
        }
      } else {
        const uint all = count + shift, most = s + 1 < stages ? HX_TILE_K : HX_FEW_PITCH;
        const uint stop = min(all - min(from, all), most);
#pragma unroll 4
        for (uint p = from ? 0 : shift; p < stop; p++) HX_FEW_FMA(own + p * HX_TILE_M, bs[p])
      }
    }
    slot = slot + 1 < HX_STAGES ? slot + 1 : 0;
  }
  if (units.panels > 1) {
    if (id < HX_TILE_N) {
#pragma unroll
      for (uint r = 0; r < HX_TILE_M; r++) HX_FEW_PART(units, tile, panel)[r * HX_TILE_N + id] = acc[r];
    }
    hx_few_join(units, tile, 1, to, partials, tickets, ring, taken); /* all have read the ring before it is used */
  } else if (id < HX_TILE_N) {
    hx_few_store(to, tile, id, acc);
  }
}
#else
/* B [k][line]: the warps of a group do a panel together, for its 512 steps of k are too few loads for one warp to keep
 * memory busy. Each has its part of them, of all lines, on their way in registers at once; when its turn comes it takes
 * the sums over from the warp before it, adds its own and asks for its part of the group's next panel. Group g does the
 * tiles x, x + whole, ... and of k the panels y, y + by, ... */
#define HX_FEW_WARPS (HX_LOCAL0 / 32)
#define HX_FEW_A (HX_TILE_K * HX_TILE_M) /* a warp's part: HX_TILE_K steps */

#if HX_PTX
/* Of warps i - 1 and i. */
static void hx_few_meet(uint i) { __asm__ __volatile__("bar.sync %0, 64;" : : "r"(i) : "memory"); }
#define HX_FEW_WARP __asm__ __volatile__("bar.warp.sync 0xffffffff;" : : : "memory");
/* A share of B's lines of memory is the first to leave the second cache, so that the others are still there for the
 * next launch with this B. */
typedef ulong hx_few_policy;
static hx_few_policy hx_few_policy_of(void) {
  ulong policy;
  __asm__ __volatile__("createpolicy.fractional.L2::evict_first.b64 %0, 0.65;" : "=l"(policy));
  return policy;
}
static float hx_few_load(global const float *p, hx_few_policy policy) {
  float v;
  __asm__ __volatile__("ld.global.nc.L1::no_allocate.L2::cache_hint.f32 %0, [%1], %2;"
                       : "=f"(v)
                       : "l"(p), "l"(policy));
  return v;
}
#define HX_FEW_TURN(...)                            \
  if (warp) hx_few_meet(warp);                      \
  __VA_ARGS__                                       \
  if (warp + 1 < HX_FEW_WARPS) hx_few_meet(warp + 1);
#else
typedef uint hx_few_policy;
#define hx_few_policy_of() 0
#define hx_few_load(p, policy) (*(p))
#define HX_FEW_WARP barrier(CLK_LOCAL_MEM_FENCE);
#define HX_FEW_TURN(...)                                \
  for (uint hx_w = 0; hx_w < HX_FEW_WARPS; hx_w++) {    \
    if (warp == hx_w) {                                 \
      __VA_ARGS__                                       \
    }                                                   \
    barrier(CLK_LOCAL_MEM_FENCE);                       \
  }
#endif
/* Step i after p; `apart` bytes lie between them. */
#define HX_FEW_AT(p, i) ((global const float *)((global const char *)(p) + (ulong)apart * (i)))
#define HX_FEW_STEP(u)                                                                                         \
  {                                                                                                            \
    _Pragma("unroll") for (uint r = 0; r < HX_TILE_M; r++) acc[r] = fma(as[(u)*HX_TILE_M + r], v[u], acc[r]);  \
  }

kernel __attribute__((reqd_work_group_size(HX_LOCAL0, 1, 1))) void hx_matmul(
    global const float *a, ulong a_first, ulong lda, global const float *b, ulong b_first, ulong ldb, ulong m, ulong n,
    ulong k, float alpha, float beta, global float *t, ulong ldt, uint across, uint whole, global float *partials,
    uint lies, uint join, global uint *tickets) {
  local float passed[2 * HX_FEW_WARPS * HX_FEW_SUMS], room[HX_FEW_JOINS] __attribute__((aligned(16)));
  local float parts_a[HX_FEW_WARPS * HX_FEW_A] __attribute__((aligned(16)));
  local uint taken[1];
  const uint id = (uint)get_local_id(0), lane = id & 31, warp = id / 32, rows = (uint)m;
  const hx_units units = hx_units_of(n, k, lies);
  const hx_few_target to = {t, ldt, m, n, alpha, beta, across};
  const bool a_by_k = lies & HX_LIES_BY_K;
  const uint from = warp * HX_TILE_K, x = (uint)get_group_id(0) % whole, y = (uint)get_group_id(0) / whole;
  const uint by = (uint)get_num_groups(0) / whole; /* groups that have panels of a tile */
  /* The panels of a tile are added here, in their order, or all of them wait first. */
  const bool waits = units.panels * HX_FEW_SUMS <= HX_FEW_JOINS, back = units.back && (by > 1 || waits);
  const bool last = warp + 1 == HX_FEW_WARPS;
  local float *const as = parts_a + warp * HX_FEW_A;
  const hx_few_policy policy = hx_few_policy_of();
  uint apart = 4 * (uint)ldb, done = 0;
  a += a_first;
  b += b_first;
  float sum[HX_TILE_M];
#pragma unroll 1
  for (uint tile_at = x, panel_at = y; tile_at < units.tiles; done++) {
    const uint tile = units.back ? units.tiles - 1 - tile_at : tile_at;
    const uint panel = back ? units.panels - 1 - panel_at : panel_at;
    const bool first = panel_at == y;
    panel_at += by;
    const bool ends = panel_at >= units.panels;
    if (ends) panel_at = y, tile_at += whole;
    const ulong k0 = (ulong)panel * HX_PANEL, line0 = (ulong)tile * HX_TILE_N;
    const uint count = (uint)min(k - k0, (ulong)HX_PANEL), left = count - min(from, count);
    float v[HX_TILE_K], acc[HX_TILE_M];
    HX_FEW_HIDE(apart) /* what is made of it is not kept in registers */
    global const float *const bp = b + (k0 + min(from, count - 1)) * ldb + min(line0 + lane, n - 1);
    if (left >= HX_TILE_K) {
#pragma unroll
      for (uint u = 0; u < HX_TILE_K; u++) v[u] = hx_few_load(HX_FEW_AT(bp, u), policy);
    } else {
#pragma unroll
      for (uint u = 0; u < HX_TILE_K; u++) v[u] = u < left ? hx_few_load(HX_FEW_AT(bp, u), policy) : 0.0f;
    }
#pragma unroll
    for (uint e = 0; e < HX_FEW_A; e += 32) {
      const uint at = e + lane, row = a_by_k ? at % HX_TILE_M : at / HX_TILE_K;
      const uint p = a_by_k ? at / HX_TILE_M : at % HX_TILE_K;
      const ulong p_at = k0 + from + p, row_at = min(row, rows - 1);
      HX_FEW_MOVE(1, as + p * HX_TILE_M + row, a + (a_by_k ? p_at * lda + row_at : row_at * lda + p_at), p < left)
    }
    HX_COPY_ALL
    HX_FEW_WARP
    local float *const pass = passed + (done & 1) * (HX_FEW_WARPS * HX_FEW_SUMS) + lane;
    HX_FEW_TURN(
        _Pragma("unroll") for (uint r = 0; r < HX_TILE_M; r++)
            acc[r] = warp ? pass[warp * HX_FEW_SUMS + r * HX_TILE_N] : 0.0f;
        if (left >= HX_TILE_K) {
          _Pragma("unroll") for (uint u = 0; u < HX_TILE_K; u++) HX_FEW_STEP(u)
        } else {
          _Pragma("unroll") for (uint u = 0; u < HX_TILE_K; u++) if (u < left) HX_FEW_STEP(u)
        }
        if (warp + 1 < HX_FEW_WARPS) {
          _Pragma("unroll") for (uint r = 0; r < HX_TILE_M; r++)
              pass[(warp + 1) * HX_FEW_SUMS + r * HX_TILE_N] = acc[r];
        })
    HX_FEW_WARP /* all of the warp have read their part of A */
    if (last && by > 1) {
#pragma unroll
      for (uint r = 0; r < HX_TILE_M; r++) HX_FEW_PART(units, tile, panel)[r * HX_TILE_N + lane] = acc[r];
    } else if (last) { /* an item reads what it has written itself */
#pragma unroll
      for (uint r = 0; r < HX_TILE_M; r++) {
        if (back) room[panel * HX_FEW_SUMS + r * HX_TILE_N + lane] = acc[r];
        sum[r] = first ? acc[r] : HX_ADD(, sum[r], acc[r]);
      }
      if (ends && back) {
#pragma unroll 1
        for (uint q = 0; q < units.panels; q++) {
#pragma unroll
          for (uint r = 0; r < HX_TILE_M; r++) {
            const float part = room[q * HX_FEW_SUMS + r * HX_TILE_N + lane];
            sum[r] = q ? HX_ADD(, sum[r], part) : part;
          }
        }
      }
      if (ends) hx_few_store(to, tile, lane, sum);
    }
  }
  if (by > 1) hx_few_join(units, units.back ? units.tiles - 1 - x : x, done, to, partials, tickets, room, taken);
}
#endif

#endif
