/* SPDX-License-Identifier: Apache-2.0
 * Checks that the process has the resources that drivers need. */
#ifndef HX_BACKEND_HEADROOM_H
#define HX_BACKEND_HEADROOM_H

/* Returns a sentence that names the missing resource, or NULL. Without these resources drivers, or the compilers in
 * them, crash the process or never return. */
const char *hx__driver_headroom_missing(void);

#endif
