/* SPDX-License-Identifier: Apache-2.0
 * `ladder offload`: one product, as in the Intel GFX study: by serial C, by OpenMP, by the devices alone, and with
 * every split. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/emit.h"
#include "bench/ladder.h"
#include "bench/measure.h"

#define SECONDS 8.0

/* The three plain loops, in the order that reads memory by rows. */
static void multiply_rows(const ladder_product *p, size_t first, size_t end) {
  for (size_t i = first; i < end; i++) {
    float *restrict c = p->got + i * p->n;
    for (size_t j = 0; j < p->n; j++) c[j] = 0.0f;
    for (size_t q = 0; q < p->k; q++) {
      const float a = p->a[i * p->k + q], *restrict b = p->b + q * p->n;
#pragma omp simd
      for (size_t j = 0; j < p->n; j++) c[j] += a * b[j];
    }
  }
}

static double call_serial(ladder_rung *rung, double *event) {
  const ladder_product *p = rung->self;
  double start = bench_now();
  multiply_rows(p, 0, p->m);
  *event = NAN;
  return bench_now() - start;
}

static int thread_count;

static double call_openmp(ladder_rung *rung, double *event) {
  const ladder_product *p = rung->self;
  double start = bench_now();
#pragma omp parallel for schedule(dynamic, 16) num_threads(thread_count)
  for (size_t i = 0; i < p->m; i++) multiply_rows(p, i, i + 1);
  *event = NAN;
  return bench_now() - start;
}

static void print_gain(const ladder_case *c) {
  const ladder_rung *best = NULL;
  for (size_t i = 0; i < c->rungs; i++)
    if (!c->rung[i].out && (!best || c->rung[i].wall_s < best->wall_s)) best = &c->rung[i];
  if (!best || c->rung[0].out) return;
  char serial[24], least[24];
  bench_time_text(c->rung[0].wall_s, serial, sizeof serial);
  bench_time_text(best->wall_s, least, sizeof least);
  bench_note(0, "here: %s serial to %s (%s), %.1fx", serial, least, best->name, c->rung[0].wall_s / best->wall_s);
}

static const ladder_family splits = {"split", "percent on the CPU"};

static bool run_size(bench_session *session, const bench_size *size) {
  static ladder_case c;
  ladder_product p;
  if (!ladder_product_open(&p, NULL, size)) return false;
  ladder_case_of_product(&c, "offload", "serial C", &p);
  const hx_task task = hx_matmul(p.m, p.n, p.k, p.a, p.b, p.got);
  thread_count = (int)session->threads;
  ladder_add(&c, "serial C", call_serial, &p);
  ladder_add(&c, "OpenMP", call_openmp, &p);
  const unsigned step = session->options->step;
  for (unsigned cpu = 0; cpu <= 100; cpu += step) {
    char name[32];
    snprintf(name, sizeof name, "CPU %u %%%s", cpu, cpu == 0 ? " (devices alone)" : cpu == 100 ? " (CPU alone)" : "");
    if (session->has_device || cpu == 100)
      ladder_hx_call_rung(session->hx, &c, name, &task, (float)(100 - cpu) / 100);
    else
      ladder_out(ladder_add(&c, name, NULL, NULL), "no device is in use");
    c.rung[c.rungs - 1].family = &splits;
    c.rung[c.rungs - 1].x = cpu;
  }
  ladder_hx_call_rung(session->hx, &c, "hx decides", &task, -1);
  bool fine = ladder_run(session, &c, SECONDS);
  print_gain(&c);
  ladder_product_close(&p);
  return fine;
}

bool ladder_offload(bench_session *session, const bench_tasks *tasks) {
  bool fine = true;
  for (size_t i = 0; fine && i < tasks->count && !bench_stopped(); i++) fine = run_size(session, &tasks->task[i].size);
  return fine;
}
