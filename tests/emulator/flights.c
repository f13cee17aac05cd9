/* SPDX-License-Identifier: Apache-2.0
 * Memory accesses in flight, by the counters of s_waitcnt. */
#include <string.h>

#include "tests/emulator/operation.h"

void load_lane(wave *wave, unsigned number, unsigned part, unsigned lane, uint32_t value) {
  const unsigned at = wave->now->operands[number].first + part;
  wave->v[at][lane] = value;
  wave->v_defined[at] |= UINT64_C(1) << lane;
}

void load_scalar(wave *wave, unsigned number, unsigned part, uint32_t value, bool defined) {
  write_scalar(wave, number, part, value); /* faults if another load is pending there */
  wave->s_defined[wave->now->operands[number].first + part] = defined;
}

void begin_access(wave *wave, counter counter, int number, bool any_order, bool local) {
  const operand *const o = number == ANY ? NULL : &wave->now->operands[number];
  const pending_access one = {.vector = o && o->kind == OPERAND_VECTOR,
                              .first = o ? o->first : 0,
                              .count = o ? o->count : 0,
                              .any_order = any_order,
                              .local = local};
  if (wave->in_flight[counter] == MOST_IN_FLIGHT) fault(wave, "more than %d accesses in flight", MOST_IN_FLIGHT);
  wave->accesses[counter][wave->in_flight[counter]++] = one;
  for (unsigned r = one.first; r < (unsigned)one.first + one.count; r++)
    (one.vector ? wave->v_pending : wave->s_pending)[r]++;
}

static void end_access(wave *wave, const pending_access *one) {
  for (unsigned r = one->first; r < (unsigned)one->first + one->count; r++)
    (one->vector ? wave->v_pending : wave->s_pending)[r]--;
}

/* Ordered accesses end in the order in which they were issued. An unordered one has certainly ended only if all have.
 * In the worst case for the ordered ones, all unordered ones have ended before them. */
void wait_for_accesses(wave *wave, counter counter, unsigned left) {
  pending_access *const accesses = wave->accesses[counter];
  const unsigned count = wave->in_flight[counter];
  if (count <= left) return;
  unsigned others = 0, kept = 0;
  for (unsigned i = 0; i < count; i++) others += accesses[i].any_order;
  unsigned ended = left == 0 ? count : count - left > others ? count - left - others : 0;
  for (unsigned i = 0; i < count; i++) {
    if (left == 0 || (!accesses[i].any_order && ended > 0)) {
      end_access(wave, &accesses[i]);
      ended--;
    } else {
      accesses[kept++] = accesses[i];
    }
  }
  wave->in_flight[counter] = kept;
}

bool local_in_flight(const wave *wave) {
  for (unsigned i = 0; i < wave->in_flight[COUNTER_LGKM]; i++)
    if (wave->accesses[COUNTER_LGKM][i].local) return true;
  return false;
}
