/* SPDX-License-Identifier: Apache-2.0
 * The CPU matrix product of every ISA that this machine has, against the scalar definition of docs/ARITHMETIC.md, as
 * integers: shapes around every tile and panel boundary, strides, alpha and beta, kinds of data, pointer shifts,
 * blocks forced small, operands packed here or ahead, blocks of rows and columns that share one, panels stored apart,
 * no scratch, operands that end at an inaccessible page, canaries in every gap of C and behind every buffer. Kernels
 * choose as on AMD's cores in half of the cases, and as on others in the rest, whatever the CPU is.
 *
 *     cpu_gemm_test [cases [seed]] */
#define _GNU_SOURCE
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpu/cpu.h"
#include "runtime/base/fpenv.h"
#include "tests/cpu/gemm_shapes.h"
#include "tests/cpu_memory.h"

#define CANARY 0x5ca1ab1eu
#define ARENA_FLOATS ((size_t)1 << 22) /* the largest operand with its gaps */

enum { OPERAND_A, OPERAND_B, OPERAND_C, OPERANDS };
typedef enum data_kind {
  KIND_INTEGERS,
  KIND_UNIFORM,
  KIND_DENORMALS,
  KIND_SPECIAL,
  KIND_WIDE,
  KIND_TIES, /* few bits that are far apart: sums that no double can represent, at or near the middle of two floats */
  KIND_ZEROS,
  KINDS
} data_kind;

static const hx__isa isas[] = {HX__ISA_SSE2, HX__ISA_AVX2, HX__ISA_AVX512, HX__ISA_NEON, HX__ISA_AUTO};

static bool prefetches; /* what the kernels are told */
bool __wrap_hx__cpu_prefetches(void);
bool __wrap_hx__cpu_prefetches(void) { return prefetches; }

static const char *const kind_names[KINDS] = {"integers", "uniform", "denormals", "special", "wide", "ties", "zeros"};

static float random_value(data_kind kind) {
  static const uint32_t special[] = {0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f812345,
                                     0x7f7fffff, 0xff7fffff, 0x00000000, 0x80000000, 0x00000001};
  static const uint32_t tie[] = {0, 1, 2, 3, 0x400000, 0x7ffffe, 0x7fffff, 0x000800, 0x001001};
  const uint32_t u = random_u32();
  switch (kind) {
    case KIND_INTEGERS:
      return (float)(int)(u % 17) - 8.0f;
    case KIND_UNIFORM:
      return (float)(int32_t)u * 0x1p-31f;
    case KIND_DENORMALS:
      return float_of_bits(u % 8 == 0 ? (u & 0x80000000u) | 0x3f800000u : u & 0x80ffffffu);
    case KIND_SPECIAL:
      return u % 64 == 0 ? float_of_bits(special[u / 64 % COUNT(special)]) : (float)(u >> 8) * 0x1p-24f;
    case KIND_WIDE:
      return float_of_bits((u & 0x807fffffu) | (60u + (u >> 8) % 130u) << 23);
    case KIND_TIES:
      return float_of_bits((u & 0x80000000u) | (115u + u % 3u * 12u) << 23 | tie[(u >> 8) % COUNT(tie)]);
    default:
      return u & 1 ? -0.0f : 0.0f;
  }
}

static float canonical(float x) { return x != x ? float_of_bits(HX__CANONICAL_NAN) : x; }

/* docs/ARITHMETIC.md: acc = fma(a, b, acc) from +0 in panels of 512 along k; panels added in order; alpha, beta, NaN at
 * the end. */
static float reference(const hx__gemm *g, size_t i, size_t j, float old) {
  if (g->k == 0 || g->alpha == 0) return g->beta == 0 ? 0.0f : canonical(g->beta * old);
  float sum = 0;
  for (size_t first = 0; first < g->k; first += 512) {
    float acc = 0;
    for (size_t p = first; p < g->k && p < first + 512; p++) {
      acc = fmaf(g->a[i * g->a_rs + p * g->a_cs], g->b[p * g->b_rs + j * g->b_cs], acc);
    }
    sum = first ? sum + acc : acc;
  }
  const float t = g->alpha == 1 ? sum : g->alpha * sum;
  return canonical(g->beta == 0 ? t : fmaf(g->beta, old, t));
}

/* The place of an operand of `count` floats: at the end of the accessible pages, so that one byte more faults, or
 * shifted within them. */
static float *arenas[OPERANDS];

static float *place_operand(int operand, size_t count, bool at_end) {
  return arenas[operand] + (at_end ? ARENA_FLOATS - count : 1024 + random_below(16));
}

/* Strides of an operand of rows x columns; returns the floats from its first to its last element. Rows that are 4 or 16
 * KB apart take other paths. */
static size_t strides(size_t rows, size_t columns, size_t *rs, size_t *cs) {
  const size_t gap = random_below(2) ? 0 : 1 + random_below(5), other = random_below(16) ? 1 : 2 + random_below(2);
  const bool transposed = random_below(2);
  *rs = transposed ? other : columns * other + gap;
  *cs = transposed ? rows * other + gap : other;
  const size_t unit = random_below(2) ? 1024 : 4096, apart = (*rs + unit - 1) / unit * unit;
  if (!transposed && random_below(8) == 0 && rows * apart <= ARENA_FLOATS / 2) *rs = apart;
  return rows && columns ? (rows - 1) * *rs + (columns - 1) * *cs + 1 : 0;
}

static bool report(const hx__gemm *g, const char *isa, const char *kind, hx__gemm_blocking blocking, size_t i, size_t j,
                   uint32_t want, uint32_t got) {
  printf(
      "%s%s %zux%zux%zu a %zu,%zu b %zu,%zu ldc %zu alpha %g beta %g %s blocks %zux%zu: C(%zu,%zu) is %08x, not %08x\n",
      isa, prefetches ? " prefetching" : "", g->m, g->n, g->k, g->a_rs, g->a_cs, g->b_rs, g->b_cs, g->ldc,
      (double)g->alpha, (double)g->beta, kind, blocking.mc, blocking.nc, i, j, (unsigned)got, (unsigned)want);
  return false;
}

static void fill_canaries(const hx__gemm *g, size_t count, uint32_t *want) {
  for (size_t i = 0; i < count + 128; i++) {
    float *const at = g->c - 64 + i;
    if (at < arenas[OPERAND_C] + ARENA_FLOATS) *at = float_of_bits(CANARY);
  }
  for (size_t i = 0; i < count; i++) want[i] = CANARY;
}

/* Whether C has the values of `want`, and canaries elsewhere. Rows are ldc apart; there are `count` floats in all. */
static bool c_is_right(const hx__gemm *g, const uint32_t *want, const char *isa, const char *kind, size_t count,
                       hx__gemm_blocking blocking) {
  const float *const c = g->c;
  for (size_t at = 0; at < count; at++) {
    const uint32_t got = bits_of_float(c[at]);
    if (got != want[at]) return report(g, isa, kind, blocking, at / g->ldc, at % g->ldc, want[at], got);
  }
  for (size_t at = 1; at <= 64; at++) {
    if (bits_of_float(*(c - at)) != CANARY)
      return report(g, isa, kind, blocking, 0, 0, CANARY, bits_of_float(*(c - at)));
    if (c + count + at <= arenas[OPERAND_C] + ARENA_FLOATS && bits_of_float(c[count + at - 1]) != CANARY) {
      return report(g, isa, kind, blocking, g->m, at, CANARY, bits_of_float(c[count + at - 1]));
    }
  }
  return true;
}

/* A buffer for the kernels, full of NaN, with canaries behind it. */
#define GUARD 64u
static unsigned char *buffer(size_t bytes) {
  unsigned char *const p = aligned_alloc(64, (bytes + GUARD + 63) / 64 * 64);
  memset(p, 0xff, bytes + GUARD);
  return p;
}
static bool guard_is_intact(const hx__gemm *g, const char *isa, const char *what, const unsigned char *p,
                            size_t bytes) {
  for (size_t i = 0; i < GUARD; i++) {
    if (p[bytes + i] == 0xff) continue;
    printf("%s %zux%zux%zu: written past the %s\n", isa, g->m, g->n, g->k, what);
    return false;
  }
  return true;
}

/* An operand packed ahead, its units in a scrambled order; NULL if the product does not pack it. */
static unsigned char *packed_ahead(const hx__cpu_kernels *kernels, const hx__gemm *g, bool of_b, size_t *bytes) {
  *bytes = kernels->packed_bytes(g, of_b);
  if (*bytes == 0) return NULL;
  unsigned char *const p = buffer(*bytes);
  const size_t units = kernels->pack_units(g, of_b), first = random_below(units);
  for (size_t i = 0; i < units; i++) kernels->pack(g, of_b, (first + units - i) % units, p);
  return p;
}

/* Operands to prefetch for a product that follows, also in the unreadable memory behind the arenas. */
static hx__gemm_operands somewhere(void) {
  const float *p[OPERANDS];
  for (int i = 0; i < OPERANDS; i++) p[i] = arenas[i] + (random_below(2) ? ARENA_FLOATS : random_below(ARENA_FLOATS));
  return (hx__gemm_operands){random_below(3) ? p[OPERAND_A] : NULL, random_below(3) ? p[OPERAND_B] : NULL,
                             p[OPERAND_C]};
}

/* Computes the product in one block, or in blocks of rows that share B or of columns that share A, as a run cuts it. */
enum { WHOLE, BY_ROWS, BY_COLUMNS, BOTH_PACKED, WAYS };
static bool multiply(const hx__cpu_kernels *kernels, const char *isa, const hx__gemm *g, hx__gemm_blocking blocking,
                     unsigned way) {
  size_t a_bytes = 0, b_bytes = 0;
  unsigned char *const a = way >= BY_COLUMNS ? packed_ahead(kernels, g, false, &a_bytes) : NULL;
  unsigned char *const b = way == BY_ROWS || way == BOTH_PACKED ? packed_ahead(kernels, g, true, &b_bytes) : NULL;
  const size_t all = way == BY_COLUMNS ? g->n : g->m;
  bool ok = true;
  for (size_t first = 0, count; first < all && ok; first += count) {
    hx__gemm part = *g;
    count = way == BY_ROWS || way == BY_COLUMNS ? 1 + random_below(all - first) : all;
    if (random_below(2)) part.next = somewhere();
    if (way == BY_COLUMNS) {
      part.n = count, part.c += first;
      if (part.b) part.b += first * part.b_cs;
    } else {
      part.m = count, part.c += first * part.ldc;
      if (part.a) part.a += first * part.a_rs;
    }
    if (!a && !b && !part.apart && part.m && part.n && part.k && part.alpha != 0 && random_below(2) &&
        kernels->gemm_direct(&part))
      continue;
    const size_t bytes = kernels->gemm_scratch_bytes(blocking, part.m, part.n, part.k);
    unsigned char *const scratch = buffer(bytes);
    const hx__gemm_packed pa = {a, g->m, 0}, pb = {b, g->n, 0};
    const bool none = bytes == 0 || random_below(4) == 0; /* without scratch the bits are the same */
    kernels->gemm(&part, blocking, a ? &pa : NULL, b ? &pb : NULL, none ? NULL : scratch);
    ok = guard_is_intact(&part, isa, "scratch", scratch, bytes);
    free(scratch);
  }
  ok = ok && (!a || guard_is_intact(g, isa, "packed A", a, a_bytes)) &&
       (!b || guard_is_intact(g, isa, "packed B", b, b_bytes));
  free(a);
  free(b);
  return ok;
}

static bool run_case(const hx__cpu_kernels *kernels, const char *isa, uint32_t *want, float *old) {
  static const float alphas[] = {1, 1, 1, 0, -0.0f, -1, 2.5f}, betas[] = {0, 0, -0.0f, 1, -0.75f};
  hx__gemm g = {.alpha = alphas[random_below(COUNT(alphas))], .beta = betas[random_below(COUNT(betas))]};
  const data_kind kind = (data_kind)random_below(KINDS);
  prefetches = random_below(2);
  random_shape(&g, kernels);
  g.ldc = g.n + (random_below(2) ? 0 : random_below(20));
  if (!g.ldc) g.ldc = 1;
  const size_t a_count = g.a_rs ? (g.m - 1) * g.a_rs + g.k : strides(g.m, g.k, &g.a_rs, &g.a_cs);
  const size_t b_count = g.b_rs ? (g.k - 1) * g.b_rs + g.n : strides(g.k, g.n, &g.b_rs, &g.b_cs);
  const size_t c_count = g.m && g.n ? (g.m - 1) * g.ldc + g.n : 0;
  float *const a = place_operand(OPERAND_A, a_count, random_below(2)), *const b = place_operand(OPERAND_B, b_count,
                                                                                                random_below(2));
  g.a = a, g.b = b, g.c = place_operand(OPERAND_C, c_count, random_below(2));
  for (size_t i = 0; i < a_count; i++) a[i] = random_value(kind);
  for (size_t i = 0; i < b_count; i++) b[i] = random_value(kind);
  if (!g.k || g.alpha == 0) g.a = random_below(2) ? NULL : g.a, g.b = random_below(2) ? NULL : g.b;

  fill_canaries(&g, c_count, want);
  for (size_t i = 0; i < g.m; i++) {
    for (size_t j = 0; j < g.n; j++) {
      float *const at = g.c + i * g.ldc + j;
      *at = g.beta == 0 && random_below(4) == 0 ? float_of_bits(0x7fc54321u) : random_value(kind);
      want[i * g.ldc + j] = bits_of_float(reference(&g, i, j, *at));
    }
  }
  memcpy(old, g.c, c_count * sizeof *old);

  const hx__gemm_blocking tiny = {kernels->mr, kernels->nr, kernels->nr};
  const hx__gemm_blocking small = {3 * kernels->mr, 2 * kernels->nr, 5 * kernels->nr};
  const hx__gemm_blocking blockings[] = {kernels->gemm_blocking(1 << 20), tiny, small};
  for (size_t s = 0; s < COUNT(blockings); s++) {
    for (unsigned way = WHOLE; way < WAYS; way++) {
      if (way != WHOLE && random_below(2)) continue;
      memcpy(g.c, old, c_count * sizeof *old);
      if (!multiply(kernels, isa, &g, blockings[s], way)) return false;
      if (!c_is_right(&g, want, isa, kind_names[kind], c_count, blockings[s])) return false;
    }
  }
  return true;
}

/* Panels that are stored apart instead of being added, as threads share a long k. */
static bool run_panels(const hx__cpu_kernels *kernels, const char *isa, uint32_t *want) {
  static const size_t depths[] = {511, 512, 513, 1024, 1500, 2600};
  const data_kind kind = (data_kind)random_below(KINDS);
  hx__gemm g = {.m = 1 + random_below(128), .n = 1 + random_below(128), .k = depths[random_below(COUNT(depths))]};
  while (g.m * g.n * g.k > 1000000) *(g.m > g.n ? &g.m : &g.n) /= 2;
  g.alpha = 1;
  g.ldc = g.n + random_below(3);
  g.apart = g.m * g.ldc + random_below(20);
  const size_t a_count = strides(g.m, g.k, &g.a_rs, &g.a_cs), b_count = strides(g.k, g.n, &g.b_rs, &g.b_cs);
  const size_t c_count = (g.k - 1) / HX__PANEL * g.apart + (g.m - 1) * g.ldc + g.n;
  float *const a = place_operand(OPERAND_A, a_count, random_below(2)), *const b = place_operand(OPERAND_B, b_count,
                                                                                                random_below(2));
  for (size_t i = 0; i < a_count; i++) a[i] = random_value(kind);
  for (size_t i = 0; i < b_count; i++) b[i] = random_value(kind);
  g.a = a, g.b = b, g.c = place_operand(OPERAND_C, c_count, random_below(2));
  fill_canaries(&g, c_count, want);
  for (size_t p = 0; p < g.k; p += HX__PANEL) {
    hx__gemm panel = g;
    panel.a += p * g.a_cs, panel.b += p * g.b_rs, panel.k = g.k - p < HX__PANEL ? g.k - p : HX__PANEL;
    for (size_t i = 0; i < g.m; i++) {
      for (size_t j = 0; j < g.n; j++)
        want[p / HX__PANEL * g.apart + i * g.ldc + j] = bits_of_float(reference(&panel, i, j, 0));
    }
  }
  const hx__gemm_blocking blocking = kernels->gemm_blocking(1 << 20);
  return multiply(kernels, isa, &g, blocking, WHOLE) && c_is_right(&g, want, isa, "panels", c_count, blocking);
}

/* Tests `store` alone: it stores a block t, or one value, in C. */
static bool run_store(const hx__cpu_kernels *kernels, const char *isa, uint32_t *want) {
  static const float betas[] = {0, -0.0f, 1, -0.75f};
  const data_kind kind = (data_kind)random_below(KINDS);
  hx__gemm g = {.m = random_below(20), .n = random_below(80), .alpha = 1, .beta = betas[random_below(COUNT(betas))]};
  const size_t ldt = g.n + random_below(9), t_count = g.m && g.n ? (g.m - 1) * ldt + g.n : 0;
  g.ldc = g.n + random_below(9) + !g.n;
  const size_t c_count = g.m && g.n ? (g.m - 1) * g.ldc + g.n : 0;
  float *const t = place_operand(OPERAND_A, t_count, random_below(2));
  g.c = place_operand(OPERAND_C, c_count, random_below(2));
  fill_canaries(&g, c_count, want);
  for (size_t i = 0; i < g.m; i++) {
    for (size_t j = 0; j < g.n; j++) {
      float *const at = g.c + i * g.ldc + j;
      t[i * ldt + j] = random_value(kind);
      *at = random_value(kind);
      want[i * g.ldc + j] = bits_of_float(canonical(g.beta == 0 ? t[i * ldt + j] : fmaf(g.beta, *at, t[i * ldt + j])));
    }
  }
  kernels->store(t, ldt, g.m, g.n, g.c, g.ldc, g.beta, random_below(2));
  return c_is_right(&g, want, isa, "store", c_count, (hx__gemm_blocking){0});
}

int main(int argc, char **argv) {
  const size_t cases = argc > 1 ? strtoull(argv[1], NULL, 0) : 3000;
  const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)getpid() * 1000003u;
  const size_t bytes = ARENA_FLOATS * sizeof(float);
  uint32_t *const want = malloc(bytes);
  float *const old = malloc(bytes);
  for (int i = 0; i < OPERANDS; i++) arenas[i] = (float *)(void *)guarded_make(bytes).first;
  if (!want || !old) return perror("malloc"), 1;
  printf("seed %llu\n", (unsigned long long)seed);
  hx__fpenv_enter();
  size_t failed = 0, done = 0;
  for (size_t s = 0; s < COUNT(isas); s++) {
    const hx__cpu_kernels *const kernels = hx__cpu_kernels_for(isas[s]);
    const char *const isa = hx__isa_name(isas[s]);
    if (!kernels) {
      printf("%s: not on this machine\n", isa);
      continue;
    }
    rng_state = seed;
    for (size_t i = 0; i < cases && failed < 10; i++, done++) {
      const uint64_t state = rng_state;
      if (!run_case(kernels, isa, want, old) || (i % 8 == 0 && !run_store(kernels, isa, want)) ||
          (i % 4 == 0 && !run_panels(kernels, isa, want))) {
        failed++;
        printf("  case %zu, generator at %llu\n", i, (unsigned long long)state);
      }
    }
  }
  free(want);
  free(old);
  printf("cpu_gemm_test: %zu cases, %zu failed\n", done, failed);
  return failed || !done;
}
