/* SPDX-License-Identifier: Apache-2.0
 * ScaLAPACK's descriptors of block-cyclic matrices. */
#include <string.h>

#include "mpi/product.h"

enum { DTYPE, CTXT, M, N, MB, NB, RSRC, CSRC, LLD, DESC_LENGTH };
#define DENSE 1

/* A matrix of the product: its name, what part of it enters, and where this rank has it. */
typedef struct matrix {
  const char *name;
  const int *desc;
  size_t rows, columns;
  const void *local;
} matrix;

/* The numbers of a descriptor, with the least and the greatest value that each may have. */
static hx_status check_numbers(const hx__mpi_product *p, const matrix *x) {
  const struct {
    const char *name;
    int index, least, greatest;
  } rows[] = {
      {"DTYPE", DTYPE, DENSE, DENSE},    {"M", M, (int)x->rows, INT32_MAX}, {"N", N, (int)x->columns, INT32_MAX},
      {"MB", MB, 1, INT32_MAX},          {"NB", NB, 1, INT32_MAX},          {"RSRC", RSRC, 0, p->rows - 1},
      {"CSRC", CSRC, 0, p->columns - 1}, {"LLD", LLD, 1, INT32_MAX}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const int value = x->desc[rows[i].index];
    if (value < rows[i].least || value > rows[i].greatest)
      return hx__mpi_fail(HX_INVALID_ARGUMENT, "%s of the descriptor of %s is %d, not from %d to %d", rows[i].name,
                          x->name, value, rows[i].least, rows[i].greatest);
  }
  return HX_OK;
}

static hx__mpi_cyclic rows_of(const hx__mpi_product *p, const int *desc, size_t n) {
  return (hx__mpi_cyclic){n, (size_t)desc[MB], desc[RSRC], p->at_row, p->rows};
}

static hx__mpi_cyclic columns_of(const hx__mpi_product *p, const int *desc, size_t n) {
  return (hx__mpi_cyclic){n, (size_t)desc[NB], desc[CSRC], p->at_column, p->columns};
}

/* The bytes of this rank's part, from its first to its last element. */
static size_t extent(const hx__mpi_product *p, const matrix *x) {
  const hx__mpi_cyclic rows = rows_of(p, x->desc, x->rows), columns = columns_of(p, x->desc, x->columns);
  const size_t height = hx__mpi_count(&rows, rows.me), width = hx__mpi_count(&columns, columns.me);
  return height && width ? ((width - 1) * (size_t)x->desc[LLD] + height) * sizeof(float) : 0;
}

static hx_status check_memory(const hx__mpi_product *p, const matrix *x) {
  const hx__mpi_cyclic rows = rows_of(p, x->desc, (size_t)x->desc[M]);
  if ((size_t)x->desc[LLD] < hx__mpi_count(&rows, rows.me))
    return hx__mpi_fail(HX_INVALID_ARGUMENT, "LLD of the descriptor of %s is %d, and this rank has %zu rows", x->name,
                        x->desc[LLD], hx__mpi_count(&rows, rows.me));
  if (!extent(p, x)) return HX_OK;
  if (!x->local) return hx__mpi_fail(HX_INVALID_ARGUMENT, "%s is NULL", x->name);
  if ((uintptr_t)x->local % sizeof(float))
    return hx__mpi_fail(HX_INVALID_ARGUMENT, "%s is not aligned to 4 bytes", x->name);
  return HX_OK;
}

static hx_status check_apart(const hx__mpi_product *p, const matrix *x, const matrix *c) {
  const uintptr_t from = (uintptr_t)x->local, to = from + extent(p, x);
  const uintptr_t c_from = (uintptr_t)c->local, c_to = c_from + extent(p, c);
  if (from < to && c_from < c_to && from < c_to && c_from < to)
    return hx__mpi_fail(HX_INVALID_ARGUMENT, "c overlaps %s", x->name);
  return HX_OK;
}

static hx_status check(const hx_context *hx, const hx__mpi_matmul_args *args, const hx__mpi_product *p,
                       const matrix x[3]) {
  const struct {
    const char *name;
    int value;
  } sizes[] = {{"m", args->m}, {"n", args->n}, {"k", args->k}};
  if (!hx) return hx__mpi_fail(HX_INVALID_ARGUMENT, "hx is NULL");
  for (int i = 0; i < 3; i++)
    if (sizes[i].value < 0) return hx__mpi_fail(HX_INVALID_ARGUMENT, "%s is %d", sizes[i].name, sizes[i].value);
  for (int i = 0; i < 3; i++)
    if (!x[i].desc) return hx__mpi_fail(HX_INVALID_ARGUMENT, "the descriptor of %s is NULL", x[i].name);
  hx_status status = HX_OK;
  for (int i = 0; i < 3 && status == HX_OK; i++) status = check_numbers(p, &x[i]);
  for (int i = 0; i < 3 && status == HX_OK; i++) status = check_memory(p, &x[i]);
  for (int i = 0; i < 2 && status == HX_OK; i++) status = check_apart(p, &x[i], &x[2]);
  return status;
}

hx_status hx__mpi_product_describe(const hx_context *hx, const hx__mpi_matmul_args *args, hx__mpi_product *p) {
  const size_t m = (size_t)args->m, n = (size_t)args->n, k = (size_t)args->k;
  const matrix x[3] = {
      {"a", args->desca, m, k, args->a}, {"b", args->descb, k, n, args->b}, {"c", args->descc, m, n, args->c}};
  const hx_status status = check(hx, args, p, x);
  if (status != HX_OK) return status;
  p->m = rows_of(p, args->descc, m);
  p->n = columns_of(p, args->descc, n);
  p->k = k;
  p->alpha = args->alpha;
  p->beta = args->beta;
  p->c = args->c;
  p->ldc = (size_t)args->descc[LLD];
  p->a = (hx__mpi_operand){.local = args->a,
                           .line = (size_t)args->desca[LLD],
                           .step = 1,
                           .lines = columns_of(p, args->desca, k),
                           .places = rows_of(p, args->desca, m),
                           .along = p->row,
                           .across = p->column};
  p->b = (hx__mpi_operand){.local = args->b,
                           .line = 1,
                           .step = (size_t)args->descb[LLD],
                           .lines = rows_of(p, args->descb, k),
                           .places = columns_of(p, args->descb, n),
                           .along = p->column,
                           .across = p->row};
  return HX_OK;
}

/* The context of BLACS and the leading dimension belong to a rank. */
hx_status hx__mpi_product_compare(const hx__mpi_product *p, const hx__mpi_matmul_args *args) {
  const int *const descs[3] = {args->desca, args->descb, args->descc};
  int mine[5 + 3 * DESC_LENGTH] = {args->m, args->n, args->k}, first[5 + 3 * DESC_LENGTH];
  memcpy(&mine[3], &args->alpha, sizeof args->alpha);
  memcpy(&mine[4], &args->beta, sizeof args->beta);
  for (int i = 0; i < 3; i++)
    for (int j = M; j <= CSRC; j++) mine[5 + i * DESC_LENGTH + j] = descs[i][j];
  memcpy(first, mine, sizeof mine);
  const int length = sizeof mine / sizeof *mine;
  if (!hx__mpi_did(&p->team, MPI_Bcast(first, length, MPI_INT, 0, p->team.comm), "MPI_Bcast")) return HX__MPI_FAILED;
  const bool is_same = memcmp(first, mine, sizeof mine) == 0;
  return hx__mpi_agree(&p->team, is_same ? HX_OK
                                         : hx__mpi_fail(HX_INVALID_ARGUMENT,
                                                        "m, n, k, alpha, beta or a descriptor "
                                                        "differs from that of rank 0"));
}
