/* SPDX-License-Identifier: Apache-2.0
 * The device's copy of an array (HX_READ_MOSTLY) and uploads to it that are late: when the run's thread is given up
 * inside the driver, or when an upload has not ended by the time limit at the end of a run. It is not known then what
 * has arrived, so the next run must not take the blocks for present; and the copy's buffer, to which the device may
 * still write, must not be given to another array. A result that only the device has stays what it is. No driver is
 * used: commands end when the test says so. */
#include "runtime/backend/opencl/stream.h"
#include "runtime/task/check.h"
#include "tests/check.h"

enum { SIDE = 256, BYTES = SIDE * SIDE * 4 };

static char object; /* every object of the driver */
static bool late;   /* commands do not end */

cl_mem __wrap_hx__clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code);
cl_mem __wrap_hx__clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code) {
  (void)context, (void)flags, (void)size, (void)host;
  *code = CL_SUCCESS;
  return (cl_mem)(void *)&object;
}

void *__wrap_hx__clEnqueueMapBuffer(cl_command_queue q, cl_mem m, cl_bool b, cl_map_flags f, size_t o, size_t s,
                                    HX__CL_WAITS, cl_int *err);
void *__wrap_hx__clEnqueueMapBuffer(cl_command_queue q, cl_mem m, cl_bool b, cl_map_flags f, size_t o, size_t s,
                                    HX__CL_WAITS, cl_int *err) {
  static char ring[HX__CL_STAGE_BYTES];
  (void)q, (void)m, (void)b, (void)f, (void)o, (void)s, (void)n, (void)w;
  *e = (cl_event)(void *)&object;
  *err = CL_SUCCESS;
  return ring;
}

cl_int __wrap_hx__clEnqueueWriteBuffer(cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t s, const void *p,
                                       HX__CL_WAITS);
cl_int __wrap_hx__clEnqueueWriteBuffer(cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t s, const void *p,
                                       HX__CL_WAITS) {
  (void)q, (void)m, (void)b, (void)o, (void)s, (void)p, (void)n, (void)w;
  *e = (cl_event)(void *)&object;
  return CL_SUCCESS;
}

cl_int __wrap_hx__clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *value, size_t *used);
cl_int __wrap_hx__clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *value, size_t *used) {
  const cl_int state = late ? CL_RUNNING : CL_COMPLETE;
  (void)event, (void)what, (void)size, (void)used;
  memcpy(value, &state, sizeof state);
  return CL_SUCCESS;
}

#define SUCCEEDS(name, type)                 \
  cl_int __wrap_hx__##name(type of_driver);  \
  cl_int __wrap_hx__##name(type of_driver) { \
    (void)of_driver;                         \
    return CL_SUCCESS;                       \
  }
SUCCEEDS(clReleaseMemObject, cl_mem)
SUCCEEDS(clFlush, cl_command_queue)
SUCCEEDS(clRetainEvent, cl_event)
SUCCEEDS(clReleaseEvent, cl_event)

static hx__cl_device device = {.base = {.max_alloc = UINT64_C(1) << 30, .memory_bytes = UINT64_C(1) << 30}};
static hx__cl_mirror mirror;
static float a[SIDE * SIDE], b[SIDE], c[SIDE];

/* A run that uploads A to its copy; device_only: A is a result that the copy alone has. */
static void upload(hx__cl_stream *stream, hx__array arrays[2], hx__request *request, hx__work *work, bool device_only) {
  const hx_task t = hx_matmul(SIDE, 1, SIDE, a, b, c);
  hx__cl_view view;
  size_t at, bytes;
  CHECK_OK(hx__task_check(&t, work));
  *stream = (hx__cl_stream){.device = &device,
                            .base.device = &device.base,
                            .product = HX__FIRST_PRODUCT,
                            .queue = (cl_command_queue)(void *)&object,
                            .uploads = (cl_command_queue)(void *)&object,
                            .most_alloc = (size_t)device.base.max_alloc,
                            .limit_ns = 1000000};
  CHECK(hx__mirror_init(&mirror.base, a, BYTES), "no memory");
  mirror.mem = NULL;
  mirror.in_use_after_timeout = false;
  arrays[0] = (hx__array){a, SIDE, SIDE, SIDE, HX__MEMORY_COPY, NULL, &mirror.base, device_only};
  arrays[1] = (hx__array){b, SIDE, 1, 1, HX__MEMORY_COPY, NULL, NULL, false};
  *request = (hx__request){.work = work, .arrays = arrays, .copy_threads = HX__COPY_BY_WORKER};
  CHECK(hx__cl_begin(&stream->base, request) == HX__DONE, "the run does not begin");
  const hx__cl_region all = {0, SIDE, 0, SIDE};
  CHECK(hx__cl_view_mirror(stream, &stream->operand[0], all, &view) == HX__DONE, "A is not uploaded");
  CHECK(!hx__mirror_next_gap(&mirror.base, 0, BYTES, &at, &bytes), "the copy lacks a block after the upload");
}

static bool is_missing(void) {
  size_t at, bytes;
  return hx__mirror_next_gap(&mirror.base, 0, BYTES, &at, &bytes) && at == 0 && bytes == BYTES;
}

/* How a run ends. */
typedef enum ending { IN_TIME, LATE, GIVEN_UP } ending;

static void end_run(ending how, bool device_only, const char *what) {
  hx__cl_stream stream;
  hx__array arrays[2];
  hx__request request;
  hx__work work;
  uint64_t copied;
  upload(&stream, arrays, &request, &work, device_only);
  late = how != IN_TIME;
  if (how == GIVEN_UP)
    hx__cl_abandon(&stream.base);
  else
    hx__cl_end(&stream.base, &copied);
  CHECK(stream.base.timed_out == (how == LATE), "%s: the stream is %s", what, stream.base.timed_out ? "late" : "free");
  CHECK(mirror.in_use_after_timeout == (how != IN_TIME), "%s: the copy's buffer %s", what,
        how == IN_TIME ? "is not used again" : "may be used for another array");
  CHECK(is_missing() == (how != IN_TIME && !device_only), "%s: the copy's blocks are wrong", what);
  late = false;
  CHECK(how == GIVEN_UP || hx__cl_recovered(&stream.base), "%s: the stream stays late", what);
  hx__mirror_free(&mirror.base);
  free(stream.operand);
}

int main(void) {
  pthread_mutex_init(&device.lock, NULL);
  device.program[HX__FIRST_PRODUCT].program = (cl_program)(void *)&object;
  end_run(IN_TIME, false, "in time");
  end_run(LATE, false, "late at the end");
  end_run(GIVEN_UP, false, "given up");
  end_run(LATE, true, "late, a result of the device");
  end_run(GIVEN_UP, true, "given up, a result of the device");
  return checks_end("late_upload_test");
}
