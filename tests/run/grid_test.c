/* SPDX-License-Identifier: Apache-2.0
 * Products that several threads compute as a grid of blocks: the blocks cover C exactly once, for any number of
 * threads, and the bits are those of one thread. Usage: grid_test [SEED] */
#include <stdlib.h>
#include <string.h>

#include "reference/data.h"
#include "runtime/api/context.h"
#include "runtime/base/thresholds.h"
#include "runtime/run/remainder.h"
#include "tests/check.h"

static uint64_t seed, drawn;
static size_t draw(size_t below) { return data_u64(seed, drawn++) % below; }

/* Whether the product is cut; then each element of C is in exactly one block, and no block is empty. */
static bool check_cover(const hx_context *hx, size_t m, size_t n, size_t k, unsigned threads, bool uneven) {
  float *const far[] = {(float *)((uintptr_t)1 << 40), (float *)((uintptr_t)2 << 40), (float *)((uintptr_t)3 << 40)};
  const hx_task task = hx_matmul(m, n, k, far[0], far[1], far[2]); /* Nothing is read or written there. */
  hx__work work;
  hx__remainder grid;
  hx__chunk chunk, cross;
  CHECK_OK(hx__task_check(&task, &work));
  if (!hx__remainder_plan_whole(&grid, hx->table.cpu, &work, threads, uneven)) return false;
  unsigned char *const times = calloc(m, n);
  size_t blocks = 0, empty = 0, wrong = 0;
  for (; hx__remainder_next(&grid, &work, &chunk, &cross); blocks++) {
    const hx__chunk rows = work.by_columns ? cross : chunk, columns = work.by_columns ? chunk : cross;
    empty += rows.count == 0 || columns.count == 0;
    for (size_t i = rows.first; i < rows.first + rows.count; i++)
      for (size_t j = columns.first; j < columns.first + columns.count; j++) times[i * n + j]++;
  }
  for (size_t i = 0; i < m * n; i++) wrong += times[i] != 1;
  CHECK(wrong == 0 && empty == 0, "%zux%zux%zu, %u threads, %zu blocks: %zu elements wrong, %zu blocks empty", m, n, k,
        threads, blocks, wrong, empty);
  CHECK(blocks >= threads, "%zux%zux%zu: %zu blocks for %u threads", m, n, k, blocks, threads);
  free(times);
  return true;
}

static void check_covers(const hx_context *hx) {
  unsigned cut = 0;
  for (int i = 0; i < 3000; i++) {
    const size_t most = draw(2) ? 900 : 150, k = HX__GRID_K + draw(3000000 / most); /* few elements of C, too */
    cut += check_cover(hx, 1 + draw(most), 1 + draw(most), k, (unsigned)(2 + draw(70)), draw(2));
  }
  CHECK(cut > 300, "%u of 3000 products are cut", cut);
  CHECK(!check_cover(hx, 500, 500, 500, HX__GRID_THREADS - 1, false), "few threads");
  CHECK(!check_cover(hx, 500, 500, HX__GRID_K - 1, HX__GRID_THREADS, false), "short k");
  CHECK(!check_cover(hx, 2000, 2000, 2000, HX__GRID_THREADS, false), "a large product");
  CHECK(check_cover(hx, 500, 500, 500, HX__GRID_THREADS, false), "a product that is cut");
}

/* So large that eight threads are used even if other programs have the cores (HX__CROWDED_UNITS). */
static void check_product(hx_context *one, hx_context *many, size_t m, size_t n, size_t k, unsigned trans) {
  float *const a = malloc(m * k * sizeof *a), *const b = malloc(k * n * sizeof *b);
  float *const c = malloc(m * n * sizeof *c), *const want = malloc(m * n * sizeof *want);
  data_fill(HX_F32, DATA_SIGNED, seed, a, m * k);
  data_fill(HX_F32, DATA_SIGNED, seed + 1, b, k * n);
  data_fill(HX_F32, DATA_SIGNED, seed + 2, c, m * n);
  memcpy(want, c, m * n * sizeof *c);
  hx_task task = hx_matmul(m, n, k, a, b, c);
  task.matmul.trans_a = trans & 1;
  task.matmul.trans_b = trans >> 1 & 1;
  task.matmul.alpha = trans & 4 ? 0.37f : 1.0f;
  task.matmul.beta = trans & 4 ? -1.25f : 0.0f;
  hx_report report;
  CHECK_OK(hx_offload(many, &task, &report));
  task.matmul.c = want;
  CHECK_OK(hx_offload(one, &task, NULL));
  CHECK(memcmp(c, want, m * n * sizeof *c) == 0, "%zux%zux%zu, transposes %u: other bits", m, n, k, trans);
  CHECK(report.chunks >= 8, "%zux%zux%zu: %u chunks for 8 threads", m, n, k, report.chunks);
  free(a), free(b), free(c), free(want);
}

int main(int argc, char **argv) {
  seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 20261129;
  printf("seed %llu\n", (unsigned long long)seed);
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "cpu";
  settings.threads = "1";
  hx_context *const one = open_or_exit(&settings);
  settings.threads = "8";
  hx_context *const many = open_or_exit(&settings);
  check_covers(many);
  for (unsigned trans = 0; trans < 8; trans++) check_product(one, many, 701, 683, 613 + trans, trans);
  check_product(one, many, 130, 2001, 1153, 0);
  check_product(one, many, 771, 519, 900, 2);
  hx_close(many);
  hx_close(one);
  return checks_end("grid_test");
}
