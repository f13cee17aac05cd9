/* SPDX-License-Identifier: Apache-2.0
 * Describes what results depend on besides hx: the machine, its load and the environment. Host and user names are left
 * out. */
#ifndef HX_BENCH_SYSTEM_H
#define HX_BENCH_SYSTEM_H

#include "bench/bench.h"

void bench_system_start(void); /* reads the load average before this program adds to it */
bool bench_system_busy(void);  /* whether other programs used the machine at the start */
/* Whether NAME=VALUE is a variable that affects hx, OpenCL or measurements. */
bool bench_system_records(const char *variable);
void bench_print_system(const bench_session *session);
void bench_system_json(const bench_session *session); /* writes a member of the JSON document */

#endif
