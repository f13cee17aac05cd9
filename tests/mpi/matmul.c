/* SPDX-License-Identifier: Apache-2.0
 * hx_mpi_matmul on every grid of the ranks: each rank makes the whole matrices, takes its blocks of them, and compares
 * its blocks of C with the product on one machine. The hash of all elements of C is the same for any grid. */
#include <signal.h>

#include "tests/mpi/parts.h"

typedef struct product_case {
  int m, n, k;
  float alpha, beta;
  data_kind kind;
  blocks a, b, c;
} product_case;

static const product_case cases[] = {
    {37, 29, 1100, 1, 0, DATA_SIGNED, {7, 32, 0, 0}, {32, 7, 0, 0}, {7, 7, 0, 0}},
    {37, 29, 1100, 1, 0, DATA_SIGNED, {1, 1, 1, 2}, {1, 1, 3, 1}, {1, 1, 1, 1}},
    {130, 70, 513, 2.5f, 0, DATA_EXPONENTS, {32, 64, 0, 1}, {500, 32, 1, 0}, {32, 32, 0, 0}},
    {130, 70, 513, 1, 1, DATA_CANCEL, {64, 500, 0, 0}, {7, 1, 0, 0}, {32, 7, 1, 1}}, /* A and B move */
    {5, 600, 20, -0.5f, 0.25f, DATA_SIGNED, {1, 7, 0, 0}, {7, 64, 0, 0}, {1, 64, 0, 0}},
    {600, 5, 1030, 1, -3, DATA_SIGNED, {500, 7, 0, 0}, {64, 1, 0, 0}, {500, 1, 0, 0}},
    {64, 64, 512, 1, 0, DATA_ZEROS, {32, 500, 0, 0}, {500, 32, 0, 0}, {32, 32, 0, 0}},
    {64, 64, 1024, 1, 1, DATA_DENORMALS, {32, 64, 1, 0}, {64, 32, 0, 1}, {32, 32, 1, 1}},
    {33, 65, 1537, 3, 1, DATA_NAN, {7, 1, 0, 0}, {1, 64, 0, 0}, {64, 7, 0, 0}},
    {33, 65, 700, 1, 0, DATA_INF, {500, 500, 0, 0}, {500, 500, 0, 0}, {500, 500, 0, 0}},
    {1, 1, 1025, 1, 0, DATA_SIGNED, {1, 7, 0, 0}, {7, 1, 0, 0}, {1, 1, 0, 0}},
    {21, 29, 5500, 1, 1, DATA_SIGNED, {1, 512, 0, 1}, {512, 1, 1, 0}, {1, 1, 0, 0}}, /* several panels for each slot */
    {40, 40, 0, 1, 2, DATA_SIGNED, {7, 7, 0, 0}, {7, 7, 0, 0}, {7, 7, 0, 0}},
    {40, 40, 30, 0, 0, DATA_NAN, {7, 7, 0, 0}, {7, 7, 0, 0}, {7, 7, 0, 0}},
    {0, 40, 30, 1, 0, DATA_SIGNED, {7, 7, 0, 0}, {7, 7, 0, 0}, {7, 7, 0, 0}},
    {48, 48, 768, 1, 1, DATA_SIGNED, {2, 16, 0, 0}, {16, 2, 0, 0}, {1, 1, 0, 0}}, /* as many calls of MPI on all ranks
                                                                                   */
    {256, 192, 2048, 1, 0, DATA_SIGNED, {32, 32, 0, 0}, {32, 32, 0, 0}, {32, 32, 0, 0}}, /* traffic is counted */
};
#define COUNT(a) (sizeof(a) / sizeof *(a))
#define TRAFFIC_CASE (COUNT(cases) - 1)
#define EVEN_CASE (COUNT(cases) - 2)

/* Matrices of a case: the whole A, B and C, and the product by hx on one machine. */
typedef struct whole {
  float *a, *b, *c, *want;
} whole;

static whole make_whole(const product_case *t, size_t number) {
  const size_t m = (size_t)t->m, n = (size_t)t->n, k = (size_t)t->k;
  whole w = {malloc((m * k + 1) * 4), malloc((k * n + 1) * 4), malloc((m * n + 1) * 4), malloc((m * n + 1) * 4)};
  data_fill(HX_F32, t->kind, number, w.a, m * k);
  data_fill(HX_F32, t->kind, number + 100, w.b, k * n);
  data_fill(HX_F32, t->kind, number + 200, w.c, m * n);
  memcpy(w.want, w.c, m * n * sizeof(float));
  hx_task task = hx_matmul(m, n, k, w.a, w.b, w.want);
  task.matmul.alpha = t->alpha;
  task.matmul.beta = t->beta;
  CHECK_OK(hx_offload(hx, &task, NULL));
  return w;
}

static whole wholes[COUNT(cases)];

static void free_whole(whole *w) {
  free(w->a);
  free(w->b);
  free(w->c);
  free(w->want);
}

/* Adds to the hash. */
static hx_status multiply(const grid_of_ranks *g, size_t number, uint64_t *hash) {
  const product_case *const t = &cases[number];
  const whole *const w = &wholes[number];
  part a = take(t->m, t->k, t->a, g, w->a), b = take(t->k, t->n, t->b, g, w->b), c = take(t->m, t->n, t->c, g, w->c);
  const hx_status status = hx_mpi_matmul(g->comm, hx, t->m, t->n, t->k, t->alpha, a.local, a.desc, b.local, b.desc,
                                         t->beta, c.local, c.desc);
  if (status == HX_OK) *hash += compare(&c, g, w->want, number);
  free_part(&a);
  free_part(&b);
  free_part(&c);
  return status;
}

static void check_errors(const grid_of_ranks *g) {
  const MPI_Comm comm = g->comm;
  enum { WRONG = 14 };
  const char *const words[WRONG] = {"m is -1",
                                    "k is -1",
                                    "DTYPE of the descriptor of a is 2",
                                    "M of the descriptor of b is 9",
                                    "NB of the descriptor of c is 0",
                                    "RSRC of the descriptor of a",
                                    "CSRC of the descriptor of b is -1",
                                    "LLD of the descriptor of c",
                                    "a is NULL",
                                    "b is not aligned",
                                    "c overlaps a",
                                    "hx is NULL",
                                    "the descriptor of b is NULL",
                                    "differs from that of rank 0"};
  float *const x = calloc(3000, sizeof *x);
  char name[24];
  snprintf(name, sizeof name, "rank %d", ranks - 1);
  for (int wrong = 0; wrong < WRONG; wrong++) {
    if (wrong == WRONG - 1 && ranks == 1) continue;
    /* blocks of one, so that every rank has a part */
    int desc[3][9], m = 20, n = 20, k = 10;
    for (int i = 0; i < 3; i++)
      memcpy(desc[i], (int[9]){1, -1, i == 1 ? 10 : 20, i == 0 ? 10 : 20, 1, 1, 0, 0, 20}, sizeof desc[i]);
    const float *a = x, *b = x + 1000;
    float *c = x + 2000, alpha = 1;
    const bool is_last = rank == ranks - 1;
    if (is_last) {
      if (wrong == 0) m = -1;
      if (wrong == 1) k = -1;
      if (wrong == 2) desc[0][0] = 2;
      if (wrong == 3) desc[1][2] = 9;
      if (wrong == 4) desc[2][5] = 0;
      if (wrong == 5) desc[0][6] = g->size[0];
      if (wrong == 6) desc[1][7] = -1;
      if (wrong == 7) desc[2][8] = 0;
      if (wrong == 8) a = NULL;
      if (wrong == 9) b = (const float *)((const char *)b + 1);
      if (wrong == 10) c = x;
      if (wrong == 13) alpha = 2;
    }
    CHECK_MPI_REFUSED(hx_mpi_matmul(comm, is_last && wrong == 11 ? NULL : hx, m, n, k, alpha, a, desc[0], b,
                                    is_last && wrong == 12 ? NULL : desc[1], 0, c, desc[2]),
                      HX_INVALID_ARGUMENT, words[wrong]);
    CHECK(has_words(hx_mpi_error_detail(), name), "%s", hx_mpi_error_detail());
  }
  for (int i = 0; i < 3000; i++) CHECK(x[i] == 0, "element %d was written", i);
  CHECK_MPI_REFUSED(hx_mpi_matmul(MPI_COMM_WORLD, hx, 0, 0, 0, 1, x, NULL, x, NULL, 0, x, NULL), HX_INVALID_ARGUMENT,
                    "Cartesian topology");
  CHECK_MPI_REFUSED(hx_mpi_matmul(MPI_COMM_NULL, hx, 0, 0, 0, 1, x, NULL, x, NULL, 0, x, NULL), HX_INVALID_ARGUMENT,
                    "grid is MPI_COMM_NULL");
  if (ranks > 1) {
    MPI_Comm half, inter;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &inter);
    CHECK_MPI_REFUSED(hx_mpi_matmul(inter, hx, 0, 0, 0, 1, x, NULL, x, NULL, 0, x, NULL), HX_INVALID_ARGUMENT,
                      "grid is an intercommunicator");
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
  }
  const int empty[9] = {1, -1, 0, 0, 1, 1, 0, 0, 1};
  CHECK_MPI_REFUSED(rank == ranks - 1 ? hx_mpi_refuse(comm, HX_UNSUPPORTED, "there is no B")
                                      : hx_mpi_matmul(comm, hx, 0, 0, 0, 1, x, empty, x, empty, 0, x, empty),
                    HX_UNSUPPORTED, "there is no B");
  CHECK(has_words(hx_mpi_error_detail(), name), "%s", hx_mpi_error_detail());
  free(x);
}

/* A device does all of each panel, and keeps C, before it is multiplied by alpha. */
static void multiply_resident(const grid_of_ranks *g) {
  enum { NUMBER = 2 };
  const product_case *const t = &cases[NUMBER];
  const whole *const w = &wholes[NUMBER];
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "sim";
  settings.sim = "rate=1e12";
  settings.offload = "mandatory";
  hx_context *const device = open_or_exit(&settings);
  part a = take(t->m, t->k, t->a, g, w->a), b = take(t->k, t->n, t->b, g, w->b), c = take(t->m, t->n, t->c, g, w->c);
  const size_t bytes = (size_t)c.desc[8] * c.local_columns * sizeof(float);
  float *const kept = hx_alloc(device, bytes + sizeof(float));
  memcpy(kept, c.local, bytes);
  CHECK_OK(hx_advise(device, kept, bytes + sizeof(float), HX_RESIDENT));
  CHECK_MPI(hx_mpi_matmul(g->comm, device, t->m, t->n, t->k, t->alpha, a.local, a.desc, b.local, b.desc, t->beta, kept,
                          c.desc));
  CHECK_OK(hx_sync(device, kept, bytes + sizeof(float)));
  memcpy(c.local, kept, bytes);
  compare(&c, g, w->want, NUMBER);
  free_part(&a);
  free_part(&b);
  free_part(&c);
  hx_close(device);
}

/* All cases on one grid. */
static uint64_t multiply_all(const grid_of_ranks *g) {
  uint64_t hash = 0;
  for (size_t i = 0; i < COUNT(cases); i++) {
    const uint64_t before = bytes_received();
    CHECK_MPI(multiply(g, i, &hash));
    if (i == TRAFFIC_CASE) check_traffic(g, before, cases[i].m, cases[i].n, cases[i].k, 0);
  }
  if (is_to_die) raise(SIGKILL); /* the other ranks go on with the next product */
  multiply_resident(g);
  check_errors_once(g, check_errors, multiply, EVEN_CASE);
  return hash;
}

int main(int argc, char **argv) {
  start_rank(argc, argv);
  for (size_t i = 0; i < COUNT(cases); i++) wholes[i] = make_whole(&cases[i], i);
  const uint64_t hash = on_all_grids(multiply_all);
  for (size_t i = 0; i < COUNT(cases); i++) free_whole(&wholes[i]);
  return finish(hash);
}
