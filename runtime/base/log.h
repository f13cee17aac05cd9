/* SPDX-License-Identifier: Apache-2.0
 * Messages to stderr, up to the level of HX_LOG. Each message is one line, written by one call. The level belongs to
 * the process; hx_open sets it. */
#ifndef HX_BASE_LOG_H
#define HX_BASE_LOG_H

#include <stdbool.h>

typedef enum hx__log_level { HX__LOG_ERROR, HX__LOG_WARN, HX__LOG_INFO, HX__LOG_DEBUG, HX__LOG_TRACE } hx__log_level;

extern int hx__log_threshold; /* read without a lock; hx_open writes it */

void hx__log_write(hx__log_level level, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

/* Whether messages of this level are written. */
static inline bool hx__logs(hx__log_level level) {
  return __builtin_expect((int)level <= __atomic_load_n(&hx__log_threshold, __ATOMIC_RELAXED), 0);
}

#define hx__log(level, ...)                                 \
  do {                                                      \
    if (hx__logs(level)) hx__log_write(level, __VA_ARGS__); \
  } while (0)

#endif
