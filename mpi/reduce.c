/* SPDX-License-Identifier: Apache-2.0
 * Sums and products of floats follow the tree of leaves (tree.h, border.h). Of everything else the order does not
 * matter, and MPI's own operations join the results of the ranks. */
#include <stdlib.h>
#include <string.h>

#include "mpi/border.h"
#include "mpi/hx_mpi.h"
#include "mpi/order.h"

#define TASKS (HX__MPI_BLOCKS + 1)

/* What a call needs besides the caller's memory. */
typedef struct workspace {
  hx__mpi_blocks blocks;
  hx_task tasks[TASKS];
  uint8_t level[TASKS];
  hx_value value[TASKS];
  uint64_t *start; /* of each rank's elements in the whole array, then the end */
  hx__mpi_border *border;
} workspace;

static void free_workspace(workspace *w) {
  if (!w) return;
  free(w->start);
  free(w->border);
  free(w);
}

static workspace *make_workspace(int size) {
  workspace *const w = calloc(1, sizeof *w);
  if (!w) return NULL;
  w->start = malloc(((size_t)size + 1) * 3 * sizeof *w->start); /* first of all what `where` gathers */
  w->border = malloc(hx__mpi_border_bytes(size));
  if (w->start && w->border) return w;
  free_workspace(w);
  return NULL;
}

/* Whether an array wraps the address space, as hx refuses it, or shares a byte with out. */
static hx_status check_array(const struct hx_reduce_args *a, const void *array, const char *name) {
  const uintptr_t from = (uintptr_t)array, out = (uintptr_t)a->out;
  const size_t bytes = a->n * sizeof(float);
  if (!a->n || a->n > SIZE_MAX / sizeof(float)) return HX_OK; /* too many are found with the elements of all ranks */
  if (from > UINTPTR_MAX - bytes)
    return hx__mpi_fail(HX_INVALID_ARGUMENT, "%s is %p: wraps the address space with n = %zu", name, array, a->n);
  if (from < out + sizeof *a->out && out < from + bytes)
    return hx__mpi_fail(HX_INVALID_ARGUMENT, "out at %p shares an element with %s at %p", (void *)a->out, name, array);
  return HX_OK;
}

/* What hx does not see of the task, because it gets tasks for parts of the arrays with outputs of their own, or none:
 * its share and its reserved words, which hx checks in a sum of nothing; and where out is. */
static hx_status check_rest(hx_context *hx, const hx_task *part) {
  const struct hx_reduce_args *const a = &part->reduce;
  hx_task nothing = *part;
  hx_value none;
  nothing.reduce.op = HX_SUM;
  nothing.reduce.n = 0;
  nothing.reduce.out = &none;
  hx_status status = hx_offload(hx, &nothing, NULL);
  if (status != HX_OK) return hx__mpi_fail_by_hx(status);
  status = check_array(a, a->x, "x");
  return status == HX_OK && a->op == HX_DOT ? check_array(a, a->y, "y") : status;
}

/* What would make a rank read or write where it must not before hx checks the task, or differ from the others. */
static hx_status check(hx_context *hx, const hx_task *part) {
  if (!hx) return hx__mpi_fail(HX_INVALID_ARGUMENT, "hx is NULL");
  if (!part) return hx__mpi_fail(HX_INVALID_ARGUMENT, "part is NULL");
  const struct hx_reduce_args *const a = &part->reduce;
  if (part->kind != HX_REDUCE)
    return hx__mpi_fail(HX_INVALID_ARGUMENT, "kind is %d, not that of hx_reduce or hx_dot", (int)part->kind);
  if (a->op < HX_SUM || a->op > HX_PROD) return hx__mpi_fail(HX_INVALID_ARGUMENT, "op is %d", (int)a->op);
  if (a->type < HX_F32 || a->type > HX_U32) return hx__mpi_fail(HX_INVALID_ARGUMENT, "type is %d", (int)a->type);
  if (!a->out) return hx__mpi_fail(HX_INVALID_ARGUMENT, "out is NULL");
  if ((uintptr_t)a->out % sizeof *a->out) return hx__mpi_fail(HX_INVALID_ARGUMENT, "out is not aligned to 8 bytes");
  if (a->n && !a->x) return hx__mpi_fail(HX_INVALID_ARGUMENT, "x is NULL");
  if (a->n && a->op == HX_DOT && !a->y) return hx__mpi_fail(HX_INVALID_ARGUMENT, "y is NULL");
  if (a->n && ((uintptr_t)a->x | (a->op == HX_DOT ? (uintptr_t)a->y : 0)) % sizeof(float))
    return hx__mpi_fail(HX_INVALID_ARGUMENT, "x or y is not aligned to 4 bytes");
  return check_rest(hx, part);
}

/* Where the elements of each rank are; all ranks come to the same verdict. */
static hx_status where(const hx__mpi_team *team, const struct hx_reduce_args *a, uint64_t *start) {
  uint64_t *const told = start + team->size + 1, mine[2] = {a->n, (uint64_t)a->op << 8 | a->type};
  if (!hx__mpi_did(team, MPI_Allgather(mine, 2, MPI_UINT64_T, told, 2, MPI_UINT64_T, team->comm), "MPI_Allgather"))
    return HX__MPI_FAILED;
  start[0] = 0;
  for (int r = 0; r < team->size; r++) {
    if (told[2 * r + 1] != told[1])
      return hx__mpi_fail(HX_INVALID_ARGUMENT, "rank %d: op or type differs from that of rank 0", r);
    if (told[2 * r] > UINT64_MAX / sizeof(float) - start[r])
      return hx__mpi_fail(HX_INVALID_ARGUMENT, "rank %d: n is %llu: the bytes of all elements overflow 64 bits", r,
                          (unsigned long long)told[2 * r]);
    start[r + 1] = start[r] + told[2 * r];
  }
  return HX_OK;
}

/* The tasks of the blocks of whole leaves in this rank's elements [head, end). */
static size_t block_tasks(const hx_task *part, uint64_t first_leaf, size_t head, size_t end, workspace *w) {
  size_t count = 0;
  for (uint64_t leaf = first_leaf; head < end; count++) {
    unsigned level = 0; /* the last leaf of the array may be short, and is a block of its own */
    while (leaf % (UINT64_C(2) << level) == 0 && end - head >= (size_t)HX__MPI_LEAF << (level + 1)) level++;
    const size_t room = (size_t)HX__MPI_LEAF << level, n = end - head < room ? end - head : room;
    hx_task *const task = &w->tasks[count];
    *task = *part;
    task->reduce.x = (const float *)part->reduce.x + head;
    if (part->reduce.op == HX_DOT) task->reduce.y = (const float *)part->reduce.y + head;
    task->reduce.n = n;
    task->reduce.out = &w->value[count];
    w->level[count] = (uint8_t)level;
    head += n;
    leaf += UINT64_C(1) << level;
  }
  return count;
}

/* After an error of MPI, which may still write to the border: its memory is not freed. */
static hx_status leave_border(workspace *w, hx_status status) {
  w->border = NULL;
  return status;
}

/* The leaf that this rank shares with later ones. */
static hx_status reduce_border(hx_context *hx, const hx_task *part, hx__mpi_border *border, hx_value *out) {
  hx_task task = *part;
  task.reduce.x = border->x;
  if (part->reduce.op == HX_DOT) task.reduce.y = border->y;
  task.reduce.n = border->count;
  task.reduce.out = out;
  return hx_offload(hx, &task, NULL);
}

/* The leaves that begin in this rank's elements. The exchange goes on while hx reduces those that are whole. */
static hx_status reduce_leaves(const hx__mpi_team *team, hx_context *hx, const hx_task *part, workspace *w) {
  const struct hx_reduce_args *const a = &part->reduce;
  hx__mpi_border *const border = w->border;
  hx_status status = hx__mpi_border_start(team, w->start, a->x, a->op == HX_DOT ? a->y : NULL, border);
  if (status != HX_OK) return leave_border(w, status);
  const uint64_t first_leaf = (w->start[team->rank] + HX__MPI_LEAF - 1) / HX__MPI_LEAF;
  const size_t count = block_tasks(part, first_leaf, border->head, a->n - border->tail, w);
  const hx_status reduced = hx_offload_many(hx, w->tasks, count, NULL);
  if (reduced != HX_OK) hx__mpi_fail_by_hx(reduced);
  status = hx__mpi_border_wait(team, border);
  if (status != HX_OK) return leave_border(w, status);
  if (reduced != HX_OK) return reduced;
  w->blocks = (hx__mpi_blocks){.first = first_leaf, .is_product = a->op == HX_PROD};
  for (size_t i = 0; i < count; i++) hx__mpi_blocks_add(&w->blocks, w->level[i], w->value[i].f32);
  if (!border->count) return HX_OK;
  status = reduce_border(hx, part, border, &w->value[count]);
  if (status != HX_OK) return hx__mpi_fail_by_hx(status);
  hx__mpi_blocks_add(&w->blocks, 0, w->value[count].f32);
  return HX_OK;
}

static hx_status reduce_tree(const hx__mpi_team *team, hx_context *hx, const hx_task *part, workspace *w,
                             hx_value *out) {
  hx_status status = hx__mpi_agree(team, reduce_leaves(team, hx, part, w));
  if (status != HX_OK) return status;
  status = hx__mpi_blocks_of_all(team, &w->blocks);
  if (status != HX_OK) return status;
  *out = (hx_value){0};
  out->f32 = hx__mpi_blocks_value(&w->blocks);
  return HX_OK;
}

static hx_status reduce_any_order(const hx__mpi_team *team, hx_context *hx, const hx_task *part, workspace *w,
                                  hx_value *out) {
  const struct hx_reduce_args *const a = &part->reduce;
  hx_task task = *part;
  hx_value mine = {0};
  task.reduce.out = &mine;
  hx_status status = HX_OK;
  if (a->n || !hx__mpi_is_extremum(a->op)) status = hx_offload(hx, &task, NULL);
  if (status != HX_OK) hx__mpi_fail_by_hx(status);
  status = hx__mpi_agree(team, status);
  if (status != HX_OK) return status;
  return hx__mpi_join_any_order(team, a, w->start[team->rank], mine, out);
}

/* Sums and products of floats round, so their order counts. */
static bool is_ordered(const struct hx_reduce_args *a) { return a->type == HX_F32 && !hx__mpi_is_extremum(a->op); }

static hx_status reduce(const hx__mpi_team *team, hx_context *hx, const hx_task *part, workspace *w) {
  hx_status status = where(team, &part->reduce, w->start);
  if (status != HX_OK) return status;
  hx_value out;
  if (w->start[team->size] == 0) { /* hx says what a reduction of nothing is, or that there is none */
    hx_task task = *part;
    task.reduce.out = &out;
    status = hx_offload(hx, &task, NULL);
    status = hx__mpi_agree(team, status == HX_OK ? status : hx__mpi_fail_by_hx(status));
  } else {
    status = (is_ordered(&part->reduce) ? reduce_tree : reduce_any_order)(team, hx, part, w, &out);
  }
  if (status == HX_OK) *part->reduce.out = out;
  return status;
}

hx_status hx_mpi_reduce(MPI_Comm comm, hx_context *hx, const hx_task *part) {
  hx__mpi_team team;
  hx_status status = hx__mpi_join(comm, "comm", &team);
  if (status != HX_OK) return status;
  status = check(hx, part);
  workspace *const w = status == HX_OK ? make_workspace(team.size) : NULL;
  if (status == HX_OK && !w) status = hx__mpi_fail(HX_OUT_OF_MEMORY, "no memory for partial results");
  status = hx__mpi_agree(&team, status);
  if (status == HX_OK && w) status = reduce(&team, hx, part, w);
  free_workspace(w);
  return status;
}
