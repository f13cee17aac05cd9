/* SPDX-License-Identifier: Apache-2.0
 * Accesses to memory in flight, by the counters of s_waitcnt. */
#include <string.h>

#include "tests/emulator/operation.h"

void load_lane(wave *wave, unsigned number, unsigned part, unsigned lane, uint32_t value) {
  const unsigned at = wave->now->operands[number].first + part;
  wave->v[at][lane] = value;
  wave->v_defined[at] |= UINT64_C(1) << lane;
}

void load_scalar(wave *wave, unsigned number, unsigned part, uint32_t value, bool defined) {
  write_scalar(wave, number, part, value); /* nothing may be pending there */
  wave->s_defined[wave->now->operands[number].first + part] = defined;
}

void take_off(wave *wave, counter counter, int number, bool any_order, bool local) {
  const operand *const o = number == ANY ? NULL : &wave->now->operands[number];
  const flight one = {.vector = o && o->kind == OPERAND_VECTOR,
                      .first = o ? o->first : 0,
                      .count = o ? o->count : 0,
                      .any_order = any_order,
                      .local = local};
  if (wave->in_flight[counter] == FLIGHTS) fault(wave, "more than %d accesses in flight", FLIGHTS);
  wave->flights[counter][wave->in_flight[counter]++] = one;
  for (unsigned r = one.first; r < (unsigned)one.first + one.count; r++)
    (one.vector ? wave->v_pending : wave->s_pending)[r]++;
}

static void land(wave *wave, const flight *one) {
  for (unsigned r = one->first; r < (unsigned)one->first + one->count; r++)
    (one->vector ? wave->v_pending : wave->s_pending)[r]--;
}

/* Those in order end first to last; one in any order is only known to have ended when all have. The worst case for one
 * in order is that all the others ended before it. */
void wait_for(wave *wave, counter counter, unsigned left) {
  flight *const flights = wave->flights[counter];
  const unsigned count = wave->in_flight[counter];
  if (count <= left) return;
  unsigned others = 0, kept = 0;
  for (unsigned i = 0; i < count; i++) others += flights[i].any_order;
  unsigned ended = left == 0 ? count : count - left > others ? count - left - others : 0;
  for (unsigned i = 0; i < count; i++) {
    if (left == 0 || (!flights[i].any_order && ended > 0)) {
      land(wave, &flights[i]);
      ended--;
    } else {
      flights[kept++] = flights[i];
    }
  }
  wave->in_flight[counter] = kept;
}

bool local_in_flight(const wave *wave) {
  for (unsigned i = 0; i < wave->in_flight[COUNTER_LGKM]; i++)
    if (wave->flights[COUNTER_LGKM][i].local) return true;
  return false;
}
