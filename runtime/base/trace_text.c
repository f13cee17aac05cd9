/* SPDX-License-Identifier: Apache-2.0
 * Formats trace events by hand, because printf would take a tenth of the time of a short chunk. */
#define _GNU_SOURCE
#include "runtime/base/trace_text.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/signal_guard.h"
#include "runtime/base/log.h"

#define EVENT_BYTES 640u /* more than any event has */
#define NAME_BYTES 128u

static void put_bytes(hx__trace_text *t, const char *s, size_t bytes) {
  memcpy(t->text + t->used, s, bytes);
  t->used += bytes;
}
#define PUT(t, literal) put_bytes(t, literal, sizeof(literal) - 1)

static void put_word(hx__trace_text *t, const char *word) { put_bytes(t, word, strlen(word)); }

static void put_number(hx__trace_text *t, uint64_t n) {
  char digits[20];
  unsigned at = sizeof digits;
  do digits[--at] = (char)('0' + n % 10);
  while (n /= 10);
  put_bytes(t, digits + at, sizeof digits - at);
}

/* Nanoseconds as microseconds. */
static void put_us(hx__trace_text *t, uint64_t ns) {
  const unsigned part = (unsigned)(ns % 1000);
  const char digits[4] = {'.', (char)('0' + part / 100), (char)('0' + part / 10 % 10), (char)('0' + part % 10)};
  put_number(t, ns / 1000);
  put_bytes(t, digits, sizeof digits);
}

static void put_expected(hx__trace_text *t, double ns) {
  if (ns > 0.0 && ns < 1e18)
    put_us(t, (uint64_t)ns);
  else
    PUT(t, "null");
}

/* Names come from drivers, so characters that would need an escape are left out. */
static void put_name(hx__trace_text *t, const char *name) {
  for (unsigned i = 0; i < NAME_BYTES && name[i]; i++)
    if (name[i] >= ' ' && name[i] < 0x7f && name[i] != '"' && name[i] != '\\') t->text[t->used++] = name[i];
}

void hx__trace_write(hx__trace_text *t) {
  if (t->used == 0 || t->broken) {
    t->used = 0;
    return;
  }
  const size_t bytes = t->used + HX__TRACE_END_BYTES;
  put_bytes(t, HX__TRACE_END, HX__TRACE_END_BYTES);
  size_t done = 0;
  const hx__signal_guard guard = hx__signal_guard_begin();
  while (done < bytes && !t->broken) {
    const ssize_t n = pwrite(t->fd, t->text + done, bytes - done, t->end + (off_t)done);
    if (n >= 0) done += (size_t)n;
    if (n >= 0 || errno == EINTR) continue;
    hx__log(HX__LOG_WARN, "HX_TRACE=%s: %s; the trace ends here", t->path, strerror(errno));
    t->broken = true;
    if (pwrite(t->fd, HX__TRACE_END, HX__TRACE_END_BYTES, t->end) == (ssize_t)HX__TRACE_END_BYTES)
      (void)!ftruncate(t->fd, t->end + (off_t)HX__TRACE_END_BYTES);
  }
  hx__signal_guard_end(&guard, t->broken);
  if (!t->broken) t->end += (off_t)t->used - (off_t)HX__TRACE_END_BYTES;
  t->used = 0;
}

static void begin_event(hx__trace_text *t) {
  if (t->used + EVENT_BYTES + HX__TRACE_END_BYTES > HX__TRACE_TEXT_BYTES) hx__trace_write(t);
  PUT(t, ",\n{\"name\":\"");
}

static void put_row(hx__trace_text *t, size_t device, uint32_t row) {
  PUT(t, "\"pid\":");
  put_number(t, device);
  PUT(t, ",\"tid\":");
  put_number(t, row);
}

/* Whether the row's name has been written; records that it has. If the table is full, all entries are removed: writing
 * a name twice does no harm. */
static bool is_named(hx__trace_text *t, size_t device, uint32_t row) {
  const uint64_t key = (uint64_t)device << 32 | row;
  const unsigned first = (unsigned)((row + device * 31u) % HX__TRACE_ROWS);
  for (unsigned i = 0; i < HX__TRACE_ROWS; i++) {
    uint64_t *const named = &t->row[(first + i) % HX__TRACE_ROWS];
    if (*named == key) return true;
    if (*named) continue;
    *named = key;
    return false;
  }
  memset(t->row, 0, sizeof t->row);
  t->row[first] = key;
  return false;
}

void hx__trace_name_row(hx__trace_text *t, size_t device, uint32_t row) {
  if (is_named(t, device, row)) return;
  begin_event(t);
  PUT(t, "thread_name\",\"ph\":\"M\",");
  put_row(t, device, row);
  PUT(t, ",\"args\":{\"name\":\"");
  put_word(t, row & HX__TRACE_TRANSFERS ? "transfers" : device ? "worker" : "CPU thread");
  PUT(t, "\"}}");
}

static void put_times(hx__trace_text *t, const hx__trace_slice *s) {
  PUT(t, ",\"ts\":");
  put_us(t, s->from_ns);
  PUT(t, ",\"dur\":");
  put_us(t, s->to_ns - s->from_ns);
}

/* "sum f32", "map f32", "map sum f32", "matmul", "3 fields". */
static void put_operation(hx__trace_text *t, const hx__trace_task *task) {
  if (task->op) {
    if (task->mapped) PUT(t, "map ");
    put_word(t, task->op);
    if (task->type) PUT(t, " "), put_word(t, task->type);
  } else {
    put_number(t, task->fields);
    PUT(t, " fields");
  }
}

/* "2^24", "1000", "300 lines of 2^12", "1024x512x700", "1024x512x700 tn" (t: transposed), "9 of 8x8x8". */
static void put_size(hx__trace_text *t, const hx__trace_task *task) {
  if (task->type && task->m) {
    put_number(t, task->m);
    PUT(t, " lines of ");
  }
  if (task->batch) {
    put_number(t, task->batch);
    PUT(t, " of ");
  }
  if (task->op && !task->type) {
    put_number(t, task->m);
    PUT(t, "x");
    put_number(t, task->n);
    PUT(t, "x");
    put_number(t, task->k);
    if (task->trans_a || task->trans_b) {
      put_word(t, task->trans_a ? " t" : " n");
      put_word(t, task->trans_b ? "t" : "n");
    }
  } else if (task->n >= 1024 && (task->n & (task->n - 1)) == 0) {
    PUT(t, "2^");
    put_number(t, (uint64_t)__builtin_ctzll(task->n));
  } else {
    put_number(t, task->n);
  }
}

/* The task as two members of "args". */
static void put_task(hx__trace_text *t, const hx__trace_task *task) {
  PUT(t, "\"operation\":\"");
  put_operation(t, task);
  PUT(t, "\",\"size\":\"");
  put_size(t, task);
  PUT(t, "\"");
}

void hx__trace_put_call(hx__trace_text *t, uint32_t row, const hx__trace_slice *s) {
  begin_event(t);
  put_operation(t, &s->task);
  PUT(t, " ");
  put_size(t, &s->task);
  PUT(t, "\",\"cat\":\"call\",\"ph\":\"X\",");
  put_row(t, 0, row);
  put_times(t, s);
  PUT(t, ",\"args\":{");
  put_task(t, &s->task);
  PUT(t, ",\"units\":");
  put_number(t, s->units);
  PUT(t, ",\"outcome\":\"");
  put_word(t, s->outcome);
  PUT(t, "\"}}");
}

void hx__trace_put_chunk(hx__trace_text *t, uint32_t row, const hx__trace_slice *s) {
  begin_event(t);
  put_operation(t, &s->task);
  PUT(t, " ");
  put_number(t, s->first);
  PUT(t, "+");
  put_number(t, s->count);
  PUT(t, "\",\"cat\":\"chunk\",\"ph\":\"X\",");
  put_row(t, s->device, row);
  put_times(t, s);
  PUT(t, ",\"args\":{\"first\":");
  put_number(t, s->first);
  PUT(t, ",\"slices\":");
  put_number(t, s->count);
  PUT(t, ",\"units\":");
  put_number(t, s->units);
  PUT(t, ",\"expected_us\":");
  put_expected(t, s->expected_ns);
  PUT(t, ",\"actual_us\":");
  put_us(t, s->to_ns - s->from_ns);
  PUT(t, ",\"outcome\":\"");
  put_word(t, s->outcome);
  PUT(t, "\"}}");
}

void hx__trace_put_transfer(hx__trace_text *t, uint32_t row, const hx__trace_slice *s) {
  begin_event(t);
  put_word(t, s->outcome);
  PUT(t, "\",\"cat\":\"transfer\",\"ph\":\"X\",");
  put_row(t, s->device, row);
  put_times(t, s);
  PUT(t, ",\"args\":{\"bytes\":");
  put_number(t, s->count);
  PUT(t, "}}");
}

void hx__trace_put_decision(hx__trace_text *t, uint32_t row, uint64_t ns, const hx__trace_choice *c) {
  begin_event(t);
  put_word(t, !c->devices ? "CPU" : c->cpu ? "CPU and devices" : "devices");
  PUT(t, "\",\"cat\":\"decision\",\"ph\":\"i\",\"s\":\"p\",");
  put_row(t, 0, row);
  PUT(t, ",\"ts\":");
  put_us(t, ns);
  PUT(t, ",\"args\":{");
  put_task(t, &c->task);
  PUT(t, ",\"reason\":\"");
  put_word(t, c->reason);
  PUT(t, "\",\"devices\":");
  put_number(t, c->devices);
  PUT(t, ",\"units\":");
  put_number(t, c->units);
  PUT(t, ",\"expected_us\":");
  put_expected(t, c->expected_ns);
  PUT(t, ",\"cpu_alone_us\":");
  put_expected(t, c->cpu_ns);
  PUT(t, "}}");
}

/* FNV-1a; never 0. */
static uint64_t hash_of(const char *name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const unsigned char *p = (const unsigned char *)name; *p; p++) hash = (hash ^ *p) * 0x100000001b3u;
  return hash | 1u;
}

void hx__trace_put_device(hx__trace_text *t, size_t device, const char *name) {
  const uint64_t hash = hash_of(name);
  if (device < HX__TRACE_DEVICES && t->device[device] == hash) return;
  if (device < HX__TRACE_DEVICES) t->device[device] = hash;
  begin_event(t);
  PUT(t, "process_name\",\"ph\":\"M\",\"pid\":");
  put_number(t, device);
  PUT(t, ",\"args\":{\"name\":\"");
  put_number(t, device);
  PUT(t, ": ");
  put_name(t, name);
  PUT(t, "\"}}");
}
