/* SPDX-License-Identifier: Apache-2.0
 * The operand of a product that all its chunks share, packed once per run by all threads of the pool. It is cached for
 * later runs if the caller has advised HX_READ_MOSTLY. */
#ifndef HX_BACKEND_CPU_PACKED_H
#define HX_BACKEND_CPU_PACKED_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/backend/cpu/cpu_backend.h"

/* Memory that a context keeps between runs: that of the last run for the next one (concurrent runs allocate their own),
 * and cached operands. */
typedef struct hx__packed_store {
  _Atomic(hx__packed *) spare;
  pthread_mutex_t lock; /* protects the list */
  hx__packed *cached;   /* a list, most recently used first */
} hx__packed_store;

void hx__packed_store_init(hx__packed_store *store);
void hx__packed_store_free(hx__packed_store *store);

hx__packed *hx__packed_open(hx__packed_store *store, const hx__cpu_kernels *kernels, const hx__work *work,
                            uint64_t version);
void hx__packed_close(hx__packed_store *store, hx__packed *packed);
const void *hx__packed_data(const hx__packed *packed);

#endif
