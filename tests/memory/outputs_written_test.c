/* SPDX-License-Identifier: Apache-2.0
 * Which inputs of a kernel with several outputs a device may read in place, or copy in whole blocks, while the host
 * writes the outputs: none that any of the outputs replaces, and no block that has an element of any of them. Results
 * of such a kernel do not stay on a device, each output makes older copies and results stale, and the spot check looks
 * at all of them. No driver is used. */
#include "runtime/backend/spot_check.h"
#include "runtime/base/config.h"
#include "runtime/base/expr_code.h"
#include "runtime/hx_map.h"
#include "runtime/memory/memory.h"
#include "runtime/task/check.h"
#include "tests/check.h"
#include "tests/host_mirrors.h"

enum { OUTPUTS = 3, N = 1000, PLACES = 8, DISTANCE = 2 * HX__MIRROR_BLOCK / (int)sizeof(float) };

static const hx__backend backend = {.name = "written", .residency = &host_mirrors};
static hx__device device = {.backend = &backend,
                            .modes = 1u << HX__MEMORY_COPY | 1u << HX__MEMORY_HOSTPTR,
                            .zero_copy = 1u << HX__MEMORY_HOSTPTR,
                            .ready = HX__NEED_OPEN};

static float *place[PLACES]; /* blocks apart */

/* A map of places 0, 1 and 2, which writes these. */
static hx__work map(const hx_kernel *k, float *const to[OUTPUTS]) {
  const void *const inputs[] = {place[0], place[1], place[2]};
  void *const outputs[] = {to[0], to[1], to[2]};
  const hx_task t = hx_map_outputs(k, inputs, N, NULL, outputs);
  hx__work w;
  CHECK_OK(hx__task_check(&t, &w));
  return w;
}

/* One output in the place of an input, and the others elsewhere: the device reads only that input from a copy. */
static void check_replaced(const hx_kernel *k, hx__memory *m) {
  for (int o = 0; o < OUTPUTS; o++)
    for (int i = 0; i < OUTPUTS; i++) {
      float *to[OUTPUTS] = {place[3], place[4], place[5]};
      hx__array arrays[OUTPUTS];
      to[o] = place[i];
      const hx__work w = map(k, to);
      hx__memory_resolve(m, &device, &w, arrays);
      for (int a = 0; a < OUTPUTS; a++) {
        const hx__memory_mode want = a == i ? HX__MEMORY_COPY : HX__MEMORY_HOSTPTR;
        CHECK(arrays[a].mode == want, "output %d replaces input %d: input %d has mode %d", o, i, a, arrays[a].mode);
      }
      hx__memory_release(m, &device, &w, arrays, false);
    }
}

/* One output in the block in which an input ends, and the others far from all inputs. */
static void check_blocks(const hx_kernel *k, hx__memory *m) {
  for (int o = -1; o < OUTPUTS; o++) {
    float *to[OUTPUTS] = {place[3], place[4], place[5]};
    hx__array arrays[OUTPUTS];
    if (o >= 0) to[o] = place[1] + N;
    const hx__work w = map(k, to);
    hx__memory_resolve(m, &device, &w, arrays);
    for (int a = 0; a < OUTPUTS; a++)
      CHECK(!arrays[a].mirror == (o >= 0 && a == 1), "output %d beside input 1: input %d has %s mirror", o, a,
            arrays[a].mirror ? "a" : "no");
    hx__memory_release(m, &device, &w, arrays, false);
  }
}

/* Whether the device has input 1 of a map that writes elsewhere. */
static bool is_present(hx__memory *m, const hx_kernel *k) {
  float *const to[OUTPUTS] = {place[3], place[4], place[5]};
  hx__array arrays[OUTPUTS];
  const hx__work w = map(k, to);
  hx__memory_resolve(m, &device, &w, arrays);
  const bool filled = arrays[1].mirror && arrays[1].mirror->filled > 0;
  if (arrays[1].mirror) arrays[1].mirror->filled = arrays[1].mirror->bytes; /* as if it had been copied */
  hx__memory_release(m, &device, &w, arrays, false);
  return filled;
}

static void check_versions(const hx_kernel *k, hx__memory *m, float *inside) {
  static float outside[OUTPUTS][N];
  is_present(m, k);
  CHECK(is_present(m, k), "a copy of an input does not stay");
  for (int o = 0; o < OUTPUTS; o++) {
    float *to[OUTPUTS] = {outside[0], outside[1], outside[2]};
    to[o] = inside;
    const hx__work w = map(k, to);
    hx__memory_claim_outputs(m, &w);
    hx__memory_release_outputs(m, &w, true);
    CHECK(!is_present(m, k), "output %d has been written, and an older copy of its range is used", o);
  }
}

static void check_results(const hx_kernel *k, hx__memory *m) {
  float *const to[OUTPUTS] = {place[3], place[4], place[5]};
  hx__resident_output resident;
  const hx__work w = map(k, to);
  const bool stays = hx__memory_resident_begin(m, &device, &w, true, &resident);
  CHECK(!stays, "one of several outputs stays on the device");
  if (stays) hx__memory_resident_cancel(m, &resident);
}

/* Leaves place 6 on the device alone, as the result of a map with one output. */
static void leave_result(const hx_kernel *one, hx__memory *m) {
  const void *const inputs[] = {place[0]};
  const hx_task t = hx_map(one, inputs, N, NULL, place[6]);
  hx__resident_output resident;
  hx__work w;
  CHECK_OK(hx__task_check(&t, &w));
  hx__memory_claim_outputs(m, &w);
  const bool begun = hx__memory_resident_begin(m, &device, &w, true, &resident);
  CHECK(begun, "a result does not stay on the device");
  resident.complete = true;
  hx__memory_release_outputs(m, &w, true);
  if (begun) CHECK(hx__memory_resident_end(m, &resident), "a result does not stay on the device");
}

/* Whether the host lacks place 6; if so, it gets it. */
static bool is_lacking(hx__memory *m) {
  hx__device_only_result result;
  const bool lacking = hx__memory_find_device_only_in(m, place[6], N * sizeof(float), &result);
  if (lacking) hx__memory_fetch_done(m, &result, true);
  return lacking;
}

/* Whether the device would read place 6 from a result that only it has. */
static bool is_read_there(const hx_kernel *one, hx__memory *m) {
  const void *const inputs[] = {place[6]};
  const hx_task t = hx_map(one, inputs, N, NULL, place[3]);
  hx__array array;
  hx__work w;
  CHECK_OK(hx__task_check(&t, &w));
  hx__memory_resolve(m, &device, &w, &array);
  hx__memory_release(m, &device, &w, &array, false);
  return array.device_only;
}

/* Any output may replace a result that only a device has, or a part of it, for which the host needs the rest. */
static void check_device_only(const hx_kernel *k, const hx_kernel *one, hx__memory *m) {
  for (int o = 0; o < OUTPUTS; o++) {
    float *to[OUTPUTS] = {place[3], place[4], place[5]};
    hx__device_only_result result;
    leave_result(one, m);
    to[o] = place[6] + 1;
    hx__work w = map(k, to);
    const bool found = hx__memory_find_device_only(m, &w, NULL, false, &result);
    CHECK(found, "output %d replaces a part of a result that the host lacks", o);
    if (found) hx__memory_fetch_done(m, &result, true);
    leave_result(one, m);
    CHECK(is_read_there(one, m), "the device does not read its own result");
    to[o] = place[6];
    w = map(k, to);
    CHECK(!hx__memory_find_device_only(m, &w, NULL, false, &result), "output %d: a replaced result is fetched", o);
    hx__memory_claim_outputs(m, &w);
    CHECK(!is_lacking(m), "output %d: a result is fetched while it is replaced", o);
    hx__memory_release_outputs(m, &w, true);
    CHECK(!is_read_there(one, m), "output %d: the device reads a result that has been replaced", o);
    CHECK(!is_lacking(m), "output %d: a result is fetched that has been replaced", o);
  }
}

/* A wrong element of any output, first, in the middle and last, is found. */
static void check_spots(const hx_kernel *k) {
  float *const to[OUTPUTS] = {place[3], place[4], place[5]};
  static uint32_t results[OUTPUTS][N];
  const hx__work w = map(k, to);
  const hx__cpu_kernels *const cpu = hx__cpu_kernels_for(HX__ISA_AUTO);
  const hx__request request = {.work = &w, .kernels = cpu};
  const hx__expr_rows rows = {.n = N, .rows = 1, .ld = w.ld, .ld_out = N};
  const hx__chunk all = {0, w.slices};
  for (int i = 0; i < N; i++) place[0][i] = (float)i, place[1][i] = 0.5f * (float)i, place[2][i] = 3.0f;
  cpu->evaluate(&k->code, w.input, w.parameter, rows, false, (void *[]){results[0], results[1], results[2]});
  CHECK(hx__spot_check_map(&request, all, results[0], N), "right results are found to be wrong");
  for (int o = 0; o < OUTPUTS; o++)
    for (int i = 0; i < 3; i++) {
      uint32_t *const wrong = &results[o][i == 0 ? 0 : i == 1 ? N / 2 : N - 1];
      *wrong ^= 1;
      CHECK(!hx__spot_check_map(&request, all, results[0], N), "output %d: a wrong element is not found", o);
      *wrong ^= 1;
    }
}

int main(void) {
  static const hx_kernel_source source = {.text = "float u = x + y; float v = y + z; float w = z + x;",
                                          .inputs = "float x, float y, float z",
                                          .outputs = "u, v, w"},
                                alone = {.text = "x + 1.0f", .inputs = "float x"};
  const size_t bytes = sizeof(float) * PLACES * DISTANCE;
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "cpu";
  hx_context *const hx = open_or_exit(&settings);
  float *const block = aligned_alloc(4096, bytes);
  hx_kernel *k, *one;
  if (!block || hx_compile(hx, &source, &k) != HX_OK || hx_compile(hx, &alone, &one) != HX_OK) return 1;
  for (int i = 0; i < PLACES; i++) place[i] = block + (size_t)i * DISTANCE;
  static const hx__memory_mode modes[] = {HX__MEMORY_HOSTPTR, HX__MEMORY_COPY};
  for (int copies = 0; copies < 2; copies++) {
    const hx__config config = {.timeout_ms = HX__TIMEOUT_AUTO, .memory = modes[copies]};
    hx__memory m;
    bool again;
    hx__memory_init(&m, &config);
    CHECK_OK(hx__memory_register(&m, block, bytes));
    CHECK_OK(hx__memory_advise(&m, block, bytes, HX_READ_MOSTLY | HX_RESIDENT, &again));
    if (!copies) check_replaced(k, &m);
    if (copies) check_blocks(k, &m);
    if (copies) check_versions(k, &m, place[6]);
    if (copies) check_results(k, &m);
    if (copies) check_device_only(k, one, &m);
    CHECK_OK(hx__memory_unregister(&m, block));
    hx__memory_destroy(&m);
  }
  check_spots(k);
  hx_kernel_free(k);
  hx_kernel_free(one);
  hx_close(hx);
  free(block);
  return checks_end("outputs_written_test");
}
