/* SPDX-License-Identifier: Apache-2.0
 * Registered memory and a device that looks like a discrete GPU. The memory is pinned once, in the background or by
 * hx_register, the device copies it in place, and hx_unregister and hx_close unpin it. If it cannot be pinned, it goes
 * through the staging ring, and the CPU computes chunks that are slow on that way. The bits are always right.
 *     pin_test libpin_layer.so libcheck_layer.so  */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"
#include "reference/data.h"
#include "tests/layers/pin_layer.h"
#include "reference/ref.h"

enum { N = 2400007, M = 515, K = 530, GAP = 5 };

static layer_pins_t *layer;

static hx_context *open_by(const char *schedule, const char *timeout_ms) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.schedule = schedule;
  s.devices = "cpu,pocl";
  s.memory = "copy";
  s.timeout_ms = timeout_ms;
  return open_or_exit(&s);
}
static hx_context *open_with(const char *timeout_ms) { return open_by("adaptive", timeout_ms); }

/* An array that shares no page with others and does not begin at the beginning of a page. */
static float *filled(size_t n, uint64_t seed) {
  float *const p = aligned_alloc(4096, ((n + 1) * sizeof *p + 4095) & ~(size_t)4095);
  if (!p) exit(1);
  data_fill(HX_F32, DATA_EXPONENTS, seed, p + 1, n);
  return p + 1;
}

static void free_filled(float *p) { free(p - 1); }

typedef struct moved {
  size_t pinned, across, other;
} moved;

static moved so_far(void) { return (moved){layer->from_pinned, layer->across, layer->from_else}; }
static moved moved_since(moved m) {
  return (moved){layer->from_pinned - m.pinned, layer->across - m.across, layer->from_else - m.other};
}

static hx_report sum_with(hx_context *hx, const float *x, size_t n, float share, uint64_t want, const char *what) {
  hx_value got = {.u64 = 0};
  hx_report report = {.seconds = 0};
  hx_task t = hx_reduce(HX_SUM, HX_F32, x, n, &got);
  t.gpu_share = share;
  CHECK_OK(hx_offload(hx, &t, &report));
  CHECK(got.u64 == want, "%s, share %g: bits %llx instead of %llx", what, (double)share, (unsigned long long)got.u64,
        (unsigned long long)want);
  return report;
}

static uint64_t sum_of(const float *x, size_t n) { return ref_reduce(HX_SUM, HX_F32, x, NULL, n).u64; }

/* What is copied while the device computes half of a sum, and then all of it. */
static moved moved_by_sums(hx_context *hx, const float *x, size_t n, const char *what) {
  const uint64_t want = sum_of(x, n);
  const moved before = so_far();
  for (int i = 1; i <= 2; i++) {
    const hx_report r = sum_with(hx, x, n, (float)i * 0.5f, want, what);
    CHECK(r.gpu_share > 0.4, "%s: the device did %g of it", what, r.gpu_share);
  }
  return moved_since(before);
}

static void expect_pinned(moved m, const char *what) {
  CHECK(m.pinned > 0 && m.other == 0 && m.across == 0, "%s: %zu bytes out of pinned memory, %zu of others, %zu of both",
        what, m.pinned, m.other, m.across);
}
static void expect_ring(moved m, const char *what) {
  CHECK(m.pinned == 0 && m.other > 0 && m.across == 0, "%s: %zu bytes out of pinned memory, %zu of others, %zu of both",
        what, m.pinned, m.other, m.across);
}

/* Memory is registered before any device is known: the first call with a device uses it unpinned, and asks for it to be
 * pinned. */
static void before_devices(void) {
  hx_context *const hx = open_with("off");
  float *const x = filled(N, 1);
  CHECK_OK(hx_register(hx, x, N * sizeof *x));
  CHECK(layer->live == 0, "%zu buffers before there is a device", layer->live);
  moved_by_sums(hx, x, N, "while it is not pinned yet");
  const double till = seconds_now() + 60;
  moved m = {0, 0, 0};
  do m = moved_by_sums(hx, x, N, "while it is being pinned");
  while (m.other && seconds_now() < till);
  expect_pinned(m, "pinned in the background");
  CHECK(layer->live == 1, "%zu buffers made in the background", layer->live);
  CHECK_OK(hx_ready(hx));
  CHECK(layer->live == 1, "%zu buffers after hx_ready", layer->live);
  CHECK_OK(hx_unregister(hx, x));
  CHECK(layer->live == 0, "%zu buffers after hx_unregister", layer->live);
  expect_ring(moved_by_sums(hx, x, N, "registered no longer"), "registered no longer");
  hx_close(hx);
  free_filled(x);
}

static void check_products(hx_context *hx, bool trans) {
  const size_t lda = (trans ? M : K) + GAP, ldb = (trans ? K : M) + GAP, ldc = M + GAP;
  const size_t na = (trans ? K : M) * lda, nb = (trans ? M : K) * ldb, nc = M * ldc;
  float *const a = filled(na, 11), *const b = filled(nb, 12), *const c = filled(nc, 13), *const want = filled(nc, 13);
  struct hx_matmul_args args = hx_matmul(M, M, K, a, b, want).matmul;
  args.lda = lda, args.ldb = ldb, args.ldc = ldc, args.trans_a = args.trans_b = trans, args.beta = 0.5f;
  ref_matmul(&args);
  CHECK_OK(hx_register(hx, a, na * sizeof *a));
  CHECK_OK(hx_register(hx, b, nb * sizeof *b));
  const size_t live = layer->live;
  const moved before = so_far();
  hx_task t = hx_matmul(M, M, K, a, b, c);
  t.matmul = args;
  t.matmul.c = c;
  t.gpu_share = trans ? 0.6f : 1.0f;
  CHECK_OK(hx_offload(hx, &t, NULL));
  CHECK(memcmp(c, want, nc * sizeof *c) == 0, "product, transposed %d: bits", trans);
  expect_pinned(moved_since(before), "a product");
  CHECK_OK(hx_unregister(hx, a));
  CHECK_OK(hx_unregister(hx, b));
  CHECK(live >= 2 && layer->live == live - 2, "%zu of %zu buffers left", layer->live, live);
  free_filled(a), free_filled(b), free_filled(c), free_filled(want);
}

/* Each range is pinned once, however often it is registered and used; hx_close releases what is left. */
static void pinned_once(void) {
  hx_context *const hx = open_with("off"), *const other = open_with("off");
  float *const x = filled(N, 2);
  CHECK_OK(hx_ready(hx));
  CHECK_OK(hx_ready(other));
  const size_t made = layer->made;
  CHECK_OK(hx_register(hx, x, N * sizeof *x));
  CHECK(layer->made == made + 1 && layer->live == 1, "%zu buffers made, %zu live", layer->made - made, layer->live);
  CHECK(layer->live_bytes >= N * sizeof *x, "only %zu bytes of %zu", layer->live_bytes, N * sizeof *x);
  for (int i = 0; i < 3; i++) expect_pinned(moved_by_sums(hx, x, N, "registered"), "registered");
  expect_pinned(moved_by_sums(hx, x + 1000, N - 3000, "a part"), "a part");
  x[N / 2] = 3.0f;
  expect_pinned(moved_by_sums(hx, x, N, "written anew"), "written anew");
  check_products(hx, false);
  CHECK_OK(hx_register(other, x, N * sizeof *x));
  expect_pinned(moved_by_sums(other, x, N, "another context"), "another context");
  CHECK(layer->live == 1, "%zu buffers for two contexts", layer->live);
  CHECK(layer->made == made + 3, "%zu buffers made for an array and two operands", layer->made - made);
  CHECK_OK(hx_unregister(hx, x));
  expect_pinned(moved_by_sums(other, x, N, "the other context alone"), "the other context alone");
  CHECK(layer->live == 1, "%zu buffers for the other context", layer->live);
  check_products(hx, true);
  hx_close(other);
  CHECK(layer->live == 0, "%zu buffers after hx_close", layer->live);
  hx_close(hx);
  free_filled(x);
}

/* Ranges that share a page, and one that is pinned in pieces. */
static void ranges_share_a_page(void) {
  hx_context *const hx = open_with("off");
  const size_t large = (size_t)56 << 20;
  float *const x = filled(large, 3);
  CHECK_OK(hx_ready(hx));
  CHECK_OK(hx_register(hx, x, N * sizeof *x));
  CHECK_OK(hx_register(hx, x + N, N * sizeof *x));
  CHECK_OK(hx_register(hx, x + 2 * N, N * sizeof *x));
  for (int i = 0; i < 3; i++) {
    const moved m = moved_by_sums(hx, x + (size_t)i * N, N, "neighbours");
    CHECK(m.across == 0 && m.pinned > 100 * m.other, "neighbour %d: %zu bytes pinned, %zu not, %zu both", i, m.pinned,
          m.other, m.across);
  }
  CHECK_OK(hx_unregister(hx, x + N));
  expect_ring(moved_by_sums(hx, x + N, N, "the one between"), "the one between");
  CHECK_OK(hx_unregister(hx, x));
  CHECK_OK(hx_unregister(hx, x + 2 * N));
  CHECK_OK(hx_register(hx, x, large * sizeof *x));
  CHECK(layer->live >= 3, "%zu MiB in %zu pieces", large * sizeof *x >> 20, layer->live);
  expect_pinned(moved_by_sums(hx, x, large, "in pieces"), "in pieces");
  hx_close(hx);
  CHECK(layer->live == 0, "%zu buffers after hx_close", layer->live);
  free_filled(x);
}

/* The driver refuses to pin, or silently does not pin; and memory that may not be read or written. */
static void refusals(void) {
  hx_context *const hx = open_with("off");
  float *const x = filled(N, 4);
  CHECK_OK(hx_ready(hx));
  for (int i = 0; i < 2; i++) {
    *(i ? &layer->slow : &layer->refuse) = 1;
    CHECK_OK(hx_register(hx, x, N * sizeof *x));
    CHECK(layer->live == 0, "%zu buffers", layer->live);
    layer->slow = layer->refuse = 0;
    expect_ring(moved_by_sums(hx, x, N, i ? "slow" : "refused"), i ? "slow" : "refused");
    CHECK_OK(hx_unregister(hx, x));
  }
  const size_t bytes = N * sizeof *x & ~(size_t)4095;
  FILE *const file = tmpfile();
  CHECK(file && fwrite(x, 1, bytes, file) == bytes && fflush(file) == 0, "no file");
  float *const only_read = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fileno(file), 0);
  CHECK_OK(hx_register(hx, only_read, bytes));
  moved_by_sums(hx, only_read, bytes / sizeof *x, "a file, for reading only");
  CHECK_OK(hx_unregister(hx, only_read));
  munmap(only_read, bytes);
  fclose(file);
  const size_t live = layer->live;
  float *const none = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK_OK(hx_register(hx, none, bytes));
  CHECK(layer->live == live, "memory that may not be read is pinned");
  CHECK_OK(hx_unregister(hx, none));
  munmap(none, bytes);
  hx_close(hx);
  free_filled(x);
}

/* A forked child computes on the CPU and does not use the parent's devices. */
static void child_of_a_fork(void) {
  hx_context *const hx = open_with("off");
  float *const x = filled(N, 5);
  CHECK_OK(hx_ready(hx));
  CHECK_OK(hx_register(hx, x, N * sizeof *x));
  const uint64_t want = sum_of(x, N);
  const pid_t child = fork();
  if (child == 0) {
    checks_failed = 0;
    sum_with(hx, x, N, 1, want, "in a child");
    CHECK_OK(hx_unregister(hx, x));
    CHECK_OK(hx_register(hx, x, N * sizeof *x));
    hx_close(hx);
    fflush(stdout);
    _exit(checks_failed != 0 || layer->live != 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child's status is %x", status);
  x[7] = 11.0f;
  expect_pinned(moved_by_sums(hx, x, N, "after a fork"), "after a fork");
  hx_close(hx);
  free_filled(x);
}

/* A chunk that was given up may still read the memory. Its buffer stays until the chunk has ended, and no later call
 * uses that buffer, because the memory may consist of other pages by then. */
static void late_read_keeps_buffer(void) {
  hx_context *const hx = open_with("400");
  float *const x = filled(N, 6);
  CHECK_OK(hx_ready(hx));
  CHECK_OK(hx_register(hx, x, N * sizeof *x));
  const uint64_t want = sum_of(x, N);
  sum_with(hx, x, N, 1, want, "before");
  layer->stall_ms = 2500;
  const double from = seconds_now();
  const hx_report r = sum_with(hx, x, N, 1, want, "while an upload stalls");
  CHECK(r.recovered > 0 && seconds_now() < from + 2.4, "%u chunks recovered, %.2f s", r.recovered,
        seconds_now() - from);
  CHECK_OK(hx_unregister(hx, x));
  CHECK(layer->live == 1, "%zu buffers while one is read", layer->live);
  CHECK_OK(hx_register(hx, x, N * sizeof *x));
  data_fill(HX_F32, DATA_EXPONENTS, 7, x, N);
  while (seconds_now() < from + 2.8) nanosleep(&(struct timespec){0, 50000000}, NULL);
  expect_ring(moved_by_sums(hx, x, N, "other data at the same address"), "other data at the same address");
  CHECK_OK(hx_unregister(hx, x));
  CHECK(layer->live == 0, "%zu buffers when it has ended", layer->live);
  CHECK_OK(hx_register(hx, x, N * sizeof *x));
  expect_pinned(moved_by_sums(hx, x, N, "and once more"), "and once more");
  hx_close(hx);
  free_filled(x);
}

/* While a chunk is slowly copied through the ring, the idle thread pool computes it, and the rest is no longer
 * copied. */
static void cpu_overtakes_ring(void) {
  enum { LARGE = 24 << 20, CALLS = 20 };
  hx_context *const hx = open_by("dynamic", "20000"); /* with this policy the device always takes part */
  float *const x = filled(LARGE, 8);
  CHECK_OK(hx_ready(hx));
  const uint64_t want = sum_of(x, LARGE);
  sum_with(hx, x, LARGE, 1, want, "at full speed");
  layer->drag_ms = 200;
  unsigned recovered = 0;
  for (int i = 0; i < CALLS && !recovered; i++) {
    const moved before = so_far();
    const hx_report r = sum_with(hx, x, LARGE, -1, want, "overtaken");
    recovered = r.recovered;
    printf("  %.3f s, the device did %.2f and was sent %.1f MB, %u recovered\n", r.seconds, r.gpu_share,
           1e-6 * (double)moved_since(before).other, recovered);
  }
  layer->drag_ms = 0;
  CHECK(recovered, "the pool computed no chunk while it was being copied");
  expect_ring(moved_by_sums(hx, x, LARGE, "afterwards"), "afterwards");
  hx_close(hx);
  free_filled(x);
}

/* How many chunks of a sum the trace has, and how many of them took less than the 1 ms in which each was copied. */
static unsigned short_chunks(const float *x, size_t n, unsigned *chunks) {
  char path[4096], line[1024];
  const char *const scratch = getenv("TEST_TMPDIR");
  snprintf(path, sizeof path, "%s/pin_test.json", scratch ? scratch : "/tmp");
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = "cpu,pocl";
  s.threads = "1"; /* it has to be busy for as long as two chunks are being copied */
  s.memory = "copy";
  s.schedule = "dynamic";
  s.chunk = "262144";
  s.timeout_ms = "off";
  s.trace = path;
  hx_context *const hx = open_or_exit(&s);
  CHECK_OK(hx_ready(hx));
  layer->drag_ms = 1;
  sum_with(hx, x, n, -1, sum_of(x, n), "chunk by chunk");
  layer->drag_ms = 0;
  hx_close(hx);
  FILE *const trace = fopen(path, "r");
  unsigned shorts = 0;
  while (trace && fgets(line, sizeof line, trace)) {
    const char *const dur = strstr(line, "\"dur\":"), *const pid = strstr(line, "\"pid\":");
    if (!strstr(line, "\"cat\":\"chunk\"") || !dur || !pid || atoi(pid + 6) == 0) continue;
    ++*chunks;
    shorts += atof(dur + 6) < 0.95e3;
  }
  if (trace) fclose(trace);
  remove(path);
  return shorts;
}

/* The time of a copy counts for the chunk that it belongs to, because the model learns from that. If other programs use
 * the cores, the end of a chunk is seen late, and the next chunk seems short. */
static void each_its_own(void) {
  enum { LARGE = 56 << 20, RUNS = 12 };
  float *const x = filled(LARGE, 9);
  unsigned chunks = 0, wrong = 0;
  for (int i = 0; i < RUNS; i++) wrong += short_chunks(x, LARGE, &chunks) > 0;
  CHECK(chunks >= 2 * RUNS, "%u chunks in the traces", chunks);
  CHECK(wrong <= RUNS * 2 / 3, "in %u of %d runs a chunk took less than the 1 ms in which it was copied", wrong, RUNS);
  free_filled(x);
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  char *const path = realpath(argv[1], NULL), *const checks = realpath(argv[2], NULL);
  const char *const scratch = getenv("TEST_TMPDIR");
  char list[8192], text[4096];
  if (!path || !checks) return 2;
  snprintf(list, sizeof list, "%s:%s", path, checks);
  snprintf(text, sizeof text, "%s/pin_test.log", scratch ? scratch : "/tmp");
  remove(text);
  setenv("LAYER_LOG", text, 1);
  setenv("OPENCL_LAYERS", list, 1);
  setenv("OCL_ICD_VENDORS", "/etc/OpenCL/vendors/pocl.icd", 1);
  setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
  snprintf(text, sizeof text, "%s/pocl", scratch ? scratch : "/tmp");
  if (scratch) setenv("POCL_CACHE_DIR", text, 1);
  void *const library = dlopen(path, RTLD_NOW);
  layer = library ? dlsym(library, "layer_pins") : NULL;
  if (!layer) {
    printf("%s\n", dlerror());
    return 1;
  }
  before_devices();
  pinned_once();
  ranges_share_a_page();
  refusals();
  child_of_a_fork();
  cpu_overtakes_ring();
  each_its_own();
  late_read_keeps_buffer();
  free(path);
  free(checks);
  return checks_end("pin_test");
}
