/* SPDX-License-Identifier: Apache-2.0
 * Each message is one line in one write, so that lines of several threads or processes do not mix. */
#define _GNU_SOURCE
#include "runtime/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/signal_guard.h"

int hx__log_threshold = HX__LOG_WARN;

static const char *const level_names[] = {
    [HX__LOG_ERROR] = "error", [HX__LOG_WARN] = "warning", [HX__LOG_INFO] = "info",
    [HX__LOG_DEBUG] = "debug", [HX__LOG_TRACE] = "trace",
};

#define LINE_BYTES 2048 /* under PIPE_BUF, up to which a write to a pipe is atomic */

static void write_line(const char *line, size_t length) {
  const hx__signal_guard guard = hx__signal_guard_begin();
  ssize_t written;
  while ((written = write(STDERR_FILENO, line, length)) < 0 && errno == EINTR) continue;
  hx__signal_guard_end(&guard, written < 0);
}

void hx__log_write(hx__log_level level, const char *format, ...) {
  const int saved_errno = errno;
  char line[LINE_BYTES];
  const size_t room = sizeof line - 1; /* leaves room for the end of the line */
  size_t length = (size_t)snprintf(line, room, "hx: %s: ", level_names[level]);
  va_list arguments;
  va_start(arguments, format);
  const int wanted = vsnprintf(line + length, room - length, format, arguments);
  va_end(arguments);
  if (wanted > 0 && (size_t)wanted >= room - length) memcpy(line + room - 4, "...", 4);
  length += strlen(line + length);
  for (size_t i = 0; i < length; i++) /* text from drivers must not contain escape sequences or line breaks */
    if ((unsigned char)line[i] < ' ' || line[i] == 0x7f) line[i] = '?';
  line[length++] = '\n';
  write_line(line, length);
  errno = saved_errno;
}
