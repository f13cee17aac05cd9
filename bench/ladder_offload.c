/* SPDX-License-Identifier: Apache-2.0
 * `ladder offload`: the product of the Intel GFX study, and reductions: by loops in C, by kernels on one device, by hx
 * with each instruction set of the CPU, and with every split. */
#include "bench/ladder_offload.h"

#include "bench/emit.h"
#include "bench/opencl.h"
#include "bench/report/rungs.h"

#define SECONDS 8.0

void ladder_print_gain(const ladder_case *c) {
  const ladder_rung *best = NULL;
  for (size_t i = 0; i < c->rungs; i++)
    if (!c->rung[i].out && (!best || c->rung[i].wall_s < best->wall_s)) best = &c->rung[i];
  if (!best || c->rung[0].out || !(c->rung[0].wall_s > 0 && best->wall_s > 0)) return; /* stopped before */
  char serial[24], least[24];
  bench_time_text(c->rung[0].wall_s, serial, sizeof serial);
  bench_time_text(best->wall_s, least, sizeof least);
  bench_note(0, "here: %s serial to %s (%s), %.1fx", serial, least, best->name, c->rung[0].wall_s / best->wall_s);
}

static const ladder_family splits = {"split", RUNGS_SHARES};

void ladder_split_rungs(const bench_session *session, ladder_case *c, const hx_task *task) {
  for (unsigned cpu = 0; cpu <= 100; cpu += session->options->step) {
    char name[32];
    snprintf(name, sizeof name, "CPU %u %%%s", cpu, cpu == 0 ? " (devices alone)" : cpu == 100 ? " (CPU alone)" : "");
    if (session->has_device || cpu == 100)
      ladder_hx_call_rung(session->hx, c, name, task, (float)(100 - cpu) / 100);
    else
      ladder_out(ladder_add(c, name, NULL, NULL), "no device is in use");
    c->rung[c->rungs - 1].family = &splits;
    c->rung[c->rungs - 1].x = cpu;
  }
  ladder_hx_call_rung(session->hx, c, "hx decides", task, -1);
}

/* device: the first OpenCL device; NULL: there is none. kernels: built for the first product. */
static bool run_product(bench_session *session, const ladder_device *device, ladder_gpu_kernels *kernels,
                        const bench_size *size) {
  static ladder_case c;
  ladder_product p;
  ladder_forms forms;
  if (!ladder_product_open(&p, device, size)) return false;
  if (!kernels->count) ladder_gpu_kernels_build(device, session->options, kernels);
  ladder_case_of_product(&c, "offload", LADDER_OFFLOAD_BASE, &p);
  c.device = NULL; /* the rungs run on several */
  c.label = NULL;
  const hx_task task = hx_matmul(p.m, p.n, p.k, p.a, p.b, p.got);
  ladder_loop_rungs(&c, session->threads);
  ladder_gpu_rungs(&c, kernels);
  ladder_form_rungs(&c, &task, &forms);
  ladder_split_rungs(session, &c, &task);
  const bool fine = ladder_run(session, &c, SECONDS);
  ladder_print_gain(&c);
  ladder_forms_close(&forms);
  ladder_product_close(&p);
  return fine;
}

static bool run_size(bench_session *session, const ladder_device *device, ladder_gpu_kernels *kernels,
                     const bench_size *size) {
  return size->m ? run_product(session, device, kernels, size) : ladder_offload_sums(session, device, size->n);
}

bool ladder_offload(bench_session *session, const bench_tasks *tasks) {
  ladder_device device;
  static ladder_gpu_kernels kernels;
  bool opened = false, fine = true;
  for (size_t i = 0; !opened && i < session->device_count; i++)
    opened = bench_opencl_device(session, i) && ladder_device_open(&device, session, i);
  kernels.count = 0;
  for (size_t i = 0; fine && i < tasks->count && !bench_stopped(); i++)
    fine = run_size(session, opened ? &device : NULL, &kernels, &tasks->task[i].size);
  ladder_gpu_kernels_release(&kernels);
  if (opened) ladder_device_close(&device);
  return fine;
}
