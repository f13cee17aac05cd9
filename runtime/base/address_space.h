/* SPDX-License-Identifier: Apache-2.0
 * Whether there is enough address space for another library that cannot handle a failing allocation. */
#ifndef HX_BASE_ADDRESS_SPACE_H
#define HX_BASE_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether `bytes` of address space can be mapped now. RLIMIT_AS, RLIMIT_DATA and strict overcommit limit it. */
bool hx__address_space_available(size_t bytes);

#endif
