/* SPDX-License-Identifier: Apache-2.0
 * One cell of the fault matrix: a child process in which one OpenCL call goes wrong, and what became of it. */
#ifndef HX_TESTS_FAULTS_CELL_H
#define HX_TESTS_FAULTS_CELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/layers/fault_layer.h"

enum { TIMEOUT_MS = 300, MARGIN_MS = 3000, EXIT_MS = TIMEOUT_MS + 2000, READY_MS = 120000 };

typedef enum fault_kind { F_ERROR, F_HANG, F_SLOW, F_LATE, F_SILENT, F_LOST, F_KINDS, F_NONE = F_KINDS } fault_kind;
typedef enum fault_arm { ARM_START, ARM_READY, ARMS } fault_arm; /* when calls begin to count */

typedef enum fault_work { WORK_TASKS, WORK_MAPS, WORKS } fault_work;

typedef struct cell {
  char entry[48];
  unsigned long nth, of;
  fault_kind kind;
  int mode, dress; /* rows of kModes and kDresses */
  fault_arm arm;
  int code;
  fault_work work;
  bool fills_cache; /* the child that later ones have the cache of: it leaves them some user kernels to build */
} cell;

extern const char *const kKinds[F_KINDS + 1];
extern const char *const kArms[ARMS];
extern const char *const kWorks[WORKS];

typedef struct dress {
  const char *name, *devices, *layer; /* layer: the value of DRESS, or NULL */
} dress;

extern const char *const kModes[];
extern const dress kDresses[];
enum { MODES = 6, DRESSES = 3 };

/* What a child reports while it runs, in memory that it shares with the matrix, so that its last report remains if it
 * hangs or crashes. */
typedef struct cell_result {
  _Atomic int64_t began_ns;  /* when the current call began; 0: no call runs */
  _Atomic unsigned limit_ms; /* time limit of that call */
  char phase[32];            /* name of that call */
  double slowest_ms;
  char slowest[32];
  unsigned wrong, bad, recovered, lost_results; /* bad: statuses that hx.h does not allow, and broken rules */
  char note[256];                               /* the first of these */
  char memory[16];                              /* the mode in use */
  long live[LAYER_OBJECTS];                     /* references held after hx_close */
  bool usable, finished;
} cell_result;

/* The workload: main of the child. live: what a child without a fault holds at the end, or NULL. */
int child_main(const cell *c, cell_result *out, const long *live, const char *layer);

#endif
