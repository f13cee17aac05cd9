/* SPDX-License-Identifier: Apache-2.0
 * Formats the events of a trace as text and writes it to the file. Used only by trace.c, which holds the locks. */
#ifndef HX_BASE_TRACE_TEXT_H
#define HX_BASE_TRACE_TEXT_H

#include <sys/types.h>

#include "runtime/base/trace.h"

#define HX__TRACE_TEXT_BYTES ((size_t)64 << 10)
#define HX__TRACE_ROWS 512u   /* threads whose names are remembered as written */
#define HX__TRACE_DEVICES 32u /* the same of devices */
/* A trace without events. hx recognises its own files by this head. */
#define HX__TRACE_HEAD "[\n{\"name\":\"hx_trace\",\"ph\":\"M\",\"pid\":0,\"tid\":0,\"args\":{}}"
#define HX__TRACE_END "\n]\n"
#define HX__TRACE_END_BYTES (sizeof HX__TRACE_END - 1)
/* A bit added to a thread's number for the row of its transfers. They need a row of their own, because a chunk may end
 * while the one before it is stored. */
#define HX__TRACE_TRANSFERS (1u << 30)

typedef struct hx__trace_text {
  const char *path;
  int fd;
  off_t end; /* offset of the last HX__TRACE_END_BYTES of the file, which close the document */
  bool broken;
  size_t used;
  uint64_t row[HX__TRACE_ROWS];       /* a hash table of named threads, by device */
  uint64_t device[HX__TRACE_DEVICES]; /* the hash of the name that was written last for each device; 0: none */
  char text[HX__TRACE_TEXT_BYTES];
} hx__trace_text;

/* Writes the text, followed by the end of the document. If not all of it can be written, the file is cut back to its
 * state before. */
void hx__trace_write(hx__trace_text *t);

/* Each adds one event. The text is written to the file when its buffer is full. */
void hx__trace_put_device(hx__trace_text *t, size_t device, const char *name); /* only if the name is a new one */
void hx__trace_name_row(hx__trace_text *t, size_t device, uint32_t row);       /* only the first time */
void hx__trace_put_call(hx__trace_text *t, uint32_t row, const hx__trace_slice *slice);
void hx__trace_put_chunk(hx__trace_text *t, uint32_t row, const hx__trace_slice *slice);
void hx__trace_put_transfer(hx__trace_text *t, uint32_t row, const hx__trace_slice *slice); /* count: bytes */
void hx__trace_put_decision(hx__trace_text *t, uint32_t row, uint64_t ns, const hx__trace_choice *choice);

#endif
