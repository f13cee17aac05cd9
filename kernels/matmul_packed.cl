/* SPDX-License-Identifier: Apache-2.0
 * The product for CPU devices: a work-item computes a tile of float16s from packed operands; and the kernels that pack,
 * which other rows use, too. */
#if HX_SHAPE_PACKED || HX_SHAPE_SUBGROUP || HX_SHAPE_UNIFORM
#define HX_WHOLE(lines, tile) (((lines) + (tile)-1) / (tile) * (tile)) /* the lines of whole tiles */
#endif

#if HX_SHAPE_PACKED

#define HX_PACKER kernel __attribute__((reqd_work_group_size(1, 1, 1)))

/* HX_COLUMNS: columns of a tile whose sums are in registers at once, beside the operands. */
#define HX_VECTORS (HX_COLUMNS / 16)

/* Operands are packed in the order in which groups read them: HX_PANEL of k of all lines, then the next ones. */
static void hx_store(global float *t, float16 p, uint columns, bool first, bool last, float alpha) {
  if (columns >= 16) {
    float16 s = first ? p : HX_ADD(16, vload16(0, t), p);
    if (last) {
      s = HX_MUL(16, (float16)(alpha), s);
      s = HX_CANONICAL(16, s);
    }
    vstore16(s, 0, t);
  } else {
    float lane[16];
    vstore16(p, 0, lane);
    for (uint j = 0; j < columns; j++) hx_put(t + j, lane[j], first, last, alpha);
  }
}

/* A tile of t at i0, j0. Inlined into the loop over tiles, some compilers would move the sums between registers. */
__attribute__((noinline)) static void hx_tile(global const float *pa, global const float *pb, ulong m, ulong n, ulong k,
                                              ulong i0, ulong j0, float alpha, global float *t, ulong ldt, uint part) {
  const ulong lines_a = HX_WHOLE(m, HX_TILE_M), lines_b = HX_WHOLE(n, HX_TILE_N);
  const uint rows = (uint)min(m - i0, (ulong)HX_TILE_M), columns = (uint)min(n - j0, (ulong)HX_TILE_N);
  t += i0 * ldt + j0;
  for (ulong k0 = 0; k0 < k; k0 += HX_PANEL) {
    const uint steps = (uint)min(k - k0, (ulong)HX_PANEL);
    const bool first = HX_FIRST, last = HX_LAST;
    for (uint c = 0; c < columns; c += HX_COLUMNS) {
      global const float *a = pa + k0 * lines_a + i0 * steps, *b = pb + k0 * lines_b + (j0 + c) * steps;
      float16 acc[HX_TILE_M][HX_VECTORS];
      _Pragma("unroll") for (uint i = 0; i < HX_TILE_M; i++) {
        _Pragma("unroll") for (uint v = 0; v < HX_VECTORS; v++) acc[i][v] = (float16)(0.0f);
      }
      /* Row by row: with the columns outermost, compilers have all of A in registers and move the sums between
       * registers. */
      for (uint p = 0; p < steps; p++, a += HX_TILE_M, b += HX_COLUMNS) {
        float16 bv[HX_VECTORS];
        _Pragma("unroll") for (uint v = 0; v < HX_VECTORS; v++) bv[v] = vload16(v, b);
        _Pragma("unroll") for (uint i = 0; i < HX_TILE_M; i++) {
          const float16 av = (float16)(a[i]);
          _Pragma("unroll") for (uint v = 0; v < HX_VECTORS; v++) acc[i][v] = HX_FMA(16, av, bv[v], acc[i][v]);
        }
      }
      _Pragma("unroll") for (uint i = 0; i < HX_TILE_M; i++) {
        if (i < rows) {
          _Pragma("unroll") for (uint v = 0; v < HX_VECTORS; v++) {
            const uint at = c + 16 * v;
            if (at < columns) hx_store(t + i * ldt + at, acc[i][v], columns - at, first, last, alpha);
          }
        }
      }
    }
  }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void hx_matmul(global const float *pa, global const float *pb,
                                                                     ulong m, ulong n, ulong k, float alpha,
                                                                     global float *t, ulong ldt, uint part,
                                                                     ulong t_step) {
  /* Consecutive groups compute tiles one below another, and so does each group that has several: they share the panel
   * of B, which is the larger one, while it is in the cache. */
  const ulong high = (ulong)HX_TILE_M * (1 + (part >> 2));
  const ulong id = (ulong)get_group_id(1) * get_num_groups(0) + get_group_id(0);
  const ulong from = id % get_num_groups(1) * high, to = min(from + high, m), j0 = id / get_num_groups(1) * HX_TILE_N;
  const ulong product = get_group_id(2);
  pa += product * HX_WHOLE(m, HX_TILE_M) * k;
  pb += product * HX_WHOLE(n, HX_TILE_N) * k;
  t += product * t_step;
  for (ulong i0 = from; i0 < to; i0 += HX_TILE_M) hx_tile(pa, pb, m, n, k, i0, j0, alpha, t, ldt, part);
}

/* x(i,p) = x[i*major + p*minor] for i < lines, p < steps as [p][i], `tile` lines wide. */
__attribute__((always_inline)) static void hx_pack_lines(global const float *x, ulong major, ulong minor, uint lines,
                                                         uint steps, global float *packed, const uint tile) {
  if (lines < tile) {
    for (uint p = 0; p < steps; p++) {
      for (uint i = 0; i < tile; i++) packed[p * tile + i] = i < lines ? x[i * major + p * minor] : 0.0f;
    }
  } else if (major == 1 && tile % 16 == 0) {
    for (uint p = 0; p < steps; p++, x += minor, packed += tile) {
      _Pragma("unroll") for (uint v = 0; v < tile / 16; v++) vstore16(vload16(v, x), v, packed);
    }
  } else if (minor == 1) {
    uint p = 0;
    for (; p + 4 <= steps; p += 4) {
      _Pragma("unroll") for (uint i = 0; i < tile; i++) {
        const float4 v = vload4(0, x + i * major + p);
        packed[p * tile + i] = v.s0;
        packed[(p + 1) * tile + i] = v.s1;
        packed[(p + 2) * tile + i] = v.s2;
        packed[(p + 3) * tile + i] = v.s3;
      }
    }
    for (; p < steps; p++) {
      for (uint i = 0; i < tile; i++) packed[p * tile + i] = x[i * major + p];
    }
  } else {
    for (uint p = 0; p < steps; p++, x += minor) {
      for (uint i = 0; i < tile; i++) packed[p * tile + i] = x[i * major];
    }
  }
}

/* A tile's lines of HX_PANEL of k, as many side by side as are in registers at once: all of them would be in a quarter
 * of the sets of the first cache. */
__attribute__((always_inline)) static void hx_pack(global const float *x, ulong major, ulong minor, ulong count,
                                                   ulong k, global float *packed, const uint tile) {
  const ulong line = (ulong)get_global_id(0) * tile, k0 = (ulong)get_global_id(1) * HX_PANEL;
  const uint lines = (uint)min(count - line, (ulong)tile), steps = (uint)min(k - k0, (ulong)HX_PANEL);
  const uint part = tile < HX_COLUMNS ? tile : HX_COLUMNS;
  x += line * major + k0 * minor;
  packed += k0 * HX_WHOLE(count, tile) + line * steps;
  for (uint c = 0; c < lines; c += part)
    hx_pack_lines(x + c * major, major, minor, min(lines - c, part), steps, packed + c * steps, part);
}

#endif

#if HX_SHAPE_SUBGROUP || HX_SHAPE_UNIFORM

/* x(i,p) = x[i*major + p*minor] for i < count as panels of `tile` lines, an item for each line. Past the last line
 * another one is read again, and its results are never stored. */
static inline void hx_pack(global const float *x, ulong major, ulong minor, ulong count, ulong k, global float *packed,
                           const uint tile) {
  const ulong line = (ulong)get_group_id(0) * tile, k0 = (ulong)get_group_id(1) * HX_PACK;
  const uint steps = (uint)min(k - k0, (ulong)HX_PACK);
  const uint lines = (uint)min(count - line, (ulong)tile), lane = (uint)get_local_id(0);
  x += line * major + k0 * minor;
  packed += line * k + k0 * tile;
  if (major == 1 && lines == tile) {
    for (uint p = 0; p < steps; p++, x += minor, packed += tile) {
      _Pragma("unroll") for (uint c = 0; c < tile; c += HX_LOCAL0) HX_WRITE(packed + c, HX_BLOCK(, x + c));
    }
    return;
  }
  for (uint c = 0; c < tile; c += HX_LOCAL0) {
    global const float *from = x + min(c + lane, lines - 1) * major;
    global float *to = packed + c;
    uint p = 0;
    if (minor == 1) {
      for (; p + 4 <= steps; p += 4, to += 4 * tile) {
        const float4 v = vload4(0, from + p);
        HX_WRITE(to, v.s0);
        HX_WRITE(to + tile, v.s1);
        HX_WRITE(to + 2 * tile, v.s2);
        HX_WRITE(to + 3 * tile, v.s3);
      }
    }
    for (; p < steps; p++, to += tile) HX_WRITE(to, from[p * minor]);
  }
}

#endif

#if HX_SHAPE_PACKED || HX_SHAPE_SUBGROUP || HX_SHAPE_UNIFORM

HX_PACKER void hx_pack_a(global const float *a, ulong a_first, ulong a_rs, ulong a_cs, ulong m, ulong k,
                         global float *pa, ulong a_step) {
  const ulong product = get_group_id(2);
  hx_pack(a + a_first + product * a_step, a_rs, a_cs, m, k, pa + product * HX_WHOLE(m, HX_TILE_M) * k, HX_TILE_M);
}

HX_PACKER void hx_pack_b(global const float *b, ulong b_first, ulong b_rs, ulong b_cs, ulong k, ulong n,
                         global float *pb, ulong b_step) {
  const ulong product = get_group_id(2);
  hx_pack(b + b_first + product * b_step, b_cs, b_rs, n, k, pb + product * HX_WHOLE(n, HX_TILE_N) * k, HX_TILE_N);
}

#endif
