/* SPDX-License-Identifier: Apache-2.0
 * Writes the facts of a machine as text. tests/bench/machine_file.c reads it. */
#include <stdarg.h>
#include <string.h>

#include "bench/emit.h"
#include "bench/machine.h"
#include "bench/names.h"
#include "bench/text.h"

/* Writes a line. '|' separates fields, so that a '|' within one becomes '/'. */
static void write_fact(FILE *file, const char *key, size_t fields, ...) {
  va_list list;
  fprintf(file, "%s:", key);
  va_start(list, fields);
  for (size_t i = 0; i < fields; i++) {
    char plain[1024], hidden[1024];
    bench_names_hide(bench_plain(va_arg(list, const char *), plain, sizeof plain), hidden, sizeof hidden);
    for (char *at = hidden; (at = strchr(at, '|')) != NULL;) *at = '/';
    fprintf(file, "%s %s", i ? " |" : "", *hidden ? hidden : "-");
  }
  va_end(list);
  fputc('\n', file);
}

static void write_gpus(const bench_machine *m, FILE *file) {
  for (size_t i = 0; i < m->gpu_count; i++) {
    const bench_gpu *const g = &m->gpus[i];
    char id[16];
    snprintf(id, sizeof id, "%04x:%04x", g->vendor & 0xffff, g->device & 0xffff);
    write_fact(file, "gpu", 4, g->address, id, g->kernel_driver, g->node);
  }
}

static void write_nodes(const bench_machine *m, FILE *file) {
  for (size_t i = 0; i < m->node_count; i++) {
    const bench_node *const n = &m->nodes[i];
    char id[16];
    snprintf(id, sizeof id, "%u", n->group_id);
    write_fact(file, "node", 5, n->path, n->openable ? "opens" : "denied", id, n->group,
               n->member ? "member" : "no member");
  }
}

static void write_icds(const bench_machine *m, FILE *file) {
  for (size_t i = 0; i < m->icd_count; i++) {
    const bench_icd *const icd = &m->icds[i];
    write_fact(file, "icd", 4, icd->file, icd->path, icd->platform, icd->fault);
    for (size_t d = 0; d < icd->device_count; d++) {
      char vendor[16];
      snprintf(vendor, sizeof vendor, "%x", icd->devices[d].vendor);
      write_fact(file, "icd device", 4, icd->devices[d].is_gpu ? "gpu" : "other", vendor, icd->devices[d].address,
                 icd->devices[d].name);
    }
  }
}

static void write_devices(const bench_machine *m, FILE *file) {
  for (size_t i = 0; i < m->device_count; i++) {
    const hx_device_info *const d = &m->devices[i];
    write_fact(file, "device", 7, bench_kind_name(d->kind), bench_state_name(d->state), d->name, d->vendor, d->driver,
               d->memory, d->why);
  }
}

void bench_machine_write(const bench_machine *m, FILE *file) {
  /* Not hidden: "ubuntu" is also a common name of a user. */
  fprintf(file, "os: %s | %s\n", *m->os ? m->os : "-", *m->ids ? m->ids : "-");
  write_fact(file, "kernel", 1, m->kernel);
  if (m->container) write_fact(file, "container", 1, "yes");
  write_gpus(m, file);
  write_nodes(m, file);
  if (*m->nvidia_version) write_fact(file, "nvidia", 1, m->nvidia_version);
  if (*m->intel_version) write_fact(file, "intel", 1, m->intel_version);
  write_fact(file, "libOpenCL.so.1", 1, *m->loader_fault ? m->loader_fault : "loads");
  write_icds(m, file);
  for (size_t i = 0; i < m->variable_count; i++)
    write_fact(file, "variable", 2, m->variables[i].name, m->variables[i].value);
  write_devices(m, file);
}
