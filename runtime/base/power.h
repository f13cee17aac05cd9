/* SPDX-License-Identifier: Apache-2.0
 * What the machine is fed from: rates differ between mains and battery. */
#ifndef HX_BASE_POWER_H
#define HX_BASE_POWER_H

typedef enum hx__power { HX__POWER_MAINS, HX__POWER_BATTERY } hx__power;

/* As it was found ten seconds ago or later; HX__POWER_MAINS where it cannot be told. The first call waits 20 ms for it
 * at most, later ones do not wait. */
hx__power hx__power_source(void);
/* As it is now, by a folder laid out like /sys/class/power_supply. */
hx__power hx__power_by(const char *folder);

/* A folder that is laid out like /sys/class/power_supply. */
extern const char *hx__power_folder;

#endif
