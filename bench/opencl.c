/* SPDX-License-Identifier: Apache-2.0
 * Finds OpenCL devices in hx's registry. */
#include "bench/opencl.h"

#include <string.h>

#include "runtime/backend/opencl/stream.h"
#include "runtime/backend/registry.h"

_Static_assert(BENCH_WHY == HX__WHY_IN_FULL, "a text in full is copied as it is");

void bench_device_why(const bench_session *session, size_t index, char out[BENCH_WHY]) {
  hx__device *const *list = NULL;
  const size_t count = hx__registry_devices(&list);
  char brief[HX__WHY_TEXT];
  snprintf(out, BENCH_WHY, "%s", session->device[index].why);
  if (index == 0 || index > count) return;
  hx__device_why(list[index - 1], brief);
  if (strcmp(brief, out) == 0) hx__device_why_in_full(list[index - 1], out); /* else the context has left it out */
}

hx__cl_device *bench_opencl_device(const bench_session *session, size_t index) {
  hx__device *const *list = NULL;
  const size_t count = hx__registry_devices(&list); /* OpenCL devices come just after the CPU */
  const hx_device_state state = session->device[index].state;
  if (index == 0 || index > count || list[index - 1]->backend != &hx__opencl_backend) return NULL;
  return state == HX_BUILDING || state == HX_USABLE ? (hx__cl_device *)list[index - 1] : NULL;
}

bool bench_opencl_each(bench_session *session, bench_device_job *job, const void *what) {
  bool fine = true, any = false;
  for (size_t i = 0; i < session->device_count && !bench_stopped(); i++) {
    if (!bench_opencl_device(session, i)) continue;
    any = true;
    fine &= job(session, i, what);
  }
  if (!any && !bench_stopped())
    fputs("hx-bench: no OpenCL device is in use (hx-bench info says why, and what is missing)\n", stderr);
  return fine && any;
}
