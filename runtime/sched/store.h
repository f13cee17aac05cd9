/* SPDX-License-Identifier: Apache-2.0
 * The process's table of measurements, and its copy on disk. */
#ifndef HX_SCHED_STORE_H
#define HX_SCHED_STORE_H

#include "runtime/sched/model.h"

/* The process's table; read from HX_CACHE_DIR by the first call that asks for it. */
hx__model *hx__model_of_process(void);

/* Writes what has changed since the last time, joined with what other processes have written meanwhile. */
void hx__model_save(void);

#endif
