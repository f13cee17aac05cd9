/* SPDX-License-Identifier: Apache-2.0
 * Events are kept as records and written in lumps, in a format made by hand: a thread's part in one takes less than a
 * tenth of a microsecond, and a chunk of a short call some ten. */
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
#include "runtime/base/log.h"
#include "runtime/base/thread.h"

#define RECORDS 2048u
#define TEXT_BYTES ((size_t)64 << 10)
#define EVENT_BYTES 640u /* more than any event has */
#define NAME_BYTES 128u
#define ROWS 512u /* threads that get a name */
#define PATIENCE_NS 1000000000u

static const char end_of_file[] = "\n]\n";
#define END_BYTES (sizeof end_of_file - 1)

typedef enum kind { CHUNK, TRANSFER, DECISION } kind;

typedef struct record {
  kind kind;
  uint32_t thread;
  uint64_t ns; /* when it was added */
  union {
    hx__trace_slice slice; /* of a transfer: count is bytes */
    hx__trace_choice choice;
  };
} record;

struct hx__trace {
  hx__trace *next;
  unsigned users; /* with `next` and `path` under the lock of all */
  char *path;
  dev_t device; /* of the file, to know it again, */
  ino_t inode;
  off_t end;            /* and where its last bytes, end_of_file, begin */
  pthread_mutex_t lock; /* what follows, and `end` */
  int fd;
  bool broken, begun; /* begun: there is an event before */
  uint64_t oldest_ns; /* of the records */
  unsigned records;
  size_t used;        /* of the text */
  uint64_t row[ROWS]; /* hashed: threads that have a name, by device */
  record record[RECORDS];
  char text[TEXT_BYTES];
};

static hx__trace *all;
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;

/* Text. */

static void put(hx__trace *t, const char *s, size_t bytes) {
  memcpy(t->text + t->used, s, bytes);
  t->used += bytes;
}
#define PUT(t, literal) put(t, literal, sizeof(literal) - 1)

static void put_word(hx__trace *t, const char *word) { put(t, word, strlen(word)); }

static void put_number(hx__trace *t, uint64_t n) {
  char digits[20];
  unsigned at = sizeof digits;
  do digits[--at] = (char)('0' + n % 10);
  while (n /= 10);
  put(t, digits + at, sizeof digits - at);
}

/* Nanoseconds as microseconds. */
static void put_us(hx__trace *t, uint64_t ns) {
  const unsigned part = (unsigned)(ns % 1000);
  const char digits[4] = {'.', (char)('0' + part / 100), (char)('0' + part / 10 % 10), (char)('0' + part % 10)};
  put_number(t, ns / 1000);
  put(t, digits, sizeof digits);
}

static void put_expected(hx__trace *t, double ns) {
  if (ns > 0.0 && ns < 1e18)
    put_us(t, (uint64_t)ns);
  else
    PUT(t, "null");
}

/* Names of drivers are not ours: only what needs no escape goes in. */
static void put_name(hx__trace *t, const char *name) {
  for (unsigned i = 0; name[i] && i < NAME_BYTES; i++)
    if (name[i] >= ' ' && name[i] < 0x7f && name[i] != '"' && name[i] != '\\') t->text[t->used++] = name[i];
}

/* To the file: the text, and once more its end. What cannot be written whole is not there at all. */
static void write_text(hx__trace *t) {
  if (t->used == 0) return;
  const size_t bytes = t->used + END_BYTES;
  put(t, end_of_file, END_BYTES);
  size_t done = 0;
  while (done < bytes && !t->broken) {
    const ssize_t n = pwrite(t->fd, t->text + done, bytes - done, t->end + (off_t)done);
    if (n >= 0) done += (size_t)n;
    if (n >= 0 || errno == EINTR) continue;
    hx__log(HX__LOG_WARN, "HX_TRACE=%s: %s; the trace ends here", t->path, strerror(errno));
    t->broken = true;
    if (pwrite(t->fd, end_of_file, END_BYTES, t->end) == (ssize_t)END_BYTES)
      (void)!ftruncate(t->fd, t->end + (off_t)END_BYTES);
  }
  if (!t->broken) t->end += (off_t)t->used - (off_t)END_BYTES;
  t->used = 0;
}

static void begin_event(hx__trace *t) {
  if (t->used + EVENT_BYTES + END_BYTES > TEXT_BYTES) write_text(t);
  if (t->begun) PUT(t, ",");
  PUT(t, "\n{\"name\":\"");
  t->begun = true;
}

static void put_row(hx__trace *t, size_t device, uint32_t thread) {
  PUT(t, "\"pid\":");
  put_number(t, device);
  PUT(t, ",\"tid\":");
  put_number(t, thread);
}

static void name_row(hx__trace *t, size_t device, uint32_t thread) {
  const uint64_t key = (uint64_t)device << 32 | thread;
  for (unsigned i = 0; i < ROWS; i++) {
    uint64_t *const row = &t->row[(thread + device * 31u + i) % ROWS];
    if (*row == key) return;
    if (*row) continue;
    *row = key;
    begin_event(t);
    PUT(t, "thread_name\",\"ph\":\"M\",");
    put_row(t, device, thread);
    PUT(t, ",\"args\":{\"name\":\"");
    put_word(t, device ? "feeder" : "CPU thread");
    PUT(t, "\"}}");
    return;
  }
}

static void put_times(hx__trace *t, const hx__trace_slice *s) {
  PUT(t, ",\"ts\":");
  put_us(t, s->from_ns);
  PUT(t, ",\"dur\":");
  put_us(t, s->to_ns - s->from_ns);
}

static void put_chunk(hx__trace *t, uint32_t thread, const hx__trace_slice *s) {
  begin_event(t);
  put_number(t, s->first);
  PUT(t, "+");
  put_number(t, s->count);
  PUT(t, "\",\"cat\":\"chunk\",\"ph\":\"X\",");
  put_row(t, s->device, thread);
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

static void put_transfer(hx__trace *t, uint32_t thread, const hx__trace_slice *s) {
  begin_event(t);
  put_word(t, s->outcome);
  PUT(t, "\",\"cat\":\"transfer\",\"ph\":\"X\",");
  put_row(t, s->device, thread);
  put_times(t, s);
  PUT(t, ",\"args\":{\"bytes\":");
  put_number(t, s->count);
  PUT(t, "}}");
}

static void put_decision(hx__trace *t, uint32_t thread, uint64_t ns, const hx__trace_choice *c) {
  begin_event(t);
  put_word(t, !c->devices ? "CPU" : c->cpu ? "CPU and devices" : "devices");
  PUT(t, "\",\"cat\":\"decision\",\"ph\":\"i\",\"s\":\"p\",");
  put_row(t, 0, thread);
  PUT(t, ",\"ts\":");
  put_us(t, ns);
  PUT(t, ",\"args\":{\"reason\":\"");
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

/* Records. */

static void flush(hx__trace *t) {
  for (unsigned i = 0; i < t->records && !t->broken; i++) {
    const record *const r = &t->record[i];
    name_row(t, r->kind == DECISION ? 0 : r->slice.device, r->thread);
    if (r->kind == CHUNK) put_chunk(t, r->thread, &r->slice);
    if (r->kind == TRANSFER) put_transfer(t, r->thread, &r->slice);
    if (r->kind == DECISION) put_decision(t, r->thread, r->ns, &r->choice);
  }
  t->records = 0;
  if (!t->broken) write_text(t);
}

static void add(hx__trace *t, record r) {
  static _Thread_local uint32_t thread;
  if (hx__forked()) return;
  if (!thread) thread = (uint32_t)syscall(SYS_gettid);
  r.thread = thread;
  hx__lock(&t->lock);
  if (t->records == 0) t->oldest_ns = r.ns;
  t->record[t->records++] = r;
  if (t->records == RECORDS || (r.ns > t->oldest_ns && r.ns - t->oldest_ns > PATIENCE_NS)) flush(t);
  hx__unlock(&t->lock);
}

void hx__trace_chunk(hx__trace *t, const hx__trace_slice *slice) {
  if (t) add(t, (record){.kind = CHUNK, .ns = slice->to_ns, .slice = *slice});
}

void hx__trace_transfer(hx__trace *t, size_t device, uint64_t from_ns, uint64_t to_ns, size_t bytes, const char *what) {
  if (t)
    add(t, (record){.kind = TRANSFER,
                    .ns = to_ns,
                    .slice = {.device = device, .from_ns = from_ns, .to_ns = to_ns, .count = bytes, .outcome = what}});
}

void hx__trace_decision(hx__trace *t, const hx__trace_choice *choice) {
  if (t) add(t, (record){.kind = DECISION, .ns = hx__now_ns(), .choice = *choice});
}

void hx__trace_device(hx__trace *t, size_t device, const char *name) {
  if (!t || hx__forked()) return;
  hx__lock(&t->lock);
  begin_event(t);
  PUT(t, "process_name\",\"ph\":\"M\",\"pid\":");
  put_number(t, device);
  PUT(t, ",\"args\":{\"name\":\"");
  put_number(t, device);
  PUT(t, ": ");
  put_name(t, name);
  PUT(t, "\"}}");
  hx__unlock(&t->lock);
}

/* Files. */

static void flush_all(void) {
  if (hx__forked()) return;
  hx__lock(&all_lock);
  for (hx__trace *t = all; t; t = t->next) {
    hx__lock(&t->lock);
    if (t->users) flush(t);
    hx__unlock(&t->lock);
  }
  hx__unlock(&all_lock);
}

static void at_exit(void) { atexit(flush_all); } /* for programs that end without hx_close */

/* Opens the file for this process alone: goes on where the process left off, else starts anew. False with errno. */
static bool open_file(hx__trace *t) {
  struct stat s;
  t->fd = open(t->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (t->fd < 0) return false;
  bool fine = fstat(t->fd, &s) == 0;
  if (fine && !S_ISREG(s.st_mode)) fine = false, errno = EINVAL;
  fine = fine && flock(t->fd, LOCK_EX | LOCK_NB) == 0 && fstat(t->fd, &s) == 0;
  const bool same = fine && s.st_dev == t->device && s.st_ino == t->inode && s.st_size == t->end + (off_t)END_BYTES;
  if (fine && !same) {
    fine = ftruncate(t->fd, 0) == 0 && pwrite(t->fd, "[\n]\n", 4, 0) == 4;
    memset(t->row, 0, sizeof t->row);
    t->begun = false;
    t->device = s.st_dev;
    t->inode = s.st_ino;
    t->end = 1;
  }
  if (!fine) {
    const int code = errno;
    close(t->fd);
    errno = code;
  }
  t->broken = !fine;
  return fine;
}

/* The trace of a path that the process has had before, or a new one; NULL: no memory. */
static hx__trace *find(const char *path) {
  hx__trace *t = all;
  while (t && strcmp(t->path, path) != 0) t = t->next;
  if (t || (t = calloc(1, sizeof *t)) == NULL) return t;
  t->path = strdup(path);
  if (!t->path) {
    free(t);
    return NULL;
  }
  pthread_mutex_init(&t->lock, NULL);
  t->next = all;
  return all = t;
}

hx__trace *hx__trace_open(const char *path) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (!path[0] || hx__forked()) return NULL;
  pthread_once(&once, at_exit);
  hx__fork_watch();
  hx__lock(&all_lock);
  errno = ENOMEM;
  hx__trace *t = find(path);
  if (t && t->users == 0 && !open_file(t)) t = NULL;
  if (t) t->users++;
  hx__unlock(&all_lock);
  if (!t)
    hx__log(HX__LOG_WARN, "HX_TRACE=%s: %s; no trace is written", path,
            errno == EWOULDBLOCK ? "another process writes it" : strerror(errno));
  return t;
}

void hx__trace_close(hx__trace *t) {
  if (!t || hx__forked()) return;
  hx__lock(&all_lock);
  hx__lock(&t->lock);
  flush(t);
  hx__unlock(&t->lock);
  if (--t->users == 0) close(t->fd);
  hx__unlock(&all_lock);
}
