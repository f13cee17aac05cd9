/* SPDX-License-Identifier: Apache-2.0
 * A long product that is done in pieces, because a device is still being prepared, and that needs a result which is
 * lost with a device: the call fails before it has written anything, also if only rows of a later piece need the
 * result. The wrapped functions make a product long, its device pending and a part of A lost. */
#include "reference/ref.h"
#include "runtime/api/bring_up.h"
#include "runtime/base/status.h"
#include "runtime/plan/expected.h"
#include "runtime/run/fetch.h"
#include "tests/check.h"

enum { M = 1920, N = 256, K = 256, PIECES = 3 };

static const float *lost;                      /* an element of A that only a lost device has; NULL: none */
static unsigned pending_left, pieces, fetches; /* pending_left: how often a device is still said to be pending */

hx__cpu_time __wrap_hx__cpu_time_of(const hx__work *work, unsigned threads, const hx__estimate *cpu_alone,
                                    double break_even_ns);
bool __wrap_hx__devices_are_pending(const hx_context *hx, const hx__work *w);
hx_status __real_hx__fetch_for(hx__device_table *table, const hx__work *work, const hx__device *alone, bool keep,
                               uint64_t *copied);
hx_status __wrap_hx__fetch_for(hx__device_table *table, const hx__work *work, const hx__device *alone, bool keep,
                               uint64_t *copied);

/* 20 s for the whole product, so that half a second is a few rows and a piece is as small as pieces get. */
hx__cpu_time __wrap_hx__cpu_time_of(const hx__work *work, unsigned threads, const hx__estimate *cpu_alone,
                                    double break_even_ns) {
  (void)threads;
  (void)cpu_alone;
  (void)break_even_ns;
  return (hx__cpu_time){.ns = 20e9 * (double)work->units / ((double)M * N * K)};
}

bool __wrap_hx__devices_are_pending(const hx_context *hx, const hx__work *w) {
  (void)hx;
  (void)w;
  return pending_left > 0 && pending_left-- > 0;
}

hx_status __wrap_hx__fetch_for(hx__device_table *table, const hx__work *work, const hx__device *alone, bool keep,
                               uint64_t *copied) {
  const float *const a = work->gemm.a, *const end = a + (work->gemm.m - 1) * work->gemm.a_rs + work->gemm.k;
  fetches++;
  pieces += work->gemm.m < M;
  if (lost && a <= lost && lost < end) return hx__fail(HX_DEVICE_FAILED, "row %td of A is lost", (lost - a) / K);
  return __real_hx__fetch_for(table, work, alone, keep, copied);
}

int main(void) {
  static float a[M * K], b[K * N], c[M * N], want[M * N];
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = "cpu,sim";
  s.sim = "rate=1e9,latency_us=10";
  hx_context *const hx = open_or_exit(&s);
  for (size_t i = 0; i < M * K; i++) a[i] = (float)(i % 97) - 48.0f;
  for (size_t i = 0; i < K * N; i++) b[i] = (float)(i % 31) - 15.0f;
  hx_task t = hx_matmul(M, N, K, a, b, c);
  for (size_t row = 0; row <= M; row += 191) { /* in the last round nothing is lost */
    const bool is_lost = row + 191 <= M;
    for (size_t i = 0; i < M * N; i++) want[i] = c[i] = (float)i;
    t.matmul.beta = 1.0f;
    struct hx_matmul_args right = t.matmul;
    right.c = want;
    lost = is_lost ? &a[row * K + 3] : NULL;
    if (!is_lost) ref_matmul(&right);
    pending_left = PIECES;
    pieces = fetches = 0;
    const hx_status status = hx_offload(hx, &t, NULL);
    CHECK(status == (is_lost ? HX_DEVICE_FAILED : HX_OK), "row %zu: %s", row, hx_status_string(status));
    CHECK(memcmp(c, want, sizeof c) == 0, "row %zu: C is %s", row, is_lost ? "written in part" : "wrong");
    CHECK(is_lost || pieces >= PIECES - 1, "%u pieces of %u fetches: the product was done at once", pieces, fetches);
  }
  hx_close(hx);
  return checks_end("pieces_test");
}
