/* SPDX-License-Identifier: Apache-2.0
 * Files that hx writes, in a program that has closed a standard stream: open(2) would give them its number, and what
 * is meant for that stream, hx's own messages too, would go into them. */
#ifndef HX_BASE_DESCRIPTOR_H
#define HX_BASE_DESCRIPTOR_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* fd as open(2) returned it, or its file at a number above those of the standard streams; -1 with errno. */
static inline int hx__above_streams(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), error = errno;
  close(fd);
  errno = error;
  return above;
}

#endif
