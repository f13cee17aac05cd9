/* SPDX-License-Identifier: Apache-2.0
 * Times the matrix product of one thread with other block sizes than its own: the data behind gemm_blocking in
 * cpu/gemm_kernels.h.
 *     time_blocks [ISA [SECONDS]]      ISA: avx512 (default), avx2 or sse2; SECONDS for each side (default 4)
 * Prints a row for each product and pair of block sizes: the least time of rounds in which all pairs take turns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu.h"
#include "runtime/base/clock.h"
#include "runtime/topo/topo.h"

enum { PAIRS = 20, SCRATCH_ALIGN = 64 };

static const size_t sides[] = {512, 768, 1024, 1536, 2048, 3072};
static const size_t rows[] = {252, 504, 1008, 2016};
static const size_t eighths[] = {1, 2, 3, 4, 6}; /* of L2, for a block of B */

static float *floats(size_t count) {
  float *const p =
      aligned_alloc(SCRATCH_ALIGN, (count * sizeof *p + SCRATCH_ALIGN - 1) / SCRATCH_ALIGN * SCRATCH_ALIGN);
  if (!p) {
    fputs("time_blocks: no memory\n", stderr);
    exit(1);
  }
  for (size_t i = 0; i < count; i++) p[i] = (float)(i * 7919 % 1000) / 1000.0f - 0.5f;
  return p;
}

static uint64_t time_once(const hx__cpu_kernels *kernels, const hx__gemm *g, hx__gemm_blocking blocking,
                          float *scratch) {
  const uint64_t from = hx__now_ns();
  kernels->gemm(g, blocking, NULL, NULL, scratch);
  return hx__now_ns() - from;
}

static void time_side(const hx__cpu_kernels *kernels, size_t side, double seconds) {
  const size_t l2 = hx__topo_get()->l2_bytes;
  hx__gemm_blocking pair[PAIRS];
  uint64_t least[PAIRS];
  size_t pairs = 0, scratch_bytes = 0;
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
    for (size_t e = 0; e < sizeof eighths / sizeof eighths[0]; e++) {
      hx__gemm_blocking b = kernels->gemm_blocking(l2);
      b.mc = rows[r] / kernels->mr * kernels->mr;
      b.nc = l2 / 8 * eighths[e] / (HX__PANEL * sizeof(float)) / kernels->nr * kernels->nr;
      const size_t bytes = kernels->gemm_scratch_bytes(b, side, side, side);
      if (bytes > scratch_bytes) scratch_bytes = bytes;
      least[pairs] = UINT64_MAX;
      pair[pairs++] = b;
    }
  float *const a = floats(side * side), *const b = floats(side * side), *const c = floats(side * side);
  float *const scratch = floats(scratch_bytes / sizeof(float));
  const hx__gemm g = {.m = side,
                      .n = side,
                      .k = side,
                      .a = a,
                      .a_rs = side,
                      .a_cs = 1,
                      .b = b,
                      .b_rs = side,
                      .b_cs = 1,
                      .c = c,
                      .ldc = side,
                      .alpha = 1};
  const uint64_t end = hx__now_ns() + (uint64_t)(seconds * 1e9);
  do {
    for (size_t i = 0; i < pairs; i++) {
      const uint64_t ns = time_once(kernels, &g, pair[i], scratch);
      if (ns < least[i]) least[i] = ns;
    }
  } while (hx__now_ns() < end);
  const double flops = 2.0 * (double)side * (double)side * (double)side;
  for (size_t i = 0; i < pairs; i++)
    printf("%zu\t%zu\t%zu\t%.1f\n", side, pair[i].mc, pair[i].nc, flops / (double)least[i]);
  free(a), free(b), free(c), free(scratch);
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    hx__isa isa;
  } isas[] = {{"avx512", HX__ISA_AVX512}, {"avx2", HX__ISA_AVX2}, {"sse2", HX__ISA_SSE2}};
  const double seconds = argc > 2 ? atof(argv[2]) : 4;
  for (size_t i = 0; i < sizeof isas / sizeof isas[0]; i++) {
    if (argc > 1 && strcmp(argv[1], isas[i].name) != 0) continue;
    const hx__cpu_kernels *const kernels = hx__cpu_kernels_for(isas[i].isa);
    if (!kernels) {
      fprintf(stderr, "time_blocks: this CPU has no %s\n", isas[i].name);
      return 1;
    }
    printf("# %s, L2 %zu KiB, one thread\nside\tmc\tnc\tGFLOP/s\n", isas[i].name, hx__topo_get()->l2_bytes >> 10);
    for (size_t s = 0; s < sizeof sides / sizeof sides[0]; s++) time_side(kernels, sides[s], seconds);
    return 0;
  }
  fprintf(stderr, "usage: time_blocks [avx512|avx2|sse2 [SECONDS]]\n");
  return 2;
}
