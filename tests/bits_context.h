/* SPDX-License-Identifier: Apache-2.0
 * The contexts of the conformance test: one for each combination of threads, ISA, policy and memory mode in turn. */
#ifndef HX_TESTS_BITS_CONTEXT_H
#define HX_TESTS_BITS_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/hx.h"

#define BITS_DEVICES 64

/* The options of the command line for all contexts of a run; NULL: every value in turn. */
typedef struct bits_plan {
  const char *devices, *memory, *threads, *isa, *schedule, *timeout_ms, *tile;
  uint64_t seed;
  const char *isas[8]; /* the variants that this build and CPU have */
  size_t isa_count;
} bits_plan;

typedef struct bits_context {
  hx_context *hx;
  hx_settings settings;
  double split;                /* the share of HX_SPLIT; negative: auto */
  bool only_devices;           /* `cpu` is not in the list, so the CPU only recovers chunks */
  size_t device_count, usable; /* usable: of the devices other than the CPU */
  hx_device_info device[BITS_DEVICES];
  char list[256];
} bits_context;

/* Fills isas. */
void bits_plan_isas(bits_plan *plan);

/* How many combinations there are. */
size_t bits_plan_combinations(const bits_plan *plan);

/* Opens the context number `index` of the run and waits until its devices are ready. Prints a line and returns false if
 * that fails. */
bool bits_context_open(bits_context *c, const bits_plan *plan, uint64_t index);

/* Whether at least one usable device other than the CPU computes the operations of the task: it is neither refused nor
 * lost, and its `why` does not name the operation. Asks for the states again. */
bool bits_context_serves(bits_context *c, const hx_task *task);

/* Builds the kernel of a task that hx_ready does not build. */
void bits_context_build(bits_context *c, const hx_task *task);

/* The share of the devices that results from a task's gpu_share in this context; negative: hx decides. */
double bits_context_share(const bits_context *c, const hx_task *task);

#endif
