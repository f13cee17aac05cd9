/* SPDX-License-Identifier: Apache-2.0
 * Memory and threads that run out. Each call of scarce/calls.c is made with the first allocation refused, then with the
 * second, and so on, once only that one and once all that follow, too; then likewise with pthread_create, each time in
 * another process. The call returns HX_OK with the right bits, or an error with nothing written; the same call then
 * works; and after hx_close no more memory is left than in a process to which nothing was refused.
 *     alloc_test [--devices LIST [--memory MODE]] [--only NAME]
 * With LIST a driver's devices replace the simulated ones: only the rows with on_drivers are run, and a call's
 * first kernels are built, or taken from the cache, while memory runs out. */
#define _GNU_SOURCE
#include <dirent.h>
#include <sys/mman.h>

#include "reference/data.h"
#include "reference/ref.h"
#include "tests/scarce/calls.h"
#include "tests/scarce/scarce.h"
#include "tests/scenario.h"

enum { SITES = 512, SECONDS = 60, SETTLED = 5, BASELINES = 2, MORE = 1000 };

typedef enum verdict { CRASHED, PARTIAL, WRONG, STUCK, LEAKED, VERDICTS } verdict;
static const char *const verdict_names[VERDICTS] = {"crashes", "partial writes", "wrong", "later calls failed",
                                                    "leaks"};

/* What the process of one call reports to the test. */
typedef struct finding {
  bool skipped, fired, ended;
  bool is[VERDICTS];
  unsigned long requests[SCARCE_KINDS];
  size_t sites, files;
  scarce_site site[SITES];
  char detail[256];
} finding;

static finding *shared, usual; /* usual: the report of a process to which nothing is refused */
static world state;
static void *before, *want;
static size_t out_bytes;

static void *outputs(void) { return state.row->m ? (void *)state.c : (void *)state.values; }

/* The next functions make the task of a row, its data, the outputs before the call and the right outputs. They run in
 * the parent, once per row. */
static float *floats(size_t count, uint64_t seed) {
  float *const p = malloc((count ? count : 1) * sizeof *p);
  data_fill(HX_F32, DATA_SIGNED, seed, p, count);
  return p;
}

static void set_reduction(const row *r) {
  const hx_op ops[] = {HX_SUM, HX_DOT, HX_MAX, HX_ARGMIN};
  const hx_type types[] = {HX_F32, HX_I32, HX_U32};
  hx_value right[MOST_FIELDS];
  state.a = floats(r->n, 1);
  state.b = floats(r->n, 2);
  for (size_t i = 0; i < (r->fields ? r->fields : 1); i++) {
    const hx_op op = r->fields ? ops[i % 4] : r->op;
    const hx_type type = r->fields ? types[i % 3] : r->type;
    state.fields[i] = (hx_field){op, type, state.a, state.b};
    right[i] = ref_reduce(op, type, state.a, state.b, r->n);
    state.values[i].u64 = 77;
  }
  if (r->fields)
    state.task = hx_reduce_soa(state.fields, r->fields, r->n, state.values);
  else if (r->op == HX_DOT)
    state.task = hx_dot(r->type, state.a, state.b, r->n, state.values);
  else
    state.task = hx_reduce(r->op, r->type, state.a, r->n, state.values);
  out_bytes = (r->fields ? r->fields : 1) * sizeof(hx_value);
  want = memcpy(malloc(out_bytes), right, out_bytes);
}

static void set_product(const row *r) {
  const size_t ldc = r->cols + r->gap;
  state.a = floats(r->m * r->k, 1);
  state.b = floats(r->k * r->cols, 2);
  state.c_floats = (r->m - 1) * ldc + r->cols;
  state.c = floats(state.c_floats, 3);
  out_bytes = state.c_floats * sizeof(float);
  state.task = hx_matmul(r->m, r->cols, r->k, state.a, state.b, state.c);
  struct hx_matmul_args *const t = &state.task.matmul;
  t->ldc = ldc;
  t->alpha = r->alpha;
  t->beta = r->beta;
  t->trans_a = r->trans_a;
  t->trans_b = r->trans_b;
  want = memcpy(malloc(out_bytes), state.c, out_bytes);
  struct hx_matmul_args right = *t;
  right.c = want;
  ref_matmul(&right);
}

static void set_row(const row *r, const char *devices, const char *memory) {
  static char list[64];
  memset(&state, 0, sizeof state);
  state.row = r;
  (r->m ? set_product : set_reduction)(r);
  state.task.gpu_share = r->share;
  snprintf(list, sizeof list, "cpu,%s", devices ? devices : "sim");
  state.settings = (hx_settings)HX_SETTINGS_DEFAULT;
  state.settings.devices = r->sim ? list : r->devices;
  state.driver = devices;
  state.settings.sim = devices ? NULL : r->sim;
  state.settings.memory = devices ? memory : NULL;
  state.settings.threads = r->threads;
  state.settings.min_offload = r->min_offload;
  state.settings.log = "error";
  before = memcpy(malloc(out_bytes), outputs(), out_bytes);
}

static void free_row(void) {
  free(state.a);
  free(state.b);
  free(state.c);
  free(before);
  free(want);
}

static size_t open_files(void) {
  size_t count = 0;
  DIR *const files = opendir("/proc/self/fd");
  while (files && readdir(files)) count++;
  if (files) closedir(files);
  return count;
}

static bool output_is_right(void) { return memcmp(outputs(), want, out_bytes) == 0; }
static bool is_untouched(void) { return memcmp(outputs(), before, out_bytes) == 0; }

/* Repeats the task when memory is no longer refused. */
static bool works_now(void) {
  if (!state.hx && hx_open(&state.hx, &state.settings) != HX_OK) return false;
  memcpy(outputs(), before, out_bytes);
  if (state.row->finish && hx_modified(state.hx, outputs(), out_bytes) != HX_OK) return false;
  return call_offload(&state) == HX_OK && (!state.row->finish || state.row->finish(&state) == HX_OK) &&
         output_is_right();
}

static unsigned blocks_at(const finding *f, const void *from) {
  for (size_t i = 0; i < f->sites; i++)
    if (f->site[i].from == from) return f->site[i].blocks;
  return 0;
}

extern const char __executable_start[];

/* Compares with the usual process, because some blocks stay allocated until the process ends; there may be fewer of
 * them, because one was refused. The detail names the addresses of the calls that allocated what is left; addr2line -e
 * alloc_test finds their lines. */
static bool child_has_leaks(void) {
  shared->files = open_files();
  shared->sites = scarce_live(shared->site, SITES);
  bool leaks = shared->files > usual.files;
  if (leaks) snprintf(shared->detail, sizeof shared->detail, "%zu files open, not %zu", shared->files, usual.files);
  for (size_t i = 0; i < shared->sites; i++) {
    const scarce_site *const s = &shared->site[i];
    if (s->blocks <= blocks_at(&usual, s->from)) continue;
    snprintf(shared->detail, sizeof shared->detail, "%u blocks of 0x%tx, not %u", s->blocks,
             (const char *)s->from - __executable_start, blocks_at(&usual, s->from));
    leaks = true;
  }
  return leaks;
}

/* Threads that prepare devices may still be running, with blocks that they will free. */
static bool goes_on_leaking(void) {
  const bool first = usual.sites == 0;
  const double until = seconds_now() + SETTLED;
  if (first && state.driver) usleep(500000);
  while (child_has_leaks() && !first && seconds_now() < until) usleep(10000);
  return !first && child_has_leaks();
}

static void call_with_refusals(scarce_kind kind, unsigned long nth, bool for_good) {
  finding *const f = shared;
  const row *const r = state.row;
  hx_offload(NULL, NULL, NULL); /* a thread's first failure allocates its error text and keeps it */
  if (hx_open(&state.hx, &state.settings) != HX_OK || (r->prepare && !r->prepare(&state))) {
    f->skipped = true;
    snprintf(f->detail, sizeof f->detail, "%s", hx_error_detail());
    return;
  }
  scarce_begin(kind, nth, for_good);
  const hx_status s = r->call(&state);
  scarce_end();
  for (size_t i = 0; i < SCARCE_KINDS; i++) f->requests[i] = scarce_requests(i);
  f->fired = nth && scarce_requests(kind) >= nth;
  if (s != HX_OK) snprintf(f->detail, sizeof f->detail, "%s: %s", hx_status_string(s), hx_error_detail());
  if (s == HX_OK && r->finish && r->finish(&state) != HX_OK) f->is[WRONG] = true;
  f->is[PARTIAL] = (s != HX_OK || !scarce_computes(r)) && !is_untouched();
  const bool answers = r->m && r->call == call_offload; /* a product works with any amount of memory */
  if (s == HX_OK ? scarce_computes(r) && !output_is_right() : s != HX_OUT_OF_MEMORY || answers) f->is[WRONG] = true;
  f->is[STUCK] = !works_now();
  hx_close(state.hx);
  f->is[LEAKED] = goes_on_leaking();
  f->ended = true;
}

static void run_child(scarce_kind kind, unsigned long nth, bool for_good) {
  memset(shared, 0, sizeof *shared);
  fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(SECONDS); /* a hang is a crash */
    call_with_refusals(kind, nth, for_good);
    _exit(0);
  }
  const int status = child_wait(pid);
  if (status == 0 && (shared->ended || shared->skipped)) return;
  shared->is[CRASHED] = shared->fired = true;
  snprintf(shared->detail, sizeof shared->detail, "exit status %d (128 + signal; 142: it hung)", status);
}

typedef struct tally {
  unsigned calls, tried, refused[SCARCE_KINDS], seen[VERDICTS];
} tally;

static void print_verdicts(const row *r, scarce_kind kind, unsigned long nth, bool for_good, tally *t) {
  static const char *const kinds[SCARCE_KINDS] = {"allocation", "thread"};
  t->tried++;
  t->refused[kind]++;
  for (size_t i = 0; i < VERDICTS; i++) {
    if (!shared->is[i]) continue;
    t->seen[i]++;
    printf("FAILED %s: %s %lu%s: %s: %s\n", r->name, kinds[kind], nth, for_good ? " and later" : "", verdict_names[i],
           shared->detail);
  }
}

/* The greatest number of blocks that are left after several runs, because threads of drivers may still be running. */
static bool baseline(const row *r) {
  finding most;
  memset(&most, 0, sizeof most);
  memset(&usual, 0, sizeof usual);
  for (int i = 0; i < BASELINES; i++) {
    run_child(SCARCE_MEMORY, 0, false);
    if (shared->skipped) {
      printf("%s: skipped: %s\n", r->name, shared->detail);
      return false;
    }
    for (size_t v = 0; v < VERDICTS; v++)
      if (shared->is[v]) printf("FAILED %s: nothing refused: %s: %s\n", r->name, verdict_names[v], shared->detail);
    for (size_t v = 0; v < VERDICTS; v++)
      if (shared->is[v]) return false;
    for (size_t s = 0; s < shared->sites; s++) {
      size_t at = 0;
      while (at < most.sites && most.site[at].from != shared->site[s].from) at++;
      if (at == most.sites) most.site[most.sites++] = shared->site[s];
      if (most.site[at].blocks < shared->site[s].blocks) most.site[at] = shared->site[s];
    }
    if (most.files < shared->files) most.files = shared->files;
    memcpy(most.requests, shared->requests, sizeof most.requests);
  }
  usual = most;
  return true;
}

static void refuse_each_request(const row *r, tally *t) {
  const double from = seconds_now();
  const tally was = *t;
  if (!baseline(r)) {
    t->seen[WRONG] += !shared->skipped;
    return;
  }
  t->calls++;
  for (scarce_kind kind = SCARCE_MEMORY; kind < SCARCE_KINDS; kind++)
    for (int for_good = 0; for_good <= 1; for_good++)
      for (unsigned long nth = 1;; nth++) {
        run_child(kind, nth, for_good);
        if (!shared->fired || nth > usual.requests[kind] + MORE) break;
        print_verdicts(r, kind, nth, for_good, t);
      }
  printf("%-36s %4lu allocations %3lu threads: %4u refusals tried in %.1f s\n", r->name, usual.requests[SCARCE_MEMORY],
         usual.requests[SCARCE_THREADS], t->tried - was.tried, seconds_now() - from);
}

int main(int argc, char **argv) {
  const char *devices = NULL, *memory = NULL, *only = NULL;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--devices") == 0) devices = argv[i + 1];
    if (strcmp(argv[i], "--memory") == 0) memory = argv[i + 1];
    if (strcmp(argv[i], "--only") == 0) only = argv[i + 1];
  }
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return perror("mmap"), 1;
  tally t = {0};
  for (size_t i = 0; i < scarce_row_count; i++) {
    const row *const r = &scarce_rows[i];
    if (devices && !r->on_drivers) continue;
    if (only && strcmp(only, r->name) != 0) continue;
    set_row(r, devices, memory);
    refuse_each_request(r, &t);
    free_row();
  }
  unsigned failed = 0;
  for (size_t i = 0; i < VERDICTS; i++) failed += t.seen[i];
  printf("alloc_test: %u calls, %u allocations and %u threads refused:", t.calls, t.refused[SCARCE_MEMORY],
         t.refused[SCARCE_THREADS]);
  for (size_t i = 0; i < VERDICTS; i++) printf(" %u %s%s", t.seen[i], verdict_names[i], i + 1 < VERDICTS ? "," : "\n");
  return failed > 0 || t.calls == 0;
}
