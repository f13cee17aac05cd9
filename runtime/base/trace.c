/* SPDX-License-Identifier: Apache-2.0
 * Writes trace events, one a line; the file is valid JSON once it is closed, and viewers read it before. */
#define _GNU_SOURCE
#include "runtime/base/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/log.h"
#include "runtime/base/thread.h"

struct hx__trace {
  pthread_mutex_t lock;
  FILE *file;
  const char *separator;
};

hx__trace *hx__trace_open(const char *path) {
  if (!path[0]) return NULL;
  hx__trace *const t = calloc(1, sizeof *t);
  if (t) t->file = fopen(path, "we");
  if (!t || !t->file) {
    hx__log(HX__LOG_WARN, "HX_TRACE=%s: %s; no trace is written", path, strerror(errno));
    free(t);
    return NULL;
  }
  pthread_mutex_init(&t->lock, NULL);
  t->separator = "[\n";
  return t;
}

void hx__trace_close(hx__trace *t) {
  if (!t) return;
  fputs(t->separator[0] == '[' ? "[]\n" : "\n]\n", t->file);
  fclose(t->file);
  pthread_mutex_destroy(&t->lock);
  free(t);
}

static void begin(hx__trace *t) {
  hx__lock(&t->lock);
  fputs(t->separator, t->file);
  t->separator = ",\n";
}

static void end(hx__trace *t) {
  fflush(t->file); /* a forked child must not inherit, and write again, what is not yet written */
  hx__unlock(&t->lock);
}

/* Driver names are not ours: only what needs no escape goes in. */
static void put_name(FILE *file, const char *name) {
  for (; *name; name++)
    if (*name >= ' ' && *name != '"' && *name != '\\' && *name != 0x7f) fputc(*name, file);
}

void hx__trace_device(hx__trace *t, size_t device, const char *name) {
  if (!t) return;
  begin(t);
  fprintf(t->file, "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%zu,\"args\":{\"name\":\"%zu: ", device, device);
  put_name(t->file, name);
  fputs("\"}}", t->file);
  end(t);
}

void hx__trace_chunk(hx__trace *t, size_t device, uint64_t from_ns, uint64_t to_ns, size_t first, size_t count,
                     const char *outcome) {
  if (!t) return;
  begin(t);
  fprintf(t->file,
          "{\"name\":\"%zu+%zu\",\"cat\":\"chunk\",\"ph\":\"X\",\"pid\":%zu,\"tid\":%ld,\"ts\":%.3f,\"dur\":%.3f,"
          "\"args\":{\"first\":%zu,\"slices\":%zu,\"outcome\":\"%s\"}}",
          first, count, device, syscall(SYS_gettid), (double)from_ns * 1e-3, (double)(to_ns - from_ns) * 1e-3, first,
          count, outcome);
  end(t);
}
