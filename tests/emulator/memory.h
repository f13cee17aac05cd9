/* SPDX-License-Identifier: Apache-2.0
 * Global memory of the emulated GPU: arrays of the host, each at an address far from all others. An access faults if it
 * is outside the arrays or not aligned, if it reads what was never written, or if it reads a word that another
 * work-group wrote in the same launch, because groups run in any order. Only atomic operations may share a word. */
#ifndef HX_TESTS_EMULATOR_MEMORY_H
#define HX_TESTS_EMULATOR_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MEMORY_RANGES = 16 };
#define BY_ATOMICS UINT32_MAX

typedef enum atomic_kind { ATOMIC_SWAP, ATOMIC_ADD, ATOMIC_OR } atomic_kind;

typedef struct memory_range {
  const char *name;
  uint64_t address;
  unsigned char *bytes, *written; /* written: one flag per byte */
  uint32_t *writer; /* for each word: the group that wrote it in this launch, counted from 1, or BY_ATOMICS */
  size_t size;
  bool constant;
} memory_range;

typedef struct memory {
  memory_range ranges[MEMORY_RANGES];
  unsigned count;
} memory;

/* Adds a range of words and returns its address. filled: the words count as written. */
uint64_t memory_add(memory *memory, const char *name, void *words, size_t count, bool filled, bool constant);

/* Marks words [first, first + count) of the range at this address as never written. */
void memory_forget(memory *memory, uint64_t address, size_t first, size_t count);

/* Whether all of these words were written. */
bool memory_is_written(const memory *memory, uint64_t address, size_t first, size_t count);

/* Forgets which groups wrote which words. */
void memory_begin_launch(memory *memory);

/* An access by a group, counted from 1. Returns NULL, or a description of the fault. known: receives for each word
 * whether it was written; then words that were not are no fault, because scalar loads may read more words than the
 * program uses. */
const char *memory_read(memory *memory, uint64_t address, void *to, size_t bytes, uint32_t group, bool *known);
const char *memory_write(memory *memory, uint64_t address, const void *from, size_t bytes, uint32_t group);

/* An atomic operation on one word. *value becomes the word's old value. A swap may find a word never written: then that
 * value is arbitrary. */
const char *memory_atomic(memory *memory, uint64_t address, atomic_kind kind, uint32_t *value);

void memory_free(memory *memory);

#endif
