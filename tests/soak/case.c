/* SPDX-License-Identifier: Apache-2.0
 * One case of the soak: a task drawn at random, over memory of one source or another, and its result compared. Most
 * cases share arrays whose results are known beforehand, so that the definition takes no time; the rest are fresh. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "reference/data.h"
#include "reference/ref.h"
#include "tests/soak/soak.h"

#define SLOW_NS 5000000000

enum { SETS = 12, PRODUCTS = 32, FRESH = 3000, OPS = HX_PROD + 1, TYPES = HX_U32 + 1, FIELDS = 4, PAGE = 4096 };
enum { LINES_ELEMENTS = 64 * (64 + 2) };

static const size_t kLengths[SETS] = {1, 3, 100, 1000, 4096, 4097, 8191, 9001, 16384, 20007, 40007, 150001};

/* An array of each type, and a second one for dot products. */
typedef struct set {
  size_t n;
  void *x[TYPES], *y[TYPES];
  hx_value want[OPS][TYPES];
} set;

typedef struct product {
  struct hx_matmul_args args;
  float *old, *want;
} product;

static set sets[SETS];
static product products[PRODUCTS];

uint64_t soak_random(uint64_t *state, uint64_t below) { return data_u64(0x736f616b, (*state)++) % below; }

static void *allocate_or_abort(size_t bytes) {
  void *const p = malloc(bytes ? bytes : 1);
  if (!p) abort();
  return p;
}

static void make_set(set *s, size_t n, uint64_t seed) {
  static const data_kind kKinds[] = {DATA_SIGNED, DATA_EXPONENTS, DATA_DENORMALS, DATA_CANCEL, DATA_NAN, DATA_INF};
  s->n = n;
  for (hx_type t = HX_F32; t <= HX_U32; t++) {
    s->x[t] = allocate_or_abort(n * 4), s->y[t] = allocate_or_abort(n * 4);
    data_fill(t, kKinds[seed % 6], seed, s->x[t], n);
    data_fill(t, DATA_SIGNED, seed + 1000, s->y[t], n);
    for (hx_op op = HX_SUM; op <= HX_PROD; op++) s->want[op][t] = ref_reduce(op, t, s->x[t], s->y[t], n);
  }
}

static void make_product(product *p, uint64_t seed) {
  static const size_t kSides[] = {1, 2, 5, 8, 16, 17, 31, 40, 64, 97}, kDepths[] = {1, 7, 64, 100, 513, 700};
  uint64_t r = seed << 20;
  struct hx_matmul_args *a = &p->args;
  *a =
      hx_matmul(kSides[soak_random(&r, 10)], kSides[soak_random(&r, 10)], kDepths[soak_random(&r, 6)], NULL, NULL, NULL)
          .matmul;
  a->trans_a = soak_random(&r, 2), a->trans_b = soak_random(&r, 2);
  a->alpha = soak_random(&r, 3) ? 1.0f : -0.75f;
  a->beta = soak_random(&r, 2) ? 0.0f : 0.5f;
  float *const x = allocate_or_abort(a->m * a->k * 4), *const y = allocate_or_abort(a->k * a->n * 4);
  data_fill(HX_F32, DATA_SIGNED, seed + 1, x, a->m * a->k);
  data_fill(HX_F32, DATA_SIGNED, seed + 2, y, a->k * a->n);
  a->a = x, a->b = y;
  p->old = allocate_or_abort(a->m * a->n * 4), p->want = allocate_or_abort(a->m * a->n * 4);
  data_fill(HX_F32, DATA_SIGNED, seed + 3, p->old, a->m * a->n);
  memcpy(p->want, p->old, a->m * a->n * 4);
  struct hx_matmul_args w = *a;
  w.c = p->want;
  ref_matmul(&w);
}

void cases_make(uint64_t seed) {
  for (int i = 0; i < SETS; i++) make_set(&sets[i], kLengths[i], seed * 100 + (uint64_t)i);
  for (int i = 0; i < PRODUCTS; i++) make_product(&products[i], seed * 1000 + (uint64_t)i * 7);
}

/* Whether a call succeeded, as it has to. resident: a result that exists only on the device may be lost with it. */
static bool went_well(hx_status s, const char *what, bool resident) {
  if (s == HX_OK) return true;
  if (s == HX_DEVICE_FAILED && resident)
    atomic_fetch_add(&counts.lost_results, 1);
  else
    soak_bad("%s: %s: %s", what, hx_status_string(s), hx_error_detail());
  return false;
}

/* Prints one line for each call that took longer than SLOW_NS. */
static void note_time(int64_t since, const hx_task *t, const char *how) {
  static const char *const kNames[] = {"?", "reduction", "structure of arrays", "product", "set of lines"};
  const int64_t ns = soak_now_ns() - since;
  if (ns > SLOW_NS)
    printf("soak: slow: %s of a %s, share %g: %.0f ms\n", how, kNames[t->kind], (double)t->gpu_share,
           (double)ns * 1e-6);
  int64_t seen = atomic_load(&counts.slowest_ns);
  while (ns > seen && !atomic_compare_exchange_weak(&counts.slowest_ns, &seen, ns)) {
  }
}

static hx_status run_task(hx_context *hx, hx_task *t, uint64_t *r) {
  static const float kShares[] = {-1, -1, -1, 0, 0.3f, 0.5f, 1};
  hx_report report = {.recovered = 0};
  hx_event *event = NULL;
  t->gpu_share = kShares[soak_random(r, 7)];
  const int64_t began = soak_now_ns();
  hx_status s;
  if (soak_random(r, 4)) {
    s = hx_offload(hx, t, &report);
  } else {
    s = hx_offload_async(hx, t, &event);
    if (s == HX_OK && soak_random(r, 2)) hx_done(event);
    if (s == HX_OK) s = hx_wait(event, &report);
  }
  note_time(began, t, event ? "hx_wait" : "hx_offload");
  atomic_fetch_add(&counts.cases, 1);
  atomic_fetch_add(&counts.recovered, report.recovered);
  return s;
}

/* How memory is allocated, registered and advised. The function copies the bytes of `from` into it. */
typedef enum source { GIVEN, MALLOC, MMAP, REGISTERED, ALLOC, READ_MOSTLY, RESIDENT, SOURCES } source;

typedef struct block {
  source source;
  void *p;
  size_t bytes;
} block;

static block block_make(hx_context *hx, source source, const void *from, size_t bytes) {
  block b = {source, NULL, (bytes + PAGE - 1) / PAGE * PAGE};
  if (source == GIVEN) return (block){GIVEN, (void *)(uintptr_t)from, bytes};
  if (source >= ALLOC) {
    b.p = hx_alloc(hx, bytes);
    if (!b.p) soak_bad("hx_alloc: %s", hx_error_detail()), b.source = MALLOC;
  }
  if (source == MMAP) b.p = mmap(NULL, b.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!b.p) b.p = aligned_alloc(PAGE, b.bytes);
  if (!b.p || b.p == MAP_FAILED) abort();
  memcpy(b.p, from, bytes);
  if (b.source == REGISTERED && !went_well(hx_register(hx, b.p, bytes), "hx_register", false)) b.source = MALLOC;
  if (b.source == READ_MOSTLY) went_well(hx_advise(hx, b.p, bytes, HX_READ_MOSTLY), "hx_advise", false);
  if (b.source == RESIDENT) went_well(hx_advise(hx, b.p, bytes, HX_RESIDENT), "hx_advise", true);
  return b;
}

static void block_free(hx_context *hx, block b) {
  if (b.source == REGISTERED) went_well(hx_unregister(hx, b.p), "hx_unregister", false);
  if (b.source >= ALLOC)
    hx_free(hx, b.p);
  else if (b.source == MMAP)
    munmap(b.p, b.bytes);
  else if (b.source != GIVEN)
    free(b.p);
}

static void check_result(hx_op op, hx_type type, size_t n, float share, hx_value got, hx_value want) {
  if (got.u64 == want.u64) return;
  atomic_fetch_add(&counts.wrong, 1);
  soak_bad("WRONG op %d type %d n %zu share %g: %llx instead of %llx", (int)op, (int)type, n, (double)share,
           (unsigned long long)got.u64, (unsigned long long)want.u64);
}

static void reduction(hx_context *hx, uint64_t *r) {
  const set *s = &sets[soak_random(r, SETS)];
  const hx_op op = (hx_op)(1 + soak_random(r, HX_PROD));
  const hx_type type = (hx_type)(1 + soak_random(r, 3));
  const block x = block_make(hx, soak_random(r, 2) ? GIVEN : (source)soak_random(r, RESIDENT), s->x[type], s->n * 4);
  hx_value got = {.u64 = 0};
  hx_task t = op == HX_DOT ? hx_dot(type, x.p, s->y[type], s->n, &got) : hx_reduce(op, type, x.p, s->n, &got);
  if (went_well(run_task(hx, &t, r), "reduction", false))
    check_result(op, type, s->n, t.gpu_share, got, s->want[op][type]);
  block_free(hx, x);
}

static void fresh_reduction(hx_context *hx, uint64_t *r) {
  uint32_t x[FRESH + 1];
  const size_t n = 1 + soak_random(r, FRESH), shift = soak_random(r, 2);
  const hx_op op = (hx_op)(1 + soak_random(r, HX_PROD));
  const hx_type type = (hx_type)(1 + soak_random(r, 3));
  data_fill(type, (data_kind)soak_random(r, DATA_KINDS), *r, x + shift, n);
  hx_value got = {.u64 = 0};
  hx_task t = op == HX_DOT ? hx_dot(type, x + shift, x + shift, n, &got) : hx_reduce(op, type, x + shift, n, &got);
  if (went_well(run_task(hx, &t, r), "fresh reduction", false))
    check_result(op, type, n, t.gpu_share, got, ref_reduce(op, type, x + shift, x + shift, n));
}

/* A device builds a program for each structure, which stays: three are drawn, so that memory soon stops growing. */
static void fields(hx_context *hx, uint64_t *r) {
  enum { STRUCTURES = 3 };
  const set *s = &sets[soak_random(r, SETS)];
  hx_field f[FIELDS];
  hx_value got[FIELDS];
  uint64_t structure = soak_random(r, STRUCTURES);
  const size_t count = 1 + soak_random(&structure, FIELDS);
  for (size_t i = 0; i < count; i++) {
    const hx_type type = (hx_type)(1 + soak_random(&structure, 3));
    f[i] = (hx_field){(hx_op)(1 + soak_random(&structure, HX_PROD)), type, s->x[type], s->y[type]};
  }
  hx_task t = hx_reduce_soa(f, count, s->n, got);
  if (!went_well(run_task(hx, &t, r), "structure of arrays", false)) return;
  for (size_t i = 0; i < count; i++)
    check_result(f[i].op, f[i].type, s->n, t.gpu_share, got[i], s->want[f[i].op][f[i].type]);
}

/* The rows or the columns of a matrix; each line is compared with the reduction of a copy of it. A device
 * builds the kernel of an operation and a type when a call first needs it. Five of the 27 are enough here, as the calls
 * of a run would otherwise mostly wait for the compiler. */
static void lines(hx_context *hx, uint64_t *r) {
  static const struct {
    hx_op op;
    hx_type type;
  } kCases[] = {{HX_SUM, HX_F32}, {HX_MIN, HX_F32}, {HX_ARGMAX, HX_I32}, {HX_DOT, HX_I32}, {HX_PROD, HX_U32}};
  static const size_t kSides[] = {1, 2, 3, 7, 8, 9, 16, 31, 33, 64};
  uint32_t x[LINES_ELEMENTS], copy[64];
  hx_value got[64];
  const size_t rows = kSides[soak_random(r, 10)], columns = kSides[soak_random(r, 10)],
               ld = columns + soak_random(r, 3);
  const size_t which = soak_random(r, sizeof kCases / sizeof *kCases);
  const hx_op op = kCases[which].op;
  const hx_type type = kCases[which].type;
  const bool by_rows = soak_random(r, 2);
  data_fill(type, (data_kind)soak_random(r, DATA_KINDS), *r, x, rows * ld);
  hx_task t = by_rows ? hx_reduce_rows(op, type, x, rows, columns, ld, got)
                      : hx_reduce_columns(op, type, x, rows, columns, ld, got);
  t.lines.y = x;
  if (!went_well(run_task(hx, &t, r), "lines", false)) return;
  const size_t count = by_rows ? rows : columns, n = by_rows ? columns : rows;
  for (size_t l = 0; l < count; l++) {
    for (size_t i = 0; i < n; i++) copy[i] = by_rows ? x[l * ld + i] : x[i * ld + l];
    check_result(op, type, n, t.gpu_share, got[l], ref_reduce(op, type, copy, copy, n));
  }
}

static void one_product(hx_context *hx, uint64_t *r) {
  const product *p = &products[soak_random(r, PRODUCTS)];
  const size_t bytes = p->args.m * p->args.n * 4;
  const block c = block_make(hx, (source)(1 + soak_random(r, SOURCES - 1)), p->old, bytes);
  const bool resident = c.source == RESIDENT;
  hx_task t = {.kind = HX_MATMUL, .matmul = p->args};
  t.matmul.c = c.p;
  bool ok = went_well(run_task(hx, &t, r), "product", resident);
  if (ok && resident) ok = went_well(hx_sync(hx, c.p, bytes), "hx_sync", true);
  if (ok && memcmp(c.p, p->want, bytes) != 0) {
    atomic_fetch_add(&counts.wrong, 1);
    soak_bad("WRONG product %zux%zux%zu beta %g share %g source %d", p->args.m, p->args.n, p->args.k,
             (double)p->args.beta, (double)t.gpu_share, (int)c.source);
  }
  block_free(hx, c);
}

/* A batch, of which devices get whole products; its C may stay on one. */
static void one_batch(hx_context *hx, uint64_t *r) {
  static const size_t kSides[] = {1, 4, 9, 16, 33, 64};
  const size_t m = kSides[soak_random(r, 6)], n = kSides[soak_random(r, 6)], k = kSides[soak_random(r, 6)];
  const size_t count = 2 + soak_random(r, 20), cells = m * n, bytes = count * cells * sizeof(float);
  float *const a = allocate_or_abort(count * m * k * sizeof *a), *const b =
                                                                     allocate_or_abort(count * k * n * sizeof *b);
  float *const old = allocate_or_abort(bytes), *const want = allocate_or_abort(bytes);
  data_fill(HX_F32, DATA_SIGNED, *r, a, count * m * k);
  data_fill(HX_F32, DATA_EXPONENTS, *r + 1, b, count * k * n);
  data_fill(HX_F32, DATA_SIGNED, *r + 2, old, count * cells);
  memcpy(want, old, bytes);
  const block c = block_make(hx, (source)(1 + soak_random(r, SOURCES - 1)), old, bytes);
  const bool resident = c.source == RESIDENT;
  hx_task t = hx_matmul_batched(m, n, k, a, m * k, b, soak_random(r, 2) ? k * n : 0, c.p, cells, count);
  t.matmul.beta = soak_random(r, 2) ? 0.5f : 0.0f;
  for (size_t i = 0; i < count; i++) {
    struct hx_matmul_args one = t.matmul;
    one.a += i * t.batch.stride_a, one.b += i * t.batch.stride_b, one.c = want + i * cells;
    ref_matmul(&one);
  }
  bool ok = went_well(run_task(hx, &t, r), "batch", resident);
  if (ok && resident) ok = went_well(hx_sync(hx, c.p, bytes), "hx_sync", true);
  if (ok && memcmp(c.p, want, bytes) != 0) {
    atomic_fetch_add(&counts.wrong, 1);
    soak_bad("WRONG batch %zu of %zux%zux%zu beta %g share %g source %d", count, m, n, k, (double)t.matmul.beta,
             (double)t.gpu_share, (int)c.source);
  }
  block_free(hx, c);
  free(a);
  free(b);
  free(old);
  free(want);
}

void case_run(hx_context *hx, uint64_t *r) {
  const uint64_t what = soak_random(r, 20);
  if (what < 8)
    reduction(hx, r);
  else if (what < 12)
    fresh_reduction(hx, r);
  else if (what < 14)
    fields(hx, r);
  else if (what < 16)
    lines(hx, r);
  else if (what < 17)
    one_batch(hx, r);
  else
    one_product(hx, r);
}
