/* SPDX-License-Identifier: Apache-2.0
 * Random cases: see bits_case.h. */
#include "tests/bits_case.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/data.h"
#include "reference/ref.h"
#include "runtime/base/operations.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { GUARD = 64, SLICE = 4096 };

static const char *const kSourceNames[] = {"malloc", "registered", "hx_alloc"};

uint64_t bits_random(bits_rng *rng, uint64_t below) { return below ? data_u64(rng->seed, rng->next++) % below : 0; }

static void *block_pointer(const bits_block *b) { return b->base + b->offset; }

static __attribute__((format(printf, 2, 3))) void append_text(bits_case *c, const char *format, ...) {
  size_t used = strlen(c->text);
  va_list args;
  va_start(args, format);
  vsnprintf(c->text + used, sizeof c->text - used, format, args);
  va_end(args);
}

/* A block for `bytes` at a random shift; align: 4 or 8. NULL if hx refused it. */
static bits_block *add_block(bits_case *c, hx_context *hx, bits_rng *rng, const char *name, size_t bytes,
                             size_t align) {
  bits_block *b = &c->block[c->blocks];
  *b = (bits_block){.name = name, .source = (bits_source)bits_random(rng, BITS_SOURCES)};
  b->bytes = bytes + 2 * GUARD + 64;
  b->offset = GUARD + bits_random(rng, 64 / align) * align;
  b->base = b->source == BITS_HX_ALLOC ? hx_alloc(hx, b->bytes) : malloc(b->bytes);
  if (b->base == NULL) {
    printf("%s: no %zu bytes\n", kSourceNames[b->source], b->bytes);
    return NULL;
  }
  c->blocks++;
  memset(b->base, 0xff, b->bytes);
  if (b->source == BITS_REGISTERED && hx_register(hx, b->base, b->bytes) != HX_OK) {
    printf("hx_register: %s\n", hx_error_detail());
    b->source = BITS_MALLOC;
    return NULL;
  }
  append_text(c, " %s:%s+%zu", name, kSourceNames[b->source], ((uintptr_t)b->base + b->offset) % 64);
  return b;
}

bool bits_case_free(bits_case *c, hx_context *hx) {
  bool ok = true;
  for (size_t i = 0; i < c->blocks; i++) {
    bits_block *b = &c->block[i];
    if (b->source == BITS_REGISTERED && hx_unregister(hx, b->base) != HX_OK) {
      printf("hx_unregister: %s\n", hx_error_detail());
      ok = false;
    }
    if (b->source == BITS_HX_ALLOC)
      hx_free(hx, b->base);
    else
      free(b->base);
    free(b->want);
  }
  return ok;
}

/* A size at or near a border of lanes, leaves and blocks of leaves; or any size, small ones as often as large ones. */
static size_t reduce_size(bits_rng *rng, size_t max_n) {
  static const size_t kBorders[] = {
      0,     1,     2,     3,     5,     7,     8,     15,    16,    17,    31,     33,     63,     64,     65,    97,
      127,   128,   129,   255,   257,   1000,  1021,  4093,  4095,  4096,  4097,   8191,   8192,   8193,   8209,  9999,
      12287, 12288, 12289, 16384, 20480, 20481, 65535, 65536, 65537, 99991, 131071, 131073, 200003, 262144, 299993};
  size_t n;
  if (bits_random(rng, 2)) {
    n = kBorders[bits_random(rng, COUNT(kBorders))];
  } else {
    n = (size_t)bits_random(rng, UINT64_C(2) << bits_random(rng, 19));
    if (bits_random(rng, 4) == 0) n = (n + SLICE - 1) / SLICE * SLICE; /* a whole number of leaves */
  }
  return n <= max_n ? n : n % (max_n + 1);
}

static data_kind random_kind(bits_rng *rng, hx_op op) {
  if (op == HX_PROD && bits_random(rng, 2)) return DATA_NEAR_ONE;
  return (data_kind)bits_random(rng, DATA_KINDS);
}

/* An input array with data, or the array of an earlier field. */
static const void *add_input(bits_case *c, hx_context *hx, bits_rng *rng, const char *name, hx_type type,
                             data_kind kind, size_t n) {
  if (c->blocks > 0 && *name == 'y' && bits_random(rng, 8) == 0) { /* inputs may be shared, and read as another type */
    append_text(c, " %s=%s", name, c->block[c->blocks - 1].name);
    return block_pointer(&c->block[c->blocks - 1]);
  }
  uint64_t seed = data_u64(rng->seed, rng->next++);
  bits_block *b = add_block(c, hx, rng, name, n * 4, 4);
  if (b == NULL) return NULL;
  append_text(c, "(kind %d)", kind);
  data_fill(type, kind, seed, block_pointer(b), n);
  return block_pointer(b);
}

/* Copies every block as it is before the call. */
static bool copy_blocks(bits_case *c) {
  for (size_t i = 0; i < c->blocks; i++) {
    c->block[i].want = malloc(c->block[i].bytes);
    if (c->block[i].want == NULL) return false;
    memcpy(c->block[i].want, c->block[i].base, c->block[i].bytes);
  }
  return true;
}

/* what: the numbers by which operation and type are drawn. x: the array; NULL: one is drawn. */
static bool make_field(bits_case *c, hx_context *hx, bits_rng *rng, bits_rng *what, const void *x, hx_field *field,
                       size_t n) {
  static const char *const kX = "x", *const kY = "y";
  do field->op = (hx_op)(HX_SUM + bits_random(what, HX__OP_COUNT));
  while (n == 0 && (field->op == HX_MIN || field->op == HX_MAX || field->op == HX_ARGMIN || field->op == HX_ARGMAX));
  field->type = bits_random(what, 5) < 3 ? HX_F32 : bits_random(what, 2) ? HX_I32 : HX_U32;
  append_text(c, "; %s %s", hx__op_names[field->op], hx__type_names[field->type]);
  data_kind kind = random_kind(rng, field->op);
  field->x = x ? x : add_input(c, hx, rng, kX, field->type, kind, n);
  field->y = NULL;
  if (field->x && field->op == HX_DOT) field->y = add_input(c, hx, rng, kY, field->type, kind, n);
  return field->x && (field->op != HX_DOT || field->y);
}

static bool make_reduce(bits_case *c, hx_context *hx, bits_rng *rng, const bits_limits *limits) {
  bool soa = bits_random(rng, 3) == 0 && limits->structures;
  bits_rng structure = {.seed = bits_random(rng, limits->structures)}, *what = soa ? &structure : rng;
  size_t nfields = soa ? 1 + bits_random(what, BITS_FIELDS) : 1;
  size_t n = reduce_size(rng, limits->max_n / (soa ? 2 : 1));
  append_text(c, "%s n=%zu", soa ? "soa" : "reduce", n);
  for (size_t f = 0; f < nfields; f++) {
    const void *const x = f && bits_random(what, 2) ? c->fields[f - 1].x : NULL;
    if (!make_field(c, hx, rng, what, x, &c->fields[f], n)) return false;
  }
  bits_block *b = add_block(c, hx, rng, "out", nfields * sizeof(hx_value), 8);
  if (b == NULL || !copy_blocks(c)) return false;
  hx_value *out = block_pointer(b);
  const hx_field *f = c->fields;
  if (soa)
    c->task = hx_reduce_soa(f, nfields, n, out);
  else
    c->task = f->op == HX_DOT ? hx_dot(f->type, f->x, f->y, n, out) : hx_reduce(f->op, f->type, f->x, n, out);
  for (size_t i = 0; i < nfields; i++) {
    hx_value want = ref_reduce(f[i].op, f[i].type, f[i].x, f[i].y, n);
    memcpy(b->want + b->offset + i * sizeof want, &want, sizeof want);
  }
  c->units = (uint64_t)nfields * n;
  c->slices = (n + SLICE - 1) / SLICE;
  c->idle = n == 0;
  return true;
}

/* The leaves of a line, the lines of a slice, and whether slots are counted leaf by leaf, as task/task.h has it. */
typedef struct line_slices {
  size_t leaves, together;
  bool across;
} line_slices;

static line_slices slices_of_lines(const struct hx_lines_args *l) {
  return (line_slices){.leaves = (l->n + SLICE - 1) / SLICE,
                       .together = l->n < SLICE ? SLICE / l->n : 1,
                       .across = l->lines > 1 && l->n > 1 && l->line_stride < l->stride};
}

/* Rows or columns; no fewer than half of the elements of the block belong to them, so that devices take part. */
static bool make_lines(bits_case *c, hx_context *hx, bits_rng *rng, const bits_limits *limits) {
  static const size_t kLines[] = {1, 2, 3, 5, 8, 15, 16, 17, 40, 64, 100, 300};
  const bool columns = bits_random(rng, 2);
  size_t n = reduce_size(rng, limits->max_n / 4), lines = kLines[bits_random(rng, COUNT(kLines))];
  if (lines * n > limits->max_n) lines = 1 + limits->max_n / n;
  if (n == 0) n = 1;
  const size_t width = columns ? lines : n, ld = width + bits_random(rng, width < 6 ? width : 6);
  const size_t elements = ((columns ? n : lines) - 1) * ld + width;
  append_text(c, "%s lines=%zu n=%zu ld=%zu", columns ? "columns" : "rows", lines, n, ld);
  hx_field *const f = c->fields;
  if (!make_field(c, hx, rng, rng, NULL, f, elements)) return false;
  bits_block *b = add_block(c, hx, rng, "out", lines * sizeof(hx_value), 8);
  uint32_t *const packed = malloc(2 * n * sizeof *packed);
  if (b == NULL || !packed || !copy_blocks(c)) return false;
  c->task = columns ? hx_reduce_columns(f->op, f->type, f->x, n, lines, ld, block_pointer(b))
                    : hx_reduce_rows(f->op, f->type, f->x, lines, n, ld, block_pointer(b));
  struct hx_lines_args *const l = &c->task.lines;
  l->y = f->y;
  for (size_t i = 0; i < lines; i++) {
    for (size_t j = 0; j < n; j++) {
      const size_t at = i * l->line_stride + j * l->stride;
      packed[j] = ((const uint32_t *)f->x)[at];
      packed[n + j] = f->op == HX_DOT ? ((const uint32_t *)f->y)[at] : 0;
    }
    hx_value want = ref_reduce(f->op, f->type, packed, packed + n, n);
    memcpy(b->want + b->offset + i * sizeof want, &want, sizeof want);
  }
  free(packed);
  const line_slices s = slices_of_lines(l);
  c->units = (uint64_t)lines * n;
  c->slices = s.leaves == 1 ? (lines + s.together - 1) / s.together : lines * s.leaves;
  return true;
}

static uint64_t lines_tail_units(const bits_case *c, uint64_t slices) {
  const struct hx_lines_args *const l = &c->task.lines;
  const line_slices s = slices_of_lines(l);
  if (s.leaves == 1) return (l->lines - (c->slices - slices) * s.together) * l->n;
  uint64_t units = 0;
  for (uint64_t slot = c->slices - slices; slot < c->slices; slot++) {
    const size_t first = (s.across ? slot / l->lines : slot % s.leaves) * SLICE;
    units += l->n - first < SLICE ? l->n - first : SLICE;
  }
  return units;
}

/* Sizes around the borders of tiles (m, n) and panels (k). */
static void matmul_sizes(bits_rng *rng, uint64_t max_mnk, size_t *m, size_t *n, size_t *k) {
  static const size_t kTiles[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  12, 13, 14, 15,  16,  17,  23,  24,  28,  29,
                                  31, 32, 33, 47, 48, 49, 63, 64, 65, 95, 96, 97, 112, 127, 128, 129, 200, 257, 1000};
  static const size_t kDepths[] = {1,  2,  3,   4,   5,   7,   8,   9,    15,   16,   17,  31,
                                   32, 33, 100, 129, 511, 512, 513, 1023, 1024, 1025, 1537};
  *m = kTiles[bits_random(rng, COUNT(kTiles))];
  *n = kTiles[bits_random(rng, COUNT(kTiles))];
  *k = kDepths[bits_random(rng, COUNT(kDepths))];
  if (bits_random(rng, 4) == 0) {
    *m = 1 + bits_random(rng, 160);
    *n = 1 + bits_random(rng, 160);
    *k = 1 + bits_random(rng, 1100);
  }
  while ((uint64_t)*m * *n * *k > max_mnk) { /* the largest of the three is reduced */
    size_t *largest = *m >= *n && *m >= *k ? m : *n >= *k ? n : k;
    *largest = *largest / 2 + (*largest > 9 && bits_random(rng, 2));
  }
  switch (bits_random(rng, 24)) {
    case 0:
      *m = 0;
      break;
    case 1:
      *n = 0;
      break;
    case 2:
      *k = 0;
      break;
  }
}

static size_t leading_dimension(bits_rng *rng, size_t packed) {
  static const size_t kGaps[] = {0, 1, 3, 4, 16, 29};
  return packed + kGaps[bits_random(rng, COUNT(kGaps))];
}

/* rows x ld floats of which the first `columns` of each row are data; the gaps stay NaN. */
static bits_block *matrix(bits_case *c, hx_context *hx, bits_rng *rng, const char *name, data_kind kind, size_t rows,
                          size_t columns, size_t ld) {
  uint64_t seed = data_u64(rng->seed, rng->next++);
  bits_block *b = add_block(c, hx, rng, name, (rows ? (rows - 1) * ld + columns : 0) * 4, 4);
  if (b != NULL)
    for (size_t i = 0; i < rows; i++) data_fill(HX_F32, kind, seed + i, (float *)block_pointer(b) + i * ld, columns);
  return b;
}

static bool make_matmul(bits_case *c, hx_context *hx, bits_rng *rng, const bits_limits *limits) {
  static const float kAlphas[] = {
      1, 1, 1, 1, -1, 2.5f, 0, -0.0f, 0x1p-130f, 3e38f, __builtin_inff(), __builtin_nanf("")};
  static const float kBetas[] = {0, 0, 0, 1, 1, -0.75f, 0.5f, -0.0f, 0x1p-130f, __builtin_inff(), __builtin_nanf("")};
  size_t m, n, k;
  matmul_sizes(rng, limits->max_mnk, &m, &n, &k);
  bool ta = bits_random(rng, 2), tb = bits_random(rng, 2);
  size_t lda = leading_dimension(rng, ta ? m : k), ldb = leading_dimension(rng, tb ? k : n);
  size_t ldc = leading_dimension(rng, n);
  float alpha = kAlphas[bits_random(rng, COUNT(kAlphas))], beta = kBetas[bits_random(rng, COUNT(kBetas))];
  data_kind kind = (data_kind)bits_random(rng, DATA_KINDS);
  append_text(c, "matmul %zux%zux%zu ta=%d tb=%d lda=%zu ldb=%zu ldc=%zu alpha=%g beta=%g kind %d;", m, n, k, ta, tb,
              lda, ldb, ldc, (double)alpha, (double)beta, kind);
  bits_block *a = matrix(c, hx, rng, "a", kind, ta ? k : m, ta ? m : k, lda);
  bits_block *b = a ? matrix(c, hx, rng, "b", kind, tb ? n : k, tb ? k : n, ldb) : NULL;
  /* With beta == 0 the old C is all NaN: it must not be read. */
  bits_block *old = b ? matrix(c, hx, rng, "c", kind, m, n, ldc) : NULL;
  if (old == NULL) return false;
  if (beta == 0) memset(old->base, 0xff, old->bytes);
  if (!copy_blocks(c)) return false;
  c->task = hx_matmul(m, n, k, block_pointer(a), block_pointer(b), block_pointer(old));
  struct hx_matmul_args *args = &c->task.matmul;
  args->alpha = alpha;
  args->beta = beta;
  args->trans_a = ta;
  args->trans_b = tb;
  bool packed = bits_random(rng, 2); /* a leading dimension of 0 means the same */
  args->lda = packed && lda == (ta ? m : k) ? 0 : lda;
  args->ldb = packed && ldb == (tb ? k : n) ? 0 : ldb;
  args->ldc = packed && ldc == n ? 0 : ldc;
  c->idle = m == 0 || n == 0 || k == 0 || alpha == 0;
  if (c->idle && bits_random(rng, 2)) args->a = args->b = NULL;
  struct hx_matmul_args reference = *args;
  reference.c = (float *)(void *)(old->want + old->offset);
  ref_matmul(&reference);
  c->units = (uint64_t)m * n * k;
  c->slices = n > m ? n : m;
  return true;
}

bool bits_case_make(bits_case *c, hx_context *hx, uint64_t seed, const bits_limits *limits) {
  static const float kShares[] = {-1, 0, 0.13f, 0.5f, 0.87f, 1};
  /* Default; FTZ and DAZ; round up; toward zero with FTZ and DAZ; invalid operations trap. */
  static const unsigned kStates[] = {0x1f80, 0x1f80, 0x9fc0, 0x5f80, 0xffc0, 0x1f00};
  bits_rng rng = {seed, 0};
  memset(c, 0, sizeof *c);
  c->seed = seed;
  float share = kShares[bits_random(&rng, COUNT(kShares))];
  c->mxcsr = kStates[bits_random(&rng, COUNT(kStates))];
  c->async = bits_random(&rng, 4) == 0;
  append_text(c, "share=%g mxcsr=%x%s ", (double)share, c->mxcsr, c->async ? " async" : "");
  const uint64_t what = bits_random(&rng, 7);
  bool made = what < 3 || (what < 5 && !limits->lines) ? make_reduce(c, hx, &rng, limits)
              : what < 5                               ? make_lines(c, hx, &rng, limits)
                                                       : make_matmul(c, hx, &rng, limits);
  c->task.gpu_share = share;
  return made;
}

uint64_t bits_case_tail_units(const bits_case *c, uint64_t slices) {
  if (slices == 0 || c->units == 0) return 0;
  if (c->task.kind == HX_MATMUL) return c->units / c->slices * slices;
  if (c->task.kind == HX_REDUCE_LINES) return lines_tail_units(c, slices);
  uint64_t n = c->task.kind == HX_REDUCE ? c->task.reduce.n : c->task.soa.n;
  return c->units / n * (n - (c->slices - slices) * SLICE);
}

bool bits_case_equal(const bits_case *c, char *text, size_t bytes) {
  for (size_t i = 0; i < c->blocks; i++) {
    const bits_block *b = &c->block[i];
    if (memcmp(b->base, b->want, b->bytes) == 0) continue;
    size_t at = 0;
    while (b->base[at] == b->want[at]) at++;
    size_t word = at < b->offset ? at : b->offset + (at - b->offset) / 4 * 4;
    uint32_t got = 0, want = 0;
    memcpy(&got, b->base + word, 4);
    memcpy(&want, b->want + word, 4);
    snprintf(text, bytes, "%s at byte %td: %08x instead of %08x", b->name, (ptrdiff_t)word - (ptrdiff_t)b->offset, got,
             want);
    return false;
  }
  return true;
}
