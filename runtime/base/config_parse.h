/* SPDX-License-Identifier: Apache-2.0
 * The parsers that the rows of config.c name: one for each variable. */
#ifndef HX_BASE_CONFIG_PARSE_H
#define HX_BASE_CONFIG_PARSE_H

#include "runtime/base/config.h"

hx__config_parser hx__parse_devices, hx__parse_split, hx__parse_schedule, hx__parse_chunk, hx__parse_threads,
    hx__parse_tile, hx__parse_memory, hx__parse_min_offload, hx__parse_timeout_ms, hx__parse_cache_dir,
    hx__parse_objective, hx__parse_trace, hx__parse_isa, hx__parse_offload, hx__parse_sim, hx__parse_log;

#endif
