/* SPDX-License-Identifier: Apache-2.0
 * Keeps the descriptors of files that hx writes above those of the standard streams. If a program has closed a standard
 * stream, open(2) would return its number, and text for that stream, including hx's own messages, would be written to
 * the file. */
#ifndef HX_BASE_DESCRIPTOR_H
#define HX_BASE_DESCRIPTOR_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Takes a descriptor from open(2) and returns it, or a duplicate above the standard streams in its place. Returns -1,
 * with errno, after an error. */
static inline int hx__above_streams(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), error = errno;
  close(fd);
  errno = error;
  return above;
}

#endif
