/* SPDX-License-Identifier: Apache-2.0
 * ScaLAPACK's descriptors of block-cyclic matrices, and the submatrices of which a product is. */
#include <string.h>

#include "mpi/product.h"

enum { DTYPE, CTXT, M, N, MB, NB, RSRC, CSRC, LLD, DESC_LENGTH };
#define DENSE 1

/* A matrix of the product: its name, the submatrix that enters, and where this rank has it. */
typedef struct matrix {
  const char *name;
  const int *desc;
  int row, column; /* of the first element of the submatrix, from 1 */
  size_t rows, columns;
  const float *local;
  bool is_used; /* not if alpha is 0 */
} matrix;

/* This rank's part of a submatrix, in elements from where it has the matrix. */
typedef struct part {
  size_t start, height, width;
} part;

static bool is_transposed(char trans) { return trans != 'N' && trans != 'n'; }

/* n rows or columns of a matrix, from number `first` on. */
static hx__mpi_cyclic deal(int first, size_t n, int block, int source, int me, int size) {
  const size_t before = (size_t)first - 1;
  const int owner = (int)((before / (size_t)block + (size_t)source) % (size_t)size);
  return (hx__mpi_cyclic){n, (size_t)block, before % (size_t)block, owner, me, size};
}

static hx__mpi_cyclic rows_of(const hx__mpi_product *p, const int *desc, int first, size_t n) {
  return deal(first, n, desc[MB], desc[RSRC], p->at_row, p->rows);
}

static hx__mpi_cyclic columns_of(const hx__mpi_product *p, const int *desc, int first, size_t n) {
  return deal(first, n, desc[NB], desc[CSRC], p->at_column, p->columns);
}

/* All zeros if this rank has no element that is used. */
static part part_of(const hx__mpi_product *p, const matrix *x) {
  const hx__mpi_cyclic above = rows_of(p, x->desc, 1, (size_t)x->row - 1);
  const hx__mpi_cyclic left = columns_of(p, x->desc, 1, (size_t)x->column - 1);
  const hx__mpi_cyclic rows = rows_of(p, x->desc, x->row, x->rows);
  const hx__mpi_cyclic columns = columns_of(p, x->desc, x->column, x->columns);
  const size_t height = hx__mpi_count(&rows, rows.me), width = hx__mpi_count(&columns, columns.me);
  if (!x->is_used || !height || !width) return (part){0, 0, 0};
  const size_t start = hx__mpi_count(&left, left.me) * (size_t)x->desc[LLD] + hx__mpi_count(&above, above.me);
  return (part){start, height, width};
}

/* The numbers of a descriptor and of a submatrix, with the least and the greatest value that each may have. */
static hx_status check_numbers(const hx__mpi_product *p, const matrix *x) {
  const char *const of = " of the descriptor of ";
  const long long rows_left = (long long)x->desc[M] - (long long)x->rows;
  const long long columns_left = (long long)x->desc[N] - (long long)x->columns;
  const struct {
    const char *name, *of;
    long long value, least, greatest;
  } rows[] = {{"DTYPE", of, x->desc[DTYPE], DENSE, DENSE},
              {"M", of, x->desc[M], (long long)x->rows, INT32_MAX},
              {"N", of, x->desc[N], (long long)x->columns, INT32_MAX},
              {"MB", of, x->desc[MB], 1, INT32_MAX},
              {"NB", of, x->desc[NB], 1, INT32_MAX},
              {"RSRC", of, x->desc[RSRC], 0, p->rows - 1},
              {"CSRC", of, x->desc[CSRC], 0, p->columns - 1},
              {"LLD", of, x->desc[LLD], 1, INT32_MAX},
              {"i", "", x->row, 1, rows_left + 1},
              {"j", "", x->column, 1, columns_left + 1}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].value < rows[i].least || rows[i].value > rows[i].greatest)
      return hx__mpi_fail(HX_INVALID_ARGUMENT, "%s%s%s is %lld, not from %lld to %lld", rows[i].name, rows[i].of,
                          x->name, rows[i].value, rows[i].least, rows[i].greatest);
  return HX_OK;
}

static hx_status check_memory(const hx__mpi_product *p, const matrix *x) {
  const hx__mpi_cyclic rows = rows_of(p, x->desc, 1, (size_t)x->desc[M]);
  if ((size_t)x->desc[LLD] < hx__mpi_count(&rows, rows.me))
    return hx__mpi_fail(HX_INVALID_ARGUMENT, "LLD of the descriptor of %s is %d, and this rank has %zu rows", x->name,
                        x->desc[LLD], hx__mpi_count(&rows, rows.me));
  if (!part_of(p, x).height) return HX_OK;
  if (!x->local) return hx__mpi_fail(HX_INVALID_ARGUMENT, "%s is NULL", x->name);
  if ((uintptr_t)x->local % sizeof(float))
    return hx__mpi_fail(HX_INVALID_ARGUMENT, "%s is not aligned to 4 bytes", x->name);
  return HX_OK;
}

/* Whether this rank's parts of x and c share an element. The columns of one may lie between those of the other, in a
 * larger array; if their columns are not equally far apart, that is taken for an overlap. */
static bool do_overlap(const hx__mpi_product *p, const matrix *x, const matrix *c) {
  const part of_x = part_of(p, x), of_c = part_of(p, c);
  if (!of_x.height || !of_c.height) return false;
  const ptrdiff_t distance =
      (ptrdiff_t)((intptr_t)(c->local + of_c.start) - (intptr_t)(x->local + of_x.start)) / (ptrdiff_t)sizeof(float);
  const ptrdiff_t x_height = (ptrdiff_t)of_x.height, x_width = (ptrdiff_t)of_x.width, x_lld = x->desc[LLD];
  const ptrdiff_t c_height = (ptrdiff_t)of_c.height, c_width = (ptrdiff_t)of_c.width, c_lld = c->desc[LLD];
  if (x_lld != c_lld)
    return distance < (x_width - 1) * x_lld + x_height && -distance < (c_width - 1) * c_lld + c_height;
  /* Column j + t of c begins distance + t LLD elements after column j of x. The two share an element if that is more
   * than -c_height and less than x_height: of all t that are large enough, the least. */
  const ptrdiff_t enough = 1 - c_height - distance, steps = enough > 0 ? (enough - 1) / c_lld + 1 : enough / c_lld;
  const ptrdiff_t t = steps > 1 - x_width ? steps : 1 - x_width;
  return t < c_width && distance + t * c_lld < x_height;
}

static hx_status check_scalars(const hx_context *hx, const hx__mpi_gemm_args *args) {
  const struct {
    const char *name;
    char value;
  } letters[] = {{"transa", args->transa}, {"transb", args->transb}};
  const struct {
    const char *name;
    int value;
  } sizes[] = {{"m", args->m}, {"n", args->n}, {"k", args->k}};
  if (!hx) return hx__mpi_fail(HX_INVALID_ARGUMENT, "hx is NULL");
  for (int i = 0; i < 2; i++)
    if (!letters[i].value || !strchr("NTCntc", letters[i].value))
      return hx__mpi_fail(HX_INVALID_ARGUMENT, "%s is the character number %d, not N, T or C", letters[i].name,
                          letters[i].value);
  for (int i = 0; i < 3; i++)
    if (sizes[i].value < 0) return hx__mpi_fail(HX_INVALID_ARGUMENT, "%s is %d", sizes[i].name, sizes[i].value);
  return HX_OK;
}

static hx_status check(const hx_context *hx, const hx__mpi_gemm_args *args, const hx__mpi_product *p,
                       const matrix x[3]) {
  hx_status status = check_scalars(hx, args);
  for (int i = 0; i < 3 && status == HX_OK; i++)
    if (!x[i].desc) status = hx__mpi_fail(HX_INVALID_ARGUMENT, "the descriptor of %s is NULL", x[i].name);
  for (int i = 0; i < 3 && status == HX_OK; i++) status = check_numbers(p, &x[i]);
  for (int i = 0; i < 3 && status == HX_OK; i++) status = check_memory(p, &x[i]);
  for (int i = 0; i < 2 && status == HX_OK; i++)
    if (do_overlap(p, &x[i], &x[2])) status = hx__mpi_fail(HX_INVALID_ARGUMENT, "c overlaps %s", x[i].name);
  return status;
}

/* The lines of an operand are its columns or its rows. */
static hx__mpi_operand operand(const hx__mpi_product *p, const matrix *x, bool is_a, bool is_transposed) {
  const bool are_columns = is_a != is_transposed;
  const hx__mpi_cyclic rows = rows_of(p, x->desc, x->row, x->rows);
  const hx__mpi_cyclic columns = columns_of(p, x->desc, x->column, x->columns);
  const size_t lld = (size_t)x->desc[LLD];
  return (hx__mpi_operand){.local = x->local + part_of(p, x).start,
                           .line = are_columns ? lld : 1,
                           .step = are_columns ? 1 : lld,
                           .lines = are_columns ? columns : rows,
                           .places = are_columns ? rows : columns,
                           .along = is_a ? p->row : p->column,
                           .across = is_a ? p->column : p->row,
                           .along_step = is_a ? 1 : p->columns,
                           .across_step = is_a ? p->columns : 1,
                           .by_lines = are_columns,
                           .is_transposed = is_transposed};
}

hx_status hx__mpi_product_describe(const hx_context *hx, const hx__mpi_gemm_args *args, hx__mpi_product *p) {
  const size_t m = (size_t)args->m, n = (size_t)args->n, k = (size_t)args->k;
  const bool trans_a = is_transposed(args->transa), trans_b = is_transposed(args->transb);
  const bool is_used = args->alpha != 0;
  const matrix x[3] = {{"a", args->desca, args->ia, args->ja, trans_a ? k : m, trans_a ? m : k, args->a, is_used},
                       {"b", args->descb, args->ib, args->jb, trans_b ? n : k, trans_b ? k : n, args->b, is_used},
                       {"c", args->descc, args->ic, args->jc, m, n, args->c, true}};
  const hx_status status = check(hx, args, p, x);
  if (status != HX_OK) return status;
  p->m = rows_of(p, args->descc, args->ic, m);
  p->n = columns_of(p, args->descc, args->jc, n);
  p->k = k;
  p->alpha = args->alpha;
  p->beta = args->beta;
  p->c = args->c + part_of(p, &x[2]).start;
  p->ldc = (size_t)args->descc[LLD];
  p->a = operand(p, &x[0], true, trans_a);
  p->b = operand(p, &x[1], false, trans_b);
  return HX_OK;
}

/* The numbers that all ranks have to pass. The context of BLACS and the leading dimension belong to a rank. */
enum { SCALARS = 13, NUMBERS = SCALARS + 3 * DESC_LENGTH };

static hx_status fail_as_different(int number) {
  static const char *const scalars[SCALARS] = {"transa", "transb", "m",  "n",  "k",     "ia",  "ja",
                                               "ib",     "jb",     "ic", "jc", "alpha", "beta"};
  static const char *const of_descriptor[DESC_LENGTH] = {
      [M] = "M", [N] = "N", [MB] = "MB", [NB] = "NB", [RSRC] = "RSRC", [CSRC] = "CSRC"};
  if (number < SCALARS) return hx__mpi_fail(HX_INVALID_ARGUMENT, "%s differs from that of rank 0", scalars[number]);
  const int in_descriptors = number - SCALARS;
  return hx__mpi_fail(HX_INVALID_ARGUMENT, "%s of the descriptor of %c differs from that of rank 0",
                      of_descriptor[in_descriptors % DESC_LENGTH], "abc"[in_descriptors / DESC_LENGTH]);
}

/* The numbers that this rank was given. Entries of descriptors that may differ are 0. */
static void list_numbers(const hx__mpi_gemm_args *args, int numbers[NUMBERS]) {
  const int *const descs[3] = {args->desca, args->descb, args->descc};
  const int scalars[SCALARS - 2] = {is_transposed(args->transa),
                                    is_transposed(args->transb),
                                    args->m,
                                    args->n,
                                    args->k,
                                    args->ia,
                                    args->ja,
                                    args->ib,
                                    args->jb,
                                    args->ic,
                                    args->jc};
  memset(numbers, 0, NUMBERS * sizeof *numbers);
  memcpy(numbers, scalars, sizeof scalars);
  memcpy(&numbers[SCALARS - 2], &args->alpha, sizeof args->alpha);
  memcpy(&numbers[SCALARS - 1], &args->beta, sizeof args->beta);
  for (int d = 0; d < 3; d++)
    for (int j = M; j <= CSRC; j++) numbers[SCALARS + d * DESC_LENGTH + j] = descs[d][j];
}

/* In one exchange: whether the least and, by ~x, the greatest of each number are equal. */
static bool compare_all(const hx__mpi_team *team, const int *mine, bool *alike) {
  int ends[2 * NUMBERS];
  for (int i = 0; i < NUMBERS; i++) {
    ends[i] = mine[i];
    ends[NUMBERS + i] = ~mine[i];
  }
  const int code = MPI_Allreduce(MPI_IN_PLACE, ends, 2 * NUMBERS, MPI_INT, MPI_MIN, team->comm);
  if (!hx__mpi_did(team, code, "MPI_Allreduce")) return false;
  *alike = true;
  for (int i = 0; i < NUMBERS; i++) *alike = *alike && ends[i] == ~ends[NUMBERS + i];
  return true;
}

hx_status hx__mpi_product_compare(const hx__mpi_product *p, const hx__mpi_gemm_args *args) {
  const hx__mpi_team *const team = &p->team;
  int numbers[NUMBERS], first[NUMBERS], i = 0;
  bool alike;
  list_numbers(args, numbers);
  if (!compare_all(team, numbers, &alike)) return HX__MPI_FAILED;
  if (alike) return HX_OK;
  memcpy(first, numbers, sizeof first);
  if (!hx__mpi_did(team, MPI_Bcast(first, NUMBERS, MPI_INT, 0, team->comm), "MPI_Bcast")) return HX__MPI_FAILED;
  while (i < NUMBERS && first[i] == numbers[i]) i++;
  return hx__mpi_agree(team, i == NUMBERS ? HX_OK : fail_as_different(i));
}
