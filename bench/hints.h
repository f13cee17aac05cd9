/* SPDX-License-Identifier: Apache-2.0
 * The doctor: why a GPU of this machine is not in use, and the command that changes it. It looks at nothing but the
 * facts in a bench_machine. */
#ifndef HX_BENCH_HINTS_H
#define HX_BENCH_HINTS_H

#include "bench/machine.h"

#define BENCH_HINTS 64u

typedef struct bench_hint {
  bool detail; /* it belongs to the last hint that is not a detail */
  char text[1024];
} bench_hint;

typedef struct bench_hint_list {
  bench_hint hint[BENCH_HINTS];
  size_t count;
  size_t unusable; /* GPUs of this machine that hx cannot use */
} bench_hint_list;

/* Finds what there is to say: this machine's GPUs first, general advice last. */
void bench_hints_find(const bench_machine *machine, bench_hint_list *list);

/* For the files of the doctor. */
__attribute__((format(printf, 2, 3))) void bench_hint_add(bench_hint_list *list, const char *format, ...);
__attribute__((format(printf, 2, 3))) void bench_hint_detail(bench_hint_list *list, const char *format, ...);
void bench_hints_gpus(const bench_machine *machine, bench_hint_list *list); /* those on the PCI bus */
/* Looks at the device node that a driver has to open. path "": the kernel driver has made none. option: how a container
 * gets it. */
void bench_hint_node(const bench_machine *machine, bench_hint_list *list, const char *path, const char *option);
bool bench_gpu_is_known(const bench_gpu *gpu); /* of a maker whose drivers hx knows */

#endif
