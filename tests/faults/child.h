/* SPDX-License-Identifier: Apache-2.0
 * What a child of the fault matrix and its workloads share: calls of hx that are timed and judged. */
#ifndef HX_TESTS_FAULTS_CHILD_H
#define HX_TESTS_FAULTS_CHILD_H

#include <stddef.h>

#include "runtime/hx.h"
#include "runtime/hx_map.h"
#include "tests/faults/cell.h"

/* A workload, in the order of its calls. allocate: the first calls after faults may begin. */
typedef struct workload {
  void (*make_data)(void), (*allocate)(void), (*run)(void), (*give_back)(void);
} workload;

extern const workload kTasks, kMaps;

extern const cell *at;
extern cell_result *out;
extern hx_context *hx;

/* How a task is run, as bits. */
enum {
  ASYNC = 1,
  RESIDENT = 2, /* a result may exist only on the device, and be lost with it */
  BUILDS = 4    /* programs may be built and tested during the call, and the launches of a test are no chunks */
};

/* Whether two arrays, of floats or of anything else, have the same bits. */
bool same_bits(const void *one, const void *other, size_t bytes);

/* Notes what is wrong, unless something was before, and counts it. */
__attribute__((format(printf, 2, 3))) void complain(unsigned *count, const char *format, ...);

void begin_phase(const char *phase, unsigned limit_ms);
void end_phase(void);

#define IN_TIME TIMEOUT_MS + MARGIN_MS
#define TIMED(name, call)       \
  do {                          \
    begin_phase(name, IN_TIME); \
    call;                       \
    end_phase();                \
  } while (0)

/* Whether the status is the right one. resident: a result that exists only on the device may be lost with it. */
bool went_well(hx_status s, bool resident);

/* Runs a task, and returns whether it went well. */
bool run_task(hx_task *t, float share, unsigned how, const char *what);

/* hx_modified and hx_sync of an array with HX_RESIDENT; whether the result has arrived. */
void modified(void *p, size_t bytes);
bool synced(void *p, size_t bytes);

/* Memory from hx_alloc (*own), or from calloc. */
void *allocate(size_t bytes, bool *own);
void advise(void *p, size_t bytes, unsigned advice, bool own);
bool registered(void *p, size_t bytes);
void unregister(void *p, bool was_registered);

/* After this the library must know of the loss, and every call on the context is a violation. */
void let_it_know(void);

#endif
