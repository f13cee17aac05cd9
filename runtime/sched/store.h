/* SPDX-License-Identifier: Apache-2.0
 * The model of the process, and its copy on disk. */
#ifndef HX_SCHED_STORE_H
#define HX_SCHED_STORE_H

#include "runtime/sched/model.h"

/* The model of the process. The first call reads it from HX_CACHE_DIR. */
hx__model *hx__model_of_process(void);

/* Writes what has changed since the last time, merged with what other processes have written since then. */
void hx__model_save(void);

#endif
