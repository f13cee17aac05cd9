/* SPDX-License-Identifier: Apache-2.0
 * Reads and writes registers, and checks for pending loads. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/emulator/operation.h"

void fault(wave *wave, const char *format, ...) {
  group *const group = wave->group;
  char what[192];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  const char *const line = group->program->lines[wave->now->line] + 1;
  snprintf(group->why, group->why_bytes, "%s, at line %u: %.*s (group %u %u, wave %u)", what, wave->now->line + 1,
           (int)strcspn(line, ";"), line, group->id[0], group->id[1], wave->number);
  for (char *c = group->why; *c; c++)
    if (*c == '\t' || *c == '|') *c = *c == '\t' ? ' ' : '!';
  longjmp(group->failed, 1);
}

uint64_t all_lanes(const wave *wave) { return wave->lanes == 64 ? ~UINT64_C(0) : 0xffffffffu; }

uint64_t active(const wave *wave) {
  return (wave->s[REGISTER_EXEC] | (uint64_t)wave->s[REGISTER_EXEC + 1] << 32) & all_lanes(wave);
}

static void need_vector(wave *wave, unsigned number) {
  if (number >= wave->group->kernel->next_free_vgpr)
    fault(wave, "v%u is more than the kernel's %u registers", number, wave->group->kernel->next_free_vgpr);
  if (wave->v_pending[number]) fault(wave, "v%u is used before the s_waitcnt of its load", number);
}

static void need_scalar(wave *wave, unsigned number) {
  if (number < REGISTER_VCC && number >= wave->group->kernel->next_free_sgpr)
    fault(wave, "s%u is more than the kernel's %u registers", number, wave->group->kernel->next_free_sgpr);
  if (wave->s_pending[number]) fault(wave, "s%u is used before the s_waitcnt of its load", number);
}

static const operand *operand_at(wave *wave, unsigned number, unsigned part) {
  const operand *const o = &wave->now->operands[number];
  if (number >= wave->now->count) fault(wave, "operand %u is missing", number);
  if (o->kind <= OPERAND_SCALAR && part >= o->count && o->first != REGISTER_NULL)
    fault(wave, "operand %u has %u registers", number, o->count);
  return o;
}

static uint32_t constant_part(wave *wave, const operand *o, unsigned part) {
  if (o->kind != OPERAND_VALUE) fault(wave, "an operand is neither register nor constant");
  if (part == 0) return o->value;
  if (o->literal) fault(wave, "a literal is used as 64 bits");
  return (uint32_t)((int32_t)o->value >> 31);
}

/* Lane i gets the value of lane source[i]. Before GFX10 the hardware does not wait for the preceding vector
 * instruction. */
static void exchange(wave *wave, const operand *o, uint32_t *values, uint64_t *defined) {
  const uint64_t lanes = active(wave), known = *defined;
  uint32_t from[LANES];
  memcpy(from, values, sizeof from);
  if (wave->group->program->generation == 9 && strncmp(wave->now->operation->name, "v_", 2) == 0) {
    if (wave->issued - wave->v_issued[o->first] < 3) fault(wave, "DPP within two wait states of v%u", o->first);
    if (wave->issued - wave->exec_issued < 6) fault(wave, "DPP within five wait states of exec");
  }
  for (unsigned i = 0; i < wave->lanes; i++) {
    const int source = wave->now->source[i];
    if (!(lanes >> i & 1)) continue;
    if (!(lanes >> source & 1)) fault(wave, "lane %u takes a value of lane %d, which is not active", i, source);
    values[i] = from[source];
    if (!(known >> source & 1)) *defined &= ~(UINT64_C(1) << i);
  }
}

const uint32_t *read_lanes(wave *wave, unsigned number, unsigned part, uint32_t *buffer, uint64_t *defined) {
  const operand *const o = operand_at(wave, number, part);
  if (o->kind != OPERAND_VECTOR) {
    uint32_t value = o->kind == OPERAND_SCALAR ? read_scalar(wave, number, part) : constant_part(wave, o, part);
    if (o->absolute) value &= 0x7fffffffu;
    if (o->negated) value ^= 0x80000000u;
    for (unsigned i = 0; i < wave->lanes; i++) buffer[i] = value;
    return buffer;
  }
  const unsigned at = o->first + part;
  need_vector(wave, at);
  if (!o->absolute && !o->negated && !(wave->now->across && number == 1)) {
    *defined &= wave->v_defined[at];
    return wave->v[at];
  }
  uint64_t known = wave->v_defined[at];
  memcpy(buffer, wave->v[at], sizeof wave->v[at]);
  if (wave->now->across) exchange(wave, o, buffer, &known);
  for (unsigned i = 0; i < wave->lanes; i++) {
    if (o->absolute) buffer[i] &= 0x7fffffffu;
    if (o->negated) buffer[i] ^= 0x80000000u;
  }
  *defined &= known;
  return buffer;
}

void need_defined(wave *wave, uint64_t defined) {
  const uint64_t missing = active(wave) & ~defined;
  if (!missing) return;
  for (unsigned i = 1; i <= wave->now->count; i++) { /* the first operand last, because it may be the result */
    const operand *const o = &wave->now->operands[i % wave->now->count];
    for (unsigned r = o->first; o->kind == OPERAND_VECTOR && r < o->first + o->count; r++)
      if (missing & ~wave->v_defined[r])
        fault(wave, "v%u was never written in lane %d", r, __builtin_ctzll(missing & ~wave->v_defined[r]));
  }
  fault(wave, "a value that was never written");
}

const uint32_t *need_lanes(wave *wave, unsigned number, unsigned part, uint32_t *buffer) {
  uint64_t defined = ~UINT64_C(0);
  const uint32_t *const values = read_lanes(wave, number, part, buffer, &defined);
  need_defined(wave, defined);
  return values;
}

static void put(wave *wave, unsigned at, const uint32_t *values, uint64_t defined) {
  const uint64_t lanes = active(wave);
  if (lanes == all_lanes(wave))
    memcpy(wave->v[at], values, wave->lanes * sizeof *values);
  else
    for (unsigned i = 0; i < wave->lanes; i++)
      if (lanes >> i & 1) wave->v[at][i] = values[i];
  wave->v_defined[at] = (wave->v_defined[at] & ~lanes) | (defined & lanes);
  wave->v_issued[at] = wave->issued;
}

void write_lanes(wave *wave, unsigned number, unsigned part, const uint32_t *values, uint64_t defined) {
  const operand *const o = operand_at(wave, number, part);
  if (o->kind != OPERAND_VECTOR) fault(wave, "the destination is no vector register");
  need_vector(wave, o->first + part);
  if (!wave->defers) {
    put(wave, o->first + part, values, defined);
    return;
  }
  memcpy(wave->deferred, values, wave->lanes * sizeof *values);
  wave->deferred_register = o->first + (int)part;
  wave->deferred_defined = defined;
}

void write_deferred(wave *wave) {
  put(wave, (unsigned)wave->deferred_register, wave->deferred, wave->deferred_defined);
}

static uint32_t scalar(wave *wave, unsigned at) {
  if (at == REGISTER_NULL) return 0;
  need_scalar(wave, at);
  if (!wave->s_defined[at]) fault(wave, "s%u was never written", at);
  return wave->s[at];
}

static void set_scalar(wave *wave, unsigned at, uint32_t value) {
  if (at == REGISTER_NULL) return;
  need_scalar(wave, at);
  wave->s[at] = value;
  wave->s_defined[at] = true;
}

uint32_t read_scalar(wave *wave, unsigned number, unsigned part) {
  const operand *const o = operand_at(wave, number, part);
  if (o->kind == OPERAND_VECTOR) fault(wave, "a scalar instruction reads a vector register");
  return o->kind == OPERAND_SCALAR ? scalar(wave, o->first + part) : constant_part(wave, o, part);
}

uint64_t read_scalar64(wave *wave, unsigned number) {
  return read_scalar(wave, number, 0) | (uint64_t)read_scalar(wave, number, 1) << 32;
}

void write_scalar(wave *wave, unsigned number, unsigned part, uint32_t value) {
  const operand *const o = operand_at(wave, number, part);
  if (o->kind != OPERAND_SCALAR) fault(wave, "the destination is no scalar register");
  set_scalar(wave, o->first + (o->first == REGISTER_NULL ? 0 : part), value);
}

uint64_t read_register_mask(wave *wave, unsigned first) {
  const uint64_t low = scalar(wave, first);
  return wave->lanes == 64 ? low | (uint64_t)scalar(wave, first + 1) << 32 : low;
}

void write_register_mask(wave *wave, unsigned first, uint64_t mask) {
  set_scalar(wave, first, (uint32_t)mask);
  if (wave->lanes == 64 && first != REGISTER_NULL) set_scalar(wave, first + 1, (uint32_t)(mask >> 32));
}

uint64_t read_mask(wave *wave, unsigned number) {
  return read_register_mask(wave, operand_at(wave, number, wave->lanes == 64)->first);
}

void write_mask(wave *wave, unsigned number, uint64_t mask) {
  write_register_mask(wave, operand_at(wave, number, wave->lanes == 64)->first, mask);
}
