/* SPDX-License-Identifier: Apache-2.0
 * A file of the cache: a header, the whole key, the contents. It is written under a temporary name and then renamed, so
 * a reader sees all of it or nothing. A file is ignored, and replaced by the next put, if it is truncated (there is no
 * fsync, because a lost file is only a miss), modified, of another format or key, or possibly written by another user.
 * A file whose size does not match its header and key is not read. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cache_dir.h"
#include "runtime/base/crash_mark.h"
#include "runtime/base/clock.h"
#include "runtime/base/descriptor.h"
#include "runtime/base/hash.h"
#include "runtime/base/signal_guard.h"
#include "runtime/base/log.h"

#define FORMAT 2u
#define MOST_BYTES (HX__CACHE_BYTES / 4) /* of a file */

typedef struct header {
  char magic[8];
  uint32_t format, header_bytes;
  uint64_t key_bytes, data_bytes, checksum; /* of the contents */
  hx__crash_marks marks;
} header;

static const char magic[8] = "hxcache";

typedef struct name {
  char text[40];
} name;

static name file_name_of(const void *key, size_t key_bytes) {
  name n;
  snprintf(n.text, sizeof n.text, "%016llx" HX__CACHE_SUFFIX,
           (unsigned long long)hx__hash(HX__HASH_START, key, key_bytes));
  return n;
}

static bool read_all(int fd, void *to, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t got = read(fd, (char *)to + done, bytes - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += (size_t)got;
  }
  return true;
}

static bool write_all(int fd, const void *from, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t put = write(fd, (const char *)from + done, bytes - done);
    if (put < 0 && errno == EINTR) continue;
    if (put == 0) errno = ENOSPC;
    if (put <= 0) return false;
    done += (size_t)put;
  }
  return true;
}

/* Reads the header of an open file and checks that this user wrote it under a key of this length. Returns NULL, or what
 * is wrong with the file. */
static const char *read_header(int fd, size_t key_bytes, header *h, bool *marked) {
  struct stat s;
  if (fstat(fd, &s) != 0) return "it cannot be read";
  if (!S_ISREG(s.st_mode)) return "it is not a regular file";
  if (s.st_uid != geteuid()) return "it belongs to another user";
  if (s.st_mode & (S_IWGRP | S_IWOTH)) return "others may write to it";
  if (!read_all(fd, h, sizeof *h)) return "it is cut short";
  if (memcmp(h->magic, magic, sizeof magic) != 0 || h->format != FORMAT || h->header_bytes != sizeof *h)
    return "it has another format";
  if (h->key_bytes != key_bytes || h->data_bytes > MOST_BYTES) return "it has another key, or is too long";
  if ((uint64_t)s.st_size != sizeof *h + h->key_bytes + h->data_bytes) return "it is cut short, or longer than it says";
  return hx__crash_marks_are_valid(&h->marks, marked) ? NULL : "it is damaged";
}

/* The same for what follows the header. The caller frees *data. */
static const char *read_contents(int fd, const header *h, const void *key, char **data) {
  const size_t key_bytes = (size_t)h->key_bytes, data_bytes = (size_t)h->data_bytes;
  char *const all = malloc(key_bytes + data_bytes + 1);
  *data = all;
  if (!all) return "there is no memory for it";
  if (!read_all(fd, all, key_bytes) || memcmp(all, key, key_bytes) != 0) return "it has another key";
  if (!read_all(fd, all, data_bytes)) return "it is cut short";
  return hx__hash(HX__HASH_START, all, data_bytes) == h->checksum ? NULL : "it is damaged";
}

static int open_cached(int folder, const name *n, int access) {
  /* Does not follow a link, and does not block on a pipe. */
  return hx__above_streams(openat(folder, n->text, access | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
}

static void log_ignored(const name *n, const char *why, int error) {
  hx__log(HX__LOG_INFO, "the cache's file %s is ignored: %s%s%s", n->text, why, error ? ": " : "",
          error ? strerror(error) : "");
}

void *hx__cache_get(const void *key, size_t key_bytes, size_t *bytes, int *crash_mark) {
  const int folder = hx__cache_dir_open(false);
  if (folder < 0) return NULL;
  const name n = file_name_of(key, key_bytes);
  const int fd = open_cached(folder, &n, crash_mark ? O_RDWR : O_RDONLY);
  int error = fd < 0 ? errno : 0;
  close(folder);
  if (error == ENOENT) return NULL;
  header h;
  char *data = NULL;
  bool marked;
  const char *why = fd < 0 ? "it cannot be opened" : read_header(fd, key_bytes, &h, &marked);
  const bool marked_by_us = !why && crash_mark && !(why = hx__crash_mark_begin(fd, offsetof(header, marks), &error));
  if (!why) why = read_contents(fd, &h, key, &data);
  if (!why) {
    futimens(fd, NULL); /* marks the file as used, because the least recently used one is removed first */
    *bytes = (size_t)h.data_bytes;
    if (crash_mark)
      *crash_mark = fd;
    else
      close(fd);
    return data;
  }
  log_ignored(&n, why, error);
  free(data);
  if (marked_by_us)
    hx__cache_crash_mark_end(fd, true); /* no driver has used it */
  else if (fd >= 0)
    close(fd);
  return NULL;
}

/* Whether the file under this key has a crash mark, of a process that is using it or that crashed while it did. */
static bool is_marked(int folder, const name *n, const void *key, size_t key_bytes) {
  header h;
  bool marked = false;
  char *data = NULL;
  const int fd = open_cached(folder, n, O_RDONLY);
  if (fd < 0) return false;
  const bool is = !read_header(fd, key_bytes, &h, &marked) && marked && !read_contents(fd, &h, key, &data);
  free(data);
  close(fd);
  return is;
}

/* 0, or an error number. */
static int write_file(int folder, const name *final, const header *h, const void *key, const void *data) {
  char temporary[sizeof final->text + 32];
  snprintf(temporary, sizeof temporary, ".%ld-%llx-%s", (long)getpid(), (unsigned long long)hx__now_ns(), final->text);
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const int fd = hx__above_streams(openat(folder, temporary, flags, 0600));
  if (fd < 0) return errno;
  const hx__signal_guard guard = hx__signal_guard_begin();
  bool ok = write_all(fd, h, sizeof *h) && write_all(fd, key, (size_t)h->key_bytes) &&
            write_all(fd, data, (size_t)h->data_bytes);
  hx__signal_guard_end(&guard, !ok);
  int error = ok ? 0 : errno;
  if (close(fd) != 0 && ok) error = errno;
  if (!error && renameat(folder, temporary, folder, final->text) != 0) error = errno;
  if (error) unlinkat(folder, temporary, 0);
  return error;
}

void hx__cache_put(const void *key, size_t key_bytes, const void *data, size_t bytes) {
  if (bytes > MOST_BYTES) return;
  const int folder = hx__cache_dir_open(true);
  if (folder < 0) return;
  const name n = file_name_of(key, key_bytes);
  header h = {.format = FORMAT, .header_bytes = sizeof h, .key_bytes = key_bytes, .data_bytes = bytes};
  memcpy(h.magic, magic, sizeof magic);
  h.checksum = hx__hash(HX__HASH_START, data, bytes);
  if (is_marked(folder, &n, key, key_bytes)) {
    hx__log(HX__LOG_INFO, "the cache's file %s is not replaced: a driver uses it, or a process died while one did",
            n.text);
  } else {
    const int error = write_file(folder, &n, &h, key, data);
    if (error)
      hx__cache_dir_log_disabled("a file cannot be written", error);
    else
      hx__cache_trim(folder);
  }
  close(folder);
}
