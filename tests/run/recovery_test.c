/* SPDX-License-Identifier: Apache-2.0
 * A device that fails only loses its part of a call to the CPU. The devices are simulated; any call of them can be made
 * to fail or to time out. */
#include <math.h>
#include <stdint.h>
#include <sys/mman.h>

#include "runtime/backend/backend.h"
#include "reference/data.h"
#include "reference/ref.h"
#include "tests/scenario.h"

enum { N = 400000, SIDE = 160, CELLS = SIDE * SIDE };

static float x[N], a[CELLS], b[CELLS], old_c[CELLS], want_c[CELLS];
static uint64_t want_sum;

static void make_data(void) {
  data_fill(HX_F32, DATA_SIGNED, 21, x, N);
  data_fill(HX_F32, DATA_SIGNED, 22, a, CELLS);
  data_fill(HX_F32, DATA_SIGNED, 23, b, CELLS);
  data_fill(HX_F32, DATA_SIGNED, 24, old_c, CELLS);
  want_sum = ref_reduce(HX_SUM, HX_F32, x, NULL, N).u64;
  memcpy(want_c, old_c, sizeof want_c);
  struct hx_matmul_args args = {.m = SIDE, .n = SIDE, .k = SIDE, .a = a, .b = b, .c = want_c, .alpha = 1, .beta = 0.5f};
  ref_matmul(&args);
}

static hx_context *open_sim(const char *profile, const char *timeout_ms) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = "cpu,sim";
  s.sim = profile;
  s.timeout_ms = timeout_ms;
  s.threads = "2";
  s.cache_dir = "off";
  return open_or_exit(&s);
}

static uint64_t device_units(const hx_report *report) {
  uint64_t units = 0;
  for (uint32_t i = 0; i < report->device_count; i++)
    if (report->device[i].index != 0) units += report->device[i].units;
  return units;
}

static void check_sum(hx_context *hx, const float *data, size_t n, float share, hx_report *report) {
  hx_value sum = {.u64 = 1};
  hx_task t = hx_reduce(HX_SUM, HX_F32, data, n, &sum);
  t.gpu_share = share;
  CHECK_OK(hx_offload(hx, &t, report));
  uint64_t want = n == N ? want_sum : ref_reduce(HX_SUM, HX_F32, data, NULL, n).u64;
  CHECK(sum.u64 == want, "%llx instead of %llx", (unsigned long long)sum.u64, (unsigned long long)want);
}

/* C = A B + C / 2, so that a chunk that is computed again must not read its own result in C. */
static void check_product(hx_context *hx, const float *ma, const float *mb, float *mc, float share, hx_report *report) {
  memcpy(mc, old_c, sizeof old_c);
  hx_task t = hx_matmul(SIDE, SIDE, SIDE, ma, mb, mc);
  t.matmul.beta = 0.5f;
  t.gpu_share = share;
  CHECK_OK(hx_offload(hx, &t, report));
  CHECK(memcmp(mc, want_c, sizeof want_c) == 0, "the product differs");
}

static hx_device_info simulated_device(hx_context *hx) {
  hx_device_info info;
  memset(&info, 0, sizeof info);
  for (size_t i = 1; i < hx_device_count(hx); i++)
    if (hx_device(hx, i, &info) == HX_OK && info.kind == HX_SIM) return info;
  CHECK(false, "no simulated device");
  return info;
}

/* An entry fails at its call number `at`: the results are right, the device is lost, and later calls do not use it. */
static void failing_entry(const char *entry, int at, bool recovers) {
  make_data();
  char profile[64];
  snprintf(profile, sizeof profile, "rate=1e9,latency_us=10,fail=%s@%d", entry, at);
  hx_context *hx = open_sim(profile, NULL);
  static float c[CELLS];
  unsigned recovered = 0;
  hx_report report;
  for (int i = 0; i < 12; i++) {
    if (i % 2)
      check_product(hx, a, b, c, 0.5f, &report);
    else
      check_sum(hx, x, N, 0.5f, &report);
    recovered += report.recovered;
  }
  hx_device_info info = simulated_device(hx);
  printf("  %s: %u recovered, state %d: %s\n", profile, recovered, info.state, info.why);
  CHECK(!recovers || recovered > 0, "nothing was recovered");
  CHECK(info.state == HX_LOST || (!recovers && info.state == HX_REFUSED), "state %d", info.state);
  CHECK(info.why[0] != '\0', "no reason is given");
  CHECK(device_units(&report) == 0, "a lost device did %llu units", (unsigned long long)device_units(&report));
  CHECK_OK(hx_ready(hx)); /* it returns although a device is lost */
  hx_close(hx);
  hx = open_sim("rate=1e9,latency_us=10", NULL); /* a new context has new simulated devices */
  check_sum(hx, x, N, 0.5f, &report);
  hx_close(hx);
}

static void first_enqueue(void) { failing_entry("enqueue", 1, true); }
static void third_enqueue(void) { failing_entry("enqueue", 3, true); }
static void second_wait(void) { failing_entry("wait", 2, true); }
static void first_bind(void) { failing_entry("bind", 1, false); }
static void third_bind(void) { failing_entry("bind", 3, false); }
static void first_prepare(void) { failing_entry("prepare", 1, false); }
static void first_open(void) { failing_entry("open", 1, false); }

/* hx_alloc for a device without free memory gives plain memory, and the device can still be used. */
static void first_alloc(void) {
  make_data();
  hx_context *hx = open_sim("rate=1e9,latency_us=10,fail=alloc@1", NULL);
  CHECK_OK(hx_ready(hx));
  float *p = hx_alloc(hx, sizeof x), *c = hx_alloc(hx, sizeof old_c);
  CHECK(p != NULL && c != NULL, "hx_alloc returned NULL");
  if (p == NULL || c == NULL) return;
  memcpy(p, x, sizeof x);
  for (int i = 0; i < 4; i++) {
    check_sum(hx, p, N, 0.5f, NULL);
    check_product(hx, a, b, c, 0.5f, NULL);
  }
  hx_free(hx, p);
  hx_free(hx, c);
  hx_close(hx);
}

static void *map_copy(size_t bytes, const void *content) {
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) exit(1);
  memcpy(p, content, bytes);
  return p;
}

/* The caller unmaps its arrays directly after a call that gave up a chunk: nothing may access them any more. */
static void unmapped_after_giving_up(void) {
  make_data();
  hx_context *hx = open_sim("rate=1e6,latency_us=300000", "20");
  hx_report report;
  float *mx = map_copy(sizeof x, x);
  check_sum(hx, mx, N, 0.5f, &report);
  munmap(mx, sizeof x);
  CHECK(report.recovered > 0, "the sum recovered nothing");
  nanosleep(&(struct timespec){1, 500000000}, NULL); /* until then the late chunk has ended */
  float *ma = map_copy(sizeof a, a), *mb = map_copy(sizeof b, b), *mc = map_copy(sizeof old_c, old_c);
  check_product(hx, ma, mb, mc, 0.5f, &report);
  munmap(ma, sizeof a);
  munmap(mb, sizeof b);
  munmap(mc, sizeof old_c);
  CHECK(report.recovered > 0, "the product recovered nothing");
  nanosleep(&(struct timespec){3, 0}, NULL);
  check_sum(hx, x, N, -1, &report);
  hx_close(hx);
}

/* A device that was only late is used again when its event has completed. */
static void late_device_rejoins(void) {
  make_data();
  hx_context *hx = open_sim("rate=1e6,latency_us=10", "20"); /* 200 ms of work against a limit of 20 ms */
  hx_report report;
  check_sum(hx, x, N, 0.5f, &report);
  CHECK(report.recovered > 0, "nothing was late");
  CHECK(simulated_device(hx).state != HX_LOST, "a late device is lost: %s", simulated_device(hx).why);
  uint64_t units = 0;
  double give_up = seconds_now() + 20;
  while (units == 0 && seconds_now() < give_up) {
    check_sum(hx, x, 8192, 0.5f, &report); /* the device computes one slice of 4096 elements in 4 ms */
    units = device_units(&report);
    nanosleep(&(struct timespec){0, 20000000}, NULL);
  }
  CHECK(units == 4096, "%llu units after the device returned", (unsigned long long)units);
  hx_close(hx);
}

enum { LONG = 1 << 22, WIDE = 640, SQUARE = WIDE * WIDE };

/* A context in which hx uses the device for tasks of any size. */
static hx_context *open_free(double rate) {
  char profile[64];
  hx_settings s = HX_SETTINGS_DEFAULT;
  snprintf(profile, sizeof profile, "rate=%g,latency_us=20", rate);
  s.devices = "cpu,sim";
  s.sim = profile;
  s.threads = "2";
  s.min_offload = "1";
  s.cache_dir = "off";
  return open_or_exit(&s);
}

/* Products on a device that was never measured and has a 40th of the CPU's rate: the CPU computes the device's first
 * chunk, a 16th of the product, again. The next call begins while the device still computes that chunk, takes six
 * times as long, and uses the device once it is free. A call takes some 15 ms, so that the device begins in time
 * on a busy machine, too. */
static void timed_out_device_joins_in(void) {
  enum { LONGER = 6, EDGE = 1024, ENTRIES = EDGE * EDGE };
  float *const a = malloc(LONGER * ENTRIES * sizeof *a), *const b = malloc(LONGER * ENTRIES * sizeof *b),
               *const c = malloc(ENTRIES * sizeof *c), *const want = malloc(ENTRIES * sizeof *want);
  data_fill(HX_F32, DATA_SIGNED, 41, a, LONGER * ENTRIES);
  data_fill(HX_F32, DATA_SIGNED, 42, b, LONGER * ENTRIES);
  unsigned late = 0, came = 0, pairs = 0;
  double cpu_s = 1.0;
  hx_report report;
  hx_context *hx = open_free(1e9);
  hx_task first = hx_matmul(EDGE, EDGE, EDGE, a, b, c), next = hx_matmul(EDGE, EDGE, LONGER * EDGE, a, b, want);
  first.gpu_share = next.gpu_share = 0.0f;
  CHECK_OK(hx_offload(hx, &next, NULL));
  for (int i = 0; i < 5; i++) {
    CHECK_OK(hx_offload(hx, &first, &report));
    if (report.seconds < cpu_s) cpu_s = report.seconds;
  }
  hx_close(hx);
  first.gpu_share = next.gpu_share = -1.0f;
  next.matmul.c = c;
  const double chunk_s = cpu_s * 40.0 / 16.0;
  for (; (late < 6 || came < 2) && pairs < 100; pairs++) { /* on a busy machine the device may be free too late */
    hx = open_free((double)EDGE * ENTRIES / 16.0 / chunk_s);
    CHECK_OK(hx_offload(hx, &first, &report));
    const bool is_late = report.recovered > 0 && report.seconds < 0.75 * chunk_s;
    CHECK_OK(hx_offload(hx, &next, &report));
    CHECK(memcmp(c, want, ENTRIES * sizeof *c) == 0, "other bits");
    late += is_late;
    came += is_late && device_units(&report) > 0;
    hx_close(hx);
  }
  printf("  a device was late after %u of %u calls, and joined %u of the calls that followed\n", late, pairs, came);
  CHECK(came > 1, "the device joined %u of %u calls", came, late);
  free(a);
  free(b);
  free(c);
  free(want);
}

/* The CPU computes overdue chunks again, in part or completely. Every row of C is written once (C = A B + C / 2), and
 * no call waits for a device that is far behind. */
static void late_chunks_are_done_twice(void) {
  float *const data = malloc(LONG * sizeof *data), *const ma = malloc(SQUARE * sizeof *ma),
               *const mb = malloc(SQUARE * sizeof *mb), *const old = malloc(SQUARE * sizeof *old),
               *const want = malloc(SQUARE * sizeof *want), *const c = malloc(SQUARE * sizeof *c);
  data_fill(HX_F32, DATA_SIGNED, 31, data, LONG);
  data_fill(HX_F32, DATA_SIGNED, 32, ma, SQUARE);
  data_fill(HX_F32, DATA_SIGNED, 33, mb, SQUARE);
  data_fill(HX_F32, DATA_SIGNED, 34, old, SQUARE);
  memcpy(want, old, SQUARE * sizeof *want);
  const struct hx_matmul_args args = {
      .m = WIDE, .n = WIDE, .k = WIDE, .a = ma, .b = mb, .c = want, .alpha = 1, .beta = 0.5f};
  ref_matmul(&args);
  const uint64_t sum = ref_reduce(HX_SUM, HX_F32, data, NULL, LONG).u64;
  unsigned recovered = 0, delivered = 0;
  for (int i = 0; i < 72; i++) { /* from far too slow to so fast that chunks end while they are redone */
    hx_context *const hx = open_free(i % 2 ? 1e9 * pow(2.0, i / 16.0) : 1e6 * pow(2.0, i / 4.0));
    hx_report report;
    hx_value got = {.u64 = 1};
    for (int call = 0; call < 3; call++) {
      hx_task t = hx_reduce(HX_SUM, HX_F32, data, LONG, &got);
      if (i % 2) {
        memcpy(c, old, SQUARE * sizeof *c);
        t = hx_matmul(WIDE, WIDE, WIDE, ma, mb, c);
        t.matmul.beta = 0.5f;
      }
      CHECK_OK(hx_offload(hx, &t, &report));
      CHECK(i % 2 ? memcmp(c, want, SQUARE * sizeof *c) == 0 : got.u64 == sum, "device %d, call %d: other bits", i,
            call);
      CHECK(report.seconds < 1.0, "device %d, call %d: %.3f s", i, call, report.seconds);
      recovered += report.recovered;
      delivered += device_units(&report) != 0;
    }
    hx_close(hx);
  }
  printf("  %u chunks computed again by the CPU; in %u of 216 calls the device delivered something\n", recovered,
         delivered);
  CHECK(recovered > 5, "hardly anything was late");
  CHECK(delivered > 10, "the device did hardly anything");
  free(data);
  free(ma);
  free(mb);
  free(old);
  free(want);
  free(c);
}

/* HX_OFFLOAD: mandatory fails if the device fails; disabled uses no device. */
static void offload_modes(void) {
  make_data();
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = "cpu,sim";
  s.sim = "rate=1e9,latency_us=10,fail=enqueue@3";
  s.cache_dir = "off";
  hx_context *hx;
  hx_report report;
  hx_value sum;
  s.offload = "disabled";
  hx = open_or_exit(&s);
  check_sum(hx, x, N, 1, &report);
  CHECK(device_units(&report) == 0, "disabled: %llu units on a device", (unsigned long long)device_units(&report));
  hx_close(hx);

  s.offload = "mandatory";
  hx = open_or_exit(&s);
  check_sum(hx, x, N, 0, &report); /* mandatory has precedence over the share */
  CHECK(device_units(&report) == N, "mandatory: %llu units on the device", (unsigned long long)device_units(&report));
  hx_status last = HX_OK;
  hx_task t = hx_reduce(HX_SUM, HX_F32, x, N, &sum);
  for (int i = 0; i < 5 && last == HX_OK; i++) last = hx_offload(hx, &t, NULL);
  CHECK(last == HX_DEVICE_FAILED && hx_error_detail()[0] != '\0', "%s: %s", hx_status_string(last), hx_error_detail());
  hx_close(hx);

  s.devices = "cpu";
  s.sim = NULL;
  hx = open_or_exit(&s);
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_DEVICE_FAILED, "");
  t = hx_reduce(HX_SUM, HX_F32, x, 0, &sum); /* an empty task needs no device */
  CHECK_OK(hx_offload(hx, &t, NULL));
  hx_close(hx);
}

/* A chunk whose slices other participants have all computed when it ends. */
static void nothing_is_left_of_a_chunk(void) {
  float a[4] = {1, 2, 3, 4}, block[32] = {0}, c[4] = {-1, -1, -1, -1};
  for (int by_columns = 0; by_columns <= 1; by_columns++) {
    const hx_task t = by_columns ? hx_matmul(1, 4, 1, a, a, c) : hx_matmul(4, 1, 1, a, a, c);
    hx__work w;
    CHECK(hx__task_check(&t, &w) == HX_OK && w.by_columns == by_columns, "%s", hx_error_detail());
    const hx__request request = {.work = &w, .kernels = hx__cpu_kernels_for(HX__ISA_AUTO)};
    hx__deliver(&request, (hx__chunk){0, 4}, (hx__chunk){0, 0}, block, 16);
    hx__deliver(&request, (hx__chunk){0, 4}, (hx__chunk){4, 0}, block, 16);
    for (int i = 0; i < 4; i++) CHECK(c[i] == -1, "element %d was written", i);
  }
}

int main(int argc, char **argv) {
  static const scenario table[] = {{"first_enqueue", first_enqueue},
                                   {"third_enqueue", third_enqueue},
                                   {"second_wait", second_wait},
                                   {"first_bind", first_bind},
                                   {"third_bind", third_bind},
                                   {"first_prepare", first_prepare},
                                   {"first_open", first_open},
                                   {"first_alloc", first_alloc},
                                   {"unmapped_after_giving_up", unmapped_after_giving_up},
                                   {"late_device_rejoins", late_device_rejoins},
                                   {"timed_out_device_joins_in", timed_out_device_joins_in},
                                   {"late_chunks_are_done_twice", late_chunks_are_done_twice},
                                   {"nothing_is_left_of_a_chunk", nothing_is_left_of_a_chunk},
                                   {"offload_modes", offload_modes}};
  return scenarios_main(argc, argv, "recovery_test", table, sizeof table / sizeof *table);
}
