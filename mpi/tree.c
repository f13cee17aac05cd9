/* SPDX-License-Identifier: Apache-2.0 */
#include "mpi/tree.h"

#include <string.h>

#include "runtime/base/fpenv.h"

/* A NaN is stored as the one that hx stores. */
static float join(uint32_t is_product, float left, float right) {
  const float joined = is_product ? left * right : left + right;
  const uint32_t nan_bits = 0x7fc00000u;
  float nan;
  memcpy(&nan, &nan_bits, sizeof nan);
  return joined != joined ? nan : joined;
}

static void add(hx__mpi_blocks *b, unsigned level, float value) {
  b->leaves += UINT64_C(1) << level;
  const uint64_t end = b->first + b->leaves;
  while (b->count && b->level[b->count - 1] == level && end % (UINT64_C(2) << level) == 0) {
    value = join(b->is_product, b->value[--b->count], value);
    level++;
  }
  b->level[b->count] = (uint8_t)level;
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

/* The MPI_Op: right = left, then right. */
static void append(void *left_arg, void *right_arg, int *length, MPI_Datatype *type) {
  (void)type;
  const hx__mpi_blocks *const left = left_arg;
  hx__mpi_blocks *const right = right_arg;
  const hx__fpenv was = hx__fpenv_enter();
  for (int e = 0; e < *length; e++) {
    if (!left[e].count) continue;
    hx__mpi_blocks both = left[e];
    for (uint32_t i = 0; i < right[e].count; i++) add(&both, right[e].level[i], right[e].value[i]);
    right[e] = both;
  }
  hx__fpenv_leave(was);
}

hx_status hx__mpi_blocks_of_all(const hx__mpi_team *team, hx__mpi_blocks *blocks) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  const bool did =
      hx__mpi_did(team, MPI_Type_contiguous((int)sizeof *blocks, MPI_BYTE, &type), "MPI_Type_contiguous") &&
      hx__mpi_did(team, MPI_Type_commit(&type), "MPI_Type_commit") &&
      hx__mpi_did(team, MPI_Op_create(append, 0, &op), "MPI_Op_create") &&
      hx__mpi_did(team, MPI_Allreduce(MPI_IN_PLACE, blocks, 1, type, op, team->comm), "MPI_Allreduce");
  if (op != MPI_OP_NULL) MPI_Op_free(&op);
  if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
  return did ? HX_OK : HX__MPI_FAILED;
}
