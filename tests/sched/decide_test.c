/* SPDX-License-Identifier: Apache-2.0
 * Single decisions (sched/decide.h): which candidates are explored, which are not, and how long a decision takes. */
#include <stdio.h>

#include "runtime/base/clock.h"
#include "runtime/sched/decide.h"
#include "tests/check.h"

/* A CPU of 1 unit per nanosecond and a device of half that rate, both measured often. */
static hx__cost_inputs known_inputs(void) {
  hx__cost_inputs p = {.units = 6e6, .devices = 1};
  p.cpu_alone = p.cpu_beside = (hx__estimate){.ns_per_unit = 1.0, .sigma = 0.05, .samples = 40, .call_number = 100};
  p.device[0].alone = p.device[0].beside =
      (hx__estimate){.ns_per_unit = 2.0, .latency_ns = 4e4, .sigma = 0.05, .samples = 40};
  return p;
}

#define BOTH 0.67 /* nanoseconds that both together take for a unit by their rates */

/* The decision after `samples` calls of both together, which took `factor` times as long as their rates promise. */
static hx__decision decision_after(double factor, uint32_t samples) {
  hx__cost_inputs p = known_inputs();
  hx__decision d;
  p.call[1] = (hx__estimate){.ns_per_unit = factor * BOTH, .sigma = 0.2, .samples = samples, .call_number = 97};
  p.call[2] = (hx__estimate){.ns_per_unit = 2.0, .sigma = 0.1, .samples = 9, .call_number = 60};
  hx__decide(&p, &d);
  return d;
}

static void one_bad_call_is_no_proof(void) {
  hx__decision d = decision_after(1.7, 1);
  CHECK(d.choice == 1, "one bad call: choice %u", d.choice);
  d = decision_after(1.7, 2);
  CHECK(d.choice == 0, "two bad calls: choice %u", d.choice);
  d = decision_after(1.0, 9);
  CHECK(d.best == 1 && d.choice == 1 && d.reason == HX__REASON_BEST, "the better choice: choice %u", d.choice);
}

/* Devices alone are tried in two consecutive calls, unless they are ten times too slow. */
static void device_calls_in_pairs(void) {
  hx__cost_inputs p = known_inputs();
  hx__decision d;
  p.call[1] = (hx__estimate){.ns_per_unit = 0.8, .sigma = 0.05, .samples = 9, .call_number = 99};
  p.call[2] = (hx__estimate){.ns_per_unit = 2.4, .sigma = 0.05, .samples = 9, .call_number = 99};
  p.first_of_pair = 2;
  hx__decide(&p, &d);
  CHECK(d.choice == 2, "the second of two consecutive calls: choice %u", d.choice);
  p.first_of_pair = 0;
  hx__decide(&p, &d);
  CHECK(d.choice != 2, "after another choice: choice %u", d.choice);
  p.first_of_pair = 2;
  p.device[0].alone.ns_per_unit = 20.0;
  hx__decide(&p, &d);
  CHECK(d.choice != 2, "a device that is far too slow: choice %u", d.choice);
}

/* A device that is a thousand times as slow as the CPU, and seemed faster beside it than alone. */
static void idle_company(void) {
  hx__cost_inputs p = known_inputs();
  hx__decision d;
  p.device[0].alone.ns_per_unit = p.device[0].beside.ns_per_unit = 1000.0;
  p.cpu_beside.ns_per_unit = 0.92;
  hx__decide(&p, &d);
  CHECK(d.best == 0, "a device that can do nothing: best %u", d.best);
  p.call[1] = (hx__estimate){.ns_per_unit = 0.9, .sigma = 0.05, .samples = 9, .call_number = 99};
  hx__decide(&p, &d);
  CHECK(d.best == 0 && d.choice != 1, "although such calls were faster: best %u, choice %u", d.best, d.choice);
  p = known_inputs();
  p.fetch_ns = 9e6;
  hx__decide(&p, &d);
  CHECK(!d.candidate[1].idle, "a device counts as idle because of fetching, for which the CPU alone waits as well");
  p = known_inputs();
  p.device[0].alone = p.device[0].beside = (hx__estimate){.sigma = 0.7};
  hx__decide(&p, &d);
  CHECK(d.choice == 1 && d.reason == HX__REASON_TRY, "an unknown device: choice %u", d.choice);
}

/* Work that the CPU and a device should not share: both together are neither chosen nor explored. */
static void work_that_is_not_split(void) {
  hx__cost_inputs p = known_inputs();
  hx__decision d;
  p.no_split = true;
  p.device[0].alone.ns_per_unit = p.device[0].beside.ns_per_unit = 1.5;
  hx__decide(&p, &d);
  CHECK(d.best == 0 && d.choice != 1, "both would be faster by their parts: best %u, choice %u", d.best, d.choice);
  p.device[0].alone.ns_per_unit = 0.5;
  p.call[2] = (hx__estimate){.ns_per_unit = 0.5, .sigma = 0.05, .samples = 9, .call_number = 99};
  hx__decide(&p, &d);
  CHECK(d.best == 2 && d.choice == 2, "the device is faster: best %u, choice %u", d.best, d.choice);
}

/* Other programs took the CPU's core in its first calls, so the CPU seems many times as slow as the device. It is tried
 * again after two other calls; if it seems only a few times as slow, a third time after eight calls and a fourth time
 * after 32. The last row: 80 ms cannot be a taken core. */
static void preempted_core(void) {
  static const struct {
    double units, slow;
    uint32_t samples;
    uint64_t call_number; /* this is call 41 */
    bool tried;
  } rows[] = {{2.5e5, 32.0, 1, 38, true}, {2.5e5, 32.0, 1, 39, false}, {2.5e5, 32.0, 2, 1, false},
              {2.5e5, 2.5, 2, 32, true},  {2.5e5, 2.5, 2, 33, false},  {2.5e5, 2.5, 3, 8, true},
              {2.5e5, 2.5, 3, 9, false},  {2.5e5, 2.5, 4, 1, false},   {2.5e6, 32.0, 1, 1, false}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    hx__cost_inputs p = {.units = rows[i].units, .devices = 1};
    p.cpu_alone = p.cpu_beside = (hx__estimate){
        .ns_per_unit = rows[i].slow, .sigma = 0.1, .samples = rows[i].samples, .call_number = rows[i].call_number};
    p.device[0].alone = p.device[0].beside = (hx__estimate){.ns_per_unit = 1.0, .sigma = 0.1, .samples = 40};
    p.call[1] = p.call[2] = (hx__estimate){.ns_per_unit = 1.0, .sigma = 0.1, .samples = 9, .call_number = 40};
    p.call[1].ns_per_unit = rows[i].slow / (1.0 + rows[i].slow);
    hx__decision d;
    hx__decide(&p, &d);
    CHECK(d.best != 0 && (d.choice == 0) == rows[i].tried, "taken core, row %zu: choice %u, best %u", i, d.choice,
          d.best);
  }
}

/* Participants that share cores never reach the sum of their rates. Then the measured times of such calls count, unless
 * a device has become far slower since. */
static void measured_calls_count(void) {
  static const struct {
    double promised, took; /* as a fraction of the CPU's time */
    bool taken;
  } rows[] = {{0.5, 1.3, false}, {0.5, 0.8, true}, {1.3, 0.9, true}, {4.4, 0.9, false}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    hx__cost_inputs p = known_inputs();
    hx__decision d;
    p.cpu_beside.ns_per_unit = p.device[0].beside.ns_per_unit = 2.0 * rows[i].promised;
    p.call[2] = (hx__estimate){.ns_per_unit = 2.0, .sigma = 0.1, .samples = 9, .call_number = 99};
    p.call[1] = (hx__estimate){.ns_per_unit = rows[i].took, .sigma = 0.1, .samples = 9, .call_number = 99};
    hx__decide(&p, &d);
    CHECK(d.best == rows[i].taken, "%g promised, %g measured: best %u", rows[i].promised, rows[i].took, d.best);
  }
}

/* A device that was only measured beside the CPU is 1.9 times as slow as both together. It is tried alone if the CPU is
 * that much slower in company. */
static void alone_unknown(void) {
  for (int costs = 0; costs <= 1; costs++) {
    hx__cost_inputs p = known_inputs();
    hx__decision d;
    p.call[1] = (hx__estimate){.ns_per_unit = 0.5, .sigma = 0.05, .samples = 9, .call_number = 9};
    p.cpu_alone.call_number = 8;
    p.device[0].alone.ns_per_unit = p.device[0].beside.ns_per_unit = 0.95;
    p.device[0].alone.borrowed = true;
    if (costs) p.cpu_beside.ns_per_unit = 2.0;
    hx__decide(&p, &d);
    CHECK(d.best == 1 && (d.choice == 2) == costs, "company costs %d: choice %u, best %u", costs, d.choice, d.best);
  }
}

/* A time that the CPU took for another class of sizes may not apply to this one, so the CPU is measured in this class
 * before another choice replaces it. */
static void of_another_class(void) {
  for (int other = 0; other <= 1; other++) {
    hx__cost_inputs p = known_inputs();
    hx__decision d;
    p.call[1] = (hx__estimate){.ns_per_unit = 0.5, .sigma = 0.05, .samples = 9, .call_number = 9};
    p.call[2] = (hx__estimate){.ns_per_unit = 2.0, .sigma = 0.05, .samples = 9, .call_number = 8};
    p.cpu_alone.call_number = other ? 900 : 7;
    p.cpu_alone.borrowed = other;
    hx__decide(&p, &d);
    CHECK(d.best == 1 && (d.choice == 0) == other && d.call_number == 10,
          "another class %d: choice %u, best %u, call number %llu", other, d.choice, d.best,
          (unsigned long long)d.call_number);
  }
}

/* A choice that may be better is checked less often the more often it was not. */
static void checked_less_often(void) {
  static const struct {
    uint32_t samples;
    uint64_t calls;
    bool checked;
  } rows[] = {{2, 9, true}, {2, 8, false}, {3, 33, true}, {3, 32, false}, {40, 65, true}, {40, 64, false}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    hx__cost_inputs p = known_inputs();
    hx__decision d;
    p.cpu_alone.call_number = 100;
    p.call[1] = (hx__estimate){
        .ns_per_unit = 1.53 * BOTH, .sigma = 0.4, .samples = rows[i].samples, .call_number = 101 - rows[i].calls};
    p.call[2] = (hx__estimate){.ns_per_unit = 2.0, .sigma = 0.01, .samples = 9, .call_number = 100};
    hx__decide(&p, &d);
    CHECK(d.best == 0 && (d.choice == 1) == rows[i].checked, "%u samples, %llu calls later: choice %u, best %u",
          rows[i].samples, (unsigned long long)rows[i].calls, d.choice, d.best);
  }
}

/* A choice that was the best one three calls ago is checked soon; one that was the best long ago is not. */
static void former_best_is_checked(void) {
  static const struct {
    uint64_t best_call_number;
    bool checked;
  } rows[] = {{197, true}, {100, false}, {0, false}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    hx__cost_inputs p = known_inputs();
    hx__decision d;
    p.call[1] = (hx__estimate){.ns_per_unit = 0.8, .sigma = 0.05, .samples = 9, .call_number = 202};
    p.call[2] = (hx__estimate){.ns_per_unit = 2.0, .sigma = 0.05, .samples = 9, .call_number = 199};
    p.cpu_alone.call_number = 198;
    p.cpu_alone.best_call_number = rows[i].best_call_number;
    hx__decide(&p, &d);
    CHECK(d.best == 1 && (d.choice == 0) == rows[i].checked, "best at %llu: choice %u, best %u",
          (unsigned long long)rows[i].best_call_number, d.choice, d.best);
  }
}

/* Devices alone have to be faster by more than the uncertainty of their rates. */
static void devices_alone_need_a_margin(void) {
  static const struct {
    double took;
    unsigned best;
  } rows[] = {{0.78, 1}, {0.70, 2}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    hx__cost_inputs p = known_inputs();
    hx__decision d;
    p.call[1] = (hx__estimate){.ns_per_unit = 0.8, .sigma = 0.05, .samples = 9, .call_number = 99};
    p.call[2] = (hx__estimate){.ns_per_unit = rows[i].took, .sigma = 0.1, .samples = 9, .call_number = 99};
    hx__decide(&p, &d);
    CHECK(d.best == rows[i].best, "%g beside 0.8: best %u", rows[i].took, d.best);
  }
}

/* A device behind a staging ring that was not measured beside the CPU and seems to gain little gets a trial. To be the
 * best choice without measurements, it has to promise more than other devices. */
static void behind_a_ring(void) {
  static const struct {
    bool by_ring, borrowed;
    uint32_t samples;
    double ns_per_unit; /* of the device; the CPU's is 1 */
    bool trial;
  } rows[] = {{true, false, 0, 10.0, true}, {true, true, 9, 10.0, true},    {true, false, 9, 10.0, false},
              {true, false, 0, 1.0, false}, {false, false, 0, 10.0, false}, {false, true, 9, 10.0, false}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    hx__cost_inputs p = known_inputs();
    p.device[0].by_ring = rows[i].by_ring;
    p.device[0].beside.borrowed = rows[i].borrowed;
    p.device[0].beside.samples = rows[i].samples;
    p.device[0].beside.ns_per_unit = rows[i].ns_per_unit;
    const double part = hx__first_trial_fraction(&p, 0);
    CHECK(rows[i].trial ? part > 0.0 && part < 0.01 : part == 1.0, "row %zu: %g of the units", i, part);
  }
  for (int ring = 0; ring <= 1; ring++) {
    hx__cost_inputs p = known_inputs();
    hx__decision d;
    p.units = 1e8; /* so many that latencies do not matter */
    p.device[0].by_ring = ring;
    p.device[0].beside.ns_per_unit = 27.0; /* both together gain 3.6 % */
    p.device[0].alone.ns_per_unit = 40.0;
    hx__decide(&p, &d);
    CHECK(d.best == !ring, "3.6 %% unseen, ring %d: best %u", ring, d.best);
  }
}

/* The CPU took 1.3 times as long beside the device. Both together are not explored if a trial has measured the device,
 * but are if its rate is borrowed from another company. */
static void after_a_trial(void) {
  for (int borrowed = 0; borrowed <= 1; borrowed++) {
    hx__cost_inputs p = known_inputs();
    hx__decision d;
    p.units = 1e8;
    p.cpu_alone.call_number = 9;
    p.cpu_beside.ns_per_unit = 1.3;
    p.device[0].by_ring = true;
    p.device[0].beside.ns_per_unit = 6.0;
    p.device[0].alone.ns_per_unit = 40.0;
    p.device[0].beside.borrowed = borrowed;
    hx__decide(&p, &d);
    CHECK(d.best == 0 && (d.choice == 1) == borrowed, "borrowed %d: choice %u", borrowed, d.choice);
  }
}

/* A device that was never measured and can gain little is not tried before the CPU alone is measured; nor afterwards,
 * if the CPU loses too much by filling its ring. */
static void before_a_trial(void) {
  for (int row = 0; row < 4; row++) {
    const bool ring = row & 1, cpu_known = row & 2;
    hx__cost_inputs p = known_inputs();
    hx__decision d;
    p.units = 1e8;
    p.cpu_alone = p.cpu_beside =
        (hx__estimate){.ns_per_unit = 1.0, .sigma = 0.5, .samples = cpu_known ? 9 : 0, .call_number = 1};
    p.cpu_beside.ns_per_unit = ring ? 16.0 / 15.0 : 1.0;
    p.device[0].by_ring = ring;
    p.device[0].beside = p.device[0].alone = (hx__estimate){.ns_per_unit = cpu_known ? 22.0 : 5.0, .sigma = 0.7};
    hx__decide(&p, &d);
    CHECK((d.choice == 0) == ring, "ring %d, CPU %d: choice %u", ring, cpu_known, d.choice);
  }
}

/* A product over a link. If the CPU is expected to contribute little, the device alone is tried first, and both
 * together are not explored; if it may contribute much, both are tried. */
static void over_a_link(void) {
  static const struct {
    bool by_link, seen; /* seen: the device alone */
    double ns_per_unit; /* of the device; the CPU's is 1 */
    unsigned choice;
  } rows[] = {{true, false, 0.05, 2},  {true, false, 0.2, 2}, {true, false, 0.5, 1}, {true, true, 0.05, 2},
              {false, false, 0.05, 1}, {true, true, 0.2, 1},  {false, true, 0.05, 1}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    hx__cost_inputs p = {.units = 1e8, .devices = 1};
    hx__decision d;
    p.cpu_alone = p.cpu_beside = (hx__estimate){.ns_per_unit = 1.0, .sigma = 0.5};
    p.device[0].alone = p.device[0].beside = (hx__estimate){.ns_per_unit = rows[i].ns_per_unit, .sigma = 0.7};
    p.device[0].by_link = rows[i].by_link;
    if (rows[i].seen) {
      p.device[0].alone.samples = p.device[0].beside.samples = 9;
      p.device[0].alone.sigma = p.device[0].beside.sigma = 0.05;
      p.device[0].beside.borrowed = true;
      p.call[2] = p.device[0].alone;
      p.call[2].call_number = 9;
    }
    hx__decide(&p, &d);
    CHECK(d.choice == rows[i].choice, "over a link, row %zu: choice %u", i, d.choice);
  }
}

/* How long a decision takes. */
static void time_of_one(void) {
  hx__cost_inputs p = {.units = 1e6, .devices = 1};
  p.cpu_alone = p.cpu_beside = (hx__estimate){
      .ns_per_unit = 1.0, .latency_ns = 4e3, .sigma = 0.1, .samples = 9, .date = 1, .call_number = 1, .watts = 40.0};
  p.device[0].alone = p.device[0].beside = (hx__estimate){.ns_per_unit = 1.5,
                                                          .latency_ns = 4e4,
                                                          .idle_ns = 1e4,
                                                          .sigma = 0.1,
                                                          .samples = 9,
                                                          .call_number = 1,
                                                          .gap_ns = 4e3};
  for (int i = 0; i < 3; i++)
    p.call[i] = (hx__estimate){.ns_per_unit = 1.0, .sigma = 0.1, .samples = 9, .call_number = 1, .watts = 30.0};
  hx__decision d;
  enum { TIMES = 20000 };
  const uint64_t from = hx__now_ns();
  for (int i = 0; i < TIMES; i++) {
    p.units = 1e6 + i;
    hx__decide(&p, &d);
  }
  const double ns = (double)(hx__now_ns() - from) / TIMES;
  printf("  a decision: %.0f ns\n", ns);
  CHECK(ns < 20e3, "a decision takes %.0f ns", ns); /* the limit also holds with a sanitizer or valgrind */
}

int main(void) {
  one_bad_call_is_no_proof();
  device_calls_in_pairs();
  idle_company();
  work_that_is_not_split();
  preempted_core();
  measured_calls_count();
  alone_unknown();
  of_another_class();
  checked_less_often();
  former_best_is_checked();
  devices_alone_need_a_margin();
  behind_a_ring();
  after_a_trial();
  before_a_trial();
  over_a_link();
  time_of_one();
  return checks_end("decide_test");
}
