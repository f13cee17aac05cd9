/* SPDX-License-Identifier: Apache-2.0
 * What the processor has drawn, by the RAPL counters that Linux shows under powercap (AMD's stand there too). Counted
 * are the packages (cores, integrated GPU, caches: "core" and "uncore" are parts of them) and the DRAM beside each
 * ("dram", which no package includes). The platform's counter, psys, includes them all and the screen, disks and
 * radios besides, depends on the firmware's sensors and moves by whole joules on some servers: it serves only where no
 * package can be read. So nothing is counted twice. Cards in slots are not in it, and all programs are. */
#ifndef HX_BASE_ENERGY_H
#define HX_BASE_ENERGY_H

/* The counters move about once a millisecond: ten of that are known to a tenth. */
#define HX__ENERGY_LEAST_NS 10e6

typedef struct hx__energy hx__energy;

/* The counters of a folder that is laid out like /sys/class/powercap. NULL: there are none, one of the packages may not
 * be read (the sum would lack it), or there is no memory. */
hx__energy *hx__energy_open(const char *folder);
void hx__energy_close(hx__energy *energy); /* NULL is nothing */

/* Joules since it was opened; NaN where a counter cannot be read now, where none has moved for a second, and where
 * energy is NULL. A counter may start anew once between two calls. */
double hx__energy_joules(hx__energy *energy);

/* The machine's, opened by the first call from hx__energy_folder; NULL as above, and in a forked child. */
hx__energy *hx__energy_of_process(void);
extern const char *hx__energy_folder;

#endif
