/* SPDX-License-Identifier: Apache-2.0
 * One call of a routine: whether hx computes it, and the line about it that HX_LOG=info asks for. */
#ifndef HX_BLAS_CALL_H
#define HX_BLAS_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/hx.h"

/* The routines that hx can compute; thresholds.inc has a row for each. */
typedef enum hx__blas_routine {
#define THRESHOLD(name, cpu_alone, beside_devices) HX__BLAS_##name,
#include "blas/thresholds.inc"
#undef THRESHOLD
  HX__BLAS_ROUTINES
} hx__blas_routine;

typedef struct hx__blas_call {
  hx_context *context; /* that computes it; only if by_hx */
  bool by_hx;          /* hx computes it; if not, the caller forwards it */
  bool logs;           /* hx__blas_call_log has to be called when it is done */
  uint64_t start_ns;
  uint64_t units[HX_MAX_DEVICES]; /* what each device has done; only if it logs */
} hx__blas_call;

/* Units of work below which a call is forwarded at once, whatever the settings are: nothing is logged and nothing has
 * to be set up. 0 until the first call. */
extern uint64_t hx__blas_forwards_below[HX__BLAS_ROUTINES];

/* Whether the call is forwarded at once: the only test that small calls pay for. */
static inline bool hx__blas_forwards(hx__blas_routine routine, uint64_t units) {
  return units < __atomic_load_n(&hx__blas_forwards_below[routine], __ATOMIC_RELAXED);
}

/* Begins any other call: reads the settings and opens the context if this is the first one. */
void hx__blas_call_begin(hx__blas_call *call, hx__blas_routine routine, uint64_t units);

/* Has hx do a part of the call. False if it has not, and then nothing has been written. */
bool hx__blas_offload(hx__blas_call *call, const hx_task *task);

/* Writes the line of the call: the text, the time, and what computed it. covered: the routine of the covered BLAS that
 * it was forwarded to, if not by_hx. */
void hx__blas_call_log(const hx__blas_call *call, const char *covered, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

/* a*b*c, or the largest number if that is larger. */
static inline uint64_t hx__blas_units(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t units;
  return __builtin_mul_overflow(a * b, c, &units) ? UINT64_MAX : units; /* a, b: below 2^31 */
}

#endif
