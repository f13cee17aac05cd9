/* SPDX-License-Identifier: Apache-2.0
 * The energy used by the processor, from the RAPL counters of Intel and AMD that Linux shows under powercap. The sum
 * covers the packages (cores, integrated GPU and caches; "core" and "uncore" are parts of a package) and the DRAM of
 * each ("dram", which no package includes). The platform's counter, psys, includes all of these and the screen, disks
 * and radios; it depends on the firmware's sensors and moves by whole joules on some servers, so it is used only if no
 * package can be read. Discrete cards are not included; the energy used by other programs is. */
#ifndef HX_BASE_ENERGY_H
#define HX_BASE_ENERGY_H

/* The counters move about once per millisecond, so ten milliseconds are known to within a tenth. */
#define HX__ENERGY_LEAST_NS 10e6

typedef struct hx__energy hx__energy;

/* Opens the counters in a folder laid out like /sys/class/powercap. Returns NULL if there are none, if one of the
 * packages cannot be read (the sum would be wrong), or if there is no memory. */
hx__energy *hx__energy_open(const char *folder);
void hx__energy_close(hx__energy *energy); /* does nothing if energy is NULL */

/* Joules since the counters were opened. NaN if a counter cannot be read, if none has moved for a second, or if energy
 * is NULL. A counter may wrap around once between two calls. */
double hx__energy_joules(hx__energy *energy);

/* The counters of this machine, which the first call opens from hx__energy_folder. NULL as above, and in a forked
 * child. */
hx__energy *hx__energy_of_process(void);
extern const char *hx__energy_folder;

#endif
