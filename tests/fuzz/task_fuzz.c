/* SPDX-License-Identifier: Apache-2.0
 * The check of a task against the promises of hx.h, written here a second time in wider arithmetic and, for small
 * matrices, by marking every element. Also compares what the quick path of small calls accepts with the check. No array
 * is read. */
#include "runtime/expr/compile.h"
#include "runtime/task/quick.h"
#include "runtime/task/task.h"
#include "tests/fuzz/fuzz.h"

enum { CELLS = 4096, MOST_FIELDS = 4, SMALL_UNITS = (1 << 17) - 1 };
typedef unsigned __int128 wide;

static _Alignas(64) float arena[CELLS];

/* The kernels of maps, and what of them a task may leave out. */
enum { KERNELS = 5, MOST_INPUTS = 2, MOST_OUTPUTS = 2 };
static struct hx_kernel kernels[KERNELS];
static const struct {
  hx_kernel_source source;
  unsigned inputs, parameters, outputs;
} kSources[KERNELS] = {{{.text = "7"}, 0, 0, 1},
                       {{.text = "x * a", .inputs = "float x", .parameters = "float a"}, 1, 1, 1},
                       {{.text = "x - y", .inputs = "int x, int y"}, 2, 0, 1},
                       {{.text = "x - y", .inputs = "int x, row int y"}, 2, 0, 1},
                       {{.text = "int u = x + 1;", .inputs = "int x", .outputs = "u, x"}, 1, 0, 2}};

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  for (int i = 0; i < KERNELS; i++) {
    FUZZ_CHECK(hx__expr_compile(&kSources[i].source, &kernels[i].expr) == HX_OK, "%s", hx_error_detail());
    kernels[i].hash = hx__expr_hash(&kernels[i].expr);
  }
  return 0;
}

/* An address, mostly in the arena; otherwise NULL, misaligned, or near the end of the address space. */
static uintptr_t address(fuzz_input *in) {
  const size_t kind = fuzz_below(in, 16);
  const uintptr_t inside = (uintptr_t)&arena[fuzz_below(in, 300)];
  if (kind == 0) return 0;
  if (kind == 1) return inside + 1 + fuzz_below(in, 3);
  if (kind == 2) return UINTPTR_MAX - fuzz_below(in, 4096);
  if (kind == 3) return fuzz_number(in, 8);
  return inside;
}

static size_t any_extent(fuzz_input *in, size_t usual) {
  static const size_t edges[] = {SIZE_MAX,   SIZE_MAX / 2, SIZE_MAX / 4, (size_t)1 << 32,
                                 UINT32_MAX, 1u << 31,     1024,         1025};
  const size_t kind = fuzz_below(in, 16);
  if (kind == 0) return edges[fuzz_below(in, 8)] + fuzz_below(in, 3);
  if (kind == 1) return fuzz_number(in, 8);
  return fuzz_below(in, usual);
}

static bool array_fits(uintptr_t p, size_t n) { return p && p % 4 == 0 && (wide)p + (wide)n * 4 <= UINTPTR_MAX; }
static bool ranges_disjoint(uintptr_t a, wide a_bytes, uintptr_t b, wide b_bytes) {
  return (wide)a + a_bytes <= b || (wide)b + b_bytes <= a;
}

static bool field_fits(const hx_field *f, size_t n, uintptr_t out, size_t fields) {
  if (f->op < HX_SUM || f->op > HX_PROD || f->type < HX_F32 || f->type > HX_U32) return false;
  if (n == 0) return f->op < HX_MIN || f->op > HX_ARGMAX;
  const uintptr_t x = (uintptr_t)f->x, y = (uintptr_t)f->y;
  if (!array_fits(x, n) || !ranges_disjoint(out, (wide)fields * 8, x, (wide)n * 4)) return false;
  return f->op != HX_DOT || (array_fits(y, n) && ranges_disjoint(out, (wide)fields * 8, y, (wide)n * 4));
}

static bool reduction_fits(const hx_field *fields, size_t count, size_t n, uintptr_t out, bool list) {
  if (n > SIZE_MAX / 4) return false;
  if (count == 0) return true;
  if (!fields || !out || out % 8) return false;
  if (list && !ranges_disjoint(out, (wide)count * 8, (uintptr_t)fields, (wide)count * sizeof *fields)) return false;
  for (size_t i = 0; i < count; i++)
    if (!field_fits(&fields[i], n, out, count)) return false;
  return true;
}

typedef struct block {
  uintptr_t p;
  size_t rows, cols, ld;
} block;

static bool block_fits(const block *b, bool empty) {
  if (b->ld < b->cols || b->p % 4) return false;
  if (empty) return true;
  const wide elements = (wide)(b->rows ? b->rows - 1 : 0) * b->ld + b->cols;
  return elements <= SIZE_MAX / 4 && (!b->p || (wide)b->p + elements * 4 <= UINTPTR_MAX);
}

static bool in_arena(const block *b) {
  const uintptr_t from = (uintptr_t)arena, to = from + sizeof arena;
  return b->p >= from && b->p < to && b->rows < 64 && b->cols < 64 && b->ld < 64 &&
         b->p + ((b->rows ? b->rows - 1 : 0) * b->ld + b->cols) * 4 <= to;
}

static bool blocks_overlap(const block *x, const block *y) {
  static bool marked[CELLS];
  memset(marked, 0, sizeof marked);
  const size_t x0 = (x->p - (uintptr_t)arena) / 4, y0 = (y->p - (uintptr_t)arena) / 4;
  for (size_t i = 0; i < x->rows; i++)
    for (size_t j = 0; j < x->cols; j++) marked[x0 + i * x->ld + j] = true;
  for (size_t i = 0; i < y->rows; i++)
    for (size_t j = 0; j < y->cols; j++)
      if (marked[y0 + i * y->ld + j]) return true;
  return false;
}

/* 1: the product is valid, 0: it is not, -1: it is too large for elements to be marked. empty: none is accessed. */
static int product_fits(const struct hx_matmul_args *t, bool empty) {
  block a = {(uintptr_t)t->a, t->trans_a ? t->k : t->m, t->trans_a ? t->m : t->k, t->lda};
  block b = {(uintptr_t)t->b, t->trans_b ? t->n : t->k, t->trans_b ? t->k : t->n, t->ldb};
  block c = {(uintptr_t)t->c, t->m, t->n, t->ldc};
  if (!a.ld) a.ld = a.cols;
  if (!b.ld) b.ld = b.cols;
  if (!c.ld) c.ld = c.cols;
  const bool reads = !empty && t->k && t->alpha != 0;
  if (!block_fits(&a, empty) || !block_fits(&b, empty) || !block_fits(&c, empty)) return 0;
  if ((!empty && !c.p) || (reads && (!a.p || !b.p))) return 0;
  if (!reads) return 1;
  if (!in_arena(&a) || !in_arena(&b) || !in_arena(&c)) return -1;
  return !blocks_overlap(&c, &a) && !blocks_overlap(&c, &b);
}

/* The operands of product i of a batch. False if one is not in the arena. */
static bool operands_of(const hx_task *t, size_t i, block operand[3]) {
  const struct hx_matmul_args *const p = &t->matmul;
  const size_t rows[] = {p->trans_a ? p->k : p->m, p->trans_b ? p->n : p->k, p->m},
               cols[] = {p->trans_a ? p->m : p->k, p->trans_b ? p->k : p->n, p->n}, ld[] = {p->lda, p->ldb, p->ldc},
               stride[] = {t->batch.stride_a, t->batch.stride_b, t->batch.stride_c};
  const uintptr_t first[] = {(uintptr_t)p->a, (uintptr_t)p->b, (uintptr_t)p->c};
  for (int o = 0; o < 3; o++) {
    operand[o] = (block){first[o] + i * stride[o] * 4, rows[o], cols[o], ld[o] ? ld[o] : cols[o]};
    if (stride[o] > CELLS || !in_arena(&operand[o])) return false;
  }
  return true;
}

/* Whether the check of an operand against C is exact: their memory does not overlap, or they take turns in it. */
static bool is_exact(const hx_task *t, const block *x, size_t stride, const block *c) {
  const size_t more = t->batch.count - 1, stride_c = t->batch.stride_c, all = (x->rows - 1) * x->ld + x->cols,
               all_c = (c->rows - 1) * c->ld + c->cols;
  const bool apart = stride == stride_c && stride >= all && stride >= all_c;
  return apart || x->p + (more * stride + all) * 4 <= c->p || c->p + (more * stride_c + all_c) * 4 <= x->p;
}

/* As product_fits, for a batch: also -1 if it has too many products to compare each with each. */
static int batch_fits(const hx_task *t) {
  const struct hx_matmul_args *const p = &t->matmul;
  const bool empty = !p->m || !p->n || !t->batch.count, reads = p->k && p->alpha != 0;
  const int one = product_fits(p, empty);
  if (one == 0 || empty || t->batch.count == 1) return one;
  if (t->batch.count > 8) return -1;
  for (size_t i = 0; i < t->batch.count; i++)
    for (size_t j = 0; j < t->batch.count; j++) {
      block x[3], y[3];
      if (!operands_of(t, i, x) || !operands_of(t, j, y)) return -1;
      if (i != j && blocks_overlap(&x[2], &y[2])) return 0;
      if (reads && (blocks_overlap(&x[2], &y[0]) || blocks_overlap(&x[2], &y[1]))) return 0;
    }
  block first[3];
  if (!reads || !operands_of(t, 0, first)) return 1;
  return is_exact(t, &first[0], t->batch.stride_a, &first[2]) && is_exact(t, &first[1], t->batch.stride_b, &first[2])
             ? 1
             : -1;
}

/* Whether the call is right about lines of one array. -1: the definition here cannot tell, because numbers are large,
 * or because lines of which nothing is adjacent are also refused if out lies between their elements. */
static int lines_fit(const struct hx_lines_args *t, uintptr_t p, size_t line, size_t one) {
  if ((line == 0 && t->lines > 1) || (one == 0 && t->n > 1) || p == 0 || p & 3u) return 0;
  if (t->lines > 1000 || t->n > 1000 || line > 1000 || one > 1000) return -1;
  const wide end = (wide)p + ((t->lines - 1) * line + (t->n - 1) * one + 1) * 4;
  const uintptr_t out = (uintptr_t)t->out;
  if (p < (uintptr_t)arena || end > (uintptr_t)arena + sizeof arena) return -1;
  for (size_t l = 0; l < t->lines; l++)
    for (size_t i = 0; i < t->n; i++) {
      const uintptr_t at = p + (l * line + i * one) * 4;
      if (at + 4 > out && at < out + t->lines * 8) return 0;
    }
  const bool exact = t->n == 1 || t->lines == 1 || (one == 1 && line >= t->n) || (line == 1 && one >= t->lines);
  return exact ? 1 : -1;
}

static int lines_are_valid(const struct hx_lines_args *t) {
  if ((int)t->op < HX_SUM || t->op > HX_PROD || (int)t->type < HX_F32 || t->type > HX_U32) return 0;
  if (t->lines == 0) return 1;
  if (t->n == 0 && t->op >= HX_MIN && t->op <= HX_ARGMAX) return 0;
  if (!t->out || (uintptr_t)t->out & 7u) return 0;
  if (t->lines > 1000) return -1;
  if ((wide)(uintptr_t)t->out + t->lines * sizeof(hx_value) > UINTPTR_MAX) return 0;
  if (t->n == 0) return 1;
  const int x = lines_fit(t, (uintptr_t)t->x, t->line_stride, t->stride);
  const int y = t->op == HX_DOT ? lines_fit(t, (uintptr_t)t->y, t->y_line_stride, t->y_stride) : 1;
  return x == 0 || y == 0 ? 0 : x < 0 || y < 0 ? -1 : 1;
}

static size_t map_rows(const struct hx_map_args *t) { return t->rows || (t->op && t->ld_out) ? t->rows : 1; }

static size_t map_results(const struct hx_map_args *t) { return t->op && t->fields ? t->nfields : map_rows(t); }

/* The bytes from the first element of a map's array to its last one; false: they do not fit the address space. */
static bool map_array_fits(const struct hx_map_args *t, uintptr_t p, size_t cols, size_t ld, wide *bytes) {
  const size_t rows = map_rows(t);
  if ((ld && ld < cols) || (wide)(rows - 1) * ld > SIZE_MAX) return false;
  *bytes = ((wide)(rows - 1) * ld + cols) * 4;
  return p && !(p & 3u) && p + *bytes <= UINTPTR_MAX;
}

static bool map_reduction_fits(const struct hx_map_args *t) {
  if (t->ld_out > 1 || (!t->ld_out && (t->rows || t->ld))) return false;
  if (t->fields ? t->ld_out != 0 : t->nfields != 0) return false;
  const hx_field one = {t->op, hx_kernel_type(t->kernel), NULL, NULL};
  const hx_field *const fields = t->fields ? t->fields : &one;
  const size_t count = t->fields ? t->nfields : 1;
  for (size_t f = 0; f < count; f++) {
    if (fields[f].op < HX_SUM || fields[f].op > HX_PROD || fields[f].op == HX_DOT) return false;
    if (fields[f].type != one.type) return false;
    if (map_results(t) && t->n == 0 && fields[f].op >= HX_MIN && fields[f].op <= HX_ARGMAX) return false;
  }
  const uintptr_t out = (uintptr_t)t->out;
  if (map_results(t) == 0) return true;
  if (!out || out % 8 || (wide)out + (wide)map_results(t) * 8 > UINTPTR_MAX) return false;
  return !t->fields || ranges_disjoint(out, (wide)count * 8, (uintptr_t)fields, (wide)count * sizeof *fields);
}

static bool map_output_fits(const struct hx_map_args *t, uintptr_t out) {
  wide out_bytes = (wide)map_results(t) * sizeof(hx_value), bytes;
  const size_t ld_out = t->ld_out ? t->ld_out : t->n, kernel = (size_t)(t->kernel - kernels);
  if (!t->op && !map_array_fits(t, out, t->n, ld_out, &out_bytes)) return false;
  if ((kSources[kernel].inputs && !t->inputs) || (kSources[kernel].parameters && !t->parameters)) return false;
  if (map_rows(t) == 0 || map_results(t) == 0) return true;
  for (unsigned i = 0; i < kSources[kernel].inputs; i++) {
    const uintptr_t x = (uintptr_t)t->inputs[i];
    const bool per_row = kernel == 3 && i == 1;
    const size_t cols = per_row ? 1 : t->n, ld = t->ld ? t->ld[i] : cols;
    const bool in_place = t->op == 0 && x == out && !per_row && (map_rows(t) == 1 || ld == ld_out);
    if (!map_array_fits(t, x, cols, ld, &bytes)) return false;
    if (!in_place && !ranges_disjoint(out, out_bytes, x, bytes)) return false;
  }
  return true;
}

static bool map_fits(const struct hx_map_args *t) {
  if (!t->kernel || t->n > SIZE_MAX / 4 || (wide)t->n * map_rows(t) > SIZE_MAX / 4) return false;
  if (t->op ? !map_reduction_fits(t) : t->fields || t->nfields > 1) return false;
  const unsigned outputs = kSources[t->kernel - kernels].outputs;
  if (outputs > 1 && (t->op || !t->nfields)) return false;
  if (t->n == 0) return true;
  if (t->op || !t->nfields) return map_output_fits(t, (uintptr_t)t->out);
  for (unsigned o = 0; o < outputs; o++)
    if (!t->out || !map_output_fits(t, (uintptr_t)((void **)t->out)[o])) return false;
  const uintptr_t first = (uintptr_t)((void **)t->out)[0], last = (uintptr_t)((void **)t->out)[outputs - 1];
  const wide bytes = ((wide)(map_rows(t) - 1) * (t->ld_out ? t->ld_out : t->n) + t->n) * 4;
  return outputs == 1 || ranges_disjoint(first, bytes, last, bytes);
}

static int task_is_valid(const hx_task *t) {
  if (!(t->gpu_share <= 1)) return 0;
  for (size_t i = t->kind == HX_MATMUL_BATCHED ? 4 : 0; i < 8; i++)
    if (t->reserved[i]) return 0;
  if (t->kind == HX_MATMUL_BATCHED) return batch_fits(t);
  if (t->kind == HX_MATMUL) return product_fits(&t->matmul, !t->matmul.m || !t->matmul.n);
  if (t->kind == HX_REDUCE_SOA)
    return reduction_fits(t->soa.fields, t->soa.nfields, t->soa.n, (uintptr_t)t->soa.out, true);
  if (t->kind == HX_REDUCE_LINES) return lines_are_valid(&t->lines);
  if (t->kind == HX_MAP) return map_fits(&t->map);
  const hx_field field = {t->reduce.op, t->reduce.type, t->reduce.x, t->reduce.y};
  return t->kind == HX_REDUCE && reduction_fits(&field, 1, t->reduce.n, (uintptr_t)t->reduce.out, false);
}

static hx_field any_field(fuzz_input *in) {
  return (hx_field){(hx_op)fuzz_below(in, 11), (hx_type)fuzz_below(in, 5), (const void *)address(in),
                    (const void *)address(in)};
}

static struct hx_map_args any_map(fuzz_input *in) {
  static const void *inputs[MOST_INPUTS];
  static const hx_value parameters[1];
  struct hx_map_args t = {.n = any_extent(in, 300), .out = (void *)address(in)};
  const unsigned flags = (unsigned)fuzz_number(in, 1);
  for (int i = 0; i < MOST_INPUTS; i++) inputs[i] = (const void *)address(in);
  if (flags & 1) t.op = (hx_op)fuzz_below(in, 11);
  t.kernel = flags & 2 || flags & 4 ? &kernels[fuzz_below(in, KERNELS)] : NULL;
  t.inputs = flags & 8 || flags & 16 ? inputs : NULL;
  t.parameters = flags & 32 || flags & 64 ? parameters : NULL;
  if (flags & 128) inputs[0] = t.out;
  static size_t ld[MOST_INPUTS];
  const unsigned rows = (unsigned)fuzz_number(in, 1);
  if (rows & 1) t.rows = any_extent(in, 5);
  for (int i = 0; i < MOST_INPUTS; i++) ld[i] = rows & 2 ? any_extent(in, 300) : 0;
  if (rows & 6) t.ld = ld;
  if (rows & 8) t.ld_out = any_extent(in, 300);
  if (t.op && rows & 16) t.ld_out = 1;
  static void *outputs[MOST_OUTPUTS];
  if (t.op || !(rows & 32)) return t;
  for (int o = 0; o < MOST_OUTPUTS; o++) outputs[o] = rows & 64 ? (void *)(uintptr_t)inputs[o] : (void *)address(in);
  t.nfields = fuzz_below(in, 16) ? 1 : 2;
  t.out = fuzz_below(in, 16) ? outputs : NULL;
  return t;
}

static hx_task any_task(fuzz_input *in, hx_field fields[MOST_FIELDS]) {
  static const float shares[] = {-1, 0, 0.5f, 1, 1.5f, -0.0f, 1e-40f}, scales[] = {1, 0, -0.0f, 0.37f};
  hx_task t;
  memset(&t, 0, sizeof t);
  static const hx_kind kinds[] = {HX_REDUCE, HX_REDUCE_SOA, HX_MATMUL, HX_REDUCE_LINES, HX_MAP};
  t.kind = kinds[fuzz_below(in, sizeof kinds / sizeof kinds[0])];
  t.gpu_share = shares[fuzz_below(in, 7)];
  if (fuzz_below(in, 32) == 31)
    t.kind = (hx_kind)fuzz_number(in, 1), t.reserved[fuzz_below(in, 8)] = fuzz_number(in, 1);
  if (t.kind == HX_MATMUL) {
    const unsigned flags = (unsigned)fuzz_number(in, 1);
    t.matmul = (struct hx_matmul_args){.m = any_extent(in, 14), .n = any_extent(in, 14), .k = any_extent(in, 14)};
    t.matmul.a = (const float *)address(in), t.matmul.b = (const float *)address(in), t.matmul.c = (float *)address(in);
    if (flags & 1)
      t.matmul.lda = any_extent(in, 32), t.matmul.ldb = any_extent(in, 32), t.matmul.ldc = any_extent(in, 32);
    t.matmul.trans_a = flags & 2, t.matmul.trans_b = flags & 4;
    t.matmul.alpha = scales[flags >> 3 & 3], t.matmul.beta = scales[flags >> 5 & 3];
    if (flags & 128) {
      t.kind = fuzz_below(in, 32) == 31 ? HX_MATMUL : HX_MATMUL_BATCHED;
      t.batch.count = any_extent(in, 9), t.batch.stride_a = any_extent(in, 200);
      t.batch.stride_b = any_extent(in, 200), t.batch.stride_c = any_extent(in, 200);
    }
  } else if (t.kind == HX_REDUCE_LINES) {
    const hx_field f = any_field(in);
    t.lines = (struct hx_lines_args){.op = f.op, .type = f.type, .x = f.x, .y = f.y, .out = (hx_value *)address(in)};
    t.lines.lines = any_extent(in, 20), t.lines.n = any_extent(in, 20);
    t.lines.line_stride = any_extent(in, 24), t.lines.stride = any_extent(in, 24);
    t.lines.y_line_stride = any_extent(in, 24), t.lines.y_stride = any_extent(in, 24);
  } else if (t.kind == HX_MAP) {
    t.map = any_map(in);
    if (t.map.op && fuzz_below(in, 4) == 3) {
      const bool fits = fuzz_below(in, 8) && t.map.kernel;
      t.map.nfields = fuzz_below(in, MOST_FIELDS + 1);
      for (size_t i = 0; i < MOST_FIELDS; i++) fields[i] = any_field(in);
      for (size_t i = 0; i < MOST_FIELDS && fits; i++) fields[i].type = hx_kernel_type(t.map.kernel);
      t.map.fields = fuzz_below(in, 16) ? fields : NULL;
      if (fuzz_below(in, 16)) t.map.rows = t.map.ld_out = 0, t.map.ld = NULL;
      if (fuzz_below(in, 16) == 15) t.map.out = fields;
    }
  } else if (t.kind == HX_REDUCE_SOA) {
    t.soa = (struct hx_soa_args){.nfields = fuzz_below(in, MOST_FIELDS + 1), .n = any_extent(in, 300)};
    for (size_t i = 0; i < MOST_FIELDS; i++) fields[i] = any_field(in);
    t.soa.fields = fuzz_below(in, 16) ? fields : NULL;
    t.soa.out = fuzz_below(in, 16) ? (hx_value *)address(in) : (hx_value *)(void *)fields;
  } else {
    const hx_field f = any_field(in);
    t.reduce = (struct hx_reduce_args){f.op, f.type, f.x, f.y, any_extent(in, 300), (hx_value *)address(in)};
  }
  return t;
}

static void check_quick(const hx_task *t, bool accepted, const hx__work *w) {
  if (!hx__task_is_plain(t)) return;
  hx__gemm g;
  if (t->kind == HX_REDUCE && t->reduce.n >= 1 && t->reduce.n <= 32768) {
    const bool quick = hx__quick_reduce_is_valid(&t->reduce);
    FUZZ_CHECK(!quick || accepted, "the quick path takes a reduction that the check refuses");
    /* The quick path also has to accept what the check accepts, otherwise small calls would be slow. */
    if ((uintptr_t)t->reduce.x - (uintptr_t)arena < sizeof arena && t->reduce.op != HX_DOT)
      FUZZ_CHECK(quick == accepted, "the quick path refuses a reduction that is fine");
  }
  if (t->kind == HX_MATMUL && hx__quick_product_is_valid(&t->matmul, SMALL_UNITS, &g)) {
    FUZZ_CHECK(accepted, "the quick path takes a product that the check refuses");
    const hx__gemm *const c = &w->gemm;
    FUZZ_CHECK(g.m == c->m && g.n == c->n && g.k == c->k && g.a == c->a && g.b == c->b && g.c == c->c &&
                   g.a_rs == c->a_rs && g.a_cs == c->a_cs && g.b_rs == c->b_rs && g.b_cs == c->b_cs && g.ldc == c->ldc,
               "the quick path has other strides");
  }
}

/* The units of all chunks of one slice add up to the call's units. */
static void check_units(const hx__work *w) {
  if (w->slices == 0 || w->slices > 400 || w->units == UINT64_MAX || w->batch.count) return;
  uint64_t units = 0;
  for (size_t i = 0; i < w->slices; i++) units += hx__chunk_units(w, (hx__chunk){i, 1});
  FUZZ_CHECK(units == w->units, "%llu units in slices, %llu in all", (unsigned long long)units,
             (unsigned long long)w->units);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size};
  static hx_field fields[MOST_FIELDS];
  const hx_task task = any_task(&in, fields);
  hx__work work;
  const bool accepted = hx__task_check(&task, &work) == HX_OK;
  const int expected = task_is_valid(&task);
  if (expected >= 0)
    FUZZ_CHECK(accepted == expected, "kind %d is %s: %s", (int)task.kind, accepted ? "accepted" : "refused",
               hx_error_detail());
  check_quick(&task, accepted, &work);
  if (accepted) check_units(&work);
  return 0;
}
