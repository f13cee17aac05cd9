/* SPDX-License-Identifier: Apache-2.0
 * Parses the text of an instruction: mnemonic, operands and modifiers. Unknown text is an error and never ignored. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/operation.h"

static uint32_t bits_of(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

static const struct {
  const char *name;
  uint16_t first, count;
} named[] = {{"vcc", REGISTER_VCC, 2},   {"vcc_lo", REGISTER_VCC, 1},   {"vcc_hi", REGISTER_VCC + 1, 1},
             {"exec", REGISTER_EXEC, 2}, {"exec_lo", REGISTER_EXEC, 1}, {"exec_hi", REGISTER_EXEC + 1, 1},
             {"m0", REGISTER_M0, 1},     {"null", REGISTER_NULL, 1}};

/* v7, s[4:7] */
static bool read_registers(operand *to, const char *text) {
  unsigned first, last;
  int end = 0;
  for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
    if (strcmp(text, named[i].name) == 0) {
      to->kind = OPERAND_SCALAR, to->first = named[i].first, to->count = named[i].count;
      return true;
    }
  if (*text != 'v' && *text != 's') return false;
  if (sscanf(text + 1, "[%u:%u]%n", &first, &last, &end) != 2 || end == 0) {
    if (sscanf(text + 1, "%u%n", &first, &end) != 1) return false;
    last = first;
  }
  if (text[1 + end] != '\0' || last < first || last >= (*text == 'v' ? VECTOR_REGISTERS : REGISTER_VCC)) return false;
  to->kind = *text == 'v' ? OPERAND_VECTOR : OPERAND_SCALAR;
  to->first = (uint16_t)first, to->count = (uint16_t)(last - first + 1);
  return true;
}

static bool read_constant(operand *to, const char *text) {
  char *end;
  to->kind = OPERAND_VALUE;
  if (strchr(text, '.')) {
    to->value = bits_of(strtof(text, &end));
    to->literal = true; /* as a 64-bit operand it would be a double */
  } else {
    const long long value = strtoll(text, &end, 0);
    to->value = (uint32_t)value;
    to->literal = value < -16 || value > 64;
    to->extended = to->literal;
  }
  return end != text && *end == '\0';
}

static bool read_operand(operand *to, char *text) {
  size_t length = strlen(text);
  if (strcmp(text, "off") == 0) {
    to->kind = OPERAND_OFF;
    return true;
  }
  if (text[0] == '.') {
    to->kind = OPERAND_LABEL;
    return true;
  }
  if (text[0] == '-' && (text[1] == 'v' || text[1] == 's' || text[1] == '|')) {
    to->negated = true;
    text++, length--;
  }
  if (length > 2 && text[0] == '|' && text[length - 1] == '|') {
    to->absolute = true;
    text[length - 1] = '\0';
    text++;
  }
  return read_registers(to, text) || read_constant(to, text);
}

static void rotate_rows(instruction *at, int by) {
  at->across = true;
  for (int i = 0; i < LANES; i++) at->source[i] = (signed char)((i & ~15) | ((i - by) & 15));
}

static bool read_modifier(instruction *at, const char *text) {
  unsigned n[4];
  int i;
  if (sscanf(text, "offset:swizzle(SWAP,%u)", &n[0]) == 1) {
    at->across = true;
    for (i = 0; i < LANES; i++) at->source[i] = (signed char)(i ^ (int)n[0]);
  } else if (sscanf(text, "offset:%i", &i) == 1 || sscanf(text, "offset0:%i", &i) == 1) {
    at->offset[0] = (uint32_t)i;
  } else if (sscanf(text, "offset1:%i", &i) == 1) {
    at->offset[1] = (uint32_t)i;
  } else if (sscanf(text, "quad_perm:[%u,%u,%u,%u]", &n[0], &n[1], &n[2], &n[3]) == 4) {
    at->across = true;
    for (i = 0; i < LANES; i++) at->source[i] = (signed char)((i & ~3) | (int)(n[i & 3] & 3));
  } else if (sscanf(text, "row_ror:%i", &i) == 1) {
    rotate_rows(at, i);
  } else if (sscanf(text, "op_sel:[%u,%u,%u]", &n[0], &n[1], &n[2]) >= 2) {
    at->select = (unsigned char)(n[0] | n[1] << 1 | (strchr(strchr(text, ',') + 1, ',') ? n[2] << 2 : 0));
  } else if (sscanf(text, "op_sel_hi:[%u,%u,%u]", &n[0], &n[1], &n[2]) >= 2) {
    at->select_hi = (unsigned char)(n[0] | n[1] << 1 | (strchr(strchr(text, ',') + 1, ',') ? n[2] << 2 : 4));
  } else if (strcmp(text, "glc") == 0) {
    at->returns = true;
  } else {
    return strcmp(text, "row_mask:0xf") == 0 || strcmp(text, "bank_mask:0xf") == 0 || strcmp(text, "gds") == 0 ||
           strcmp(text, "dlc") == 0; /* which cache a volatile store passes */
  }
  return true;
}

/* Pieces end at blanks or commas outside brackets. The first piece after each comma is an operand, further ones are
 * modifiers. */
static bool read_pieces(program *program, instruction *at, char *text) {
  bool is_operand = true;
  at->select_hi = 7;
  while (*(text += strspn(text, " \t"))) {
    char *end = text;
    for (int depth = 0; *end && (depth > 0 || !strchr(" \t,", *end)); end++)
      depth += strchr("[(", *end) ? 1 : strchr("])", *end) ? -1 : 0;
    const char *const rest = end + strspn(end, " \t");
    const bool comma = *rest == ',';
    char *const next = end + (rest - end) + comma;
    *end = '\0';
    if (is_operand && at->count == OPERANDS) return program_fault(program, "line %u: too many operands", at->line + 1);
    if (is_operand ? !read_operand(&at->operands[at->count++], text) : !read_modifier(at, text))
      return program_fault(program, "line %u: unknown %s %s in: %s", at->line + 1, is_operand ? "operand" : "modifier",
                           text, program->lines[at->line] + 1);
    is_operand = comma;
    text = next;
  }
  return true;
}

/* Reads vmcnt(0) lgkmcnt(1), or the single counter that the instruction's name contains. */
static bool read_counts(program *program, instruction *at, const char *name, const char *text) {
  static const char *const names[COUNTERS] = {"vmcnt", "lgkmcnt", "expcnt", "vscnt"};
  bool found = false;
  for (int i = 0; i < COUNTERS; i++) {
    const char *const word = strstr(text, names[i]), *const comma = strchr(text, ',');
    at->wait[i] = ANY;
    if (word && word[strlen(names[i])] == '(') at->wait[i] = atoi(word + strlen(names[i]) + 1);
    if (strstr(name, names[i]) && comma) at->wait[i] = (int)strtol(comma + 1, NULL, 0);
    found = found || at->wait[i] != ANY;
  }
  return found || program_fault(program, "line %u: s_waitcnt waits for nothing: %s", at->line + 1, text);
}

bool instruction_read(program *program, instruction *at, char *text) {
  char name[40];
  int end = 0;
  if (sscanf(text, " %39s%n", name, &end) != 1) return program_fault(program, "line %u: empty", at->line + 1);
  at->operation = operation_find(name);
  if (!at->operation)
    return program_fault(program, "line %u: unknown mnemonic %s: %s", at->line + 1, name, program->lines[at->line] + 1);
  if (strncmp(name, "s_waitcnt", 9) == 0) return read_counts(program, at, name, text + end);
  return at->operation->no_operands || read_pieces(program, at, text + end);
}
