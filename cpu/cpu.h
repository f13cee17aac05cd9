/* SPDX-License-Identifier: Apache-2.0
 * Host kernels. The contract: no threads, no allocation, no I/O, no global state, no system calls; re-entrant; inputs
 * const; every pointer aligned to 4 bytes and no more; the caller has entered the canonical floating-point state
 * (base/fpenv.h). The same source is compiled once per ISA; which one runs is a row of data (isa.c). The arithmetic is
 * docs/ARITHMETIC.md's, to the last bit, in every variant. */
#ifndef HX_CPU_CPU_H
#define HX_CPU_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/config.h"
#include "runtime/base/expr_code.h"
#include "runtime/base/gemm.h"
#include "runtime/base/slot.h"

/* A core takes a load for one of what it has just stored if their addresses differ by a multiple of 4 KB, and waits. So
 * sums that are loaded and stored again and again lie half a page from the rows that are added to them. Returns such a
 * place in `room`, which is aligned to a cache line and has HX__PAGE bytes more than are needed there:
 * docs/measurements/cpu-rows-alias.tsv. */
#define HX__PAGE ((size_t)4096)
static inline void *hx__half_a_page_from(void *room, const void *rows) {
  return (char *)room + ((uintptr_t)rows - (uintptr_t)room + HX__PAGE / 2) % HX__PAGE / 64 * 64;
}

/* From which level of the memory hierarchy a reduction reads, by the bytes of all that it reads.
 *   HX__IN_L2   perhaps the second cache. Iterations are long and so few that their end is predicted: a misprediction
 *               stops the loads of the next leaf (Zen 4: 2 to 10 % of a leaf).
 *   HX__IN_LLC  a later cache. Iterations are short, because the CPU prefetches by the address of the load
 *               instruction, and strides above 512 bytes cost 15 %.
 *   HX__IN_DRAM memory. Loops over floats and extremes prefetch the next leaf (docs/studies/), which in caches costs
 *               10 %. Those of integer sums do not: they were up to twice as slow (cpu-reductions-memory.tsv). */
typedef enum hx__locality { HX__IN_L2, HX__IN_LLC, HX__IN_DRAM } hx__locality;

/* Stores in slots[l] the slot (base/slot.h) of leaf l of x[0..n). The last of the (n + HX__LEAF - 1) / HX__LEAF leaves
 * may be short. y: HX_DOT only. n > 0. */
typedef void hx__leaf_fn(const void *x, const void *y, size_t n, hx__locality reach, uint64_t *slots);

/* The slot of a single leaf x[0..n), 0 < n <= HX__LEAF, with less overhead. */
typedef uint64_t hx__one_leaf_fn(const void *x, const void *y, size_t n);

/* Stores in slots[l] the slot of line l, for each of `lines` lines of n elements, 0 < n <= HX__LEAF. Element i of line
 * l is x[l * step + i]; of the second array y[l * y_step + i]. */
typedef void hx__rows_fn(const void *x, size_t step, const void *y, size_t y_step, size_t lines, size_t n,
                         uint64_t *slots);

/* Lines that lie side by side: element i of line l is x[i * ld + l], i < n, of the second array y[i * y_ld + l]. */
typedef struct hx__columns {
  const void *x, *y;
  size_t ld, y_ld, lines, n; /* 0 < n <= HX__LEAF */
  bool distant;              /* the data are likely to be in memory, and not in a cache */
  void *scratch;             /* aligned to 64 bytes */
  size_t scratch_bytes;      /* HX__LEAST_COLUMNS_SCRATCH at least; with more, longer parts of rows are read */
} hx__columns;
#define HX__LEAST_COLUMNS_SCRATCH ((size_t)32 << 10)
#define HX__COLUMNS_SCRATCH ((size_t)128 << 10) /* half of a second cache of 256 KiB */

/* Stores the slots of all lines. False, and nothing is stored, if there are so few lines that their vectors would be
 * mostly empty. */
typedef bool hx__columns_fn(const hx__columns *columns, uint64_t *slots);

/* Makes the values of lines that are one leaf each of their slots, in place. */
typedef void hx__values_fn(hx_op op, hx_type type, uint64_t *slots, size_t count);

/* Block sizes of the packed operands, HX__PANEL deep: mc rows of A, a multiple of mr; nc columns of B, a multiple of
 * nr. A panel of A is packed once for `columns` columns of C. */
typedef struct hx__gemm_blocking {
  size_t mc, nc, columns;
} hx__gemm_blocking;

/* All `lines` rows of op(A), or columns of op(B), packed by `pack`. The block to compute begins with line `first`, a
 * multiple of mr or nr. After a block of A there are at least mr more rows, or none. */
typedef struct hx__gemm_packed {
  const void *p;
  size_t lines, first;
} hx__gemm_packed;

typedef hx__leaf_fn *hx__leaf_table[HX__OPS][HX__TYPES];
typedef hx__one_leaf_fn *hx__one_leaf_table[HX__OPS][HX__TYPES];
typedef struct hx__lines_table {
  hx__rows_fn *rows[HX__OPS][HX__TYPES];
  hx__columns_fn *columns[HX__OPS][HX__TYPES];
  hx__values_fn *values;
} hx__lines_table;

/* Rows of elements that an expression computes, both numbers above 0. */
typedef struct hx__expr_rows {
  size_t n, rows;
  const size_t *ld;    /* elements from row to row of each input; 0: every row is the first one. Not read of one row. Of
                          an input that has one value per row: from value to value */
  size_t ld_out;       /* elements from row to row of the results */
  uint32_t row, index; /* the number of the first row, and the index that the first element of each row has */
} hx__expr_rows;

typedef struct hx__cpu_kernels {
  hx__isa isa; /* the widest instruction set that the variant uses */
  /* Functions by operation (from HX_SUM on) and type (from HX_F32 on); no entry is NULL. */
  hx__leaf_fn *const (*leaf)[HX__TYPES];
  hx__one_leaf_fn *const (*one_leaf)[HX__TYPES];
  const hx__lines_table *lines; /* the same for several lines at once */

  size_t mr, nr; /* sides of the register tile of the matrix product */
  /* The block size for a second cache of this size (0: unknown). */
  hx__gemm_blocking (*gemm_blocking)(size_t l2_bytes);
  /* Bytes of scratch that one thread can use for a product of at most m x n x k; 0: none. The scratch must be aligned
   * to 64 bytes. */
  size_t (*gemm_scratch_bytes)(hx__gemm_blocking blocking, size_t m, size_t n, size_t k);
  /* Computes the product without scratch if it is small or narrow enough; otherwise does nothing and returns false.
   * m, n, k > 0, alpha != 0. */
  bool (*gemm_direct)(const hx__gemm *g);
  /* Computes one block of a product on the calling thread. packed_a, packed_b: NULL: the operand is packed here if that
   * pays. scratch: may be NULL; the product then takes longer and has the same bits. */
  void (*gemm)(const hx__gemm *g, hx__gemm_blocking blocking, const hx__gemm_packed *packed_a,
               const hx__gemm_packed *packed_b, void *scratch);

  /* Packs op(B) (of_b) or op(A) for all blocks of a product that share it. packed_bytes returns 0 if that does not pay.
   * The memory must be aligned to 64 bytes. Its units may be packed in any order by any threads. */
  size_t (*packed_bytes)(const hx__gemm *g, bool of_b);
  size_t (*pack_units)(const hx__gemm *g, bool of_b);
  void (*pack)(const hx__gemm *g, bool of_b, size_t unit, void *packed);

  /* Stores a device's block t in C: C(i,j) = beta == 0 ? t : fma(beta, C, t), with NaN as 0x7fc00000. distant: C is too
   * large for the caches. */
  void (*store)(const float *t, size_t ldt, size_t m, size_t n, float *c, size_t ldc, float beta, bool distant);

  /* Computes an expression of n elements of each row: outputs[0][r * ld_out + i] = f(inputs[0][r * ld[0] + i], ...).
   * parameters: their bits. An output may be an input, but not overlap one otherwise, nor another output. past_caches:
   * it is faster to store outputs in memory at once. Needs 38 KiB of stack. */
  void (*evaluate)(const hx__expr_code *code, const void *const *inputs, const uint32_t *parameters, hx__expr_rows rows,
                   bool past_caches, void *const *outputs);
} hx__cpu_kernels;

/* Whether loops over memory should prefetch. The reductions are faster if they do on AMD's cores (Zen 4), and equally
 * fast, within 2 %, on Emerald Rapids, where products of a matrix with a vector are slower (gemm_dots.h). Other cores
 * were not measured. */
bool hx__cpu_prefetches(void);

/* An expression as steps. NULL, or what it needs more of than there is: "512 steps". out->steps is then more than that
 * if it needs too many steps. */
const char *hx__expr_code_of(const hx__expr *e, hx__expr_code *out);

/* The kernels for an ISA, or NULL if this build or this CPU does not have it. HX__ISA_AUTO: the fastest variant
 * (isa.c). */
const hx__cpu_kernels *hx__cpu_kernels_for(hx__isa isa);

#endif
