/* SPDX-License-Identifier: Apache-2.0
 * Checks that the process has the resources that drivers need. */
#ifndef HX_BACKEND_HEADROOM_H
#define HX_BACKEND_HEADROOM_H

/* What is missing, as a sentence, or NULL. Without it drivers, or the compilers in them, end the process or never
 * return. */
const char *hx__driver_headroom_missing(void);

#endif
