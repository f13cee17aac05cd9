/* SPDX-License-Identifier: Apache-2.0
 * Other libraries for the same work, loaded at run time where they are installed: nothing is linked, no header of
 * theirs is needed. One row a library, one a function (peers.c). */
#ifndef HX_BENCH_PEERS_H
#define HX_BENCH_PEERS_H

#include "bench/subject.h"

/* Kernels that a library takes by an environment variable, read while it is loaded. */
typedef struct bench_core {
  const char *name;
  bool (*runs)(void); /* on this CPU */
} bench_core;

#define BENCH_MOST_CORES 5

typedef struct bench_peer {
  const char *name;
  const char *files[4];      /* to look for, in this order; NULL ends */
  const char *root_variable; /* names the folder that it was installed to; or NULL */
  const char *core_variable; /* NULL: it cannot be told */
  bench_core cores[BENCH_MOST_CORES];
  void (*choose)(void *library, const char *core); /* where loading is not all of it; or NULL */
  const char *threads_symbol;
  void (*set_threads)(void *symbol, unsigned threads);
  const char *(*core)(void *library); /* the one in use; NULL: it does not say */
} bench_peer;

/* Does the subject's task, its result into subject->out or subject->c. */
typedef void bench_peer_fn(void *symbol, bench_subject *subject);

typedef struct bench_peer_call {
  bench_peer_fn *call;
  void *symbol;
} bench_peer_call;

const bench_peer *bench_peer_named(const char *name, size_t length); /* NULL: unknown */
/* The library and in file what was loaded; NULL: it is not installed. It stays loaded. */
void *bench_peer_load(const bench_peer *peer, unsigned threads, char *file, size_t bytes);
/* False: this library does nothing of the kind. */
bool bench_peer_find(const bench_peer *peer, void *library, const bench_subject *subject, bench_peer_call *call);
/* Whether the result is near enough for another order of the same arithmetic. */
bool bench_peer_near(const bench_subject *subject);

#endif
