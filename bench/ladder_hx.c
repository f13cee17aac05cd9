/* SPDX-License-Identifier: Apache-2.0
 * The rungs of hx: hx_offload as users call it, and its kernels with data in device memory. The kernels are launched
 * through the same stream code as in a run, so that the shipped code is timed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/ladder.h"
#include "bench/measure.h"
#include "bench/text.h"
#include "runtime/backend/opencl/stream.h"
#include "runtime/backend/registry.h"
#include "runtime/base/config.h"

typedef struct offload_rung {
  hx_context *context;
  hx_task task;
  hx_value out[LADDER_MOST_SUMS];
} offload_rung;

/* Whether the devices did the requested share, to within half a slice for each, and the last leaf, which may be short.
 * If one was refused or lost, the CPU did its work, and the time is not that of the devices. */
static bool share_done(const hx_task *task, const hx_report *report) {
  const struct hx_matmul_args *p = &task->matmul;
  const bool product = task->kind == HX_MATMUL;
  const size_t n = task->kind == HX_REDUCE_SOA ? task->soa.n : task->reduce.n;
  const double slices = product ? (double)(p->m > p->n ? p->m : p->n) : ceil((double)n / HX__LEAF);
  const double off = 0.5 * (double)report->device_count + (!product && n % HX__LEAF);
  const double most = (off + 1e-6) / slices;
  return task->gpu_share < 0 || fabs(report->gpu_share - (double)task->gpu_share) <= most;
}

static double call_offload(ladder_rung *rung, double *event) {
  offload_rung *w = rung->self;
  hx_report report;
  memset(w->out, 0xa5, sizeof w->out);
  double start = bench_now();
  hx_status status = hx_offload(w->context, &w->task, &report);
  double seconds = bench_now() - start;
  if (status != HX_OK) ladder_out(rung, "%s: %.120s", hx_status_string(status), hx_error_detail());
  if (status != HX_OK) return -1;
  if (report.recovered) ladder_out(rung, "the device gave back %u chunks, which the CPU computed", report.recovered);
  if (report.recovered) return -1;
  if (!share_done(&w->task, &report))
    ladder_out(rung, "the devices did %.0f %% of it, not %.0f %%", 100 * report.gpu_share,
               100 * (double)w->task.gpu_share);
  if (rung->out) return -1;
  *event = NAN;
  for (size_t i = 0; i < LADDER_MOST_SUMS; i++) rung->result[i] = w->out[i].u64;
  rung->copied = report.bytes_copied;
  char bytes[24];
  bench_bytes_text(report.bytes_copied, bytes, sizeof bytes);
  if (w->task.gpu_share < 0)
    snprintf(rung->note, sizeof rung->note, "%.0f %% on devices, %s copied", 100 * report.gpu_share, bytes);
  else
    snprintf(rung->note, sizeof rung->note, "%s copied", bytes);
  return seconds;
}

/* Where the results of the task go: into the rung, except those of a product. */
static void set_output(offload_rung *w, const ladder_case *c) {
  switch (w->task.kind) {
    case HX_REDUCE:
      w->task.reduce.out = w->out;
      break;
    case HX_REDUCE_SOA:
      w->task.soa.out = w->out;
      break;
    case HX_REDUCE_LINES:
      w->task.lines.out = w->out;
      break;
    default:
      w->task.matmul.c = c->product->got;
  }
}

void ladder_hx_call_rung(hx_context *hx, ladder_case *c, const char *name, const hx_task *task, float share) {
  offload_rung *const w = ladder_add_owner(c, name, call_offload, sizeof *w)->self;
  if (!w) return;
  *w = (offload_rung){.context = hx, .task = *task};
  w->task.gpu_share = share;
  set_output(w, c);
}

typedef struct kernels {
  hx__cl_stream *stream;
  cl_command_queue queue, timed; /* the stream's own queue, and one with profiling enabled */
  hx__work work;
  hx__array arrays[2];
  hx__request request;
  uint64_t *slots;
  bool joined;
  hx_value out;
  hx__cl_inflight made; /* results of the last launch */
} kernels;

static hx__outcome launch_kernels(kernels *k) {
  const hx__chunk all = {0, k->work.slices};
  return (k->work.matmul ? hx__cl_launch_matmul : hx__cl_launch_reduce)(k->stream, &k->request, all, &k->made);
}

/* Transfers the result to the host as a run does. */
static bool deliver_result(kernels *k) {
  hx__inflight *ticket = NULL;
  const hx__chunk all = {0, k->work.slices};
  hx__outcome outcome = hx__cl_submit(&k->stream->base, &k->request, all, &ticket);
  const _Atomic uint64_t for_ever = UINT64_MAX;
  if (outcome == HX__DONE) outcome = hx__cl_wait(&k->stream->base, ticket, &for_ever);
  if (outcome == HX__DONE) hx__cl_deliver(&k->stream->base, &k->request, ticket, all);
  if (outcome == HX__DONE) hx__cl_retire(&k->stream->base, ticket);
  if (outcome == HX__DONE && !k->work.matmul)
    k->out = hx__join(k->work.fields[0].op, k->work.fields[0].type, k->slots, k->joined ? 1 : k->work.slices);
  return outcome == HX__DONE;
}

/* Notes the kernel row; with a set of rows, the row of the last launch. */
static void note_row(ladder_rung *rung, const kernels *k) {
  const hx__cl_stream *const stream = k->stream;
  const unsigned last = (stream->choices.made - 1) % HX__CL_CHOICES;
  const unsigned own = k->work.matmul ? stream->product : hx__need_index(k->work.needs);
  const unsigned program = stream->choices.made ? stream->choices.entry[last].program : own;
  const hx__kernel_row *const row = stream->device->program[program].row;
  snprintf(rung->note, sizeof rung->note, "%.60s, with data in device memory", row ? row->name : "?");
}

/* The launches are timed between two markers, so gaps between them count. */
static double call_kernels(ladder_rung *rung, double *event) {
  kernels *k = rung->self;
  cl_event markers[2] = {NULL, NULL};
  k->stream->queue = k->timed;
  bool fine = clEnqueueMarkerWithWaitList(k->timed, 0, NULL, &markers[0]) == CL_SUCCESS;
  fine = fine && launch_kernels(k) == HX__DONE;
  fine = fine && clEnqueueMarkerWithWaitList(k->timed, 0, NULL, &markers[1]) == CL_SUCCESS;
  fine = clFinish(k->timed) == CL_SUCCESS && fine;
  k->stream->queue = k->queue;
  *event = ladder_span(markers, 2);
  double start = bench_now();
  if (k->work.matmul)
    fine = fine && launch_kernels(k) == HX__DONE && clFinish(k->queue) == CL_SUCCESS;
  else
    fine = fine && deliver_result(k);
  double seconds = bench_now() - start;
  rung->result[0] = k->out.u64;
  if (!fine) ladder_out(rung, "a launch failed: %.120s", k->stream->device->base.why);
  if (fine) note_row(rung, k);
  return fine ? seconds : -1;
}

static bool fetch_kernels(ladder_rung *rung) { return deliver_result(rung->self); }

static void close_kernels(ladder_rung *rung) {
  kernels *k = rung->self;
  uint64_t copied;
  hx__cl_end(&k->stream->base, &copied);
  clReleaseCommandQueue(k->timed);
  hx__cl_buffer_release(&k->made.out);
  hx__cl_stream_close(&k->stream->base);
  free(k->slots);
}

/* Creates everything that the rung needs. On failure excludes the rung, closes what was opened, and returns false. */
static bool open_kernels(hx__cl_device *d, ladder_rung *rung, const hx_task *task) {
  hx__config config;
  kernels *const k = rung->self;
  cl_int code;
  bool fine = k && hx__config_read(&config, NULL) == HX_OK && hx__task_check(task, &k->work) == HX_OK;
  if (fine && !k->work.matmul) fine = (k->slots = malloc(k->work.slices * sizeof *k->slots)) != NULL;
  if (fine) {
    const uint32_t tile[3] = {config.tile_m, config.tile_n, config.tile_k};
    const uint64_t needs = hx__device_needs(&d->base, k->work.needs, tile);
    /* Waits for all programs of a set, because any of them may be chosen, and because builds would slow the rungs. */
    hx__prepare_wait(&d->base, needs | (k->work.matmul ? HX__NEED_TILES : 0), UINT64_MAX, UINT64_MAX);
    if (!(atomic_load(&d->base.ready) & needs)) fine = ladder_out(rung, "hx: %.140s", d->base.why);
  }
  if (fine) fine = (k->stream = (hx__cl_stream *)hx__cl_stream_open(&d->base, &config)) != NULL;
  if (fine) {
    k->queue = k->stream->queue;
    k->timed = clCreateCommandQueue(d->context, d->id, CL_QUEUE_PROFILING_ENABLE, &code);
    if (k->timed) return true;
    hx__cl_stream_close(&k->stream->base);
  }
  if (k) free(k->slots);
  return rung->out ? false : ladder_out(rung, "there is no memory, or no queue");
}

static hx__array array_of(const hx__cl_device *d, const void *p, size_t rows, size_t cols) {
  const bool in_place = (d->base.zero_copy & 1u << HX__MEMORY_HOSTPTR) != 0;
  return (hx__array){
      .p = p, .rows = rows, .cols = cols, .ld = cols, .mode = in_place ? HX__MEMORY_HOSTPTR : HX__MEMORY_COPY};
}

static void kernels_rung(hx__cl_device *d, ladder_case *c, const hx_task *task) {
  ladder_rung *rung = ladder_add_owner(c, "hx, kernels", call_kernels, sizeof(kernels));
  kernels *const k = rung->self;
  if (!open_kernels(d, rung, task)) return;
  if (k->work.matmul) {
    k->work.gemm.c = c->product->got;
    k->arrays[0] = array_of(d, k->work.gemm.a, c->m, c->k);
    k->arrays[1] = array_of(d, k->work.gemm.b, c->k, c->n);
    rung->fetch = fetch_kernels;
  } else {
    k->work.fields = &k->work.single;
    k->arrays[0] = k->arrays[1] = array_of(d, k->work.single.x, 1, c->n);
  }
  k->request = (hx__request){.work = &k->work,
                             .kernels = hx__cpu_kernels_for(HX__ISA_AUTO),
                             .arrays = k->arrays,
                             .slots = k->slots,
                             .joined = &k->joined};
  rung->close = close_kernels;
  if (hx__cl_begin(&k->stream->base, &k->request) != HX__DONE)
    ladder_out(rung, "%.140s", atomic_load(&d->base.lost) ? d->base.why : hx_error_detail());
}

void ladder_hx_rungs(const ladder_device *device, ladder_case *c, const hx_task *task) {
  kernels_rung(device->shipped, c, task);
  ladder_hx_call_rung(device->hx, c, "hx", task, 1);
}
