/* SPDX-License-Identifier: Apache-2.0
 * The machine's power source: rates differ between mains and battery. */
#ifndef HX_BASE_POWER_H
#define HX_BASE_POWER_H

typedef enum hx__power { HX__POWER_MAINS, HX__POWER_BATTERY } hx__power;

/* The power source when it was last read; HX__POWER_MAINS if it is unknown. If that was more than ten seconds ago, it
 * is read again in the background. Only the first call waits for the reading, for at most 20 ms. */
hx__power hx__power_source(void);
/* The power source now, from a folder laid out like /sys/class/power_supply. */
hx__power hx__power_by(const char *folder);

/* A folder that is laid out like /sys/class/power_supply. */
extern const char *hx__power_folder;

#endif
