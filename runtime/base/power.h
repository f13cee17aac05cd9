/* SPDX-License-Identifier: Apache-2.0
 * What the machine is fed from: rates differ between mains and battery. */
#ifndef HX_BASE_POWER_H
#define HX_BASE_POWER_H

typedef enum hx__power { HX__POWER_MAINS, HX__POWER_BATTERY } hx__power;

/* As it was at most ten seconds ago; HX__POWER_MAINS where it cannot be told. */
hx__power hx__power_source(void);

#endif
