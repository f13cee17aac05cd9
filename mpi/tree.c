/* SPDX-License-Identifier: Apache-2.0 */
#include "mpi/tree.h"

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
  (void)length, (void)type;
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

/* Whole cache lines. Adjacent leaves of so many are at most two blocks of each size. */
static int bytes_for(uint64_t leaves) {
  size_t bytes = offsetof(hx__mpi_blocks, value);
  for (; leaves; leaves /= 2) bytes += 2 * sizeof(float);
  return (int)((bytes + 63) / 64 * 64);
}
_Static_assert(sizeof(hx__mpi_blocks) == 64 * 7, "what bytes_for gives for 2^51 leaves is not more");

/* Makes the operation and the type of a message if they are not kept from the call before, because that takes longer
 * than to send it. */
static bool prepare(const hx__mpi_team *team, int bytes) {
  hx__mpi_kept *const kept = team->kept;
  if (kept->append == MPI_OP_NULL && !hx__mpi_did(team, MPI_Op_create(append, 0, &kept->append), "MPI_Op_create"))
    return false;
  if (kept->blocks != MPI_DATATYPE_NULL && kept->blocks_bytes == bytes) return true;
  if (kept->blocks != MPI_DATATYPE_NULL) MPI_Type_free(&kept->blocks);
  kept->blocks_bytes = 0;
  if (!hx__mpi_did(team, MPI_Type_contiguous(bytes, MPI_BYTE, &kept->blocks), "MPI_Type_contiguous") ||
      !hx__mpi_did(team, MPI_Type_commit(&kept->blocks), "MPI_Type_commit"))
    return false;
  kept->blocks_bytes = bytes;
  return true;
}

hx_status hx__mpi_blocks_of_all(const hx__mpi_team *team, uint64_t leaves, hx_status mine, hx__mpi_blocks *blocks) {
  if (!prepare(team, bytes_for(leaves))) return HX__MPI_FAILED;
  blocks->failed = mine == HX_OK ? NONE : team->rank;
  if (mine != HX_OK) blocks->leaves = blocks->count = 0;
  const int code = MPI_Allreduce(MPI_IN_PLACE, blocks, 1, team->kept->blocks, team->kept->append, team->comm);
  if (!hx__mpi_did(team, code, "MPI_Allreduce")) return HX__MPI_FAILED;
  return hx__mpi_agree_with(team, blocks->failed == NONE ? team->size : blocks->failed, mine);
}
