/* SPDX-License-Identifier: Apache-2.0
 * Calls on both sides of the limits from which hx computes a product if only the CPU is there (docs/BLAS.md). For each
 * it prints "hx" or "forwarded": what the line of the call at HX_LOG=info must say. */
#include <stdio.h>
#include <stdlib.h>

#include "blas/blas.h"

enum { COLUMNS = 102, N = 111, T = 112 };

typedef struct product {
  int ta, tb, m, n, k, count, shared_a; /* shared_a: A has a stride of 0 */
  const char *by;
} product;

static const product products[] = {
    {N, N, 32, 32, 32, 0, 0, "hx"},        {N, N, 32, 32, 31, 0, 0, "forwarded"}, {T, N, 32, 40, 32, 0, 0, "hx"},
    {T, N, 31, 40, 32, 0, 0, "forwarded"}, {N, T, 40, 32, 40, 0, 0, "hx"},        {T, T, 64, 64, 64, 0, 0, "hx"},
    {T, T, 64, 63, 64, 0, 0, "forwarded"}, {N, N, 8, 8, 8, 2, 0, "hx"},           {N, N, 8, 7, 8, 2, 0, "forwarded"},
    {T, N, 9, 8, 8, 3, 0, "hx"},           {N, T, 8, 8, 9, 3, 0, "hx"},           {T, T, 63, 64, 64, 2, 0, "forwarded"},
    {T, T, 64, 64, 64, 2, 0, "hx"},        {N, N, 31, 32, 32, 1, 0, "forwarded"}, /* a batch of one is a product, */
    {N, N, 16, 16, 16, 9, 1, "forwarded"}, /* and so is one that has a single A */
};

int main(void) {
  enum { FLOATS = 64 * 64 * 9 };
  float *const a = calloc(FLOATS, sizeof *a), *const b = calloc(FLOATS, sizeof *b),
               *const c = calloc(FLOATS, sizeof *c);
  if (!a || !b || !c) return 1;
  for (const product *p = products; p < products + sizeof products / sizeof *products; p++) {
    const int lda = p->ta == T ? p->k : p->m, ldb = p->tb == T ? p->n : p->k;
    if (p->count)
      cblas_sgemm_batch_strided(COLUMNS, p->ta, p->tb, p->m, p->n, p->k, 1, a, lda, p->shared_a ? 0 : p->m * p->k, b,
                                ldb, p->k * p->n, 0, c, p->m, p->m * p->n, p->count);
    else
      cblas_sgemm(COLUMNS, p->ta, p->tb, p->m, p->n, p->k, 1, a, lda, b, ldb, 0, c, p->m);
    puts(p->by);
  }
  free(a), free(b), free(c);
  return 0;
}
