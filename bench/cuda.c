/* SPDX-License-Identifier: Apache-2.0
 * The functions of CUDA's libraries. */
#include "bench/cuda.h"

#include "bench/peers.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SYMBOL(name, symbol, arguments) {symbol, offsetof(bench_cuda, name)},
static const bench_symbol runtime[] = {BENCH_CUDART(SYMBOL)}, library[] = {BENCH_CUBLAS(SYMBOL)};

bool bench_cuda_load(bench_cuda *cuda, char *why, size_t bytes) {
  return bench_peer_open("cudart", 0, runtime, COUNT(runtime), cuda, why, bytes) &&
         bench_peer_open("cublas", 0, library, COUNT(library), cuda, why, bytes);
}
