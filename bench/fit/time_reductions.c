/* SPDX-License-Identifier: Apache-2.0
 * Times the CPU kernels of every reduction on one thread beside the raw read of the same bytes (bench/ceiling.h), and
 * beside the kernels of other builds.
 *     time_reductions [-i ISA] [-s SECONDS] [-p] [-e LOG2] [LIBRARY ...]
 *   -i  sse2, avx2, avx512 or neon; left out: the kernels that hx takes on this CPU. The raw read, too, uses no wider
 *       vectors
 *   -s  seconds for each reduction and size (default 0.3)
 *   -p  prefetches in memory (HX__IN_DRAM) even if hx does not on this CPU
 *   -e  only arrays of 2^LOG2 elements; may be given several times
 * A LIBRARY is a shared object that exports hx__cpu_kernels_for, for example one made of cpu/isa*.c of an older commit
 * with the options of cpu/BUILD, -fPIC and -shared.
 * Prints a row for each reduction and size: the ns of the raw read, and the read's share of the time of each set of
 * kernels (1.00: as fast as the read), by the least times of interleaved rounds; then the same of the medians. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/ceiling.h"
#include "bench/measure.h"
#include "cpu/cpu.h"
#include "reference/data.h"
#include "runtime/topo/topo.h"

enum { MOST_SETS = 4, MOST_ROUNDS = 2001, LEAST_ROUNDS = 7, ALIGN = 64, MOST_SIZES = 8 };
#define SAMPLE_SECONDS 100e-6
#define NEAR_BYTES ((size_t)1 << 20)

static size_t read_loops; /* those of the ceiling whose instructions the kernels may use */

typedef struct run {
  const void *x, *y;
  size_t n, bytes; /* bytes of one array */
  hx_op op;
  hx_type type;
  hx__locality reach;
  uint64_t *slots;
} run;

static void call_kernel(const hx__cpu_kernels *k, const run *r) {
  if (r->n <= HX__LEAF)
    r->slots[0] = k->one_leaf[r->op][r->type](r->x, r->y, r->n);
  else
    k->leaf[r->op][r->type](r->x, r->y, r->n, r->reach, r->slots);
}

/* Seconds of this thread's own time: other programs may take the core. */
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of one call. Set 0 is the raw read. */
static double sample(const hx__cpu_kernels *const *sets, size_t set, const run *r, unsigned calls) {
  double best = 1e9;
  if (set == 0) {
    for (size_t loop = 0; loop < read_loops; loop++) {
      const double from = now();
      bench_ceiling_read(loop, 1, r->x, r->y, r->bytes, calls);
      const double seconds = (now() - from) / calls;
      if (seconds < best) best = seconds;
    }
    return best;
  }
  const double from = now();
  for (unsigned i = 0; i < calls; i++) call_kernel(sets[set], r);
  return (now() - from) / calls;
}

static void time_reduction(const hx__cpu_kernels *const *sets, size_t count, const run *r, double seconds) {
  static double times[MOST_SETS][MOST_ROUNDS];
  double one = 1; /* the first call is slow: the caches, pages and the clock are cold */
  for (int i = 0; i < 5; i++) {
    const double took = sample(sets, 1, r, 1);
    if (took < one) one = took;
  }
  const unsigned calls = one > SAMPLE_SECONDS ? 1 : (unsigned)(SAMPLE_SECONDS / (one > 1e-9 ? one : 1e-9)) + 1;
  size_t rounds = 0;
  for (double end = bench_now() + seconds; rounds < MOST_ROUNDS && (rounds < LEAST_ROUNDS || bench_now() < end);
       rounds++)
    for (size_t i = 0; i < count; i++) {
      const size_t s = (i + rounds) % count; /* in turn, because what came before leaves other data in the caches */
      times[s][rounds] = sample(sets, s, r, calls);
    }
  bench_times t[MOST_SETS] = {{0}};
  for (size_t s = 0; s < count; s++) t[s] = bench_times_of(times[s], rounds);
  printf("%s\t%s\t%zu\t%.1f", hx__op_names[r->op], hx__type_names[r->type], r->n, 1e9 * t[0].least);
  for (size_t s = 1; s < count; s++) printf("\t%.3f", t[0].least / t[s].least);
  for (size_t s = 1; s < count; s++) printf("\t%.3f", t[0].median / t[s].median);
  printf("\n");
  fflush(stdout);
}

/* A product of integers is 0 soon, and one of floats leaves their range, so these are of odd numbers, and of numbers
 * near 1. */
static void fill(hx_op op, hx_type type, uint32_t *x, size_t n, uint64_t seed) {
  data_fill(type, op == HX_PROD ? DATA_NEAR_ONE : DATA_SIGNED, seed, x, n);
  if (op != HX_PROD || type == HX_F32) return;
  for (size_t i = 0; i < n; i++) x[i] |= 1u;
}

static uint32_t *array(size_t n) {
  uint32_t *const p = aligned_alloc(ALIGN, (n * sizeof *p + ALIGN - 1) / ALIGN * ALIGN);
  if (p) return p;
  fputs("time_reductions: no memory\n", stderr);
  exit(1);
}

static hx__locality locality_of(size_t bytes, bool prefetch) {
  const size_t l3 = hx__topo_get()->l3_bytes;
  if (bytes <= NEAR_BYTES) return HX__IN_L2;
  return prefetch && bytes > (l3 ? l3 : 8 * NEAR_BYTES) / 4 ? HX__IN_DRAM : HX__IN_LLC;
}

typedef const hx__cpu_kernels *kernels_for_fn(hx__isa isa);

static hx__isa isa_named(const char *name) {
  hx__isa isa = HX__ISA_SSE2;
  while (isa < HX__ISAS && strcmp(hx__isa_name(isa), name) != 0) isa++;
  return isa;
}

/* The loops up to that of the ISA. */
static size_t loops_up_to(hx__isa isa) {
  size_t loop = 0;
  while (loop < bench_ceiling_loops() && strcmp(bench_ceiling_loop_name(loop), hx__isa_name(isa)) != 0) loop++;
  return loop < bench_ceiling_loops() ? loop + 1 : loop;
}

int main(int argc, char **argv) {
  size_t sizes[MOST_SIZES] = {10, 14, 18, 22, 25}, size_count = 0, count = 1;
  hx__isa isa = HX__ISA_AUTO;
  bool prefetch = hx__cpu_prefetches();
  double seconds = 0.3;
  const hx__cpu_kernels *sets[MOST_SETS] = {0};
  for (int c; (c = getopt(argc, argv, "i:s:e:p")) != -1;) {
    if (c == 'i') isa = isa_named(optarg);
    if (c == 's') seconds = strtod(optarg, NULL);
    if (c == 'p') prefetch = true;
    if (c == 'e' && size_count < MOST_SIZES) sizes[size_count++] = strtoul(optarg, NULL, 10) % 32;
    if (c == '?') return 2;
  }
  if (!size_count) size_count = 5;
  sets[count++] = hx__cpu_kernels_for(isa);
  for (; optind < argc && count < MOST_SETS; optind++) {
    void *const library = dlopen(argv[optind], RTLD_NOW | RTLD_LOCAL);
    void *const symbol = library ? dlsym(library, "hx__cpu_kernels_for") : NULL;
    kernels_for_fn *function;
    memcpy(&function, &symbol, sizeof function);
    sets[count++] = function ? function(isa) : NULL;
  }
  for (size_t s = 1; s < count; s++) {
    if (sets[s]) continue;
    fprintf(stderr, "time_reductions: set %zu of the kernels is missing\n", s);
    return 1;
  }
  read_loops = loops_up_to(sets[1]->isa);
  printf("# %s, %s\n", hx__topo_get()->cpu_name, hx__isa_name(sets[1]->isa));
  printf("op\ttype\tn\tread_ns\tof the read (least)\tof the read (medians)\n");
  for (size_t i = 0; i < size_count; i++) {
    const size_t n = (size_t)1 << sizes[i];
    uint32_t *const x = array(n), *const y = array(n);
    uint64_t *const slots = calloc(n / HX__LEAF + 1, sizeof *slots);
    for (unsigned index = 0; slots && index < HX__REDUCTIONS; index++) {
      run r = {.x = x, .n = n, .bytes = n * sizeof *x, .slots = slots};
      r.op = hx__reduction_op(index), r.type = hx__reduction_type(index);
      r.y = r.op == HX_DOT ? y : NULL;
      r.reach = locality_of(r.bytes * (r.y ? 2 : 1), prefetch);
      fill(r.op, r.type, x, n, 1);
      fill(r.op, r.type, y, n, 2);
      time_reduction(sets, count, &r, seconds);
    }
    free(x), free(y), free(slots);
  }
  return 0;
}
