/* SPDX-License-Identifier: Apache-2.0
 * The end of a chunk that the host sees in memory, on a device whose memory is the host's: results have the CPU's bits,
 * whether their completion arrives in time, is late, or arrives after a timeout. A device whose completion never
 * arrives is lost, and the CPU's result counts.
 *     completion_test [DEVICE [SEED]]      default: pocl */
#include <stdint.h>

#include "reference/data.h"
#include "runtime/backend/opencl/stream.h"
#include "runtime/base/clock.h"
#include "tests/check.h"

enum { LEAF = 4096, N = 9 * LEAF + 5, SIDE = 48, ROUNDS = 400 };

static hx_context *hx, *cpu;
typedef enum { IN_TIME, LATE, TIMED_OUT, NO_EVENT, NEVER } arrival;
static _Atomic arrival mode; /* what the wait for a completion finds; self-tests and abandoned chunks wait, too */
static _Atomic unsigned launched, arrived;

bool __wrap_hx__cl_has_host_addresses(const hx__cl_device *d);
bool __wrap_hx__cl_has_host_addresses(const hx__cl_device *d) { return d->base.uses_cpu_cores; }

/* Results that stay on the device are otherwise compared, and so read. */
bool __wrap_hx__spot_check_is_possible(const hx__request *request, const hx__device *device);
bool __wrap_hx__spot_check_is_possible(const hx__request *request, const hx__device *device) {
  (void)request;
  (void)device;
  return false;
}

hx__outcome __real_hx__cl_completion_begin(hx__cl_stream *stream, hx__cl_inflight *f);
hx__outcome __wrap_hx__cl_completion_begin(hx__cl_stream *stream, hx__cl_inflight *f);
hx__outcome __wrap_hx__cl_completion_begin(hx__cl_stream *stream, hx__cl_inflight *f) {
  launched++;
  return __real_hx__cl_completion_begin(stream, f);
}

bool __real_hx__cl_completion_arrived(hx__cl_stream *stream);
bool __wrap_hx__cl_completion_arrived(hx__cl_stream *stream);
bool __wrap_hx__cl_completion_arrived(hx__cl_stream *stream) {
  return mode != NEVER && __real_hx__cl_completion_arrived(stream);
}

bool __real_hx__cl_completion_await(hx__cl_stream *stream, uint64_t expected_ns, const _Atomic uint64_t *deadline_ns);
bool __wrap_hx__cl_completion_await(hx__cl_stream *stream, uint64_t expected_ns, const _Atomic uint64_t *deadline_ns);
bool __wrap_hx__cl_completion_await(hx__cl_stream *stream, uint64_t expected_ns, const _Atomic uint64_t *deadline_ns) {
  const bool seen = mode == IN_TIME && __real_hx__cl_completion_await(stream, expected_ns, deadline_ns);
  arrived += seen;
  return seen;
}

cl_int __real_hx__cl_wait_until(const hx__cl_stream *stream, cl_event event, uint64_t expected_ns,
                                const _Atomic uint64_t *deadline_ns);
cl_int __wrap_hx__cl_wait_until(const hx__cl_stream *stream, cl_event event, uint64_t expected_ns,
                                const _Atomic uint64_t *deadline_ns);
cl_int __wrap_hx__cl_wait_until(const hx__cl_stream *stream, cl_event event, uint64_t expected_ns,
                                const _Atomic uint64_t *deadline_ns) {
  return mode == TIMED_OUT ? CL_SUBMITTED : __real_hx__cl_wait_until(stream, event, expected_ns, deadline_ns);
}

/* In mode NO_EVENT there is no memory for the event of a chunk that is late, and the wait for its end times out. */
hx__outcome __real_hx__cl_mark_end(hx__cl_stream *stream, cl_event *end);
hx__outcome __wrap_hx__cl_mark_end(hx__cl_stream *stream, cl_event *end);
hx__outcome __wrap_hx__cl_mark_end(hx__cl_stream *stream, cl_event *end) {
  if (mode == NO_EVENT) *end = NULL;
  return mode == NO_EVENT ? HX__NO_MEMORY : __real_hx__cl_mark_end(stream, end);
}

hx__outcome __real_hx__cl_quiesce(hx__cl_stream *stream, hx__outcome outcome);
hx__outcome __wrap_hx__cl_quiesce(hx__cl_stream *stream, hx__outcome outcome);
hx__outcome __wrap_hx__cl_quiesce(hx__cl_stream *stream, hx__outcome outcome) {
  if (mode != NO_EVENT || outcome != HX__NO_MEMORY) return __real_hx__cl_quiesce(stream, outcome);
  CHECK(__real_hx__cl_mark_end(stream, &stream->leftover) == HX__DONE, "no marker");
  stream->base.timed_out = true;
  return HX__TIMED_OUT;
}

static hx_context *open_context(const char *device) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = device;
  s.memory = "copy";
  s.threads = "2";
  s.timeout_ms = "5000";
  hx_context *const opened = open_or_exit(&s);
  CHECK_OK(hx_ready(opened));
  return opened;
}

/* The calls before may have asked for programs whose self-tests should not see the new mode. */
static void set_mode(arrival next) {
  CHECK_OK(hx_ready(hx));
  mode = next;
}

static uint64_t state;
static size_t below(size_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (size_t)(state >> 33) % n;
}

/* Reductions of one or three fields, of one array or another. */
static void check_sums(const float *x, const float *y) {
  static const size_t sizes[] = {1, 2, LEAF - 1, LEAF, LEAF + 1, 2 * LEAF, 8 * LEAF + 1, N};
  static const hx_op ops[] = {HX_SUM, HX_MIN, HX_ARGMAX, HX_DOT, HX_PROD};
  const size_t n = sizes[below(sizeof sizes / sizeof sizes[0])], fields = below(3) ? 1 : 3;
  const size_t first = below(sizeof ops / sizeof ops[0]), type = below(3);
  hx_field field[3];
  hx_value got[3] = {{.u64 = 1}}, want[3] = {{.u64 = 2}};
  for (size_t f = 0; f < fields; f++)
    field[f] = (hx_field){.op = fields > 1 ? ops[f] : ops[first],
                          .type = fields > 1 ? HX_F32 : (hx_type)(HX_F32 + type),
                          .x = below(2) ? x : y};
  for (size_t f = 0; f < fields; f++)
    if (field[f].op == HX_DOT) field[f].y = y;
  hx_task t = hx_reduce_soa(field, fields, n, got);
  t.gpu_share = 1.0f;
  hx_report report;
  CHECK_OK(hx_offload(hx, &t, &report));
  t = hx_reduce_soa(field, fields, n, want);
  CHECK_OK(hx_offload(cpu, &t, NULL));
  for (size_t f = 0; f < fields; f++)
    CHECK(got[f].u64 == want[f].u64, "op %d of type %d of %zu elements: %llx, the CPU has %llx", (int)field[f].op,
          (int)field[f].type, n, (unsigned long long)got[f].u64, (unsigned long long)want[f].u64);
}

/* A product whose C stays on the device or, if it is in ordinary memory, comes to the host: by a completion, if it is
 * small. */
static void check_product(const float *x, const float *y, float *resident) {
  static float host[SIDE * SIDE], want[SIDE * SIDE];
  const size_t m = 1 + below(SIDE), n = 1 + below(SIDE), k = 1 + below(4 * SIDE);
  float *const c = below(2) ? resident : host;
  hx_task t = hx_matmul(m, n, k, x, y, c);
  t.gpu_share = 1.0f;
  CHECK_OK(hx_offload(hx, &t, NULL));
  if (c == resident) CHECK_OK(hx_sync(hx, c, SIDE * SIDE * sizeof *c));
  t = hx_matmul(m, n, k, x, y, want);
  CHECK_OK(hx_offload(cpu, &t, NULL));
  CHECK(memcmp(c, want, m * n * sizeof *c) == 0, "%zu x %zu x %zu, %s: other bits", m, n, k,
        c == resident ? "resident" : "on the host");
}

static void check_rounds(const float *x, const float *y, float *c, int rounds) {
  for (int i = 0; i < rounds; i++) {
    check_sums(x, y);
    check_product(x, y, c);
  }
}

/* Chunks whose completions have not arrived by their deadlines: the CPU computes them again, and the device is used
 * once their events have completed. */
static void check_timeouts(const float *x, const float *y, float *c) {
  unsigned recovered = 0;
  for (int i = 0; i < ROUNDS / 4; i++) {
    hx_value got, want;
    hx_report report;
    set_mode(i % 2 ? IN_TIME : TIMED_OUT);
    hx_task t = hx_reduce(HX_SUM, HX_F32, x, N, &got);
    t.gpu_share = 1.0f;
    CHECK_OK(hx_offload(hx, &t, &report));
    t = hx_reduce(HX_SUM, HX_F32, x, N, &want);
    CHECK_OK(hx_offload(cpu, &t, NULL));
    CHECK(got.u64 == want.u64, "sum %d: other bits", i);
    CHECK(mode == IN_TIME || report.recovered > 0, "sum %d: nothing was recovered", i);
    recovered += report.recovered;
    check_product(x, y, c);
  }
  set_mode(IN_TIME);
  printf("  %u chunks timed out\n", recovered);
}

/* Until the device computes again: a chunk that timed out may still run. */
static void wait_for_device(const float *x) {
  hx_report report = {.gpu_share = 0};
  hx_value sum;
  hx_task t = hx_reduce(HX_SUM, HX_F32, x, N, &sum);
  t.gpu_share = 1.0f;
  for (int i = 0; i < 400 && report.gpu_share < 1; i++) {
    if (i) hx__sleep_ns(10000000u);
    CHECK_OK(hx_offload(hx, &t, &report));
  }
  CHECK(report.gpu_share == 1, "the device is not back");
}

/* A result on the device that is read after a chunk without an event has ended: whichever of the stream's places for
 * chunks in flight that chunk had, nothing of it is left there. */
static void check_reads(const float *x, const float *y, float *c) {
  for (unsigned turn = 0; turn < HX__MAX_INFLIGHT; turn++) { /* one chunk more in each than there are places */
    float want[4 * 4];
    hx_value sum;
    hx_report report;
    wait_for_device(x);
    hx_task product = hx_matmul(4, 4, 4, x, y, want), t = hx_reduce(HX_SUM, HX_F32, x, N, &sum);
    CHECK_OK(hx_offload(cpu, &product, NULL));
    product.matmul.c = c;
    product.gpu_share = t.gpu_share = 1.0f;
    CHECK_OK(hx_offload(hx, &product, NULL));
    for (unsigned i = 2; i < HX__MAX_INFLIGHT; i++) CHECK_OK(hx_offload(hx, &t, NULL));
    set_mode(NO_EVENT);
    CHECK_OK(hx_offload(hx, &t, &report));
    CHECK(report.recovered > 0, "turn %u: nothing was recovered", turn);
    set_mode(IN_TIME);
    hx_status status = HX_DEVICE_FAILED; /* until the chunk has ended */
    for (int i = 0; i < 200 && status == HX_DEVICE_FAILED; i++) {
      status = hx_sync(hx, c, sizeof want);
      if (status == HX_DEVICE_FAILED) hx__sleep_ns(20000000u);
    }
    CHECK_OK(status);
    CHECK(memcmp(c, want, sizeof want) == 0, "turn %u: other bits", turn);
  }
}

/* A sum whose completion never arrives, although its event does. */
static void check_loss(const float *x) {
  hx_value got, want;
  hx_report report;
  wait_for_device(x);
  set_mode(NEVER);
  hx_task t = hx_reduce(HX_SUM, HX_F32, x, N, &got);
  t.gpu_share = 1.0f;
  CHECK_OK(hx_offload(hx, &t, &report));
  t = hx_reduce(HX_SUM, HX_F32, x, N, &want);
  CHECK_OK(hx_offload(cpu, &t, NULL));
  CHECK(got.u64 == want.u64 && report.recovered > 0, "%u chunks recovered", report.recovered);
}

/* Whether the device can be used. */
static bool device_is_usable(void) {
  hx_device_info info;
  for (size_t i = 1; i < hx_device_count(hx); i++)
    if (hx_device(hx, i, &info) == HX_OK && info.state == HX_USABLE) return true;
  return false;
}

int main(int argc, char **argv) {
  const char *const device = argc > 1 ? argv[1] : "pocl";
  state = argc > 2 ? strtoull(argv[2], NULL, 0) : 20261128;
  printf("  seed %llu\n", (unsigned long long)state);
  hx = open_context(device);
  cpu = open_context("cpu");
  if (!device_is_usable()) {
    printf("completion_test: skipped: %s is not usable\n", device);
    return SKIPPED;
  }
  float *const x = hx_alloc(hx, N * sizeof *x), *const y = hx_alloc(hx, N * sizeof *y),
               *const c = hx_alloc(hx, SIDE * SIDE * sizeof *c);
  if (!x || !y || !c) exit(1);
  data_fill(HX_F32, DATA_SIGNED, 1, x, N);
  data_fill(HX_F32, DATA_SIGNED, 2, y, N);
  CHECK_OK(hx_advise(hx, c, SIDE * SIDE * sizeof *c, HX_RESIDENT));
  check_rounds(x, y, c, ROUNDS);
  printf("  %u completions, %u seen in time\n", launched, arrived);
  CHECK(launched > ROUNDS && arrived > 0, "%u completions in %d calls, %u seen in time", launched, 2 * ROUNDS, arrived);
  set_mode(LATE);
  check_rounds(x, y, c, ROUNDS / 4);
  CHECK(device_is_usable(), "lost by completions that are late");
  check_timeouts(x, y, c);
  CHECK(device_is_usable(), "lost by timeouts");
  check_reads(x, y, c);
  check_loss(x);
  CHECK(!device_is_usable(), "usable although no completion arrives");
  hx_free(hx, x);
  hx_free(hx, y);
  hx_free(hx, c);
  hx_close(cpu);
  hx_close(hx);
  return checks_end("completion_test");
}
