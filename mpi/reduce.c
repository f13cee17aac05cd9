/* SPDX-License-Identifier: Apache-2.0
 * Of everything but sums and products of floats the order does not matter: each rank tells its result in the exchange
 * with which every call begins, and joins those of all (order.h). Sums and products of floats follow the tree of leaves
 * (tree.h, border.h). Where a rank's leaves are follows from how many elements the others have, so they need a second
 * exchange. */
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
  workspace *const w = malloc(sizeof *w);
  if (!w) return NULL;
  w->start = malloc(((size_t)size + 1) * sizeof *w->start);
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

/* What would make a rank read or write where it must not before hx checks the task, or differ from the others; and what
 * hx does not see, because it gets tasks for parts of the arrays with outputs of their own. */
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
  const hx_status status = check_array(a, a->x, "x");
  return status == HX_OK && a->op == HX_DOT ? check_array(a, a->y, "y") : status;
}

/* Whether what all ranks have told is one array; all come to the same verdict. *total: its elements. */
static hx_status check_all(const hx__mpi_team *team, uint64_t *total) {
  const hx__mpi_told *const all = team->kept->told;
  *total = 0;
  for (int r = 0; r < team->size; r++) {
    if (all[r].task != all[0].task)
      return hx__mpi_fail(HX_INVALID_ARGUMENT, "rank %d: op or type differs from that of rank 0", r);
    if (all[r].n > UINT64_MAX / sizeof(float) - *total)
      return hx__mpi_fail(HX_INVALID_ARGUMENT, "rank %d: n is %llu: the bytes of all elements overflow 64 bits", r,
                          (unsigned long long)all[r].n);
    *total += all[r].n;
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

/* A sum of nothing, by which hx checks what it sees in no other task of this rank: the share and the reserved words. */
static hx_status offload_nothing(hx_context *hx, const hx_task *part) {
  hx_task task = *part;
  hx_value none;
  task.reduce.op = HX_SUM;
  task.reduce.n = 0;
  task.reduce.out = &none;
  return hx_offload(hx, &task, NULL);
}

/* A list takes longer than one small task, and names its first task if hx refuses all, which are alike. */
static hx_status offload_blocks(hx_context *hx, const hx_task *tasks, size_t count) {
  const hx_status status = count > 1 ? hx_offload_many(hx, tasks, count, NULL) : HX_OK;
  return count == 1 || status == HX_INVALID_ARGUMENT ? hx_offload(hx, tasks, NULL) : status;
}

/* The leaves that begin in this rank's elements. The exchange goes on while hx reduces those that are whole. */
static hx_status reduce_leaves(const hx__mpi_team *team, hx_context *hx, const hx_task *part, workspace *w) {
  const struct hx_reduce_args *const a = &part->reduce;
  hx__mpi_border *const border = w->border;
  hx_status status = hx__mpi_border_start(team, w->start, a->x, a->op == HX_DOT ? a->y : NULL, border);
  if (status != HX_OK) return leave_border(w, status);
  const uint64_t first_leaf = (w->start[team->rank] + HX__MPI_LEAF - 1) / HX__MPI_LEAF;
  const size_t count = block_tasks(part, first_leaf, border->head, a->n - border->tail, w);
  const bool has_leaves = count || border->count;
  const hx_status reduced = has_leaves ? offload_blocks(hx, w->tasks, count) : offload_nothing(hx, part);
  if (reduced != HX_OK) hx__mpi_fail_by_hx(reduced);
  status = hx__mpi_border_wait(team, border);
  if (status != HX_OK) return leave_border(w, status);
  if (reduced != HX_OK) return reduced;
  w->blocks.first = first_leaf;
  for (size_t i = 0; i < count; i++) hx__mpi_blocks_add(&w->blocks, w->level[i], w->value[i].f32);
  if (!border->count) return HX_OK;
  status = reduce_border(hx, part, border, &w->value[count]);
  if (status != HX_OK) return hx__mpi_fail_by_hx(status);
  hx__mpi_blocks_add(&w->blocks, 0, w->value[count].f32);
  return HX_OK;
}

/* The elements of all ranks are `total`. */
static hx_status reduce_tree(const hx__mpi_team *team, hx_context *hx, const hx_task *part, uint64_t total,
                             workspace *w, hx_value *out) {
  const uint64_t leaves = total / HX__MPI_LEAF + (total % HX__MPI_LEAF != 0);
  w->blocks = (hx__mpi_blocks){.is_product = part->reduce.op == HX_PROD};
  w->start[0] = 0;
  for (int r = 0; r < team->size; r++) w->start[r + 1] = w->start[r] + team->kept->told[r].n;
  hx_status status = reduce_leaves(team, hx, part, w);
  status = hx__mpi_blocks_of_all(team, leaves, status, &w->blocks);
  if (status != HX_OK) return status;
  *out = (hx_value){0};
  out->f32 = hx__mpi_blocks_value(&w->blocks);
  return HX_OK;
}

/* Sums and products of floats round, so their order counts. */
static bool is_ordered(const struct hx_reduce_args *a) { return a->type == HX_F32 && !hx__mpi_is_extremum(a->op); }

/* What this rank tells the others before they begin. */
static hx_status tell(hx_context *hx, const hx_task *part, hx__mpi_told *told) {
  const struct hx_reduce_args *const a = &part->reduce;
  hx_task task = *part;
  hx_value mine = {0};
  task.reduce.out = &mine;
  *told = (hx__mpi_told){.task = (uint32_t)a->op << 8 | (uint32_t)a->type, .n = a->n};
  if (is_ordered(a)) return HX_OK;
  const bool has_result = a->n || !hx__mpi_is_extremum(a->op);
  const hx_status status = has_result ? hx_offload(hx, &task, NULL) : offload_nothing(hx, part);
  if (status != HX_OK) return hx__mpi_fail_by_hx(status);
  hx__mpi_tell_any_order(a, mine, told);
  return HX_OK;
}

/* Of no element on any rank, if no rank has told a result: hx says what it is, or that there is none. */
static hx_status reduce_nothing(const hx__mpi_team *team, hx_context *hx, const hx_task *part, hx_value *out) {
  hx_task task = *part;
  task.reduce.out = out;
  const hx_status status = hx_offload(hx, &task, NULL);
  return hx__mpi_agree(team, status == HX_OK ? status : hx__mpi_fail_by_hx(status));
}

/* What follows when all ranks have begun. w: NULL if the order does not matter. */
static hx_status reduce(const hx__mpi_team *team, hx_context *hx, const hx_task *part, workspace *w) {
  uint64_t total;
  hx_value out;
  hx_status status = check_all(team, &total);
  if (status != HX_OK) return status;
  if (!total && (w || hx__mpi_is_extremum(part->reduce.op)))
    status = reduce_nothing(team, hx, part, &out);
  else if (w)
    status = reduce_tree(team, hx, part, total, w, &out);
  else
    out = hx__mpi_join_any_order(team, &part->reduce);
  if (status == HX_OK) *part->reduce.out = out;
  return status;
}

hx_status hx_mpi_reduce(MPI_Comm comm, hx_context *hx, const hx_task *part) {
  hx__mpi_team team;
  hx__mpi_told told = {0};
  workspace *w = NULL;
  hx_status status = hx__mpi_join(comm, "comm", &team);
  if (status != HX_OK) return status;
  status = check(hx, part);
  if (status == HX_OK) status = tell(hx, part, &told);
  if (status == HX_OK && is_ordered(&part->reduce)) {
    w = make_workspace(team.size);
    if (!w) status = hx__mpi_fail(HX_OUT_OF_MEMORY, "no memory for partial results");
  }
  status = hx__mpi_begin(&team, status, &told);
  if (status == HX_OK) status = reduce(&team, hx, part, w);
  free_workspace(w);
  return status;
}
