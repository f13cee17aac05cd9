/* SPDX-License-Identifier: Apache-2.0
 * What a result depends on beside hx: the machine, its load, the environment. No host name, no user name. */
#ifndef HX_BENCH_SYSTEM_H
#define HX_BENCH_SYSTEM_H

#include "bench/bench.h"

void bench_system_start(void); /* takes the load average, before this program adds to it */
bool bench_system_busy(void);  /* other programs were, at the start */
void bench_print_system(const bench_session *session);
void bench_system_json(const bench_session *session); /* a member of the JSON document */

#endif
