/* SPDX-License-Identifier: Apache-2.0
 * The rung of CLBlast for products. */
#include "bench/ladder.h"
#include "bench/measure.h"
#include "bench/peers.h"

typedef int clblast_sgemm(int, int, int, size_t, size_t, size_t, float, cl_mem, size_t, size_t, cl_mem, size_t, size_t,
                          float, cl_mem, size_t, size_t, cl_command_queue *, cl_event *);
static clblast_sgemm *clblast;

static int launch_gemm(const ladder_product *p, cl_command_queue queue) {
  enum { ROW_MAJOR = 101, AS_IT_IS = 111 };
  return clblast(ROW_MAJOR, AS_IT_IS, AS_IT_IS, p->m, p->n, p->k, 1, p->da, 0, p->k, p->db, 0, p->n, 0, p->dc, 0, p->n,
                 &queue, NULL);
}

/* CLBlast may launch several kernels and returns only the event of the last one, so the call is timed between two
 * markers. */
static double call_clblast(ladder_rung *rung, double *event) {
  const ladder_product *p = rung->self;
  cl_event markers[2] = {NULL, NULL};
  int code = clEnqueueMarkerWithWaitList(p->device->timed, 0, NULL, &markers[0]);
  if (!code) code = launch_gemm(p, p->device->timed);
  if (!code) code = clEnqueueMarkerWithWaitList(p->device->timed, 0, NULL, &markers[1]);
  clFinish(p->device->timed);
  *event = ladder_span(markers, 2);
  double start = bench_now();
  if (!code) code = launch_gemm(p, p->device->queue);
  clFinish(p->device->queue);
  double seconds = bench_now() - start;
  if (code) ladder_out(rung, "CLBlast returned %d", code);
  return code ? -1 : seconds;
}

void ladder_clblast_rung(ladder_case *c, ladder_product *p) {
  ladder_rung *rung = ladder_add(c, "CLBlast", call_clblast, p);
  static const bench_symbol symbols[] = {{"CLBlastSgemm", 0}};
  char why[128];
  rung->fetch = ladder_product_fetch;
  if (!bench_peer_open("clblast", 0, symbols, 1, &clblast, why, sizeof why)) ladder_out(rung, "%s", why);
}
