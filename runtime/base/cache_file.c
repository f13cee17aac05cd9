/* SPDX-License-Identifier: Apache-2.0
 * A file of the cache: a header, the whole key, the contents. It is written under another name and renamed, so a reader
 * sees all of it or nothing; what is cut short all the same (no fsync is made: a lost file is only a miss), changed, of
 * another format or key, or not surely this user's, is passed over, and replaced by the next put. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cache_dir.h"
#include "runtime/base/clock.h"
#include "runtime/base/descriptor.h"
#include "runtime/base/hash.h"
#include "runtime/base/hush.h"

#define FORMAT 1u
#define MOST_BYTES (HX__CACHE_BYTES / 4) /* of a file */

typedef struct header {
  char magic[8];
  uint32_t format, header_bytes;
  uint64_t key_bytes, data_bytes, checksum; /* of the contents */
  uint64_t trial;                           /* the process that uses them and has not said how it went; 0: none */
} header;

static const char magic[8] = "hxcache";

typedef struct name {
  char text[40];
} name;

static name name_of(const void *key, size_t key_bytes) {
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

static bool set_trial(int fd, uint64_t process) { /* also says that the file is in use */
  const hx__hush hush = hx__hush_begin();
  const bool set = pwrite(fd, &process, sizeof process, offsetof(header, trial)) == sizeof process;
  hx__hush_end(&hush, !set);
  return set;
}

static bool is_dead(uint64_t process) { return process && kill((pid_t)process, 0) != 0 && errno == ESRCH; }

/* The contents of an open file, where it is one that this user wrote, whole, under this key. */
static void *contents(int fd, const void *key, size_t key_bytes, size_t *bytes) {
  struct stat s;
  header h;
  if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode) || s.st_uid != geteuid() || (s.st_mode & (S_IWGRP | S_IWOTH)))
    return NULL;
  if (!read_all(fd, &h, sizeof h) || memcmp(h.magic, magic, sizeof magic) != 0 || h.format != FORMAT ||
      h.header_bytes != sizeof h || h.key_bytes != key_bytes || h.data_bytes > MOST_BYTES ||
      (uint64_t)s.st_size != sizeof h + h.key_bytes + h.data_bytes || is_dead(h.trial))
    return NULL;
  char *const all = malloc(key_bytes + (size_t)h.data_bytes + 1);
  if (!all) return NULL;
  const size_t data_bytes = (size_t)h.data_bytes;
  if (read_all(fd, all, key_bytes) && memcmp(all, key, key_bytes) == 0 && read_all(fd, all, data_bytes) &&
      hx__hash(HX__HASH_START, all, data_bytes) == h.checksum) {
    *bytes = data_bytes;
    return all;
  }
  free(all);
  return NULL;
}

void *hx__cache_get(const void *key, size_t key_bytes, size_t *bytes, int *trial) {
  const int folder = hx__cache_dir_open(false);
  if (folder < 0) return NULL;
  const name n = name_of(key, key_bytes);
  const int flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC; /* not led elsewhere by a link, nor blocked by a pipe */
  int fd = hx__above_streams(openat(folder, n.text, O_RDWR | flags));
  if (fd < 0) fd = openat(folder, n.text, O_RDONLY | flags); /* where nothing may be written there is no trial */
  void *const data = fd >= 0 ? contents(fd, key, key_bytes, bytes) : NULL;
  if (data) {
    set_trial(fd, (uint64_t)getpid());
    *trial = fd;
  } else if (fd >= 0) {
    close(fd);
  }
  close(folder);
  return data;
}

void hx__cache_trial_end(int trial, bool passed) {
  if (passed) set_trial(trial, 0);
  close(trial);
}

void hx__cache_put(const void *key, size_t key_bytes, const void *data, size_t bytes) {
  if (bytes > MOST_BYTES) return;
  const int folder = hx__cache_dir_open(true);
  if (folder < 0) return;
  header h = {.format = FORMAT, .header_bytes = sizeof h, .key_bytes = key_bytes, .data_bytes = bytes};
  memcpy(h.magic, magic, sizeof magic);
  h.checksum = hx__hash(HX__HASH_START, data, bytes);
  const name final = name_of(key, key_bytes);
  char temporary[sizeof final.text + 32];
  snprintf(temporary, sizeof temporary, ".%ld-%llx-%s", (long)getpid(), (unsigned long long)hx__now_ns(), final.text);
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const int fd = hx__above_streams(openat(folder, temporary, flags, 0600));
  bool ok = fd >= 0;
  int error = errno;
  if (ok) {
    const hx__hush hush = hx__hush_begin();
    ok = write_all(fd, &h, sizeof h) && write_all(fd, key, key_bytes) && write_all(fd, data, bytes);
    hx__hush_end(&hush, !ok);
    error = errno;
    if (close(fd) != 0 && ok) ok = false, error = errno;
    if (ok && renameat(folder, temporary, folder, final.text) != 0) ok = false, error = errno;
    if (!ok) unlinkat(folder, temporary, 0);
  }
  if (ok)
    hx__cache_trim(folder);
  else
    hx__cache_dir_off("a file cannot be written", error);
  close(folder);
}
