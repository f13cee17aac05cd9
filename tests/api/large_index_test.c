/* SPDX-License-Identifier: Apache-2.0
 * Sizes and indices beyond 2^32 elements, on reserved memory of which few pages are ever written: reads elsewhere
 * return the shared page of zeros.
 *     large_index_test [DEVICES]      default: cpu  */
#include <stdint.h>
#include <sys/mman.h>

#include "tests/check.h"
#include "reference/data.h"
#include "reference/ref.h"

static hx_context *hx;

/* NULL if this machine cannot reserve this much. */
static void *reserve(size_t bytes) {
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return NULL;
  (void)madvise(p, bytes, MADV_HUGEPAGE); /* pages of 2 MiB cause few page faults */
  return p;
}

static const size_t kMany = ((size_t)1 << 32) + 5;

/* Small integers as floats at both sides of every border that 32 bits could cut; zeros elsewhere. */
static void put_values_at_borders(float *x, uint64_t *bits, float *sum) {
  const size_t at[] = {0,        4095, ((size_t)1 << 31) - 1, (size_t)1 << 31, ((size_t)1 << 32) - 1, (size_t)1 << 32,
                       kMany - 1};
  *bits = 0;
  *sum = 0;
  for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
    x[at[i]] = (float)(i + 1);
    *bits += ref_bits(x[at[i]]);
    *sum += x[at[i]];
  }
}

static void reductions(void) {
  const double most_seconds = 10;
  float *x = reserve(kMany * sizeof *x);
  if (x == NULL) {
    printf("  %zu elements: not reserved by this machine\n", kMany);
    return;
  }
  uint64_t bits;
  float sum;
  put_values_at_borders(x, &bits, &sum);
  hx_value r;
  double start = seconds_now();
  hx_task t = hx_reduce(HX_SUM, HX_U32, x + 8192, (size_t)1 << 28, &r); /* a sixteenth, to measure the speed */
  CHECK_OK(hx_offload(hx, &t, NULL));
  CHECK(r.u64 == 0, "%llu", (unsigned long long)r.u64);
  double expected = 16 * (seconds_now() - start);
  if (expected * 3 > most_seconds) {
    printf("  %zu elements: left out, a pass would take %.1f s here\n", kMany, expected);
  } else {
    hx_report report;
    t = hx_reduce(HX_SUM, HX_U32, x, kMany, &r);
    CHECK_OK(hx_offload(hx, &t, &report));
    CHECK(r.u64 == bits, "%llx instead of %llx", (unsigned long long)r.u64, (unsigned long long)bits);
    uint64_t units = 0;
    for (uint32_t i = 0; i < report.device_count; i++) units += report.device[i].units;
    CHECK(units == kMany, "%llu units", (unsigned long long)units);
    t = hx_reduce(HX_ARGMAX, HX_U32, x, kMany, &r);
    CHECK_OK(hx_offload(hx, &t, NULL));
    CHECK(r.u64 == kMany - 1, "%llu", (unsigned long long)r.u64);
    t = hx_reduce(HX_SUM, HX_F32, x, kMany, &r);
    CHECK_OK(hx_offload(hx, &t, NULL));
    CHECK(r.f32 == sum, "%g instead of %g", (double)r.f32, (double)sum);
    printf("  %zu elements, three times: %.1f s\n", kMany, seconds_now() - start);
  }
  munmap(x, kMany * sizeof *x);
}

/* A product of m x n x k with rows so far apart that the index of an element exceeds 2^32. */
static void far_rows(size_t m, size_t n, size_t k, bool trans_a, bool trans_b) {
  const size_t ld = ((size_t)1 << 31) + 7;
  const size_t a_rows = trans_a ? k : m, a_cols = trans_a ? m : k, b_rows = trans_b ? n : k, b_cols = trans_b ? k : n;
  const size_t bytes[3] = {((a_rows - 1) * ld + a_cols) * 4, ((b_rows - 1) * ld + b_cols) * 4, ((m - 1) * ld + n) * 4};
  float *p[3], *want = malloc(m * n * sizeof *want);
  bool reserved = want != NULL;
  for (int i = 0; i < 3; i++) reserved = (p[i] = reserve(bytes[i])) != NULL && reserved;
  if (!reserved) {
    printf("  rows %zu apart: not reserved by this machine\n", ld);
  } else {
    for (size_t i = 0; i < a_rows; i++) data_fill(HX_F32, DATA_SIGNED, i, p[0] + i * ld, a_cols);
    for (size_t i = 0; i < b_rows; i++) data_fill(HX_F32, DATA_SIGNED, 100 + i, p[1] + i * ld, b_cols);
    for (size_t i = 0; i < m; i++) data_fill(HX_F32, DATA_SIGNED, 200 + i, p[2] + i * ld, n);
    hx_task t = hx_matmul(m, n, k, p[0], p[1], p[2]);
    t.matmul.trans_a = trans_a;
    t.matmul.trans_b = trans_b;
    t.matmul.lda = t.matmul.ldb = t.matmul.ldc = ld;
    t.matmul.beta = 2;
    for (size_t i = 0; i < m; i++)
      for (size_t j = 0; j < n; j++) want[i * n + j] = ref_matmul_element(&t.matmul, i, j);
    CHECK_OK(hx_offload(hx, &t, NULL));
    for (size_t i = 0; i < m; i++) {
      CHECK(memcmp(p[2] + i * ld, want + i * n, n * sizeof *want) == 0, "row %zu of %zux%zux%zu differs", i, m, n, k);
      if (i + 1 < m) CHECK(p[2][i * ld + n] == 0, "row %zu: the gap was written", i);
    }
  }
  for (int i = 0; i < 3; i++)
    if (p[i]) munmap(p[i], bytes[i]);
  free(want);
}

int main(int argc, char **argv) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = argc > 1 ? argv[1] : "cpu";
  settings.cache_dir = "off";
  if (strstr(settings.devices, "sim")) settings.sim = "rate=1e12,latency_us=10";
  hx = open_or_exit(&settings);
  far_rows(3, 4, 5, false, false);
  far_rows(4, 3, 5, true, false);
  far_rows(3, 5, 4, false, true);
  far_rows(5, 20, 3, true, true);
  reductions();
  hx_close(hx);
  return checks_end("large_index_test");
}
