/* SPDX-License-Identifier: Apache-2.0
 * What backends and the scheduler share about chunks in flight. */
#ifndef HX_TASK_LAUNCH_H
#define HX_TASK_LAUNCH_H

#define HX__DEPTH 2u /* chunks in flight on a stream at most: one is computed while the next is launched */

/* How the launch of a chunk, or a chunk in flight, has ended. */
typedef enum hx__outcome {
  HX__DONE = 0,   /* the chunk is computed; of a launch: it is in flight */
  HX__TIMED_OUT,  /* not done by the deadline: given up. The backend keeps what the chunk may still access */
  HX__NO_MEMORY,  /* the device has no room for this chunk; it is not lost */
  HX__SUPERSEDED, /* the CPU has computed the chunk while it was being submitted: nothing of it is in flight */
  HX__FAILED      /* an error: the device is lost */
} hx__outcome;

#endif
