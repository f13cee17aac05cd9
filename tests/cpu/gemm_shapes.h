/* SPDX-License-Identifier: Apache-2.0
 * Random shapes of matrix products around the bounds of every path of the CPU kernels. */
#ifndef HX_TESTS_CPU_GEMM_SHAPES_H
#define HX_TESTS_CPU_GEMM_SHAPES_H

#include <stddef.h>
#include <stdint.h>

#include "cpu/cpu.h"

#define COUNT(x) (sizeof(x) / sizeof *(x))

static uint64_t rng_state;

static uint32_t random_u32(void) { /* splitmix64 */
  uint64_t z = rng_state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return (uint32_t)((z ^ z >> 31) >> 32);
}
static size_t random_below(size_t n) { return random_u32() % n; }

static size_t size_of_m_or_n(size_t tile) {
  static const size_t sizes[] = {1, 2, 3, 5, 7, 13, 17, 31, 37, 61, 64, 97, 101, 127, 149, 300, 521};
  switch (random_below(8)) {
    case 0:
      return tile - 1;
    case 1:
      return tile;
    case 2:
      return tile + 1;
    case 3:
      return 2 * tile + random_below(3) - 1;
    case 4:
      return random_below(20);
    default:
      return sizes[random_below(COUNT(sizes))];
  }
}

/* Shapes beyond the bounds of the thin paths: blocks of sums, blocks of k, groups of vectors, pairs of panels. */
static void thin_shape(hx__gemm *g) {
  static const size_t thin[] = {1, 2, 4, 5, 8, 9, 16, 17, 48, 49, 63, 64, 65}, few[] = {1, 2, 3, 4};
  static const size_t wide[] = {33, 200, 520, 1030}, depths[] = {63, 513, 1024, 1030, 1540, 2048};
  static const size_t small[] = {3, 7, 8, 15, 16, 20, 33}, long_k[] = {4096, 4609, 9000};
  const size_t way = random_below(3);
  g->m = way == 0   ? few[random_below(COUNT(few))]
         : way == 1 ? thin[random_below(COUNT(thin))]
                    : small[random_below(COUNT(small))];
  g->n = way == 2 ? small[random_below(COUNT(small))] : wide[random_below(COUNT(wide))];
  g->k = way == 2 ? long_k[random_below(COUNT(long_k))] : depths[random_below(COUNT(depths))];
  const size_t longer = g->m > g->n ? g->m : g->n; /* so that the operands fit into their arenas */
  while ((g->m * g->n * g->k > 8000000 || longer * g->k > 1300000) && g->k > 130) g->k /= 2;
  if (random_below(2)) {
    const size_t m = g->m;
    g->m = g->n;
    g->n = m;
  }
}

/* A narrow C, and k around the bound up to which a strip of B is packed for it on the stack. */
static void narrow_shape(hx__gemm *g) {
  static const size_t narrow[] = {5, 16, 24, 32, 33, 47, 48, 49}, others[] = {500, 1201, 3000},
                      depths[] = {1, 7, 23, 24, 25};
  const size_t few = narrow[random_below(COUNT(narrow))], many = others[random_below(COUNT(others))];
  const bool wide = random_below(2);
  g->m = wide ? few : many, g->n = wide ? many : few, g->k = depths[random_below(COUNT(depths))];
}

/* One column more than full tiles have, rows around a block of them, k around panels. */
static void edge_shape(hx__gemm *g) {
  static const size_t rows[] = {65, 66, 80, 127, 129, 200}, columns[] = {41, 49, 65, 97}, depths[] = {512, 513, 1030};
  g->m = rows[random_below(COUNT(rows))], g->n = columns[random_below(COUNT(columns))],
  g->k = depths[random_below(COUNT(depths))];
}

/* A few rows of C, with rows of a large B that share sets of the caches. */
static void shared_shape(hx__gemm *g) {
  g->m = 4 + random_below(6), g->n = 1020 + random_below(40), g->k = 500 + random_below(30);
  g->b_rs = 1024 * (1 + random_below(2)), g->b_cs = 1;
  if (g->b_rs < g->n) g->b_rs += 1024;
}

/* Few rows of C and many columns: B is computed strip by strip. Tiles and strips are full, or not. Smaller products
 * than these read B in place. */
static void wide_shape(hx__gemm *g) {
  static const size_t rows[] = {19, 24, 43, 44, 57, 64, 65, 100, 129}, columns[] = {768, 769, 784, 800, 801, 1050};
  static const size_t long_k[] = {300, 513}, short_k[] = {95, 96, 97, 130};
  g->m = rows[random_below(COUNT(rows))], g->n = columns[random_below(COUNT(columns))];
  g->k = g->m < 57 ? long_k[random_below(COUNT(long_k))] : short_k[random_below(COUNT(short_k))];
  g->b_rs = g->n + (random_below(2) ? 0 : random_below(40)), g->b_cs = 1;
  if (random_below(3)) g->a_rs = g->k + random_below(3), g->a_cs = 1; /* else any strides */
}

/* Rows of B a multiple of 4 KiB apart, up to 64 KiB, which are read in bands of 64 to 16 of them, or 68 KiB, which are
 * not; or about as far apart, but no such multiple. C has one block of columns, or two. */
static void banded_shape(hx__gemm *g) {
  static const size_t rows[] = {5, 8, 9, 14, 15, 28, 29, 31, 32, 33}, apart[] = {1, 2, 3, 4, 8, 16, 17};
  static const size_t columns[] = {130, 160, 255, 300, 700, 1023, 1100}, depths[] = {15, 17, 33, 64, 65, 130, 513, 600};
  g->b_rs = 1024 * apart[random_below(COUNT(apart))], g->b_cs = 1;
  g->m = rows[random_below(COUNT(rows))], g->n = columns[random_below(COUNT(columns))];
  if (g->b_rs < g->n) g->b_rs += 1024;
  if (random_below(2)) g->b_rs += 1 + random_below(600);
  g->k = depths[random_below(COUNT(depths))];
  while (g->k * g->b_rs > 3000000) g->k /= 2; /* so that B fits into its arena */
  while (g->m * g->n * g->k > 4000000) g->n = g->n / 2 > g->m ? g->n / 2 : g->n, g->m -= g->m / 3;
}

/* A matrix of more than 2 MiB times a vector. */
static void vector_shape(hx__gemm *g) {
  const size_t many = 510 + random_below(40), one = random_below(2);
  g->m = one ? 1 : many, g->n = one ? many : 1, g->k = 1020 + random_below(80);
}

/* Every 4th case has a long k and small m and n, the others a short k, because the reference is slow. */
static void random_shape(hx__gemm *g, const hx__cpu_kernels *kernels) {
  static const size_t depths[] = {511, 512, 513, 1023, 1024, 1025, 1537, 520, 700};
  static const size_t shallow[] = {0, 1, 2, 3, 5, 7, 8, 9, 16, 31, 64, 100, 128, 129, 256, 257};
  const bool deep = random_below(4) == 0;
  if (random_below(24) == 0) {
    thin_shape(g);
    return;
  }
  if (random_below(32) == 0) {
    narrow_shape(g);
    return;
  }
  if (random_below(48) == 0) {
    edge_shape(g);
    return;
  }
  if (random_below(160) == 0) {
    shared_shape(g);
    return;
  }
  if (random_below(80) == 0) {
    wide_shape(g);
    return;
  }
  if (random_below(24) == 0) {
    banded_shape(g);
    return;
  }
  if (random_below(80) == 0) {
    vector_shape(g);
    return;
  }
  g->m = size_of_m_or_n(kernels->mr);
  g->n = size_of_m_or_n(kernels->nr);
  g->k = deep ? depths[random_below(COUNT(depths))] : shallow[random_below(COUNT(shallow))];
  while (g->m * g->n * g->k > 3000000) *(g->m > g->n ? &g->m : &g->n) /= 2;
}

#endif
