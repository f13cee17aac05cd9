/* SPDX-License-Identifier: Apache-2.0
 * The state of a work-group and its waves, and how instructions reach it. Every access to a register goes through these
 * functions, which find what hardware gets wrong and execution in order would hide: a register that was never written,
 * or that a load has yet to write. */
#ifndef HX_TESTS_EMULATOR_MACHINE_H
#define HX_TESTS_EMULATOR_MACHINE_H

#include <setjmp.h>

#include "tests/emulator/memory.h"
#include "tests/emulator/program.h"

enum { WAVES = 16, LOCAL_BYTES = 65536, FLIGHTS = 256 };

/* What s_waitcnt counts. Before GFX10 stores count as VM. */
typedef enum counter { COUNTER_VM, COUNTER_LGKM, COUNTER_EXP, COUNTER_VS, COUNTERS } counter;

/* An access to memory that may not have ended: it ends when s_waitcnt says so, and no earlier. */
typedef struct flight {
  bool vector;           /* the registers it writes */
  uint16_t first, count; /* 0: a store */
  bool any_order;        /* may end before those issued before it (scalar loads) */
  bool local;
} flight;

typedef struct wave {
  struct group *group;
  unsigned number, lanes, at; /* at: the next instruction */
  bool ended, waits;          /* waits: at the barrier before `at` */
  uint32_t v[VECTOR_REGISTERS][LANES], s[SCALAR_REGISTERS];
  uint64_t v_defined[VECTOR_REGISTERS]; /* a bit a lane */
  bool s_defined[SCALAR_REGISTERS];
  unsigned char v_pending[VECTOR_REGISTERS], s_pending[SCALAR_REGISTERS]; /* loads in flight */
  uint64_t v_issued[VECTOR_REGISTERS], exec_issued; /* when a vector instruction last wrote it, in wait states */
  uint64_t issued;
  bool scc, scc_defined;
  flight flights[COUNTERS][FLIGHTS];
  unsigned in_flight[COUNTERS];
  const instruction *now;
  bool defers; /* the first of a pair: its result is written after the other has read */
  uint32_t deferred[LANES];
  uint64_t deferred_defined;
  int deferred_register;
} wave;

/* Who accessed a word of local memory since the last barrier. */
typedef struct local_use {
  uint32_t interval, readers; /* a bit a wave */
  int writer;                 /* -1: none */
} local_use;

typedef struct group {
  const program *program;
  const kernel *kernel;
  memory *memory;
  uint32_t number, id[3]; /* number: from 1 on */
  unsigned wave_count;
  wave waves[WAVES];
  uint32_t interval;
  uint32_t local[LOCAL_BYTES / 4];
  bool local_written[LOCAL_BYTES / 4];
  local_use local_uses[LOCAL_BYTES / 4];
  jmp_buf failed;
  char *why;
  size_t why_bytes;
} group;

/* Ends the launch: what is wrong with the instruction that the wave executes. */
_Noreturn void fault(wave *wave, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The active lanes, and all of them. */
uint64_t active(const wave *wave);
uint64_t all_lanes(const wave *wave);

/* Word `part` of an operand in every lane; `buffer` is used where the operand is not in lanes. Clears those lanes of
 * *defined in which it was never written. */
const uint32_t *read_lanes(wave *wave, unsigned operand, unsigned part, uint32_t *buffer, uint64_t *defined);
/* The same, and a fault unless it was written in all active lanes. */
const uint32_t *need_lanes(wave *wave, unsigned operand, unsigned part, uint32_t *buffer);
/* A fault unless the active lanes are among these. */
void need_defined(wave *wave, uint64_t defined);
/* Into the active lanes. */
void write_lanes(wave *wave, unsigned operand, unsigned part, const uint32_t *values, uint64_t defined);
void write_deferred(wave *wave);

uint32_t read_scalar(wave *wave, unsigned operand, unsigned part);
uint64_t read_scalar64(wave *wave, unsigned operand);
void write_scalar(wave *wave, unsigned operand, unsigned part, uint32_t value);
/* A bit a lane: a register, or two where a wave has 64 lanes. */
uint64_t read_mask(wave *wave, unsigned operand);
void write_mask(wave *wave, unsigned operand, uint64_t mask);
uint64_t read_register_mask(wave *wave, unsigned first);
void write_register_mask(wave *wave, unsigned first, uint64_t mask);

/* A load's result, word by word: it is pending from now on. Lanes: a vector register's. */
void load_lane(wave *wave, unsigned operand, unsigned part, unsigned lane, uint32_t value);
void load_scalar(wave *wave, unsigned operand, unsigned part, uint32_t value, bool defined);
/* The access was issued. A load's operand becomes pending; ANY: a store. */
void take_off(wave *wave, counter counter, int operand, bool any_order, bool local);
/* All but the last `left` accesses have ended, as far as their order is known. */
void wait_for(wave *wave, counter counter, unsigned left);
bool local_in_flight(const wave *wave);

#endif
