/* SPDX-License-Identifier: Apache-2.0
 * Device kernels as data: the embedded OpenCL C sources, and the table of rows that specialise them. A row says which
 * devices may run it, which -D options make it, and its launch geometry; the host code that launches is
 * backend/opencl. A device's row is the first row of the table that it matches, so special rows come before general
 * ones. The rows are in the folder table.
 *
 * In all signatures below offsets, counts and strides are in elements, as ulong, so that no sub-buffer is needed; the
 * global work offset is 0. "Panel" means HX__PANEL steps of k (docs/ARITHMETIC.md).
 *
 * ---- Reductions: the slot (base/slot.h) of every leaf of x[x_first .. x_first + n); y is x again unless the op is DOT
 *
 *   hx_reduce(global const T *x, ulong x_first, global const T *y, ulong y_first, ulong n, global ulong *slots)
 *     Launch: 1-D, local row.local[0], ceil(leaves / row.leaves) groups. A group past the last leaf does nothing.
 *
 *   row.joins: three arguments more, uint join, global uint *ticket, ulong host
 *     join != 0: slots[0] becomes the slot of all leaves joined; leaf 0 has to begin an aligned power of two of leaves
 *     that holds them all. An index in it counts from leaf 0. slots[1], [2] and [3] become the slots of the first leaf,
 *     of leaf number leaves / 2 and of the last one, and slots[4] becomes join, so that a number for each launch shows
 *     whether it ended. slots has HX__JOINED_SLOTS + groups elements; there are at most HX__JOINED_GROUPS groups.
 *     host != 0: an address of the host, at which those five slots are stored, too. The words of slot s are at 2 s and
 *     2 s + 1, each in the lower half of 64 bits, with join in the upper half.
 *     *ticket is 0 before the launch and after it.
 *   row.large_from > 0: groups have 32 items for each of hx__kernel_leaves() leaves.
 *
 * ---- Several reductions: slots[(first + f) * apart + l] is the slot of leaf l of field f, for every leaf
 *
 *   hx_reduce_fields(for each field: global const uint *x, ulong x_first, global const uint *y, ulong y_first,
 *             ulong n, global ulong *slots, ulong first, ulong apart)
 *     y is x again unless the field's op is DOT.
 *     Launch: 1-D, local row.local[0], ceil(leaves / row.leaves) groups; row.by_array: for each of hx__kernel_arrays().
 *
 * ---- Reductions of lines: the slot of leaves of lines (runtime/task/task.h, hx__lines, has their order)
 *
 *   hx_reduce_lines(global const T *x, ulong x_first, ulong x_line, ulong x_stride,
 *             global const T *y, ulong y_first, ulong y_line, ulong y_stride,
 *             ulong n, ulong leaves, ulong lines, ulong first, ulong count, global ulong *slots, ulong to)
 *     Element i of line l is x[x_first + l*x_line + i*x_stride], computed modulo 2^64; y is x again, with the same
 *     strides, unless the op is DOT. slots[to + s] is slot first + s, for s < count. lines: 0 if slots are counted line
 *     by line, else the number of lines.
 *     Launch: 1-D, local row.local[0]; ceil(count / row.leaves) groups, but if a stride is not 1 and row.local[0] > 1,
 *     ceil(count / row.local[0]).
 *
 * ---- Products from operands in place: t(i,j) = alpha * S(i,j), i < m, j < n, at t[i*ldt + j]  (row.pack == 0)
 *
 *   hx_matmul(global const float *a, ulong a_first, ulong a_rs, ulong a_cs,
 *             global const float *b, ulong b_first, ulong b_rs, ulong b_cs,
 *             ulong m, ulong n, ulong k, float alpha, global float *t, ulong ldt, uint part,
 *             ulong a_step, ulong b_step, ulong t_step)
 *     op(A)(i,p) = a[a_first + i*a_rs + p*a_cs], op(B) likewise; one stride of each is 1; k > 0. ldt is a multiple of
 *     16; columns n..ldt of t may have any values.
 *     part: bit 0, t has the sum of earlier panels of k, to which these are added; bit 1, more panels follow, so that
 *     alpha is not applied yet. 0 if one launch does all of k.
 *     Group z along the third dimension computes product z of a batch, whose operands begin z*a_step and z*b_step after
 *     those of the first product, and its t z*t_step after the first t.
 *     Launch: 3-D, local (row.local[0], row.local[1], 1), ceil(n / tile_n) groups along x, ceil(m / tile_m) along y.
 *
 * ---- Products from packed operands: the same t  (row.pack > 0)
 *
 *   hx_pack_a(global const float *a, ulong a_first, ulong a_rs, ulong a_cs, ulong m, ulong k, global float *pa,
 *             ulong a_step)
 *     pa[(i/tile_m * k + p) * tile_m + i%tile_m] = op(A)(i,p); rows past m hold what no result uses.
 *     Launch: 3-D, local (row.local[0], 1, 1), (ceil(m / tile_m), ceil(k / row.pack)) groups for each product of a
 *     batch. The packed matrices of a batch follow one another.
 *   hx_pack_b(global const float *b, ulong b_first, ulong b_rs, ulong b_cs, ulong k, ulong n, global float *pb,
 *             ulong b_step)
 *     pb[(j/tile_n * k + p) * tile_n + j%tile_n] = op(B)(p,j); columns past n likewise.
 *     row.stacks: both are in the order in which groups read them: row.pack steps of k of all rows or columns, then the
 *     next steps of k.
 *     Launch: as hx_pack_a, (ceil(n / tile_n), ceil(k / row.pack)) groups.
 *   hx_matmul(global const float *pa, global const float *pb, ulong m, ulong n, ulong k, float alpha,
 *             global float *t, ulong ldt, uint part, ulong t_step)
 *     pa is `constant` in HX_SHAPE_UNIFORM, whatever its size.
 *     Launch: as above. row.stacks: a group does 1 + (part >> 2) tiles, one below another, and there are as many fewer
 *     groups along y. pa and pb are aligned to 64 bytes at least.
 *
 * ---- Products by a set of rows: t(i,j) = alpha * S(i,j) + beta * t(i,j)  (row.shape != HX__SHAPE_ALONE)
 *
 *   Each launch chooses a row and a layout (gemm_plan.h); every such pair is a program. beta == 0: t is not read.
 *
 *   hx_matmul(global const float *a, ulong a_first, ulong lda,
 *             global const float *b, ulong b_first, ulong ldb, ulong m, ulong n, ulong k,
 *             float alpha, float beta, global float *t, ulong ldt, uint transposed, uint full_tiles,
 *             global float *partials, [uint layout,] uint join, global uint *tickets,
 *             [ulong a_step, ulong b_step, ulong t_step])
 *     t(i,j) is at t[i*ldt + j], or with `transposed` at t[j*ldt + i].
 *     Tiles are counted along the rows of C. Tiles before full_tiles are computed by a group each, over all of k; the
 *     panels of the others are spread over groups, row.slices panels for each, and their sums go to partials.
 *     row.slices > 1: full tiles only if k has no more panels than that. join != 0, if row.chains: the launch adds
 *     those panels itself. tickets has a counter for each panel of those tiles; all are 0 before the launch and after
 *     it.
 *     HX__SHAPE_TILES: no `layout`. An operand laid out [k][line] has its lines at multiples of 16 bytes if row.width
 *     == 4, anywhere if it is 1; one laid out [line][k] at multiples of 16 bytes if row.vec4, else anywhere. A has at
 *     least tile_m rows, B at least tile_n columns, and a multiple of row.width of those laid out [k][line].
 *     HX__SHAPE_SMALL: operands in any layout (HX__A_BY_K and so on), at any address; tickets has one counter per tile.
 *     HX__SHAPE_TILES with row.slices == 1, and HX__SHAPE_SMALL: group y along the second dimension computes product y
 *     of a batch, as above. All of its tiles are full ones.
 *     HX__SHAPE_BATCH: k <= HX__PANEL, and full_tiles counts the tiles of all products; a group computes
 *     local[0] / (tile_m / item_m * tile_n / item_n) of them. Operands in any layout; VEC4 says that what is read of
 *     them in either direction begins and ends at multiples of 16 bytes.
 *     HX__SHAPE_FEW_ROWS: no steps; otherwise the same, with m <= tile_m. B laid out [k][column]: group g computes the
 *     tiles g % full_tiles, that plus full_tiles, ... of C, and of k the panels g / full_tiles, that plus
 *     groups / full_tiles, ...; a tile has several groups only if each group has one tile. B laid out [column][k]:
 *     group g computes panel g % panels of tile g / panels.
 *     Launch: 1-D, or 2-D for a batch, local row.local[0].
 *
 *   Only the set's first program has these (the others are built with HX_BARE):
 *   hx_matmul_join(ulong m, ulong n, ulong k, float alpha, float beta, global float *t, ulong ldt, uint transposed,
 *             uint full_tiles, global const float *partials, uint tile_m, uint tile_n, uint align, uint vec4)
 *     Adds the panels in partials. Launch: 1-D, local 128, tile_m * tile_n items for each of those tiles; with vec4 a
 *     quarter of them.
 *   hx_matmul_copy(global const float *x, ulong x_first, ulong rs, ulong cs, ulong rows, ulong columns,
 *             global float *to, ulong pitch, ulong lines, ulong x_step)
 *     to[i*pitch + j] = x[x_first + i*rs + j*cs]; zero from there up to pitch and lines. Group y along the second
 *     dimension copies matrix y of a batch, from y*x_step on, to y*lines*pitch.
 *     Launch: 1-D, or 2-D for a batch, local 256, ceil(pitch / 64) groups for each 64 lines.
 *
 * ---- The store of a product whose C stays on the device (every product's program)
 *
 *   hx_matmul_store(global const float *t, ulong ldt, global float *c, ulong c_first, ulong ldc, ulong m, ulong n,
 *             float beta)
 *     c(i,j) = beta == 0 ? t(i,j) : fma(beta, c(i,j), t(i,j)), at c[c_first + i*ldc + j]. Launch: 2-D, any size.
 *
 * ---- User kernels: the bits of f(x0(i,j), x1(i,j), ...), i < rows, j < cols, at out[out_first + i*out_ld + j]
 *
 *   hx_map(global const T *x0, ulong x0_first, ulong x0_ld, ..., uint p0, ..., ulong cols, ulong rows,
 *             global uint *out, ulong out_first, ulong out_ld)
 *     For each input an array, its first element and its leading dimension; then the bits of each parameter.
 *     Launch: 2-D, at least rows items along y, and along x enough groups for cols / HX_MAP_EACH items.
 *   hx_map_reduce(global const T *x0, ulong x0_first, ..., uint p0, ..., ulong n, global ulong *slots)
 *     The slot of every leaf of n elements in one row. Launch, and further arguments: as for hx_reduce, of the row by
 *     which it was built; with HX_MAP_ROWS == 0, on GPUs, there may be a group for each leaf instead.
 *
 * ---- Probes of the device
 *
 *   hx_probe(global const float *a, global const float *b, global const float *c, global float *out)
 *     out[3*i] = a+b, out[3*i+1] = a*b, out[3*i+2] = fma(a,b,c) at i = get_global_id(0), by the macros that the other
 *     kernels use. Launch: 1-D, local row.local[0].
 *   hx_touch(global const uint *x, ulong first, global uint *out)
 *     out[0] = x[first]. Launch: one item.
 *
 * ---- The end of a chunk
 *
 *   hx_complete(global const uint *from, uint words, ulong address, uint number)
 *     Stores from[i] | number << 32 in the i-th of `words` words of 64 bits at an address of the host, which the device
 *     can access by that address. Launch: 1-D, one work-group. */
#ifndef HX_KERNELS_KERNELS_H
#define HX_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/slot.h"

typedef enum hx__kernel_kind {
  HX__KERNEL_REDUCE = 1,
  HX__KERNEL_MATMUL,
  HX__KERNEL_PROBE,
  HX__KERNEL_LINES,
  HX__KERNEL_FIELDS,
  /* These have no rows. Each user kernel is a program: its text follows the sources of MAP, and comes before the last
   * source of MAP_REDUCE, whose geometry is that of a row of REDUCE. */
  HX__KERNEL_MAP,
  HX__KERNEL_MAP_REDUCE,
  HX__KERNEL_COMPLETION
} hx__kernel_kind;

/* Families of devices, as bits. A device has one or more: an Intel GPU with sub-groups of 16 has INTEL | SUBGROUP16. */
enum {
  HX__FAMILY_CPU = 1u << 0,    /* The device's type has the CPU bit: one item does the work of many. */
  HX__FAMILY_CPU16 = 1u << 12, /* and its vector registers hold 16 floats */
  HX__FAMILY_INTEL = 1u << 1,  /* GPU types, by vendor */
  HX__FAMILY_NVIDIA = 1u << 2,
  HX__FAMILY_AMD_GCN = 1u << 3,   /* wavefront 64 */
  HX__FAMILY_AMD_RDNA = 1u << 4,  /* wavefront 32 */
  HX__FAMILY_SUBGROUP8 = 1u << 8, /* cl_intel_subgroups and cl_intel_required_subgroup_size with that size */
  HX__FAMILY_SUBGROUP16 = 1u << 9,
  HX__FAMILY_WIDE = 1u << 10,      /* Intel GPUs whose registers hold 64 bytes: sub-groups of 16 and none of 8 */
  HX__FAMILY_LARGE_GRF = 1u << 11, /* Intel GPUs whose threads may have 256 registers of 32 bytes: DG2, Meteor Lake */
  HX__FAMILY_RUSTICL = 1u << 13,   /* Mesa's compilers, which have no sub-groups of Intel's */
  HX__FAMILY_FOUR_STEPS = 1u << 14 /* Intel GPUs that hold operands of four steps of k: all but Apollo Lake */
};

/* How arithmetic is written for a device's compiler. The self-test tries them in this order. */
typedef enum hx__arithmetic {
  HX__ARITHMETIC_PLAIN,    /* +, * and fma() */
  HX__ARITHMETIC_FMA_ADD,  /* x+s written fma(x, 1, s), p*x written fma(p, x, -0): for compilers that re-associate */
  HX__ARITHMETIC_SOFT_FMA, /* fma() by 64-bit integers: for devices whose fma is wrong */
  HX__ARITHMETICS
} hx__arithmetic;

/* With HX__ARITHMETIC_SOFT_FMA one launch computes at most this much of k, a multiple of HX__PANEL. The driver that
 * needs it (llvmpipe) ends the loops of a work-item after 65535 iterations in all, unrolls little, and reports no
 * error.
 */
#define HX__SOFT_FMA_MAX_K 1024u

#define HX__JOINED_SLOTS 5u      /* the slots that the host reads of a launch that joins its leaves */
#define HX__JOINED_GROUPS 32768u /* the most work-groups of a launch that joins its leaves */

/* How the operands of a product by a set of rows are laid out in memory: a program each. */
typedef enum hx__layout {
  HX__LAYOUT_NN, /* A [row][k], B [k][column] */
  HX__LAYOUT_TN, /* A [k][row] */
  HX__LAYOUT_NT, /* B [column][k] */
  HX__LAYOUTS
} hx__layout;

/* The kernel of a row of a set, and so the products that it can compute. */
typedef enum hx__shape {
  HX__SHAPE_ALONE, /* not a row of a set */
  HX__SHAPE_TILES, /* matmul_tiles.cl: operands it cannot read in place are copied first */
  HX__SHAPE_SMALL, /* matmul_small.cl: small tiles, operands in place in any layout, by the one program of layout NN */
  HX__SHAPE_BATCH, /* matmul_batch.cl: operands in place; products of a batch, k of a panel at most */
  HX__SHAPE_FEW_ROWS /* matmul_few.cl: operands in place, tile_m rows of C at most */
} hx__shape;

typedef struct hx__kernel_row {
  const char *name; /* "reduce-cpu", "matmul-sg8-16x32x16": what info and the log say */
  hx__kernel_kind kind;
  uint32_t family;     /* a device needs all these bits; 0: any device */
  uint32_t local[2];   /* local size */
  bool optional;       /* uses what a driver may refuse: if its build or its bits fail, the next row is tried */
  const char *defines; /* -D options beyond those that hx__kernel_options makes of the other members */

  /* Reductions, of lines too: */
  uint32_t types;  /* bits (1 << hx_type) of the types that it supports */
  uint32_t leaves; /* of a work-group */
  /* Launches of fewer leaves have groups of half the size, of as many or more leaves twice the size; 0: never. */
  uint32_t small_below, large_from;
  bool joins;      /* a launch can join its leaves */
  uint32_t fields; /* of a program, at most */
  bool by_array;   /* each array of several fields has groups of its own */

  /* Products: */
  uint32_t tile_m, tile_n, tile_k; /* elements of C of a work-group; tile_k: steps of k at a time, if it does several */
  uint32_t pack;                   /* steps of k that a group packs; 0: operands are not packed */
  bool stacks;                     /* a group may do several tiles, one below another */
  bool large_grf; /* built with twice the registers per thread, by an option that drivers of other devices refuse */
  bool any_tile;  /* HX_TILE may set tile_m, tile_n, tile_k, within what their kernel can do */

  /* Rows of a set (table/matmul_nvidia_rows.inc explains them): */
  hx__shape shape;
  uint32_t rate[HX__LAYOUTS], chain[HX__LAYOUTS], start;
  uint32_t slices, stages, width, item_m, item_n;
  bool vec4, chains;
} hx__kernel_row;

/* The row for a device, or NULL. families: the device's bits; tile: HX_TILE's three numbers, 0 if not set: a row with
 * just this tile, or one that takes any. max_local: the device's greatest work-group. */
const hx__kernel_row *hx__kernel_row_for(hx__kernel_kind kind, hx_type type, uint32_t families, const uint32_t tile[3],
                                         size_t max_local);

/* The next row of the table after `row` (NULL: from the first on) that the device matches, or NULL. */
const hx__kernel_row *hx__kernel_row_after(const hx__kernel_row *row, hx__kernel_kind kind, hx_type type,
                                           uint32_t families, const uint32_t tile[3], size_t max_local);

/* The whole table. */
const hx__kernel_row *hx__kernel_rows(size_t *count);

/* Writes the -D options of a program to text; none of them affects arithmetic. Returns false if they do not fit. op and
 * type: reductions only. */
bool hx__kernel_options(char *text, size_t bytes, const hx__kernel_row *row, hx_op op, hx_type type,
                        const uint32_t tile[3], hx__arithmetic arithmetic);

/* The fields of a program, as a number: byte f has 1 + hx__reduction_index of field f, and HX__SAME_ARRAY if its x is
 * that of the field before it. Bytes of no field are 0. */
typedef uint64_t hx__kernel_fields;
#define HX__MOST_FIELDS 4u
#define HX__SAME_ARRAY 0x80u
static inline unsigned hx__field_of(hx__kernel_fields fields, unsigned f) {
  return f < HX__MOST_FIELDS ? (unsigned)(fields >> 8 * f) & 0xffu : 0;
}
static inline unsigned hx__field_reduction(hx__kernel_fields fields, unsigned f) { /* f is one of the fields */
  return (hx__field_of(fields, f) & ~HX__SAME_ARRAY) - 1;
}

/* The arrays x, each of neighbouring fields that share it. */
static inline unsigned hx__kernel_arrays(hx__kernel_fields fields) {
  unsigned arrays = 0;
  for (unsigned f = 0; hx__field_of(fields, f); f++) arrays += !(hx__field_of(fields, f) & HX__SAME_ARRAY);
  return arrays;
}

/* The work-groups that a program of several fields needs. */
size_t hx__kernel_groups(const hx__kernel_row *row, hx__kernel_fields fields, size_t leaves);

/* Writes the -D options that hx__kernel_options does not have for a program of several fields. False: they do not
 * fit. */
bool hx__kernel_fields_options(char *text, size_t bytes, hx__kernel_fields fields);

/* How many leaves a work-group computes in a launch of `leaves` leaves. */
uint32_t hx__kernel_leaves(const hx__kernel_row *row, size_t leaves);

/* Whether the row is one of a set (gemm_plan.h). */
static inline bool hx__kernel_of_set(const hx__kernel_row *row) { return row->shape != HX__SHAPE_ALONE; }

/* Whether the row reads operands in place, in whatever layout. */
static inline bool hx__kernel_in_place(const hx__kernel_row *row) { return row->shape >= HX__SHAPE_SMALL; }

/* The source strings of a kind for clCreateProgramWithSource, the common part first, NULL-terminated. */
const char *const *hx__kernel_sources(hx__kernel_kind kind);

#endif
