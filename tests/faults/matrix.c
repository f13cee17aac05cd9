/* SPDX-License-Identifier: Apache-2.0
 * The fault matrix: every OpenCL entry that a workload uses x the number of the call x what goes wrong x memory mode x
 * what the device looks like. Each cell is a process of its own; see child.c for what it checks, and tasks.c and maps.c
 * for what it does.
 *     fault_matrix --fault LIB --dress LIB [--all | --sample N] [--seed TEXT] [--positions N] [--jobs N]
 *                  [--scratch DIR] [--modes LIST] [--work LIST]
 *                  [--cell ENTRY:NTH:KIND:MODE:DRESS:ARM:CODE[:WORK]]
 * SIGINT and SIGTERM end it early, with the table of what has run. A call's numbers count from the process's start, or
 * from the end of hx_ready (ARM). --sample N (default 10): one cell in N, of the workload `maps` one in
 * 4 N, drawn by the seed. --work: tasks, maps. The OpenCL driver is the caller's choice (tests/driver.sh). */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "reference/data.h"
#include "tests/faults/profile.h"
#include "tests/faults/run.h"
#include "tests/faults/table.h"

enum { COPY = MODES - 1, MAPS_LESS = 4 };

static matrix m = {.jobs = 3};
static slot slots[SLOTS];
static profile profiles[WORKS][MODES][DRESSES];
static bool wanted[MODES] = {true, true, true, true, true, true}, wanted_work[WORKS] = {true, true};
static uint64_t seed;
static unsigned sample = 10, positions = 4;
static cell *cells;
static size_t cell_count;

static uint64_t text_hash(const char *text) {
  uint64_t h = UINT64_C(0xcbf29ce484222325);
  for (; *text; text++) h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
  return h;
}

static void sleep_2_ms(void) { nanosleep(&(struct timespec){0, 2000000}, NULL); }

/* Every code that a driver may give for a call of that kind. */
static int code_for(fault_kind kind, uint64_t h) {
  static const int kError[] = {-5, -4, -6, -36, -9999, -14, -2, -59};
  static const int kLost[] = {-2, -9999, -36, -5};
  if (kind == F_ERROR) return kError[h % (sizeof kError / sizeof *kError)];
  return kind == F_LOST ? kLost[h % (sizeof kLost / sizeof *kLost)] : 0;
}

static void add_cell(const cell *c) {
  if (cell_count % 1024 == 0) cells = realloc(cells, (cell_count + 1024) * sizeof *cells);
  if (!cells) exit(2);
  cells[cell_count++] = *c;
}

/* The first call, the last one, and others between them, each once. */
static unsigned long call_position(unsigned i, unsigned long calls, uint64_t h) {
  if (i == 0) return 1;
  if (i == 1) return calls;
  const unsigned long parts = positions - 2, from = (i - 2) * (calls - 2) / parts, to = (i - 1) * (calls - 2) / parts;
  return to > from ? 2 + from + h % (to - from) : 0;
}

/* One cell in how many runs. A sample has fewer cells of user kernels, whose chunks, transfers and recovery are those
 * of other tasks. */
static unsigned drawn_in(fault_work work) { return sample > 1 && work == WORK_MAPS ? MAPS_LESS * sample : sample; }

static void add_positions(cell c, unsigned long calls) {
  c.of = calls;
  for (unsigned i = 0; i < positions; i++) {
    char name[160];
    if (i > 0 && calls < 2) break;
    snprintf(name, sizeof name, "%s %s %d %d %d %u%s", c.entry, kKinds[c.kind], c.mode, c.dress, c.arm, i,
             c.work ? kWorks[c.work] : "");
    const uint64_t h = data_u64(seed, text_hash(name));
    c.nth = i > 1 && calls < 3 ? 0 : call_position(i, calls, h >> 20);
    c.code = code_for(c.kind, h >> 8);
    if (c.nth > 0 && h % drawn_in(c.work) == 0) add_cell(&c);
  }
}

static void add_cells(fault_work work, int mode, int dress) {
  const profile *p = &profiles[work][mode][dress];
  for (int i = 0; i < p->count; i++)
    for (fault_kind kind = 0; kind < F_KINDS; kind++)
      for (fault_arm arm = 0; arm < ARMS; arm++) {
        const entry *e = &p->entries[i];
        if ((kind == F_ERROR && !e->fails) || (kind == F_SILENT && !e->silent) || e->calls[arm] == 0) continue;
        if (work == WORK_MAPS && arm == ARM_START) continue; /* the calls up to hx_ready are those of tasks */
        cell c = {.kind = kind, .mode = mode, .dress = dress, .arm = arm, .work = work};
        memcpy(c.entry, e->name, sizeof c.entry);
        add_positions(c, e->calls[arm]);
      }
}

/* The objects that a child may hold at the end: as many as a child without a fault holds in some memory mode, because a
 * device that loses a mode continues with copies, and keeps a ring for them. */
static void most_held(fault_work work, int dress, long most[8]) {
  memset(most, 0, 8 * sizeof *most);
  for (int mode = 0; mode < MODES; mode++)
    for (int i = 0; i < LAYER_OBJECTS; i++)
      if (profiles[work][mode][dress].live[i] > most[i]) most[i] = profiles[work][mode][dress].live[i];
}

static volatile sig_atomic_t stopped;

static void note_signal(int number) { stopped = number; }

/* Runs the cells of a list, `jobs` at a time, until the list ends or a signal stops it. late: receives the cells that
 * failed only because a call took too long, and late_count how many they are; NULL: those fail like any other. */
static void run_list(const cell *const *list, size_t count, int jobs, const cell **late, size_t *late_count) {
  long held[WORKS][DRESSES][8];
  for (fault_work work = 0; work < WORKS; work++)
    for (int i = 0; i < DRESSES; i++) most_held(work, i, held[work][i]);
  size_t started = 0, ended = 0;
  while (ended < (stopped ? started : count)) {
    for (int i = 0; i < jobs; i++) {
      outcome o;
      if (slots[i].pid && run_ended(&slots[i], &o)) {
        if (o.late && late)
          late[(*late_count)++] = slots[i].at;
        else
          table_add(slots[i].at, &o);
        ended++;
      }
      if (slots[i].pid || started == count || stopped) continue;
      const cell *c = list[started++];
      run_start(&m, &slots[i], i, c, held[c->work][c->dress]);
    }
    sleep_2_ms();
  }
}

/* On a busy machine a call may be late without a fault, so cells that were late run once more, one at a time, and a
 * cell that times out again has failed. A call that hangs times out both times. */
static void run_all(void) {
  const cell **const list = calloc(cell_count + 1, sizeof *list), **const late = calloc(cell_count + 1, sizeof *late);
  size_t late_count = 0;
  if (!list || !late) exit(2);
  for (size_t i = 0; i < cell_count; i++) list[i] = &cells[i];
  signal(SIGINT, note_signal);
  signal(SIGTERM, note_signal);
  run_list(list, cell_count, m.jobs, late, &late_count);
  if (late_count) printf("%zu cells were late%s\n", late_count, stopped ? "" : ", and run again one at a time");
  run_list(late, late_count, 1, NULL, NULL);
  if (stopped) printf("stopped: not all cells have run\n");
  free(list);
  free(late);
}

static int index_of_name(const char *name, const char *const *names, int count) {
  for (int i = 0; i < count; i++)
    if (strcmp(name, names[i]) == 0) return i;
  fprintf(stderr, "fault_matrix: there is no %s\n", name);
  exit(2);
}

/* Selects only what a list names: the memory modes of --modes, or the workloads of --work. */
static void parse_list(const char *text, const char *const *names, int count, bool *selected) {
  char list[256], *rest = NULL;
  snprintf(list, sizeof list, "%s", text);
  memset(selected, 0, (size_t)count * sizeof *selected);
  for (const char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
    selected[index_of_name(name, names, count)] = true;
}

/* Makes the one cell of --cell. */
static void parse_cell(const char *text) {
  cell c = {.nth = 0};
  char kind[16], mode[16], dressed[16], arm[16], work[16] = "tasks";
  if (sscanf(text, "%47[^:]:%lu:%15[^:]:%15[^:]:%15[^:]:%15[^:]:%d:%15s", c.entry, &c.nth, kind, mode, dressed, arm,
             &c.code, work) < 6) {
    fprintf(stderr, "fault_matrix: --cell ENTRY:NTH:KIND:MODE:DRESS:ARM[:CODE[:WORK]], not %s\n", text);
    exit(2);
  }
  c.kind = (fault_kind)index_of_name(kind, kKinds, F_KINDS);
  c.mode = index_of_name(mode, kModes, MODES);
  parse_list(mode, kModes, MODES, wanted);
  c.work = (fault_work)index_of_name(work, kWorks, WORKS);
  parse_list(work, kWorks, WORKS, wanted_work);
  c.arm = (fault_arm)index_of_name(arm, kArms, ARMS);
  while (strcmp(kDresses[c.dress].name, dressed) != 0)
    if (++c.dress == DRESSES) index_of_name(dressed, NULL, 0);
  add_cell(&c);
}

static const char *folder(void) {
  static char path[512];
  const char *const base = getenv("TEST_TMPDIR");
  snprintf(path, sizeof path, "%s/faults.XXXXXX", base ? base : "/tmp");
  return mkdtemp(path) ? path : "/tmp";
}

/* one: --cell has made the only cell. */
static void make_cells(fault_work work, bool one) {
  for (int mode = 0; mode < MODES; mode++)
    for (int dressed = 0; dressed < DRESSES; dressed++) {
      if (one && cells[0].dress != dressed) continue;
      if (!wanted[mode] && mode != COPY) continue; /* a mode that fails is replaced by copies */
      profile_make(&m, &slots[0], &profiles[work][mode][dressed], (cell){.mode = mode, .dress = dressed, .work = work});
      if (!one && wanted[mode] && profiles[work][mode][dressed].served) add_cells(work, mode, dressed);
    }
}

int main(int argc, char **argv) {
  const char *one = NULL, *text = "hx";
  m.program = argv[0];
  for (int i = 1; i < argc; i++) {
    const char *const value = i + 1 < argc ? argv[i + 1] : "";
    if (strcmp(argv[i], "--child") == 0) return run_child(atoi(value));
    if (strcmp(argv[i], "--all") == 0) {
      sample = 1;
      continue;
    }
    if (strcmp(argv[i], "--fault") == 0)
      m.fault_layer = realpath(value, NULL);
    else if (strcmp(argv[i], "--dress") == 0)
      m.dress_layer = realpath(value, NULL);
    else if (strcmp(argv[i], "--sample") == 0)
      sample = (unsigned)atoi(value);
    else if (strcmp(argv[i], "--seed") == 0)
      text = value;
    else if (strcmp(argv[i], "--positions") == 0)
      positions = (unsigned)atoi(value);
    else if (strcmp(argv[i], "--jobs") == 0)
      m.jobs = atoi(value);
    else if (strcmp(argv[i], "--scratch") == 0)
      m.scratch = value;
    else if (strcmp(argv[i], "--modes") == 0)
      parse_list(value, kModes, MODES, wanted);
    else if (strcmp(argv[i], "--work") == 0)
      parse_list(value, kWorks, WORKS, wanted_work);
    else if (strcmp(argv[i], "--cell") == 0)
      one = value;
    else
      return fprintf(stderr, "fault_matrix: unknown argument %s\n", argv[i]), 2;
    i++;
  }
  if (!m.fault_layer || !m.dress_layer || m.jobs < 1 || m.jobs > SLOTS || positions < 3 || sample < 1)
    return fprintf(stderr, "fault_matrix: --fault and --dress are needed, --jobs 1..%d, --positions from 3\n", SLOTS),
           2;
  if (!m.scratch) m.scratch = folder();
  seed = text_hash(text);
  printf("seed %s, one cell in %u, up to %u calls of each entry, %s\n", text, sample, positions, m.scratch);
  if (one) parse_cell(one);
  for (fault_work work = 0; work < WORKS; work++)
    if (wanted_work[work]) make_cells(work, one != NULL);
  printf("%zu cells\n", cell_count);
  run_all();
  return table_print() ? 0 : 1;
}
