/* SPDX-License-Identifier: Apache-2.0
 * The cases of products: all of k in one launch or two, with and without the store into a C that stays on the device.
 * */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cases.h"
#include "reference/ref.h"
#include "tests/emulator/cases.h"

enum { A_FIRST = 1, B_FIRST = 3, C_FIRST = 2 };

/* An operand: rows of `columns` floats, `ld` apart. The gaps between and before the rows were never written, and the
 * range ends with the last row. */
typedef struct matrix {
  size_t first, rows, columns, ld;
  float *words;
  uint64_t address;
} matrix;

static matrix matrix_add(memory *memory, const char *name, size_t first, size_t rows, size_t columns, size_t ld) {
  matrix matrix = {first, rows, columns, ld, NULL, 0};
  const size_t count = first + (rows - 1) * ld + columns;
  matrix.words = case_allocate(count * 4);
  for (size_t i = 0; i < count; i++) {
    const uint32_t bits = hx__case_matrix_element(i);
    memcpy(&matrix.words[i], &bits, 4);
  }
  matrix.address = memory_add(memory, name, matrix.words, count, true, true);
  memory_forget(memory, matrix.address, 0, first);
  for (size_t r = 0; r + 1 < rows; r++) memory_forget(memory, matrix.address, first + r * ld + columns, ld - columns);
  return matrix;
}

typedef struct product {
  const program *program;
  const hx__kernel_row *row;
  memory memory;
  struct hx_matmul_args args;
  matrix a, b;
  float *t;
  uint64_t t_at;
  size_t ldt;
  char *why;
  size_t why_bytes;
} product;

/* Launches the product for k0 <= p < k0 + k. */
static bool launch_product(product *p, size_t k0, size_t k, uint32_t part, unsigned seed) {
  const struct hx_matmul_args *const args = &p->args;
  const size_t a_rs = args->trans_a ? 1 : p->a.ld, a_cs = args->trans_a ? p->a.ld : 1;
  const size_t b_rs = args->trans_b ? 1 : p->b.ld, b_cs = args->trans_b ? p->b.ld : 1;
  launch launch = {
      .kernel = "hx_matmul",
      .groups = {(uint32_t)((args->n + p->row->tile_n - 1) / p->row->tile_n),
                 (uint32_t)((args->m + p->row->tile_m - 1) / p->row->tile_m)},
      .local = {p->row->local[0], p->row->local[1]},
      .arguments = {p->a.address, p->a.first + k0 * a_cs, a_rs, a_cs, p->b.address, p->b.first + k0 * b_rs, b_rs, b_cs,
                    args->m, args->n, k, ref_bits(args->alpha), p->t_at, p->ldt, part, 0, 0, 0},
      .argument_count = 18};
  return launch_run(p->program, &p->memory, &launch, seed, p->why, p->why_bytes);
}

static bool launch_store(product *p, uint64_t c_at) {
  const launch launch = {
      .kernel = "hx_matmul_store",
      .groups = {1, p->args.m < 3 ? (uint32_t)p->args.m : 3},
      .local = {64, 1},
      .arguments = {p->t_at, p->ldt, c_at, C_FIRST, p->args.ldc, p->args.m, p->args.n, ref_bits(p->args.beta)},
      .argument_count = 8};
  return launch_run(p->program, &p->memory, &launch, 1, p->why, p->why_bytes);
}

static bool elements_right(product *p, const float *got, size_t ld, const float *want) {
  for (size_t i = 0; i < p->args.m; i++)
    for (size_t j = 0; j < p->args.n; j++)
      if (ref_bits(got[i * ld + j]) != ref_bits(want[i * p->args.ldc + j])) {
        snprintf(p->why, p->why_bytes, "element %zu %zu: 0x%08x instead of 0x%08x", i, j, ref_bits(got[i * ld + j]),
                 ref_bits(want[i * p->args.ldc + j]));
        return false;
      }
  return true;
}

static bool all_written(product *p, uint64_t address, size_t first, size_t ld) {
  for (size_t i = 0; i < p->args.m; i++)
    if (!memory_is_written(&p->memory, address, first + i * ld, p->args.n)) {
      snprintf(p->why, p->why_bytes, "an element of row %zu was not written", i);
      return false;
    }
  return true;
}

/* split: two launches, the second of which continues the sums of the first. resident: t is stored into a C with old
 * contents. */
static bool one_case(const program *program, const hx__kernel_row *row, const hx__case_product *c, bool split,
                     bool resident, float beta, char *why, size_t why_bytes) {
  product p = {.program = program, .row = row, .why = why, .why_bytes = why_bytes};
  const size_t m = c->tiles_m * row->tile_m + c->rest_m, n = c->tiles_n * row->tile_n + c->rest_n, k = c->k;
  const size_t lda = (c->trans_a ? m : k) + 4, ldb = (c->trans_b ? k : n) + (c->vec4_b ? 4 : 1), ldc = n + 2;
  p.a = matrix_add(&p.memory, "A", A_FIRST, c->trans_a ? k : m, c->trans_a ? m : k, lda);
  p.b = matrix_add(&p.memory, "B", B_FIRST, c->trans_b ? n : k, c->trans_b ? k : n, ldb);
  for (size_t i = 0; m > 1 && i < k; i++) { /* a sum of -0, which padding of k with zeros would change */
    p.a.words[A_FIRST + (c->trans_a ? i * lda + m - 1 : (m - 1) * lda + i)] = 0x1p-100f;
    p.b.words[B_FIRST + (c->trans_b ? i : i * ldb)] = -0x1p-100f;
  }
  p.ldt = (n + 15) / 16 * 16;
  p.t = case_allocate(m * p.ldt * 4);
  p.t_at = memory_add(&p.memory, "t", p.t, m * p.ldt, false, false);
  float *const got = case_allocate((C_FIRST + m * ldc) * 4), *const want = case_allocate(m * ldc * 4);
  for (size_t i = 0; i < m * ldc; i++) got[C_FIRST + i] = want[i] = (float)(i % 7) - 3.0f;
  p.args = (struct hx_matmul_args){.trans_a = c->trans_a,
                                   .trans_b = c->trans_b,
                                   .m = m,
                                   .n = n,
                                   .k = k,
                                   .alpha = c->alpha,
                                   .beta = beta,
                                   .a = p.a.words + A_FIRST,
                                   .lda = lda,
                                   .b = p.b.words + B_FIRST,
                                   .ldb = ldb,
                                   .c = want,
                                   .ldc = ldc};
  ref_matmul(&p.args);
  const size_t first = split ? HX__PANEL : k;
  bool good = launch_product(&p, 0, first, split ? 2 : 0, (unsigned)(m + n)) &&
              (!split || launch_product(&p, first, k - first, 1, (unsigned)(m + n + 1))) &&
              all_written(&p, p.t_at, 0, p.ldt);
  if (good && resident) {
    const uint64_t c_at = memory_add(&p.memory, "C", got, C_FIRST + m * ldc, true, false);
    good = launch_store(&p, c_at) && elements_right(&p, got + C_FIRST, ldc, want);
  } else if (good) {
    good = elements_right(&p, p.t, p.ldt, want);
  }
  memory_free(&p.memory);
  free(p.a.words);
  free(p.b.words);
  free(p.t);
  free(got);
  free(want);
  return good || case_fault(why, why_bytes, "%zu x %zu x %zu%s%s%s%s", m, n, k, c->trans_a ? ", A'" : "",
                            c->trans_b ? ", B'" : "", split ? ", two launches" : "", resident ? ", resident" : "");
}

bool product_cases(const program *program, const hx__kernel_row *row, char *why, size_t why_bytes) {
  for (size_t i = 0; i < HX__CASE_PRODUCTS; i++)
    if (!one_case(program, row, &hx__case_products[i], false, false, 0.0f, why, why_bytes)) return false;
  const hx__case_product *const any = &hx__case_products[HX__CASE_ANY_LAYOUT], *const panels =
                                                                                   &hx__case_products[HX__CASE_TN];
  return one_case(program, row, any, false, true, 0.0f, why, why_bytes) &&
         one_case(program, row, any, false, true, -0.5f, why, why_bytes) &&
         one_case(program, row, panels, true, true, 2.0f, why, why_bytes);
}
