/* SPDX-License-Identifier: Apache-2.0 */
#include "mpi/tree.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "runtime/base/fpenv.h"

#define NONE INT32_MAX /* no rank has failed */

/* A NaN is stored as the one that hx stores. */
static float join(uint32_t is_product, float left, float right) {
  const float joined = is_product ? left * right : left + right;
  const uint32_t nan_bits = 0x7fc00000u;
  float nan;
  memcpy(&nan, &nan_bits, sizeof nan);
  return joined != joined ? nan : joined;
}

/* The blocks are as large as they can be. So what comes before a block is the other half of a larger one, if that lies
 * within the leaves. */
static void add(hx__mpi_blocks *b, unsigned level, float value) {
  b->leaves += UINT64_C(1) << level;
  const uint64_t end = b->first + b->leaves;
  for (uint64_t both = UINT64_C(2) << level; end % both == 0 && b->leaves >= both; both *= 2)
    value = join(b->is_product, b->value[--b->count], value);
  b->value[b->count++] = value;
}

void hx__mpi_blocks_add(hx__mpi_blocks *blocks, unsigned level, float value) {
  const hx__fpenv was = hx__fpenv_enter();
  add(blocks, level, value);
  hx__fpenv_leave(was);
}

/* All leaves are blocks that shrink. A last one without a neighbour goes up until it has one. */
float hx__mpi_blocks_value(const hx__mpi_blocks *blocks) {
  const hx__fpenv was = hx__fpenv_enter();
  uint32_t i = blocks->count - 1;
  float value = blocks->value[i];
  while (i > 0) value = join(blocks->is_product, blocks->value[--i], value);
  hx__fpenv_leave(was);
  return value;
}

/* The level of the block that begins at a leaf, if the blocks go up to `end`. */
static unsigned level_at(uint64_t leaf, uint64_t end) {
  unsigned level = 0;
  while (leaf % (UINT64_C(2) << level) == 0 && end - leaf >= UINT64_C(2) << level) level++;
  return level;
}

/* A message has only as many values as there may be. */
static void copy(hx__mpi_blocks *to, const hx__mpi_blocks *from) {
  memcpy(to, from, offsetof(hx__mpi_blocks, value) + from->count * sizeof from->value[0]);
}

/* The MPI_Op, of one element: right = left, then right; or the lowest rank that has failed, without blocks. */
static void append(void *left_arg, void *right_arg, int *length, MPI_Datatype *type) {
  (void)type;
  if (*length < 1) return;
  const hx__mpi_blocks *const left = left_arg;
  hx__mpi_blocks *const right = right_arg;
  const bool is_left = left->failed < right->failed || (left->failed == right->failed && !right->leaves);
  if (is_left) copy(right, left);
  if (is_left || right->failed != NONE || !left->leaves) return;
  const uint64_t end = right->first + right->leaves;
  hx__mpi_blocks both;
  const hx__fpenv was = hx__fpenv_enter();
  copy(&both, left);
  for (uint32_t i = 0; i < right->count; i++) add(&both, level_at(both.first + both.leaves, end), right->value[i]);
  hx__fpenv_leave(was);
  copy(right, &both);
}

#define LINE 64 /* bytes */
enum { MOST_LINES = sizeof(hx__mpi_blocks) / LINE };
_Static_assert(MOST_LINES == 7, "what lines_for gives for 2^51 leaves is not more");

/* The whole cache lines of a message. Adjacent leaves of so many are at most two blocks of each size. */
static unsigned lines_for(uint64_t leaves) {
  size_t bytes = offsetof(hx__mpi_blocks, value);
  for (; leaves; leaves /= 2) bytes += 2 * sizeof(float);
  return (unsigned)((bytes + LINE - 1) / LINE);
}

/* The operation, and a type for each length of a message: made once in a process, because that takes longer than to
 * send one. They belong to no communicator: one that the program does not free would keep them beyond MPI_Finalize, of
 * which MPICH warns. */
static struct {
  pthread_mutex_t lock;
  bool has_op, has_type[MOST_LINES + 1];
  MPI_Op op;
  MPI_Datatype type[MOST_LINES + 1];
} made = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* MPI_Finalize first deletes the attributes of MPI_COMM_SELF. */
static int free_made(MPI_Comm comm, int keyval, void *attribute, void *extra) {
  (void)comm, (void)keyval, (void)attribute, (void)extra;
  for (unsigned lines = 0; lines <= MOST_LINES; lines++)
    if (made.has_type[lines]) MPI_Type_free(&made.type[lines]);
  return MPI_Op_free(&made.op);
}

/* Each returns MPI's code, and the function that failed. */
static int make_op(const char **function) {
  int key;
  int code = MPI_Op_create(append, 0, &made.op);
  *function = "MPI_Op_create";
  if (code != MPI_SUCCESS) return code;
  made.has_op = true;
  code = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_made, &key, NULL);
  *function = "MPI_Comm_create_keyval";
  if (code == MPI_SUCCESS) code = MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  if (code == MPI_SUCCESS) code = MPI_Comm_free_keyval(&key); /* once the attribute is deleted */
  return code;
}

static int make_type(unsigned lines, const char **function) {
  int code = MPI_Type_contiguous((int)lines * LINE, MPI_BYTE, &made.type[lines]);
  *function = "MPI_Type_contiguous";
  if (code != MPI_SUCCESS) return code;
  code = MPI_Type_commit(&made.type[lines]);
  *function = "MPI_Type_commit";
  made.has_type[lines] = code == MPI_SUCCESS;
  return code;
}

/* False: MPI has failed. */
static bool prepare(const hx__mpi_team *team, unsigned lines) {
  const char *function = NULL;
  int code = MPI_SUCCESS;
  pthread_mutex_lock(&made.lock);
  if (!made.has_op) code = make_op(&function);
  if (code == MPI_SUCCESS && !made.has_type[lines]) code = make_type(lines, &function);
  pthread_mutex_unlock(&made.lock);
  return hx__mpi_did_on(team, MPI_COMM_WORLD, code, function);
}

hx_status hx__mpi_blocks_of_all(const hx__mpi_team *team, uint64_t leaves, hx_status mine, hx__mpi_blocks *blocks) {
  const unsigned lines = lines_for(leaves);
  if (!prepare(team, lines)) return HX__MPI_FAILED;
  blocks->failed = mine == HX_OK ? NONE : team->rank;
  if (mine != HX_OK) blocks->leaves = blocks->count = 0;
  const int code = MPI_Allreduce(MPI_IN_PLACE, blocks, 1, made.type[lines], made.op, team->comm);
  if (!hx__mpi_did(team, code, "MPI_Allreduce")) return HX__MPI_FAILED;
  return hx__mpi_agree_with(team, blocks->failed == NONE ? team->size : blocks->failed, mine);
}
