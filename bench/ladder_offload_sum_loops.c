/* SPDX-License-Identifier: Apache-2.0
 * The loops in C of the reductions of `ladder offload`, each a row: on one thread with an instruction set, on all
 * threads, and on data of another width, alignment or order. */
#include <math.h>

#include "bench/ladder_arrays.h"
#include "bench/measure.h"

#define BLOCK 65536u /* elements whose sums fit into 32 bits, at most 49 each */
#define FIELDS 3u
#define LINE 64 /* bytes */
#define INLINE static inline __attribute__((always_inline))

/* Adds to sums[] over the elements [from, to). */
typedef void sum_loop(const void *data, size_t pitch, size_t from, size_t to, uint64_t *sums);

#define ADD(name, type)                                                                      \
  INLINE void name(const void *data, size_t pitch, size_t from, size_t to, uint64_t *sums) { \
    const type *const x = data;                                                              \
    uint32_t sum = 0;                                                                        \
    (void)pitch;                                                                             \
    _Pragma("omp simd reduction(+ : sum)") for (size_t i = from; i < to; i++) sum += x[i];   \
    sums[0] += sum;                                                                          \
  }
ADD(add, uint32_t)
ADD(add_2, uint16_t)
ADD(add_1, uint8_t)

/* The same by gathers. Blocks of a call begin at multiples of LADDER_GATHER_BLOCK. */
#define GATHER(name, add_rest, type)                                                              \
  INLINE void name(const void *data, size_t pitch, size_t from, size_t to, uint64_t *sums) {      \
    const type *const x = data;                                                                   \
    uint32_t sum = 0;                                                                             \
    for (; from + LADDER_GATHER_BLOCK <= to; from += LADDER_GATHER_BLOCK)                         \
      _Pragma("omp simd reduction(+ : sum)") for (unsigned i = 0; i < LADDER_GATHER_BLOCK; i++) { \
        sum += x[from + i * LADDER_GATHER_STEP % LADDER_GATHER_BLOCK];                            \
      }                                                                                           \
    sums[0] += sum;                                                                               \
    add_rest(data, pitch, from, to, sums);                                                        \
  }
GATHER(gather, add, uint32_t)
GATHER(gather_2, add_2, uint16_t)
GATHER(gather_1, add_1, uint8_t)

/* The compiler is told that blocks begin at a line of the cache. */
INLINE void add_aligned(const void *data, size_t pitch, size_t from, size_t to, uint64_t *sums) {
  const uint32_t *const x = __builtin_assume_aligned((const uint32_t *)data + from, LINE);
  add(x, pitch, 0, to - from, sums);
}

INLINE void multiply_add(const void *data, size_t pitch, size_t from, size_t to, uint64_t *sums) {
  const uint32_t *const x = data, *const y = x + pitch;
  uint32_t sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = from; i < to; i++) sum += x[i] * y[i];
  sums[0] += sum;
}

INLINE void add_fields(const void *data, size_t pitch, size_t from, size_t to, uint64_t *sums) {
  for (size_t f = 0; f < FIELDS; f++) add((const uint32_t *)data + f * pitch, pitch, from, to, sums + f);
}

INLINE void add_structs(const void *data, size_t pitch, size_t from, size_t to, uint64_t *sums) {
  const uint32_t *const x = data;
  uint32_t first = 0, second = 0, third = 0;
  (void)pitch;
#pragma omp simd reduction(+ : first, second, third)
  for (size_t i = from; i < to; i++) {
    first += x[i * FIELDS];
    second += x[i * FIELDS + 1];
    third += x[i * FIELDS + 2];
  }
  sums[0] += first, sums[1] += second, sums[2] += third;
}

/* The functions themselves, for an instruction set. */
#define LOOP(name, body, target)                                                                    \
  target static void name(const void *data, size_t pitch, size_t from, size_t to, uint64_t *sums) { \
    body(data, pitch, from, to, sums);                                                              \
  }
#define LOOPS(body)                              \
  LOOP(body##_loop, body, )                      \
  LOOP(body##_avx2, body, LADDER_TARGET("avx2")) \
  LOOP(body##_avx512, body, LADDER_TARGET("avx512f"))
LOOPS(add)
LOOPS(multiply_add)
LOOPS(add_fields)
LOOP(add_2_loop, add_2, )
LOOP(add_1_loop, add_1, )
LOOP(gather_loop, gather, )
LOOP(gather_2_loop, gather_2, )
LOOP(gather_1_loop, gather_1, )
LOOP(add_aligned_loop, add_aligned, )
LOOP(add_structs_loop, add_structs, )

#define GATHERS "serial C, 4-byte gathers"
#define ROWS_OF(kind, body)                                                                           \
  {LADDER_SUM_BASE, kind, body##_loop, .copy = LADDER_PLAIN},                                         \
      {"serial C, AVX2", kind, body##_avx2, .set = LADDER_AVX2, .against = LADDER_SUM_BASE},          \
      {"serial C, AVX-512", kind, body##_avx512, .set = LADDER_AVX512, .against = LADDER_SUM_BASE}, { \
    "OpenMP", kind, body##_loop, .on_all = true                                                       \
  }

static const struct row {
  const char *name;
  ladder_sum_kind kind;
  sum_loop *loop;
  ladder_copy copy;
  ladder_set set;
  bool on_all; /* threads */
  const char *against;
} rows[] = {
    ROWS_OF(LADDER_SUM, add),
    ROWS_OF(LADDER_DOT, multiply_add),
    ROWS_OF(LADDER_SOA, add_fields),
    {"serial C, aligned", LADDER_SUM, add_aligned_loop, .against = LADDER_SUM_BASE},
    {"serial C, not aligned", LADDER_SUM, add_loop, .copy = LADDER_OFF, .against = LADDER_SUM_BASE},
    {"serial C, 2-byte elements", LADDER_SUM, add_2_loop, .copy = LADDER_2_BYTES, .against = LADDER_SUM_BASE},
    {"serial C, 1-byte elements", LADDER_SUM, add_1_loop, .copy = LADDER_1_BYTE, .against = LADDER_SUM_BASE},
    {GATHERS, LADDER_SUM, gather_loop, .against = LADDER_SUM_BASE},
    {"serial C, 2-byte gathers", LADDER_SUM, gather_2_loop, .copy = LADDER_2_BYTES, .against = GATHERS},
    {"serial C, 1-byte gathers", LADDER_SUM, gather_1_loop, .copy = LADDER_1_BYTE, .against = GATHERS},
    {"serial C, AoS", LADDER_SOA, add_structs_loop, .copy = LADDER_STRUCTS, .against = LADDER_SUM_BASE},
    {"OpenMP, AoS", LADDER_SOA, add_structs_loop, .copy = LADDER_STRUCTS, .on_all = true, .against = "OpenMP"},
};

typedef struct loop_run {
  const ladder_arrays *arrays;
  const struct row *row;
} loop_run;

static int thread_count;

static void run_block(const loop_run *p, size_t from, uint64_t *sums) {
  const ladder_arrays *const a = p->arrays;
  p->row->loop(a->copy[p->row->copy], a->pitch, from, from + BLOCK < a->n ? from + BLOCK : a->n, sums);
}

static double call_loop(ladder_rung *rung, double *event) {
  const loop_run *const p = rung->self;
  uint64_t sums[LADDER_MOST_SUMS] = {0};
  const double start = bench_now();
  if (p->row->on_all) {
#pragma omp parallel for num_threads(thread_count) reduction(+ : sums[:LADDER_MOST_SUMS])
    for (size_t from = 0; from < p->arrays->n; from += BLOCK) run_block(p, from, sums);
  } else {
    for (size_t from = 0; from < p->arrays->n; from += BLOCK) run_block(p, from, sums);
  }
  const double seconds = bench_now() - start;
  for (size_t f = 0; f < LADDER_MOST_SUMS; f++) rung->result[f] = sums[f];
  *event = NAN;
  return seconds;
}

void ladder_sum_loop_rungs(ladder_case *c, const ladder_arrays *arrays, unsigned threads) {
  thread_count = (int)threads;
  for (const struct row *row = rows; row < rows + sizeof rows / sizeof rows[0]; row++) {
    if (row->kind != arrays->kind) continue;
    ladder_rung *const rung = ladder_add_owner(c, row->name, call_loop, sizeof(loop_run));
    rung->against = row->against;
    if (rung->out) continue;
    *(loop_run *)rung->self = (loop_run){arrays, row};
    if (!ladder_has_set(row->set)) ladder_out(rung, "this CPU does not have it");
  }
}
