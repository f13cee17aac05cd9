/* SPDX-License-Identifier: Apache-2.0
 * HX_TRACE: a Chrome/Perfetto trace (the "JSON Array Format" of the Trace Event Format), a process a device and a slice
 * a chunk. Several contexts that name one file follow one another in it. */
#ifndef HX_BASE_TRACE_H
#define HX_BASE_TRACE_H

#include <stddef.h>
#include <stdint.h>

typedef struct hx__trace hx__trace;

/* NULL where path is "" or, with a warning, where it cannot be written. */
hx__trace *hx__trace_open(const char *path);
void hx__trace_close(hx__trace *trace); /* NULL is nothing */

/* Names the row of a device. */
void hx__trace_device(hx__trace *trace, size_t device, const char *name);
/* A chunk of a device from one time to another; what became of it in one word. */
void hx__trace_chunk(hx__trace *trace, size_t device, uint64_t from_ns, uint64_t to_ns, size_t first, size_t count,
                     const char *outcome);

#endif
