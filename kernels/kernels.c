/* SPDX-License-Identifier: Apache-2.0
 * The table of device kernels and the options that specialise a source for a row of it. */
#include "kernels/kernels.h"

#include <stdio.h>

/* Made from the .cl files by embed.sh. */
extern const char hx__cl_common[], hx__cl_exchange[], hx__cl_reduce[], hx__cl_reduce_subgroup[], hx__cl_reduce_ticket[],
    hx__cl_matmul[], hx__cl_matmul_packed[], hx__cl_matmul_stage[], hx__cl_matmul_stage_copy[], hx__cl_matmul_place[],
    hx__cl_matmul_tiles[], hx__cl_matmul_small_stage[], hx__cl_matmul_small[], hx__cl_matmul_cells[],
    hx__cl_matmul_few[], hx__cl_matmul_few_lines[], hx__cl_matmul_few_turns[], hx__cl_matmul_copy[],
    hx__cl_matmul_store[], hx__cl_probe[];

/* The .cl files know these by number. */
_Static_assert(HX_SUM == 1 && HX_MIN == 2 && HX_MAX == 3 && HX_ARGMIN == 4 && HX_ARGMAX == 5 && HX_DOT == 6 &&
                   HX_SUM_ABS == 7 && HX_SUM_SQUARES == 8 && HX_PROD == 9,
               "reduce.cl");
_Static_assert(HX_F32 == 1 && HX_I32 == 2 && HX_U32 == 3 && HX__LEAF == 4096 && HX__LANES == 128, "reduce.cl");
_Static_assert(HX__ARITHMETIC_PLAIN == 0 && HX__ARITHMETIC_FMA_ADD == 1 && HX__ARITHMETIC_SOFT_FMA == 2, "common.cl");
_Static_assert(HX__PANEL == 512, "common.cl");

enum { ALL_TYPES = 1u << HX_F32 | 1u << HX_I32 | 1u << HX_U32 };

/* name, families, work-group, leaves, defines */
#define REDUCE(n, f, l0, v, d) \
  { .name = n, .kind = HX__KERNEL_REDUCE, .family = f, .types = ALL_TYPES, .local = {l0, 1}, .leaves = v, .defines = d }
/* name, families, work-group, leaves, leaves of a small and a large launch, defines */
#define TICKET(n, f, l0, v, below, from, d)                                                               \
  {                                                                                                       \
    .name = n, .kind = HX__KERNEL_REDUCE, .family = f, .types = ALL_TYPES, .local = {l0, 1}, .leaves = v, \
    .small_below = below, .large_from = from, .optional = true,                                           \
    .defines = "-DHX_SHAPE_TICKET=1 -DHX_IN_FLIGHT=16 -DHX_ALIGNED_LOADS=1 -DHX_ROLLED=1 " d              \
  }
/* name, families, work-group, tile, k-steps that a group packs, takes any tile, defines */
#define MATMUL(n, f, l0, l1, tm, tn, tk, p, any, d)                                                                 \
  {                                                                                                                 \
    .name = n, .kind = HX__KERNEL_MATMUL, .family = f, .local = {l0, l1}, .tile_m = tm, .tile_n = tn, .tile_k = tk, \
    .pack = p, .any_tile = any, .defines = d                                                                        \
  }
/* name, work-group, slices of it, tile, stages, blocks of four rows and of four columns an item, floats a copy of what
 * lies [k][...] takes, rates and chains by layout, defines: of a set of NVIDIA's */
#define TILES(n, l0, sl, tm, tn, tk, st, bm, bn, w, nn, t_n, nt, c_nn, c_tn, c_nt, d)                                \
  {                                                                                                                  \
    .name = n, .kind = HX__KERNEL_MATMUL, .family = HX__FAMILY_NVIDIA, .local = {l0, 1}, .tile_m = tm, .tile_n = tn, \
    .tile_k = tk, .slices = sl, .stages = st, .width = w, .rate = {nn, t_n, nt}, .chain = {c_nn, c_tn, c_nt},        \
    .chains = (sl) == 1 && (l0) < 512, .optional = true,                                                             \
    .defines = "-DHX_SHAPE_TILES=1 -DHX_PTX=1 -DHX_SLICES=" #sl " -DHX_STAGES=" #st " -DHX_BLOCKS_M=" #bm            \
               " -DHX_BLOCKS_N=" #bn " -DHX_WIDTH=" #w " " d                                                         \
  }
/* name, tile, stages, blocks of rows and of columns an item, steps from the copies of A to those of B, rates and chains
 * where B lies [k][column] and [column][k]: of that set, what lies [line][k] by fours */
#define FOURS(n, tm, tn, tk, st, bm, bn, spread, nn, nt, c_nn, c_nt)                                                   \
  {                                                                                                                    \
    .name = n, .kind = HX__KERNEL_MATMUL, .family = HX__FAMILY_NVIDIA, .local = {128, 1}, .tile_m = tm, .tile_n = tn,  \
    .tile_k = tk, .slices = 1, .stages = st, .width = 4, .rate = {nn, 0, nt}, .chain = {c_nn, 0, c_nt}, .fours = true, \
    .chains = true, .optional = true,                                                                                  \
    .defines = "-DHX_SHAPE_TILES=1 -DHX_PTX=1 -DHX_STAGES=" #st " -DHX_BLOCKS_M=" #bm " -DHX_BLOCKS_N=" #bn            \
               " -DHX_WIDTH=4 -DHX_FOURS=1 -DHX_DIRECT=1 -DHX_SPREAD=" #spread                                         \
  }
/* name, work-group, tile, blocks of rows an item, rows of one and columns of an item, items of a warp above one
 * another, steps read ahead, rate, chain: of that set, with operands in place */
#define SMALL(n, l0, tm, tn, tk, blocks, im, in, lanes, ahead, nn, c_nn)                                             \
  {                                                                                                                  \
    .name = n, .kind = HX__KERNEL_MATMUL, .family = HX__FAMILY_NVIDIA, .local = {l0, 1}, .tile_m = tm, .tile_n = tn, \
    .tile_k = tk, .slices = 1, .stages = 3, .width = 4, .rate = {nn, 0, 0}, .chain = {c_nn, 0, 0}, .in_place = true, \
    .optional = true,                                                                                                \
    .defines = "-DHX_SHAPE_TILES=1 -DHX_SMALL=1 -DHX_PTX=1 -DHX_STAGES=3 -DHX_BLOCKS_M=" #blocks " -DHX_ITEM_M=" #im \
               " -DHX_ITEM_N=" #in " -DHX_LANES_M=" #lanes " -DHX_AHEAD=" #ahead                                     \
  }
/* name, work-group, tile, stages, blocks of four rows and of four columns an item, rates and chains where B lies
 * [k][column] and [column][k]: of that set, for tens of rows or columns */
#define SKINNY(n, l0, tm, tn, st, bm, bn, nn, nt, c_nn, c_nt)                                                        \
  {                                                                                                                  \
    .name = n, .kind = HX__KERNEL_MATMUL, .family = HX__FAMILY_NVIDIA, .local = {l0, 1}, .tile_m = tm, .tile_n = tn, \
    .tile_k = 32, .slices = 1, .stages = st, .width = 4, .rate = {nn, 0, nt}, .chain = {c_nn, 0, c_nt},              \
    .in_place = true, .skinny = true, .optional = true,                                                              \
    .defines = "-DHX_SHAPE_TILES=1 -DHX_SMALL=1 -DHX_PTX=1 -DHX_STAGES=" #st " -DHX_BLOCKS_M=" #bm                   \
               " -DHX_BLOCKS_N=" #bn " -DHX_LANES_M=4 -DHX_AHEAD=4"                                                  \
  }
/* name, warps that copy, blocks of a tile's sides at most, rows and columns of it together: of that set, with operands
 * in place and the sides of a tile by launch (tiles.h) */
#define CELLS(n, copiers, sm, sn, most)                                                                                \
  {                                                                                                                    \
    .name = n, .kind = HX__KERNEL_MATMUL, .family = HX__FAMILY_NVIDIA, .local = {256 + 32 * (copiers), 1},             \
    .tile_m = 64, .tile_n = 128, .tile_k = 16, .slices = 1, .stages = 3, .width = 4, .rate = {100, 0, 0},              \
    .blocks = 128, .block = 8, .sides = {sm, sn}, .lines = most, .in_place = true, .optional = true,                   \
    .defines = "-DHX_SHAPE_TILES=1 -DHX_CELLS=1 -DHX_PTX=1 -DHX_STAGES=3 -DHX_BLOCKS_M=2 -DHX_CELLS_COPIERS=" #copiers \
               " -DHX_CELLS_MOST_M=8*" #sm " -DHX_CELLS_MOST_N=8*" #sn " -DHX_CELLS_LINES=" #most                      \
  }
/* name, work-group, tile, stages, rates by layout: of that set, for few rows of C */
#define FEW(n, l0, tm, tn, tk, st, nn, nt)                                                                           \
  {                                                                                                                  \
    .name = n, .kind = HX__KERNEL_MATMUL, .family = HX__FAMILY_NVIDIA, .local = {l0, 1}, .tile_m = tm, .tile_n = tn, \
    .tile_k = tk, .slices = 1, .stages = st, .width = 1, .rate = {nn, 0, nt}, .in_place = true, .few = true,         \
    .optional = true, .defines = "-DHX_SHAPE_TILES=1 -DHX_FEW=1 -DHX_PTX=1 -DHX_STAGES=" #st                         \
  }
/* name, families, rows of the tile, registers of a thread where not the driver's choice */
#define LANES16(n, f, tm, more, d)                                                                             \
  {                                                                                                            \
    .name = n, .kind = HX__KERNEL_MATMUL, .family = HX__FAMILY_SUBGROUP16 | f, .local = {16, 1}, .tile_m = tm, \
    .tile_n = 32, .tile_k = 16, .pack = 256, .large_grf = more, .optional = more,                              \
    .defines = "-DHX_SHAPE_SUBGROUP=1 -DHX_LANES_N=2 " d                                                       \
  }
/* name, families, columns whose sums are in registers at once */
#define PACKED(n, f, columns)                                                                                       \
  {                                                                                                                 \
    .name = n, .kind = HX__KERNEL_MATMUL, .family = HX__FAMILY_CPU | f, .local = {1, 1}, .tile_m = 6, .tile_n = 64, \
    .tile_k = 1, .pack = HX__PANEL, .stacks = true, .defines = "-DHX_SHAPE_PACKED=1 -DHX_COLUMNS=" #columns         \
  }
#define AMD "-DHX_IN_FLIGHT=8 -DHX_ALIGNED_LOADS=1 -DHX_ROLLED=1 -DHX_CROSS_LANES=1"

/* Most specific first within a kind: the first row that matches a device is its row. Names: README.md. */
static const hx__kernel_row rows[] = {
    REDUCE("reduce-cpu", HX__FAMILY_CPU, 1, 8, "-DHX_SHAPE_ITEM=1"),
    TICKET("reduce-nvidia-ptx-256", HX__FAMILY_NVIDIA, 256, 8, 256, 8192, "-DHX_PTX=1"),
    TICKET("reduce-nvidia-ticket-256", HX__FAMILY_NVIDIA, 256, 8, 256, 4096, ""),
    REDUCE("reduce-nvidia-256", HX__FAMILY_NVIDIA, 256, 8, "-DHX_IN_FLIGHT=16 -DHX_ALIGNED_LOADS=1"),
    REDUCE("reduce-gcn-256", HX__FAMILY_AMD_GCN, 256, 8, AMD),
    REDUCE("reduce-rdna-256", HX__FAMILY_AMD_RDNA, 256, 8, AMD),
    REDUCE("reduce-sg16-128", HX__FAMILY_INTEL | HX__FAMILY_SUBGROUP16, 128, 8,
           "-DHX_SHAPE_SUBGROUP=1 -DHX_IN_FLIGHT=2"),
    REDUCE("reduce-any-256", 0, 256, 8, "-DHX_IN_FLIGHT=8"),
    REDUCE("reduce-any-32", 0, 32, 1, "-DHX_IN_FLIGHT=8"),

    PACKED("matmul-cpu16-6x64", HX__FAMILY_CPU16, 64), /* 24 of 32 registers */
    PACKED("matmul-cpu-6x64", 0, 16),                  /* 12 of 16, or what spills nowhere */
    LANES16("matmul-grf256-32x32x16", HX__FAMILY_LARGE_GRF, 32, true, "-DHX_LANES_M=2"),
    LANES16("matmul-wide-32x32x16", HX__FAMILY_WIDE, 32, false, "-DHX_LANES_M=2"),
    /* On a CPU 32 sums leave no register for the operands: 16 of 32 registers at once, 12 of 16. */
    LANES16("matmul-cpu16-sg16-16x32x16", HX__FAMILY_CPU | HX__FAMILY_CPU16, 16, false,
            "-DHX_LANES_M=1 -DHX_ROWS=8 -DHX_WIDTH=2 -DHX_STEPS=2"),
    LANES16("matmul-cpu-sg16-16x32x16", HX__FAMILY_CPU, 16, false,
            "-DHX_LANES_M=1 -DHX_ROWS=6 -DHX_WIDTH=1 -DHX_STEPS=1"),
    LANES16("matmul-sg16-16x32x16", 0, 16, false, "-DHX_LANES_M=1"),
    /* The first of the set is ready first: it builds fast and does every shape. */
    TILES("matmul-nvidia-ptx-128x64x8", 128, 1, 128, 64, 8, 4, 2, 2, 4, 86, 0, 0, 50800, 0, 0, "-DHX_DIRECT=1"),
    TILES("matmul-nvidia-ptx-64x128x8", 128, 1, 64, 128, 8, 2, 2, 2, 4, 97, 100, 0, 43900, 44000, 0, "-DHX_SPARE=32"),
    TILES("matmul-nvidia-ptx-128x256x16", 512, 1, 128, 256, 16, 2, 2, 2, 4, 100, 101, 0, 0, 0, 0, ""),
    TILES("matmul-nvidia-ptx-2x64x128x8", 256, 2, 64, 128, 8, 2, 2, 2, 4, 91, 96, 84, 25700, 44800, 34000,
          "-DHX_DIRECT=1"),
    TILES("matmul-nvidia-ptx-2x64x128x8-4", 256, 2, 64, 128, 8, 4, 2, 2, 4, 91, 95, 85, 42000, 43100, 42000,
          "-DHX_SPREAD=2"),
    TILES("matmul-nvidia-ptx-2x128x64x8-4", 256, 2, 128, 64, 8, 4, 2, 2, 4, 88, 0, 0, 50700, 0, 0, "-DHX_DIRECT=1"),
    TILES("matmul-nvidia-ptx-64x64x8", 128, 1, 64, 64, 8, 4, 1, 2, 4, 0, 89, 81, 0, 25000, 25600,
          "-DHX_DIRECT=1 -DHX_SPREAD=(2*HX_B_BY_COLUMN)"),
    FOURS("matmul-nvidia-ptx-64x64x16-fours", 64, 64, 16, 3, 1, 2, 5, 0, 81, 0, 24000),
    FOURS("matmul-nvidia-ptx-32x64x32-fours", 32, 64, 32, 3, 1, 1, 6, 78, 78, 11000, 11000),
    TILES("matmul-nvidia-ptx-32x64x16-4", 128, 1, 32, 64, 16, 4, 1, 1, 4, 0, 76, 63, 0, 10500, 15500,
          "-DHX_DIRECT=1 -DHX_SPREAD=4"),
    TILES("matmul-nvidia-ptx-32x128x16-4", 128, 1, 32, 128, 16, 4, 2, 1, 4, 88, 88, 0, 21000, 18500, 0,
          "-DHX_DIRECT=1 -DHX_SPREAD=6"),
    TILES("matmul-nvidia-ptx-48x128x16-4", 128, 1, 48, 128, 16, 4, 3, 1, 4, 90, 0, 0, 32000, 0, 0,
          "-DHX_DIRECT=1 -DHX_SPREAD=3"),
    TILES("matmul-nvidia-ptx-48x128x16", 128, 1, 48, 128, 16, 2, 3, 1, 4, 93, 96, 88, 36000, 30000, 43000,
          "-DHX_DIRECT=1 -DHX_SPREAD=4"),
    TILES("matmul-nvidia-ptx-96x64x8-4", 128, 1, 96, 64, 8, 4, 3, 1, 4, 0, 0, 87, 0, 0, 40000,
          "-DHX_DIRECT=1 -DHX_SPREAD=2"),
    TILES("matmul-nvidia-ptx-80x128x8", 128, 1, 80, 128, 8, 2, 5, 1, 4, 96, 96, 93, 54000, 54000, 51000,
          "-DHX_DIRECT=1 -DHX_SPREAD=1"),
    TILES("matmul-nvidia-ptx-96x128x8", 256, 1, 96, 128, 8, 2, 3, 1, 4, 94, 94, 90, 45000, 7500, 39000,
          "-DHX_DIRECT=1"),
    /* For operands whose rows do not begin at multiples of 16 bytes. */
    TILES("matmul-nvidia-ptx-128x256x16-1", 512, 1, 128, 256, 16, 2, 2, 2, 1, 98, 99, 0, 0, 0, 0,
          "-DHX_SPREAD=(2*!HX_A_BY_K) -DHX_AT_ONCE=(8<<HX_A_BY_K)"),
    TILES("matmul-nvidia-ptx-2x64x128x8-4-1", 256, 2, 64, 128, 8, 4, 2, 2, 1, 91, 92, 0, 41900, 43000, 0,
          "-DHX_DIRECT=1 -DHX_SPREAD=1"),
    TILES("matmul-nvidia-ptx-64x128x8-1", 128, 1, 64, 128, 8, 2, 2, 2, 1, 95, 96, 0, 47500, 43000, 0, "-DHX_SPARE=32"),
    TILES("matmul-nvidia-ptx-32x64x16-4-1", 128, 1, 32, 64, 16, 4, 1, 1, 1, 68, 72, 0, 14800, 14400, 0,
          "-DHX_DIRECT=1 -DHX_SPREAD=2 -DHX_AHEAD=2"),
    TILES("matmul-nvidia-ptx-32x128x16-4-1", 128, 1, 32, 128, 16, 4, 2, 1, 1, 83, 84, 0, 24500, 24000, 0,
          "-DHX_DIRECT=1 -DHX_SPREAD=4"),
    TILES("matmul-nvidia-ptx-48x128x16-4-1", 128, 1, 48, 128, 16, 4, 3, 1, 1, 88, 0, 0, 37600, 0, 0,
          "-DHX_DIRECT=1 -DHX_SPREAD=6"),
    TILES("matmul-nvidia-ptx-80x128x8-1", 128, 1, 80, 128, 8, 2, 5, 1, 1, 91, 0, 0, 61000, 0, 0,
          "-DHX_DIRECT=1 -DHX_SPREAD=1"),
    TILES("matmul-nvidia-ptx-96x128x8-1", 256, 1, 96, 128, 8, 2, 3, 1, 1, 93, 92, 0, 50000, 40500, 0, "-DHX_DIRECT=1"),
    SMALL("matmul-nvidia-ptx-small-32x32x32", 64, 32, 32, 32, 1, 4, 4, 4, 4, 53, 18200),
    SMALL("matmul-nvidia-ptx-small-32x32x64", 64, 32, 32, 64, 1, 4, 4, 4, 4, 53, 16000),
    SMALL("matmul-nvidia-ptx-small-8x128x32", 64, 8, 128, 32, 1, 4, 4, 2, 4, 29, 9900),
    /* For so few groups that a chain over a panel is what takes the time: small items. */
    SMALL("matmul-nvidia-ptx-small-4x2-32x32x64", 128, 32, 32, 64, 1, 4, 2, 4, 4, 46, 7700),
    SMALL("matmul-nvidia-ptx-small-2x2-16x32x64", 128, 16, 32, 64, 1, 2, 2, 4, 4, 33, 7100),
    SMALL("matmul-nvidia-ptx-small-2x2-16x16x64", 64, 16, 16, 64, 1, 2, 2, 4, 8, 27, 6800),
    /* Long k: tiles whose sides the launch chooses. */
    CELLS("matmul-nvidia-ptx-cells-208x128x16", 4, 26, 16, 240),
    /* Few rows or columns. */
    FEW("matmul-nvidia-ptx-few-1x32x64", 256, 1, 32, 64, 2, 100, 0),
    FEW("matmul-nvidia-ptx-few-1x32x64-lines", 128, 1, 32, 64, 5, 0, 100),
    FEW("matmul-nvidia-ptx-few-2x32x64", 256, 2, 32, 64, 2, 100, 0),
    FEW("matmul-nvidia-ptx-few-4x32x64", 256, 4, 32, 64, 2, 100, 0),
    FEW("matmul-nvidia-ptx-few-4x32x64-lines", 128, 4, 32, 64, 4, 0, 100),
    FEW("matmul-nvidia-ptx-few-8x32x32-lines", 128, 8, 32, 32, 8, 0, 100),
    /* Some tens of rows or columns. */
    SKINNY("matmul-nvidia-ptx-skinny-32x64x32", 64, 32, 64, 3, 1, 2, 68, 62, 36000, 38000),
    SKINNY("matmul-nvidia-ptx-skinny-4x4-32x64x32", 128, 32, 64, 2, 1, 1, 0, 54, 0, 24000),
    SKINNY("matmul-nvidia-ptx-skinny-16x64x32", 64, 16, 64, 3, 1, 1, 52, 41, 19000, 15000),
    MATMUL("matmul-nvidia-128x128x16", HX__FAMILY_NVIDIA, 16, 16, 128, 128, 16, 0, false, ""),
    MATMUL("matmul-gcn-64x64x8", HX__FAMILY_AMD_GCN, 16, 8, 64, 64, 8, 0, false, ""),
    MATMUL("matmul-gcn-64x64x16", HX__FAMILY_AMD_GCN, 16, 16, 64, 64, 16, 0, false, ""),
    MATMUL("matmul-rdna-64x64x8", HX__FAMILY_AMD_RDNA, 16, 8, 64, 64, 8, 0, false, ""),
    MATMUL("matmul-rdna-64x64x16", HX__FAMILY_AMD_RDNA, 16, 16, 64, 64, 16, 0, false, ""),
    MATMUL("matmul-wide-64x64x16", HX__FAMILY_WIDE, 16, 16, 64, 64, 16, 0, true, "-DHX_SUB_GROUP=16"),
    MATMUL("matmul-any-64x64x16", 0, 16, 16, 64, 64, 16, 0, true, ""),
    MATMUL("matmul-any-32x32x16", 0, 8, 8, 32, 32, 16, 0, true, ""),

    {.name = "probe", .kind = HX__KERNEL_PROBE, .local = {1, 1}, .defines = ""},
};

/* Whether a row that takes any tile takes this one: a power of two of rows and of columns for every item and few enough
 * for its registers, a k-step that divides the panel, every item the same share of the loads, and the least local
 * memory that a device may have (32 KiB). */
static bool tile_ok(const hx__kernel_row *row, const uint32_t tile[3]) {
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
  const bool some = hx__kernel_of_set(row) && row->rate[HX__LAYOUT_NN] == 0; /* of the ways that operands lie */
  if (row->slices > 1 || row->lines != 0 || row->few || row->skinny || row->fours || some)
    return false; /* not every product's */
  if (row->tile_m == tile[0] && row->tile_n == tile[1] && row->tile_k == tile[2]) return true;
  return row->any_tile && tile_ok(row, tile);
}

const hx__kernel_row *hx__kernel_row_for(hx__kernel_kind kind, hx_type type, uint32_t families, const uint32_t tile[3],
                                         size_t max_local) {
  return hx__kernel_row_after(NULL, kind, type, families, tile, max_local);
}

const hx__kernel_row *hx__kernel_row_after(const hx__kernel_row *row, hx__kernel_kind kind, hx_type type,
                                           uint32_t families, const uint32_t tile[3], size_t max_local) {
  for (row = row ? row + 1 : rows; row < rows + sizeof rows / sizeof rows[0]; row++) {
    if (row->kind != kind || (row->family & families) != row->family) continue;
    if (kind == HX__KERNEL_REDUCE && (row->types & 1u << type) == 0) continue;
    if ((size_t)row->local[0] * row->local[1] > max_local || !tile_matches(row, tile)) continue;
    return row;
  }
  return NULL;
}

const hx__kernel_row *hx__kernel_rows(size_t *count) {
  *count = sizeof rows / sizeof rows[0];
  return rows;
}

bool hx__kernel_options(char *text, size_t bytes, const hx__kernel_row *row, hx_op op, hx_type type,
                        const uint32_t tile[3], hx__arithmetic arithmetic) {
  const bool other_tile = row->any_tile && tile_set(tile);
  const uint32_t m = other_tile ? tile[0] : row->tile_m, n = other_tile ? tile[1] : row->tile_n;
  const uint32_t k = other_tile ? tile[2] : row->tile_k;
  int length = snprintf(text, bytes, "-DHX_ARITHMETIC=%d -DHX_LOCAL0=%u -DHX_LOCAL1=%u", (int)arithmetic, row->local[0],
                        row->local[1]);
  if (length < 0 || (size_t)length >= bytes) return false;
  text += length, bytes -= (size_t)length;
  switch (row->kind) {
    case HX__KERNEL_REDUCE:
      length = snprintf(text, bytes, " -DHX_OP=%d -DHX_TYPE=%d -DHX_LEAVES=%u %s", (int)op, (int)type, row->leaves,
                        row->defines);
      break;
    case HX__KERNEL_MATMUL:
      length = snprintf(text, bytes, " -DHX_TILE_M=%u -DHX_TILE_N=%u -DHX_TILE_K=%u -DHX_PACK=%u %s%s", m, n, k,
                        row->pack, row->defines, row->large_grf ? " -cl-intel-256-GRF-per-thread" : "");
      break;
    default:
      length = snprintf(text, bytes, " %s", row->defines);
  }
  return length >= 0 && (size_t)length < bytes;
}

uint32_t hx__kernel_leaves(const hx__kernel_row *row, size_t leaves) {
  if (leaves < row->small_below) return row->leaves / 2;
  return row->large_from != 0 && leaves >= row->large_from ? 2 * row->leaves : row->leaves;
}

const char *const *hx__kernel_sources(hx__kernel_kind kind) {
  static const char *const reduce[] = {hx__cl_common,          hx__cl_exchange,      hx__cl_reduce,
                                       hx__cl_reduce_subgroup, hx__cl_reduce_ticket, NULL};
  static const char *const matmul[] = {hx__cl_common,
                                       hx__cl_matmul,
                                       hx__cl_matmul_packed,
                                       hx__cl_matmul_stage,
                                       hx__cl_matmul_stage_copy,
                                       hx__cl_matmul_place,
                                       hx__cl_matmul_tiles,
                                       hx__cl_matmul_small_stage,
                                       hx__cl_matmul_small,
                                       hx__cl_matmul_cells,
                                       hx__cl_matmul_few,
                                       hx__cl_matmul_few_lines,
                                       hx__cl_matmul_few_turns,
                                       hx__cl_matmul_copy,
                                       hx__cl_matmul_store,
                                       NULL};
  static const char *const probe[] = {hx__cl_common, hx__cl_probe, NULL};
  return kind == HX__KERNEL_REDUCE ? reduce : kind == HX__KERNEL_MATMUL ? matmul : probe;
}
