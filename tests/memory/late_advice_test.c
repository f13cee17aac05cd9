/* SPDX-License-Identifier: Apache-2.0
 * The first advice of a program, given by one thread while another one writes a small product, or a batch of them, into
 * the same block: a device that copies the block just then has the old contents, so that its copy must not count once
 * the products are written. The advice is given in the middle of the call, where another thread would give it. */
#include "reference/data.h"
#include "runtime/api/pieces.h"
#include "tests/check.h"

enum { SIDE = 16, CELLS = SIDE * SIDE, BATCH = 8 };

static hx_context *hx;
static float *block; /* a matrix, and behind it those of the batch: all in one block of a device's copy */
static float a[BATCH * CELLS], b[BATCH * CELLS];
static bool armed;

/* block's matrix `which` times b, on the device or the CPU. */
static void multiply(int which, float share, float *c) {
  hx_task t = hx_matmul(SIDE, SIDE, SIDE, block + which * CELLS, b, c);
  t.gpu_share = share;
  CHECK_OK(hx_offload(hx, &t, NULL));
}

/* If the test wants it: advice, and a product for which the device copies the block. */
static void advise_once(void) {
  float unused[CELLS];
  if (!armed) return;
  armed = false;
  CHECK_OK(hx_advise(hx, block, (BATCH + 1) * CELLS * sizeof *block, HX_READ_MOSTLY));
  multiply(0, 1.0f, unused);
}

void __real_hx__pieces_run(hx__pieces *pieces);
void __wrap_hx__pieces_run(hx__pieces *pieces);
void __wrap_hx__pieces_run(hx__pieces *pieces) {
  advise_once();
  __real_hx__pieces_run(pieces);
}

/* The CPU's kernels, which give the advice before a small product is written. */
static const hx__cpu_kernels *kernels;
static hx__cpu_kernels with_advice;
static bool direct_with_advice(const hx__gemm *g) {
  advise_once();
  return kernels->gemm_direct(g);
}

/* A call that writes the first `count` products, and during which the first advice is given. */
static void expect_new(const hx_task *task, int count, const char *what) {
  float by_device[CELLS], by_cpu[CELLS];
  armed = true;
  CHECK_OK(hx_offload(hx, task, NULL));
  CHECK(!armed, "%s is computed in another way", what);
  for (int i = 1; i <= count; i++) {
    multiply(i, 1.0f, by_device);
    multiply(i, 0.0f, by_cpu);
    CHECK(memcmp(by_device, by_cpu, sizeof by_cpu) == 0, "%s: the device has the old contents of product %d", what, i);
  }
  CHECK_OK(hx_advise(hx, block, (BATCH + 1) * CELLS * sizeof *block, 0));
}

int main(void) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = "cpu,sim";
  s.sim = "rate=1e10,latency_us=5";
  s.memory = "copy";
  s.threads = "2";
  s.cache_dir = "off";
  hx = open_or_exit(&s);
  CHECK_OK(hx_ready(hx));
  block = hx_alloc(hx, (BATCH + 1) * CELLS * sizeof *block);
  if (!block) return 1;
  data_fill(HX_F32, DATA_SIGNED, 1, a, BATCH * CELLS);
  data_fill(HX_F32, DATA_SIGNED, 2, b, BATCH * CELLS);
  data_fill(HX_F32, DATA_SIGNED, 3, block, (BATCH + 1) * CELLS);
  hx_task batch = hx_matmul_batched(SIDE, SIDE, SIDE, a, CELLS, b, CELLS, block + CELLS, CELLS, BATCH);
  batch.gpu_share = 0.0f;
  expect_new(&batch, BATCH, "a batch");
  kernels = hx->table.kernels;
  with_advice = *kernels;
  with_advice.gemm_direct = direct_with_advice;
  hx->table.kernels = &with_advice;
  data_fill(HX_F32, DATA_SIGNED, 4, block, (BATCH + 1) * CELLS);
  hx_task product = hx_matmul(SIDE, SIDE, SIDE, a, b, block + CELLS);
  expect_new(&product, 1, "a product");
  hx_free(hx, block);
  hx_close(hx);
  return checks_end("late_advice_test");
}
