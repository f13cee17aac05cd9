/* SPDX-License-Identifier: Apache-2.0
 * Marks on a file of the cache. */
#define _GNU_SOURCE
#include "runtime/base/crash_mark.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/cache_dir.h"
#include "runtime/base/signal_guard.h"

#define IN_USE 0xa5 /* differs from 0 in more than one bit */
#define MOST_MARKED_FILES 64
#define NOT_YET (-1)

/* The files that this process is giving to drivers. Under the lock no system call is made except the write of a mark,
 * because fork waits for the lock. */
typedef struct marked_file {
  int fd;
  off_t mark; /* where in the file; NOT_YET */
} marked_file;
static marked_file list[MOST_MARKED_FILES];
static unsigned count;
static bool ending; /* the process exits: marks set from now on would remain */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool hx__crash_marks_are_valid(const hx__crash_marks *marks, bool *any) {
  *any = false;
  for (unsigned i = 0; i < HX__CRASH_MARKS; i++) {
    if (marks->mark[i] != 0 && marks->mark[i] != IN_USE) return false;
    *any = *any || marks->mark[i] != 0;
  }
  return true;
}

static bool set_mark(int fd, off_t at, unsigned char mark) {
  const hx__signal_guard guard = hx__signal_guard_begin();
  const bool set = pwrite(fd, &mark, 1, at) == 1;
  hx__signal_guard_end(&guard, !set);
  return set;
}

static int lock_byte(int fd, int command, off_t at, short *type) {
  struct flock l = {.l_type = *type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
  if (fcntl(fd, command, &l) != 0) return errno;
  *type = l.l_type;
  return 0;
}

/* Locks the byte of a free mark. Returns false with an error number, or with 0 if all marks are in use. */
static bool lock_free_byte(int fd, off_t at, const hx__crash_marks *marks, off_t *own_mark, int *error) {
  for (unsigned i = 0; i < HX__CRASH_MARKS; i++) {
    short type = F_WRLCK;
    if (marks->mark[i]) continue;
    *own_mark = at + i;
    *error = lock_byte(fd, F_OFD_SETLK, *own_mark, &type);
    if (*error == 0) return true;
    if (*error != EAGAIN && *error != EACCES) return false;
  }
  *error = 0;
  return false;
}

/* Whether there is a mark without a lock, so that its process must have crashed. A mark that was removed after it had
 * been read does not count. */
static bool has_abandoned_mark(int fd, off_t at, const hx__crash_marks *marks) {
  for (unsigned i = 0; i < HX__CRASH_MARKS; i++) {
    short type = F_WRLCK;
    unsigned char now = 0;
    if (marks->mark[i] && lock_byte(fd, F_OFD_GETLK, at + i, &type) == 0 && type == F_UNLCK &&
        pread(fd, &now, 1, at + i) == 1 && now != 0)
      return true;
  }
  return false;
}

static void at_exit(void) {
  pthread_mutex_lock(&lock);
  ending = true;
  for (unsigned i = 0; i < count; i++)
    if (list[i].mark != NOT_YET) set_mark(list[i].fd, list[i].mark, 0);
  pthread_mutex_unlock(&lock);
}

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void in_parent(void) { pthread_mutex_unlock(&lock); }
static void in_child(void) {
  for (unsigned i = 0; i < count; i++) close(list[i].fd);
  count = 0;
  pthread_mutex_unlock(&lock);
}

static void install_handlers(void) {
  atexit(at_exit);
  pthread_atfork(before_fork, in_parent, in_child);
}

static bool add_to_list(int fd) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, install_handlers);
  pthread_mutex_lock(&lock);
  const bool room = count < MOST_MARKED_FILES && !ending;
  if (room) list[count++] = (marked_file){fd, NOT_YET};
  pthread_mutex_unlock(&lock);
  return room;
}

static bool mark_listed(int fd, off_t mark) {
  bool set = false;
  pthread_mutex_lock(&lock);
  for (unsigned i = 0; i < count && !ending; i++)
    if (list[i].fd == fd) {
      list[i].mark = mark;
      set = set_mark(fd, mark, IN_USE);
    }
  pthread_mutex_unlock(&lock);
  return set;
}

/* Removes the file from the list and, with `unmark`, its mark from the file. Both are done under the lock: if the
 * process exited between the two, the mark would stay, because at_exit knows only the files in the list. */
static void remove_from_list(int fd, bool unmark) {
  pthread_mutex_lock(&lock);
  for (unsigned i = 0; i < count; i++)
    if (list[i].fd == fd) {
      if (unmark && list[i].mark != NOT_YET) set_mark(fd, list[i].mark, 0);
      list[i] = list[--count];
      break;
    }
  pthread_mutex_unlock(&lock);
}

static const char *mark_file(int fd, off_t at, int *error) {
  hx__crash_marks marks;
  off_t own_mark;
  if (pread(fd, &marks, sizeof marks, at) != (ssize_t)sizeof marks) return "it cannot be read";
  if (!lock_free_byte(fd, at, &marks, &own_mark, error))
    return *error ? "its use cannot be locked" : "too many processes are using it";
  if (has_abandoned_mark(fd, at, &marks))
    return "a process died while a driver used it; until it is removed it is not used again";
  errno = 0;
  if (mark_listed(fd, own_mark)) return NULL;
  *error = errno;
  return "its use cannot be marked";
}

const char *hx__crash_mark_begin(int fd, off_t at, int *error) {
  *error = 0;
  if (!add_to_list(fd)) return "too many are in use, or the process is ending";
  const char *const why = mark_file(fd, at, error);
  if (why) remove_from_list(fd, true);
  return why;
}

void hx__cache_crash_mark_end(int fd, bool passed) {
  const bool emptied = !passed && ftruncate(fd, 0) == 0; /* no mark is left in it */
  remove_from_list(fd, !emptied);
  close(fd);
}
