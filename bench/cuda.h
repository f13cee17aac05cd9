/* SPDX-License-Identifier: Apache-2.0
 * The functions of CUDA's runtime and of cuBLAS that hx-bench and fit/time_rows call. They are loaded at run time
 * (peers.h). */
#ifndef HX_BENCH_CUDA_H
#define HX_BENCH_CUDA_H

#include <stdbool.h>
#include <stddef.h>

#define BENCH_CUDART(F)                                      \
  F(allocate, "cudaMalloc", (void **, size_t))               \
  F(copy, "cudaMemcpy", (void *, const void *, size_t, int)) \
  F(fill, "cudaMemset", (void *, int, size_t))               \
  F(release, "cudaFree", (void *))                           \
  F(finish, "cudaDeviceSynchronize", (void))                 \
  F(event_new, "cudaEventCreate", (void **))                 \
  F(event_end, "cudaEventDestroy", (void *))                 \
  F(record, "cudaEventRecord", (void *, void *))             \
  F(elapsed, "cudaEventElapsedTime", (float *, void *, void *))
#define BENCH_CUBLAS(F)                                                                                              \
  F(open, "cublasCreate_v2", (void **))                                                                              \
  F(close, "cublasDestroy_v2", (void *))                                                                             \
  F(sgemm, "cublasSgemm_v2",                                                                                         \
    (void *, int, int, int, int, int, const float *, const float *, int, const float *, int, const float *, float *, \
     int))                                                                                                           \
  F(sgemm_batch, "cublasSgemmStridedBatched",                                                                        \
    (void *, int, int, int, int, int, const float *, const float *, int, long long, const float *, int, long long,   \
     const float *, float *, int, long long, int))

enum { BENCH_TO_DEVICE = 1, BENCH_TO_HOST = 2 }; /* directions of a copy */

#define BENCH_CUDA_MEMBER(name, symbol, arguments) int(*name) arguments;
typedef struct bench_cuda {
  BENCH_CUDART(BENCH_CUDA_MEMBER)
  BENCH_CUBLAS(BENCH_CUDA_MEMBER)
  void *handle;     /* the handle of cuBLAS */
  float *a, *b, *c; /* in device memory */
} bench_cuda;

/* Returns false if something is missing, which `why` names. */
bool bench_cuda_load(bench_cuda *cuda, char *why, size_t bytes);
/* Both return an error of CUDA or cuBLAS, or 0. Open creates a and b with copies of the given elements, and c. Multiply
 * starts C = op(A) op(B) with row-major matrices, and does not wait for it. */
int bench_cuda_open(bench_cuda *cuda, const float *a, size_t a_count, const float *b, size_t b_count, size_t c_count);
int bench_cuda_multiply(const bench_cuda *cuda, size_t m, size_t n, size_t k, bool trans_a, bool trans_b);
/* The same for `count` products of square matrices, one after the other. */
int bench_cuda_multiply_batch(const bench_cuda *cuda, size_t side, size_t count);

#endif
