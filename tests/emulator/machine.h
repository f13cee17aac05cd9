/* SPDX-License-Identifier: Apache-2.0
 * The state of a work-group and its waves, and how instructions reach it. Every access to a register goes through these
 * functions, which find what hardware gets wrong and execution in order would hide: a register that was never written,
 * or that a load has yet to write. */
#ifndef HX_TESTS_EMULATOR_MACHINE_H
#define HX_TESTS_EMULATOR_MACHINE_H

#include <setjmp.h>

#include "tests/emulator/memory.h"
#include "tests/emulator/program.h"

enum { WAVES = 16, LOCAL_BYTES = 65536, MOST_IN_FLIGHT = 256 };

/* The counters of s_waitcnt. Before GFX10, stores are counted by VM. */
typedef enum counter { COUNTER_VM, COUNTER_LGKM, COUNTER_EXP, COUNTER_VS, COUNTERS } counter;

/* A memory access in flight. It ends only when an s_waitcnt waits for it. */
typedef struct pending_access {
  bool vector;           /* the kind of registers that it writes */
  uint16_t first, count; /* registers that it writes; count 0: it is a store */
  bool any_order;        /* it may end before accesses that were issued earlier (scalar loads) */
  bool local;
} pending_access;

typedef struct wave {
  struct group *group;
  unsigned number, lanes, at; /* at: index of the next instruction */
  bool ended, waits;          /* waits: it is at the barrier before `at` */
  uint32_t v[VECTOR_REGISTERS][LANES], s[SCALAR_REGISTERS];
  uint64_t v_defined[VECTOR_REGISTERS]; /* one bit per lane */
  bool s_defined[SCALAR_REGISTERS];
  unsigned char v_pending[VECTOR_REGISTERS],
      s_pending[SCALAR_REGISTERS];                  /* how many loads in flight write each register */
  uint64_t v_issued[VECTOR_REGISTERS], exec_issued; /* wait states at which a vector instruction last wrote each */
  uint64_t issued;
  bool scc, scc_defined;
  pending_access accesses[COUNTERS][MOST_IN_FLIGHT];
  unsigned in_flight[COUNTERS];
  const instruction *now;
  bool defers; /* the current instruction is the first of a dual-issue pair: its result is written after the second one
                  has read its operands */
  uint32_t deferred[LANES];
  uint64_t deferred_defined;
  int deferred_register;
} wave;

/* The waves that accessed a word of local memory since the last barrier. */
typedef struct local_use {
  uint32_t interval, readers; /* interval: number of the last barrier; readers: one bit per wave */
  int writer;                 /* number of the wave; -1: none */
} local_use;

typedef struct group {
  const program *program;
  const kernel *kernel;
  memory *memory;
  uint32_t number, id[3]; /* number: counted from 1 */
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

/* Ends the launch with a description of what is wrong with the wave's current instruction. */
_Noreturn void fault(wave *wave, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The mask of the active lanes, and that of all lanes. */
uint64_t active(const wave *wave);
uint64_t all_lanes(const wave *wave);

/* Returns word `part` of an operand for every lane, in `buffer` if the operand is a scalar. Clears the bits of *defined
 * for lanes in which the word was never written. */
const uint32_t *read_lanes(wave *wave, unsigned operand, unsigned part, uint32_t *buffer, uint64_t *defined);
/* The same, with a fault if the word was never written in an active lane. */
const uint32_t *need_lanes(wave *wave, unsigned operand, unsigned part, uint32_t *buffer);
/* Faults if a lane is active that is not in the mask. */
void need_defined(wave *wave, uint64_t defined);
/* Writes the active lanes. */
void write_lanes(wave *wave, unsigned operand, unsigned part, const uint32_t *values, uint64_t defined);
void write_deferred(wave *wave);

uint32_t read_scalar(wave *wave, unsigned operand, unsigned part);
uint64_t read_scalar64(wave *wave, unsigned operand);
void write_scalar(wave *wave, unsigned operand, unsigned part, uint32_t value);
/* Masks with one bit per lane: one register, or two if a wave has 64 lanes. */
uint64_t read_mask(wave *wave, unsigned operand);
void write_mask(wave *wave, unsigned operand, uint64_t mask);
uint64_t read_register_mask(wave *wave, unsigned first);
void write_register_mask(wave *wave, unsigned first, uint64_t mask);

/* Stores one word of a load's result, in one lane of a vector register or in a scalar register. */
void load_lane(wave *wave, unsigned operand, unsigned part, unsigned lane, uint32_t value);
void load_scalar(wave *wave, unsigned operand, unsigned part, uint32_t value, bool defined);
/* Notes that an access was issued. The registers of a load's operand are pending from now on; operand ANY: a store. */
void begin_access(wave *wave, counter counter, int operand, bool any_order, bool local);
/* Waits until at most `left` accesses are in flight, and ends those that have certainly ended. */
void wait_for_accesses(wave *wave, counter counter, unsigned left);
bool local_in_flight(const wave *wave);

#endif
