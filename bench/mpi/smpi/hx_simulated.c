/* SPDX-License-Identifier: Apache-2.0
 * For simulation only: the functions of hx that libhx_mpi calls, in SimGrid's SMPI. They compute nothing. A product of
 * m x n x k takes the time of 2 m n k operations at the rate of the simulated machine, and a reduction that of its
 * bytes at READ_RATE. Results are 0. Panels of all ranks share their memory, so that a thousand ranks fit and SMPI does
 * not copy them. */
#include <simgrid/host.h>
#include <smpi/smpi.h>
#include <stdlib.h>

#include "mpi/memory.h"
#include "runtime/hx.h"

#define READ_RATE 100e9 /* bytes/s */

struct hx_event {
  double end; /* in simulated time */
};

static double busy_until; /* a machine computes one task after the other */

static double seconds_of(const hx_task *task) {
  if (task->kind == HX_MATMUL)
    return 2.0 * (double)task->matmul.m * (double)task->matmul.n * (double)task->matmul.k /
           sg_host_get_speed(sg_host_self());
  const double arrays = task->reduce.op == HX_DOT ? 2 : 1;
  return arrays * (double)task->reduce.n * sizeof(float) / READ_RATE;
}

static void start(const hx_task *task) {
  const double now = MPI_Wtime();
  if (task->kind == HX_REDUCE) *task->reduce.out = (hx_value){0};
  busy_until = (busy_until > now ? busy_until : now) + seconds_of(task);
}

static void wait_until(double end) {
  const double rest = end - MPI_Wtime();
  if (rest > 0) smpi_execute_flops_benched(rest * sg_host_get_speed(sg_host_self()));
}

hx_status hx_offload_many(hx_context *hx, const hx_task *tasks, size_t n, hx_report *report) {
  (void)hx, (void)report;
  for (size_t i = 0; i < n; i++) start(&tasks[i]);
  wait_until(busy_until);
  return HX_OK;
}

hx_status hx_offload(hx_context *hx, const hx_task *task, hx_report *report) {
  return hx_offload_many(hx, task, 1, report);
}

hx_status hx_offload_async(hx_context *hx, const hx_task *task, hx_event **out) {
  (void)hx;
  *out = malloc(sizeof **out);
  if (!*out) return HX_OUT_OF_MEMORY;
  start(task);
  (*out)->end = busy_until;
  return HX_OK;
}

hx_status hx_wait(hx_event *event, hx_report *report) {
  (void)report;
  wait_until(event->end);
  free(event);
  return HX_OK;
}

hx_status hx_sync(hx_context *hx, void *p, size_t bytes) {
  (void)hx, (void)p, (void)bytes;
  return HX_INVALID_ARGUMENT;
}

hx_status hx_modified(hx_context *hx, const void *p, size_t bytes) { return hx_sync(hx, (void *)p, bytes); }

const char *hx_error_detail(void) { return "simulated"; }

hx_task hx_reduce(hx_op op, hx_type type, const void *x, size_t n, hx_value *out) {
  return (hx_task){.kind = HX_REDUCE, .reduce = {.op = op, .type = type, .x = x, .n = n, .out = out}};
}

hx_task hx_matmul(size_t m, size_t n, size_t k, const float *a, const float *b, float *c) {
  return (hx_task){.kind = HX_MATMUL, .matmul = {.m = m, .n = n, .k = k, .a = a, .b = b, .c = c, .alpha = 1}};
}

float *hx__mpi_memory_take(size_t floats) { return SMPI_SHARED_MALLOC((floats + 1) * sizeof(float)); }

void hx__mpi_memory_return(float *memory) {
  if (memory) SMPI_SHARED_FREE(memory);
}
