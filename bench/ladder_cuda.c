/* SPDX-License-Identifier: Apache-2.0
 * The rungs of CUDA's libraries on an NVIDIA card. cuBLAS is loaded if it is installed. CUB consists of headers only,
 * so it is compiled if nvcc is installed. Data is in the card's memory; nothing of CUDA is linked. */
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/cuda.h"
#include "bench/ladder.h"
#include "bench/measure.h"
#include "bench/peers.h"

extern const char hx__cl_ladder_cub[];
static struct cub {
  bool tried, made, loaded_data; /* made: the compiled object is loaded; loaded_data: x is in the card's memory */
  char why[128];
  int (*open)(const unsigned *x, size_t n);
  int (*sum)(size_t n, unsigned *sum, double *event_s, double *wall_s);
  void (*close)(void);
} cub;
static const bench_symbol cub_symbols[] = {{"ladder_cub_open", offsetof(struct cub, open)},
                                           {"ladder_cub_sum", offsetof(struct cub, sum)},
                                           {"ladder_cub_close", offsetof(struct cub, close)}};

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

/* Compiles in a temporary folder, which is removed before this returns; the object stays loaded. */
static void make_cub(void) {
  const char *tmp = getenv("TMPDIR");
  char dir[256], source[300], object[300];
  cub.tried = true;
  snprintf(cub.why, sizeof cub.why, "CUB consists of headers, and there is no nvcc to compile them");
  snprintf(dir, sizeof dir, "%.200s/hx-bench-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  if (!mkdtemp(dir)) return;
  snprintf(source, sizeof source, "%s/cub.cu", dir);
  snprintf(object, sizeof object, "%s/cub.so", dir);
  FILE *f = fopen(source, "w");
  bool written = f && fputs(hx__cl_ladder_cub, f) >= 0;
  if (f) written = fclose(f) == 0 && written;
  if (written && (run_nvcc("nvcc", source, object) || run_nvcc("/usr/local/cuda/bin/nvcc", source, object))) {
    const bench_peer peer = {.name = "cub", .files = {object}};
    void *const library = bench_peer_load(&peer, 0, cub.why, sizeof cub.why);
    cub.made = library && !bench_peer_resolve(library, cub_symbols, 3, &cub);
  }
  unlink(source);
  unlink(object);
  rmdir(dir);
}

static double call_cub(ladder_rung *rung, double *event) {
  const size_t *n = rung->self;
  double seconds = 0;
  unsigned sum = 0;
  int error = cub.sum(*n, &sum, event, &seconds);
  rung->result[0] = sum;
  if (error) ladder_out(rung, "CUDA error %d", error);
  return error ? -1 : seconds;
}

void ladder_cub_rung(ladder_case *c, const ladder_device *device, const uint32_t *x, size_t most) {
  ladder_rung *rung = ladder_add(c, "CUB", call_cub, &c->n);
  if (!device->nvidia) {
    ladder_out(rung, "not an NVIDIA device");
    return;
  }
  if (!cub.tried) make_cub();
  if (!cub.made) {
    ladder_out(rung, "%s", cub.why);
    return;
  }
  if (!cub.loaded_data) {
    int error = cub.open(x, most);
    if (error) ladder_out(rung, "CUDA error %d", error);
    if (error) return;
    cub.loaded_data = true;
  }
  snprintf(rung->note, sizeof rung->note, "cub::DeviceReduce::Sum of uint32, with data in device memory");
}

void ladder_cub_close(void) {
  if (cub.loaded_data) cub.close();
  cub.loaded_data = false;
}

typedef struct cublas_rung {
  bench_cuda cuda;
  void *from, *to;
  ladder_product *product;
} cublas_rung;

static int launch_gemm(const cublas_rung *s) {
  return bench_cuda_multiply(&s->cuda, s->product->m, s->product->n, s->product->k, false, false);
}

static double call_cublas(ladder_rung *rung, double *event) {
  cublas_rung *s = rung->self;
  float ms = 0;
  int error = launch_gemm(s); /* not timed, because the card has just been used through OpenCL's context */
  if (!error) error = s->cuda.finish();
  if (!error) error = s->cuda.record(s->from, NULL);
  if (!error) error = launch_gemm(s);
  if (!error) error = s->cuda.record(s->to, NULL);
  if (!error) error = s->cuda.finish();
  if (!error) error = s->cuda.elapsed(&ms, s->from, s->to);
  double start = bench_now();
  if (!error) error = launch_gemm(s);
  if (!error) error = s->cuda.finish();
  double seconds = bench_now() - start;
  *event = 1e-3 * (double)ms;
  if (error) ladder_out(rung, "CUDA or cuBLAS error %d", error);
  return error ? -1 : seconds;
}

static bool fetch_cublas(ladder_rung *rung) {
  cublas_rung *s = rung->self;
  const size_t bytes = s->product->m * s->product->n * sizeof(float);
  return s->cuda.copy(s->product->got, s->cuda.c, bytes, BENCH_TO_HOST) == 0 &&
         s->cuda.fill(s->cuda.c, 0xff, bytes) == 0;
}

static void close_cublas(ladder_rung *rung) {
  cublas_rung *s = rung->self;
  if (s->cuda.a) s->cuda.release(s->cuda.a);
  if (s->cuda.b) s->cuda.release(s->cuda.b);
  if (s->cuda.c) s->cuda.release(s->cuda.c);
  if (s->from) s->cuda.event_end(s->from);
  if (s->to) s->cuda.event_end(s->to);
  if (s->cuda.handle) s->cuda.close(s->cuda.handle);
}

void ladder_cublas_rung(ladder_case *c, ladder_product *p) {
  ladder_rung *rung = ladder_add_owner(c, "cuBLAS", call_cublas, sizeof(cublas_rung));
  cublas_rung *const s = rung->self;
  char why[128];
  if (rung->out) return;
  if (!p->device->nvidia) {
    ladder_out(rung, "not an NVIDIA device");
    return;
  }
  if (!bench_cuda_load(&s->cuda, why, sizeof why)) {
    ladder_out(rung, "%s", why);
    return;
  }
  rung->fetch = fetch_cublas;
  rung->close = close_cublas;
  s->product = p;
  int error = bench_cuda_open(&s->cuda, p->a, p->m * p->k, p->b, p->k * p->n, p->m * p->n);
  if (!error) error = s->cuda.event_new(&s->from);
  if (!error) error = s->cuda.event_new(&s->to);
  if (error) ladder_out(rung, "CUDA or cuBLAS error %d", error);
  snprintf(rung->note, error ? 0 : sizeof rung->note, "cublasSgemm, fp32 without TF32, with data in device memory");
}
