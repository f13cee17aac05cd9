/* SPDX-License-Identifier: Apache-2.0
 * With LAYER_ONE_THREAD, the layer that includes this lets one thread at a time into the calls that run commands:
 * Oclgrind runs them on the calling thread, and aborts if two threads do so. */
#ifndef HX_TESTS_LAYERS_ONE_THREAD_H
#define HX_TESTS_LAYERS_ONE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tests/layers/layer.h"

static bool one_thread;
static pthread_mutex_t running = PTHREAD_MUTEX_INITIALIZER;

static void begin_running(void) {
  if (one_thread) pthread_mutex_lock(&running);
}

static void end_running(void) {
  if (one_thread) pthread_mutex_unlock(&running);
}

static cl_int CL_API_CALL write_in_turn(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t offset,
                                        size_t size, const void *from, cl_uint waits, const cl_event *wait,
                                        cl_event *event) {
  begin_running();
  const cl_int s = next.clEnqueueWriteBuffer(queue, mem, blocking, offset, size, from, waits, wait, event);
  end_running();
  return s;
}

static cl_int CL_API_CALL flush_in_turn(cl_command_queue queue) {
  begin_running();
  const cl_int s = next.clFlush(queue);
  end_running();
  return s;
}

static cl_int CL_API_CALL finish_in_turn(cl_command_queue queue) {
  begin_running();
  const cl_int s = next.clFinish(queue);
  end_running();
  return s;
}

static cl_int CL_API_CALL wait_in_turn(cl_uint count, const cl_event *events) {
  begin_running();
  const cl_int s = next.clWaitForEvents(count, events);
  end_running();
  return s;
}

/* Stores these calls in `mine`. The layer's own that read and map buffers call begin_running and end_running. */
static void one_thread_fill(void) {
  one_thread = getenv("LAYER_ONE_THREAD") != NULL;
  mine.clEnqueueWriteBuffer = write_in_turn;
  mine.clFlush = flush_in_turn;
  mine.clFinish = finish_in_turn;
  mine.clWaitForEvents = wait_in_turn;
}

#endif
