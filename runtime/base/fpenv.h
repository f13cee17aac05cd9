/* SPDX-License-Identifier: Apache-2.0
 * The floating-point state in which hx's arithmetic is defined: round to nearest even, denormals kept, no traps. A
 * caller may have set FTZ, DAZ or another rounding mode (linking with -ffast-math does so at program start). That state
 * is restored, with the exception flags as they were: computations of hx raise none of them. */
#ifndef HX_BASE_FPENV_H
#define HX_BASE_FPENV_H

#if defined(__SSE2__)
#include <xmmintrin.h>
typedef unsigned hx__fpenv;
#define HX__FPENV_CANONICAL 0x1f80u /* MXCSR, Intel SDM vol. 1 section 10.2.3 */
#define HX__FPENV_FLAGS 0x3fu       /* sticky exception flags: not a mode */

static inline hx__fpenv hx__fpenv_enter(void) { /* writes only if the state differs, because a write takes 3 ns longer
                                                 * than the read */
  hx__fpenv was = _mm_getcsr();
  if (__builtin_expect((was & ~HX__FPENV_FLAGS) != HX__FPENV_CANONICAL, 0)) _mm_setcsr(HX__FPENV_CANONICAL);
  return was;
}
static inline void hx__fpenv_leave(hx__fpenv was) {
  if (__builtin_expect(_mm_getcsr() != was, 0)) _mm_setcsr(was);
}
#elif defined(__aarch64__)
/* FPCR: 0 is round to nearest, no flush, no traps (Arm ARM C5.2.8). Never run. */
typedef struct hx__fpenv {
  unsigned long mode, flags; /* FPCR, FPSR */
} hx__fpenv;

static inline hx__fpenv hx__fpenv_enter(void) {
  hx__fpenv was;
  __asm__ volatile("mrs %0, fpcr" : "=r"(was.mode));
  __asm__ volatile("mrs %0, fpsr" : "=r"(was.flags));
  if (was.mode) __asm__ volatile("msr fpcr, %0" ::"r"(0ul));
  return was;
}
static inline void hx__fpenv_leave(hx__fpenv was) {
  unsigned long flags;
  __asm__ volatile("mrs %0, fpsr" : "=r"(flags));
  if (flags != was.flags) __asm__ volatile("msr fpsr, %0" ::"r"(was.flags));
  if (was.mode) __asm__ volatile("msr fpcr, %0" ::"r"(was.mode));
}
#else
#error "hx runs on x86-64 and, untested, on AArch64"
#endif
#endif
