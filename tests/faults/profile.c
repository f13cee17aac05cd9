/* SPDX-License-Identifier: Apache-2.0
 * Profiles of the fault matrix: see profile.h. */
#include "tests/faults/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void sleep_2_ms(void) { nanosleep(&(struct timespec){0, 2000000}, NULL); }

static entry *entry_of(profile *p, const char *name) {
  for (int i = 0; i < p->count; i++)
    if (strcmp(p->entries[i].name, name) == 0) return &p->entries[i];
  if (p->count == ENTRIES_MAX) return NULL;
  entry *const e = &p->entries[p->count++];
  snprintf(e->name, sizeof e->name, "%s", name);
  return e;
}

static void read_profile(profile *p, const char *log) {
  char line[600], name[48], fails[8], silent[8];
  unsigned long before, since;
  FILE *const f = fopen(log, "r");
  p->count = 0;
  while (f && fgets(line, sizeof line, f)) {
    entry *e;
    if (sscanf(line, "layer: entry %47s %7s %7s", name, fails, silent) == 3 && (e = entry_of(p, name)) != NULL)
      e->fails = fails[0] != '-', e->silent = silent[0] != '-';
    if (sscanf(line, "layer: count: %47s %lu %lu", name, &before, &since) == 3 && (e = entry_of(p, name)) != NULL)
      e->calls[ARM_START] = before, e->calls[ARM_READY] = since;
  }
  if (f) fclose(f);
}

/* Runs twice: the first child builds the programs that all others take from the cache. */
void profile_make(const matrix *m, slot *s, profile *p, cell of) {
  const char *const work = kWorks[of.work], *const mode = kModes[of.mode], *const dressed = kDresses[of.dress].name;
  snprintf(of.entry, sizeof of.entry, "list");
  of.kind = F_NONE, of.arm = ARM_READY;
  for (int run = 0; run < 2; run++) {
    of.fills_cache = run == 0;
    outcome o;
    run_start(m, s, 0, &of, NULL);
    while (!run_ended(s, &o)) sleep_2_ms();
    if (o.verdict != RIGHT) {
      printf("fault_matrix: without a fault, %s, %s on %s: %s\n", work, mode, dressed, o.why);
      exit(1);
    }
    if (of.fills_cache) run_keep_cache(m, 0, of.work);
  }
  const cell_result *r = &s->memory->result;
  p->served = r->usable && strcmp(r->memory, mode) == 0;
  memcpy(p->live, r->live, sizeof p->live);
  read_profile(p, s->log);
  printf("%s, %s on %s: %s", work, mode, dressed,
         p->served ? "served; held at the end:" : "n/a, the device does not have it\n");
  for (int i = 0; p->served && i < LAYER_OBJECTS; i++) printf(" %ld%s", p->live[i], i + 1 < LAYER_OBJECTS ? "" : "\n");
  fflush(stdout);
}
