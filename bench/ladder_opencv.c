/* SPDX-License-Identifier: Apache-2.0
 * The rungs of OpenCV: its sum on the CPU, loaded by peers.c, and its OpenCL kernels, called through the symbols of C++
 * functions, because cv::UMat has no C interface. OpenCV has no unsigned 32-bit type; the values are small, so int32 is
 * equivalent. */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/ladder.h"
#include "bench/measure.h"
#include "bench/peers.h"

typedef struct on_cpu {
  bench_subject subject;
  bench_peer_call peer;
} on_cpu;

static double call_cpu(ladder_rung *rung, double *event) {
  on_cpu *o = rung->self;
  memset(&o->subject.out, 0xa5, sizeof o->subject.out);
  double start = bench_now();
  o->peer.call(o->peer.symbol, &o->subject);
  double seconds = bench_now() - start;
  rung->result[0] = o->subject.out.u64;
  *event = NAN;
  return seconds;
}

static void cpu_rung(ladder_case *c, const uint32_t *x, size_t n, unsigned threads) {
  ladder_rung *rung = ladder_add_owner(c, "OpenCV, CPU", call_cpu, sizeof(on_cpu));
  on_cpu *const o = rung->self;
  char text[512];
  const bench_peer *const peer = bench_peer_named("opencv", strlen("opencv"));
  if (rung->out) return;
  o->subject.row.n = n;
  o->subject.task = hx_reduce(HX_SUM, HX_I32, x, n, &o->subject.out);
  void *const opencv = bench_peer_load(peer, threads, text, sizeof text);
  if (!opencv)
    ladder_out(rung, "%s", text);
  else if (!bench_peer_find(peer, opencv, &o->subject, &o->peer))
    ladder_out(rung, "this libopencv_core has no cvSum, or the array is too long for it");
}

/* From core/mat.hpp of OpenCV 4: cv::_InputArray, and space for a cv::Mat and a cv::UMat. */
typedef struct cv_input {
  int flags;
  void *object;
  int width, height;
} cv_input;
enum { CV_INT32 = 4, CV_MAT = 1 << 16, CV_UMAT = 10 << 16, CV_READ = 1 << 24, CV_WRITE = 1 << 25 };
typedef struct cv_object {
  _Alignas(16) char room[512];
} cv_object;
typedef struct cv_sum {
  double value[4];
} cv_sum;

#define CV_FUNCTIONS(F)                                                                      \
  F(make_mat, "_ZN2cv3MatC1EiiiPvm", void, (void *, int, int, int, const void *, size_t))    \
  F(end_mat, "_ZN2cv3MatD1Ev", void, (void *))                                               \
  F(copy, "_ZNK2cv3Mat6copyToERKNS_12_OutputArrayE", void, (const void *, const cv_input *)) \
  F(make_umat, "_ZN2cv4UMatC1ENS_14UMatUsageFlagsE", void, (void *, int))                    \
  F(end_umat, "_ZN2cv4UMatD1Ev", void, (void *))                                             \
  F(sum, "_ZN2cv3sumERKNS_11_InputArrayE", cv_sum, (const cv_input *))                       \
  F(use, "_ZN2cv3ocl12setUseOpenCLEb", void, (bool))                                         \
  F(uses, "_ZN2cv3ocl9useOpenCLEv", bool, (void))                                            \
  F(device, "_ZN2cv3ocl6Device10getDefaultEv", const void *, (void))                         \
  F(device_id, "_ZNK2cv3ocl6Device3ptrEv", void *, (const void *))

#define CV_MEMBER(name, symbol, type, arguments) type(*name) arguments;
typedef struct cv_functions {
  CV_FUNCTIONS(CV_MEMBER)
} cv_functions;

#define CV_SYMBOL(name, symbol, type, arguments) {symbol, offsetof(cv_functions, name)},
static const bench_symbol cv_symbols[] = {CV_FUNCTIONS(CV_SYMBOL)};

typedef struct on_device {
  cv_functions f;
  cv_object umat;
  bool made;
} on_device;

static double call_device(ladder_rung *rung, double *event) {
  on_device *o = rung->self;
  const cv_input input = {CV_UMAT | CV_READ, &o->umat, 0, 0};
  double start = bench_now();
  cv_sum sum = o->f.sum(&input);
  double seconds = bench_now() - start;
  rung->result[0] = (uint64_t)sum.value[0];
  *event = NAN;
  return seconds;
}

static void close_device(ladder_rung *rung) {
  on_device *o = rung->self;
  if (o->made) o->f.end_umat(&o->umat);
}

/* OpenCV reads its device (platform:type:name) and the OpenCL loader from variables when OpenCL is first used. A
 * machine may have several loaders that find different drivers, so OpenCV is given the loader of this process. */
static void name_device(const ladder_device *device) {
  char platform[128] = "", value[192];
  clGetPlatformInfo(device->platform, CL_PLATFORM_NAME, sizeof platform, platform, NULL);
  snprintf(value, sizeof value, "%s:%s:", platform, device->cpu ? "CPU" : "GPU");
  setenv("OPENCV_OPENCL_DEVICE", value, 0);
  Dl_info loader;
  if (dladdr(dlsym(RTLD_DEFAULT, "clGetPlatformIDs"), &loader) && loader.dli_fname)
    setenv("OPENCV_OPENCL_RUNTIME", loader.dli_fname, 0);
}

static void device_rung(ladder_case *c, const ladder_device *device, const uint32_t *x, size_t n, unsigned threads) {
  ladder_rung *rung = ladder_add_owner(c, "OpenCV, OpenCL", call_device, sizeof(on_device));
  on_device *const o = rung->self;
  char why[512];
  if (rung->out) return;
  rung->close = close_device;
  name_device(device);
  if (n > INT32_MAX / sizeof *x) {
    ladder_out(rung, "the array is too long for it");
    return;
  }
  if (!bench_peer_open("opencv", threads, cv_symbols, sizeof cv_symbols / sizeof cv_symbols[0], &o->f, why,
                       sizeof why)) {
    ladder_out(rung, "%s", why);
    return;
  }
  o->f.use(true);
  if (!o->f.uses()) {
    ladder_out(rung, "OpenCV finds no OpenCL device that it can use");
    return;
  }
  if (o->f.device_id(o->f.device()) != (void *)device->id) {
    ladder_out(rung, "OpenCV uses another OpenCL device (one per process: OPENCV_OPENCL_DEVICE)");
    return;
  }
  const size_t columns = n % 4096 == 0 ? 4096 : n;
  cv_object mat;
  o->f.make_mat(&mat, (int)(n / columns), (int)columns, CV_INT32, x, columns * sizeof *x);
  o->f.make_umat(&o->umat, 0);
  o->made = true;
  const cv_input output = {CV_UMAT | CV_WRITE, &o->umat, 0, 0};
  o->f.copy(&mat, &output);
  o->f.end_mat(&mat);
  snprintf(rung->note, sizeof rung->note, "cv::sum of a cv::UMat of int32, with data in device memory");
}

void ladder_opencv_rungs(ladder_case *c, const ladder_device *device, const uint32_t *x, size_t n, unsigned threads) {
  cpu_rung(c, x, n, threads);
  device_rung(c, device, x, n, threads);
}
