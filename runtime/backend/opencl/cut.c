/* SPDX-License-Identifier: Apache-2.0
 * Computes how a task is cut so that no buffer of a chunk is larger than the device allows
 * (CL_DEVICE_MAX_MEM_ALLOC_SIZE, less while memory is short). Every such limit is computed here: the slices of a chunk,
 * and for products, whose other operand may be too large as well, the lines across the slices and the range of k in one
 * launch.
 *
 * An array above the limit is copied to the device chunk by chunk, whatever its mode. A buffer over host memory
 * (hostptr.c), a mirror (mirror.c) and a block of hx_alloc (block.c) are each one allocation and cannot be cut, because
 * chunks begin and end within a page and live buffers must not share one. hx_alloc uses plain pages for such a
 * block. */
#include "runtime/backend/opencl/arguments.h"
#include "runtime/backend/opencl/maps.h"

#define LARGE_BLOCK_BYTES ((size_t)1 << 30) /* of a result that stays on the device: not read back */
#define MAX_GRID 32768u                     /* PoCL compiles a kernel again for grids of 65536 items in a dimension */
#define LINE 16u                            /* the row length of a result block is a multiple of it */
#define PITCH 64u /* the row length of a set's copies of operands is a multiple of at most this */

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }
static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }
static size_t round_up(size_t n, size_t to) { return hx__ceiling(n, to) * to; }
static size_t round_down(size_t n, size_t to) { return n < to ? max_size(n, 1) : n / to * to; }

size_t hx__cl_stage_bytes(const hx__cl_device *d) { return min_size(HX__CL_STAGE_BYTES, (size_t)d->base.max_alloc); }

size_t hx__cl_most_leaves(const hx__work *w) {
  const bool has_second = w->kernel ? w->kernel->expr.inputs > 1 : w->nfields == 1 && w->fields[0].op == HX_DOT;
  const uint32_t present = HX__PRESENT | (has_second ? HX__PRESENT << 2 : 0u);
  return (w->placement & present) == present ? HX__CL_MOST_PRESENT_LEAVES : HX__CL_MOST_LEAVES;
}

static hx__cl_cut cut_reduction(size_t most, size_t block, const hx__work *w) {
  const size_t slices = min_size(most / HX__LEAF, hx__cl_most_leaves(w));
  return (hx__cl_cut){.slices = max_size(min_size(slices, block * sizeof(float) / sizeof(uint64_t) / w->nfields), 1)};
}

/* Its elements, of all outputs, are written to a buffer, unless one launch makes and reduces them. Then the limit is
 * for the copies of the inputs: larger ones are not retained from call to call, and with several chunks copies and
 * launches overlap. */
static hx__cl_cut cut_map(size_t most, size_t block, size_t leaves, const hx__work *w) {
  const size_t results = block / hx__work_outputs(w);
  return (hx__cl_cut){.slices = max_size(min_size(min_size(most, results) / HX__LEAF, leaves), 1)};
}

/* A part of an array that is copied for a chunk of lines has at most twice as many elements as are read, because
 * sparse lines are not given to devices. A slice may have as many slots as lines. */
static hx__cl_cut cut_lines(size_t most, size_t block, const hx__lines *l) {
  const size_t slices = min_size(most / 2 / HX__LEAF, HX__CL_MOST_LEAVES);
  return (hx__cl_cut){.slices = max_size(min_size(slices, block * sizeof(float) / sizeof(uint64_t) / l->together), 1)};
}

/* The k of one launch. Panels are added one after the other, so a launch may begin with any panel. Only the rows of a
 * set compute all of k in one launch. widest: the number of lines that are packed together. */
static size_t k_of_launch(const hx__cl_program *p, size_t most, size_t widest, size_t k) {
  if (!p->row || hx__kernel_of_set(p->row)) return k;
  const size_t panels = max_size(most / widest / HX__PANEL, 1) * HX__PANEL;
  return min_size(k, p->arithmetic == HX__ARITHMETIC_SOFT_FMA ? min_size(panels, HX__SOFT_FMA_MAX_K) : panels);
}

/* A launch has a row of work-groups for each product of a batch. Its matrices are copied with the gaps between them. A
 * product is taken to be as large as the largest of its matrices, packed or not, and its block of C. block: the most
 * elements of that in a chunk. direct: kernels write to the C that stays on the device if the chunk is the whole batch.
 */
static hx__cl_cut cut_batch(const hx__cl_program *p, size_t most, size_t block, bool direct, const hx__work *w) {
  const hx__gemm *const g = &w->gemm;
  const size_t tile_m = max_size(p->tile_m, 1), tile_n = max_size(p->tile_n, 1);
  const bool packs = p->row && p->row->pack != 0;
  const size_t k = k_of_launch(p, most, packs ? max_size(tile_m, tile_n) : 1, g->k);
  const bool copies = packs || (p->row && hx__kernel_of_set(p->row)); /* a set may copy operands to whole tiles */
  const size_t lines = max_size(round_up(g->m, tile_m), round_up(g->n, tile_n));
  const size_t packed = copies ? lines * (packs ? k : round_up(k, PITCH)) : 1;
  const size_t operand = max_size(packed, max_size(w->batch.stride_a, w->batch.stride_b));
  const size_t cells = g->m * round_up(g->n, LINE), by_operand = min_size(most / operand, MAX_GRID);
  const size_t slices =
      direct && by_operand >= w->slices ? w->slices : min_size(by_operand, min_size(most, block) / cells);
  return (hx__cl_cut){.slices = max_size(slices, 1), .k = k};
}

/* Whether kernels can write to a C without gaps: those of a set, or without beta if rows are aligned. */
static bool writes_directly(const hx__cl_program *p, const hx__work *w) {
  return p->row && (hx__kernel_of_set(p->row) || (w->gemm.beta == 0.0f && w->gemm.ldc % LINE == 0));
}

hx__cl_cut hx__cl_cut_of(const hx__cl_stream *stream, const hx__work *w, bool resident) {
  const size_t bytes = stream->most_alloc, most = bytes / sizeof(float);
  const bool stays = w->placement & HX__RESIDENT_C;
  const size_t block = min_size(bytes, stays ? LARGE_BLOCK_BYTES : HX__CL_RETAINED_BYTES) / sizeof(float);
  const size_t leaves = hx__cl_most_leaves(w);
  if (w->by_lines) {
    const hx__cl_cut lines = cut_lines(most, block, &w->lines), map = cut_map(most, block, HX__CL_MOST_LEAVES, w);
    return w->kernel && map.slices < lines.slices ? map : lines;
  }
  const bool present = leaves == HX__CL_MOST_PRESENT_LEAVES;
  if (w->kernel && !(present && hx__cl_map_reduces(stream->device, w)))
    return cut_map(most, block, stays ? leaves : HX__CL_MOST_LEAVES, w);
  if (!w->matmul) return cut_reduction(most, block, w);
  const hx__cl_program *const p = &stream->device->program[stream->product];
  if (w->by_products) return cut_batch(p, most, block, resident && writes_directly(p, w), w);
  const bool packs = p->row && p->row->pack != 0, set = p->row && hx__kernel_of_set(p->row);
  const size_t tile = max_size(w->by_columns ? p->tile_n : p->tile_m, 1);
  const size_t cross = max_size(w->by_columns ? p->tile_m : p->tile_n, 1);
  const size_t extent = hx__work_cross_extent(w),
               k = k_of_launch(p, most, packs ? max_size(tile, cross) : 1, w->gemm.k);
  const size_t lines = most / max_size(set ? round_up(k, PITCH) : k, 1); /* lines of an operand in one buffer */
  const size_t of_c =
      w->by_columns ? round_down(block / max_size(extent, 1), LINE) : block / max_size(round_up(extent, LINE), 1);
  return (hx__cl_cut){.slices = max_size(min_size(min_size(of_c, round_down(lines, tile)), MAX_GRID * tile), 1),
                      .cross_extent = min_size(round_down(lines, cross), extent),
                      .k = k};
}
