/* SPDX-License-Identifier: Apache-2.0
 * Device kernels as data: the embedded OpenCL C sources and the rows that specialise them. A row says who may run it,
 * which -D options make it, and the launch geometry; the host code that launches is backend/opencl. The first row of
 * the table that a device matches is its row (most specific first), so a new variant is one function and one row.
 *
 * Kernel signatures (all offsets, counts and strides are in elements, as ulong, so that no sub-buffer is needed; the
 * global work offset is always 0):
 *
 *   hx_reduce(global const T *x, ulong x_first, global const T *y, ulong y_first, ulong n, global ulong *slots)
 *     slots[l] = the slot (base/slot.h) of leaf l of x[x_first .. x_first+n); y is x again unless the op is DOT.
 *     Launch: 1-D, local size row.local[0], ceil(leaves / row.leaves) groups; a group past the last leaf does nothing.
 *   row.large_from > 0: the same with two more arguments, uint join, global uint *ticket, in groups of 32 items for
 * each of hx__kernel_leaves leaves. join != 0: slots[0] = the slot of all leaves joined, where leaf 0 begins an aligned
 * power of two of leaves that holds them all: an index in it counts from leaf 0. slots has 1 + groups elements, at most
 * 128 * local size groups. *ticket is 0 before the launch, and after it.
 *
 *   row.pack == 0:
 *   hx_matmul(global const float *a, ulong a_first, ulong a_rs, ulong a_cs,
 *             global const float *b, ulong b_first, ulong b_rs, ulong b_cs,
 *             ulong m, ulong n, ulong k, float alpha, global float *t, ulong ldt, uint part)
 *     t(i,j) = alpha * S(i,j) (alpha == 1: S), i < m, j < n, t(i,j) at t[i*ldt + j];
 *     op(A)(i,p) = a[a_first + i*a_rs + p*a_cs]; k > 0. ldt is a multiple of 16, columns n..ldt of t hold anything.
 *     part: bit 0, t holds the sum of earlier panels of k, and these are added to it; bit 1, more follow, so that alpha
 *     waits. 0 where one launch does all of k. The running sum is kept in t.
 *     Launch: 2-D, local (row.local[0], row.local[1]), ceil(n / tile_n) groups along x, ceil(m / tile_m) along y.
 *
 *   row.pack > 0: two packing kernels and a product over what they packed
 *   hx_pack_a(global const float *a, ulong a_first, ulong a_rs, ulong a_cs, ulong m, ulong k, global float *pa)
 *     row panels of tile_m: pa[(i/tile_m * k + p) * tile_m + i%tile_m]; missing rows hold what is never used.
 *     Launch: 2-D, local (row.local[0], 1), (ceil(m / tile_m), ceil(k / row.pack)) groups.
 *   hx_pack_b(global const float *b, ulong b_first, ulong b_rs, ulong b_cs, ulong k, ulong n, global float *pb)
 *     column panels of tile_n: pb[(j/tile_n * k + p) * tile_n + j%tile_n]; missing columns likewise.
 *     row.stacks: both in the order in which groups read them, row.pack of k of all panels, then the next steps of k.
 *     Launch: 2-D, local (row.local[0], 1), (ceil(n / tile_n), ceil(k / row.pack)) groups.
 *   hx_matmul(global const float *pa, global const float *pb, ulong m, ulong n, ulong k, float alpha,
 *             global float *t, ulong ldt, uint part)
 *     Launch as above; row.stacks: a group does 1 + (part >> 2) tiles, one below another, and there are as many fewer
 *     along y. pa and pb are aligned to 64 bytes at least.
 *
 *   row.rate: a set of rows, among which each launch chooses (tiles.h); a program a row and layout
 *   hx_matmul(global const float *a, ulong a_first, ulong lda,
 *             global const float *b, ulong b_first, ulong ldb, ulong m, ulong n, ulong k,
 *             float alpha, float beta, global float *t, ulong ldt, uint across, uint whole, global float *partials,
 *             uint join, global uint *tickets)
 *     t(i,j) = alpha * S(i,j) + beta * t(i,j) (beta == 0: t is not read), at t[i*ldt + j], with across t[j*ldt + i].
 *     What lies [k][...] has its lines at multiples of 16 bytes where row.width == 4, anywhere where it is 1; what lies
 *     [...][k] too where row.fours, else anywhere. A has
 *     at least tile_m rows there, B at least tile_n columns; a multiple of width of what lies [k][...].
 *     The tiles, along the rows of C first, are done whole, a group each, up to `whole`; of the others a group does
 *     row.slices panels, into partials, each a tile by the lines of t. row.slices > 1: whole only where k has no more
 *     panels. Launch: 1-D, local row.local[0]. join != 0, where row.chains: it adds the panels itself; tickets, one for
 *     each panel of those tiles, are 0 before the launch, and after it.
 *     row.in_place: one argument more, uint lies (hx__tiles_plan.lies), before join, and operands of any lines at any
 *     places. join needs a ticket a tile.
 *     row.skinny: the same, of a B that lies as the layout says; [column][k]: n >= tile_n.
 *     row.few: these too; m <= tile_m. B [k][column]: group g does the tiles g % whole, that plus whole, ... of C, and
 *     of k the panels g / whole, that plus groups / whole, ...; several groups a tile where it has one tile alone. B
 *     [column][k]: group g does panel g % panels of tile g / panels.
 *     row.blocks: as such a row, but after lies come, and no join and tickets, uint tile_m, uint tile_n, multiples of
 *     row.block: tiles of that size, the last ones past the edges of C; across and whole are 0, and the panels lie with
 *     their columns swapped in pairs.
 *   Of a set one program alone has these for all (HX_BARE: the others):
 *   hx_matmul_join(ulong m, ulong n, ulong k, float alpha, float beta, global float *t, ulong ldt,
 *             uint across, uint whole, global const float *partials, uint tile_m, uint tile_n, uint align, uint how)
 *     Adds those panels. how: HX__JOIN_... (tiles.h). Launch: 1-D, local 128, tile_m * tile_n items for each tile of
 *     them; with HX__JOIN_FOURS a quarter.
 *   hx_matmul_copy(global const float *x, ulong x_first, ulong rs, ulong cs, ulong rows, ulong columns,
 *             global float *to, ulong pitch, ulong lines)
 *     to[i*pitch + j] = x[x_first + i*rs + j*cs]; zero up to pitch and lines.
 *     Launch: 1-D, local 256, ceil(pitch / 64) groups for each 64 lines.
 *
 *   every product, where C stays on the device
 *   hx_matmul_store(global const float *t, ulong ldt, global float *c, ulong c_first, ulong ldc, ulong m, ulong n,
 *             float beta)
 *     c(i,j) = beta == 0 ? t(i,j) : fma(beta, c(i,j), t(i,j)) at c[c_first + i*ldc + j]. Launch: 2-D, any.
 *
 *   hx_probe(global const float *a, global const float *b, global const float *c, global float *out)
 *     out[3*i] = a+b, out[3*i+1] = a*b, out[3*i+2] = fma(a,b,c) at i = get_global_id(0), by the macros that the other
 *     kernels use. Launch: 1-D, local row.local[0].
 *
 *   hx_touch(global const uint *x, ulong first, global uint *out)
 *     out[0] = x[first]. Launch: one item. */
#ifndef HX_KERNELS_KERNELS_H
#define HX_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/slot.h"

typedef enum hx__kernel_kind { HX__KERNEL_REDUCE = 1, HX__KERNEL_MATMUL, HX__KERNEL_PROBE } hx__kernel_kind;

/* Families of devices, as bits. A device has one or more: an Intel GPU with sub-groups of 16 has INTEL | SUBGROUP. */
enum {
  HX__FAMILY_CPU = 1u << 0,    /* type has the CPU bit: one item does the work of many */
  HX__FAMILY_CPU16 = 1u << 12, /* and its vector registers hold 16 floats */
  HX__FAMILY_INTEL = 1u << 1,  /* GPU types, by vendor */
  HX__FAMILY_NVIDIA = 1u << 2,
  HX__FAMILY_AMD_GCN = 1u << 3,   /* wavefront 64 */
  HX__FAMILY_AMD_RDNA = 1u << 4,  /* wavefront 32 */
  HX__FAMILY_SUBGROUP8 = 1u << 8, /* cl_intel_subgroups and cl_intel_required_subgroup_size with that size */
  HX__FAMILY_SUBGROUP16 = 1u << 9,
  HX__FAMILY_WIDE = 1u << 10,     /* Intel GPUs whose registers hold 64 bytes: sub-groups of 16 and none of 8 */
  HX__FAMILY_LARGE_GRF = 1u << 11 /* Intel GPUs whose threads may have 256 registers of 32 bytes: DG2, Meteor Lake */
};

/* How a device's compiler has to be spoken to; found by the self-test, each tried in this order. */
typedef enum hx__arithmetic {
  HX__ARITHMETIC_PLAIN,    /* +, * and fma() as they stand */
  HX__ARITHMETIC_FMA_ADD,  /* x+s written fma(x, 1, s), p*x written fma(p, x, -0): for compilers that re-associate */
  HX__ARITHMETIC_SOFT_FMA, /* fma() by 64-bit integers: for devices whose fma is wrong */
  HX__ARITHMETICS
} hx__arithmetic;

/* With HX__ARITHMETIC_SOFT_FMA one launch does no more of k, a multiple of HX__PANEL. The driver that needs it
 * (llvmpipe) ends a work-item's loops once they have made 65535 turns, all of them together, unrolls little, and says
 * nothing. */
#define HX__SOFT_FMA_MAX_K 1024u

/* How the operands of a product by a set of rows lie: a program each. */
typedef enum hx__layout {
  HX__LAYOUT_NN, /* A [row][k], B [k][column] */
  HX__LAYOUT_TN, /* A [k][row] */
  HX__LAYOUT_NT, /* B [column][k] */
  HX__LAYOUTS
} hx__layout;

typedef struct hx__kernel_row {
  const char *name; /* "reduce-cpu", "matmul-sg8-16x32x16": what info and the log say */
  hx__kernel_kind kind;
  uint32_t family;                  /* all these bits are needed; 0: any device */
  uint32_t types;                   /* matmul: unused; reduce: bit (1 << hx_type) of those it serves */
  uint32_t local[2];                /* local size */
  uint32_t leaves;                  /* reduce: leaves a work-group does */
  uint32_t small_below, large_from; /* reduce: leaves of a launch whose groups do half or twice as many; 0: none */
  uint32_t tile_m, tile_n, tile_k;  /* matmul: elements of C a work-group does; tile_k: the k-step where there is one */
  uint32_t pack;  /* matmul: operands are packed first, a group doing so many steps of k; 0: they are not */
  bool stacks;    /* matmul: a group may do several tiles, one below another */
  bool large_grf; /* built with twice the registers a thread, an option that drivers of other devices refuse */
  bool any_tile;  /* HX_TILE may set tile_m, tile_n, tile_k, within what hx__kernel_tile_ok says */
  /* matmul: of a set: its speed by layout, percent of the fastest's, where it fills the device; 0: not for that layout.
     Those with none are rows alone. chain: picoseconds that a step of k takes a group that has a compute unit alone,
     beyond what that speed makes of it. */
  uint32_t rate[HX__LAYOUTS], chain[HX__LAYOUTS];
  uint32_t slices;   /* of a set: panels of a tile that a group does at once, each by its part of the items */
  uint32_t stages;   /* of a set: tiles in local memory; more than 2 also hide far memory */
  uint32_t width;    /* of a set: floats that a copy of an operand that lies [k][...] takes, 4 or 1 */
  uint32_t blocks;   /* of a set: blocks of a tile, at most, where each launch chooses its sides; 0: tile_m x tile_n */
  uint32_t block;    /* rows and columns of a block */
  uint32_t sides[2]; /* such a tile's, in blocks, at most */
  uint32_t lines;    /* its rows and columns together, at most */
  bool fours;    /* of a set: what lies [line][k] is copied by four neighbours of k, whose lines begin at 16 bytes */
  bool chains;   /* of a set: a launch may add panels as they end, and so need no other */
  bool in_place; /* of a set: reads operands however they lie, in the one program of layout NN */
  bool skinny;   /* of a set: with operands in place, for tens of rows; a program for each way that B lies */
  bool few;      /* of a set: with operands in place, tile_m rows at most; a program for each way that B lies */
  bool optional; /* uses what a driver may refuse: where its build or its bits fail the next row is tried */
  const char *defines; /* "-DHX_SHAPE_ITEM=1 ..." */
} hx__kernel_row;

/* The row for a device, or NULL. families: the device's bits; tile: HX_TILE's three numbers, 0 where not set: a row
 * with just this tile, or one that takes any. max_local: the device's greatest work-group. */
const hx__kernel_row *hx__kernel_row_for(hx__kernel_kind kind, hx_type type, uint32_t families, const uint32_t tile[3],
                                         size_t max_local);

/* The next row of the table after `row` (NULL: the first) that the device matches, or NULL. */
const hx__kernel_row *hx__kernel_row_after(const hx__kernel_row *row, hx__kernel_kind kind, hx_type type,
                                           uint32_t families, const uint32_t tile[3], size_t max_local);

/* The whole table, for what goes through all rows. */
const hx__kernel_row *hx__kernel_rows(size_t *count);

/* Writes the -D options of a program into text (no option that touches arithmetic); returns false where it does not
 * fit. op and type: reduce only. */
bool hx__kernel_options(char *text, size_t bytes, const hx__kernel_row *row, hx_op op, hx_type type,
                        const uint32_t tile[3], hx__arithmetic arithmetic);

/* How many leaves a work-group of a launch of so many does. Its items are as many times row.local[0]. */
uint32_t hx__kernel_leaves(const hx__kernel_row *row, size_t leaves);

/* Whether the row is one of a set (tiles.h). */
static inline bool hx__kernel_of_set(const hx__kernel_row *row) {
  return row->rate[HX__LAYOUT_NN] != 0 || row->rate[HX__LAYOUT_NT] != 0;
}

/* The source strings of a kind, common part first, NULL-terminated: for clCreateProgramWithSource. */
const char *const *hx__kernel_sources(hx__kernel_kind kind);

#endif
