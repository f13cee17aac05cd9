/* SPDX-License-Identifier: Apache-2.0
 * Copies a result that stays on the device to the host, between runs. */
#include <string.h>

#include "runtime/backend/copy_pool.h"
#include "runtime/backend/opencl/stream.h"

hx__outcome hx__cl_fetch(hx__stream *base, const hx__array *array) {
  hx__cl_stream *const stream = (hx__cl_stream *)base;
  hx__cl_inflight *const f = &stream->inflight[0];
  const size_t row = array->cols * 4, pitch = array->ld * 4, from = (uintptr_t)array->p - array->mirror->first;
  const size_t extent = (array->rows - 1) * pitch + row;
  const size_t step = pitch > HX__CL_STAGE_BYTES ? 1 : HX__CL_RETAINED_BYTES / pitch;
  hx__outcome outcome = hx__cl_is_lost(stream) ? HX__FAILED : HX__DONE;
  for (size_t i = 0; i < array->rows && outcome == HX__DONE; i += step) {
    const size_t at = i * pitch, left = extent - at, bytes = left < step * pitch ? left : step * pitch;
    char *const to = (char *)(uintptr_t)array->p + at;
    outcome = hx__cl_read_result(stream, f, ((const hx__cl_mirror *)array->mirror)->mem, from + at, bytes);
    if (outcome == HX__TIMED_OUT) return outcome;
    const char *const read = outcome == HX__DONE ? hx__cl_results_of(f) : NULL;
    for (size_t r = 0; read && r * pitch < bytes && row != pitch; r++) memcpy(to + r * pitch, read + r * pitch, row);
    if (read && row == pitch) hx__copy_pool_copy(HX__COPY_BY_COPY_POOL, to, read, bytes);
    hx__cl_results_end(stream, f, read);
  }
  return outcome;
}
