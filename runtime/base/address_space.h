/* SPDX-License-Identifier: Apache-2.0
 * Whether there is room for what another library will ask for and cannot do without. */
#ifndef HX_BASE_ROOM_H
#define HX_BASE_ROOM_H

#include <stdbool.h>
#include <stddef.h>

/* Whether so many bytes of address space can be had now: RLIMIT_AS, RLIMIT_DATA and strict overcommit limit it. */
bool hx__address_space_available(size_t bytes);

#endif
