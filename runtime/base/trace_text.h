/* SPDX-License-Identifier: Apache-2.0
 * The text of a trace on its way to the file; of trace.c alone. No locks here. */
#ifndef HX_BASE_TRACE_TEXT_H
#define HX_BASE_TRACE_TEXT_H

#include <sys/types.h>

#include "runtime/base/trace.h"

#define HX__TRACE_TEXT_BYTES ((size_t)64 << 10)
#define HX__TRACE_ROWS 512u /* threads whose names are known to be written */
/* A trace without events: by its head hx knows its own files. */
#define HX__TRACE_HEAD "[\n{\"name\":\"hx_trace\",\"ph\":\"M\",\"pid\":0,\"tid\":0,\"args\":{}}"
#define HX__TRACE_END "\n]\n"
#define HX__TRACE_END_BYTES (sizeof HX__TRACE_END - 1)
/* Of a row, beside its thread: transfers have one of their own, for a chunk may end while one before it is stored. */
#define HX__TRACE_TRANSFERS (1u << 30)

typedef struct hx__trace_text {
  const char *path;
  int fd;
  off_t end; /* where the file's last HX__TRACE_END_BYTES begin, which close the document */
  bool broken;
  size_t used;
  uint64_t row[HX__TRACE_ROWS]; /* hashed: threads that have a name, by device */
  char text[HX__TRACE_TEXT_BYTES];
} hx__trace_text;

/* To the file: the text, and once more the end of the document. What cannot be written whole is not there at all. */
void hx__trace_write(hx__trace_text *t);

/* One event each; written when the room is used up. */
void hx__trace_put_device(hx__trace_text *t, size_t device, const char *name);
void hx__trace_name_row(hx__trace_text *t, size_t device, uint32_t row); /* the first time */
void hx__trace_put_chunk(hx__trace_text *t, uint32_t row, const hx__trace_slice *slice);
void hx__trace_put_transfer(hx__trace_text *t, uint32_t row, const hx__trace_slice *slice); /* count: bytes */
void hx__trace_put_decision(hx__trace_text *t, uint32_t row, uint64_t ns, const hx__trace_choice *choice);

#endif
