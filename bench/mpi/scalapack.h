/* SPDX-License-Identifier: Apache-2.0
 * What the benchmarks call of ScaLAPACK and BLACS, which have no headers for C. */
#ifndef BENCH_MPI_SCALAPACK_H
#define BENCH_MPI_SCALAPACK_H

extern void Cblacs_get(int context, int what, int *value);
extern void Cblacs_gridinit(int *context, const char *order, int rows, int columns);
extern void psgemm_(const char *trans_a, const char *trans_b, const int *m, const int *n, const int *k,
                    const float *alpha, const float *a, const int *ia, const int *ja, const int *desca, const float *b,
                    const int *ib, const int *jb, const int *descb, const float *beta, float *c, const int *ic,
                    const int *jc, const int *descc);

#endif
