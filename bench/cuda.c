/* SPDX-License-Identifier: Apache-2.0
 * Calls functions of CUDA's libraries. */
#include "bench/cuda.h"

#include "bench/peers.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SYMBOL(name, symbol, arguments) {symbol, offsetof(bench_cuda, name)},
static const bench_symbol runtime[] = {BENCH_CUDART(SYMBOL)}, library[] = {BENCH_CUBLAS(SYMBOL)};

bool bench_cuda_load(bench_cuda *cuda, char *why, size_t bytes) {
  return bench_peer_open("cudart", 0, runtime, COUNT(runtime), cuda, why, bytes) &&
         bench_peer_open("cublas", 0, library, COUNT(library), cuda, why, bytes);
}

int bench_cuda_open(bench_cuda *cuda, const float *a, size_t a_count, const float *b, size_t b_count, size_t c_count) {
  const size_t size = sizeof(float);
  int error = cuda->allocate((void **)&cuda->a, a_count * size);
  if (!error) error = cuda->allocate((void **)&cuda->b, b_count * size);
  if (!error) error = cuda->allocate((void **)&cuda->c, c_count * size);
  if (!error) error = cuda->copy(cuda->a, a, a_count * size, BENCH_TO_DEVICE);
  if (!error) error = cuda->copy(cuda->b, b, b_count * size, BENCH_TO_DEVICE);
  return error ? error : cuda->open(&cuda->handle);
}

/* cuBLAS stores matrices by columns, so this computes C^T = op(B)^T op(A)^T. */
int bench_cuda_multiply(const bench_cuda *cuda, size_t m, size_t n, size_t k, bool trans_a, bool trans_b) {
  static const float one = 1, zero = 0;
  const int rows = (int)m, columns = (int)n, inner = (int)k;
  return cuda->sgemm(cuda->handle, trans_b, trans_a, columns, rows, inner, &one, cuda->b, trans_b ? inner : columns,
                     cuda->a, trans_a ? rows : inner, &zero, cuda->c, columns);
}

int bench_cuda_multiply_batch(const bench_cuda *cuda, size_t side, size_t count) {
  static const float one = 1, zero = 0;
  const int n = (int)side;
  const long long step = (long long)side * (long long)side;
  return cuda->sgemm_batch(cuda->handle, 0, 0, n, n, n, &one, cuda->b, n, step, cuda->a, n, step, &zero, cuda->c, n,
                           step, (int)count);
}
