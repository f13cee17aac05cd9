/* SPDX-License-Identifier: Apache-2.0
 * Later processes use the result of the tuner if it is complete and for this device; the bits are those of any row.
 * Each step is a process, because a device is opened once in a process.
 *     tune_test --devices LIST  */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/backend/opencl/stream.h"
#include "runtime/backend/registry.h"
#include "runtime/base/cache_dir.h"
#include "tests/check.h"
#include "reference/data.h"
#include "reference/ref.h"

enum { SIDE = 70, STEP_SECONDS = 300 };

static const char *devices;
static char folder[256];
static const char *const tuned_name = "matmul-any-32x32x16";
static const uint32_t tuned_tile[3] = {32, 64, 16};

static hx_context *open_here(void) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = devices;
  s.threads = "1";
  s.cache_dir = folder;
  return open_or_exit(&s);
}

/* The first usable OpenCL device of the context. */
static hx__cl_device *device_of(hx_context *hx) {
  hx__device *const *list = NULL;
  const size_t here = hx_device_count(hx), count = hx__registry_devices(&list);
  for (size_t i = 1; i < here && i <= count; i++) {
    hx_device_info info;
    if (hx_device(hx, i, &info) != HX_OK || (info.state != HX_BUILDING && info.state != HX_USABLE)) continue;
    if (list[i - 1]->backend == &hx__opencl_backend && hx__cl_device_open((hx__cl_device *)list[i - 1]))
      return (hx__cl_device *)list[i - 1];
  }
  return NULL;
}

static const hx__kernel_row *row_named(const char *name) {
  size_t count;
  const hx__kernel_row *const rows = hx__kernel_rows(&count);
  for (size_t i = 0; i < count; i++)
    if (strcmp(rows[i].name, name) == 0) return &rows[i];
  return NULL;
}

/* Stores a choice as the tuner does. */
static void store_choice(uint32_t order, uint32_t tile_m) {
  hx_context *const hx = open_here();
  hx__cl_device *const d = device_of(hx);
  hx__cl_tuned tuned[HX__CL_TUNED] = {{.row = row_named(tuned_name), .tile = {tile_m, 64, 16}, .order = order}};
  CHECK(d && tuned[0].row, "no device, or no such row");
  CHECK(d && hx__cl_tuned_store(d, tuned), "the result is not stored");
  hx_close(hx);
}
static void store_good(void) { store_choice(0, 32); }
static void store_bad_tile(void) { store_choice(0, 33); } /* no row has such a tile */
static void store_order(void) { store_choice(2, 32); }    /* the row has only one order */

/* Computes a product on the device and checks which row computed it. */
static void check_product(bool tuned) {
  static float a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE], want[SIDE * SIDE];
  hx_context *const hx = open_here();
  data_fill(HX_F32, DATA_SIGNED, 31, a, SIDE * SIDE);
  data_fill(HX_F32, DATA_SIGNED, 32, b, SIDE * SIDE);
  struct hx_matmul_args args = {.m = SIDE, .n = SIDE, .k = SIDE, .a = a, .b = b, .c = want, .alpha = 1};
  ref_matmul(&args);
  hx_report report;
  hx_task t = hx_matmul(SIDE, SIDE, SIDE, a, b, c);
  t.gpu_share = 1;
  CHECK_OK(hx_offload(hx, &t, &report));
  CHECK(report.gpu_share == 1, "share %g", report.gpu_share);
  CHECK(memcmp(c, want, sizeof c) == 0, "the product differs");
  const hx__cl_device *const d = device_of(hx);
  const hx__cl_program *const p = d ? &d->program[HX__FIRST_PRODUCT] : NULL;
  const bool same = p && p->row && strcmp(p->row->name, tuned_name) == 0 && p->tile_m == tuned_tile[0] &&
                    p->tile_n == tuned_tile[1] && p->tile_k == tuned_tile[2];
  CHECK(same == tuned, "%s, tile %ux%u", p && p->row ? p->row->name : "no row", p ? p->tile_m : 0, p ? p->tile_n : 0);
  hx_close(hx);
}
static void product_tuned(void) { check_product(true); }
static void product_shipped(void) { check_product(false); }

/* Changes one digit of the stored choice. */
static void damage_stored_choice(void) {
  unsigned changed = 0;
  DIR *const dir = opendir(folder);
  for (struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
    char path[600], text[4096];
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    const int file = open(path, O_RDWR);
    const ssize_t bytes = file < 0 ? -1 : read(file, text, sizeof text - 1);
    for (ssize_t i = 0; i + 19 <= bytes; i++)
      if (memcmp(text + i, "32x32x16 32 64 16 0", 19) == 0 && pwrite(file, "8", 1, i + 9) == 1) changed++;
    if (file >= 0) close(file);
  }
  if (dir) closedir(dir);
  CHECK(changed == 1, "%u files changed", changed);
}

/* The choices of all rows whose kernels have orders can be stored at once. */
static void all_choices_fit(void) {
  size_t count, ordered = 0;
  const hx__kernel_row *const rows = hx__kernel_rows(&count);
  for (size_t i = 0; i < count; i++) ordered += rows[i].shape == HX__SHAPE_TILES;
  CHECK(ordered > 0 && ordered <= HX__CL_TUNED, "%zu rows have orders, %u can be stored", ordered, HX__CL_TUNED);
}

static void run_in_child(const char *name, void (*body)(void)) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(STEP_SECONDS);
    checks_failed = 0;
    body();
    fflush(stdout);
    _exit(checks_failed > 0);
  }
  int status = -1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "%s: status %#x", name, status);
}

int main(int argc, char **argv) {
  devices = argc == 3 && strcmp(argv[1], "--devices") == 0 ? argv[2] : NULL;
  CHECK(devices, "usage: tune_test --devices LIST");
  const char *const scratch = getenv("TEST_TMPDIR");
  snprintf(folder, sizeof folder, "%s/tune.XXXXXX", scratch ? scratch : "/tmp");
  if (devices && mkdtemp(folder)) {
    all_choices_fit();
    run_in_child("nothing is kept", product_shipped);
    run_in_child("keep", store_good);
    run_in_child("it is taken", product_tuned);
    run_in_child("and again, from the cache", product_tuned);
    damage_stored_choice();
    run_in_child("damaged", product_shipped);
    run_in_child("keep", store_good);
    run_in_child("it is taken anew", product_tuned);
    run_in_child("keep what cannot be", store_bad_tile);
    run_in_child("a tile that the row has not", product_shipped);
    run_in_child("keep an order", store_order);
    run_in_child("an order that the row has not", product_shipped);
  }
  return checks_end("tune_test");
}
