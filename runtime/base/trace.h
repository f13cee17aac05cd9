/* SPDX-License-Identifier: Apache-2.0
 * HX_TRACE: a Chrome/Perfetto trace (the "JSON Array Format" of the Trace Event Format). Each device is a process of
 * the trace and each thread a row in it. Each call is a slice on the row of the thread that made it, above the chunks
 * that this thread computed. Each chunk is a slice, and copies are slices on a row of their own. Decisions are
 * instants. The file is valid JSON after every write, and its first event identifies it as a trace of hx: only such a
 * file, or an empty one, is overwritten. So HX_TRACE with the name of some other file destroys nothing; a warning names
 * it. At most a second, or some thousand events, is not yet written. Contexts of a process that name the same file
 * share it, at the same time or one after the other. A file that another process is writing is not touched. A forked
 * child writes nothing. Without HX_TRACE the trace is NULL, and every function returns at once. */
#ifndef HX_BASE_TRACE_H
#define HX_BASE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hx__trace hx__trace;

/* Opens the trace of a path. NULL if path is "", or, with a warning, if the file cannot be written. */
hx__trace *hx__trace_open(const char *path);
void hx__trace_close(hx__trace *trace);

/* Names the rows of a device. */
void hx__trace_device(hx__trace *trace, size_t device, const char *name);

/* What a call computes: "sum f32", "dot i32", "matmul" with its size, or several fields. Strings must be literals. */
typedef struct hx__trace_task {
  const char *op, *type; /* type: NULL for a product; both NULL for several fields */
  size_t fields;         /* their number; 1 unless there are several */
  size_t m, n, k;        /* of a product; n: also the elements of each field or line; m: also the number of lines */
  bool trans_a, trans_b;
  size_t batch; /* the number of products; 0: no batch */
  bool mapped;  /* a reduction of what a user kernel computes */
} hx__trace_task;

/* A chunk or a call; its times are those of hx__now_ns. Strings must be literals. */
typedef struct hx__trace_slice {
  hx__trace_task task;
  size_t device;
  uint64_t from_ns, to_ns;
  size_t first, count; /* slices of the task */
  uint64_t units;
  double expected_ns;  /* 0: not known */
  const char *outcome; /* "done", "late", ... */
} hx__trace_slice;
/* A call, on the thread that made it. Only task, from_ns, to_ns, units and outcome are used. */
void hx__trace_call(hx__trace *trace, const hx__trace_slice *slice);
void hx__trace_chunk(hx__trace *trace, const hx__trace_slice *slice);

/* Bytes copied for a device; what: "to the device", "from the device". */
void hx__trace_transfer(hx__trace *trace, size_t device, uint64_t from_ns, uint64_t to_ns, size_t bytes,
                        const char *what);

/* The participants of a call, and why they were chosen. */
typedef struct hx__trace_choice {
  hx__trace_task task;
  const char *reason;
  unsigned devices; /* number of devices */
  bool cpu;
  uint64_t units;
  double expected_ns, cpu_ns; /* of the choice, and of the CPU alone; 0: not known */
} hx__trace_choice;
void hx__trace_decision(hx__trace *trace, const hx__trace_choice *choice);

#endif
