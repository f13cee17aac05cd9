/* SPDX-License-Identifier: Apache-2.0
 * The subcommand `ladder`: published ways from a naive kernel to a fast one, each a rung, hx and other libraries beside
 * them, on every OpenCL device in use. One row a ladder. */
#include <string.h>

#include "bench/ladder.h"
#include "bench/system.h"

static const struct ladder {
  const char *name;
  bool (*on_device)(bench_session *session, size_t index); /* each device by itself, */
  bool (*on_all)(bench_session *session);                  /* or all together */
  bool products;                                           /* else sums */
  const char *published;
} ladders[] = {
    {"reduce", ladder_reduce, NULL, false,
     "published (PCL-Reduction, u32, other machines): 2.97-20.24x over OpenCV on the CPU, 1.25-1.75x over OpenCV's "
     "OpenCL,\n2.25-5.97x over OpenCV's CUDA"},
    {"matmul", ladder_matmul, NULL, true, NULL},
    {"offload", NULL, ladder_offload, true,
     "published (Intel GFX study, 2048x4096x2048, another machine): 5.12 s serial to 0.439 s, 11.7x"},
};

#define LADDERS (sizeof ladders / sizeof ladders[0])

static bool in_use(const hx_device_info *device) {
  return device->kind != HX_CPU && device->kind != HX_SIM &&
         (device->state == HX_BUILDING || device->state == HX_USABLE);
}

static bool run_on_devices(bench_session *session, const struct ladder *ladder) {
  if (ladder->on_all) return ladder->on_all(session);
  bool fine = true, any = false;
  for (size_t i = 0; i < session->device_count; i++) {
    if (!in_use(&session->device[i]) || bench_stopped()) continue;
    any = true;
    fine &= ladder->on_device(session, i);
  }
  if (!any && !bench_stopped())
    fputs("hx-bench: no OpenCL device is in use (hx-bench info says why, and what is missing)\n", stderr);
  return fine && any;
}

static const struct ladder *find_ladder(const char *name) {
  for (size_t i = 0; name && i < LADDERS; i++)
    if (strcmp(ladders[i].name, name) == 0) return &ladders[i];
  return NULL;
}

static int run(bench_session *session) {
  const struct ladder *const ladder = find_ladder(session->options->topic);
  FILE *human = session->human;
  if (human) {
    bench_system_print(human, session);
    bench_print_devices(session, human);
  }
  if (!run_on_devices(session, ladder)) ladder_fail();
  if (human && ladder->published) fprintf(human, "\n%s\n", ladder->published);
  bench_session_refresh(session);
  ladder_rows_write(session, ladder->name);
  ladder_rows_free();
  return ladder_failed() ? BENCH_FAILED : BENCH_OK;
}

int bench_cmd_ladder(const bench_options *options) {
  const struct ladder *const ladder = find_ladder(options->topic);
  if (!ladder) {
    fprintf(stderr, "hx-bench: ladder takes reduce, matmul or offload%s%s (hx-bench --help)\n",
            options->topic ? ", not " : "", options->topic ? options->topic : "");
    return BENCH_USAGE;
  }
  if (!bench_sizes_fit(options, true, ladder->products)) return bench_nothing_fits();
  return bench_session_run(options, NULL, true, run);
}
