/* SPDX-License-Identifier: Apache-2.0
 * The symbol layer_fault, by which fault_layer.c and the program that it is loaded into exchange data. */
#ifndef HX_TESTS_LAYERS_FAULT_LAYER_H
#define HX_TESTS_LAYERS_FAULT_LAYER_H

#include <stdatomic.h>

typedef enum layer_object {
  LAYER_CONTEXT,
  LAYER_QUEUE,
  LAYER_MEM,
  LAYER_PROGRAM,
  LAYER_KERNEL,
  LAYER_EVENT,
  LAYER_SVM,
  LAYER_MAP, /* maps of buffers that are not unmapped; the end of an SVM block ends its map */
  LAYER_OBJECTS
} layer_object;

typedef struct layer_fault_t {
  atomic_int armed;                /* calls are counted and faults injected: from the start, unless FAULT_ARM is set */
  atomic_ulong injected;           /* faults so far; a lost device counts once */
  atomic_ulong chunks;             /* faults by which a kernel was not enqueued or never ran */
  atomic_ulong violations;         /* calls on a context after the program could know that its device is lost */
  atomic_long live[LAYER_OBJECTS]; /* references that the program holds */
} layer_fault_t;

#endif
