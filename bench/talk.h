/* SPDX-License-Identifier: Apache-2.0
 * Sends and receives complete records over the socket between hx-bench and a contestant's process. */
#ifndef HX_BENCH_TALK_H
#define HX_BENCH_TALK_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#define BENCH_TALK_FD 3 /* the socket's descriptor in the contestant */

static inline bool bench_talk_read(int fd, void *data, size_t bytes) {
  for (char *p = data; bytes;) {
    ssize_t got = read(fd, p, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    p += got;
    bytes -= (size_t)got;
  }
  return true;
}

static inline bool bench_talk_write(int fd, const void *data, size_t bytes) {
  for (const char *p = data; bytes;) {
    ssize_t put = send(fd, p, bytes, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    p += put;
    bytes -= (size_t)put;
  }
  return true;
}

#endif
