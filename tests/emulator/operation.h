/* SPDX-License-Identifier: Apache-2.0
 * The operations of the emulator, by mnemonic. Suffixes of encodings (_e32, _e64, _dpp) are not part of a name. The
 * tables have the names of GFX11 and the older ones. */
#ifndef HX_TESTS_EMULATOR_OPERATION_H
#define HX_TESTS_EMULATOR_OPERATION_H

#include "tests/emulator/machine.h"

typedef void lanes_function(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c, unsigned lanes);
typedef uint64_t scalar_function(uint64_t a, uint64_t b, bool *scc);

/* Bits of `how` for vector instructions. */
enum {
  HOW_COPIES = 1,      /* may read what was never written: the result then counts as not written */
  HOW_ACCUMULATES = 2, /* the destination is also the third source */
  HOW_CARRY_IN = 4,
  HOW_REVERSED = 8,
  HOW_SUBTRACTS = 16,
  HOW_SIGNED = 32
};

/* Bits of `how` for scalar instructions. */
enum { HOW_WIDE = 1, HOW_SETS_SCC = 2, HOW_READS_SCC = 4, HOW_NO_RESULT = 8, HOW_ADDS_TO = 16 };

/* The outcomes of a comparison for which it is true. */
enum { LESS = 1, EQUAL = 2, GREATER = 4, UNORDERED = 8 };

typedef struct operation {
  const char *name;
  void (*run)(wave *wave, const instruction *at);
  unsigned how; /* the bits above, a number of words, or the condition of a branch */
  lanes_function *lanes;
  scalar_function *scalar;
  unsigned true_if; /* comparisons */
  char type[4];
  bool changes_exec;
  bool no_operands; /* its operands are hints or counters, which are not decoded as operands */
} operation;

/* Returns the operation, or NULL if the mnemonic is unknown. */
const operation *operation_find(const char *mnemonic);

/* The tables of the source files. Each ends with a row whose name is NULL. */
extern const operation vector_operations[], vector_more_operations[], scalar_operations[], control_operations[],
    memory_operations[];

void run_compare(wave *wave, const instruction *at);
void run_scalar_compare(wave *wave, const instruction *at);

#endif
