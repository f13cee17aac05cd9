/* SPDX-License-Identifier: Apache-2.0
 * Maps whose results have the advice HX_RESIDENT: one device that computes all of a map keeps the results, also in
 * place, in one chunk or several; later maps and reductions use them there, and whatever needs them on the host gets
 * them. A map in place whose device disappears leaves the right elements or an error.
 *     resident_map_test [DEVICE [MEMORY [ROUNDS [SEED]]]]      default: pocl, copy */
#include <stdint.h>

#include "reference/data.h"
#include "runtime/backend/opencl/stream.h"
#include "runtime/hx_map.h"
#include "tests/check.h"

enum { LEAF = 4096, N = 37 * LEAF + 77, SMALL = 40 * (int)sizeof(uint64_t), ARRAYS = 4 };

static hx_context *hx, *cpu;
static hx_kernel *axpy; /* a * x + y */
static bool copies;     /* the device has memory of its own */

static hx_status map(hx_context *on, float a, const float *x, const float *y, float *to, size_t n, float share,
                     hx_report *report);

/* A chunk of a map has at most so many leaves. A device's own limit is too large for a test. */

static size_t most_leaves = SIZE_MAX;

hx__cl_cut __real_hx__cl_cut_of(const hx__cl_stream *stream, const hx__work *w, bool resident);
hx__cl_cut __wrap_hx__cl_cut_of(const hx__cl_stream *stream, const hx__work *w, bool resident);
hx__cl_cut __wrap_hx__cl_cut_of(const hx__cl_stream *stream, const hx__work *w, bool resident) {
  hx__cl_cut cut = __real_hx__cl_cut_of(stream, w, resident);
  if (w->map && cut.slices > most_leaves) cut.slices = most_leaves;
  return cut;
}

/* False: there is no such device. */
static bool open_contexts(const char *device, const char *memory) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = device;
  s.memory = memory;
  s.threads = "2";
  hx = open_or_exit(&s);
  s.devices = "cpu";
  s.memory = NULL;
  cpu = open_or_exit(&s);
  const hx_kernel_source source = {.text = "a * x + y", .inputs = "float x, float y", .parameters = "float a"};
  CHECK_OK(hx_compile(hx, &source, &axpy));
  static const float x[LEAF];
  static float y[LEAF];
  hx_device_info info;
  hx_report report;
  CHECK_OK(map(hx, 1, x, x, y, LEAF, 1, &report)); /* waits for the kernel */
  for (size_t i = 1; i < hx_device_count(hx); i++) {
    if (hx_device(hx, i, &info) != HX_OK) continue;
    printf("  %s, %s\n", info.name, info.memory);
    copies = strcmp(info.memory, "copy") == 0;
  }
  return report.gpu_share == 1;
}

static void close_contexts(void) {
  hx_kernel_free(axpy);
  hx_close(cpu);
  hx_close(hx);
}

/* to = a * x + y */
static hx_status map(hx_context *on, float a, const float *x, const float *y, float *to, size_t n, float share,
                     hx_report *report) {
  const void *const inputs[] = {x, y};
  const hx_value p = {.f32 = a};
  hx_task t = hx_map(axpy, inputs, n, &p, to);
  t.gpu_share = share;
  return hx_offload(on, &t, report);
}

static hx_status sum(hx_context *on, const float *x, const float *y, size_t n, float share, hx_value *to,
                     hx_report *report) {
  const void *const inputs[] = {x, y};
  const hx_value p = {.f32 = 0.5f};
  hx_task t = hx_map_reduce(HX_SUM, axpy, inputs, n, &p, to);
  t.gpu_share = share;
  return hx_offload(on, &t, report);
}

static float *new_array(uint64_t seed, unsigned advice, float *want) {
  float *const p = hx_alloc(hx, N * sizeof *p);
  if (!p) exit(1);
  data_fill(HX_F32, DATA_SIGNED, seed, p, N);
  memcpy(want, p, N * sizeof *p);
  CHECK_OK(hx_advise(hx, p, N * sizeof *p, advice));
  return p;
}

static void expect_bytes(const hx_report *r, uint64_t most, const char *what) {
  CHECK(!copies || r->bytes_copied <= most, "%s: %llu bytes copied", what, (unsigned long long)r->bytes_copied);
}

static float want_x[N], want_y[N], want_z[N];

/* A result in place for which the device has no second buffer goes to the host, and so does its input, first: a chunk
 * that fails later must not bring old elements over new ones. */
static bool no_mirrors;

hx__mirror *__real_hx__cl_mirror_create(hx__device *device, const void *first, size_t bytes);
hx__mirror *__wrap_hx__cl_mirror_create(hx__device *device, const void *first, size_t bytes);
hx__mirror *__wrap_hx__cl_mirror_create(hx__device *device, const void *first, size_t bytes) {
  return no_mirrors ? NULL : __real_hx__cl_mirror_create(device, first, bytes);
}

static void no_room_in_place(void) {
  float *const x = new_array(4, HX_READ_MOSTLY, want_x), *const y = new_array(5, HX_RESIDENT, want_y);
  hx_report r;
  CHECK_OK(map(hx, 2, x, y, y, N, 1, NULL));
  CHECK_OK(map(cpu, 2, want_x, want_y, want_y, N, 0, NULL));
  no_mirrors = true; /* x, whose mirror makes room, is copied again, and the result */
  CHECK_OK(map(hx, 3, x, y, y, N, 1, &r));
  no_mirrors = false;
  CHECK_OK(map(cpu, 3, want_x, want_y, want_y, N, 0, NULL));
  CHECK(memcmp(y, want_y, sizeof want_y) == 0, "y differs");
  CHECK(!copies || r.bytes_copied > 2 * sizeof want_y, "only %llu bytes copied: the old result was not fetched",
        (unsigned long long)r.bytes_copied);
  hx_free(hx, x);
  hx_free(hx, y);
}

static void results_stay(void) {
  float *const x = new_array(1, HX_READ_MOSTLY, want_x), *const y = new_array(2, HX_RESIDENT, want_y);
  float *const z = new_array(3, HX_RESIDENT, want_z);
  static float old[N];
  hx_report r;
  hx_value got, want;
  memcpy(old, z, sizeof old);
  CHECK_OK(map(hx, 2, x, y, z, N, 1, &r));
  CHECK_OK(map(cpu, 2, want_x, want_y, want_z, N, 0, NULL));
  expect_bytes(&r, 2 * sizeof old + 4 * 65536, "at first");
  CHECK(!copies || memcmp(z, old, sizeof old) == 0, "the result has reached the host");
  for (int i = 0; i < 4; i++) { /* in place, and from one array into the other */
    CHECK_OK(map(hx, -0.5f, x, z, z, N, 1, &r));
    CHECK_OK(map(cpu, -0.5f, want_x, want_z, want_z, N, 0, NULL));
    expect_bytes(&r, 0, "in place");
    CHECK(r.gpu_share == 1, "in place: share %g", r.gpu_share);
    CHECK_OK(map(hx, 0.25f, z, y, y, N, 1, &r));
    CHECK_OK(map(cpu, 0.25f, want_z, want_y, want_y, N, 0, NULL));
    expect_bytes(&r, i ? 0 : sizeof old, "from the result"); /* y has been on the host */
    CHECK_OK(sum(hx, y, z, N, 1, &got, &r));
    CHECK_OK(sum(cpu, want_y, want_z, N, 0, &want, NULL));
    CHECK(got.u64 == want.u64, "the sum of step %d is %g, not %g", i, (double)got.f32, (double)want.f32);
    expect_bytes(&r, SMALL, "the sum");
  }
  CHECK(!copies || memcmp(z, old, sizeof old) == 0, "the result has reached the host");
  CHECK_OK(map(hx, 3, x + 5, z + 5, y + 5, N - 9, 1, &r)); /* of a part, into a part: y comes to the host first */
  CHECK_OK(map(cpu, 3, want_x + 5, want_z + 5, want_y + 5, N - 9, 0, NULL));
  CHECK_OK(hx_sync(hx, y, N * sizeof *y));
  CHECK_OK(hx_sync(hx, z + 7, sizeof *z));
  CHECK(memcmp(y, want_y, sizeof want_y) == 0, "y differs");
  CHECK(memcmp(z, want_z, sizeof want_z) == 0, "z differs");
  hx_free(hx, x);
  hx_free(hx, y);
  hx_free(hx, z);
}

/* Operations in any order, compared with those of the CPU alone. */
static unsigned any_order(unsigned rounds, uint64_t seed) {
  static const float shares[] = {1, 1, 1, 0.5f, 0, -1};
  static const size_t sizes[] = {1, LEAF, LEAF + 1, 5 * LEAF - 1, N};
  static float want[ARRAYS][N];
  float *p[ARRAYS];
  uint64_t at = 0;
  unsigned several = 0;
#define BELOW(n) ((unsigned)(data_u64(seed, at++) % (n)))
  printf("  seed %llu\n", (unsigned long long)seed);
  for (unsigned i = 0; i < ARRAYS; i++) p[i] = new_array(10 + i, BELOW(4), want[i]);
  for (unsigned r = 0; r < rounds && checks_failed < 5; r++) {
    const unsigned x = BELOW(ARRAYS), y = BELOW(ARRAYS), to = BELOW(ARRAYS), what = BELOW(10);
    const size_t n = sizes[BELOW(sizeof sizes / sizeof sizes[0])], shift = n == N ? 0 : BELOW(3);
    const float share = shares[BELOW(6)], a = share < 0 ? 0.5f : -0.25f;
    if (what < 6) {
      hx_report report;
      CHECK_OK(map(hx, a, p[x] + shift, p[y] + shift, p[to] + shift, n, share, &report));
      CHECK_OK(map(cpu, a, want[x] + shift, want[y] + shift, want[to] + shift, n, 0, NULL));
      several += report.gpu_share == 1 && report.chunks > 1;
    } else if (what == 6) {
      hx_value got, wanted;
      CHECK_OK(sum(hx, p[x], p[y], n, share, &got, NULL));
      CHECK_OK(sum(cpu, want[x], want[y], n, 0, &wanted, NULL));
      CHECK(got.u64 == wanted.u64, "round %u: %g, not %g", r, (double)got.f32, (double)wanted.f32);
    } else if (what == 7) {
      CHECK_OK(hx_sync(hx, p[to] + shift, n * sizeof(float)));
      CHECK(memcmp(p[to] + shift, want[to] + shift, n * sizeof(float)) == 0, "round %u: array %u differs", r, to);
    } else if (what == 8) { /* the host writes all of it */
      data_fill(HX_F32, DATA_SIGNED, r, p[to], N);
      memcpy(want[to], p[to], sizeof want[to]);
      CHECK_OK(hx_modified(hx, p[to], sizeof want[to]));
    } else {
      CHECK_OK(hx_advise(hx, p[to], sizeof want[to], BELOW(4)));
      CHECK(memcmp(p[to], want[to], sizeof want[to]) == 0, "round %u: array %u under new advice differs", r, to);
    }
  }
  printf("  %u maps of the device alone had several chunks\n", several);
  for (unsigned i = 0; i < ARRAYS; i++) {
    CHECK_OK(hx_sync(hx, p[i], sizeof want[i]));
    CHECK(memcmp(p[i], want[i], sizeof want[i]) == 0, "at the end: array %u differs", i);
    hx_free(hx, p[i]);
  }
  return several;
}

int main(int argc, char **argv) {
  const char *const device = argc > 1 ? argv[1] : "pocl", *const memory = argc > 2 ? argv[2] : "copy";
  char list[64];
  snprintf(list, sizeof list, "cpu,%s", device);
  if (!open_contexts(list, memory)) {
    printf("resident_map_test: skipped: no usable device %s\n", device);
    return SKIPPED;
  }
  results_stay();
  no_room_in_place();
  any_order(argc > 3 ? (unsigned)atoi(argv[3]) : 300, argc > 4 ? strtoull(argv[4], NULL, 0) : 20261127);
  most_leaves = 3;
  results_stay();
  CHECK(any_order(100, 7) > 0, "no map had several chunks");
  close_contexts();
  return checks_end("resident_map_test");
}
