/* SPDX-License-Identifier: Apache-2.0
 * A contestant in a process of its own: hx, or another library with one core type, which is selected while the library
 * is loaded. All processes are stopped except the one that handles a request, so that spinning threads of others do not
 * use the cores. Each process makes its own arrays, whose contents depend on the task alone. */
#ifndef HX_BENCH_PROCESS_H
#define HX_BENCH_PROCESS_H

#include <sys/types.h>

#include "bench/peers.h"

typedef enum bench_ask {
  BENCH_ASK_TASK = 1, /* make the arrays, verify the result, and time a few calls */
  BENCH_ASK_SAMPLE,   /* make `calls` calls; the reply is the seconds per call */
  BENCH_ASK_CEILING,  /* do the ceiling's work `calls` times; the reply is the rate (hx only) */
  BENCH_ASK_DONE      /* free the arrays */
} bench_ask;

typedef enum bench_answer {
  BENCH_READY = 1,
  BENCH_ABSENT, /* the library is not installed */
  BENCH_UNABLE, /* the library has no function for the task */
  BENCH_WRONG,  /* the result is wrong */
  BENCH_BROKEN  /* there is no memory, or hx returned an error */
} bench_answer;

typedef struct bench_request {
  bench_ask ask;
  bench_task task;
  unsigned calls;
} bench_request;

typedef struct bench_reply {
  bench_answer answer;
  double value;            /* TASK, SAMPLE: seconds; CEILING: rate */
  double ceiling_s;        /* TASK: seconds of doing the ceiling's work once */
  uint64_t bits;           /* TASK: hash of the result */
  char file[64], core[32]; /* in the first reply, which is sent without a request: what was loaded */
} bench_reply;

typedef struct bench_process {
  const bench_peer *peer; /* NULL: hx */
  const char *asked;      /* the selected core type; NULL: as installed */
  char file[64], core[32];
  pid_t pid;
  int fd;
} bench_process;

/* Starts the process. Returns BENCH_READY, BENCH_ABSENT, or BENCH_BROKEN after printing one sentence to stderr. */
bench_answer bench_process_start(bench_process *process, const bench_peer *peer, const char *core);
/* Sends a request and returns the answer. If the process has ended, prints one sentence to stderr and returns
 * BENCH_BROKEN. */
bench_answer bench_process_ask(bench_process *process, const bench_request *request, bench_reply *reply);
void bench_process_end(bench_process *process);

int bench_cmd_contestant(const bench_options *options); /* the main function of the process */

#endif
