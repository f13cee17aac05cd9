/* SPDX-License-Identifier: Apache-2.0
 * When a thread looks at an event, in virtual time: a look takes 0.3 to 1.5 us, and a sleep ends up to 20 us late. The
 * end of a command that was well predicted is noticed within 5 us, of others soon after, and the thread takes no more
 * of a core than a tenth of the time it waits, or 50 us. */
#include "runtime/backend/opencl/poll.h"
#include "tests/check.h"

enum { LATE_NS = 20000, WAKE_NS = 3000, SLACK_NS = 5000 };

typedef struct outcome {
  uint64_t noticed_ns, spun_ns, core_ns, longest_sleep_ns;
} outcome;

/* A wait that begins at `from` for an event that completes at from + length. */
static outcome wait_for(uint64_t from, uint64_t length, uint64_t expected, bool may_spin, uint64_t look_ns,
                        double late) {
  outcome o = {0};
  uint64_t now = from;
  for (hx__cl_poll p = hx__cl_poll_begin(now, expected, may_spin);;) {
    now += look_ns;
    o.core_ns += look_ns;
    if (now - look_ns / 2 >= from + length) break;
    const uint64_t sleep = hx__cl_poll_next(&p, now);
    if (!sleep) o.spun_ns += look_ns;
    if (!sleep) continue;
    now += sleep + (uint64_t)(late * LATE_NS);
    o.core_ns += WAKE_NS;
    if (sleep > o.longest_sleep_ns) o.longest_sleep_ns = sleep;
  }
  o.noticed_ns = now - from - length;
  return o;
}

static const uint64_t kLengths[] = {1000,   5000,    20000,   45000,    60000,    90000,     150000,    300000,
                                    600000, 1000000, 3000000, 10000000, 30000000, 100000000, 1000000000};
static const uint64_t kLooks[] = {300, 800, 1500};
static const double kLate[] = {0, 0.3, 1};
#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* The prediction is off by `error`, a part of the length; or there is none. */
static void check(uint64_t length, double error, bool predicted, bool may_spin, uint64_t look_ns, double late) {
  const uint64_t from = 1234567890, expected = predicted ? from + (uint64_t)((double)length * (1 + error)) : 0;
  const outcome o = wait_for(from, length, expected, may_spin, look_ns, late);
  char what[160];
  snprintf(what, sizeof what, "%llu ns, predicted %s %+.0f %%, look %llu ns, late %.1f", (unsigned long long)length,
           predicted ? "with" : "not:", error * 100, (unsigned long long)look_ns, late);
  const uint64_t most = length / 10 > 50000 ? length / 10 : 50000;
  CHECK(o.spun_ns <= (may_spin ? most + look_ns : 0), "%s: spun for %llu ns", what, (unsigned long long)o.spun_ns);
  CHECK(length < 10000000 || o.core_ns <= length / 10, "%s: %llu ns of a core", what, (unsigned long long)o.core_ns);
  CHECK(o.longest_sleep_ns <= 250000, "%s: a sleep of %llu ns", what, (unsigned long long)o.longest_sleep_ns);
  const bool well_predicted = predicted && error >= -0.01 && error <= 0.02;
  if (may_spin && (well_predicted || (length <= 45000 && (!predicted || error < 0.5))))
    CHECK(o.noticed_ns <= SLACK_NS, "%s: noticed after %llu ns", what, (unsigned long long)o.noticed_ns);
  CHECK(o.noticed_ns <= 250000 + LATE_NS + 2 * look_ns, "%s: noticed after %llu ns", what,
        (unsigned long long)o.noticed_ns);
}

int main(void) {
  static const double kErrors[] = {-0.5, -0.1, -0.01, 0, 0.005, 0.02, 0.1, 1, 9};
  for (size_t l = 0; l < COUNT(kLengths); l++)
    for (size_t k = 0; k < COUNT(kLooks); k++)
      for (size_t s = 0; s < COUNT(kLate); s++) {
        check(kLengths[l], 0, false, true, kLooks[k], kLate[s]);
        check(kLengths[l], 0, false, false, kLooks[k], kLate[s]);
        for (size_t e = 0; e < COUNT(kErrors); e++) {
          check(kLengths[l], kErrors[e], true, true, kLooks[k], kLate[s]);
          check(kLengths[l], kErrors[e], true, false, kLooks[k], kLate[s]);
        }
      }
  return checks_end("poll_test");
}
