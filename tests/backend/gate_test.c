/* SPDX-License-Identifier: Apache-2.0
 * The numbers by which driver calls are told from one another. A call that was found to hang is not waited for again,
 * also after its thread has ended and another one has opened the same gate or one beside it: no call of that one may
 * have the number of the call that hung. */
#include "runtime/backend/gate.h"
#include "tests/check.h"

enum { RUNS = 4, CALLS = 3 };

static void note_calls(void *numbers) {
  for (int i = 0; i < CALLS; i++) {
    CHECK(hx__gate_enter("a call"), "the gate is closed");
    ((uint64_t *)numbers)[i] = hx__gate_inside(hx__gate_of_this_thread(), NULL);
    hx__gate_leave(NULL, NULL);
    CHECK(!hx__gate_inside(hx__gate_of_this_thread(), NULL), "still in the call");
  }
}

int main(void) {
  static hx__gate gates[2];
  uint64_t number[RUNS * CALLS];
  for (int run = 0; run < RUNS; run++)
    CHECK(hx__gate_run(&gates[run % 2], NULL, note_calls, &number[run * CALLS]), "given up");
  for (int i = 0; i < RUNS * CALLS; i++) {
    CHECK(number[i] % 2 == 1 && number[i] != HX__GATE_GIVEN_UP, "call %d has no number", i);
    for (int j = 0; j < i; j++)
      CHECK(number[i] != number[j], "calls %d and %d have the number %llu", j, i, (unsigned long long)number[i]);
  }
  return checks_end("gate_test");
}
