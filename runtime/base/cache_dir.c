/* SPDX-License-Identifier: Apache-2.0
 * The folder of the cache: how it is created, and the checks of its owner. */
#define _GNU_SOURCE
#include "runtime/base/cache_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/config.h"
#include "runtime/base/log.h"
#include "runtime/base/thread.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the variables below */
static char folder[2 * HX__PATH_BYTES];
static bool reason_logged;
static unsigned contexts; /* open contexts */

/* Makes a relative path absolute, because the process may change its working folder later. */
static bool make_absolute(char *out, size_t bytes, const char *path) {
  char here[HX__PATH_BYTES] = "";
  if (path[0] != '/' && !getcwd(here, sizeof here)) return false;
  return (size_t)snprintf(out, bytes, "%s%s%s", here, here[0] ? "/" : "", path) < bytes;
}

/* Makes path the folder, unless joins is set and another context is open. Returns whether path is the folder now. */
static bool set_folder(const char *path, bool joins) {
  static bool was_set;
  char now[sizeof folder] = "";
  if (path[0] && !make_absolute(now, sizeof now, path)) now[0] = '\0';
  hx__lock(&lock);
  const bool keep = joins && contexts > 0, same = was_set && strcmp(now, folder) == 0;
  if (!keep && !same) {
    reason_logged = false;
    was_set = true;
    memcpy(folder, now, strlen(now) + 1);
  }
  contexts += joins;
  hx__unlock(&lock);
  if (!keep && !same && !now[0])
    hx__log(HX__LOG_INFO, "no cache%s%s: %s", path[0] ? " in " : "", path,
            path[0] ? "the working folder is unknown, or the path is too long"
                    : "HX_CACHE_DIR is off, or neither XDG_CACHE_HOME nor HOME is an absolute path");
  return same || !keep;
}

void hx__cache_dir_set(const char *path) { set_folder(path, false); }

void hx__cache_dir_join(const char *path) {
  if (set_folder(path, true)) return;
  hx__log(HX__LOG_INFO, "HX_CACHE_DIR=%s: not used: the process has the folder of the context that was opened first",
          path[0] ? path : "off");
}

void hx__cache_dir_leave(void) {
  hx__lock(&lock);
  contexts--;
  hx__unlock(&lock);
}

static bool current_folder(char out[sizeof folder]) {
  hx__lock(&lock);
  memcpy(out, folder, sizeof folder);
  hx__unlock(&lock);
  return out[0] != '\0';
}

bool hx__cache_dir_is_enabled(void) {
  char path[sizeof folder];
  return current_folder(path);
}

void hx__cache_dir_log_disabled(const char *what, int error) {
  char path[sizeof folder];
  hx__lock(&lock);
  const bool first = !reason_logged;
  reason_logged = true;
  memcpy(path, folder, sizeof path);
  hx__unlock(&lock);
  if (first)
    hx__log(HX__LOG_INFO, "no cache in %s: %s%s%s", path, what, error ? ": " : "", error ? strerror(error) : "");
}

/* Creates the missing folders of an absolute path; returns an error number or 0. A folder is created only inside one
 * that belongs to this user or to root: root running with another user's HOME would leave a folder there that the user
 * cannot write to. */
static int make_folders(char *path) {
  struct stat s;
  uid_t owner = 0;
  for (char *end = path; end; *end = '/') {
    end = strchr(end + 1, '/');
    if (end) *end = '\0';
    if (stat(path, &s) == 0)
      owner = s.st_uid;
    else if (errno != ENOENT)
      return errno;
    else if (owner != geteuid() && owner != 0)
      return EPERM;
    else if (mkdir(path, 0700) == 0)
      owner = geteuid();
    else if (errno != EEXIST)
      return errno;
    if (!end) break;
  }
  return 0;
}

int hx__cache_dir_open(bool create) {
  char path[sizeof folder];
  struct stat s;
  if (!current_folder(path)) return -1;
  const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  int fd = open(path, flags);
  if (fd < 0 && errno == ENOENT) {
    if (!create) return -1;
    const int error = make_folders(path);
    if (error) return hx__cache_dir_log_disabled("it cannot be made", error), -1;
    fd = open(path, flags);
  }
  if (fd < 0) return hx__cache_dir_log_disabled("it cannot be opened", errno), -1;
  if (fstat(fd, &s) == 0 && s.st_uid == geteuid() && !(s.st_mode & (S_IWGRP | S_IWOTH))) return fd;
  close(fd);
  hx__cache_dir_log_disabled("it belongs to another user, or others may write to it", 0);
  return -1;
}
