/* SPDX-License-Identifier: Apache-2.0
 * HX_TRACE: a Chrome/Perfetto trace (the "JSON Array Format" of the Trace Event Format): a process a device, in it a
 * row a thread; a slice a chunk, inside it slices of what was copied; decisions as instants. The file is valid JSON
 * after every write, and its first event says that it is hx's: only such a file, or an empty one, is written anew. So
 * HX_TRACE with the name of some other file destroys nothing; a warning names it. At most a second, or some thousand
 * events, is not yet written. Contexts of a process that name one file share it, at once or one after the other; a file
 * that another process writes is left to it. A forked child writes nothing. Without HX_TRACE the trace is NULL, and
 * every function returns at once. */
#ifndef HX_BASE_TRACE_H
#define HX_BASE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hx__trace hx__trace;

/* NULL where path is "" or, with a warning, where it cannot be written. */
hx__trace *hx__trace_open(const char *path);
void hx__trace_close(hx__trace *trace);

/* Names the rows of a device. */
void hx__trace_device(hx__trace *trace, size_t device, const char *name);

/* A chunk, from one time of hx__now_ns to another. Words are literals. */
typedef struct hx__trace_slice {
  size_t device;
  uint64_t from_ns, to_ns;
  size_t first, count; /* slices of the task */
  uint64_t units;
  double expected_ns;  /* 0: there was no prediction */
  const char *outcome; /* "done", "late", ... */
} hx__trace_slice;
void hx__trace_chunk(hx__trace *trace, const hx__trace_slice *slice);

/* Bytes copied for a device; what: "to the device", "from the device". */
void hx__trace_transfer(hx__trace *trace, size_t device, uint64_t from_ns, uint64_t to_ns, size_t bytes,
                        const char *what);

/* The participants of a call, and why they were chosen. */
typedef struct hx__trace_choice {
  const char *reason;
  unsigned devices; /* of them, beside the CPU or without it */
  bool cpu;
  uint64_t units;
  double expected_ns, cpu_ns; /* of the choice, and of the CPU alone; 0: not known */
} hx__trace_choice;
void hx__trace_decision(hx__trace *trace, const hx__trace_choice *choice);

#endif
