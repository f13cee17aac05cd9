/* SPDX-License-Identifier: Apache-2.0
 * Expressions of every ISA that this CPU has, stored past the caches: the same bits as without, for lengths around the
 * least one for which that is done, any 4-byte alignment, rows with gaps, NaN, in place, and results that begin or end
 * at a page that may not be touched. And many rows, which all inputs have as they are or share, or of which one has a
 * value per row: the same bits as one row at a time, and nothing is read or written beyond the arrays. Numbers of rows
 * and of elements go on at 0 behind 2^32 - 1.
 * Usage: cpu_evaluate_test [seed] */
#include "cpu/cpu.h"
#include "reference/data.h"
#include "runtime/expr/compile.h"
#include "tests/check.h"
#include "tests/cpu_memory.h"

#define SEAM (UINT32_MAX - 4u) /* of rows and of elements: their numbers are modulo 2^32 */
enum { MOST_ROWS = 3, MOST_N = 2100, GAP = 5, ALIGNMENTS = 17 };
#define MOST_ELEMENTS ((size_t)MOST_ROWS * (MOST_N + GAP) + ALIGNMENTS)

static const hx_kernel_source sources[] = {
    {.text = "a * x + y", .inputs = "float x, float y", .parameters = "float a"},
    {.text = "x > 0 ? x - y : -y", .inputs = "int x, int y"},
};

/* The same of an input that has one value per row, with which no step has a form that others lack; the last text has
 * neighbours that are both values of rows. `plain` has that value as a parameter. */
static const struct row_source {
  hx_kernel_source by_row, plain;
} row_sources[] = {
#define OF_ROW(text_of, type)                                                          \
  {                                                                                    \
    {.text = text_of, .inputs = type " x, row " type " y", .parameters = type " a"}, { \
      .text = text_of, .inputs = type " x", .parameters = type " a, " type " y"        \
    }                                                                                  \
  }
    OF_ROW("x - y", "float"),
    OF_ROW("y - x", "float"),
    OF_ROW("(x * a - y) / x", "float"),
    OF_ROW("y / (x * a)", "float"),
    OF_ROW("fmaf(x, y, a) - fmaf(x, a, y)", "float"),
    OF_ROW("fmaf(x, x, y) + fmaf(x, y, y)", "float"),
    OF_ROW("(x * x + y) * (x * y + x) * (x * y + y) * (x * a + y) * (x * y + a)", "float"),
    OF_ROW("(x - y) * (x - y) + y", "float"),
    OF_ROW("x < y ? y : x < a ? a : y", "float"),
    OF_ROW("x * x < y ? x : y", "float"),
    OF_ROW("y", "float"),
    OF_ROW("(y - a) * (y + y)", "float"),
    OF_ROW("y > a ? x % y : (y >> 3) - x", "int"),
    OF_ROW("expf(x - y) / (y * y - a)", "float"),
    OF_ROW("x * y + (float)index", "float"),
    OF_ROW("(x - (float)(index ^ row)) * (float)(index % 7u + row * index) - y", "float"),
#undef OF_ROW
};

typedef struct evaluation {
  const hx__cpu_kernels *cpu;
  const hx__expr_code *code;
  const void *inputs[2];
  size_t n, rows, ld;
} evaluation;

static void evaluate(const evaluation *e, bool past_caches, uint32_t *out) {
  const uint32_t parameters[] = {0x3fc00000u};
  const size_t ld[] = {e->ld, e->ld};
  const hx__expr_rows rows = {.n = e->n, .rows = e->rows, .ld = ld, .ld_out = e->ld};
  e->cpu->evaluate(e->code, e->inputs, parameters, rows, past_caches, (void *[]){out});
}

/* out: room for the elements from the first to the last, and no more. */
static void check(const evaluation *e, uint32_t *out, const char *where) {
  static uint32_t want[MOST_ELEMENTS];
  const size_t all = (e->rows - 1) * e->ld + e->n;
  for (size_t i = 0; i < all; i++) want[i] = out[i] = 0x5a5a5a5au; /* gaps stay */
  evaluate(e, false, want);
  evaluate(e, true, out);
  CHECK(memcmp(want, out, all * sizeof *out) == 0, "isa %d: %zu rows of %zu, %s", (int)e->cpu->isa, e->rows, e->n,
        where);
}

static void check_in_place(const evaluation *e, uint32_t *out) {
  static uint32_t want[MOST_ELEMENTS];
  const size_t all = (e->rows - 1) * e->ld + e->n;
  evaluation own = *e;
  memcpy(want, e->inputs[0], all * sizeof *want);
  memcpy(out, e->inputs[0], all * sizeof *out);
  own.inputs[0] = want;
  evaluate(&own, false, want);
  own.inputs[0] = out;
  evaluate(&own, true, out);
  CHECK(memcmp(want, out, all * sizeof *out) == 0, "isa %d: %zu in place", (int)e->cpu->isa, e->n);
}

static void check_shapes(evaluation e, guarded memory) {
  static const size_t sizes[] = {1, 511, 512, 513, 1023, 1024, 1025, 1100, 2047, 2048, 2049, 2065, MOST_N};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (e.rows = 1; e.rows <= MOST_ROWS; e.rows++)
      for (size_t shift = 0; shift < ALIGNMENTS; shift++) {
        e.n = sizes[s];
        e.ld = e.n + (shift % 2 ? GAP : 0);
        check(&e, (uint32_t *)(void *)memory.first + shift, "from the first page");
        check(&e, (uint32_t *)(void *)memory.end - ((e.rows - 1) * e.ld + e.n) - shift, "to the last page");
        check_in_place(&e, (uint32_t *)(void *)memory.first + shift);
      }
}

/* An input that ends with the page: rows of n that are ld apart, or one row. */
static const uint32_t *at_the_end(guarded memory, size_t n, size_t rows, size_t ld) {
  return (uint32_t *)(void *)memory.end - ((ld ? (rows - 1) * ld : 0) + n);
}

static void check_rows(const evaluation *e, const guarded *memory, const hx__expr_rows *r, bool in_place) {
  static uint32_t want[MOST_ELEMENTS];
  const uint32_t parameters[] = {0x3fc00000u};
  const size_t all = (r->rows - 1) * r->ld_out + r->n, words = (size_t)(memory[0].end - memory[0].first) / sizeof *want;
  for (int i = 0; i < 2; i++) data_fill(HX_F32, DATA_SIGNED, 1 + (uint64_t)i, memory[i].first, words);
  const void *const inputs[] = {at_the_end(memory[0], r->n, r->rows, r->ld[0]),
                                at_the_end(memory[1], r->n, r->rows, r->ld[1])};
  uint32_t *const out = in_place ? (uint32_t *)(uintptr_t)inputs[0] : (uint32_t *)(void *)memory[2].end - all;
  for (size_t i = 0; i < all && !in_place; i++) out[i] = 0x5a5a5a5au;
  memcpy(want, out, all * sizeof *want);
  for (size_t row = 0; row < r->rows; row++) {
    const hx__expr_rows one = {.n = r->n, .rows = 1};
    const void *const of_row[] = {(const uint32_t *)inputs[0] + row * r->ld[0],
                                  (const uint32_t *)inputs[1] + row * r->ld[1]};
    e->cpu->evaluate(e->code, of_row, parameters, one, false, (void *[]){want + row * r->ld_out});
  }
  e->cpu->evaluate(e->code, inputs, parameters, *r, false, (void *[]){out});
  CHECK(memcmp(want, out, all * sizeof *out) == 0, "isa %d: %zu rows of %zu, ld %zu, %zu -> %zu%s", (int)e->cpu->isa,
        r->rows, r->n, r->ld[0], r->ld[1], r->ld_out, in_place ? ", in place" : "");
}

static void check_many_rows(const evaluation *e, const guarded *memory) {
  static const size_t columns[] = {1, 2, 3, 4, 5, 7, 15, 16, 17, 31, 33, 64, 65, 127, 128, 129, 300},
                      rows[] = {2, 7, 43};
  for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
      for (int shape = 0; shape < 16; shape++) {
        const size_t n = columns[c], fitting = rows[r] * (n + GAP) < MOST_ELEMENTS ? rows[r] : 2;
        const size_t ld[] = {shape & 1 ? n + GAP : n, shape & 2 ? 0 : shape & 4 ? n + 1 : n};
        const hx__expr_rows all = {.n = n, .rows = fitting, .ld = ld, .ld_out = shape & 8 ? n : ld[0]};
        check_rows(e, memory, &all, false);
        if (all.ld_out == ld[0]) check_rows(e, memory, &all, true);
      }
}

/* Rows of one length, of each of which y has one value, ld_y elements apart: the bits of the text with a parameter for
 * each row. */
static void check_values_of_rows(const hx__cpu_kernels *cpu, const hx__expr_code code[2], const guarded *memory,
                                 const hx__expr_rows *r, bool in_place) {
  static uint32_t want[MOST_ELEMENTS];
  const size_t all = (r->rows - 1) * r->ld_out + r->n;
  uint32_t *const x = (uint32_t *)(uintptr_t)at_the_end(memory[0], r->n, r->rows, r->ld[0]);
  uint32_t *const y = (uint32_t *)(uintptr_t)at_the_end(memory[1], 1, r->rows, r->ld[1]);
  data_fill(HX_F32, DATA_SIGNED, 1, x, (r->rows - 1) * r->ld[0] + r->n);
  data_fill(HX_F32, r->n % 5 ? DATA_SIGNED : DATA_NAN, 2, y, (r->rows - 1) * r->ld[1] + 1);
  uint32_t *const out = in_place ? x : (uint32_t *)(void *)memory[2].end - all;
  for (size_t i = 0; i < all && !in_place; i++) out[i] = 0x5a5a5a5au;
  memcpy(want, out, all * sizeof *want);
  uint32_t parameters[] = {0x3fc00000u, 0};
  for (size_t row = 0; row < r->rows; row++) {
    const void *const of_row[] = {x + row * r->ld[0]};
    parameters[1] = y[row * r->ld[1]];
    const hx__expr_rows one = {.n = r->n, .rows = 1, .row = r->row + (uint32_t)row, .index = r->index};
    cpu->evaluate(&code[1], of_row, parameters, one, false, (void *[]){want + row * r->ld_out});
  }
  const void *const inputs[] = {x, y};
  cpu->evaluate(&code[0], inputs, parameters, *r, r->n > 1000, (void *[]){out});
  CHECK(memcmp(want, out, all * sizeof *out) == 0, "isa %d: %zu rows of %zu, ld %zu, %zu -> %zu%s", (int)cpu->isa,
        r->rows, r->n, r->ld[0], r->ld[1], r->ld_out, in_place ? ", in place" : "");
}

static void check_row_source(const struct row_source *s, const guarded *memory) {
  static const size_t rows[] = {1, 2, 3, 7, 43, 70};
  hx__expr e[2];
  hx__expr_code code[2];
  CHECK(hx__expr_compile(&s->by_row, &e[0]) == HX_OK && !hx__expr_code_of(&e[0], &code[0]), "%s", hx_error_detail());
  CHECK(hx__expr_compile(&s->plain, &e[1]) == HX_OK && !hx__expr_code_of(&e[1], &code[1]), "%s", hx_error_detail());
  const unsigned failed = checks_failed;
  for (hx__isa isa = HX__ISA_SSE2; isa < HX__ISAS; isa++)
    for (size_t n = 1; n <= MOST_N && hx__cpu_kernels_for(isa) && checks_failed == failed; n += n < 140 ? 1 : 97)
      for (size_t r = n % 3; r < sizeof rows / sizeof *rows; r += 3)
        for (int shape = 0; shape < 4; shape++) {
          const size_t ld[] = {shape & 1 ? n + GAP : n, ((size_t[]){1, 0, 2, 5})[(n + r) % 4]};
          const hx__expr_rows all = {
              .n = n, .rows = rows[r], .ld = ld, .ld_out = shape & 2 ? n : ld[0], .row = SEAM, .index = SEAM};
          if (rows[r] * (n + GAP) > MOST_ELEMENTS) continue;
          check_values_of_rows(hx__cpu_kernels_for(isa), code, memory, &all, false);
          if (all.ld_out == ld[0]) check_values_of_rows(hx__cpu_kernels_for(isa), code, memory, &all, true);
        }
  CHECK(checks_failed == failed, "the text is %s", s->by_row.text);
}

/* Numbers of rows and of elements without an array: by definition. */
static void check_numbers(const hx__cpu_kernels *cpu, guarded memory) {
  static const hx_kernel_source texts[] = {{.text = "index"}, {.text = "row"}, {.text = "index * 65537u ^ row"}};
  for (size_t t = 0; t < sizeof texts / sizeof *texts && cpu; t++) {
    hx__expr e;
    hx__expr_code code;
    CHECK(hx__expr_compile(&texts[t], &e) == HX_OK && !hx__expr_code_of(&e, &code), "%s", hx_error_detail());
    for (size_t n = 1; n <= MOST_N && checks_failed < 5; n += n < 140 ? 1 : 97)
      for (size_t ld = n; ld <= n + GAP; ld += GAP) {
        const hx__expr_rows r = {.n = n, .rows = MOST_ROWS, .ld_out = ld, .row = SEAM, .index = SEAM};
        uint32_t *const out = (uint32_t *)(void *)memory.end - ((MOST_ROWS - 1) * ld + n);
        size_t wrong = 0;
        cpu->evaluate(&code, NULL, NULL, r, n > 1000, (void *[]){out});
        for (uint32_t row = 0; row < MOST_ROWS; row++)
          for (uint32_t i = 0; i < n; i++) {
            const uint32_t numbers[] = {SEAM + i, SEAM + row, (SEAM + i) * 65537u ^ (SEAM + row)};
            wrong += out[row * ld + i] != numbers[t];
          }
        CHECK(!wrong, "isa %d: %s: %zu elements of %u rows of %zu, ld %zu", (int)cpu->isa, texts[t].text, wrong,
              (unsigned)MOST_ROWS, n, ld);
      }
  }
}

/* Several outputs past the caches, which are aligned to vectors at the same elements or not. */
static void check_outputs(const hx__cpu_kernels *cpu, const uint32_t *x) {
  static const hx_kernel_source source = {
      .text = "float u = x * x; int v = (int)x; float w = x - 1.0f;", .inputs = "float x", .outputs = "u, v, w"};
  static uint32_t want[3][MOST_ELEMENTS], out[3][MOST_ELEMENTS + 16] __attribute__((aligned(64)));
  hx__expr e;
  hx__expr_code code;
  CHECK(hx__expr_compile(&source, &e) == HX_OK && !hx__expr_code_of(&e, &code), "%s", hx_error_detail());
  for (size_t shift = 0; shift < 16 * 16 && cpu; shift++) {
    const hx__expr_rows rows = {.n = MOST_N, .rows = 1, .ld_out = MOST_N};
    cpu->evaluate(&code, (const void *[]){x}, NULL, rows, false, (void *[]){want[0], want[1], want[2]});
    uint32_t *const to[] = {out[0] + shift % 16, out[1] + shift / 16, out[2] + shift % 16};
    memset(out, 0, sizeof out);
    cpu->evaluate(&code, (const void *[]){x}, NULL, rows, true, (void *[]){to[0], to[1], to[2]});
    for (int o = 0; o < 3; o++)
      CHECK(memcmp(to[o], want[o], MOST_N * sizeof *x) == 0, "isa %d: output %d, shift %zu", (int)cpu->isa, o, shift);
  }
}

int main(int argc, char **argv) {
  const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
  static uint32_t x[MOST_ELEMENTS], y[MOST_ELEMENTS];
  const guarded memory = guarded_make(MOST_ELEMENTS * sizeof *x);
  const guarded arrays[] = {memory, guarded_make(MOST_ELEMENTS * sizeof *x), guarded_make(MOST_ELEMENTS * sizeof *x)};
  for (size_t s = 0; s < sizeof row_sources / sizeof *row_sources; s++) check_row_source(&row_sources[s], arrays);
  for (hx__isa isa = HX__ISA_SSE2; isa < HX__ISAS; isa++) check_numbers(hx__cpu_kernels_for(isa), memory);
  for (int s = 0; s < 2; s++) {
    hx__expr e;
    hx__expr_code code;
    CHECK(hx__expr_compile(&sources[s], &e) == HX_OK && !hx__expr_code_of(&e, &code), "%s", hx_error_detail());
    for (hx__isa isa = HX__ISA_SSE2; isa < HX__ISAS; isa++)
      if (hx__cpu_kernels_for(isa))
        check_many_rows(&(evaluation){.cpu = hx__cpu_kernels_for(isa), .code = &code}, arrays);
    for (int special = 0; special < 2; special++) {
      data_fill(HX_F32, special ? DATA_NAN : DATA_SIGNED, seed, x, MOST_ELEMENTS);
      data_fill(HX_F32, DATA_SIGNED, seed + 1, y, MOST_ELEMENTS);
      for (hx__isa isa = HX__ISA_SSE2; isa < HX__ISAS; isa++) check_outputs(hx__cpu_kernels_for(isa), x);
      for (hx__isa isa = HX__ISA_SSE2; isa < HX__ISAS; isa++)
        if (hx__cpu_kernels_for(isa))
          check_shapes((evaluation){.cpu = hx__cpu_kernels_for(isa), .code = &code, .inputs = {x, y}}, memory);
    }
  }
  printf("cpu_evaluate_test: seed %llu\n", (unsigned long long)seed);
  return checks_end("cpu_evaluate_test");
}
