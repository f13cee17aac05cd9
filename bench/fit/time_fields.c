/* SPDX-License-Identifier: Apache-2.0
 * Times three fields of one array, and of three, in one launch of an OpenCL device, with a launch for each field, and
 * by the CPU: the data behind docs/measurements/fields.tsv.
 *
 *   time_fields DEVICE [ROUNDS [LOG2]]    DEVICE: a word or number of HX_DEVICES; ROUNDS: default 15; LOG2: one size
 * only
 *
 * Arrays are advised HX_READ_MOSTLY, so that devices that copy keep them. A round times each form once, in turns;
 * prints a row for each case: the median times in microseconds, and the median of the rounds' ratios to the one launch.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/backend/opencl/cl.h"
#include "runtime/backend/registry.h"
#include "runtime/base/clock.h"

enum { ONE_LAUNCH, LAUNCH_EACH, CPU, FORMS, FIELDS = 3, LEAST_LOG2 = 16, MOST_LOG2 = 24, MOST_ROUNDS = 101 };

static hx__cl_device *device;
static hx_context *hx;

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, compare);
  return values[count / 2];
}

static void fail(const char *what) {
  fprintf(stderr, "time_fields: %s: %s\n", what, hx_error_detail());
  exit(1);
}

/* Microseconds of a call. */
static double time_call(const hx_field *fields, size_t n, int form) {
  hx_value out[FIELDS];
  const uint64_t ready = atomic_load(&device->fields_ready);
  hx_task t = hx_reduce_soa(fields, FIELDS, n, out);
  t.gpu_share = form == CPU ? 0 : 1;
  if (form == LAUNCH_EACH) atomic_store(&device->fields_ready, 0);
  const uint64_t from = hx__now_ns();
  if (hx_offload(hx, &t, NULL) != HX_OK) fail("hx_offload");
  const double us = (double)(hx__now_ns() - from) * 1e-3;
  atomic_store(&device->fields_ready, ready);
  return us;
}

static void time_case(const hx_field *fields, const char *arrays, int log2, int rounds) {
  static double us[FORMS][MOST_ROUNDS], ratio[FORMS][MOST_ROUNDS];
  const size_t n = (size_t)1 << log2;
  time_call(fields, n, LAUNCH_EACH); /* asks for the program */
  hx__prepare_wait(&device->base, HX__NEED_TILES, UINT64_MAX, UINT64_MAX);
  for (int form = 0; form < FORMS; form++) time_call(fields, n, form);
  for (int round = 0; round < rounds; round++) {
    for (int i = 0; i < FORMS; i++) { /* caches hold what the form before has left, which is not always the same one */
      const int form = (round % 2 ? i : FORMS - 1 - i) + round / 2;
      us[form % FORMS][round] = time_call(fields, n, form % FORMS);
    }
    for (int form = 0; form < FORMS; form++) ratio[form][round] = us[form][round] / us[ONE_LAUNCH][round];
  }
  printf("%s\t2^%d", arrays, log2);
  for (int form = 0; form < FORMS; form++) printf("\t%.0f", median(us[form], rounds));
  for (int form = LAUNCH_EACH; form < FORMS; form++) printf("\t%.2f", median(ratio[form], rounds));
  printf("\n");
  fflush(stdout);
}

static hx__cl_device *device_of(const char *name) {
  hx__device *const *list;
  for (size_t i = 0, count = hx__registry_devices(&list); i < count; i++)
    if (list[i]->backend == &hx__opencl_backend && strcmp(list[i]->name, name) == 0) return (hx__cl_device *)list[i];
  return NULL;
}

static void open_device(const char *word) {
  char list[256];
  hx_device_info info;
  snprintf(list, sizeof list, "cpu,%s", word);
  const hx_settings settings = {.devices = list};
  if (hx_open(&hx, &settings) != HX_OK || hx_ready(hx) != HX_OK) fail("hx_open");
  for (size_t i = 1; i < hx_device_count(hx) && !device; i++)
    if (hx_device(hx, i, &info) == HX_OK && info.state == HX_USABLE) device = device_of(info.name);
  if (!device) fail("no such OpenCL device");
  printf("# Device: %s\n", device->base.name);
}

int main(int argc, char **argv) {
  const int rounds = argc > 2 ? atoi(argv[2]) : 15, only = argc > 3 ? atoi(argv[3]) : 0;
  const size_t most = (size_t)1 << (only > MOST_LOG2 ? only : MOST_LOG2);
  float *x[FIELDS];
  if (argc < 2 || rounds < 1 || rounds > MOST_ROUNDS) fail("usage: time_fields DEVICE [ROUNDS [LOG2]]");
  open_device(argv[1]);
  for (int f = 0; f < FIELDS; f++) {
    x[f] = hx_alloc(hx, most * sizeof *x[f]);
    if (!x[f]) fail("hx_alloc");
    for (size_t i = 0; i < most; i++) x[f][i] = (float)(i % 1000) * 0.01f;
    if (hx_advise(hx, x[f], most * sizeof *x[f], HX_READ_MOSTLY) != HX_OK) fail("hx_advise");
  }
  printf("arrays\tn\tone launch us\tlaunch each us\tCPU us\tlaunch each\tCPU\n");
  for (int log2 = only ? only : LEAST_LOG2; log2 <= (only ? only : MOST_LOG2); log2++)
    for (int arrays = 1; arrays <= FIELDS; arrays += FIELDS - 1) {
      const hx_field fields[FIELDS] = {{HX_MIN, HX_F32, x[0], NULL},
                                       {HX_MAX, HX_F32, x[arrays > 1], NULL},
                                       {HX_SUM, HX_F32, x[arrays > 1 ? 2 : 0], NULL}};
      time_case(fields, arrays > 1 ? "3" : "1", log2, rounds);
    }
  hx_close(hx);
  return 0;
}
