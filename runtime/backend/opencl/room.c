/* SPDX-License-Identifier: Apache-2.0
 * Adapts a stream to how much of the device's memory other programs leave. A driver may find only at the first command
 * that uses a buffer that there is no memory for it (NVIDIA's does). So the chunk that needed it goes to the CPU, and
 * later runs need less: what the stream retained is released, and tasks are cut into smaller chunks. */
#include "runtime/backend/opencl/stream.h"
#include "runtime/base/clock.h"
#include "runtime/base/thresholds.h"

#define FIRST_PART 16u                 /* after a shortage a buffer has this part of the device's memory at most, */
#define NEXT_PART 4u                   /* after each further one this part of that, */
#define LEAST_BYTES ((size_t)16 << 20) /* but always this much */

static void release_retained(hx__cl_stream *stream) {
  for (size_t i = 0; i < stream->operand_room; i++) hx__cl_buffer_release(&stream->operand[i].copy);
  hx__cl_buffer_release(&stream->scratch.packed_a);
  hx__cl_buffer_release(&stream->scratch.packed_b);
  hx__cl_buffer_release(&stream->scratch.partials);
  hx__cl_buffer_release(&stream->scratch.part);
  for (unsigned i = 0; i < HX__MAX_INFLIGHT; i++)
    if (!stream->inflight[i].mapped) hx__cl_buffer_release(&stream->inflight[i].out);
  hx__cl_spares_release(stream->device);
}

void hx__cl_adapt_to_room(hx__cl_stream *stream) {
  const hx__device *const d = &stream->device->base;
  const uint64_t since = stream->short_since_ns;
  if (!stream->base.lacked_memory) {
    if (since && hx__now_ns() - since > HX__SHORTAGE_NS) stream->short_since_ns = 0;
    if (!stream->short_since_ns) stream->most_alloc = (size_t)d->max_alloc;
    return;
  }
  const size_t first = (size_t)(d->memory_bytes / FIRST_PART), next = stream->most_alloc / NEXT_PART;
  size_t most = since || first > next || !first ? next : first;
  if (most < LEAST_BYTES) most = stream->most_alloc < LEAST_BYTES ? stream->most_alloc : LEAST_BYTES;
  stream->most_alloc = most;
  stream->short_since_ns = hx__now_ns();
  release_retained(stream);
  hx__log(HX__LOG_INFO, "%s: memory is short; chunks need at most %zu bytes for an array now", d->name, most);
}
