/* SPDX-License-Identifier: Apache-2.0
 * The cases of several fields: the slot of every leaf of every field. */
#include <stdio.h>
#include <stdlib.h>

#include "kernels/cases.h"
#include "tests/emulator/cases.h"

/* from: the index at which the arrays begin. The elements before it were never written. */
static bool one_case(const program *program, const hx__kernel_row *row, hx__kernel_fields fields, size_t n,
                     bool special, size_t from, char *why, size_t why_bytes) {
  const size_t leaves = (n + HX__LEAF - 1) / HX__LEAF;
  uint32_t *x[2 * HX__MOST_FIELDS];
  uint64_t *const slots = case_allocate(row->fields * leaves * sizeof *slots);
  memory memory = {.count = 0};
  launch launch = {.kernel = "hx_reduce_fields",
                   .groups = {(uint32_t)hx__kernel_groups(row, fields, leaves), 1},
                   .local = {row->local[0], 1}};
  for (unsigned i = 0; i < 2 * row->fields; i++) {
    const unsigned reduction = hx__field_reduction(fields, i / 2);
    const hx_op op = hx__reduction_op(reduction);
    const bool shared = i >= 2 && i % 2 == 0 && hx__field_of(fields, i / 2) & HX__SAME_ARRAY;
    const bool used = i % 2 == 0 || op == HX_DOT;
    uint64_t *const argument = launch.arguments + launch.argument_count;
    x[i] = shared ? x[i - 2] : used ? case_allocate((from + n) * 4) : NULL;
    for (size_t e = 0; e < n && used && !shared; e++)
      x[i][from + e] = hx__case_element(op, hx__reduction_type(reduction), e + i, special);
    argument[0] = shared  ? argument[-4]
                  : !used ? argument[-2]
                          : memory_add(&memory, "an array", x[i], from + n, true, true);
    argument[1] = from;
    if (used && !shared) memory_forget(&memory, argument[0], 0, from);
    launch.argument_count += 2;
  }
  const uint64_t slots_at = memory_add(&memory, "the slots", slots, 2 * row->fields * leaves, false, false);
  const uint64_t last[] = {n, slots_at, 0, leaves};
  for (unsigned i = 0; i < 4; i++) launch.arguments[launch.argument_count++] = last[i];
  bool good = launch_run(program, &memory, &launch, (unsigned)n, why, why_bytes);
  if (good && !memory_is_written(&memory, slots_at, 0, 2 * row->fields * leaves)) {
    snprintf(why, why_bytes, "a slot was not written");
    good = false;
  }
  for (unsigned f = 0; f < row->fields && good; f++) {
    const unsigned reduction = hx__field_reduction(fields, f);
    const uint32_t *const y = x[2 * f + 1] ? x[2 * f + 1] : x[2 * f];
    good = slots_right(hx__reduction_op(reduction), hx__reduction_type(reduction), x[2 * f] + from, y + from, n,
                       slots + f * leaves, why, why_bytes);
  }
  memory_free(&memory);
  for (unsigned i = 0; i < 2 * row->fields; i++)
    if (i < 2 || x[i] != x[i - 2]) free(x[i]);
  free(slots);
  return good || case_fault(why, why_bytes, "%zu elements from %zu%s", n, from, special ? ", special" : "");
}

bool fields_cases(const program *program, const hx__kernel_row *row, hx__kernel_fields fields, char *why,
                  size_t why_bytes) {
  for (size_t i = 0; i < HX__CASE_SIZES; i++)
    for (int special = 0; special <= 1; special++)
      for (int aligned = 0; aligned <= 1; aligned++)
        if (!one_case(program, row, fields, hx__case_sizes[i], special, aligned ? 64 : 1, why, why_bytes)) return false;
  return true;
}
