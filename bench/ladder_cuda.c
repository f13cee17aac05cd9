/* SPDX-License-Identifier: Apache-2.0
 * CUDA's libraries beside hx on an NVIDIA card: cuBLAS is loaded where it is installed; CUB is made by nvcc where that
 * is, for it is headers alone. Data lie on the card; nothing of CUDA is linked. */
#include <dlfcn.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/ladder.h"
#include "bench/measure.h"

extern const char hx__cl_ladder_cub[];
static struct cub {
  void *handle;     /* from dlopen */
  bool tried, held; /* held: x is on the card */
  char why[128];
  int (*open)(const unsigned *x, size_t n);
  int (*sum)(size_t n, unsigned *sum, double *event_s, double *wall_s);
  void (*close)(void);
} cub;

static bool run_nvcc(const char *nvcc, const char *source, const char *object) {
  char *arguments[] = {(char *)nvcc,   "-O2", "-shared",      "-Xcompiler",   "-fPIC",
                       "-arch=native", "-o",  (char *)object, (char *)source, NULL};
  posix_spawn_file_actions_t actions;
  pid_t process;
  int status = -1;
  if (posix_spawn_file_actions_init(&actions) != 0) return false;
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", 1, 0);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  bool started = posix_spawnp(&process, nvcc, &actions, NULL, arguments, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  return started && waitpid(process, &status, 0) == process && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* In a folder of its own that is gone when this returns: the object stays loaded. */
static void make_cub(void) {
  const char *tmp = getenv("TMPDIR");
  char dir[256], source[300], object[300];
  cub.tried = true;
  snprintf(cub.why, sizeof cub.why, "CUB is headers alone and there is no nvcc to compile them");
  snprintf(dir, sizeof dir, "%.200s/hx-bench-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  if (!mkdtemp(dir)) return;
  snprintf(source, sizeof source, "%s/cub.cu", dir);
  snprintf(object, sizeof object, "%s/cub.so", dir);
  FILE *f = fopen(source, "w");
  bool written = f && fputs(hx__cl_ladder_cub, f) >= 0;
  if (f) written = fclose(f) == 0 && written;
  if (written && (run_nvcc("nvcc", source, object) || run_nvcc("/usr/local/cuda/bin/nvcc", source, object)))
    cub.handle = dlopen(object, RTLD_NOW | RTLD_LOCAL);
  unlink(source);
  unlink(object);
  rmdir(dir);
  if (!cub.handle) return;
  cub.open = (int (*)(const unsigned *, size_t))dlsym(cub.handle, "ladder_cub_open");
  cub.sum = (int (*)(size_t, unsigned *, double *, double *))dlsym(cub.handle, "ladder_cub_sum");
  cub.close = (void (*)(void))dlsym(cub.handle, "ladder_cub_close");
}

static double call_cub(ladder_rung *rung, double *event) {
  const size_t *n = rung->self;
  double seconds = 0;
  unsigned sum = 0;
  int error = cub.sum(*n, &sum, event, &seconds);
  rung->result = sum;
  if (error) ladder_out(rung, "CUDA error %d", error);
  return error ? -1 : seconds;
}

void ladder_cub_rung(ladder_case *c, const ladder_device *device, const uint32_t *x, size_t most) {
  ladder_rung *rung = ladder_add(c, "CUB");
  if (!device->nvidia) {
    ladder_out(rung, "not an NVIDIA device");
    return;
  }
  if (!cub.tried) make_cub();
  if (!cub.handle) {
    ladder_out(rung, "%s", cub.why);
    return;
  }
  if (!cub.held) {
    int error = cub.open(x, most);
    if (error) ladder_out(rung, "CUDA error %d", error);
    if (error) return;
    cub.held = true;
  }
  rung->call = call_cub;
  rung->self = &c->n;
  snprintf(rung->note, sizeof rung->note, "cub::DeviceReduce::Sum of uint32, on data that the device holds");
}

void ladder_cub_close(void) {
  if (cub.held) cub.close();
  cub.held = false;
}

#define CUDA_FUNCTIONS(F)                                                                                            \
  F(cudart, allocate, "cudaMalloc", (void **, size_t))                                                               \
  F(cudart, copy, "cudaMemcpy", (void *, const void *, size_t, int))                                                 \
  F(cudart, fill, "cudaMemset", (void *, int, size_t))                                                               \
  F(cudart, release, "cudaFree", (void *))                                                                           \
  F(cudart, finish, "cudaDeviceSynchronize", (void))                                                                 \
  F(cudart, event_new, "cudaEventCreate", (void **))                                                                 \
  F(cudart, event_end, "cudaEventDestroy", (void *))                                                                 \
  F(cudart, record, "cudaEventRecord", (void *, void *))                                                             \
  F(cudart, elapsed, "cudaEventElapsedTime", (float *, void *, void *))                                              \
  F(cublas, open, "cublasCreate_v2", (void **))                                                                      \
  F(cublas, close, "cublasDestroy_v2", (void *))                                                                     \
  F(cublas, sgemm, "cublasSgemm_v2",                                                                                 \
    (void *, int, int, int, int, int, const float *, const float *, int, const float *, int, const float *, float *, \
     int))

#define CUDA_MEMBER(library, name, symbol, arguments) int(*name) arguments;
typedef struct cublas_rung {
  CUDA_FUNCTIONS(CUDA_MEMBER)
  void *handle, *from, *to;
  float *a, *b, *c;
  ladder_product *product;
} cublas_rung;

static void *open_any(const char *const *names) {
  void *library = NULL;
  for (size_t i = 0; names[i] && !library; i++) library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  return library;
}

#define CUDA_LOAD(library, name, symbol, arguments)   \
  s->name = (int(*) arguments)dlsym(library, symbol); \
  fine &= s->name != NULL;
static bool load(cublas_rung *s) {
  static const char *const runtimes[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so", NULL};
  static const char *const libraries[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so", NULL};
  void *cudart = open_any(runtimes), *cublas = open_any(libraries);
  bool fine = cudart && cublas;
  if (!fine) return false;
  CUDA_FUNCTIONS(CUDA_LOAD)
  return fine;
}

static int multiply(cublas_rung *s) { /* C^T = B^T A^T, by columns */
  static const float one = 1, zero = 0;
  const ladder_product *p = s->product;
  const int m = (int)p->m, n = (int)p->n, k = (int)p->k;
  return s->sgemm(s->handle, 0, 0, n, m, k, &one, s->b, n, s->a, k, &zero, s->c, n);
}

static double call_cublas(ladder_rung *rung, double *event) {
  cublas_rung *s = rung->self;
  float ms = 0;
  int error = multiply(s); /* not timed: the card comes from OpenCL's context */
  if (!error) error = s->finish();
  if (!error) error = s->record(s->from, NULL);
  if (!error) error = multiply(s);
  if (!error) error = s->record(s->to, NULL);
  if (!error) error = s->finish();
  if (!error) error = s->elapsed(&ms, s->from, s->to);
  double start = bench_now();
  if (!error) error = multiply(s);
  if (!error) error = s->finish();
  double seconds = bench_now() - start;
  *event = 1e-3 * (double)ms;
  if (error) ladder_out(rung, "CUDA or cuBLAS error %d", error);
  return error ? -1 : seconds;
}

static bool fetch_cublas(ladder_rung *rung) {
  cublas_rung *s = rung->self;
  enum { TO_HOST = 2 };
  const size_t bytes = s->product->m * s->product->n * sizeof(float);
  return s->copy(s->product->got, s->c, bytes, TO_HOST) == 0 && s->fill(s->c, 0xff, bytes) == 0;
}

static void close_cublas(ladder_rung *rung) {
  cublas_rung *s = rung->self;
  if (s->a) s->release(s->a);
  if (s->b) s->release(s->b);
  if (s->c) s->release(s->c);
  if (s->from) s->event_end(s->from);
  if (s->to) s->event_end(s->to);
  if (s->handle) s->close(s->handle);
  free(s);
}

void ladder_cublas_rung(ladder_case *c, ladder_product *p) {
  ladder_rung *rung = ladder_add(c, "cuBLAS");
  if (!p->device->nvidia) {
    ladder_out(rung, "not an NVIDIA device");
    return;
  }
  cublas_rung *s = calloc(1, sizeof *s);
  if (!s || !load(s)) {
    ladder_out(rung, "libcublas and libcudart are not installed");
    free(s);
    return;
  }
  enum { TO_DEVICE = 1 };
  rung->self = s;
  rung->call = call_cublas;
  rung->fetch = fetch_cublas;
  rung->close = close_cublas;
  s->product = p;
  int error = s->allocate((void **)&s->a, p->m * p->k * sizeof(float));
  if (!error) error = s->allocate((void **)&s->b, p->k * p->n * sizeof(float));
  if (!error) error = s->allocate((void **)&s->c, p->m * p->n * sizeof(float));
  if (!error) error = s->copy(s->a, p->a, p->m * p->k * sizeof(float), TO_DEVICE);
  if (!error) error = s->copy(s->b, p->b, p->k * p->n * sizeof(float), TO_DEVICE);
  if (!error) error = s->event_new(&s->from);
  if (!error) error = s->event_new(&s->to);
  if (!error) error = s->open(&s->handle);
  if (error) ladder_out(rung, "CUDA or cuBLAS error %d", error);
  snprintf(rung->note, error ? 0 : sizeof rung->note, "cublasSgemm, fp32 without TF32, on data that the device holds");
}
