/* SPDX-License-Identifier: Apache-2.0
 * The symbol layer_pins, by which pin_layer.c and the test that has loaded it exchange data. */
#ifndef HX_TESTS_LAYERS_PIN_LAYER_H
#define HX_TESTS_LAYERS_PIN_LAYER_H

#include <stdatomic.h>
#include <stddef.h>

typedef struct layer_pins_t {
  _Atomic size_t made, live;  /* buffers of a MiB or more over memory of the host */
  _Atomic size_t live_bytes;  /* bytes of the live ones */
  _Atomic size_t from_pinned; /* bytes that non-blocking writes read from the memory of one such buffer, */
  _Atomic size_t across;      /* partly from the memory of one, and from other memory */
  _Atomic size_t from_else;
  _Atomic unsigned refuse;   /* refuses such buffers */
  _Atomic unsigned slow;     /* memory of such buffers is as slow as any other */
  _Atomic unsigned stall_ms; /* the next write from such memory begins this much later */
  _Atomic unsigned drag_ms;  /* a write of a MiB or more from other memory takes this long */
} layer_pins_t;

#endif
