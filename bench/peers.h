/* SPDX-License-Identifier: Apache-2.0
 * Other libraries for the same work, loaded at run time if they are installed: nothing is linked, no header of
 * theirs is needed. One table has all of them, and one function loads them (peers.c). */
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
  bool compared;             /* by --vs */
  const char *core_variable; /* NULL: its kernels cannot be chosen */
  bench_core cores[BENCH_MOST_CORES];
  void (*choose)(void *library, const char *core); /* if loading does not choose; or NULL */
  const char *threads_symbol;                      /* NULL: it has no threads of its own */
  void (*set_threads)(void *symbol, unsigned threads);
  const char *(*core)(void *library); /* the one in use; NULL: it does not say */
} bench_peer;

/* A function of a library, and where its address goes in a struct of pointers. */
typedef struct bench_symbol {
  const char *name;
  size_t offset;
} bench_symbol;

/* Does the subject's task, its result into subject->out or subject->c. */
typedef void bench_peer_fn(void *symbol, bench_subject *subject);

typedef struct bench_peer_call {
  bench_peer_fn *call;
  void *symbol;
} bench_peer_call;

const bench_peer *bench_peer_named(const char *name, size_t length); /* one that --vs takes; NULL: unknown */
/* The library, and in text the file that was loaded. NULL: text says that it is not installed. It stays loaded. */
void *bench_peer_load(const bench_peer *peer, unsigned threads, char *text, size_t bytes);
/* Loads the library of this name and fills the struct of pointers. False: text says what is missing. */
bool bench_peer_open(const char *name, unsigned threads, const bench_symbol *symbols, size_t count, void *functions,
                     char *text, size_t bytes);
/* Fills the struct from a library that is loaded. Returns the symbol that it lacks, or NULL. */
const char *bench_peer_resolve(void *library, const bench_symbol *symbols, size_t count, void *functions);
/* False: this library does nothing of the kind. */
bool bench_peer_find(const bench_peer *peer, void *library, const bench_subject *subject, bench_peer_call *call);
/* Whether the result is near enough for another order of the same arithmetic. */
bool bench_peer_near(const bench_subject *subject);

#endif
