/* SPDX-License-Identifier: Apache-2.0
 * What the doctor (hints.h) knows of a machine, as data: its GPUs, the device nodes, the OpenCL drivers and what each
 * of them shows. It is read once, printed as one fact per line by `hx-bench info --report`, and read from such lines by
 * the tests, so that the report of a user's machine can become a test. */
#ifndef HX_BENCH_MACHINE_H
#define HX_BENCH_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "bench/icd.h"

#define BENCH_GPUS 16u
#define BENCH_NODES 24u
#define BENCH_VARIABLES 64u

#define BENCH_VENDOR_INTEL 0x8086u
#define BENCH_VENDOR_AMD 0x1002u
#define BENCH_VENDOR_NVIDIA 0x10deu
#define BENCH_VENDOR_MICROSOFT 0x1414u

/* A display controller on the PCI bus. */
typedef struct bench_gpu {
  char address[16]; /* 0000:00:02.0 */
  unsigned vendor, device;
  char kernel_driver[32]; /* i915, amdgpu, nouveau, ...; "": none is bound to it */
  char node[64];          /* /dev/dri/renderD128; "": it has none */
} bench_gpu;

/* A device file that a driver opens. */
typedef struct bench_node {
  char path[64];
  bool openable;
  unsigned group_id;
  char group[64]; /* "": the id has no name here */
  bool member;    /* /etc/group puts this user into the group, though the session may have begun before that */
} bench_node;

typedef struct bench_variable {
  char name[64], value[512];
} bench_variable;

typedef struct bench_machine {
  char os[128];  /* PRETTY_NAME of os-release */
  char ids[128]; /* ID and ID_LIKE of os-release: "ubuntu debian" */
  char kernel[128];
  bool container;
  char loader_fault[512];  /* why libOpenCL.so.1 cannot be loaded; "": it can */
  char intel_version[64];  /* of the package of Intel's OpenCL driver; "": unknown, or not installed */
  char nvidia_version[64]; /* of NVIDIA's kernel driver; "": it is not loaded */
  bench_gpu gpus[BENCH_GPUS];
  size_t gpu_count;
  bench_node nodes[BENCH_NODES];
  size_t node_count;
  bench_icd icds[BENCH_ICDS];
  size_t icd_count;
  bench_variable variables[BENCH_VARIABLES];
  size_t variable_count;
  hx_device_info devices[HX_MAX_DEVICES]; /* as hx describes them */
  size_t device_count;
} bench_machine;

/* Reads everything but icds, loader_fault and devices. root: "" or a folder that holds copies of /sys, /proc, /etc,
 * /dev, /lib and /var. Variables are those of this process. */
void bench_machine_read(bench_machine *machine, const char *root);

/* Writes one fact per line, KEY: FIELD | FIELD ..., without host name, user name or home folder. */
void bench_machine_write(const bench_machine *machine, FILE *file);

const char *bench_machine_variable(const bench_machine *machine, const char *name);   /* NULL: not set, or empty */
const bench_node *bench_machine_node(const bench_machine *machine, const char *path); /* NULL: there is none */
bool bench_machine_is_wsl(const bench_machine *machine);

#endif
