/* SPDX-License-Identifier: Apache-2.0
 * How long a process had work to do and no core to do it on. A call's time limit does not count that, so that a busy
 * machine does not make calls time out. */
#ifndef HX_TESTS_FAULTS_STARVED_H
#define HX_TESTS_FAULTS_STARVED_H

#include <stdint.h>
#include <sys/types.h>

enum { STARVED_THREADS = 64 };

typedef struct starved {
  pid_t pid, thread[STARVED_THREADS];
  int64_t delay_ns[STARVED_THREADS], ran_ns[STARVED_THREADS]; /* values of each thread when last read */
  int threads;
  int64_t read_ns, total_ns;
} starved;

/* Starts to measure this process. */
void starved_begin(starved *s, pid_t pid, int64_t now_ns);

/* The time since starved_begin in which some thread waited for a core. Has to be called every few milliseconds. If
 * several threads wait at the same time, the one that waits longest counts. */
int64_t starved_ns(starved *s, int64_t now_ns);

#endif
