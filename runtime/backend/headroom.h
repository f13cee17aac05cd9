/* SPDX-License-Identifier: Apache-2.0
 * Whether drivers would find what they cannot do without. */
#ifndef HX_BACKEND_HEADROOM_H
#define HX_BACKEND_HEADROOM_H

/* NULL, or what is missing: without it drivers, or the compilers in them, would end the process or never return. */
const char *hx__driver_headroom_missing(void);

#endif
