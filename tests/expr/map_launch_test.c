/* SPDX-License-Identifier: Apache-2.0
 * A map-reduce on a device is one launch for each chunk: every operation and type, and expressions of which a GPU's
 * items make 32nds of a leaf or a group makes a leaf, at sizes around a leaf and any 4-byte alignment, has the bits of
 * the definition, and no device falls back to writing the elements first, which would give these bits, too. A map of a
 * narrow matrix with gaps has few launches and few idle work-items. map_launch_test DEVICE MEMORY[,MEMORY...] [DRESS]
 * DRESS: gpu or igpu, for the kernels of GPUs (dress_layer), whose groups are counted. */
#include <stdarg.h>

#include "reference/data.h"
#include "reference/ref.h"
#include "runtime/backend/opencl/cl.h"
#include "runtime/hx_map.h"
#include "tests/check.h"

enum { LEAF = 4096, GROUP = 256, LEAVES = 8, TYPES = HX_U32 + 1, ELEMENTS = 400000, GAP = 2 };
enum { SHORT_LEAVES = 16 }; /* for each compute unit: longer launches have groups of LEAVES leaves (launch_map.c) */

/* What the library logs, and the kernels that it launches. */

static _Atomic unsigned launches, ready;
static _Atomic size_t items, last_items; /* of all launches, and of the last one */
static double slowest_ms; /* of the builds; the thread that prepares writes it, and calls wait for that thread */

void __real_hx__log_write(hx__log_level level, const char *format, ...);
void __wrap_hx__log_write(hx__log_level level, const char *format, ...);
void __wrap_hx__log_write(hx__log_level level, const char *format, ...) {
  char line[4096];
  va_list list;
  va_start(list, format);
  vsnprintf(line, sizeof line, format, list);
  va_end(list);
  __real_hx__log_write(level, "%s", line);
  CHECK(!strstr(line, "cannot reduce a user kernel in one launch") && !strstr(line, "refuses a user kernel"), "%s",
        line);
  const char *const built = strstr(line, "user kernel ready in ");
  if (!built) return;
  const double ms = strtod(built + strlen("user kernel ready in "), NULL);
  if (ms > slowest_ms) slowest_ms = ms;
  ready++;
}

cl_int __real_hx__clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset,
                                         const size_t *global, const size_t *local, cl_uint n, const cl_event *waits,
                                         cl_event *event);
cl_int __wrap_hx__clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset,
                                         const size_t *global, const size_t *local, cl_uint n, const cl_event *waits,
                                         cl_event *event);
cl_int __wrap_hx__clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset,
                                         const size_t *global, const size_t *local, cl_uint n, const cl_event *waits,
                                         cl_event *event) {
  launches++;
  last_items = global[0] * (dims > 1 ? global[1] : 1);
  items += last_items;
  return __real_hx__clEnqueueNDRangeKernel(q, k, dims, offset, global, local, n, waits, event);
}

typedef struct arrays {
  uint32_t *x, *y, *values;
  size_t most;  /* elements */
  size_t whole; /* a launch of as many leaves at most has a group for each leaf of a long expression */
} arrays;

typedef struct contexts {
  hx_context *cpu, *device;
  bool is_gpu;
} contexts;

static const hx_op ops[] = {HX_SUM, HX_MIN, HX_MAX, HX_ARGMIN, HX_ARGMAX, HX_SUM_ABS, HX_SUM_SQUARES, HX_PROD};
enum { OPS = sizeof ops / sizeof ops[0] };

/* One call; `shift` elements into the arrays. The first call of a kernel waits for its program, whose self-test
 * launches it, too. The CPU, in a context of its own, makes the elements. */
static void check_call(const contexts *c, const hx_kernel *k, hx_op op, arrays *a, size_t n, size_t shift,
                       const char *text) {
  const void *const inputs[] = {a->x + shift, a->y + (shift ? 3 - shift : 0)};
  const hx_value p = {.f32 = 0.75f};
  hx_value got = {.u64 = 1};
  hx_report report = {0};
  const hx_task map = hx_map(k, inputs, n, &p, a->values);
  CHECK_OK(hx_offload(c->cpu, &map, NULL));
  const hx_value wanted = ref_reduce(op, hx_kernel_type(k), a->values, a->values, n);
  hx_task reduce = hx_map_reduce(op, k, inputs, n, &p, &got);
  reduce.gpu_share = 1.0f;
  const unsigned launched = launches, were_ready = ready;
  CHECK_OK(hx_offload(c->device, &reduce, &report));
  const unsigned more = launches - launched;
  CHECK(got.u64 == wanted.u64, "op %d of %zu, shift %zu: %llx, not %llx: %s", op, n, shift, (unsigned long long)got.u64,
        (unsigned long long)wanted.u64, text);
  CHECK(report.gpu_share == 1.0, "the device did %g of op %d of %zu", report.gpu_share, op, n);
  CHECK(ready > were_ready ? more > report.chunks : more == report.chunks, "%u launches of %u chunks: op %d of %zu",
        more, report.chunks, op, n);
}

/* The last call was one chunk of a long expression. */
static void check_groups(const contexts *c, const arrays *a, size_t n) {
  const size_t leaves = (n + LEAF - 1) / LEAF, groups = leaves <= a->whole ? leaves : (leaves + LEAVES - 1) / LEAVES;
  if (c->is_gpu) CHECK(last_items == groups * GROUP, "%zu items for %zu leaves", (size_t)last_items, leaves);
}

/* y_row: "row " if y has one value. */
static void check_kernel(const contexts *c, hx_op op, hx_type type, const char *text, const char *y_row, arrays *a,
                         bool is_long) {
  const size_t sizes[] = {LEAF - 1, LEAF + 1, 2 * LEAF, 9 * LEAF + 77, a->whole * LEAF, a->most};
  static const char *const words[TYPES] = {[HX_F32] = "float", [HX_I32] = "int", [HX_U32] = "unsigned"};
  char inputs[64], parameters[32];
  snprintf(inputs, sizeof inputs, "%s x, %s%s y", words[type], y_row, words[type]);
  snprintf(parameters, sizeof parameters, "%s p", words[type]);
  const hx_kernel_source source = {.text = text, .inputs = inputs, .parameters = parameters};
  hx_kernel *k;
  CHECK_OK(hx_compile(c->device, &source, &k));
  if (!k) return;
  for (size_t i = 0; i < (is_long ? 6 : 4); i++) {
    check_call(c, k, op, a, sizes[i], i % 3, text);
    if (is_long) check_groups(c, a, sizes[i]);
  }
  hx_kernel_free(k);
}

/* Every operation and type, then expressions of other lengths; returns how many. */
static unsigned check_kernels(const contexts *c, arrays *a) {
  static const char *const texts[TYPES] = {[HX_F32] = "x - y * p", [HX_I32] = "x ^ y + p", [HX_U32] = "x * p - y"};
  static const struct {
    hx_op op;
    hx_type type;
    const char *text, *y_row;
  } more[] = {{HX_SUM, HX_F32, "expf(x) - y * p", ""}, /* a little longer than the longest short one */
              {HX_ARGMAX, HX_F32, "logf(x) * p", ""},  /* y is not used */
              {HX_SUM, HX_F32, "expf(x - y) / (erff(y) + p)", "row "},
              {HX_ARGMAX, HX_U32, /* longer than a short one */
               "unsigned h = (x ^ index) * 2654435761u; unsigned g = (h ^ h >> 15) * 0x2c1b3c6du + index;"
               "unsigned f = (g ^ g >> 12) * 0x297a2d39u - y; (f ^ f >> 15) + (row ^ h) * p + (g << 3)",
               ""},
              {HX_SUM, HX_F32, "expf(x) * (float)index - erff(y) * p", ""},
              {HX_MAX, HX_F32, "erff(x) - logf(fabsf(y)) * p", ""},
              {HX_SUM, HX_I32, /* joined in vectors of 64-bit integers */
               "int a = x * 3 + y; int b = a * 5 ^ x; int c = b * 7 - y; int d = (c ^ a) + (b >> 5);"
               "int e = d * 11 + (a & c); int f = (e ^ d) * 13 - b; f + (e >> 3) + p * a",
               ""}};
  for (int type = HX_F32; type < TYPES; type++) {
    data_fill((hx_type)type, DATA_SIGNED, 5, a->x, a->most + 4);
    data_fill((hx_type)type, DATA_SIGNED, 6, a->y, a->most + 4);
    for (size_t o = 0; o < OPS; o++) check_kernel(c, ops[o], (hx_type)type, texts[type], "", a, false);
    check_kernel(c, HX_SUM, (hx_type)type, texts[type], "row ", a, false);
  }
  for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
    data_fill(more[i].type, DATA_SIGNED, 7, a->x, a->most + 4);
    data_fill(more[i].type, DATA_SIGNED, 8, a->y, a->most + 4);
    check_kernel(c, more[i].op, more[i].type, more[i].text, more[i].y_row, a, true);
  }
  return (TYPES - HX_F32) * (OPS + 1) + sizeof more / sizeof more[0];
}

/* A matrix of `cols` columns, which divide a leaf, so that a chunk is one rectangle. A GPU has one launch for each, and
 * items for less than twice the columns; a CPU has one for 32768 rows, and items for eight columns at least. Edges of
 * groups have up to 256 rows more. */
static void check_narrow(const contexts *c, const hx_kernel *k, size_t cols) {
  const size_t rows = ELEMENTS / cols, ld = cols + GAP, words = rows * ld;
  uint32_t *const x = malloc(words * sizeof *x), *const got = malloc(words * sizeof *got),
                  *const want = malloc(words * sizeof *want);
  if (!x || !got || !want) exit(1);
  data_fill(HX_F32, DATA_SIGNED, cols, x, words);
  memset(got, 0xa5, words * sizeof *got);
  memset(want, 0xa5, words * sizeof *want);
  const void *const inputs[] = {x};
  const hx_value p = {.f32 = 0.75f};
  hx_report report = {0};
  hx_task map = hx_map_rows(k, inputs, &ld, rows, cols, &p, want, ld);
  CHECK_OK(hx_offload(c->cpu, &map, NULL));
  map.map.out = got;
  map.gpu_share = 1.0f;
  CHECK_OK(hx_offload(c->device, &map, &report)); /* waits for the program */
  const unsigned launched = launches;
  const size_t before = items;
  CHECK_OK(hx_offload(c->device, &map, &report));
  const unsigned more = launches - launched, most = report.chunks + (c->is_gpu ? 0 : (unsigned)(rows / 32768));
  const size_t used = items - before,
               limit = (c->is_gpu || cols > 4 ? 2 * cols : 8) * (rows + (size_t)256 * report.chunks);
  CHECK(memcmp(got, want, words * sizeof *got) == 0, "%zu x %zu: the elements differ", rows, cols);
  CHECK(more <= most, "%u launches of %u chunks: %zu x %zu", more, report.chunks, rows, cols);
  CHECK(used <= limit, "%zu items for %zu x %zu, in %u chunks", used, rows, cols, report.chunks);
  free(x);
  free(got);
  free(want);
}

static void check_all_narrow(const contexts *c) {
  static const size_t cols[] = {1, 2, 4, 32, 64};
  const hx_kernel_source source = {.text = "x * p", .inputs = "float x", .parameters = "float p"};
  hx_kernel *k;
  CHECK_OK(hx_compile(c->device, &source, &k));
  for (size_t i = 0; k && i < sizeof cols / sizeof cols[0]; i++) check_narrow(c, k, cols[i]);
  hx_kernel_free(k);
}

/* A call that does not wait for a device makes it build its kernel, and hx_ready waits for that. */
static void check_ready(const char *device) {
  enum { N = 100000 };
  char devices[64];
  hx_settings settings = HX_SETTINGS_DEFAULT;
  snprintf(devices, sizeof devices, "cpu,%s", device);
  settings.devices = devices;
  settings.log = "info";
  settings.min_offload = "0";
  hx_context *const hx = open_or_exit(&settings);
  const hx_kernel_source source = {.text = "x * 3.0f - 0.5f", .inputs = "float x"};
  hx_kernel *k;
  CHECK_OK(hx_compile(hx, &source, &k));
  float *const x = calloc(N, sizeof *x);
  if (!x) exit(1);
  const void *const inputs[] = {x};
  const hx_task task = hx_map(k, inputs, N, NULL, x);
  CHECK_OK(hx_ready(hx));
  const unsigned before = ready;
  CHECK_OK(hx_offload(hx, &task, NULL));
  CHECK_OK(hx_ready(hx));
  CHECK(ready == before + 1, "%u programs are ready after hx_ready, and %u were before the call", ready, before);
  free(x);
  hx_kernel_free(k);
  hx_close(hx);
}

static void allocate(arrays *a, hx_context *device) {
  hx_device_info info = {.compute_units = 1};
  CHECK_OK(hx_device(device, hx_device_count(device) - 1, &info));
  a->whole = SHORT_LEAVES * info.compute_units;
  a->most = (a->whole + 1 > 10 ? a->whole + 1 : 10) * LEAF;
  a->x = malloc((a->most + 4) * sizeof *a->x);
  a->y = malloc((a->most + 4) * sizeof *a->y);
  a->values = malloc(a->most * sizeof *a->values);
  if (!a->x || !a->y || !a->values) exit(1);
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  if (argc > 3) setenv("DRESS", argv[3], 1);
  unsigned kernels = 0;
  for (char *mode = strtok(argv[2], ","); mode; mode = strtok(NULL, ",")) {
    hx_settings settings = HX_SETTINGS_DEFAULT;
    settings.log = "info";
    settings.timeout_ms = "100000"; /* llvmpipe compiles some programs for longer than a call of a driver may take */
    settings.devices = "cpu";
    contexts c = {.cpu = open_or_exit(&settings)};
    settings.devices = argv[1];
    settings.memory = mode;
    c.device = open_or_exit(&settings);
    c.is_gpu = argc > 3;
    arrays a;
    allocate(&a, c.device);
    kernels = check_kernels(&c, &a) + 1;
    check_all_narrow(&c);
    free(a.x);
    free(a.y);
    free(a.values);
    hx_close(c.device);
    hx_close(c.cpu);
    CHECK(ready == kernels, "%u programs of %u kernels, memory mode %s", ready, kernels, mode);
  }
  check_ready(argv[1]);
  printf("map_launch_test: %u programs, built and tested in %.0f ms at most\n", ready, slowest_ms);
  return checks_end("map_launch_test");
}
