/* SPDX-License-Identifier: Apache-2.0
 * A subcommand that runs in a process of its own, for at most some time: a driver that crashes or hangs costs its part
 * of a long run and no other. */
#ifndef HX_BENCH_PART_H
#define HX_BENCH_PART_H

#include <stdbool.h>
#include <stddef.h>

#define BENCH_PART_ARGUMENTS 16

typedef struct bench_part_result {
  char *document; /* the JSON document, the caller's to free; NULL: it was not completed */
  int status;     /* the exit status; -1: it was ended by a signal, or could not be started */
  bool timed_out; /* it reached its limit */
  double seconds;
} bench_part_result;

/* Called about once a second while the part runs. */
typedef void bench_part_tick(void *self, double seconds);

/* Runs hx-bench with these arguments, which a NULL ends, and reads the document that it writes to its standard output.
 * At the limit it is asked to stop, which leaves a document of what it has measured, and some seconds later ended. */
void bench_part_run(const char *const *arguments, double limit, bench_part_tick *tick, void *self,
                    bench_part_result *result);

#endif
