/* SPDX-License-Identifier: Apache-2.0
 * Finds the operation of a mnemonic. */
#include "tests/emulator/operation.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char *name;
  unsigned true_if;
  bool ordinary; /* exists for integers, too */
} conditions[] = {
    {"lt", LESS, true},
    {"eq", EQUAL, true},
    {"le", LESS | EQUAL, true},
    {"gt", GREATER, true},
    {"lg", LESS | GREATER, true},
    {"ne", LESS | GREATER, true},
    {"ge", GREATER | EQUAL, true},
    {"o", LESS | EQUAL | GREATER, false},
    {"u", UNORDERED, false},
    {"nge", LESS | UNORDERED, false},
    {"nlg", EQUAL | UNORDERED, false},
    {"ngt", LESS | EQUAL | UNORDERED, false},
    {"nle", GREATER | UNORDERED, false},
    {"neq", LESS | GREATER | UNORDERED, false},
    {"nlt", GREATER | EQUAL | UNORDERED, false},
};

/* Comparisons (v_cmp_CONDITION_TYPE, v_cmpx_, s_cmp_) have no table: their operations are created when they first
 * occur. */
static const operation *comparison(const char *name) {
  static operation made[128];
  static char names[128][32];
  static unsigned count;
  for (unsigned i = 0; i < count; i++)
    if (strcmp(names[i], name) == 0) return &made[i];
  char unit, kind[8], condition[8], type[8];
  if (sscanf(name, "%c_%7[a-z]_%7[a-z]_%7[a-z0-9]", &unit, kind, condition, type) != 4 || count == 128) return NULL;
  const bool changes_exec = strcmp(kind, "cmpx") == 0, floats = strcmp(type, "f32") == 0;
  if ((strcmp(kind, "cmp") != 0 && !changes_exec) || (unit != 'v' && unit != 's')) return NULL;
  if (!floats && strcmp(type, "i32") != 0 && strcmp(type, "u32") != 0 && strcmp(type, "i64") != 0 &&
      strcmp(type, "u64") != 0)
    return NULL;
  for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++) {
    if (strcmp(condition, conditions[i].name) != 0 || (!floats && !conditions[i].ordinary)) continue;
    snprintf(names[count], sizeof names[count], "%s", name);
    made[count] = (operation){.name = names[count],
                              .run = unit == 'v' ? run_compare : run_scalar_compare,
                              .true_if = conditions[i].true_if,
                              .changes_exec = changes_exec};
    memcpy(made[count].type, type, 4);
    return &made[count++];
  }
  return NULL;
}

const operation *operation_find(const char *mnemonic) {
  static const operation *const tables[] = {vector_operations, vector_more_operations, scalar_operations,
                                            control_operations, memory_operations};
  static const char *const suffixes[] = {"_e32", "_e64", "_dpp"};
  char name[40];
  snprintf(name, sizeof name, "%s", mnemonic);
  if (strncmp(name, "v_dual_", 7) == 0) memmove(name + 2, name + 7, strlen(name + 7) + 1);
  for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
    const size_t length = strlen(name), tail = strlen(suffixes[i]);
    if (length > tail && strcmp(name + length - tail, suffixes[i]) == 0) name[length - tail] = '\0';
  }
  for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
    for (const operation *o = tables[t]; o->name; o++)
      if (strcmp(name, o->name) == 0) return o;
  return comparison(name);
}
