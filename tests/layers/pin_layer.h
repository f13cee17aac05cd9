/* SPDX-License-Identifier: Apache-2.0
 * What pin_layer.c tells the test that has loaded it, by its symbol layer_pins, and is told. */
#ifndef HX_TESTS_LAYERS_PIN_LAYER_H
#define HX_TESTS_LAYERS_PIN_LAYER_H

#include <stdatomic.h>
#include <stddef.h>

typedef struct layer_pins_t {
  _Atomic size_t made, live;  /* buffers of a MiB or more over memory of the host */
  _Atomic size_t live_bytes;  /* of those */
  _Atomic size_t from_pinned; /* bytes of writes that do not block, out of one such buffer's memory */
  _Atomic size_t across;      /* partly out of one */
  _Atomic size_t from_else;
  _Atomic unsigned refuse;   /* such a buffer is refused, */
  _Atomic unsigned slow;     /* or its memory is as slow as any other */
  _Atomic unsigned stall_ms; /* the next write out of one begins so much later */
  _Atomic unsigned drag_ms;  /* a write of a MiB or more out of other memory takes the host so long */
} layer_pins_t;

#endif
