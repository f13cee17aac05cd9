/* SPDX-License-Identifier: Apache-2.0
 * Events are collected as records in two buffers. The thread that fills one buffer writes it out while other threads
 * continue in the second one, so adding an event delays a thread by less than a tenth of a microsecond. */
#define _GNU_SOURCE
#include "runtime/base/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/descriptor.h"
#include "runtime/base/signal_guard.h"
#include "runtime/base/log.h"
#include "runtime/base/thread.h"
#include "runtime/base/trace_text.h"

#define RECORDS 2048u
#define FLUSH_AFTER_NS 1000000000u
#define NOT_REGULAR EINVAL /* an error number that no call for a trace returns */
#define NOT_A_TRACE EEXIST /* the same */

typedef enum kind { CALL, CHUNK, TRANSFER, DECISION } kind;

typedef struct record {
  kind kind;
  uint32_t thread;
  uint64_t ns; /* the time when it was added */
  union {
    hx__trace_slice slice; /* of a transfer: count is bytes */
    hx__trace_choice choice;
  };
} record;

struct hx__trace {
  hx__trace *next;
  unsigned users; /* protected by all_lock, like `next` and `path` */
  char *path;
  dev_t device; /* of the file, to recognise it */
  ino_t inode;
  pthread_mutex_t lock; /* protects the records below */
  uint64_t oldest_ns;   /* of the oldest record */
  unsigned buffer, records;
  pthread_mutex_t writing; /* locked after `lock`; protects the text and the buffer that is not being filled */
  record record[2][RECORDS];
  hx__trace_text text;
};

static hx__trace *all;
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;

/* Records. */

static void write_out(hx__trace_text *text, const record *list, unsigned count) {
  for (unsigned i = 0; i < count && !text->broken; i++) {
    const record *const r = &list[i];
    const uint32_t row = r->kind == TRANSFER ? r->thread | HX__TRACE_TRANSFERS : r->thread;
    hx__trace_name_row(text, r->kind == DECISION ? 0 : r->slice.device, row);
    if (r->kind == CALL) hx__trace_put_call(text, row, &r->slice);
    if (r->kind == CHUNK) hx__trace_put_chunk(text, row, &r->slice);
    if (r->kind == TRANSFER) hx__trace_put_transfer(text, row, &r->slice);
    if (r->kind == DECISION) hx__trace_put_decision(text, row, r->ns, &r->choice);
  }
  hx__trace_write(text);
}

/* Writes out the current buffer. Unlocks the trace once the buffers have been exchanged. */
static void flush_unlock(hx__trace *t) {
  const record *const list = t->record[t->buffer];
  const unsigned count = t->records;
  hx__lock(&t->writing);
  t->buffer ^= 1u;
  t->records = 0;
  hx__unlock(&t->lock);
  write_out(&t->text, list, count);
  hx__unlock(&t->writing);
}

static void add_record(hx__trace *t, record r) {
  static _Thread_local uint32_t thread;
  if (hx__in_forked_child()) return;
  if (!thread) thread = (uint32_t)syscall(SYS_gettid);
  r.thread = thread;
  hx__lock(&t->lock);
  if (t->records == 0) t->oldest_ns = r.ns;
  t->record[t->buffer][t->records++] = r;
  if (t->records == RECORDS || (r.ns > t->oldest_ns && r.ns - t->oldest_ns > FLUSH_AFTER_NS))
    flush_unlock(t);
  else
    hx__unlock(&t->lock);
}

void hx__trace_call(hx__trace *t, const hx__trace_slice *slice) {
  if (t) add_record(t, (record){.kind = CALL, .ns = slice->to_ns, .slice = *slice});
}

void hx__trace_chunk(hx__trace *t, const hx__trace_slice *slice) {
  if (t) add_record(t, (record){.kind = CHUNK, .ns = slice->to_ns, .slice = *slice});
}

void hx__trace_transfer(hx__trace *t, size_t device, uint64_t from_ns, uint64_t to_ns, size_t bytes, const char *what) {
  if (t)
    add_record(
        t, (record){.kind = TRANSFER,
                    .ns = to_ns,
                    .slice = {.device = device, .from_ns = from_ns, .to_ns = to_ns, .count = bytes, .outcome = what}});
}

void hx__trace_decision(hx__trace *t, const hx__trace_choice *choice) {
  if (t) add_record(t, (record){.kind = DECISION, .ns = hx__now_ns(), .choice = *choice});
}

void hx__trace_device(hx__trace *t, size_t device, const char *name) {
  if (!t || hx__in_forked_child()) return;
  hx__lock(&t->writing);
  hx__trace_put_device(&t->text, device, name);
  hx__unlock(&t->writing);
}

/* Files. */

static void flush_all(void) {
  if (hx__in_forked_child()) return;
  hx__lock(&all_lock);
  for (hx__trace *t = all; t; t = t->next) {
    hx__lock(&t->lock);
    if (t->users)
      flush_unlock(t);
    else
      hx__unlock(&t->lock);
  }
  hx__unlock(&all_lock);
}

/* A file lock is shared by all processes that have the file open, so a child that outlives its parent would keep other
 * processes from the file. No file is opened during the fork. */
static void before_fork(void) { pthread_mutex_lock(&all_lock); }
static void in_parent(void) { pthread_mutex_unlock(&all_lock); }
static void in_child(void) {
  for (hx__trace *t = all; t; t = t->next) {
    if (t->users) close(t->text.fd);
    t->users = 0; /* a child of this one finds nothing to close */
  }
  pthread_mutex_unlock(&all_lock);
}

static void install_handlers(void) {
  atexit(flush_all); /* for programs that end without hx_close */
  hx__install_fork_handlers();
  pthread_atfork(before_fork, in_parent, in_child);
}

/* Whether the file is empty or a trace of hx: nothing else is ever overwritten. */
static bool may_replace(int fd) {
  char head[sizeof HX__TRACE_HEAD - 1];
  const ssize_t got = pread(fd, head, sizeof head, 0);
  return got == 0 || (got == (ssize_t)sizeof head && memcmp(head, HX__TRACE_HEAD, sizeof head) == 0);
}

/* Opens the file for this process alone. Continues where this process left off, or starts a new trace. Returns false
 * with errno. */
static bool open_file(hx__trace *t) {
  hx__trace_text *const text = &t->text;
  struct stat s;
  text->fd = hx__above_streams(open(t->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666));
  if (text->fd < 0) return false;
  bool ok = fstat(text->fd, &s) == 0;
  if (ok && !S_ISREG(s.st_mode)) ok = false, errno = NOT_REGULAR;
  ok = ok && flock(text->fd, LOCK_EX | LOCK_NB) == 0 && fstat(text->fd, &s) == 0;
  const off_t size = text->end + (off_t)HX__TRACE_END_BYTES;
  const bool same = ok && s.st_dev == t->device && s.st_ino == t->inode && s.st_size == size;
  if (ok && !same && !may_replace(text->fd)) ok = false, errno = NOT_A_TRACE;
  if (ok && !same) {
    static const char empty[] = HX__TRACE_HEAD HX__TRACE_END;
    const hx__signal_guard guard = hx__signal_guard_begin();
    ok = ftruncate(text->fd, 0) == 0 && pwrite(text->fd, empty, sizeof empty - 1, 0) == (ssize_t)sizeof empty - 1;
    hx__signal_guard_end(&guard, !ok);
    if (!ok) (void)!ftruncate(text->fd, 0); /* an incomplete head would not be recognised */
    memset(text->row, 0, sizeof text->row);
    memset(text->device, 0, sizeof text->device);
    text->end = sizeof HX__TRACE_HEAD - 1;
    t->device = s.st_dev;
    t->inode = s.st_ino;
  }
  if (!ok) {
    const int code = errno;
    close(text->fd);
    errno = code;
  }
  text->broken = !ok;
  return ok;
}

/* Returns the trace of a path that this process has had before, or a new one; NULL if there is no memory. */
static hx__trace *find_trace(const char *path) {
  hx__trace *t = all;
  while (t && strcmp(t->path, path) != 0) t = t->next;
  if (t || (t = calloc(1, sizeof *t)) == NULL) return t;
  t->path = strdup(path);
  if (!t->path) {
    free(t);
    return NULL;
  }
  t->text.path = t->path;
  pthread_mutex_init(&t->lock, NULL);
  pthread_mutex_init(&t->writing, NULL);
  t->next = all;
  return all = t;
}

hx__trace *hx__trace_open(const char *path) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (!path[0] || hx__in_forked_child()) return NULL;
  pthread_once(&once, install_handlers);
  hx__lock(&all_lock);
  errno = ENOMEM;
  hx__trace *t = find_trace(path);
  if (t && t->users == 0 && !open_file(t)) t = NULL;
  if (t) t->users++;
  hx__unlock(&all_lock);
  if (!t)
    hx__log(HX__LOG_WARN, "HX_TRACE=%s: %s; no trace is written", path,
            errno == EWOULDBLOCK   ? "another process writes it"
            : errno == NOT_REGULAR ? "not a regular file"
            : errno == NOT_A_TRACE ? "it is not a trace of hx, and is not changed"
                                   : strerror(errno));
  return t;
}

void hx__trace_close(hx__trace *t) {
  if (!t || hx__in_forked_child()) return;
  hx__lock(&all_lock);
  hx__lock(&t->lock);
  flush_unlock(t);
  if (--t->users == 0) {
    flock(t->text.fd, LOCK_UN); /* a child that was just forked may still have it open */
    close(t->text.fd);
  }
  hx__unlock(&all_lock);
}
