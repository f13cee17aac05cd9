/* SPDX-License-Identifier: Apache-2.0
 * Complains if the program ends although nothing was waited for since its last unmap: one driver crashes if it
 * completes an unmap while its library is being unloaded. Approximate: a wait for anything counts. */
#ifndef HX_TESTS_LAYERS_LAST_UNMAP_H
#define HX_TESTS_LAYERS_LAST_UNMAP_H

#include <stdatomic.h>

#include "tests/layers/layer.h"

static atomic_bool unmap_was_last;
static cl_int(CL_API_CALL *finish_below)(cl_command_queue);
static cl_int(CL_API_CALL *wait_below)(cl_uint, const cl_event *);

static cl_int CL_API_CALL finish_after_unmap(cl_command_queue queue) {
  const cl_int s = finish_below(queue);
  if (s == CL_SUCCESS) unmap_was_last = false;
  return s;
}

static cl_int CL_API_CALL wait_after_unmap(cl_uint count, const cl_event *events) {
  const cl_int s = wait_below(count, events);
  if (s == CL_SUCCESS) unmap_was_last = false;
  return s;
}

static cl_int CL_API_CALL event_info_after_unmap(cl_event event, cl_event_info what, size_t size, void *value,
                                                 size_t *needed) {
  const cl_int s = next.clGetEventInfo(event, what, size, value, needed);
  if (s == CL_SUCCESS && value && what == CL_EVENT_COMMAND_EXECUTION_STATUS && *(const cl_int *)value <= CL_COMPLETE)
    unmap_was_last = false;
  return s;
}

/* Puts these calls before those that `mine` has so far. */
static void last_unmap_fill(void) {
  finish_below = mine.clFinish;
  wait_below = mine.clWaitForEvents;
  mine.clFinish = finish_after_unmap;
  mine.clWaitForEvents = wait_after_unmap;
  mine.clGetEventInfo = event_info_after_unmap;
}

__attribute__((destructor)) static void look_for_last_unmap(void) {
  if (unmap_was_last) layer_log("VIOLATION the program ends behind an unmap that it has not waited for");
}

#endif
