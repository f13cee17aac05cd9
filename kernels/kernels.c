/* SPDX-License-Identifier: Apache-2.0
 * The table of device kernels and the options that specialise a source for a row of it. */
#include "kernels/kernels.h"

#include <stdio.h>

/* Made from the .cl files by embed.sh. */
extern const char hx__cl_common[], hx__cl_exchange[], hx__cl_reduce_scan[], hx__cl_reduce_join[], hx__cl_reduce[],
    hx__cl_reduce_last_group[], hx__cl_reduce_subgroup[], hx__cl_reduce_ticket[], hx__cl_reduce_lines[],
    hx__cl_reduce_field[], hx__cl_reduce_field_end[], hx__cl_reduce_fields[], hx__cl_matmul_copies[], hx__cl_matmul[],
    hx__cl_matmul_uniform[], hx__cl_matmul_packed[], hx__cl_matmul_stage[], hx__cl_matmul_stage_copy[],
    hx__cl_matmul_place[], hx__cl_matmul_tiles[], hx__cl_matmul_small_stage[], hx__cl_matmul_small[],
    hx__cl_matmul_batch[], hx__cl_matmul_few[], hx__cl_matmul_few_lines[], hx__cl_matmul_few_turns[],
    hx__cl_matmul_copy[], hx__cl_matmul_store[], hx__cl_probe[], hx__cl_completion[], hx__cl_map[], hx__cl_map_reduce[];

/* The .cl files know these by number. */
_Static_assert(HX_SUM == 1 && HX_MIN == 2 && HX_MAX == 3 && HX_ARGMIN == 4 && HX_ARGMAX == 5 && HX_DOT == 6 &&
                   HX_SUM_ABS == 7 && HX_SUM_SQUARES == 8 && HX_PROD == 9,
               "reduce_scan.cl");
_Static_assert(HX_F32 == 1 && HX_I32 == 2 && HX_U32 == 3 && HX__LEAF == 4096 && HX__LANES == 128, "reduce_scan.cl");
_Static_assert(HX__ARITHMETIC_PLAIN == 0 && HX__ARITHMETIC_FMA_ADD == 1 && HX__ARITHMETIC_SOFT_FMA == 2, "common.cl");
_Static_assert(HX__PANEL == 512, "common.cl");
_Static_assert(HX__CHECKED_SLOTS == 3 && HX__JOINED_SLOTS == 5 && HX__JOINED_GROUPS == 4 * 256 * 32,
               "reduce_last_group.cl");

enum { ALL_TYPES = 1u << HX_F32 | 1u << HX_I32 | 1u << HX_U32 };

/* Within a kind the most specific row comes first, because a device uses the first row that it matches. README.md
 * explains the names. */
static const hx__kernel_row rows[] = {
#include "kernels/table/reduce_rows.inc"

#include "kernels/table/fields_rows.inc"

#include "kernels/table/lines_rows.inc"

#include "kernels/table/matmul_cpu_rows.inc"
#include "kernels/table/matmul_intel_rows.inc"
#include "kernels/table/matmul_nvidia_rows.inc"
#include "kernels/table/matmul_gpu_rows.inc"

    {.name = "probe", .kind = HX__KERNEL_PROBE, .local = {1, 1}, .defines = ""},
};

/* Whether a row with any_tile accepts this tile. Each work-item must have a power of two of rows and of columns, few
 * enough for its registers, and an equal share of the loads. The step of k must divide the panel, and the tiles must
 * fit into 32 KiB of local memory, the least that a device may have. */
static bool accepts_tile(const hx__kernel_row *row, const uint32_t tile[3]) {
  enum { ITEM_MAX = 64, TILE_MAX = 256, LOCAL_BYTES = 32768, PAD = 4 };
  const uint32_t m = tile[0], n = tile[1], k = tile[2], items = row->local[0] * row->local[1];
  if (m == 0 || n == 0 || k == 0 || m > TILE_MAX || n > TILE_MAX || k > HX__PANEL || HX__PANEL % k != 0) return false;
  if (m % row->local[1] != 0 || n % row->local[0] != 0) return false;
  const uint32_t item_m = m / row->local[1], item_n = n / row->local[0];
  if ((item_m & (item_m - 1)) != 0 || (item_n & (item_n - 1)) != 0 || item_m * item_n > ITEM_MAX) return false;
  if (m * k % items != 0 || n * k % items != 0) return false;
  if (items % k != 0 || items % m != 0 || items % n != 0) return false;
  return ((size_t)(m + PAD) + n) * k * sizeof(float) <= LOCAL_BYTES;
}

static bool tile_set(const uint32_t tile[3]) { return tile[0] != 0 || tile[1] != 0 || tile[2] != 0; }

static bool tile_matches(const hx__kernel_row *row, const uint32_t tile[3]) {
  if (row->kind != HX__KERNEL_MATMUL || !tile_set(tile)) return true;
  if (hx__kernel_of_set(row) &&
      (row->rate[HX__LAYOUT_NN] == 0 || row->slices > 1 || row->vec4 || row->shape >= HX__SHAPE_BATCH))
    return false; /* not every product can be computed with it */
  if (row->tile_m == tile[0] && row->tile_n == tile[1] && row->tile_k == tile[2]) return true;
  return row->any_tile && accepts_tile(row, tile);
}

const hx__kernel_row *hx__kernel_row_for(hx__kernel_kind kind, hx_type type, uint32_t families, const uint32_t tile[3],
                                         size_t max_local) {
  return hx__kernel_row_after(NULL, kind, type, families, tile, max_local);
}

const hx__kernel_row *hx__kernel_row_after(const hx__kernel_row *row, hx__kernel_kind kind, hx_type type,
                                           uint32_t families, const uint32_t tile[3], size_t max_local) {
  for (row = row ? row + 1 : rows; row < rows + sizeof rows / sizeof rows[0]; row++) {
    if (row->kind != kind || (row->family & families) != row->family) continue;
    if ((kind == HX__KERNEL_REDUCE || kind == HX__KERNEL_LINES) && (row->types & 1u << type) == 0) continue;
    if ((size_t)row->local[0] * row->local[1] > max_local || !tile_matches(row, tile)) continue;
    return row;
  }
  return NULL;
}

const hx__kernel_row *hx__kernel_rows(size_t *count) {
  *count = sizeof rows / sizeof rows[0];
  return rows;
}

/* The -D options that only rows of a set have. */
static int set_options(char *text, size_t bytes, const hx__kernel_row *row) {
  static const char *const shapes[] = {[HX__SHAPE_ALONE] = "",
                                       [HX__SHAPE_TILES] = "-DHX_SHAPE_TILES=1",
                                       [HX__SHAPE_SMALL] = "-DHX_SHAPE_TILES=1 -DHX_SMALL=1",
                                       [HX__SHAPE_BATCH] = "-DHX_SHAPE_TILES=1 -DHX_BATCH=1",
                                       [HX__SHAPE_FEW_ROWS] = "-DHX_SHAPE_TILES=1 -DHX_FEW_ROWS=1"};
  const char *const shape = shapes[row->shape];
  const uint32_t m = row->item_m, n = row->item_n;
  switch (row->shape) {
    case HX__SHAPE_TILES:
      return snprintf(text, bytes,
                      " %s -DHX_PTX=1 -DHX_STAGES=%u -DHX_SLICES=%u -DHX_BLOCKS_M=%u -DHX_BLOCKS_N=%u -DHX_WIDTH=%u%s",
                      shape, row->stages, row->slices, m / 4, n / 4, row->width, row->vec4 ? " -DHX_VEC4=1" : "");
    case HX__SHAPE_SMALL:
    case HX__SHAPE_BATCH:
      return snprintf(text, bytes, " %s -DHX_PTX=1 -DHX_STAGES=%u -DHX_ITEM_M=%u -DHX_ITEM_N=%u", shape, row->stages, m,
                      n);
    case HX__SHAPE_FEW_ROWS:
      return snprintf(text, bytes, " %s -DHX_PTX=1 -DHX_STAGES=%u", shape, row->stages);
    default:
      return 0;
  }
}

bool hx__kernel_options(char *text, size_t bytes, const hx__kernel_row *row, hx_op op, hx_type type,
                        const uint32_t tile[3], hx__arithmetic arithmetic) {
  const bool other_tile = row->any_tile && tile_set(tile);
  const uint32_t m = other_tile ? tile[0] : row->tile_m, n = other_tile ? tile[1] : row->tile_n;
  const uint32_t k = other_tile ? tile[2] : row->tile_k;
  char set[192] = "";
  const int used = set_options(set, sizeof set, row);
  int length = snprintf(text, bytes, "-DHX_ARITHMETIC=%d -DHX_LOCAL0=%u -DHX_LOCAL1=%u", (int)arithmetic, row->local[0],
                        row->local[1]);
  if (length < 0 || (size_t)length >= bytes || used < 0 || (size_t)used >= sizeof set) return false;
  text += length, bytes -= (size_t)length;
  switch (row->kind) {
    case HX__KERNEL_REDUCE:
    case HX__KERNEL_LINES:
      length = snprintf(text, bytes, " -DHX_OP=%d -DHX_TYPE=%d -DHX_LEAVES=%u %s%s", (int)op, (int)type, row->leaves,
                        row->defines, row->kind == HX__KERNEL_LINES ? " -DHX_LINES=1" : "");
      break;
    case HX__KERNEL_FIELDS:
      length = snprintf(text, bytes, " -DHX_LEAVES=%u %s", row->leaves, row->defines);
      break;
    case HX__KERNEL_MATMUL:
      length = snprintf(text, bytes, " -DHX_TILE_M=%u -DHX_TILE_N=%u -DHX_TILE_K=%u -DHX_PACK=%u%s %s%s", m, n, k,
                        row->pack, set, row->defines, row->large_grf ? " -cl-intel-256-GRF-per-thread" : "");
      break;
    default:
      length = snprintf(text, bytes, " %s", row->defines);
  }
  return length >= 0 && (size_t)length < bytes;
}

bool hx__kernel_fields_options(char *text, size_t bytes, hx__kernel_fields fields) {
  unsigned f = 0;
  for (; hx__field_of(fields, f); f++) {
    const unsigned reduction = hx__field_reduction(fields, f), same = (hx__field_of(fields, f) & HX__SAME_ARRAY) != 0;
    const int length = snprintf(text, bytes, " -DHX_OP_%u=%d -DHX_TYPE_%u=%d -DHX_SAME_%u=%u", f,
                                (int)hx__reduction_op(reduction), f, (int)hx__reduction_type(reduction), f, same);
    if (length < 0 || (size_t)length >= bytes) return false;
    text += length, bytes -= (size_t)length;
  }
  const int length = snprintf(text, bytes, " -DHX_LAST_FIELD=%u", f - 1);
  return length >= 0 && (size_t)length < bytes;
}

size_t hx__kernel_groups(const hx__kernel_row *row, hx__kernel_fields fields, size_t leaves) {
  return (leaves + row->leaves - 1) / row->leaves * (row->by_array ? hx__kernel_arrays(fields) : 1);
}

uint32_t hx__kernel_leaves(const hx__kernel_row *row, size_t leaves) {
  if (leaves < row->small_below) return row->leaves / 2;
  return row->large_from != 0 && leaves >= row->large_from ? 2 * row->leaves : row->leaves;
}

const char *const *hx__kernel_sources(hx__kernel_kind kind) {
  static const char *const reduce[] = {hx__cl_common,          hx__cl_exchange,          hx__cl_reduce_scan,
                                       hx__cl_reduce_join,     hx__cl_reduce_last_group, hx__cl_reduce,
                                       hx__cl_reduce_subgroup, hx__cl_reduce_ticket,     NULL};
  static const char *const lines[] = {hx__cl_common, hx__cl_reduce_scan, hx__cl_reduce_lines, NULL};
#define FIELD hx__cl_reduce_field, hx__cl_reduce_scan, hx__cl_reduce_join, hx__cl_reduce_field_end
  static const char *const fields[] = {hx__cl_common, hx__cl_exchange,      FIELD, FIELD, FIELD,
                                       FIELD,         hx__cl_reduce_fields, NULL};
  _Static_assert(HX__MOST_FIELDS == 4, "one FIELD for each");
  static const char *const matmul[] = {hx__cl_common,
                                       hx__cl_matmul_copies,
                                       hx__cl_matmul,
                                       hx__cl_matmul_uniform,
                                       hx__cl_matmul_packed,
                                       hx__cl_matmul_stage,
                                       hx__cl_matmul_stage_copy,
                                       hx__cl_matmul_place,
                                       hx__cl_matmul_tiles,
                                       hx__cl_matmul_small_stage,
                                       hx__cl_matmul_small,
                                       hx__cl_matmul_batch,
                                       hx__cl_matmul_few,
                                       hx__cl_matmul_few_lines,
                                       hx__cl_matmul_few_turns,
                                       hx__cl_matmul_copy,
                                       hx__cl_matmul_store,
                                       NULL};
  static const char *const map[] = {hx__cl_common, hx__cl_map, NULL};
  static const char *const map_reduce[] = {
      hx__cl_common, hx__cl_reduce_scan, hx__cl_reduce_join, hx__cl_reduce_last_group, hx__cl_map, hx__cl_map_reduce,
      NULL};
  static const char *const completion[] = {hx__cl_completion, NULL};
  static const char *const probe[] = {hx__cl_common, hx__cl_probe, NULL};
  switch (kind) {
    case HX__KERNEL_REDUCE:
      return reduce;
    case HX__KERNEL_MAP:
      return map;
    case HX__KERNEL_MAP_REDUCE:
      return map_reduce;
    case HX__KERNEL_LINES:
      return lines;
    case HX__KERNEL_FIELDS:
      return fields;
    case HX__KERNEL_MATMUL:
      return matmul;
    case HX__KERNEL_COMPLETION:
      return completion;
    case HX__KERNEL_PROBE:
      break;
  }
  return probe;
}
