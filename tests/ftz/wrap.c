/* SPDX-License-Identifier: Apache-2.0
 * The conformance test in a process that flushes denormals, as -ffast-math at link time has it: the calls by which hx
 * starts its threads and drivers are wrapped (-Wl,--wrap), so that they see FTZ and DAZ while the definition, which the
 * results are compared with, does not. x86-64 only. */
#include <stdio.h>
#include <stdlib.h>
#include <xmmintrin.h>

#include "runtime/hx.h"

enum { FTZ_AND_DAZ = 0x8040 };

hx_status __real_hx_open(hx_context **out, const hx_settings *settings);
hx_status __wrap_hx_open(hx_context **out, const hx_settings *settings);
hx_status __real_hx_ready(hx_context *hx);
hx_status __wrap_hx_ready(hx_context *hx);

static unsigned enter_ftz(void) {
  unsigned was = _mm_getcsr();
  _mm_setcsr(was | FTZ_AND_DAZ);
  return was;
}

static hx_status leave_ftz(hx_status s, const char *call, unsigned was) {
  if ((_mm_getcsr() & FTZ_AND_DAZ) != FTZ_AND_DAZ) {
    printf("FAILED %s changed the caller's floating-point state\n", call);
    exit(1);
  }
  _mm_setcsr(was);
  return s;
}

hx_status __wrap_hx_open(hx_context **out, const hx_settings *settings) {
  unsigned was = enter_ftz();
  return leave_ftz(__real_hx_open(out, settings), "hx_open", was);
}

hx_status __wrap_hx_ready(hx_context *hx) {
  unsigned was = enter_ftz();
  return leave_ftz(__real_hx_ready(hx), "hx_ready", was);
}
