/* SPDX-License-Identifier: Apache-2.0
 * The OpenCL drivers of this machine and what each one shows. A driver is loaded in a process of its own, so that one
 * that crashes or hangs is named and does no harm. */
#ifndef HX_BENCH_ICD_H
#define HX_BENCH_ICD_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/bench.h"

#define BENCH_ICDS 32u
#define BENCH_ICD_DEVICES 16u

typedef struct bench_icd_device {
  bool is_gpu;
  unsigned vendor;  /* PCI id, or whatever the driver says */
  char address[16]; /* on the PCI bus: 0000:00:02.0; "": the driver does not say */
  char name[128];
} bench_icd_device;

typedef struct bench_icd {
  char file[256];     /* the *.icd file; "": a variable names the library itself */
  char path[512];     /* of the library, as it is passed to dlopen */
  char fault[640];    /* why it cannot be used: dlerror's words, or how it ended its process; "": it can */
  char platform[256]; /* the names of its platforms, joined by ", "; "": it shows none */
  bench_icd_device devices[BENCH_ICD_DEVICES];
  size_t device_count;
} bench_icd;

/* Lists the drivers that the ICD loader would load, as the variables of loaders say, and tries each one. root: as for
 * bench_machine_read. Returns their number. */
size_t bench_icd_list(bench_icd icds[BENCH_ICDS], const char *root);
void bench_icd_try(bench_icd *icd);

/* The file's name without its folder, or the library's. */
const char *bench_icd_name(const bench_icd *icd);

/* The main function of the process that loads a driver: `hx-bench driver LIBRARY` prints what it shows. */
int bench_cmd_driver(const bench_options *options);

#endif
