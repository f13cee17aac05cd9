/* SPDX-License-Identifier: Apache-2.0
 * The kinds of files and folders that hx may find where it expects its own: a table for all tests of files. Each row
 * makes `path` something else. */
#ifndef HX_TESTS_HOSTILE_H
#define HX_TESTS_HOSTILE_H

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/check.h"

#define HOSTILE_TEXT "int main(void) { return 0; } /* weeks of work */\n"

enum { HOSTILE_OTHER_USER = 65534 };

/* Writes a file that belongs to the user, at the path that hx uses or elsewhere. */
static inline bool hostile_write(const char *path) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
  const bool fine = fd >= 0 && write(fd, HOSTILE_TEXT, sizeof HOSTILE_TEXT - 1) == sizeof HOSTILE_TEXT - 1;
  if (fd >= 0) close(fd);
  return fine;
}

/* Whether that file is unchanged. */
static inline bool hostile_is_whole(const char *path) {
  char text[sizeof HOSTILE_TEXT + 1] = "";
  const int fd = open(path, O_RDONLY | O_NONBLOCK);
  const ssize_t got = fd >= 0 ? read(fd, text, sizeof text) : -1;
  if (fd >= 0) close(fd);
  return got == (ssize_t)sizeof HOSTILE_TEXT - 1 && memcmp(text, HOSTILE_TEXT, sizeof HOSTILE_TEXT - 1) == 0;
}

/* Makes `path`. other: a path at which nothing exists yet. */
typedef bool hostile_make(const char *path, const char *other);

static inline bool hostile_link(const char *path, const char *other) {
  return hostile_write(other) && symlink(other, path) == 0;
}
static inline bool hostile_dangling(const char *path, const char *other) { return symlink(other, path) == 0; }
static inline bool hostile_fifo(const char *path, const char *other) { return (void)other, mkfifo(path, 0600) == 0; }
static inline bool hostile_folder(const char *path, const char *other) { return (void)other, mkdir(path, 0700) == 0; }
static inline bool hostile_device(const char *path, const char *other) {
  (void)other;
  return mknod(path, S_IFCHR | 0600, makedev(1, 5)) == 0; /* /dev/zero */
}
static inline bool hostile_file(const char *path, const char *other) { return (void)other, hostile_write(path); }
static inline bool hostile_foreign(const char *path, const char *other) {
  (void)other;
  return hostile_write(path) && chown(path, HOSTILE_OTHER_USER, HOSTILE_OTHER_USER) == 0;
}
static inline bool hostile_anybodys(const char *path, const char *other) {
  (void)other;
  return hostile_write(path) && chmod(path, 0666) == 0;
}
static inline bool hostile_groups(const char *path, const char *other) {
  (void)other;
  return hostile_write(path) && chmod(path, 0660) == 0;
}
static inline bool hostile_huge(const char *path, const char *other) {
  return hostile_write(path) && truncate(path, (off_t)1 << 40) == 0 && ((void)other, true);
}

typedef struct hostile {
  const char *what;
  hostile_make *make;
  const char *cache_says, *trace_says; /* what hx logs about such a file */
} hostile;

static const hostile hostile_files[] = {
    {"a link", hostile_link, "it cannot be opened: Too many levels of symbolic links", "not a trace of hx"},
    {"a link to nothing", hostile_dangling, "it cannot be opened: Too many levels of symbolic links", NULL},
    {"a pipe", hostile_fifo, "it is not a regular file", "not a regular file"},
    {"a folder", hostile_folder, "", "Is a directory"},
    {"a device", hostile_device, "it is not a regular file", "not a regular file"},
    {"a file of the user's", hostile_file, "it is cut short", "not a trace of hx"},
    {"a file of another user", hostile_foreign, "it belongs to another user", "not a trace of hx"},
    {"a file that anybody may write to", hostile_anybodys, "others may write to it", "not a trace of hx"},
    {"a file that a group may write to", hostile_groups, "others may write to it", "not a trace of hx"},
    {"a file of a terabyte", hostile_huge, "it has another format", "not a trace of hx"},
};
enum { HOSTILE_FILES = sizeof hostile_files / sizeof *hostile_files };

#endif
