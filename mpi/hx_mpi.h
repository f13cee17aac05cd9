/* SPDX-License-Identifier: Apache-2.0
 *
 * hx on many machines, over any MPI 3.1 library: a reduction or a matrix product of data that the ranks of a
 * communicator hold in parts has the bits that hx gives on one machine, for any number of ranks and any cut of the
 * data.
 *
 *     hx_value sum;
 *     hx_task part = hx_reduce(HX_SUM, HX_F32, x, n, &sum);    the n elements of this rank
 *     if (hx_mpi_reduce(comm, hx, &part) != HX_OK) puts(hx_mpi_error_detail());
 *
 * MPI_Init or MPI_Init_thread must have been called, and MPI_Finalize not. Every function with a communicator is
 * collective: all of its ranks call it, in the same order. Only the calling thread calls MPI; threads of hx do not, so
 * what MPI_Init gives is enough. The first call with a communicator duplicates it, so that messages of hx cannot meet
 * those of the program, and the first product divides a grid into its rows and columns; what they made goes when the
 * communicator is freed. Each rank has a context of its own and splits its share over its CPU and devices.
 *
 * Errors. All ranks return the same status, and the sentence of hx_mpi_error_detail() begins with the lowest rank that
 * failed. An error of MPI goes to the error handler of the communicator, which by default ends the program. If the
 * handler returns, the function returns HX_DEVICE_FAILED with MPI's text on the ranks that saw it, and the communicator
 * cannot be used any more. docs/MPI.md has more.
 */
#ifndef HX_MPI_H
#define HX_MPI_H

#include <hx.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reduces an array of which each rank holds a part: the array is the part of rank 0, then that of rank 1, and so on.
 * *part is the task that hx_reduce or hx_dot makes for the n elements of this rank, of which there may be none;
 * operation and type are the same on all ranks. For HX_SUM, with x the whole array and N its number of elements:
 *     s = 0; for (i = 0; i < N; i++) s = s + x[i]; *part->reduce.out = s;      in the order of docs/ARITHMETIC.md
 * Every rank gets the same result, with the bits of hx_offload for the whole array. HX_ARGMIN and HX_ARGMAX give the
 * index in the whole array. The arrays stay the caller's, and are not read after the call. A rank sends at most 4095
 * elements of each array to another. Besides, 32 bytes of each rank go to all, and at most 448 of partial results.
 * HX_INVALID_ARGUMENT: MPI is not initialized, or is finalized; comm is MPI_COMM_NULL or an intercommunicator (these
 *   are returned on this rank alone); a pointer is NULL; the task is not one of hx_reduce or hx_dot, or hx_offload
 *   would refuse it; the ranks differ in operation or type; the bytes of all elements together overflow 64 bits; min,
 *   max, argmin or argmax without an element on any rank. Nothing has been written.
 * HX_OUT_OF_MEMORY: no host memory on a rank.
 * HX_DEVICE_FAILED: as for hx_offload, or MPI returned an error. */
HX_API hx_status hx_mpi_reduce(MPI_Comm comm, hx_context *hx, const hx_task *part);

/* Computes C = alpha op(A) op(B) + beta C of matrices that the ranks of a grid hold in blocks, by SUMMA (van de Geijn
 * and Watts, 1997). The arguments are those of ScaLAPACK's psgemm. op(A) is m x k, op(B) is k x n and C is m x n,
 * each of them a submatrix of a larger matrix; the product has the bits of hx_offload for an hx_matmul of the whole
 * submatrices, with trans_a and trans_b:
 *     for (i < m) for (j < n) { s = 0; for (p < k) s = fma(op(A)(i,p), op(B)(p,j), s);
 *                               C(i,j) = alpha*s + beta*C(i,j); }
 * k is cut into panels of 512, whose sums are added in order (docs/ARITHMETIC.md, section 7).
 * grid: a communicator of MPI_Cart_create with two dimensions, which are the rows and the columns of the grid. Its
 *   ranks are those of a BLACS grid by rows (order 'R').
 * transa, transb: 'N' for the submatrix as it is; 'T' or 'C' if it is k x m (B: n x k) and its transpose enters.
 * ia, ja, ib, jb, ic, jc: the row and the column of the matrix with the first element of the submatrix, from 1. They
 *   need not be multiples of blocks.
 * desca, descb, descc: ScaLAPACK's descriptors, nine int each: DTYPE (1), CTXT (not read), M, N, MB, NB, RSRC, CSRC
 *   and LLD. Blocks may have any size, and each matrix others.
 * a, b, c: the local parts of the whole matrices, by columns, LLD elements apart.
 * All ranks pass the same arguments, apart from memory, CTXT and LLD. The memory stays the caller's. Elements of C
 * that are not in the submatrix are not written, nor are gaps. The submatrices may be of one matrix, if that of C has
 * no element in common with the others. alpha == 0 or k == 0: A and B are not read and may be NULL. beta == 0: the
 * old C is not read. Each rank needs memory for up to 1024 rows and columns of its part of C, or up to 64 MiB for more
 * of them if the grid has more than two rows or columns, and if beta is not 0 for up to another part of C; up to 64 MiB
 * of all this are kept for the next product. If A (B) is transposed, or its rows (columns) are not dealt out as those
 * of C are, it needs memory for another part of A (B), and twice for what it has of 512 of its rows or columns, or of a
 * block for each rank if that is more.
 * HX_INVALID_ARGUMENT: MPI is not initialized, or is finalized; grid is MPI_COMM_NULL or an intercommunicator (these
 *   are returned on this rank alone); grid has no Cartesian topology of two dimensions; hx, a descriptor or the
 *   memory of a part with elements is NULL; transa or transb is no letter of N, T and C; m, n or k is negative; a
 *   number of a descriptor is out of its range, or a submatrix is not within its matrix; LLD is less than the rows of
 *   a rank; a pointer is not aligned to 4 bytes; c overlaps a or b, or lies among their columns with another LLD;
 *   the ranks differ. Nothing has been written.
 * HX_OUT_OF_MEMORY: no host memory on a rank. C is unspecified.
 * HX_DEVICE_FAILED: as for hx_offload, or MPI returned an error. C is unspecified. */
HX_API hx_status hx_mpi_gemm(MPI_Comm grid, hx_context *hx, char transa, char transb, int m, int n, int k, float alpha,
                             const float *a, int ia, int ja, const int *desca, const float *b, int ib, int jb,
                             const int *descb, float beta, float *c, int ic, int jc, const int *descc);

/* hx_mpi_gemm of the first rows and columns of the matrices, which are not transposed: C = alpha A B + beta C.
 *     hx_mpi_gemm(grid, hx, 'N', 'N', m, n, k, alpha, a, 1, 1, desca, b, 1, 1, descb, beta, c, 1, 1, descc)
 * Errors are those of hx_mpi_gemm. */
HX_API hx_status hx_mpi_matmul(MPI_Comm grid, hx_context *hx, int m, int n, int k, float alpha, const float *a,
                               const int *desca, const float *b, const int *descb, float beta, float *c,
                               const int *descc);

/* Takes the place of a call of another function that this rank cannot make, for example because it has no data. The
 * other ranks, which call that function, do not wait for it: all ranks get `status`, and "rank 3: why" as the
 * sentence; or those of a lower rank that failed as well. Nothing has been written.
 * status: an error. why: one sentence without a full stop; up to 480 bytes of it are told.
 * HX_INVALID_ARGUMENT: status is HX_OK or no hx_status, or why is NULL (all ranks get this instead); MPI is not
 *   initialized, or is finalized; comm is MPI_COMM_NULL or an intercommunicator (these on this rank alone).
 * HX_OUT_OF_MEMORY, HX_DEVICE_FAILED: as for hx_mpi_reduce. */
HX_API hx_status hx_mpi_refuse(MPI_Comm comm, hx_status status, const char *why);

/* One sentence on the last failure of a function of this header in this thread; "" before the first, and never NULL. */
HX_API const char *hx_mpi_error_detail(void);

#ifdef __cplusplus
}
#endif
#endif
