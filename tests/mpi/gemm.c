/* SPDX-License-Identifier: Apache-2.0
 * hx_mpi_gemm of random submatrices, transposed or not, on every grid of the ranks, compared with the product of the
 * whole submatrices on one machine. What is around a submatrix of A or B is NaN, and what is around that of C has to
 * stay. TEST_SEED chooses the cases. */
#include <signal.h>
#include <stddef.h>

#include "tests/mpi/parts.h"

#define CASES 32
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* A submatrix: what is before it in the matrix, its shape, and what comes after it. */
typedef struct sub {
  int above, left, rows, columns, below, right;
  blocks in;
} sub;

typedef struct gemm_case {
  int trans_a, trans_b, m, n, k;
  float alpha, beta;
  sub a, b, c;
} gemm_case;

/* The matrices of a case, and C as one machine computes it. */
typedef struct whole {
  gemm_case is;
  float *a, *b, *c, *want;
} whole;

static uint64_t seed;
static whole wholes[CASES + 2];
#define TRAFFIC_CASE CASES
#define EVEN_CASE (CASES + 1) /* all ranks make as many calls of MPI */

static int pick(uint64_t *next, const int *list, size_t count) { return list[data_u64(seed, (*next)++) % count]; }

static sub random_sub(uint64_t *next, int rows, int columns) {
  static const int around[] = {0, 0, 1, 5, 31, 32, 64, 77}, block[] = {1, 2, 7, 16, 32, 33, 64, 500, 512, 513};
  sub s = {.rows = rows, .columns = columns};
  int *const sides[] = {&s.above, &s.left, &s.below, &s.right}, *const sizes[] = {&s.in.mb, &s.in.nb};
  for (size_t i = 0; i < COUNT(sides); i++) *sides[i] = pick(next, around, COUNT(around));
  for (size_t i = 0; i < COUNT(sizes); i++) *sizes[i] = pick(next, block, COUNT(block));
  s.in.rsrc = (int)(data_u64(seed, (*next)++) % 8);
  s.in.csrc = (int)(data_u64(seed, (*next)++) % 8);
  return s;
}

static gemm_case random_case(size_t number) {
  static const int size[] = {1, 5, 31, 32, 33, 63, 64, 65, 130}, depth[] = {1, 20, 511, 512, 513, 1024, 1025, 1100};
  static const float factor[] = {0, 1, 1, -0.5f, 3};
  uint64_t next = number * 100;
  gemm_case t = {.trans_a = number / 2 % 2, .trans_b = number % 2};
  t.m = pick(&next, size, COUNT(size));
  t.n = pick(&next, size, COUNT(size));
  t.k = pick(&next, depth, COUNT(depth));
  t.alpha = number % 8 == 7 ? 0 : factor[1 + data_u64(seed, next++) % (COUNT(factor) - 1)];
  t.beta = factor[data_u64(seed, next++) % COUNT(factor)];
  t.a = random_sub(&next, t.trans_a ? t.k : t.m, t.trans_a ? t.m : t.k);
  t.b = random_sub(&next, t.trans_b ? t.n : t.k, t.trans_b ? t.k : t.n);
  t.c = random_sub(&next, t.m, t.n);
  return t;
}

static gemm_case both_transposed(int m, int n, int k, int block) {
  const blocks in = {block, block, 0, 0};
  const sub a = {.rows = k, .columns = m, .in = in}, b = {.rows = n, .columns = k, .in = in};
  return (gemm_case){1, 1, m, n, k, 1, 0, a, b, {.rows = m, .columns = n, .in = in}};
}

static int all_rows(const sub *s) { return s->above + s->rows + s->below; }
static int all_columns(const sub *s) { return s->left + s->columns + s->right; }

static float *in_whole(const sub *s, float *matrix) { return matrix + s->above * all_columns(s) + s->left; }

/* A matrix of `around` with random elements in the submatrix. */
static float *make_matrix(const sub *s, uint64_t number, uint32_t around) {
  const size_t count = (size_t)all_rows(s) * (size_t)all_columns(s);
  uint32_t *const bits = malloc((count + 1) * sizeof *bits);
  for (size_t i = 0; i < count; i++) bits[i] = around;
  float *const matrix = (float *)bits;
  for (int i = 0; i < s->rows; i++)
    data_fill(HX_F32, DATA_SIGNED, seed + 1000 * number + (uint64_t)i, in_whole(s, matrix) + i * all_columns(s),
              (size_t)s->columns);
  return matrix;
}

static whole make_whole(const gemm_case *t, uint64_t number) {
  const uint32_t nan_bits = 0x7fc00000u;
  whole w = {*t, make_matrix(&t->a, 3 * number, nan_bits), make_matrix(&t->b, 3 * number + 1, nan_bits),
             make_matrix(&t->c, 3 * number + 2, UNTOUCHED), make_matrix(&t->c, 3 * number + 2, UNTOUCHED)};
  hx_task task = hx_matmul((size_t)t->m, (size_t)t->n, (size_t)t->k, in_whole(&t->a, w.a), in_whole(&t->b, w.b),
                           in_whole(&t->c, w.want));
  task.matmul.trans_a = t->trans_a;
  task.matmul.trans_b = t->trans_b;
  task.matmul.lda = (size_t)all_columns(&t->a);
  task.matmul.ldb = (size_t)all_columns(&t->b);
  task.matmul.ldc = (size_t)all_columns(&t->c);
  task.matmul.alpha = t->alpha;
  task.matmul.beta = t->beta;
  CHECK_OK(hx_offload(hx, &task, NULL));
  return w;
}

static void free_whole(whole *w) {
  free(w->a);
  free(w->b);
  free(w->c);
  free(w->want);
}

static part take_around(const sub *s, const grid_of_ranks *g, const float *matrix) {
  return take(all_rows(s), all_columns(s), s->in, g, matrix);
}

/* Adds to the hash. */
static hx_status multiply(const grid_of_ranks *g, size_t number, uint64_t *hash) {
  const whole *const w = &wholes[number];
  const gemm_case *const t = &w->is;
  part a = take_around(&t->a, g, w->a), b = take_around(&t->b, g, w->b), c = take_around(&t->c, g, w->c);
  const bool is_read = t->alpha != 0;
  const hx_status status =
      hx_mpi_gemm(g->comm, hx, "NT"[t->trans_a], "NC"[t->trans_b], t -> m, t -> n, t -> k, t -> alpha,
                  is_read ? a.local : NULL, t->a.above + 1, t->a.left + 1, a.desc, is_read ? b.local : NULL,
                  t->b.above + 1, t->b.left + 1, b.desc, t->beta, c.local, t->c.above + 1, t->c.left + 1, c.desc);
  if (status == HX_OK) *hash += compare(&c, g, w->want, number);
  free_part(&a);
  free_part(&b);
  free_part(&c);
  return status;
}

/* A step of an elimination: A, B and C are parts of one matrix, as the columns and rows before the rest are. */
static void multiply_within(const grid_of_ranks *g) {
  enum { N = 150, STEP = 40, REST = N - STEP };
  float *const matrix = malloc(N * N * sizeof *matrix), *const want = malloc(N * N * sizeof *want);
  data_fill(HX_F32, DATA_SIGNED, seed, matrix, N * N);
  memcpy(want, matrix, N * N * sizeof *want);
  hx_task task = hx_matmul(REST, REST, STEP, &want[STEP * N], &want[STEP], &want[STEP * N + STEP]);
  task.matmul.lda = task.matmul.ldb = task.matmul.ldc = N;
  task.matmul.alpha = -1;
  task.matmul.beta = 1;
  CHECK_OK(hx_offload(hx, &task, NULL));
  part x = take(N, N, (blocks){7, 16, 1, 2}, g, matrix);
  CHECK_MPI_REFUSED(hx_mpi_gemm(g->comm, hx, 'N', 'N', REST, REST, STEP, -1, x.local, STEP + 1, 2, x.desc, x.local, 1,
                                STEP + 1, x.desc, 1, x.local, STEP + 1, STEP + 1, x.desc),
                    HX_INVALID_ARGUMENT, "c overlaps a");
  CHECK_MPI_REFUSED(hx_mpi_gemm(g->comm, hx, 'N', 'N', REST, REST, STEP, -1, x.local, STEP + 1, 1, x.desc, x.local, 2,
                                STEP + 1, x.desc, 1, x.local, STEP + 1, STEP + 1, x.desc),
                    HX_INVALID_ARGUMENT, "c overlaps b");
  CHECK_MPI(hx_mpi_gemm(g->comm, hx, 'N', 'N', REST, REST, STEP, -1, x.local, STEP + 1, 1, x.desc, x.local, 1, STEP + 1,
                        x.desc, 1, x.local, STEP + 1, STEP + 1, x.desc));
  compare(&x, g, want, 1000);
  free_part(&x);
  free(matrix);
  free(want);
}

/* The leading dimension becomes the local rows, which may be one. */
static void close_gaps(part *p) {
  const size_t from = (size_t)p->desc[8], rows = p->local_rows > 0 ? p->local_rows : 1;
  for (size_t j = 0; j < p->local_columns; j++)
    memmove(p->local + j * rows, p->local + j * from, p->local_rows * sizeof(float));
  p->desc[8] = (int)rows;
}

/* k is 1: a column times a row, either of them transposed or not, without gaps. */
static void multiply_outer(const grid_of_ranks *g) {
  enum { OUTER_M = 33, OUTER_N = 31 };
  const blocks in = {8, 8, 0, 0};
  float a[OUTER_M], b[OUTER_N], want[OUTER_M * OUTER_N], before[OUTER_M * OUTER_N] = {0};
  data_fill(HX_F32, DATA_SIGNED, seed, a, OUTER_M);
  data_fill(HX_F32, DATA_SIGNED, seed + 1, b, OUTER_N);
  hx_task task = hx_matmul(OUTER_M, OUTER_N, 1, a, b, want);
  CHECK_OK(hx_offload(hx, &task, NULL));
  for (int trans = 0; trans < 4; trans++) {
    const bool trans_a = trans & 1, trans_b = trans & 2;
    part x = take(trans_a ? 1 : OUTER_M, trans_a ? OUTER_M : 1, in, g, a);
    part y = take(trans_b ? OUTER_N : 1, trans_b ? 1 : OUTER_N, in, g, b), c = take(OUTER_M, OUTER_N, in, g, before);
    close_gaps(&x);
    close_gaps(&y);
    CHECK_MPI(hx_mpi_gemm(g->comm, hx, "NT"[trans_a], "NT"[trans_b], OUTER_M, OUTER_N, 1, 1, x.local, 1, 1, x.desc,
                          y.local, 1, 1, y.desc, 0, c.local, 1, 1, c.desc));
    compare(&c, g, want, 2000 + (size_t)trans);
    free_part(&x);
    free_part(&y);
    free_part(&c);
  }
}

typedef struct arguments {
  int transa, transb, m, n, k, ia, ja, ib, jb, ic, jc;
} arguments;

static hx_status call(const grid_of_ranks *g, const arguments *t, float *x) {
  /* blocks of one, so that every rank has a part */
  const int a[9] = {1, -1, 30, 20, 1, 1, 0, 0, 30}, b[9] = {1, -1, 20, 30, 1, 1, 0, 0, 30};
  const int c[9] = {1, -1, 30, 30, 1, 1, 0, 0, 30};
  return hx_mpi_gemm(g->comm, hx, (char)t->transa, (char)t->transb, t->m, t->n, t->k, 1, x, t->ia, t->ja, a, x + 1000,
                     t->ib, t->jb, b, 0, x + 2000, t->ic, t->jc, c);
}

/* One rank has one wrong argument. */
static void check_errors(const grid_of_ranks *g) {
#define AT(member) offsetof(arguments, member)
  static const struct {
    size_t member;
    int value;
    const char *words;
  } rows[] = {{AT(transa), 0, "transa is the character number 0, not N, T or C"},
              {AT(transa), 'X', "transa is the character number 88, not N, T or C"},
              {AT(transb), 1, "transb is the character number 1, not N, T or C"},
              {AT(m), -1, "m is -1"},
              {AT(k), -1, "k is -1"},
              {AT(ia), 0, "ia is 0, not from 1 to 16"},
              {AT(ja), 7, "ja is 7, not from 1 to 6"},
              {AT(ib), -3, "ib is -3, not from 1 to 6"},
              {AT(jb), 17, "jb is 17, not from 1 to 16"},
              {AT(ic), INT32_MAX, "ic is 2147483647, not from 1 to 16"},
              {AT(jc), INT32_MIN, "jc is -2147483648, not from 1 to 16"},
              {AT(m), 31, "M of the descriptor of a is 30, not from 31"},
              {AT(transa), 'T', "transa differs from that of rank 0"},
              {AT(transb), 'c', "transb differs from that of rank 0"},
              {AT(m), 14, "m differs from that of rank 0"},
              {AT(ia), 2, "ia differs from that of rank 0"},
              {AT(jc), 2, "jc differs from that of rank 0"}};
#undef AT
  const arguments right = {'N', 'n', 15, 15, 15, 1, 1, 1, 1, 1, 1};
  float *const x = calloc(3000, sizeof *x);
  char name[24];
  snprintf(name, sizeof name, "rank %d", ranks - 1);
  for (size_t i = 0; i < COUNT(rows); i++) {
    if (ranks == 1 && has_words(rows[i].words, "differs")) continue;
    arguments t = right;
    if (rank == ranks - 1) memcpy((char *)&t + rows[i].member, &rows[i].value, sizeof(int));
    CHECK_MPI_REFUSED(call(g, &t, x), HX_INVALID_ARGUMENT, rows[i].words);
    CHECK(has_words(hx_mpi_error_detail(), name), "%s", hx_mpi_error_detail());
  }
  for (int i = 0; i < 3000; i++) CHECK(x[i] == 0, "element %d was written", i);
  CHECK_MPI(call(g, &right, x));
  /* nothing at the ends of the matrices */
  CHECK_MPI(call(g, &(arguments){'N', 'N', 0, 0, 0, 31, 21, 21, 31, 31, 31}, x));
  free(x);
}

/* All cases on one grid. */
static uint64_t multiply_all(const grid_of_ranks *g) {
  uint64_t hash = 0;
  const double stays = g->size[0] == g->size[1] ? 1.0 / g->size[0] : 0; /* what ranks on the diagonal have */
  for (size_t i = 0; i < COUNT(wholes); i++) {
    const uint64_t before = bytes_received();
    const gemm_case *const t = &wholes[i].is;
    CHECK_MPI(multiply(g, i, &hash));
    if (i == TRAFFIC_CASE) check_traffic(g, before, t->m, t->n, t->k, (1 - stays) * t->k * (t->m + t->n));
  }
  if (is_to_die) raise(SIGKILL); /* the other ranks go on with the next product */
  multiply_within(g);
  multiply_outer(g);
  check_errors_once(g, check_errors, multiply, EVEN_CASE);
  return hash;
}

int main(int argc, char **argv) {
  start_rank(argc, argv);
  seed = getenv("TEST_SEED") ? strtoull(getenv("TEST_SEED"), NULL, 10) : 1;
  if (rank == 0) printf("seed %llu\n", (unsigned long long)seed);
  for (size_t i = 0; i < CASES; i++) {
    const gemm_case t = random_case(i);
    wholes[i] = make_whole(&t, i);
  }
  const gemm_case traffic = both_transposed(256, 192, 2048, 32), even = both_transposed(48, 48, 1024, 1);
  wholes[TRAFFIC_CASE] = make_whole(&traffic, TRAFFIC_CASE);
  wholes[EVEN_CASE] = make_whole(&even, EVEN_CASE);
  const uint64_t hash = on_all_grids(multiply_all);
#ifdef MOST_BYTES
  CHECK(longest_message() <= MOST_BYTES, "a message has %d bytes", longest_message());
#endif
  for (size_t i = 0; i < COUNT(wholes); i++) free_whole(&wholes[i]);
  return finish(hash);
}
