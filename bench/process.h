/* SPDX-License-Identifier: Apache-2.0
 * A contestant in a process of its own: hx, or another library with one choice of kernels, which it makes while it is
 * loaded. Processes are stopped but for the one that is asked something, so that no waiting threads take the
 * cores from the one that is timed. Each makes its own arrays, which are functions of the task alone. */
#ifndef HX_BENCH_PROCESS_H
#define HX_BENCH_PROCESS_H

#include <sys/types.h>

#include "bench/peers.h"

typedef enum bench_ask {
  BENCH_ASK_TASK = 1, /* make the arrays, verify, time a few calls */
  BENCH_ASK_SAMPLE,   /* seconds of one of `calls` calls */
  BENCH_ASK_CEILING,  /* the rate of `calls` times the ceiling's work (hx alone) */
  BENCH_ASK_DONE      /* free the arrays */
} bench_ask;

typedef enum bench_answer {
  BENCH_READY = 1,
  BENCH_ABSENT, /* the library is not installed */
  BENCH_UNABLE, /* it does nothing of the kind */
  BENCH_WRONG,  /* the result is not right */
  BENCH_BROKEN  /* no memory, or hx refused */
} bench_answer;

typedef struct bench_request {
  bench_ask ask;
  bench_task task;
  unsigned calls;
} bench_request;

typedef struct bench_reply {
  bench_answer answer;
  double value;            /* TASK, SAMPLE: seconds; CEILING: rate */
  double ceiling_s;        /* TASK: seconds of the ceiling's work once */
  uint64_t bits;           /* TASK */
  char file[64], core[32]; /* the first, which no request asks for: what was loaded */
} bench_reply;

typedef struct bench_process {
  const bench_peer *peer; /* NULL: hx */
  const char *asked;      /* core type; NULL: as installed */
  char file[64], core[32];
  pid_t pid;
  int fd;
} bench_process;

/* Starts it. BENCH_READY, BENCH_ABSENT, or BENCH_BROKEN after one sentence to stderr. */
bench_answer bench_process_start(bench_process *process, const bench_peer *peer, const char *core);
/* BENCH_BROKEN after one sentence to stderr if the process is gone. */
bench_answer bench_process_ask(bench_process *process, const bench_request *request, bench_reply *reply);
void bench_process_end(bench_process *process);

int bench_cmd_contestant(const bench_options *options); /* the process itself */

#endif
