/* SPDX-License-Identifier: Apache-2.0
 * Memory that hx knows, and devices: hx_alloc, hx_register, hx_advise, hx_modified, hx_sync, hx_device, hx_ready.
 *     api_memory_test [DEVICES [MEMORY]]      default: cpu  */
#include <stdint.h>

#include "tests/check.h"
#include "reference/ref.h"

static hx_context *hx;

static void allocation(void) {
  hx_free(hx, NULL);
  void *nothing = hx_alloc(hx, 0);
  CHECK(nothing != NULL, "hx_alloc(0) is NULL");
  hx_free(hx, nothing);
  CHECK(hx_alloc(hx, SIZE_MAX) == NULL, "SIZE_MAX bytes were allocated");
  CHECK(hx_alloc(hx, SIZE_MAX - 4096) == NULL, "SIZE_MAX - 4096 bytes were allocated");
  CHECK(hx_alloc(hx, (size_t)1 << 60) == NULL, "2^60 bytes were allocated");
  for (size_t bytes = 1; bytes < 10000000; bytes = bytes * 3 + 1) {
    unsigned char *p = hx_alloc(hx, bytes);
    CHECK(p != NULL && (uintptr_t)p % 4096 == 0, "%zu bytes at %p", bytes, (void *)p);
    if (p == NULL) continue;
    memset(p, 0x5a, bytes);
    CHECK(p[0] == 0x5a && p[bytes - 1] == 0x5a, "%zu bytes", bytes);
    hx_free(hx, p);
  }
  static char mine[64];
  hx_free(hx, mine);               /* hx warns and does nothing */
  void *left = hx_alloc(hx, 5000); /* hx_close frees it */
  CHECK(left != NULL, "5000 bytes were not allocated");
}

static void registration(void) {
  enum { BYTES = 1 << 16 };
  char *p = malloc(BYTES);
  if (p == NULL) exit(1);
  CHECK_REFUSED(hx_register(hx, NULL, 10), HX_INVALID_ARGUMENT, "NULL");
  CHECK_REFUSED(hx_register(NULL, p, 10), HX_INVALID_ARGUMENT, "NULL");
  CHECK_REFUSED(hx_register(hx, p, 0), HX_INVALID_ARGUMENT, "bytes");
  CHECK_REFUSED(hx_register(hx, p, SIZE_MAX), HX_INVALID_ARGUMENT, "");
  CHECK_REFUSED(hx_unregister(hx, p), HX_INVALID_ARGUMENT, "");
  CHECK_OK(hx_register(hx, p + 1024, 1024));
  CHECK_REFUSED(hx_register(hx, p + 1024, 1024), HX_INVALID_ARGUMENT, "");
  CHECK_REFUSED(hx_register(hx, p, BYTES), HX_INVALID_ARGUMENT, "");
  CHECK_REFUSED(hx_register(hx, p, 1025), HX_INVALID_ARGUMENT, "");
  CHECK_REFUSED(hx_register(hx, p + 2047, 100), HX_INVALID_ARGUMENT, "");
  CHECK_OK(hx_register(hx, p, 1024)); /* beside the other range */
  CHECK_OK(hx_register(hx, p + 2048, 100));
  CHECK_REFUSED(hx_unregister(hx, p + 1030), HX_INVALID_ARGUMENT, "");
  CHECK_REFUSED(hx_unregister(hx, NULL), HX_INVALID_ARGUMENT, "");
  CHECK_OK(hx_unregister(hx, p + 1024));
  CHECK_REFUSED(hx_unregister(hx, p + 1024), HX_INVALID_ARGUMENT, "");
  CHECK_OK(hx_register(hx, p + 1024, 512));
  CHECK_OK(hx_unregister(hx, p + 1024));
  CHECK_OK(hx_unregister(hx, p));
  CHECK_OK(hx_unregister(hx, p + 2048));
  free(p);
  char *block = hx_alloc(hx, BYTES);
  CHECK_REFUSED(hx_register(hx, block + 4096, 4096), HX_INVALID_ARGUMENT, "");
  CHECK_REFUSED(hx_unregister(hx, block), HX_INVALID_ARGUMENT, "");
  hx_free(hx, block);
}

static void refused_ranges(char *p, size_t bytes) {
  CHECK_REFUSED(hx_advise(hx, p, bytes, 4), HX_INVALID_ARGUMENT, "");
  CHECK_REFUSED(hx_advise(hx, p, bytes, ~0u), HX_INVALID_ARGUMENT, "");
  CHECK_REFUSED(hx_advise(hx, p, bytes + 4096, HX_RESIDENT), HX_INVALID_ARGUMENT, "");
  CHECK_REFUSED(hx_advise(hx, p - 1, 8, HX_RESIDENT), HX_INVALID_ARGUMENT, "");
  CHECK_REFUSED(hx_advise(hx, NULL, 8, HX_RESIDENT), HX_INVALID_ARGUMENT, "");
  CHECK_REFUSED(hx_advise(hx, p + 8, SIZE_MAX - 4, HX_RESIDENT), HX_INVALID_ARGUMENT, "");
  CHECK_REFUSED(hx_modified(hx, p, bytes + 4096), HX_INVALID_ARGUMENT, "");
  CHECK_REFUSED(hx_modified(hx, NULL, 8), HX_INVALID_ARGUMENT, "");
  CHECK_REFUSED(hx_sync(hx, p, bytes + 4096), HX_INVALID_ARGUMENT, "");
  CHECK_REFUSED(hx_sync(hx, p + bytes + 4096, 8), HX_INVALID_ARGUMENT, "");
}

static void expect_sum(const float *x, size_t n, const char *when) {
  hx_value got, want = ref_reduce(HX_SUM, HX_F32, x, NULL, n);
  const float shares[] = {-1, 0, 0.5f, 1};
  for (int i = 0; i < 4; i++) {
    hx_task t = hx_reduce(HX_SUM, HX_F32, x, n, &got);
    t.gpu_share = shares[i];
    CHECK_OK(hx_offload(hx, &t, NULL));
    CHECK(got.u64 == want.u64, "%s, share %g: %g instead of %g", when, (double)shares[i], (double)got.f32,
          (double)want.f32);
  }
}

/* Results stay right under advice if the caller reports its writes. */
static void advice(bool registered) {
  enum { N = 100000 };
  const size_t bytes = N * sizeof(float);
  float *x = registered ? malloc(bytes) : hx_alloc(hx, bytes);
  if (x == NULL) exit(1);
  if (registered) CHECK_OK(hx_register(hx, x, bytes));
  refused_ranges((char *)x, bytes + (4096 - bytes % 4096) % 4096);
  for (unsigned bits = 0; bits <= (HX_READ_MOSTLY | HX_RESIDENT); bits++) {
    for (int i = 0; i < N; i++) x[i] = (float)(i % 1000) * 0.25f;
    CHECK_OK(hx_advise(hx, x, bytes, bits));
    CHECK_OK(hx_modified(hx, x, bytes));
    expect_sum(x, N, "at first");
    x[N / 2] = -5000;
    CHECK_OK(hx_modified(hx, x + N / 2, sizeof *x));
    expect_sum(x, N, "one element changed");
    for (int i = 0; i < N; i++) x[i] = (float)(i % 77);
    CHECK_OK(hx_modified(hx, x, bytes));
    expect_sum(x, N, "all changed");
    CHECK_OK(hx_sync(hx, x, bytes));
    expect_sum(x, N, "after hx_sync");
    CHECK_OK(hx_advise(hx, x, bytes, 0));
  }
  if (registered) {
    CHECK_OK(hx_unregister(hx, x));
    free(x);
  } else {
    hx_free(hx, x);
  }
}

/* The result of a product may stay on the device; the next product uses it, and hx_sync brings it back completely. */
static void resident_product(void) {
  enum { SIDE = 96, CELLS = SIDE * SIDE };
  float *m[3], want[2][CELLS];
  for (int i = 0; i < 3; i++) {
    if ((m[i] = hx_alloc(hx, CELLS * sizeof(float))) == NULL) exit(1);
    for (int j = 0; j < CELLS; j++) m[i][j] = (float)((j * (i + 3)) % 13 - 6) * 0.125f;
    CHECK_OK(hx_advise(hx, m[i], CELLS * sizeof(float), HX_RESIDENT));
  }
  struct hx_matmul_args args = {.m = SIDE, .n = SIDE, .k = SIDE, .a = m[0], .b = m[1], .c = want[0], .alpha = 1};
  ref_matmul(&args);
  memcpy(want[1], m[0], sizeof want[1]);
  args.a = want[0];
  args.c = want[1];
  args.beta = 0.5f;
  ref_matmul(&args);
  hx_task first = hx_matmul(SIDE, SIDE, SIDE, m[0], m[1], m[2]), second = hx_matmul(SIDE, SIDE, SIDE, m[2], m[1], m[0]);
  first.gpu_share = second.gpu_share = 0.5f;
  second.matmul.beta = 0.5f;
  CHECK_OK(hx_offload(hx, &first, NULL));
  CHECK_OK(hx_offload(hx, &second, NULL));
  CHECK_OK(hx_sync(hx, m[2], sizeof want[0]));
  CHECK_OK(hx_sync(hx, m[0], sizeof want[1]));
  CHECK(memcmp(m[2], want[0], sizeof want[0]) == 0, "the first product differs");
  CHECK(memcmp(m[0], want[1], sizeof want[1]) == 0, "the second product differs");
  for (int i = 0; i < 3; i++) hx_free(hx, m[i]);
}

static void devices(void) {
  hx_device_info info;
  size_t count = hx_device_count(hx);
  CHECK(count >= 1, "%zu devices", count);
  CHECK_REFUSED(hx_device(hx, count, &info), HX_INVALID_ARGUMENT, "index");
  CHECK_REFUSED(hx_device(hx, SIZE_MAX, &info), HX_INVALID_ARGUMENT, "index");
  CHECK_REFUSED(hx_device(hx, 0, NULL), HX_INVALID_ARGUMENT, "NULL");
  CHECK_OK(hx_ready(hx));
  for (size_t i = 0; i < count; i++) {
    memset(&info, 0x5a, sizeof info);
    CHECK_OK(hx_device(hx, i, &info));
    CHECK(info.kind >= HX_CPU && info.kind <= HX_SIM, "%zu: kind %d", i, info.kind);
    CHECK((i == 0) == (info.kind == HX_CPU), "%zu: kind %d", i, info.kind);
    CHECK(info.state >= HX_USABLE && info.state <= HX_LOST, "%zu: state %d after hx_ready", i, info.state);
    CHECK(info.state == HX_USABLE || info.why[0] != '\0', "%zu: refused without a reason", i);
    CHECK(memchr(info.name, 0, sizeof info.name) && memchr(info.vendor, 0, sizeof info.vendor) &&
              memchr(info.driver, 0, sizeof info.driver) && memchr(info.memory, 0, sizeof info.memory) &&
              memchr(info.why, 0, sizeof info.why),
          "%zu: a text without an end", i);
    CHECK(info.name[0] != '\0', "%zu: no name", i);
    for (int j = 0; j < 8; j++) CHECK(info.reserved[j] == 0, "%zu: reserved[%d]", i, j);
    printf("  %zu %s: %s %s\n", i, info.name, info.state == HX_USABLE ? "usable" : "refused", info.why);
  }
}

int main(int argc, char **argv) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = argc > 1 ? argv[1] : "cpu";
  settings.memory = argc > 2 ? argv[2] : NULL;
  settings.cache_dir = "off";
  if (strstr(settings.devices, "sim") || strstr(settings.devices, "all")) settings.sim = "rate=1e9,latency_us=10";
  hx = open_or_exit(&settings);
  allocation();
  registration();
  devices();
  advice(false);
  advice(true);
  resident_product();
  hx_close(hx);
  hx_context *none = (hx_context *)&settings;
  settings.reserved[3] = 1;
  CHECK_REFUSED(hx_open(&none, &settings), HX_INVALID_ARGUMENT, "reserved");
  CHECK(none == NULL, "hx_open failed and left a context");
  CHECK_REFUSED(hx_open(NULL, NULL), HX_INVALID_ARGUMENT, "NULL");
  return checks_end("api_memory_test");
}
