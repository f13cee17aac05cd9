/* SPDX-License-Identifier: Apache-2.0
 * The table of other libraries and of the tasks that each supports. CBLAS is called with 32-bit sizes. OpenCV is called
 * through the C functions of versions 3 and 4, which call cv::sum, cv::minMaxLoc and cv::Mat::dot. */
#include "bench/peers.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#if defined(__x86_64__)
static bool runs_avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
static bool runs_avx512(void) {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
static bool runs_bf16(void) { return runs_avx512() && __builtin_cpu_supports("avx512bf16"); }
#else
static bool runs_avx2(void) { return false; }
static bool runs_avx512(void) { return false; }
static bool runs_bf16(void) { return false; }
#endif

static void threads_int(void *symbol, unsigned threads) { ((void (*)(int))symbol)((int)threads); }
static void threads_long(void *symbol, unsigned threads) { ((void (*)(long))symbol)((long)threads); }

static const char *openblas_core(void *library) {
  char *(*name)(void) = (char *(*)(void))dlsym(library, "openblas_get_corename");
  return name ? name() : NULL;
}

static const char *blis_core(void *library) {
  int (*id)(void) = (int (*)(void))dlsym(library, "bli_arch_query_id");
  const char *(*name)(int) = (const char *(*)(int))dlsym(library, "bli_arch_string");
  return id && name ? name(id()) : NULL;
}

/* BLIS reads its variable at the first call and expects a number that depends on the version. */
static void blis_choose(void *library, const char *core) {
  const char *(*name)(int) = (const char *(*)(int))dlsym(library, "bli_arch_string");
  for (int id = 0; name && strcmp(name(id), "generic") != 0; id++) { /* the last core type */
    if (strcmp(name(id), core) != 0) continue;
    char number[16];
    snprintf(number, sizeof number, "%d", id);
    setenv("BLIS_ARCH_TYPE", number, 1);
    return;
  }
}

static const bench_peer peers[] = {
    {.name = "openblas",
     .compared = true,
     .files = {"libopenblas.so.0", "libopenblas.so"},
     .core_variable = "OPENBLAS_CORETYPE",
     .cores = {{"Haswell", runs_avx2}, {"Zen", runs_avx2}, {"SkylakeX", runs_avx512}, {"Cooperlake", runs_bf16}},
     .threads_symbol = "openblas_set_num_threads",
     .set_threads = threads_int,
     .core = openblas_core},
    {.name = "blis",
     .compared = true,
     .files = {"libblis.so.4", "libblis.so.3", "libblis.so"},
     .core_variable = "BLIS_ARCH_TYPE",
     .cores = {{"haswell", runs_avx2}, {"zen3", runs_avx2}, {"skx", runs_avx512}},
     .choose = blis_choose,
     .threads_symbol = "bli_thread_set_num_threads",
     .set_threads = threads_long,
     .core = blis_core},
    {.name = "opencv",
     .compared = true,
     .files = {"libopencv_core.so.406", "libopencv_core.so.410", "libopencv_core.so"},
     .threads_symbol = "_ZN2cv13setNumThreadsEi",
     .set_threads = threads_int},
    {.name = "mkl",
     .compared = true,
     .files = {"libmkl_rt.so.2", "libmkl_rt.so.3", "libmkl_rt.so"},
     .root_variable = "MKLROOT",
     .threads_symbol = "MKL_Set_Num_Threads",
     .set_threads = threads_int},
    {.name = "clblast", .files = {"libclblast.so.1"}},
    {.name = "cudart", .files = {"libcudart.so.13", "libcudart.so.12", "libcudart.so"}},
    {.name = "cublas", .files = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"}},
};

static const bench_peer *find_peer(const char *name, size_t length) {
  for (size_t p = 0; p < COUNT(peers); p++)
    if (strlen(peers[p].name) == length && strncmp(peers[p].name, name, length) == 0) return &peers[p];
  return NULL;
}

const bench_peer *bench_peer_named(const char *name, size_t length) {
  const bench_peer *const peer = find_peer(name, length);
  return peer && peer->compared ? peer : NULL;
}

static void *open_in(const char *root, const char *folder, const char *name, char *file, size_t bytes) {
  int length = snprintf(file, bytes, "%s%s%s", root, folder, name);
  return length > 0 && (size_t)length < bytes ? dlopen(file, RTLD_NOW | RTLD_LOCAL) : NULL;
}

void *bench_peer_load(const bench_peer *peer, unsigned threads, char *text, size_t bytes) {
  const char *root = peer->root_variable ? getenv(peer->root_variable) : NULL, *last = "";
  void *library = NULL;
  for (size_t f = 0; !library && f < COUNT(peer->files) && peer->files[f]; f++) {
    last = peer->files[f];
    if (root && *root) library = open_in(root, "/lib/", last, text, bytes);
    if (!library && root && *root) library = open_in(root, "/lib/intel64/", last, text, bytes);
    if (!library) library = open_in("", "", last, text, bytes);
  }
  if (!library) {
    snprintf(text, bytes, "%s is not installed", last);
    return NULL;
  }
  const char *core = peer->core_variable ? getenv(peer->core_variable) : NULL;
  if (core && peer->choose) peer->choose(library, core);
  void *symbol = peer->threads_symbol ? dlsym(library, peer->threads_symbol) : NULL;
  if (symbol) peer->set_threads(symbol, threads);
  return library;
}

const char *bench_peer_resolve(void *library, const bench_symbol *symbols, size_t count, void *functions) {
  for (size_t i = 0; i < count; i++) {
    void *const address = dlsym(library, symbols[i].name);
    if (!address) return symbols[i].name;
    memcpy((char *)functions + symbols[i].offset, &address, sizeof address);
  }
  return NULL;
}

bool bench_peer_open(const char *name, unsigned threads, const bench_symbol *symbols, size_t count, void *functions,
                     char *text, size_t bytes) {
  void *const library = bench_peer_load(find_peer(name, strlen(name)), threads, text, bytes);
  if (!library) return false;
  const char *const missing = bench_peer_resolve(library, symbols, count, functions);
  if (missing) snprintf(text, bytes, "this %s has no %s", name, missing);
  return !missing;
}

static void do_sgemm(void *symbol, bench_subject *subject) {
  enum { ROW_MAJOR = 101, AS_IT_IS = 111, TRANSPOSED = 112 }; /* from cblas.h */
  typedef void sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
  const struct hx_matmul_args *g = &subject->task.matmul;
  int m = (int)g->m, n = (int)g->n, k = (int)g->k;
  ((sgemm *)symbol)(ROW_MAJOR, g->trans_a ? TRANSPOSED : AS_IT_IS, g->trans_b ? TRANSPOSED : AS_IT_IS, m, n, k, 1.0f,
                    g->a, g->trans_a ? m : k, g->b, g->trans_b ? k : n, 0.0f, g->c, n);
}

static void do_vector(void *symbol, bench_subject *subject) {
  typedef float vector(int, const float *, int);
  subject->out = (hx_value){0};
  subject->out.f32 = ((vector *)symbol)((int)subject->task.reduce.n, subject->task.reduce.x, 1);
}

static void do_index(void *symbol, bench_subject *subject) {
  typedef size_t index(int, const float *, int);
  subject->out.u64 = ((index *)symbol)((int)subject->task.reduce.n, subject->task.reduce.x, 1);
}

static void do_by_reference(void *symbol,
                            bench_subject *subject) { /* arguments are passed by reference, as in Fortran */
  typedef float by_reference(const int *, const float *, const int *);
  const int n = (int)subject->task.reduce.n, step = 1;
  subject->out = (hx_value){0};
  subject->out.f32 = ((by_reference *)symbol)(&n, subject->task.reduce.x, &step);
}

static void do_dot(void *symbol, bench_subject *subject) { /* sum_squares: x with itself */
  typedef float dot(int, const float *, int, const float *, int);
  const struct hx_reduce_args *args = &subject->task.reduce;
  subject->out = (hx_value){0};
  subject->out.f32 = ((dot *)symbol)((int)args->n, args->x, 1, args->y ? args->y : args->x, 1);
}

/* CvMat, CvScalar and CvPoint from OpenCV's core/types_c.h. */
typedef struct cv_matrix {
  int type, step, *references, header_references;
  const void *data;
  int rows, columns;
} cv_matrix;
typedef struct cv_scalar {
  double value[4];
} cv_scalar;
typedef struct cv_point {
  int x, y;
} cv_point;

static cv_matrix cv_row(hx_type type, const void *x, size_t n) {
  enum { MAGIC = 0x42420000, CONTINUOUS = 1 << 14, INT32 = 4, FLOAT32 = 5 };
  return (cv_matrix){.type = MAGIC | CONTINUOUS | (type == HX_F32 ? FLOAT32 : INT32),
                     .step = (int)(n * sizeof(float)),
                     .data = x,
                     .rows = 1,
                     .columns = (int)n};
}

static void put_number(hx_type type, bool wide, double value, hx_value *out) {
  *out = (hx_value){0};
  if (type == HX_F32) {
    out->f32 = (float)value;
  } else if (wide) {
    out->i64 = (int64_t)value;
  } else {
    out->i32 = (int32_t)value;
  }
}

static void do_cv_sum(void *symbol, bench_subject *subject) {
  typedef cv_scalar sum(const void *);
  const struct hx_reduce_args *args = &subject->task.reduce;
  cv_matrix x = cv_row(args->type, args->x, args->n);
  put_number(args->type, true, ((sum *)symbol)(&x).value[0], &subject->out);
}

static void do_cv_dot(void *symbol, bench_subject *subject) {
  typedef double dot(const void *, const void *);
  const struct hx_reduce_args *args = &subject->task.reduce;
  cv_matrix x = cv_row(args->type, args->x, args->n), y = cv_row(args->type, args->y, args->n);
  put_number(args->type, true, ((dot *)symbol)(&x, &y), &subject->out);
}

static void do_cv_extremum(void *symbol, bench_subject *subject) { /* one pass finds all four */
  typedef void extremum(const void *, double *, double *, cv_point *, cv_point *, const void *);
  const struct hx_reduce_args *args = &subject->task.reduce;
  cv_matrix x = cv_row(args->type, args->x, args->n);
  double least, most;
  cv_point least_at, most_at;
  bool places = args->op == HX_ARGMIN || args->op == HX_ARGMAX, low = args->op == HX_MIN || args->op == HX_ARGMIN;
  ((extremum *)symbol)(&x, &least, &most, places ? &least_at : NULL, places ? &most_at : NULL, NULL);
  put_number(args->type, false, low ? least : most, &subject->out);
  if (places) subject->out.u64 = (uint64_t)(low ? least_at : most_at).x;
}

#define CBLAS "openblas,blis,mkl"
static const struct function {
  const char *peers; /* comma-separated names */
  uint32_t ops, types;
  const char *symbol;
  bench_peer_fn *call;
} functions[] = {
    {CBLAS, 1u << BENCH_OP_MATMUL, 1u << HX_F32, "cblas_sgemm", do_sgemm},
    {CBLAS, 1u << HX_DOT | 1u << HX_SUM_SQUARES, 1u << HX_F32, "cblas_sdot", do_dot},
    {CBLAS, 1u << HX_SUM_ABS, 1u << HX_F32, "cblas_sasum", do_vector},
    {"openblas", 1u << HX_SUM, 1u << HX_F32, "cblas_ssum", do_vector},
    {"openblas", 1u << HX_ARGMIN, 1u << HX_F32, "cblas_ismin", do_index},
    {"openblas", 1u << HX_ARGMAX, 1u << HX_F32, "cblas_ismax", do_index},
    {"openblas", 1u << HX_MIN, 1u << HX_F32, "smin_", do_by_reference},
    {"openblas", 1u << HX_MAX, 1u << HX_F32, "smax_", do_by_reference},
    {"opencv", 1u << HX_SUM, 1u << HX_F32 | 1u << HX_I32, "cvSum", do_cv_sum},
    {"opencv", 1u << HX_DOT, 1u << HX_F32, "cvDotProduct", do_cv_dot},
    {"opencv", 1u << HX_MIN | 1u << HX_MAX | 1u << HX_ARGMIN | 1u << HX_ARGMAX, 1u << HX_F32 | 1u << HX_I32,
     "cvMinMaxLoc", do_cv_extremum},
};

bool bench_peer_find(const bench_peer *peer, void *library, const bench_subject *subject, bench_peer_call *call) {
  bool product = subject->row.m != 0;
  uint32_t op = 1u << (product ? BENCH_OP_MATMUL : (uint32_t)subject->task.reduce.op);
  uint32_t type = 1u << (product ? HX_F32 : subject->task.reduce.type);
  const bench_row *row = &subject->row;
  if (row->m > INT_MAX || row->k > INT_MAX || row->n > INT_MAX / sizeof(float)) return false;
  for (size_t f = 0; f < COUNT(functions); f++) {
    const struct function *function = &functions[f];
    if (!(function->ops & op) || !(function->types & type) || !strstr(function->peers, peer->name)) continue;
    *call = (bench_peer_call){function->call, dlsym(library, function->symbol)};
    if (call->symbol) return true;
  }
  return false;
}

/* The data are in [-0.5, 0.5) and rounding errors cancel, so these bounds are wide. A result with missing or repeated
 * work is far outside. */
#define NEAR 1e-5
#define NEAR_ELEMENT 1e-4

static bool close_to(double value, double wanted, double bound) { return fabs(value - wanted) <= bound; }

static bool near_element(const bench_subject *subject) { /* with equal elements, the index of any of them is accepted */
  const struct hx_reduce_args *args = &subject->task.reduce;
  const uint32_t *x = args->x;
  return subject->out.u64 < args->n && x[subject->out.u64] == x[subject->expected.u64];
}

bool bench_peer_near(const bench_subject *subject) {
  const struct hx_reduce_args *args = &subject->task.reduce;
  if (subject->row.m) {
    bool right = true;
    double bound = NEAR * (double)subject->row.k + 1e-6;
    for (size_t i = 0; i < subject->places; i++)
      right &= close_to((double)subject->c[subject->place[i]], (double)subject->wanted[i], bound);
    return right;
  }
  if (args->op == HX_ARGMIN || args->op == HX_ARGMAX) return near_element(subject);
  if (args->op == HX_MIN || args->op == HX_MAX) return subject->out.u64 == subject->expected.u64;
  if (args->type == HX_F32)
    return close_to((double)subject->out.f32, (double)subject->expected.f32, NEAR_ELEMENT * (double)args->n);
  return close_to((double)subject->out.i64, (double)subject->expected.i64, (double)args->n); /* OpenCV adds in double */
}
