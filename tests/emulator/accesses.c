/* SPDX-License-Identifier: Apache-2.0
 * Instructions that access memory: global memory per lane or as a scalar, and local memory. Two waves must not access
 * the same word of local memory between two barriers if one of them writes it. */
#include <string.h>

#include "tests/emulator/operation.h"

static void need_registers(wave *wave, unsigned number, unsigned words) {
  uint64_t ignored = 0;
  uint32_t buffer[LANES];
  if (number >= wave->now->count || wave->now->operands[number].count != words)
    fault(wave, "operand %u is not of %u registers", number, words);
  for (unsigned part = 0; part < words; part++)
    if (wave->now->operands[number].kind == OPERAND_VECTOR) read_lanes(wave, number, part, buffer, &ignored);
}

/* Computes each lane's address: v[a:b] + offset, or s[a:b] + v + offset if the third operand is not "off". */
static void addresses(wave *wave, unsigned number, unsigned base, uint64_t to[LANES]) {
  uint32_t buffers[2][LANES];
  const bool scalar_base = wave->now->operands[base].kind == OPERAND_SCALAR;
  const uint32_t *const low = need_lanes(wave, number, 0, buffers[0]);
  const uint32_t *const high = scalar_base ? NULL : need_lanes(wave, number, 1, buffers[1]);
  const uint64_t from = scalar_base ? read_scalar64(wave, base) : 0;
  for (unsigned i = 0; i < wave->lanes; i++)
    to[i] = from + low[i] + (high ? (uint64_t)high[i] << 32 : 0) + (uint64_t)(int64_t)(int32_t)wave->now->offset[0];
}

static void run_global_load(wave *wave, const instruction *at) {
  const unsigned words = at->operation->how;
  uint64_t address[LANES];
  uint32_t value[LANES][4];
  addresses(wave, 1, 2, address);
  need_registers(wave, 0, words);
  const uint64_t lanes = active(wave);
  for (unsigned i = 0; i < wave->lanes; i++) {
    if (!(lanes >> i & 1)) continue;
    const char *const why =
        memory_read(wave->group->memory, address[i], value[i], words * 4, wave->group->number, NULL);
    if (why) fault(wave, "lane %u %s", i, why);
    for (unsigned part = 0; part < words; part++) load_lane(wave, 0, part, i, value[i][part]);
  }
  begin_access(wave, COUNTER_VM, 0, false, false);
}

static void run_global_store(wave *wave, const instruction *at) {
  const unsigned words = at->operation->how;
  uint64_t address[LANES];
  uint32_t buffers[4][LANES];
  const uint32_t *from[4] = {NULL};
  addresses(wave, 0, 2, address);
  need_registers(wave, 1, words);
  for (unsigned part = 0; part < words; part++) from[part] = need_lanes(wave, 1, part, buffers[part]);
  const uint64_t lanes = active(wave);
  for (unsigned i = 0; i < wave->lanes; i++) {
    if (!(lanes >> i & 1)) continue;
    uint32_t value[4];
    for (unsigned part = 0; part < words; part++) value[part] = from[part][i];
    const char *const why = memory_write(wave->group->memory, address[i], value, words * 4, wave->group->number);
    if (why) fault(wave, "lane %u %s", i, why);
  }
  begin_access(wave, wave->group->program->generation >= 10 ? COUNTER_VS : COUNTER_VM, ANY, false, false);
}

static void run_global_atomic(wave *wave, const instruction *at) {
  const unsigned result = at->returns; /* an operand before the others */
  const bool counts_stores = !at->returns && wave->group->program->generation >= 10;
  uint64_t address[LANES];
  uint32_t buffer[LANES];
  addresses(wave, result, result + 2, address);
  if (at->returns) need_registers(wave, 0, 1);
  need_registers(wave, result + 1, 1);
  const uint32_t *const from = need_lanes(wave, result + 1, 0, buffer);
  const uint64_t lanes = active(wave);
  uint32_t value[LANES];
  for (unsigned i = 0; i < wave->lanes; i++) {
    if (!(lanes >> i & 1)) continue;
    value[i] = from[i];
    const char *const why = memory_atomic(wave->group->memory, address[i], (atomic_kind)at->operation->how, &value[i]);
    if (why) fault(wave, "lane %u %s", i, why);
  }
  for (unsigned i = 0; i < wave->lanes && at->returns; i++) /* not earlier: it may be the register of the operand */
    if (lanes >> i & 1) load_lane(wave, 0, 0, i, value[i]);
  begin_access(wave, counts_stores ? COUNTER_VS : COUNTER_VM, at->returns ? 0 : ANY, false, false);
}

static void run_scalar_load(wave *wave, const instruction *at) {
  const unsigned words = at->operation->how;
  const uint64_t address = read_scalar64(wave, 1) + read_scalar(wave, 2, 0);
  uint32_t value[16];
  bool known[16];
  const char *const why = memory_read(wave->group->memory, address, value, words * 4, wave->group->number, known);
  if (why) fault(wave, "%s", why);
  need_registers(wave, 0, words);
  for (unsigned part = 0; part < words; part++) load_scalar(wave, 0, part, value[part], known[part]);
  begin_access(wave, COUNTER_LGKM, 0, true, false);
}

/* The index of the first word. Faults if the words are not aligned or not inside local memory. */
static uint32_t local_words(wave *wave, unsigned lane, uint32_t address, unsigned words) {
  if (address % (words * 4) != 0)
    fault(wave, "lane %u: %u bytes at the unaligned local address %u", lane, words * 4, address);
  if (address > wave->group->kernel->group_segment_fixed_size ||
      words * 4 > wave->group->kernel->group_segment_fixed_size - address)
    fault(wave, "lane %u: %u bytes out of bounds at the local address %u", lane, words * 4, address);
  return address / 4;
}

static local_use *local_use_of(group *group, uint32_t word) {
  local_use *const use = &group->local_uses[word];
  if (use->interval != group->interval) *use = (local_use){.interval = group->interval, .writer = -1};
  return use;
}

static uint32_t local_read(wave *wave, unsigned lane, uint32_t word) {
  local_use *const use = local_use_of(wave->group, word);
  if (!wave->group->local_written[word])
    fault(wave, "lane %u reads local address %u, which was never written", lane, word * 4);
  if (use->writer >= 0 && use->writer != (int)wave->number)
    fault(wave, "a race: wave %d wrote local address %u since the last barrier", use->writer, word * 4);
  use->readers |= 1u << wave->number;
  return wave->group->local[word];
}

static void local_write(wave *wave, uint32_t word, uint32_t value) {
  local_use *const use = local_use_of(wave->group, word);
  if ((use->writer >= 0 && use->writer != (int)wave->number) || (use->readers & ~(1u << wave->number)))
    fault(wave, "a race: another wave accessed local address %u since the last barrier", word * 4);
  use->writer = (int)wave->number;
  wave->group->local[word] = value;
  wave->group->local_written[word] = true;
}

/* how: the number of words, plus 16 for two places whose offsets are in units of that size, plus 32 if the units are 64
 * times as large. */
static uint32_t place_offset(const instruction *at, unsigned place) {
  const unsigned words = at->operation->how & 15;
  if (!(at->operation->how & 16)) return at->offset[place];
  return at->offset[place] * words * (at->operation->how & 32 ? 256 : 4);
}

static void run_local_load(wave *wave, const instruction *at) {
  const unsigned words = at->operation->how & 15, places = at->operation->how & 16 ? 2 : 1;
  uint32_t buffer[LANES], base[LANES];
  memcpy(base, need_lanes(wave, 1, 0, buffer), sizeof base);
  need_registers(wave, 0, words * places);
  const uint64_t lanes = active(wave);
  for (unsigned i = 0; i < wave->lanes; i++)
    for (unsigned p = 0; p < places && (lanes >> i & 1); p++) {
      const uint32_t word = local_words(wave, i, base[i] + place_offset(at, p), words);
      for (unsigned part = 0; part < words; part++)
        load_lane(wave, 0, p * words + part, i, local_read(wave, i, word + part));
    }
  begin_access(wave, COUNTER_LGKM, 0, false, true);
}

static void run_local_store(wave *wave, const instruction *at) {
  const unsigned words = at->operation->how & 15, places = at->operation->how & 16 ? 2 : 1;
  uint32_t buffer[LANES], buffers[2][4][LANES];
  const uint32_t *const base = need_lanes(wave, 0, 0, buffer), *from[2][4] = {{NULL}};
  for (unsigned p = 0; p < places; p++) {
    need_registers(wave, 1 + p, words);
    for (unsigned part = 0; part < words; part++) from[p][part] = need_lanes(wave, 1 + p, part, buffers[p][part]);
  }
  const uint64_t lanes = active(wave);
  for (unsigned i = 0; i < wave->lanes; i++)
    for (unsigned p = 0; p < places && (lanes >> i & 1); p++) {
      const uint32_t word = local_words(wave, i, base[i] + place_offset(at, p), words);
      for (unsigned part = 0; part < words; part++) local_write(wave, word + part, from[p][part][i]);
    }
  begin_access(wave, COUNTER_LGKM, ANY, false, true);
}

/* A swizzle uses the hardware of local memory, but none of its words. */
static void run_swizzle(wave *wave, const instruction *at) {
  uint32_t buffer[LANES];
  if (!at->across) fault(wave, "a swizzle without a pattern");
  const uint32_t *const values = need_lanes(wave, 1, 0, buffer);
  write_lanes(wave, 0, 0, values, ~UINT64_C(0));
  begin_access(wave, COUNTER_LGKM, 0, false, true);
}

#define ROW(verb, size, does, words) \
  { .name = verb size, .run = (does), .how = (words) }
#define GLOBAL(words, old, new)                                                                       \
  ROW("global_load_", old, run_global_load, words), ROW("global_load_", new, run_global_load, words), \
      ROW("global_store_", old, run_global_store, words), ROW("global_store_", new, run_global_store, words)
#define SCALAR(words, old, new) ROW("s_load_", old, run_scalar_load, words), ROW("s_load_", new, run_scalar_load, words)
#define LOCAL(words, size)                                                                    \
  ROW("ds_read_", size, run_local_load, words), ROW("ds_load_", size, run_local_load, words), \
      ROW("ds_write_", size, run_local_store, words), ROW("ds_store_", size, run_local_store, words)
#define LOCAL64(words, size)                                              \
  ROW("ds_read2st64_", size, run_local_load, 48 + (words)),               \
      ROW("ds_load_2addr_stride64_", size, run_local_load, 48 + (words)), \
      ROW("ds_write2st64_", size, run_local_store, 48 + (words)),         \
      ROW("ds_store_2addr_stride64_", size, run_local_store, 48 + (words))
#define LOCAL2(words, size)                                                                                        \
  ROW("ds_read2_", size, run_local_load, 16 + (words)), ROW("ds_load_2addr_", size, run_local_load, 16 + (words)), \
      ROW("ds_write2_", size, run_local_store, 16 + (words)),                                                      \
      ROW("ds_store_2addr_", size, run_local_store, 16 + (words))
#define ATOMIC(kind, old, new)                                               \
  {.name = "global_atomic_" old, .run = run_global_atomic, .how = (kind)}, { \
    .name = "global_atomic_" new, .run = run_global_atomic, .how = (kind)    \
  }
const operation memory_operations[] = {GLOBAL(1, "dword", "b32"),
                                       GLOBAL(2, "dwordx2", "b64"),
                                       GLOBAL(4, "dwordx4", "b128"),
                                       SCALAR(1, "dword", "b32"),
                                       SCALAR(2, "dwordx2", "b64"),
                                       SCALAR(4, "dwordx4", "b128"),
                                       SCALAR(8, "dwordx8", "b256"),
                                       SCALAR(16, "dwordx16", "b512"),
                                       LOCAL(1, "b32"),
                                       LOCAL(2, "b64"),
                                       LOCAL(4, "b128"),
                                       LOCAL2(1, "b32"),
                                       LOCAL2(2, "b64"),
                                       LOCAL64(1, "b32"),
                                       LOCAL64(2, "b64"),
                                       {.name = "ds_swizzle_b32", .run = run_swizzle},
                                       ATOMIC(ATOMIC_SWAP, "swap", "swap_b32"),
                                       ATOMIC(ATOMIC_ADD, "add", "add_u32"),
                                       ATOMIC(ATOMIC_OR, "or", "or_b32"),
                                       {.name = NULL}};
