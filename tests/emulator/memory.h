/* SPDX-License-Identifier: Apache-2.0
 * Global memory of the emulated GPU: arrays of the host, each at an address of its own with nothing near it. What lies
 * outside them, what is not aligned, and what was never written is a fault of the program that accesses it; so is a
 * word that another work-group wrote in the same launch, because groups run in any order. */
#ifndef HX_TESTS_EMULATOR_MEMORY_H
#define HX_TESTS_EMULATOR_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MEMORY_RANGES = 16 };

typedef struct memory_range {
  const char *name;
  uint64_t address;
  unsigned char *bytes, *written; /* written: a flag a byte */
  uint32_t *writer;               /* of each word: the group that wrote it in this launch, from 1 on */
  size_t size;
  bool constant;
} memory_range;

typedef struct memory {
  memory_range ranges[MEMORY_RANGES];
  unsigned count;
} memory;

/* A range of words, whose contents the program may read where `filled`. Returns its address. */
uint64_t memory_add(memory *memory, const char *name, void *words, size_t count, bool filled, bool constant);

/* Marks words [first, first + count) of the range at this address as never written. */
void memory_forget(memory *memory, uint64_t address, size_t first, size_t count);

/* Whether every one of these words was written. */
bool memory_is_written(const memory *memory, uint64_t address, size_t first, size_t count);

/* Forgets which group wrote what. */
void memory_begin_launch(memory *memory);

/* One access by a group (from 1 on). Returns NULL, or what is wrong. known: NULL, or of each word whether it was
 * written, which is a fault only without it: scalar loads may take more words than the program wants. */
const char *memory_read(memory *memory, uint64_t address, void *to, size_t bytes, uint32_t group, bool *known);
const char *memory_write(memory *memory, uint64_t address, const void *from, size_t bytes, uint32_t group);

void memory_free(memory *memory);

#endif
