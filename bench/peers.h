/* SPDX-License-Identifier: Apache-2.0
 * Other libraries for the same tasks. They are loaded at run time if they are installed: nothing is linked and none of
 * their headers is needed. One table in peers.c has all of them, and one function loads them. */
#ifndef HX_BENCH_PEERS_H
#define HX_BENCH_PEERS_H

#include "bench/subject.h"

/* A core type: kernels that a library selects by an environment variable, which it reads while it is loaded. */
typedef struct bench_core {
  const char *name;
  bool (*runs)(void); /* whether this CPU can run them */
} bench_core;

#define BENCH_MOST_CORES 5

typedef struct bench_peer {
  const char *name;
  const char *files[4];      /* names to try in this order, NULL-terminated */
  const char *root_variable; /* variable with the installation folder, or NULL */
  bool compared;             /* --vs accepts it */
  const char *core_variable; /* variable that selects the core type; NULL: the core type cannot be selected */
  bench_core cores[BENCH_MOST_CORES];
  void (*choose)(void *library, const char *core); /* selects the core type after loading; NULL: loading has done so */
  const char *threads_symbol;                      /* function that sets the number of threads; NULL: none */
  void (*set_threads)(void *symbol, unsigned threads);
  const char *(*core)(void *library); /* returns the core type in use; NULL: it cannot be queried */
} bench_peer;

/* A function of a library, and the offset of its pointer in a struct of pointers. */
typedef struct bench_symbol {
  const char *name;
  size_t offset;
} bench_symbol;

/* Does the subject's task and stores the result in subject->out or subject->c. */
typedef void bench_peer_fn(void *symbol, bench_subject *subject);

typedef struct bench_peer_call {
  bench_peer_fn *call;
  void *symbol;
} bench_peer_call;

const bench_peer *bench_peer_named(const char *name, size_t length); /* a library that --vs accepts; NULL: unknown */
/* Loads the library and writes the name of its file to text. NULL: text says that it is not installed. The library is
 * never unloaded. */
void *bench_peer_load(const bench_peer *peer, unsigned threads, char *text, size_t bytes);
/* Loads the library of this name and fills the struct of pointers. Returns false if something is missing, which text
 * names. */
bool bench_peer_open(const char *name, unsigned threads, const bench_symbol *symbols, size_t count, void *functions,
                     char *text, size_t bytes);
/* Fills the struct of pointers from a loaded library. Returns NULL, or the first missing symbol. */
const char *bench_peer_resolve(void *library, const bench_symbol *symbols, size_t count, void *functions);
/* Returns false if the library has no function for the task. */
bool bench_peer_find(const bench_peer *peer, void *library, const bench_subject *subject, bench_peer_call *call);
/* Whether the result is within the bound for the same arithmetic in another order. */
bool bench_peer_near(const bench_subject *subject);

#endif
