/* SPDX-License-Identifier: Apache-2.0
 * Whether two strided matrices share an element, against marking every one: all small shapes, then random ones, then
 * shapes with too many rows to mark. */
#include "tests/check.h"

#include "runtime/task/task.h"

enum { CELLS = 1 << 14 };

static float place[CELLS];
static bool marked[CELLS];
static unsigned sharing, apart;

static bool overlap_by_marks(const hx__matrix *x, const hx__matrix *y) {
  bool share = false;
  memset(marked, 0, sizeof marked);
  for (size_t i = 0; i < x->rows; i++)
    for (size_t j = 0; j < x->cols; j++) marked[(size_t)(x->base - place) + i * x->ld + j] = true;
  for (size_t i = 0; i < y->rows; i++)
    for (size_t j = 0; j < y->cols; j++) share |= marked[(size_t)(y->base - place) + i * y->ld + j];
  return share;
}

static void compare(const hx__matrix *x, const hx__matrix *y) {
  const bool want = overlap_by_marks(x, y);
  *(want ? &sharing : &apart) += 1;
  CHECK(hx__matrices_share(x, y) == want && hx__matrices_share(y, x) == want,
        "%zu x %zu ld %zu and, %td after it, %zu x %zu ld %zu: %s", x->rows, x->cols, x->ld, y->base - x->base, y->rows,
        y->cols, y->ld, want ? "they share" : "they do not");
}

static void all_small_matrices(void) {
  for (size_t i = 0; i < 3 * 3 * 4 * 3 * 3 * 4; i++) {
    const size_t xc = 1 + i / 3 % 3, yc = 1 + i / 108 % 3;
    const hx__matrix x = {place, 1 + i % 3, xc, xc + i / 9 % 4};
    hx__matrix y = {place, 1 + i / 36 % 3, yc, yc + i / 324 % 4};
    for (size_t delta = 0; delta < 20; delta++) {
      y.base = place + delta;
      compare(&x, &y);
    }
  }
}

static uint64_t state;

static size_t random_below(size_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (size_t)((state >> 33) % n);
}

static void random_shapes(uint64_t seed) {
  printf("seed %llu\n", (unsigned long long)seed);
  state = seed;
  for (int i = 0; i < 20000; i++) {
    /* narrow rows that are far apart: most pairs nearly overlap */
    const size_t xc = 1 + random_below(6), yc = 1 + random_below(6);
    const hx__matrix x = {place, 1 + random_below(60), xc, xc + random_below(90)};
    const hx__matrix y = {place + random_below(2000), 1 + random_below(60), yc, yc + random_below(90)};
    compare(&x, &y);
  }
}

static void without_number(void) {
  const size_t rows = (size_t)1 << 40;
  const float *const base = (const float *)(uintptr_t)4096;
  hx__matrix x = {base, rows, 1, 6}, y = {base + 1, rows, 1, 9}; /* multiples of 6, and 1 more than those of 9 */
  CHECK(hx__matrices_share(&x, &y) == false, "6 i = 9 j + 1 has no solution, but they share an element");
  y.base = base + 3;
  CHECK(hx__matrices_share(&x, &y), "6 * 2 = 9 + 3, but they do not share an element");
  x.ld = 1000003;
  y = (hx__matrix){base + 900001, 900001, 1, 1000002}; /* 1000003 i = 1000002 j + 900001: i = j = 900001 */
  CHECK(!hx__matrices_share(&x, &y), "row 900000 is the last, but they share an element");
  y.rows++;
  CHECK(hx__matrices_share(&x, &y), "row 900001 is in both, but they do not share an element");
}

int main(int argc, char **argv) {
  all_small_matrices();
  random_shapes(argc > 1 ? strtoull(argv[1], NULL, 0) : 20261123u);
  printf("%u pairs share, %u do not\n", sharing, apart);
  CHECK(sharing > apart / 10 && apart > sharing / 10, "nearly all shapes share, or nearly none");
  without_number();
  return checks_end("overlap_test");
}
