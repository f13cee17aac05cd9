/* SPDX-License-Identifier: Apache-2.0
 * Memory that is freed and comes back at the same address with other data between two calls: hx must not use what it
 * knew of the old memory. And known memory that is written between calls: without advice the next call sees it.
 *     memory_reuse_test [DEVICES]     default: cpu; each HX_MEMORY in turn  */
#include <stdint.h>
#include <sys/mman.h>

#include "tests/check.h"
#include "reference/data.h"
#include "reference/ref.h"

enum { N = 150000, SIDE = 64, CELLS = SIDE * SIDE, ROUNDS = 6 };

static hx_context *hx;
static const char *mode;
static uint64_t device_units, copied;
static bool usable; /* a device was usable in some mode */

static void count_report(const hx_report *report) {
  copied += report->bytes_copied;
  for (uint32_t i = 0; i < report->device_count; i++)
    if (report->device[i].index > 0) device_units += report->device[i].units;
}

/* Fills `memory` with new data, reduces it, multiplies its beginning by itself, and compares both results. */
static void check_with_new_data(float *memory, uint64_t seed, const char *how) {
  static float c[CELLS], want_c[CELLS];
  hx_report report;
  hx_value sum;
  data_fill(HX_F32, DATA_SIGNED, seed, memory, N);
  hx_task t = hx_reduce(HX_SUM, HX_F32, memory, N, &sum);
  t.gpu_share = seed % 3 == 0 ? 0.5f : 1;
  CHECK_OK(hx_offload(hx, &t, &report));
  count_report(&report);
  CHECK(sum.u64 == ref_reduce(HX_SUM, HX_F32, memory, NULL, N).u64, "%s, %s, round %d: the sum is of other data", mode,
        how, (int)seed);
  hx_task p = hx_matmul(SIDE, SIDE, SIDE, memory, memory + CELLS, c);
  p.gpu_share = t.gpu_share;
  struct hx_matmul_args args = p.matmul;
  args.c = want_c;
  ref_matmul(&args);
  CHECK_OK(hx_offload(hx, &p, &report));
  count_report(&report);
  CHECK(memcmp(c, want_c, sizeof c) == 0, "%s, %s, round %d: the product is of other data", mode, how, (int)seed);
}

static void mapped_again(void) {
  const size_t bytes = (N * sizeof(float) + 4095) / 4096 * 4096;
  void *address = NULL;
  for (uint64_t i = 1; i <= ROUNDS; i++) {
    void *p = mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) exit(1);
    check_with_new_data(p, i, address == p ? "mapped at the same address" : "mapped");
    munmap(p, bytes);
    address = p; /* the address is free again */
  }
}

static void malloced_again(uint64_t rounds) {
  for (uint64_t i = 1; i <= rounds; i++) {
    float *p = malloc(N * sizeof *p);
    if (p == NULL) exit(1);
    check_with_new_data(p, 10 + i, "malloc");
    free(p);
  }
}

static void written_again(bool registered) {
  float *p = registered ? malloc(N * sizeof *p) : hx_alloc(hx, N * sizeof *p);
  if (p == NULL) exit(1);
  if (registered) CHECK_OK(hx_register(hx, p, N * sizeof *p));
  for (uint64_t i = 1; i <= ROUNDS; i++) check_with_new_data(p, 20 + i, registered ? "registered" : "hx_alloc");
  if (registered) {
    CHECK_OK(hx_unregister(hx, p));
    check_with_new_data(p, 30, "registered no longer");
    free(p);
  } else {
    hx_free(hx, p);
  }
}

static void allocated_again(void) {
  for (uint64_t i = 1; i <= ROUNDS; i++) {
    float *p = hx_alloc(hx, N * sizeof *p);
    CHECK(p != NULL, "hx_alloc returned NULL");
    if (p) check_with_new_data(p, 40 + i, "hx_alloc anew");
    hx_free(hx, p);
  }
}

/* The requested mode if it is not a copy and the only usable device uses it, so that memory from hx_alloc is never
 * copied. Otherwise NULL. */
static const char *forced_mode(void) {
  hx_device_info info;
  size_t users = 0, devices = 0;
  for (size_t d = 1; d < hx_device_count(hx); d++) {
    if (hx_device(hx, d, &info) != HX_OK || info.state > HX_USABLE) continue;
    printf("  HX_MEMORY=%s: %s uses %s\n", mode, info.name, info.memory);
    usable = true;
    devices++;
    /* A discrete GPU copies in every mode. */
    users += info.kind != HX_SIM && info.kind != HX_GPU && strcmp(info.memory, mode) == 0 && strcmp(mode, "copy") != 0;
  }
  return devices == 1 && users == 1 ? mode : NULL;
}

int main(int argc, char **argv) {
  static const char *const kModes[] = {"auto", "svm-system", "svm-fine", "svm-coarse", "usm", "hostptr", "copy"};
  static char list[256];
  const char *devices = argc > 1 ? argv[1] : "cpu";
  snprintf(list, sizeof list, "cpu,%s", devices);
  for (size_t i = 0; i < sizeof kModes / sizeof *kModes; i++) {
    hx_settings settings = HX_SETTINGS_DEFAULT;
    settings.devices = list;
    settings.cache_dir = "off";
    settings.memory = mode = kModes[i];
    if (strstr(list, "sim")) settings.sim = "rate=1e9,latency_us=10";
    hx = open_or_exit(&settings);
    malloced_again(1); /* its calls wait for the kernels that they use; hx_ready would wait for all 28 */
    const char *forced = forced_mode();
    device_units = copied = 0;
    written_again(false);
    allocated_again();
    CHECK(!forced || copied == 0, "%s serves hx_alloc, but copied %llu bytes", forced, (unsigned long long)copied);
    mapped_again();
    malloced_again(ROUNDS);
    written_again(true);
    printf("  HX_MEMORY=%s: %llu units on devices, %.2f MB copied\n", mode, (unsigned long long)device_units,
           1e-6 * (double)copied);
    CHECK(!usable || device_units > 0, "HX_MEMORY=%s: the devices did nothing", mode);
    hx_close(hx);
  }
  if (!usable && strcmp(devices, "cpu") != 0) {
    printf("memory_reuse_test: skipped: no usable device among %s\n", devices);
    return checks_failed ? 1 : SKIPPED;
  }
  return checks_end("memory_reuse_test");
}
