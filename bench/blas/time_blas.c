/* SPDX-License-Identifier: Apache-2.0
 * time_blas ROUTINE:SIZES...: seconds per call of routines of the BLAS that this process has, one line for each. SIZES:
 * sgemm:MxNxK (sgemm_tn, _nt, _tt: transposed), ssyrk:NxK, sgemv:MxN, sgemv_t:MxN, sdot:N, sasum:N, isamax:N, each with
 * an optional increment of vectors after a slash. The calls of TIME_BLAS_MS (5) milliseconds are timed in blocks of at
 * least 5 us, after a call that is not timed; the fastest block counts, because other programs may use the cores. It is
 * not linked to a BLAS: libblas.so.3 is loaded, and routines of a preloaded library come before its own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct shape {
  int m, n, k, inc;
  float *a, *b, *c;
} shape;

static const float one = 1.0f, half = 0.5f;
static volatile float sink;

static void (*sgemm)(const char *, const char *, const int *, const int *, const int *, const float *, const float *,
                     const int *, const float *, const int *, const float *, float *, const int *, size_t, size_t);
static void (*sgemv)(const char *, const int *, const int *, const float *, const float *, const int *, const float *,
                     const int *, const float *, float *, const int *, size_t);
static void (*ssyrk)(const char *, const char *, const int *, const int *, const float *, const float *, const int *,
                     const float *, float *, const int *, size_t, size_t);
static float (*sdot)(const int *, const float *, const int *, const float *, const int *);
static float (*sasum)(const int *, const float *, const int *);
static int (*isamax)(const int *, const float *, const int *);

static void call_sgemm(const shape *s) {
  sgemm("N", "N", &s->m, &s->n, &s->k, &one, s->a, &s->m, s->b, &s->k, &half, s->c, &s->m, 1, 1);
}
static void call_sgemm_tn(const shape *s) {
  sgemm("T", "N", &s->m, &s->n, &s->k, &one, s->a, &s->k, s->b, &s->k, &half, s->c, &s->m, 1, 1);
}
static void call_sgemm_nt(const shape *s) {
  sgemm("N", "T", &s->m, &s->n, &s->k, &one, s->a, &s->m, s->b, &s->n, &half, s->c, &s->m, 1, 1);
}
static void call_sgemm_tt(const shape *s) {
  sgemm("T", "T", &s->m, &s->n, &s->k, &one, s->a, &s->k, s->b, &s->n, &half, s->c, &s->m, 1, 1);
}
static void call_ssyrk(const shape *s) { ssyrk("L", "N", &s->m, &s->n, &one, s->a, &s->m, &half, s->c, &s->m, 1, 1); }
static void call_sgemv(const shape *s) {
  sgemv("N", &s->m, &s->n, &one, s->a, &s->m, s->b, &s->inc, &half, s->c, &s->inc, 1);
}
static void call_sgemv_t(const shape *s) {
  sgemv("T", &s->m, &s->n, &one, s->a, &s->m, s->b, &s->inc, &half, s->c, &s->inc, 1);
}
static void call_sdot(const shape *s) { sink = sdot(&s->m, s->a, &s->inc, s->b, &s->inc); }
static void call_sasum(const shape *s) { sink = sasum(&s->m, s->a, &s->inc); }
static void call_isamax(const shape *s) { sink = (float)isamax(&s->m, s->a, &s->inc); }

typedef struct routine {
  const char *name, *symbol;
  void (*call)(const shape *);
  void **function;
} routine;

static const routine routines[] = {
    {"sgemm", "sgemm_", call_sgemm, (void **)&sgemm},       {"sgemm_tn", "sgemm_", call_sgemm_tn, (void **)&sgemm},
    {"sgemm_nt", "sgemm_", call_sgemm_nt, (void **)&sgemm}, {"sgemm_tt", "sgemm_", call_sgemm_tt, (void **)&sgemm},
    {"ssyrk", "ssyrk_", call_ssyrk, (void **)&ssyrk},       {"sgemv", "sgemv_", call_sgemv, (void **)&sgemv},
    {"sgemv_t", "sgemv_", call_sgemv_t, (void **)&sgemv},   {"sdot", "sdot_", call_sdot, (void **)&sdot},
    {"sasum", "sasum_", call_sasum, (void **)&sasum},       {"isamax", "isamax_", call_isamax, (void **)&isamax},
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static float *array(size_t n) {
  float *const x = malloc((n + 1) * sizeof *x);
  if (!x) exit(1);
  for (size_t i = 0; i < n; i++) x[i] = (float)((i * 2654435761u >> 7) % 2001) * 1e-3f - 1.0f;
  return x;
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static void make(shape *s, const routine *r) {
  const size_t m = (size_t)s->m, n = (size_t)s->n, k = (size_t)s->k, inc = (size_t)s->inc;
  const bool product = *r->function == (void *)sgemm && sgemm, square = r->call == call_ssyrk,
             vector = r->call == call_sgemv || r->call == call_sgemv_t;
  s->a = array(product ? m * k : square || vector ? m * n : m * inc);
  s->b = array(product ? k * n : vector ? larger(m, n) * inc : m * inc);
  s->c = array(product ? m * n : square ? m * m : larger(m, n) * inc);
}

/* Seconds per call in the fastest block. */
static double time_calls(const shape *s, const routine *r, double seconds) {
  r->call(s);
  size_t block = 1;
  double best = 1e9;
  for (const double began = now(); now() - began < seconds;) {
    const double from = now();
    for (size_t i = 0; i < block; i++) r->call(s);
    const double took = now() - from;
    if (took < 5e-6) {
      block *= 2;
      continue;
    }
    if (took / (double)block < best) best = took / (double)block;
  }
  return best;
}

int main(int count, char **arguments) {
  void *const blas = dlopen("libblas.so.3", RTLD_NOW | RTLD_GLOBAL);
  if (!blas) return puts(dlerror()), 1;
  const char *const ms = getenv("TIME_BLAS_MS");
  const double seconds = (ms ? atof(ms) : 5) * 1e-3;
  for (int i = 1; i < count; i++) {
    const char *const sizes = strchr(arguments[i], ':'), *const inc = strchr(arguments[i], '/');
    shape s = {.n = 1, .k = 1, .inc = inc ? atoi(inc + 1) : 1};
    if (!sizes || sscanf(sizes, ":%dx%dx%d", &s.m, &s.n, &s.k) < 1) return fprintf(stderr, "%s?\n", arguments[i]), 2;
    const routine *r = routines;
    while (strlen(r->name) != (size_t)(sizes - arguments[i]) || strncmp(r->name, arguments[i], strlen(r->name)))
      if (++r == routines + sizeof routines / sizeof *routines) return fprintf(stderr, "%s?\n", arguments[i]), 2;
    *r->function = dlsym(RTLD_DEFAULT, r->symbol);
    make(&s, r);
    printf("%s\t%.9g\n", arguments[i], time_calls(&s, r, seconds));
    fflush(stdout);
    free(s.a), free(s.b), free(s.c);
  }
  return 0;
}
