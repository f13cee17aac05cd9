/* SPDX-License-Identifier: Apache-2.0
 * Copies of operands into local memory by vectors of four, for the work-group's tile of matmul.cl on AMD GPUs. An item
 * loads its share of the next tile, lines x HX_TILE_K, into registers while the tile before is in use. A vector lies in
 * the direction in which the operand is contiguous, so one of its strides has to be 1:
 *   along k       an item has HX_PER_ITEM steps of one line, and spreads them over the columns of local memory
 *   along lines   an item has four lines of HX_PER_ITEM / 4 steps
 * Past the last line another line is read again, and its sums are never stored; past the last step of k there are
 * zeros, which are never used. The checks at edges are written with as few values as possible: clang keeps in registers
 * what is the same for all tiles, and there is no register left.
 * -D options:
 *   HX_VECTOR_COPIES     1: this file; default 0: element by element, by matmul.cl */
#if HX_VECTOR_COPIES

/* What is left of k is counted in 32 bits, as far as a panel and the tile after it reach, because AMD's scalar unit does
 * not compare 64. Intel's compiler makes more of 64-bit counters that nothing bounds. */
#define HX_COUNT uint
#define HX_UP_TO(most, steps) ((uint)min((steps), (ulong)(most)))

#define HX_PER_ITEM(lines) ((lines) * HX_TILE_K / (HX_LOCAL0 * HX_LOCAL1))
#define HX_EACH_VECTOR(lines) _Pragma("unroll") for (uint u = 0; u < HX_PER_ITEM(lines) / 4; u++)
#define HX_PER_STEP(lines) ((lines) / 4) /* items that read one step, along lines */

/* w: the item's first element; _spare: lines after it that exist, as far as 3; _next: what it has loaded. */
#define HX_WALK(w, x, line_stride, step_stride, lines, lines_left)                                                 \
  const bool w##_along_k = (step_stride) == 1;                                                                     \
  const uint w##_line = w##_along_k ? id % (lines) : id % HX_PER_STEP(lines) * 4;                                  \
  const uint w##_step = w##_along_k ? id / (lines) * HX_PER_ITEM(lines) : id / HX_PER_STEP(lines);                 \
  const uint w##_steps = w##_along_k ? 4 : HX_LOCAL0 * HX_LOCAL1 / HX_PER_STEP(lines); /* from vector to vector */ \
  const uint w##_exists = (uint)min((int)w##_line, (int)(lines_left) - 1);                                         \
  const uint w##_spare = w##_along_k ? 0 : (lines_left) - 1 - w##_exists;                                          \
  const ulong w##_ahead = HX_TILE_K * (step_stride), w##_stride = w##_steps * (step_stride);                       \
  global const float *w = (x) + HX_OFFSET(w##_exists, line_stride) + HX_OFFSET(w##_step, step_stride);             \
  float4 w##_next[HX_PER_ITEM(lines) / 4];

#define HX_FETCH(w, lines, lines_left, k_left)                                                                       \
  if ((k_left) >= HX_TILE_K && (w##_along_k || (lines_left) == (lines))) {                                           \
    HX_EACH_VECTOR(lines) w##_next[u] = vload4(0, w + HX_OFFSET(u, w##_stride));                                     \
  } else if (w##_along_k) {                                                                                          \
    HX_EACH_VECTOR(lines)                                                                                            \
    w##_next[u] = (float4)(HX_STEP_OF(w, 4 * u, k_left), HX_STEP_OF(w, 4 * u + 1, k_left),                           \
                           HX_STEP_OF(w, 4 * u + 2, k_left), HX_STEP_OF(w, 4 * u + 3, k_left));                      \
  } else {                                                                                                           \
    const uint spare = w##_spare ^ (uint)((ulong)w >> 63); /* always w_spare, which no compiler knows */             \
    HX_EACH_VECTOR(lines) {                                                                                          \
      global const float *const from = w + HX_OFFSET(u, w##_stride);                                                 \
      w##_next[u] = 0.0f;                                                                                            \
      if ((int)w##_step < (int)(k_left) - (int)(u * w##_steps))                                                      \
        w##_next[u] = (float4)(from[0], from[min(1u, spare)], from[min(2u, spare)], from[min(3u, spare)]);           \
    }                                                                                                                \
  }
#define HX_STEP_OF(w, i, k_left) ((int)w##_step < (int)(k_left) - (int)(i) ? w[i] : 0.0f)

#define HX_SPREAD(w, lines, tile, pitch)                                              \
  HX_EACH_VECTOR(lines) {                                                             \
    local float *const to = (tile) + (w##_step + u * w##_steps) * (pitch) + w##_line; \
    if (w##_along_k) {                                                                \
      to[0] = w##_next[u].s0, to[pitch] = w##_next[u].s1;                             \
      to[2 * (pitch)] = w##_next[u].s2, to[3 * (pitch)] = w##_next[u].s3;             \
    } else {                                                                          \
      *(local float4 *)to = w##_next[u];                                              \
    }                                                                                 \
  }

#endif
