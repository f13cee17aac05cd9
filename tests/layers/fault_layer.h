/* SPDX-License-Identifier: Apache-2.0
 * What fault_layer.c tells the program that it is loaded into, by its symbol layer_fault, and is told. */
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
  LAYER_MAP, /* of buffers, not undone; the end of an SVM block ends its map */
  LAYER_OBJECTS
} layer_object;

typedef struct layer_fault_t {
  atomic_int armed;                /* faults are counted and injected: from the start, but where FAULT_ARM is set */
  atomic_ulong injected;           /* so far; a lost device counts once */
  atomic_ulong chunks;             /* of these, kernels that were not enqueued or never ran */
  atomic_ulong violations;         /* calls on a context that the program could know to be lost */
  atomic_long live[LAYER_OBJECTS]; /* references that the program holds */
} layer_fault_t;

#endif
