/* SPDX-License-Identifier: Apache-2.0
 * The cases of reductions: the slot of every leaf, and the result of all slots together, which a row that joins also
 * computes itself. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cases.h"
#include "reference/ref.h"
#include "runtime/task/task.h"
#include "tests/emulator/cases.h"

/* The bits of a result. Floats, and minima and maxima of any type, have 32. */
static uint64_t bits_of(hx_op op, hx_type type, hx_value value) {
  if (op == HX_ARGMIN || op == HX_ARGMAX) return value.u64;
  return type == HX_F32 || op == HX_MIN || op == HX_MAX ? value.u32 : value.u64;
}

bool slots_right(hx_op op, hx_type type, const uint32_t *x, const uint32_t *y, size_t n, const uint64_t *slots,
                 char *why, size_t why_bytes) {
  const size_t leaves = (n + HX__LEAF - 1) / HX__LEAF;
  uint64_t *const copy = case_allocate(leaves * sizeof *copy);
  for (size_t l = 0; l <= leaves; l++) { /* finally the result of all leaves */
    const size_t first = l < leaves ? l : 0, count = l < leaves ? 1 : leaves, at = first * HX__LEAF;
    const size_t part = l < leaves && n - at > HX__LEAF ? HX__LEAF : n - at;
    memcpy(copy, slots + first, count * sizeof *copy);
    const uint64_t got = bits_of(op, type, hx__join(op, type, copy, count));
    const uint64_t want = bits_of(op, type, ref_reduce(op, type, x + at, y + at, part));
    if (got == want) continue;
    snprintf(why, why_bytes, "leaf %zu of %zu: 0x%llx instead of 0x%llx", l, leaves, (unsigned long long)got,
             (unsigned long long)want);
    free(copy);
    return false;
  }
  free(copy);
  return true;
}

/* Whether the slots were written: the low words of those that groups exchange, of which some have no high word. */
static bool written_slots(const memory *memory, uint64_t at, size_t count, hx_op op, hx_type type, bool join) {
  const size_t whole = join && count > HX__JOINED_SLOTS ? HX__JOINED_SLOTS : count;
  const bool narrow = type == HX_F32 ? op != HX_ARGMIN && op != HX_ARGMAX : op == HX_MIN || op == HX_MAX;
  if (!memory_is_written(memory, at, 0, 2 * whole)) return false;
  for (size_t i = whole; i < count; i++)
    if (!memory_is_written(memory, at, 2 * i, narrow ? 1 : 2)) return false;
  return true;
}

/* The slot of all leaves, and the slots of the leaves that the host checks. */
static bool joined_right(hx_op op, hx_type type, const uint32_t *x, const uint32_t *y, size_t n, const uint64_t *slots,
                         char *why, size_t why_bytes) {
  const size_t leaves = (n + HX__LEAF - 1) / HX__LEAF, at[HX__CHECKED_SLOTS] = {0, leaves / 2, leaves - 1};
  for (size_t i = 0; i <= HX__CHECKED_SLOTS; i++) {
    const size_t first = i ? at[i - 1] * HX__LEAF : 0, count = i && n - first > HX__LEAF ? HX__LEAF : n - first;
    uint64_t slot = slots[i];
    const uint64_t got = bits_of(op, type, hx__join(op, type, &slot, 1));
    const uint64_t want = bits_of(op, type, ref_reduce(op, type, x + first, y + first, count));
    if (got == want) continue;
    snprintf(why, why_bytes, "joined slot %zu of %zu leaves: 0x%llx instead of 0x%llx", i, leaves,
             (unsigned long long)got, (unsigned long long)want);
    return false;
  }
  return true;
}

/* x_first, y_first: the index at which the arrays begin. The elements before it were never written. */
static bool one_case(const program *program, const hx__kernel_row *row, hx_op op, hx_type type, size_t n, bool special,
                     size_t x_first, size_t y_first, bool join, char *why, size_t why_bytes) {
  const size_t leaves = (n + HX__LEAF - 1) / HX__LEAF, of_group = hx__kernel_leaves(row, leaves);
  const size_t groups = (leaves + of_group - 1) / of_group;
  const size_t count = join ? HX__JOINED_SLOTS + groups : leaves;
  const size_t written = !join ? leaves : groups > 1 ? count : HX__JOINED_SLOTS;
  uint32_t ticket = 0;
  uint64_t told[2 * HX__JOINED_SLOTS] = {0}; /* each word of a slot beside the number of the launch */
  uint32_t *const x = case_allocate((x_first + n) * 4), *const y = case_allocate((y_first + n) * 4);
  uint64_t *const slots = case_allocate(count * sizeof *slots);
  for (size_t i = 0; i < n; i++) {
    x[x_first + i] = hx__case_element(op, type, i + 1, special);
    y[y_first + i] = hx__case_element(op, type, i + 3, special);
  }
  memory memory = {.count = 0};
  const uint64_t x_at = memory_add(&memory, "x", x, x_first + n, true, true);
  const uint64_t y_at = memory_add(&memory, "y", y, y_first + n, true, true);
  const uint64_t slots_at = memory_add(&memory, "the slots", slots, 2 * count, false, false);
  const uint64_t ticket_at = memory_add(&memory, "the ticket", &ticket, 1, true, false);
  const uint64_t told_at = memory_add(&memory, "the host's memory", told, 2 * sizeof told / sizeof *told, false, false);
  memory_forget(&memory, x_at, 0, x_first);
  memory_forget(&memory, y_at, 0, y_first);
  const bool dot = op == HX_DOT;
  const launch launch = {.kernel = "hx_reduce",
                         .groups = {(uint32_t)groups, 1},
                         .local = {row->local[0], 1},
                         .arguments = {x_at, x_first, dot ? y_at : x_at, dot ? y_first : x_first, n, slots_at, join,
                                       ticket_at, join ? told_at : 0},
                         .argument_count = row->joins ? 9 : 6};
  bool good = launch_run(program, &memory, &launch, (unsigned)n, why, why_bytes);
  if (good && (!written_slots(&memory, slots_at, written, op, type, join) || ticket != 0)) {
    snprintf(why, why_bytes, ticket ? "the ticket is not 0 again" : "a slot was not written");
    good = false;
  }
  for (size_t word = 0; word < 2 * HX__JOINED_SLOTS && good && join; word++)
    if (told[word] != (UINT64_C(1) << 32 | (uint32_t)(slots[word / 2] >> 32 * (word % 2)))) {
      snprintf(why, why_bytes, "the host is told %#" PRIx64 " as word %zu", told[word], word);
      good = false;
    }
  good = good && (join ? joined_right : slots_right)(op, type, x + x_first, y + y_first, n, slots, why, why_bytes);
  memory_free(&memory);
  free(x);
  free(y);
  free(slots);
  return good || case_fault(why, why_bytes, "%zu elements from %zu%s%s", n, x_first, special ? ", special" : "",
                            join ? ", joined" : "");
}

bool reduction_cases(const program *program, const hx__kernel_row *row, hx_op op, hx_type type, char *why,
                     size_t why_bytes) {
  for (size_t i = 0; i < HX__CASE_SIZES; i++)
    for (int special = 0; special <= (type == HX_F32); special++)
      for (int form = 0; form <= 2; form++) { /* the row may use vector loads if x is aligned */
        const bool aligned = form != 0, join = row->joins && form != 1;
        if (!one_case(program, row, op, type, hx__case_sizes[i], special, aligned ? 64 : 1, aligned ? 64 : 3, join, why,
                      why_bytes))
          return false;
      }
  return true;
}
