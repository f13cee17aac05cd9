/* SPDX-License-Identifier: Apache-2.0
 * Global memory: see memory.h. */
#include "tests/emulator/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char why[160];

static void *allocate(size_t bytes) {
  void *const p = calloc(bytes ? bytes : 1, 1);
  if (p) return p;
  fprintf(stderr, "emulate: no memory\n");
  exit(2);
}

uint64_t memory_add(memory *memory, const char *name, void *words, size_t count, bool filled, bool constant) {
  if (memory->count == MEMORY_RANGES) {
    fprintf(stderr, "emulate: more than %d ranges\n", MEMORY_RANGES);
    exit(2);
  }
  memory_range *const range = &memory->ranges[memory->count];
  *range = (memory_range){.name = name,
                          .address = (uint64_t)(memory->count + 1) << 40 |
                                     0xffffff00u, /* so that additions to the low word carry into the high word */
                          .bytes = words,
                          .written = allocate(count * 4),
                          .writer = allocate(count * 4),
                          .size = count * 4,
                          .constant = constant};
  memset(range->written, filled, range->size);
  memory->count++;
  return range->address;
}

/* Ranges are a tebibyte apart, and none is as large as half of that. */
static memory_range *range_near(memory *memory, uint64_t address) {
  const uint64_t i = address >> 40;
  return i >= 1 && i <= memory->count ? &memory->ranges[i - 1] : NULL;
}

void memory_forget(memory *memory, uint64_t address, size_t first, size_t count) {
  memset(range_near(memory, address)->written + 4 * first, 0, 4 * count);
}

bool memory_is_written(const memory *memory, uint64_t address, size_t first, size_t count) {
  const memory_range *const range = &memory->ranges[(address >> 40) - 1];
  for (size_t i = 4 * first; i < 4 * (first + count); i++)
    if (!range->written[i]) return false;
  return true;
}

void memory_begin_launch(memory *memory) {
  for (unsigned i = 0; i < memory->count; i++) memset(memory->ranges[i].writer, 0, memory->ranges[i].size);
}

/* Finds the range of an access. Returns NULL, and describes the fault in `why`, if there is none. */
static memory_range *place(memory *memory, uint64_t address, size_t bytes, const char *verb, size_t *at) {
  memory_range *const range = range_near(memory, address);
  if (address % 4 != 0) {
    snprintf(why, sizeof why, "%s %zu bytes at the unaligned address 0x%llx", verb, bytes, (unsigned long long)address);
    return NULL;
  }
  if (!range || address < range->address || address - range->address > range->size ||
      bytes > range->size - (address - range->address)) {
    snprintf(why, sizeof why, "%s %zu bytes out of bounds at 0x%llx%s%s", verb, bytes, (unsigned long long)address,
             range ? ", near " : "", range ? range->name : "");
    return NULL;
  }
  *at = address - range->address;
  return range;
}

const char *memory_read(memory *memory, uint64_t address, void *to, size_t bytes, uint32_t group, bool *known) {
  size_t at;
  const memory_range *const range = place(memory, address, bytes, "reads", &at);
  if (!range) return why;
  for (size_t i = at; i < at + bytes; i++) {
    if (known) known[(i - at) / 4] = ((i - at) % 4 == 0 || known[(i - at) / 4]) && range->written[i];
    if (!range->written[i] && !known) {
      snprintf(why, sizeof why, "reads byte %zu of %s, which was never written", i, range->name);
      return why;
    }
    if (range->writer[i / 4] != 0 && range->writer[i / 4] != group) {
      snprintf(why, sizeof why, "reads byte %zu of %s, which another work-group wrote", i, range->name);
      return why;
    }
  }
  memcpy(to, range->bytes + at, bytes);
  return NULL;
}

const char *memory_write(memory *memory, uint64_t address, const void *from, size_t bytes, uint32_t group) {
  size_t at;
  memory_range *const range = place(memory, address, bytes, "writes", &at);
  if (!range) return why;
  if (range->constant) {
    snprintf(why, sizeof why, "writes %s, which is constant", range->name);
    return why;
  }
  for (size_t i = at / 4; i < (at + bytes) / 4; i++) {
    if (range->writer[i] != 0 && range->writer[i] != group) {
      snprintf(why, sizeof why, "writes word %zu of %s, which another work-group wrote", i, range->name);
      return why;
    }
    range->writer[i] = group;
  }
  memset(range->written + at, 1, bytes);
  memcpy(range->bytes + at, from, bytes);
  return NULL;
}

const char *memory_atomic(memory *memory, uint64_t address, atomic_kind kind, uint32_t *value) {
  size_t at;
  memory_range *const range = place(memory, address, 4, "changes", &at);
  if (!range) return why;
  uint32_t *const writer = &range->writer[at / 4], old = 0xdeadbeef;
  const bool written = range->written[at] && range->written[at + 3];
  if (range->constant || (*writer != 0 && *writer != BY_ATOMICS) || (!written && kind != ATOMIC_SWAP)) {
    snprintf(why, sizeof why, "changes byte %zu of %s, which %s", at, range->name,
             range->constant ? "is constant"
             : written       ? "a work-group wrote without an atomic operation"
                             : "was never written");
    return why;
  }
  if (written) memcpy(&old, range->bytes + at, sizeof old);
  const uint32_t changed = kind == ATOMIC_SWAP ? *value : kind == ATOMIC_ADD ? old + *value : old | *value;
  memcpy(range->bytes + at, &changed, sizeof changed);
  memset(range->written + at, 1, sizeof changed);
  *writer = BY_ATOMICS;
  *value = old;
  return NULL;
}

void memory_free(memory *memory) {
  for (unsigned i = 0; i < memory->count; i++) {
    free(memory->ranges[i].written);
    free(memory->ranges[i].writer);
  }
  memory->count = 0;
}
