/* SPDX-License-Identifier: Apache-2.0
 * The patterns of `ladder lds` with the number of transactions that the text's rules give, its copies, and their exact
 * results. */
#include "bench/ladder_lds.h"

/* 32 bits: one transaction, unless lanes want different words of one bank. */
static uint32_t own(unsigned lane, unsigned n) {
  (void)n;
  return lane;
}
static uint32_t one_for(unsigned lane, unsigned n) { return lane / n; } /* n neighbours want the same */
static uint32_t on_one_bank(unsigned lane, unsigned n) { return lane % n * LDS_LANES + lane / n; }
static uint32_t every(unsigned lane, unsigned n) { return lane * n; }
/* A column of a tile of 32 words a row, or of 8 quads. */
static uint32_t swizzled(unsigned lane, unsigned n) { return lane * n + ((3 ^ lane) & (n - 1)); }

/* 64 bits: the text's five kernels. */
static uint32_t t1(unsigned lane, unsigned n) { return lane < n ? lane : LDS_NONE; }
static uint32_t t2(unsigned lane, unsigned n) {
  (void)n;
  return lane < 15 ? lane : lane == 16 ? 15 : LDS_NONE;
}
static uint32_t by_two(unsigned lane) { return (lane & 1) + lane / 4 * 2; } /* lanes i and i^2 want the same */
static uint32_t t4(unsigned lane, unsigned n) {
  (void)n;
  return lane < 16 ? lane / 2 : by_two(lane);
}
static uint32_t t5(unsigned lane, unsigned n) { return lane % n; }

/* 128 bits: the text's four remarks, on lanes from..to of which pairs want the same. */
static uint32_t pairs_below(unsigned lane, unsigned n) { return lane < n ? lane / 2 : LDS_NONE; }
static uint32_t pairs_between(unsigned lane, unsigned n) { return lane >= n && lane < 24 ? lane / 2 : LDS_NONE; }

#define CONFLICT(n) \
  { #n "-way conflict", 1, n, on_one_bank, n, true }

const lds_pattern lds_patterns[] = {
    {"own", 1, 1, on_one_bank, 1, true},
    CONFLICT(2),
    CONFLICT(3),
    CONFLICT(4),
    CONFLICT(6),
    CONFLICT(8),
    CONFLICT(12),
    CONFLICT(16),
    CONFLICT(24),
    CONFLICT(32),
    {"one word for all", 1, 1, one_for, LDS_LANES, false},
    {"a word for two", 1, 1, one_for, 2, false},
    {"column of a tile", 1, 32, every, LDS_LANES, false},
    {"column, padded", 1, 1, every, LDS_LANES + 1, false},
    {"column, swizzled", 1, 1, swizzled, LDS_LANES, false},
    {"64 bits, t1: half a warp", 2, 1, t1, 16, false},
    {"64 bits, t2: both halves", 2, 2, t2, 0, false},
    {"64 bits, t3: i and i^1", 2, 1, one_for, 2, false},
    {"64 bits, t4: two rules", 2, 2, t4, 0, false},
    {"64 bits, t5: same halves", 2, 2, t5, 16, false},
    {"64 bits, own", 2, 2, own, 0, false},
    {"64 bits, every second", 2, 4, every, 2, false},
    {"128 bits, own", 4, 4, own, 0, false},
    {"128 bits, 0-15, i^1", 4, 1, pairs_below, 16, false},
    {"128 bits, 8-23, i^1", 4, 2, pairs_between, 8, false},
    {"128 bits, two rules", 4, 4, t4, 0, false},
    {"128 bits, i and i^1", 4, 2, one_for, 2, false},
    {"128 bits, column", 4, 32, every, 8, false},
    {"128 bits, padded", 4, 4, every, 9, false},
    {"128 bits, swizzled", 4, 4, swizzled, 8, false},
};
const size_t lds_pattern_count = sizeof lds_patterns / sizeof lds_patterns[0];

/* The methods of ladder_lds.cl. */
enum { REGISTERS = LDS_REGISTERS, CA, CG, CA_PREDICATE, CA_BRANCH };
#define WORD "registers, 4 bytes"
#define PAIR "registers, 8 bytes"
#define QUAD "registers, 16 bytes"
#define BRANCH ".ca, half by a branch"

const lds_copy lds_copies[LDS_COPIES] = {
    {WORD, NULL, 1, 1, REGISTERS, -1, 0},
    {PAIR, NULL, 2, 1, REGISTERS, -1, 0},
    {QUAD, NULL, 4, 1, REGISTERS, -1, 0},
    {"cp.async.ca, 4 bytes", WORD, 1, 1, CA, -1, 0},
    {"cp.async.ca, 8 bytes", PAIR, 2, 1, CA, -1, 0},
    {"cp.async.ca, 16 bytes", QUAD, 4, 1, CA, -1, 0},
    {"cp.async.cg, 16 bytes", QUAD, 4, 1, CG, -1, 0},
    {".ca, 0 of 4 bytes", WORD, 1, 1, CA, 0, 0},
    {BRANCH, WORD, 1, 1, CA_BRANCH, 0, 0},
    {".ca, half by @p", BRANCH, 1, 1, CA_PREDICATE, 0, 0},
    {".ca, 4 of 8 bytes", PAIR, 2, 1, CA, 4, 0},
    {".cg, 0 of 16 bytes", QUAD, 4, 1, CG, 0, 0},
    {".cg, 4 of 16 bytes", QUAD, 4, 1, CG, 4, 0},
    {".cg, wait_group 1", QUAD, 4, 2, CG, -1, 0},
    {".cg, wait_group 3", QUAD, 4, 4, CG, -1, 0},
    {".cg.L2::64B", QUAD, 4, 1, CG, -1, 64},
    {".cg.L2::128B", QUAD, 4, 1, CG, -1, 128},
    {".cg.L2::256B", QUAD, 4, 1, CG, -1, 256},
};

uint32_t lds_expected_read(const lds_pattern *pattern, const uint32_t *words, unsigned lane, size_t accesses) {
  const uint32_t place = pattern->place(lane, pattern->n);
  uint32_t sum = 0;
  for (size_t i = 0; place != LDS_NONE && i < accesses; i++)
    for (unsigned w = 0; w < pattern->width; w++)
      sum += words[place * pattern->width + (i / LDS_UNROLL % 8 + i % LDS_UNROLL) * 128 + w];
  return sum;
}

uint32_t lds_expected_copy(const lds_copy *copy, const uint32_t *words, unsigned item, unsigned local,
                           size_t accesses) {
  const unsigned from = local - 1 - item, blocks = LDS_WORDS / (local * copy->width);
  const unsigned copied = copy->fill >= 0 && from % 2 ? (unsigned)copy->fill / 4 : copy->width;
  uint32_t sum = 0;
  for (size_t i = 0; i < accesses; i++)
    for (unsigned w = 0; w < copied; w++) sum += words[(i % blocks * local + from) * copy->width + w];
  return sum;
}
