/* SPDX-License-Identifier: Apache-2.0
 * Every host reduction of every ISA this CPU has, against the definition of a slot written out in plain C: lengths
 * around every boundary of vector, row and leaf, all kinds of data, any 4-byte alignment, and arrays that end or begin
 * at a page that may not be touched. Results are compared as integers. Usage: cpu_reduce_test [seed] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/isa.h"
#include "reference/data.h"
#include "tests/cpu_memory.h"

#define MAX_N 12400u
#define FAR_N ((size_t)1 << 17) /* two arrays that are longer do not fit into the second cache */
#define MOST_N (2 * FAR_N + 1 + MAX_N)
#define MAX_LEAVES ((MOST_N + HX__LEAF - 1) / HX__LEAF)
#define CANARY 0x5a5a5a5a5a5a5a5aull

/* --- The definition. --- */

static bool is_nan(uint32_t b) { return (b & 0x7fffffffu) > 0x7f800000u; }

static uint64_t float_slot(hx_op op, const uint32_t *x, const uint32_t *y, size_t n) {
  volatile float t[HX__LANES]; /* volatile: each operation is rounded by itself, in this order */
  for (size_t j = 0; j < HX__LANES; j++) t[j] = op == HX_PROD ? 1.0f : -0.0f;
  for (size_t i = 0; i < n; i++) {
    volatile float p = float_of_bits(x[i]);
    if (op == HX_DOT) p = p * float_of_bits(y[i]);
    if (op == HX_SUM_SQUARES) p = p * p;
    if (op == HX_SUM_ABS) p = float_of_bits(x[i] & 0x7fffffffu);
    t[i % HX__LANES] = op == HX_PROD ? t[i % HX__LANES] * p : t[i % HX__LANES] + p;
  }
  for (size_t h = HX__LANES / 2; h > 0; h /= 2)
    for (size_t j = 0; j < h; j++) t[j] = op == HX_PROD ? t[j] * t[j + h] : t[j] + t[j + h];
  uint32_t b = bits_of_float(t[0]);
  return is_nan(b) ? HX__CANONICAL_NAN : b;
}

static uint64_t widened(hx_type type, uint32_t b) { return type == HX_I32 ? (uint64_t)(int64_t)(int32_t)b : b; }

static uint64_t integer_slot(hx_op op, hx_type type, const uint32_t *x, const uint32_t *y, size_t n) {
  uint64_t s = op == HX_PROD ? 1 : 0;
  for (size_t i = 0; i < n; i++) {
    uint64_t a = widened(type, x[i]);
    switch (op) {
      case HX_SUM:
        s += a;
        break;
      case HX_SUM_ABS:
        s += (int64_t)a < 0 ? 0 - a : a;
        break;
      case HX_SUM_SQUARES:
        s += a * a;
        break;
      case HX_DOT:
        s += a * widened(type, y[i]);
        break;
      default:
        s *= a;
    }
  }
  return s;
}

static uint32_t extremum_key(hx_op op, hx_type type, uint32_t b) {
  if (type == HX_F32) {
    if (is_nan(b)) return 0;
    if ((op == HX_ARGMIN || op == HX_ARGMAX) && b == 0x80000000u) b = 0;
    b ^= b >> 31 ? 0xffffffffu : 0x80000000u;
  }
  if (type == HX_I32) b ^= 0x80000000u;
  return op == HX_MAX || op == HX_ARGMAX ? ~b : b;
}

static uint64_t extremum_slot(hx_op op, hx_type type, const uint32_t *x, size_t n) {
  size_t best = 0;
  for (size_t i = 1; i < n; i++)
    if (extremum_key(op, type, x[i]) < extremum_key(op, type, x[best])) best = i;
  uint64_t k = extremum_key(op, type, x[best]);
  return op == HX_MIN || op == HX_MAX ? k : k << 32 | best;
}

static uint64_t expected_slot(hx_op op, hx_type type, const uint32_t *x, const uint32_t *y, size_t n) {
  if (op == HX_MIN || op == HX_MAX || op == HX_ARGMIN || op == HX_ARGMAX) return extremum_slot(op, type, x, n);
  return type == HX_F32 ? float_slot(op, x, y, n) : integer_slot(op, type, x, y, n);
}

/* --- Data beyond data.h: dense mixtures of special values, and one special value in a plain array. --- */

enum {
  KIND_DENSE = DATA_KINDS,
  KIND_ONE_NAN,
  KIND_NO_NEGATIVE,
  KIND_NO_POSITIVE,
  KIND_NO_SPECIAL_NAN,
  KIND_ODD,
  KIND_TWO_BEST, /* the same least and greatest value at two places each, between equal ones */
  KIND_LEAST,    /* nothing but INT32_MIN: the bounds of sums without widening */
  KIND_MOST,     /* INT32_MAX */
  KIND_ONES,     /* UINT32_MAX */
  KINDS
};

static const uint32_t special[] = {0,           0x80000000u, 0x3f800000u, 0xbf800000u, 1u,
                                   0x80000001u, 0x007fffffu, 0x7f7fffffu, 0xff7fffffu, 0x7f800000u,
                                   0xff800000u, 0x7fc00000u, 0xffc12345u, 0x7f800001u};
enum { SPECIALS = sizeof special / sizeof special[0], SPECIAL_NANS = 3 };

static void fill_input(hx_type type, int kind, uint64_t seed, uint32_t *x, size_t n) {
  data_fill(type, kind < DATA_KINDS ? (data_kind)kind : DATA_SIGNED, seed, x, n);
  for (size_t i = 0; i < n; i++) {
    uint32_t u = data_u(seed + 99, i);
    if (kind == KIND_DENSE) x[i] = special[u % SPECIALS];
    if (kind == KIND_NO_SPECIAL_NAN) x[i] = special[u % (SPECIALS - SPECIAL_NANS)];
    if (kind == KIND_TWO_BEST) x[i] = 0x00800000u;
    if (kind == KIND_LEAST) x[i] = 0x80000000u;
    if (kind == KIND_MOST) x[i] = 0x7fffffffu;
    if (kind == KIND_ONES) x[i] = 0xffffffffu;
    if (kind == KIND_ODD) x[i] |= 1u; /* an integer product that never becomes 0 */
    if (kind == KIND_NO_NEGATIVE) x[i] = u % 8 ? x[i] & 0x7fffffffu : u & 0x80000000u; /* and zeros of both signs */
    if (kind == KIND_NO_POSITIVE) x[i] = u % 8 ? x[i] | 0x80000000u : u & 0x80000000u;
  }
  for (uint64_t i = 0; kind == KIND_TWO_BEST && i < 4; i++) x[data_u(seed + 97, i) % n] = i < 2 ? 1u : 0x7f000000u;
  if (kind == KIND_ONE_NAN) x[data_u(seed + 98, 0) % n] = 0xff812345u;
}

static uint64_t checked, failed;

/* Ignores the index of every leaf except the first one that has the best key, because only that one is defined. */
static void got_index(const uint64_t *want, uint64_t *got, size_t leaves) {
  size_t best = 0;
  for (size_t l = 1; l < leaves; l++)
    if (want[l] >> 32 < want[best] >> 32) best = l;
  for (size_t l = 0; l < leaves; l++)
    if (l != best) got[l] = (got[l] & ~0xffffffffull) | (uint32_t)want[l];
}

/* The kernels of each ISA, the chosen ones, which may mix those of several, and those for Intel's cores with VNNI,
 * which other cores do not use but may be able to run. */
enum { MOST_SETS = HX__ISAS + 2 };
static struct kernel_set {
  const char *name;
  const hx__cpu_kernels *kernels;
} sets[MOST_SETS];
static size_t set_count;

static void add_set(const char *name, const hx__cpu_kernels *kernels) {
  if (kernels) sets[set_count++] = (struct kernel_set){name, kernels};
}

static void find_sets(void) {
  for (hx__isa isa = HX__ISA_AUTO; isa < HX__ISAS; isa++)
    add_set(isa == HX__ISA_AUTO ? "auto" : hx__isa_name(isa), hx__cpu_kernels_for(isa));
#if defined(__x86_64__)
  if (hx__cpu_kernels_for(HX__ISA_AVX2) && hx__cpu_has_vnni(HX__ISA_AVX2)) add_set("avx2-vnni", &hx__cpu_avx2_vnni);
  if (hx__cpu_kernels_for(HX__ISA_AVX512) && hx__cpu_has_vnni(HX__ISA_AVX512))
    add_set("avx512-vnni", &hx__cpu_avx512_vnni);
#endif
}

static void check_slots(uint64_t seed, hx_op op, hx_type type, int kind, const uint32_t *x, const uint32_t *y, size_t n,
                        hx__locality reach) {
  size_t leaves = (n + HX__LEAF - 1) / HX__LEAF;
  uint64_t want[MAX_LEAVES], got[MAX_LEAVES + 1];
  for (size_t l = 0; l < leaves; l++) {
    size_t at = l * HX__LEAF, part = n - at < HX__LEAF ? n - at : HX__LEAF;
    want[l] = expected_slot(op, type, x + at, op == HX_DOT ? y + at : NULL, part);
  }
  for (const struct kernel_set *set = sets; set < sets + set_count; set++) {
    const hx__cpu_kernels *const k = set->kernels;
    for (size_t l = 0; l <= leaves; l++) got[l] = CANARY;
    k->leaf[op][type](x, op == HX_DOT ? y : NULL, n, reach, got);
    checked++;
    if (leaves == 1 && k->one_leaf[op][type](x, op == HX_DOT ? y : NULL, n) != got[0]) {
      printf("%s %s %s: kind %d seed %llu n %zu: the one leaf differs\n", set->name, hx__op_names[op],
             hx__type_names[type], kind, (unsigned long long)seed, n);
      failed++;
    }
    if (op == HX_ARGMIN || op == HX_ARGMAX) got_index(want, got, leaves);
    for (size_t l = 0; l <= leaves; l++) {
      uint64_t expected = l < leaves ? want[l] : CANARY;
      if (got[l] == expected) continue;
      if (failed++ < 20)
        printf(
            "%s %s %s: kind %d seed %llu n %zu address %% 64 = %d: reach %d: slot %zu of %zu is %016llx, not %016llx\n",
            set->name, hx__op_names[op], hx__type_names[type], kind, (unsigned long long)seed, n,
            (int)((uintptr_t)x % 64), (int)reach, l, leaves, (unsigned long long)got[l], (unsigned long long)expected);
    }
  }
}

static void check_all(uint64_t seed, guarded mx, guarded my, size_t n, bool at_end, size_t shift) {
  uint32_t *x = (uint32_t *)(at_end ? mx.end - shift - 4 * n : mx.first + shift);
  uint32_t *y = (uint32_t *)(at_end ? my.end - 4 * n : my.first + 60 - shift);
  for (hx_type type = HX_F32; type <= HX__TYPE_COUNT; type++) {
    for (int kind = 0; kind < KINDS; kind++) {
      fill_input(type, kind, seed, x, n);
      fill_input(type, kind, seed + 1, y, n);
      for (hx_op op = HX_SUM; op <= HX__OP_COUNT; op++)
        for (hx__locality reach = HX__IN_L2; reach <= HX__IN_DRAM; reach++)
          check_slots(seed, op, type, kind, x, y, n, reach);
    }
  }
}

int main(int argc, char **argv) {
  static const size_t sizes[] = {1,    2,    3,    4,    5,    7,    8,    9,    15,   16,    17,   31,   32,   33,
                                 47,   48,   49,   63,   64,   65,   95,   96,   97,   127,   128,  129,  191,  192,
                                 193,  255,  256,  257,  383,  384,  385,  511,  512,  513,   1000, 2047, 2048, 2049,
                                 3968, 4031, 4095, 4096, 4097, 4224, 8191, 8192, 8193, 12288, 12289};
  uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
  printf("cpu_reduce_test: seed %llu, kernels:", (unsigned long long)seed);
  find_sets();
  for (const struct kernel_set *set = sets; set < sets + set_count; set++) {
    printf(" %s", set->name);
    for (hx_op op = HX_SUM; op <= HX__OP_COUNT; op++)
      for (hx_type type = HX_F32; type <= HX__TYPE_COUNT; type++) {
        if (set->kernels->leaf[op][type] && set->kernels->one_leaf[op][type]) continue;
        printf("\n%s lacks %s %s\n", set->name, hx__op_names[op], hx__type_names[type]);
        return 1;
      }
  }
  for (hx__isa isa = HX__ISA_SSE2; isa < HX__ISAS; isa++)
    if (hx__cpu_kernels_for(isa) && hx__cpu_kernels_for(isa)->isa != isa) failed++;
  printf("\n");

  guarded mx = guarded_make(4 * MOST_N + 64), my = guarded_make(4 * MOST_N + 64);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    check_all(seed + 3 * i, mx, my, sizes[i], true, 0);
    check_all(seed + 3 * i + 1, mx, my, sizes[i], true, 4 * (1 + data_u(seed, i) % 15));
    check_all(seed + 3 * i + 2, mx, my, sizes[i], false, 4 * (data_u(seed + 1, i) % 16));
  }
  for (uint64_t i = 0; i < 60; i++) { /* the tails of short lengths, then any length */
    size_t n = 1 + data_u(seed + 2, i) % (i < 40 ? 300 : MAX_N);
    check_all(seed + 1000 + i, mx, my, n, i % 2 == 0, 4 * (i / 2 % 16));
  }
  for (uint64_t i = 0; i < 2; i++) /* the loops for data in memory, with two arrays and with one */
    check_all(seed + 2000 + i, mx, my, (i + 1) * FAR_N + 1 + data_u(seed + 3, i) % MAX_N, true, 0);
  printf("cpu_reduce_test: %s: %llu results, %llu wrong\n", failed ? "FAILED" : "ok", (unsigned long long)checked,
         (unsigned long long)failed);
  return failed != 0;
}
