/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/values.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

bool bench_value_real(bench_value_kind kind, const void *value, double *number) {
  if (kind < BENCH_NUMBER || kind == BENCH_BYTES) return false;
  memcpy(number, value, sizeof *number);
  return true;
}

uint64_t bench_value_integer(bench_value_kind kind, const void *value) {
  uint64_t wide = 0;
  uint32_t narrow = 0;
  if (kind == BENCH_FLAG || kind == BENCH_BIT) return *(const bool *)value;
  if (kind != BENCH_UINT) return memcpy(&wide, value, sizeof wide), wide;
  return memcpy(&narrow, value, sizeof narrow), narrow;
}

bool bench_value_is_text(bench_value_kind kind) { return kind <= BENCH_LITERAL; }

const char *bench_value_text(bench_value_kind kind, const void *value) {
  return kind == BENCH_CHARS ? value : *(const char *const *)value;
}

bool bench_value_is_empty(bench_value_kind kind, const void *value) {
  double number;
  const char *const text = bench_value_is_text(kind) ? bench_value_text(kind, value) : "";
  if (bench_value_is_text(kind)) return !text || !*text;
  return bench_value_real(kind, value, &number) ? !isfinite(number) : bench_value_integer(kind, value) == 0;
}

void bench_value_print(bench_value_kind kind, const void *value, char *text, size_t bytes) {
  double number;
  text[0] = '\0';
  if (bench_value_real(kind, value, &number)) {
    if (isfinite(number)) snprintf(text, bytes, "%.9g", number);
  } else if (kind == BENCH_FLAG || kind == BENCH_BIT) {
    snprintf(text, bytes, "%s", bench_value_integer(kind, value) ? "true" : "false");
  } else {
    snprintf(text, bytes, kind == BENCH_HEX ? "%016" PRIx64 : "%" PRIu64, bench_value_integer(kind, value));
  }
}
