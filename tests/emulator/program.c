/* SPDX-License-Identifier: Apache-2.0
 * Converts text to instructions: labels, lines, kernels. */
#include "tests/emulator/program.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool program_fault(program *program, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(program->why, sizeof program->why, format, arguments);
  va_end(arguments);
  return false;
}

typedef struct label {
  const char *name;
  size_t length;
  unsigned instruction;
} label;

typedef struct labels {
  label *of;
  unsigned count;
} labels;

static bool split_lines(program *program) {
  unsigned count = 1;
  for (const char *c = program->text; *c; c++) count += *c == '\n';
  program->lines = calloc(count + 1, sizeof *program->lines);
  for (char *line = program->lines ? program->text : NULL; line; program->line_count++) {
    program->lines[program->line_count] = line;
    line = strchr(line, '\n');
    if (line) *line++ = '\0';
  }
  return program->lines;
}

/* Reads the target and its generation: 9 for gfx90a, 11 for gfx1103. */
static bool read_target(program *program, const char *line) {
  const char *const at = strstr(line, "--gfx");
  if (!at || sscanf(at + 2, "%31[a-z0-9]", program->target) != 1 || strlen(program->target) < 6)
    return program_fault(program, "no target in: %s", line);
  const char *const digits = program->target + 3;
  program->generation = strlen(digits) == 3 ? (unsigned)(*digits - '0') : (unsigned)(10 + digits[1] - '0');
  program->packed_items = program->generation >= 11 || strcmp(digits, "90a") == 0;
  return true;
}

static bool is_label(const char *line) { return line[0] != '\t' && line[0] != ';' && line[0] != ' ' && line[0]; }

/* An instruction begins with a tab and a letter, unlike comments and directives. A line "a :: b" contains two. */
static bool is_instruction(const char *line) { return line[0] == '\t' && line[1] >= 'a' && line[1] <= 'z'; }

/* Until all labels are known, the operand of a branch is the text of its label. */
static bool resolve(program *program, const labels *labels, instruction *at) {
  const char *name = strstr(program->lines[at->line], ".L");
  if (!name) return program_fault(program, "line %u: no label: %s", at->line + 1, program->lines[at->line]);
  const size_t length = strcspn(name, " \t;:");
  for (unsigned i = 0; i < labels->count; i++) {
    if (labels->of[i].length != length || strncmp(labels->of[i].name, name, length) != 0) continue;
    at->operands[0].value = labels->of[i].instruction;
    return true;
  }
  return program_fault(program, "line %u: unknown label %.*s", at->line + 1, (int)length, name);
}

static bool read_line(program *program, unsigned number) {
  char copy[512];
  snprintf(copy, sizeof copy, "%s", program->lines[number] + 1);
  copy[strcspn(copy, ";")] = '\0';
  char *const second = strstr(copy, " :: ");
  if (second) *second = '\0';
  instruction *const first = &program->code[program->code_count++];
  first->line = number;
  if (!instruction_read(program, first, copy)) return false;
  if (!second) return true;
  first->pair_follows = true;
  instruction *const other = &program->code[program->code_count++];
  other->line = number;
  return instruction_read(program, other, second + 4);
}

bool program_read(program *program, char *text) {
  *program = (struct program){.text = text};
  if (!split_lines(program)) return program_fault(program, "no memory");
  program->code = calloc(2 * program->line_count + 1, sizeof *program->code);
  labels labels = {.of = calloc(program->line_count + 1, sizeof *labels.of)};
  bool good = (program->code && labels.of) || program_fault(program, "no memory");
  kernel *current = NULL;
  for (unsigned i = 0; i < program->line_count && good; i++) {
    const char *const line = program->lines[i];
    if (is_label(line)) {
      labels.of[labels.count++] = (label){line, strcspn(line, ":"), program->code_count};
    } else if (is_instruction(line)) {
      good = read_line(program, i);
    } else if (strstr(line, ".amdgcn_target")) {
      good = read_target(program, line);
    } else if (strstr(line, ".amdhsa_") || strstr(line, ".end_amdhsa_kernel")) {
      char copy[256];
      snprintf(copy, sizeof copy, "%s", line);
      good = directive_read(program, &current, copy);
    } else if (strstr(line, ".amdgpu_metadata")) {
      metadata_read(program, program->lines + i, program->line_count - i);
      break;
    }
  }
  for (unsigned i = 0; i < program->code_count && good; i++)
    if (program->code[i].count > 0 && program->code[i].operands[0].kind == OPERAND_LABEL)
      good = resolve(program, &labels, &program->code[i]);
  for (unsigned k = 0; k < program->kernel_count && good; k++) {
    bool found = false;
    const char *const name = program->kernels[k].name;
    for (unsigned i = 0; i < labels.count && !found; i++) {
      found = strlen(name) == labels.of[i].length && strncmp(labels.of[i].name, name, labels.of[i].length) == 0;
      if (found) program->kernels[k].entry = labels.of[i].instruction;
    }
    if (!found) good = program_fault(program, "no code of the kernel %s", name);
  }
  free(labels.of);
  if (good && program->generation == 0) good = program_fault(program, "the text names no target");
  if (good && program->kernel_count == 0) good = program_fault(program, "the text has no kernel");
  return good;
}

const kernel *program_kernel(const program *program, const char *name) {
  for (unsigned i = 0; i < program->kernel_count; i++)
    if (strcmp(program->kernels[i].name, name) == 0) return &program->kernels[i];
  return NULL;
}

void program_free(program *program) {
  free(program->text);
  free(program->lines);
  free(program->code);
  *program = (struct program){.text = NULL};
}
