/* SPDX-License-Identifier: Apache-2.0
 * The measured ceilings: plain loops, one for each instruction set. Callers use the fastest of them, so a ceiling is
 * never too low because of a wrong choice here. The loops run on OpenMP threads, which are those that hx uses. */
#include "bench/ceiling.h"

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__) /* never run */
#include <arm_neon.h>
#endif

#define ELEMENT 4u    /* bytes; the size of an array is a multiple of it */
#define READ_STEP 512 /* bytes per iteration: a multiple of eight of the widest registers */
#define PIECE_BYTES ((size_t)1 << 20)
#define PIECES_EACH 8u

/* An empty asm with a register as input: the compiler must emit the load and nothing else. */
#define TAKE4(load, vector, constraint, p)                                                 \
  do {                                                                                     \
    vector v0 = load(p), v1 = load((p) + sizeof(vector));                                  \
    vector v2 = load((p) + 2 * sizeof(vector)), v3 = load((p) + 3 * sizeof(vector));       \
    __asm__ volatile("" ::constraint(v0), constraint(v1), constraint(v2), constraint(v3)); \
  } while (0)

/* y == NULL: one stream. */
#define DEFINE_READ(name, target_attribute, vector, load, constraint)                    \
  target_attribute static void name(const char *x, const char *y, size_t bytes) {        \
    size_t i = 0;                                                                        \
    for (; !y && i + READ_STEP <= bytes; i += READ_STEP)                                 \
      for (size_t j = 0; j < READ_STEP; j += 8 * sizeof(vector)) {                       \
        TAKE4(load, vector, constraint, x + i + j);                                      \
        TAKE4(load, vector, constraint, x + i + j + 4 * sizeof(vector));                 \
      }                                                                                  \
    for (; y && i + READ_STEP <= bytes; i += READ_STEP)                                  \
      for (size_t j = 0; j < READ_STEP; j += 4 * sizeof(vector)) {                       \
        TAKE4(load, vector, constraint, x + i + j);                                      \
        TAKE4(load, vector, constraint, y + i + j);                                      \
      }                                                                                  \
    for (; i + sizeof(vector) <= bytes; i += sizeof(vector)) {                           \
      vector v = load(x + i), w = y ? load(y + i) : v;                                   \
      __asm__ volatile("" ::constraint(v), constraint(w));                               \
    }                                                                                    \
    for (; i < bytes; i += ELEMENT) __asm__ volatile("" ::"r"(x[i]), "r"(y ? y[i] : 0)); \
  }

/* Twelve chains are more than any current CPU needs (latency times multiply-add units), and fit into 16 registers. */
#define CHAINS 12
#define DEFINE_FMA(name, target_attribute, vector, set1, fma_of)                                       \
  target_attribute static float name(size_t rounds) {                                                  \
    vector acc[CHAINS], a = set1(0.999f), b = set1(0.001f);                                            \
    for (int c = 0; c < CHAINS; c++) acc[c] = set1((float)c);                                          \
    for (size_t r = 0; r < rounds; r++) {                                                              \
      acc[0] = fma_of(acc[0], a, b), acc[1] = fma_of(acc[1], a, b), acc[2] = fma_of(acc[2], a, b);     \
      acc[3] = fma_of(acc[3], a, b), acc[4] = fma_of(acc[4], a, b), acc[5] = fma_of(acc[5], a, b);     \
      acc[6] = fma_of(acc[6], a, b), acc[7] = fma_of(acc[7], a, b), acc[8] = fma_of(acc[8], a, b);     \
      acc[9] = fma_of(acc[9], a, b), acc[10] = fma_of(acc[10], a, b), acc[11] = fma_of(acc[11], a, b); \
    }                                                                                                  \
    float sum = 0;                                                                                     \
    for (int c = 0; c < CHAINS; c++) {                                                                 \
      float lane;                                                                                      \
      __builtin_memcpy(&lane, &acc[c], sizeof lane);                                                   \
      sum += lane;                                                                                     \
    }                                                                                                  \
    return sum;                                                                                        \
  }

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f")))
#define LOAD128(p) _mm_loadu_ps((const float *)(p))
#define LOAD256(p) _mm256_loadu_ps((const float *)(p))
#define LOAD512(p) _mm512_loadu_ps(p)
#define MULTIPLY_ADD128(x, a, b) _mm_add_ps(_mm_mul_ps(x, a), b)
DEFINE_READ(read_sse2, , __m128, LOAD128, "x")
DEFINE_READ(read_avx2, AVX2, __m256, LOAD256, "x")
DEFINE_READ(read_avx512, AVX512, __m512, LOAD512, "v")
DEFINE_FMA(fma_sse2, , __m128, _mm_set1_ps, MULTIPLY_ADD128)
DEFINE_FMA(fma_avx2, AVX2, __m256, _mm256_set1_ps, _mm256_fmadd_ps)
DEFINE_FMA(fma_avx512, AVX512, __m512, _mm512_set1_ps, _mm512_fmadd_ps)
static bool have_sse2(void) { return true; }
static bool have_avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
static bool have_avx512(void) { return __builtin_cpu_supports("avx512f"); }
#elif defined(__aarch64__)
#define LOAD_NEON(p) vld1q_f32((const float *)(p))
#define FMA_NEON(x, a, b) vfmaq_f32(b, x, a)
DEFINE_READ(read_neon, , float32x4_t, LOAD_NEON, "w")
DEFINE_FMA(fma_neon, , float32x4_t, vdupq_n_f32, FMA_NEON)
static bool have_neon(void) { return true; }
#else
#define LOAD_WORD(p) (*(const uint32_t *)(p))
#define SET_WORD(x) (x)
#define FMA_WORD(x, a, b) ((x) * (a) + (b))
DEFINE_READ(read_word, , uint32_t, LOAD_WORD, "r")
DEFINE_FMA(fma_word, , float, SET_WORD, FMA_WORD)
static bool have_word(void) { return true; }
#endif

static const struct loop {
  const char *name;
  bool (*have)(void);
  void (*read)(const char *x, const char *y, size_t bytes);
  float (*fma)(size_t rounds);
  size_t lanes;
} loops[] = {
#if defined(__x86_64__)
    {"sse2", have_sse2, read_sse2, fma_sse2, 4},
    {"avx2", have_avx2, read_avx2, fma_avx2, 8},
    {"avx512", have_avx512, read_avx512, fma_avx512, 16},
#elif defined(__aarch64__)
    {"neon", have_neon, read_neon, fma_neon, 4},
#else
    {"word", have_word, read_word, fma_word, 1},
#endif
};

size_t bench_ceiling_loops(void) {
  size_t count = 0;
  while (count < sizeof loops / sizeof loops[0] && loops[count].have()) count++;
  return count;
}

const char *bench_ceiling_loop_name(size_t loop) { return loops[loop].name; }

/* Part `part` of `parts`, cut at whole steps. */
static void read_part(size_t loop, size_t part, size_t parts, const char *x, const char *y, size_t bytes) {
  size_t steps = bytes / READ_STEP;
  size_t first = steps / parts * part + steps % parts * part / parts;
  size_t last = steps / parts * (part + 1) + steps % parts * (part + 1) / parts;
  size_t start = first * READ_STEP, end = part + 1 == parts ? bytes : last * READ_STEP;
  loops[loop].read(x + start, y ? y + start : NULL, end - start);
}

/* Each thread reads its own part again and again. If the data does not fit into the caches, parts are small and handed
 * out dynamically, because cores are not equally fast and a ceiling must not include waiting for the slowest. */
void bench_ceiling_read(size_t loop, unsigned threads, const void *x, const void *y, size_t bytes, unsigned times) {
  const size_t pieces = bytes / PIECE_BYTES;
  if (threads == 1) {
    for (unsigned i = 0; i < times; i++) loops[loop].read(x, y, bytes);
  } else if (pieces < PIECES_EACH * threads) {
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (unsigned t = 0; t < threads; t++)
      for (unsigned i = 0; i < times; i++) read_part(loop, t, threads, x, y, bytes);
  } else {
    for (unsigned i = 0; i < times; i++) {
#pragma omp parallel for schedule(dynamic) num_threads(threads)
      for (size_t piece = 0; piece < pieces; piece++) read_part(loop, piece, pieces, x, y, bytes);
    }
  }
}

double bench_ceiling_fma(size_t loop, unsigned threads, unsigned millions) {
  const size_t rounds = (size_t)millions * 1000000u / (CHAINS * loops[loop].lanes * PIECES_EACH);
  volatile float sink = 0;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (unsigned piece = 0; piece < PIECES_EACH * threads; piece++) {
    float sum = loops[loop].fma(rounds);
    if (piece == 0) sink = sum;
  }
  (void)sink;
  return 2e-9 * (double)(rounds * CHAINS * loops[loop].lanes) * PIECES_EACH * threads;
}
