/* SPDX-License-Identifier: Apache-2.0 */
#include "blas/message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "runtime/base/signal_guard.h"

#define LINE_BYTES 1024 /* under PIPE_BUF, up to which a write to a pipe is atomic */

void hx__blas_message(const char *level, const char *format, ...) {
  const int saved_errno = errno;
  char line[LINE_BYTES];
  int length = snprintf(line, sizeof line, "hx: %s: ", level);
  const int room = (int)sizeof line - 1 - length; /* leaves room for the end of the line */
  va_list arguments;
  va_start(arguments, format);
  const int wanted = vsnprintf(line + length, (size_t)room, format, arguments);
  va_end(arguments);
  if (wanted > 0) length += wanted < room ? wanted : room - 1;
  line[length++] = '\n';
  const hx__signal_guard guard = hx__signal_guard_begin();
  ssize_t written;
  while ((written = write(STDERR_FILENO, line, (size_t)length)) < 0 && errno == EINTR) continue;
  hx__signal_guard_end(&guard, written < 0);
  errno = saved_errno;
}
