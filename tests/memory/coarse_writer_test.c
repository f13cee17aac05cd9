/* SPDX-License-Identifier: Apache-2.0
 * A block of coarse-grained shared memory in which a task of the host writes: until that has ended, a device reads a
 * copy of the block, and a result with HX_RESIDENT does not stay on the device, because the next run there, which reads
 * the block in place again, would not find it. No driver is used. */
#include "runtime/base/config.h"
#include "runtime/hx_map.h"
#include "runtime/memory/memory.h"
#include "runtime/task/check.h"
#include "tests/check.h"
#include "tests/host_mirrors.h"

enum { SIDE = 64, CELLS = SIDE * SIDE };

static void *block_alloc(hx__device *device, size_t bytes, hx__memory_mode mode, uint64_t limit_ns, void **block) {
  (void)device, (void)limit_ns;
  return mode == HX__MEMORY_SVM_COARSE ? (*block = aligned_alloc(4096, bytes)) : NULL;
}

static void block_free(hx__device *device, uint64_t limit_ns, void *block) {
  (void)device, (void)limit_ns;
  free(block);
}

static const hx__backend_memory block_memory = {.alloc = block_alloc, .free = block_free};
static const hx__backend backend = {.name = "coarse", .memory = &block_memory, .residency = &host_mirrors};
static hx__device device = {.backend = &backend,
                            .modes = 1u << HX__MEMORY_COPY | 1u << HX__MEMORY_SVM_COARSE,
                            .zero_copy = 1u << HX__MEMORY_SVM_COARSE,
                            .ready = HX__NEED_OPEN};

static hx__work product(const float *a, const float *b, float *c) {
  hx__work w;
  const hx_task t = hx_matmul(SIDE, SIDE, SIDE, a, b, c);
  CHECK_OK(hx__task_check(&t, &w));
  return w;
}

/* The mode in which the device gets the first operand of a product. */
static hx__memory_mode mode_of(hx__memory *m, const hx__work *w) {
  hx__array arrays[HX__PRODUCT_ARRAYS];
  hx__memory_resolve(m, &device, w, arrays);
  hx__memory_release(m, &device, w, arrays, false);
  return arrays[0].mode;
}

/* The same while any of two outputs of a map is written there. */
static void check_outputs(hx__memory *m, float *block, const hx__work *reads) {
  static const hx_kernel_source source = {.text = "float u = x; float v = -x;", .inputs = "float x", .outputs = "u, v"};
  static float x[CELLS], elsewhere[CELLS];
  const void *const inputs[] = {x};
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "cpu";
  hx_context *const hx = open_or_exit(&settings);
  hx_kernel *k;
  CHECK_OK(hx_compile(hx, &source, &k));
  for (int o = 0; o < 2; o++) {
    void *const outputs[] = {o == 0 ? block : elsewhere, o == 1 ? block : elsewhere};
    const hx_task t = hx_map_outputs(k, inputs, CELLS, NULL, outputs);
    hx__work w;
    CHECK_OK(hx__task_check(&t, &w));
    hx__memory_claim_outputs(m, &w);
    CHECK(mode_of(m, reads) == HX__MEMORY_COPY, "the device reads the block in place while output %d is written", o);
    hx__memory_release_outputs(m, &w, true);
    CHECK(mode_of(m, reads) == HX__MEMORY_SVM_COARSE, "the block is not read in place after output %d", o);
  }
  hx_kernel_free(k);
  hx_close(hx);
}

int main(void) {
  hx__device *const devices[] = {&device};
  const hx__config config = {.timeout_ms = HX__TIMEOUT_AUTO};
  static float a[CELLS], b[CELLS], c[CELLS];
  hx__resident_output resident;
  hx__memory m;
  hx__memory_init(&m, &config);
  float *const block = hx__memory_alloc(&m, devices, 1, 2 * CELLS * sizeof *block);
  if (!block) return 1;
  bool again;
  CHECK_OK(hx__memory_advise(&m, block, 2 * CELLS * sizeof *block, HX_RESIDENT, &again));
  const hx__work writes = product(a, b, block), makes = product(a, b, block + CELLS),
                 reads = product(block + CELLS, b, c);
  CHECK(mode_of(&m, &reads) == HX__MEMORY_SVM_COARSE, "the device does not read the block in place");
  hx__memory_claim_outputs(&m, &writes);
  CHECK(mode_of(&m, &reads) == HX__MEMORY_COPY, "the device reads the block in place while the host writes there");
  const bool stays = hx__memory_resident_begin(&m, &device, &makes, true, &resident);
  CHECK(!stays, "a result stays in a copy of a block that the device reads in place");
  if (stays) hx__memory_resident_cancel(&m, &resident);
  hx__memory_release_outputs(&m, &writes, true);
  CHECK(mode_of(&m, &reads) == HX__MEMORY_SVM_COARSE, "the device does not read the block in place afterwards");
  check_outputs(&m, block, &reads);
  hx__memory_destroy(&m);
  return checks_end("coarse_writer_test");
}
