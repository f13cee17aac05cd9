/* SPDX-License-Identifier: Apache-2.0
 * Coarse-grained shared memory that the host does not see between an unmap and the next map (view_layer): hx finds that
 * out and copies instead, so that a call on the CPU reads the right values while another call's device begins and ends
 * to read the same array. If the host does see it, the mode is used.
 *     coarse_view_test DEVICES VIEW     VIEW: hidden or kept */
#include <pthread.h>

#include "reference/data.h"
#include "tests/check.h"

enum { N = 1 << 18, CALLS = 200 };
static hx_context *hx;
static float *x;
static hx_value want;

static void *read_on(void *share) {
  unsigned wrong = 0;
  hx_value sum;
  hx_task t = hx_reduce(HX_SUM, HX_F32, x, N, &sum);
  t.gpu_share = *(const float *)share;
  for (int i = 0; i < CALLS; i++) wrong += hx_offload(hx, &t, NULL) != HX_OK || memcmp(&sum, &want, sizeof sum) != 0;
  CHECK(wrong == 0, "share %g: %u of %d results are wrong", (double)t.gpu_share, wrong, CALLS);
  return NULL;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  char devices[64];
  const bool kept = strcmp(argv[2], "kept") == 0;
  setenv("VIEW", argv[2], 1);
  snprintf(devices, sizeof devices, "cpu,%s", argv[1]);
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = devices;
  s.memory = "svm-coarse";
  s.threads = "1";
  s.cache_dir = "off";
  hx = open_or_exit(&s);
  static float few[8192];
  hx_task t = hx_reduce(HX_SUM, HX_F32, few, sizeof few / sizeof few[0], &want);
  t.gpu_share = 1; /* the call waits until the device is ready and its memory modes are known */
  CHECK_OK(hx_offload(hx, &t, NULL));
  hx_device_info info = {0};
  for (size_t i = 1; i < hx_device_count(hx) && info.state != HX_USABLE; i++) CHECK_OK(hx_device(hx, i, &info));
  CHECK(strcmp(info.memory, kept ? "svm-coarse" : "copy") == 0, "memory mode %s (%s)", info.memory, info.why);
  x = hx_alloc(hx, N * sizeof *x);
  if (!x) return 1;
  data_fill(HX_F32, DATA_SIGNED, 7, x, N);
  t = hx_reduce(HX_SUM, HX_F32, x, N, &want);
  t.gpu_share = 0;
  CHECK_OK(hx_offload(hx, &t, NULL));
  static const float kShares[] = {1, 0, 0.5f};
  pthread_t threads[3];
  for (size_t i = 0; i < 3; i++)
    if (pthread_create(&threads[i], NULL, read_on, (void *)&kShares[i]) != 0) return 1;
  for (size_t i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  hx_close(hx);
  return checks_end("coarse_view_test");
}
