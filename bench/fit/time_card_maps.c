/* SPDX-License-Identifier: Apache-2.0
 * Times user kernels whose arrays are on a discrete NVIDIA GPU beside CUDA: the data behind
 * docs/measurements/user-kernels-card.tsv.
 *
 *   time_card_maps PEERS [ROUNDS]
 *
 * PEERS: a shared object made of map_peers.cu by `nvcc -O2 -shared -Xcompiler -fPIC`; ROUNDS: default 31. saxpy: a x +
 * y, beside a CUDA kernel and a copy of as many bytes; distance: the sum of |x - y|, beside Thrust's inner_product;
 * squares: the sum of x x, beside Thrust's transform_reduce. All by the host's clock, in turns; the result of a sum is
 * on the host, that of saxpy on the card. Prints medians in microseconds. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/measure.h"
#include "runtime/base/clock.h"
#include "runtime/hx_map.h"

enum { SAXPY, DISTANCE, SQUARES, TASKS, LEAST_LOG2 = 20, MOST_LOG2 = 28, MOST_ROUNDS = 101 };

static const hx_kernel_source sources[TASKS] = {
    {.text = "a * x + y", .inputs = "float x, float y", .parameters = "float a"},
    {.text = "fabsf(x - y)", .inputs = "float x, float y"},
    {.text = "x * x", .inputs = "float x"}};
static const char *const names[TASKS] = {"saxpy", "distance", "squares"};

static struct {
  int (*open)(const float *x, const float *y, size_t n);
  int (*saxpy)(size_t n), (*copy)(size_t n);
  int (*distance)(size_t n, float *sum), (*squares)(size_t n, float *sum);
  void (*close)(void);
} peer;

static void stop(const char *why) {
  fprintf(stderr, "time_card_maps: %s\n", why);
  exit(1);
}

static void *resolve(void *object, const char *name) {
  void *const address = dlsym(object, name);
  if (!address) stop(name);
  return address;
}

static void load(const char *file) {
  void *const object = dlopen(file, RTLD_NOW);
  if (!object) stop(dlerror());
  *(void **)&peer.open = resolve(object, "peer_open");
  *(void **)&peer.saxpy = resolve(object, "peer_saxpy");
  *(void **)&peer.copy = resolve(object, "peer_copy");
  *(void **)&peer.distance = resolve(object, "peer_distance");
  *(void **)&peer.squares = resolve(object, "peer_squares");
  *(void **)&peer.close = resolve(object, "peer_close");
}

static double now_us(void) { return 1e-3 * (double)hx__now_ns(); }

static int call_peer(int task, size_t n) {
  float sum;
  return task == SAXPY ? peer.saxpy(n) : task == DISTANCE ? peer.distance(n, &sum) : peer.squares(n, &sum);
}

static void time_task(hx_context *hx, int task, const hx_task *call, size_t n, unsigned rounds) {
  double own[MOST_ROUNDS], other[MOST_ROUNDS], copy[MOST_ROUNDS];
  hx_report report = {0};
  for (unsigned r = 0; r < rounds; r++) {
    for (int timed = 0; timed < 3; timed++) { /* the device changes its context first */
      const double from = now_us();
      if (hx_offload(hx, call, &report) != HX_OK) stop(hx_error_detail());
      own[r] = now_us() - from;
    }
    for (int timed = 0; timed < 3; timed++) {
      const double from = now_us();
      if (call_peer(task, n)) stop("CUDA failed");
      other[r] = now_us() - from;
    }
    for (int timed = 0; task == SAXPY && timed < 3; timed++) {
      const double from = now_us();
      if (peer.copy(n)) stop("CUDA failed");
      copy[r] = now_us() - from;
    }
  }
  const double us = bench_median(own, rounds), peer_us = bench_median(other, rounds);
  printf("%s\t%zu\t%.1f\t%.1f\t%.3f\t", names[task], n, us, peer_us, peer_us / us);
  if (task == SAXPY) printf("%.1f", bench_median(copy, rounds));
  printf("\t%.2f\t%llu\n", report.gpu_share, (unsigned long long)report.bytes_copied);
  fflush(stdout);
}

int main(int argc, char **argv) {
  const size_t most = (size_t)1 << MOST_LOG2;
  const unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 31;
  if (argc < 2 || rounds < 1 || rounds > MOST_ROUNDS) stop("PEERS [ROUNDS, at most 101]");
  load(argv[1]);
  hx_context *hx;
  if (hx_open(&hx, NULL) != HX_OK) stop(hx_error_detail());
  float *const x = hx_alloc(hx, most * sizeof *x), *const y = hx_alloc(hx, most * sizeof *y),
               *const out = hx_alloc(hx, most * sizeof *out);
  if (!x || !y || !out) stop(hx_error_detail());
  for (size_t i = 0; i < most; i++) x[i] = (float)(i % 1000) * 0.001f, y[i] = (float)(i % 777) * 0.002f;
  hx_advise(hx, x, most * sizeof *x, HX_READ_MOSTLY);
  hx_advise(hx, y, most * sizeof *y, HX_READ_MOSTLY);
  hx_advise(hx, out, most * sizeof *out, HX_RESIDENT);
  hx_ready(hx);
  if (peer.open(x, y, most)) stop("CUDA failed");
  printf("task\tn\thx_us\tcuda_us\tcuda_over_hx\tcopy_us\tgpu_share\tbytes_copied\n");
  for (int task = 0; task < TASKS; task++) {
    hx_kernel *kernel;
    if (hx_compile(hx, &sources[task], &kernel) != HX_OK) stop(hx_error_detail());
    for (unsigned log2 = LEAST_LOG2; log2 <= MOST_LOG2; log2 += 2) {
      const size_t n = (size_t)1 << log2;
      const void *const inputs[] = {x, y};
      const hx_value a = {.f32 = 1.5f};
      hx_value sum;
      hx_task call =
          task == SAXPY ? hx_map(kernel, inputs, n, &a, out) : hx_map_reduce(HX_SUM, kernel, inputs, n, NULL, &sum);
      call.gpu_share = 1;
      time_task(hx, task, &call, n, rounds);
    }
    hx_kernel_free(kernel);
  }
  peer.close();
  hx_close(hx);
}
