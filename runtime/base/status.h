/* SPDX-License-Identifier: Apache-2.0
 * Status codes, and the sentence that explains a failure. */
#ifndef HX_BASE_STATUS_H
#define HX_BASE_STATUS_H

#include <stdarg.h>

#include "runtime/hx.h"

/* Every status once: the enumeration of hx.h is checked against it. */
#define HX__STATUS_MAP(XX)   \
  XX(HX_OK, 0)               \
  XX(HX_INVALID_ARGUMENT, 1) \
  XX(HX_INVALID_CONFIG, 2) XX(HX_OUT_OF_MEMORY, 3) XX(HX_UNSUPPORTED, 4) XX(HX_DEVICE_FAILED, 5) XX(HX_INTERNAL, 6)

#define HX__DETAIL_BYTES 1024 /* for the sentence on a thread's last failure; a longer one is cut and ends in "..." */

/* Sets this thread's detail and returns s: `return hx__fail(HX_INVALID_ARGUMENT, "n is %zu ...", n);` */
hx_status hx__fail(hx_status s, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

/* Sets this thread's detail to that of another thread (hx_wait). */
void hx__set_detail(const char *detail);

#endif
