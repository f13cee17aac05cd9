/* SPDX-License-Identifier: Apache-2.0
 * hx_mpi_reduce: each rank makes the whole array, so that it can compare the result of its part with that of one
 * machine. The cases are the same for any number of ranks, and so is the hash of their results. An argument `die` lets
 * one rank die. */
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "tests/mpi/ranks.h"

#define LEAF 4096
#define LONGEST (30 * LEAF + 77)
#define ROOM (128 * LEAF) /* elements of each array */

static const size_t sizes[] = {
    0, 1, 127, LEAF - 1, LEAF, LEAF + 1, 2 * LEAF, 3 * LEAF + 5, 7 * LEAF, 15 * LEAF + 1, LONGEST};
#define COUNT(a) (sizeof(a) / sizeof *(a))

static uint64_t hash;

typedef enum cut_kind { EVEN, RANDOM, SOME_EMPTY, LAST_ALL, FEW, AT_LEAVES, CUT_KINDS, FIRST_AND_LAST } cut_kind;

/* The first elements of all ranks, and the end. */
static void cut(cut_kind kind, uint64_t seed, size_t n, size_t *start) {
  start[0] = 0;
  start[ranks] = n;
  for (int r = 1; r < ranks; r++) {
    const uint64_t random = data_u64(seed, (uint64_t)r);
    const size_t room = n - start[r - 1];
    size_t part = room / (size_t)(ranks - r + 1);
    if (kind == RANDOM) part = random % (2 * part + 1);
    if (kind == SOME_EMPTY) part = random % 2 ? 0 : room / 2;
    if (kind == LAST_ALL) part = 0;
    if (kind == FEW) part = random % 100;
    if (kind == AT_LEAVES) part = (part + LEAF - 1) / LEAF * LEAF;
    if (kind == FIRST_AND_LAST) part = r == 1 ? LEAF : r < ranks - 1 ? room - room % LEAF - LEAF : 0;
    start[r] = start[r - 1] + (part < room ? part : room);
  }
}

static data_kind kind_of(hx_op op, uint64_t seed) {
  const data_kind kinds[] = {DATA_SIGNED, DATA_EXPONENTS, DATA_DENORMALS, DATA_ZEROS,
                             DATA_INF,    DATA_NAN,       DATA_CANCEL,    DATA_ANY};
  return op == HX_PROD && seed % 2 ? DATA_NEAR_ONE : kinds[seed % COUNT(kinds)];
}

/* One case: whole array, cut, result. x and y have room for ROOM elements. */
static void compare(hx_op op, hx_type type, size_t n, cut_kind cuts, uint64_t seed, uint32_t *x, uint32_t *y) {
  size_t start[ranks + 1];
  cut(cuts, seed, n, start);
  data_fill(type, kind_of(op, seed), seed, x, n);
  data_fill(type, kind_of(op, seed), seed + 1, y, n);
  const size_t mine = start[rank], count = start[rank + 1] - mine;
  hx_value want, got = {.u64 = 0x1234567812345678u};
  hx_task whole = hx_reduce(op, type, x, n, &want), part = hx_reduce(op, type, x + mine, count, &got);
  if (op == HX_DOT) {
    whole.reduce.y = y;
    part.reduce.y = y + mine;
  }
  if (op >= HX_MIN && op <= HX_ARGMAX && !n) {
    CHECK_MPI_REFUSED(hx_mpi_reduce(MPI_COMM_WORLD, hx, &part), HX_INVALID_ARGUMENT, "rank 0");
    CHECK(got.u64 == 0x1234567812345678u, "%llx", (unsigned long long)got.u64);
    return;
  }
  CHECK_OK(hx_offload(hx, &whole, NULL));
  CHECK_MPI(hx_mpi_reduce(MPI_COMM_WORLD, hx, &part));
  CHECK(got.u64 == want.u64, "rank %d of %d: op %d type %d n %zu cuts %d seed %llu: %llx, want %llx", rank, ranks, op,
        type, n, cuts, (unsigned long long)seed, (unsigned long long)got.u64, (unsigned long long)want.u64);
  if (rank == (int)(seed % (uint64_t)ranks)) { /* the scalar definition, on one rank at a time */
    const hx_value defined = ref_reduce(op, type, x, op == HX_DOT ? y : NULL, n);
    CHECK(got.u64 == defined.u64, "%llx, the definition says %llx", (unsigned long long)got.u64,
          (unsigned long long)defined.u64);
  }
  hash = hash_add(hash, got.u64);
}

/* Every operation and type at some sizes each, under some cuts. The seeds do not depend on the number of ranks. */
static void compare_all(uint32_t *x, uint32_t *y) {
  uint64_t seed = 100;
  for (int op = HX_SUM; op <= HX_PROD; op++)
    for (int type = HX_F32; type <= HX_U32; type++)
      for (size_t s = 0; s < COUNT(sizes); s++, seed++) {
        const bool ordered = type == HX_F32 && !(op >= HX_MIN && op <= HX_ARGMAX);
        const unsigned last = ordered ? CUT_KINDS : 1;
        for (unsigned c = 0; c < last; c++)
          if (ordered || (seed + (uint64_t)op) % 3 == 0)
            compare((hx_op)op, (hx_type)type, sizes[s], (cut_kind)((c + seed) % CUT_KINDS), seed, x, y);
      }
}

/* A tree with so many leaves that partial results do not fit in the message of a small one, which comes before and
 * after: if there are three ranks or more, the second one has leaves 1 to 126, which are 12 blocks. */
static void compare_large(uint32_t *x, uint32_t *y) {
  const size_t n = 127 * LEAF + 77;
  const hx_op ops[] = {HX_SUM, HX_DOT, HX_PROD};
  for (size_t i = 0; i < COUNT(ops); i++) {
    compare(ops[i], HX_F32, n, EVEN, 900 + i, x, y);
    compare(ops[i], HX_F32, 100, EVEN, 910 + i, x, y);
    compare(ops[i], HX_F32, n, FIRST_AND_LAST, 920 + i, x, y);
  }
}

/* The sum of one array by hx beside what MPI_Allreduce makes of the sums of the parts, of which nothing is checked. */
static void sum_both_ways(uint32_t *bits) {
  size_t start[ranks + 1];
  cut(EVEN, 0, LONGEST, start);
  data_fill(HX_F32, DATA_SIGNED, 0, bits, LONGEST);
  const float *const x = (const float *)bits + start[rank];
  const size_t n = start[rank + 1] - start[rank];
  hx_value by_hx;
  hx_task part = hx_reduce(HX_SUM, HX_F32, x, n, &by_hx);
  CHECK_MPI(hx_mpi_reduce(MPI_COMM_WORLD, hx, &part));
  float sum = 0;
  for (size_t i = 0; i < n; i++) sum += x[i];
  PMPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("sum %.9g, by MPI_Allreduce %.9g\n", by_hx.f32, sum);
}

static void check_errors(uint32_t *x) {
  hx_value out = {.u64 = 7};
  hx_task part = hx_reduce(HX_SUM, HX_F32, x, 10, &out);
  CHECK_MPI_REFUSED(hx_mpi_reduce(MPI_COMM_NULL, hx, &part), HX_INVALID_ARGUMENT, "comm is MPI_COMM_NULL");
  const int last = ranks - 1;
  char rank_text[24];
  snprintf(rank_text, sizeof rank_text, "rank %d", last);
  for (int wrong = 0; wrong < 7; wrong++) {
    hx_task task = part;
    const char *const words[] = {"hx is NULL", "part is NULL", "kind is 3",  "op is 99",
                                 "x is NULL",  "not aligned",  "out is NULL"};
    if (rank == last && wrong == 2) task.kind = HX_MATMUL;
    if (rank == last && wrong == 3) task.reduce.op = (hx_op)99;
    if (rank == last && wrong == 4) task.reduce.x = NULL;
    if (rank == last && wrong == 5) task.reduce.x = (char *)x + 1;
    if (rank == last && wrong == 6) task.reduce.out = NULL;
    hx_context *const context = rank == last && wrong == 0 ? NULL : hx;
    const hx_task *const given = rank == last && wrong == 1 ? NULL : &task;
    CHECK_MPI_REFUSED(hx_mpi_reduce(MPI_COMM_WORLD, context, given), HX_INVALID_ARGUMENT, words[wrong]);
    CHECK(has_words(hx_mpi_error_detail(), rank_text), "%s", hx_mpi_error_detail());
  }
  hx_task task = part; /* of each rank the number of elements is possible; nothing is read */
  task.reduce.n = SIZE_MAX / sizeof(float) / (size_t)ranks + 1;
  task.reduce.out = (hx_value *)(void *)x; /* before its elements */
  task.reduce.x = x + 2;
  CHECK_MPI_REFUSED(hx_mpi_reduce(MPI_COMM_WORLD, hx, &task), HX_INVALID_ARGUMENT, "overflow 64 bits");
  task = part;
  if (rank == last) task.reduce.type = HX_U32;
  const hx_status want = ranks > 1 ? HX_INVALID_ARGUMENT : HX_OK;
  const hx_status got = hx_mpi_reduce(MPI_COMM_WORLD, hx, &task);
  CHECK(got == want && (ranks == 1 || has_words(hx_mpi_error_detail(), "differs")), "%s", hx_mpi_error_detail());
  if (ranks > 1) CHECK(out.u64 == 7, "%llu", (unsigned long long)out.u64);
}

/* What hx_offload refuses, on the last rank: of tasks without an element there, and of those whose elements an earlier
 * rank gets, which begins their leaf. */
static void check_refused_by_hx(uint32_t *x) {
  static const struct {
    hx_op op;
    hx_type type;
  } kinds[] = {{HX_SUM, HX_F32}, {HX_DOT, HX_F32}, {HX_MAX, HX_F32}, {HX_SUM, HX_I32}};
  static const char *const words[] = {
      "gpu_share is nan", "gpu_share is nan", "gpu_share is 2", "reserved",
      "reserved",         "out at",           "out at",         "wraps the address space"};
  hx_value out;
  for (size_t i = 0; i < COUNT(kinds); i++)
    for (size_t wrong = 0; wrong < COUNT(words); wrong++) {
      hx_task task = hx_reduce(kinds[i].op, kinds[i].type, x + 2, 10, &out);
      task.reduce.y = x + 20;
      if (rank == ranks - 1) {
        if (wrong == 0 || wrong == 1) task.gpu_share = NAN;
        if (wrong == 2) task.gpu_share = 2;
        if (wrong == 3 || wrong == 4) task.reserved[5] = 1;
        if (wrong == 1 || wrong == 4) task.reduce.n = 0;
        if (wrong == 5) task.reduce.out = (hx_value *)(void *)(x + 10);
        if (wrong == 6) task.reduce.out = (hx_value *)(void *)x + (kinds[i].op == HX_DOT ? 14 : 1);
        if (wrong == 7) task.reduce.x = (const void *)(UINTPTR_MAX - 7);
      }
      CHECK_MPI_REFUSED(hx_mpi_reduce(MPI_COMM_WORLD, hx, &task), HX_INVALID_ARGUMENT, words[wrong]);
    }
  hx_task blocks = hx_reduce(HX_SUM, HX_F32, x, 7 * LEAF, &out); /* a list of tasks, which the sentence does not tell */
  blocks.reserved[0] = 1;
  CHECK_MPI_REFUSED(hx_mpi_reduce(MPI_COMM_WORLD, hx, &blocks), HX_INVALID_ARGUMENT, "reserved");
  CHECK(!strstr(hx_mpi_error_detail(), "task 0"), "%s", hx_mpi_error_detail());
}

/* hx fails on one rank, which has elements of its own, after all have told how many they have; or, of integers, before.
 * All get its status. The next call is right. */
static void fail_by_device(uint32_t *x) {
  const int failing = ranks / 2;
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "sim";
  settings.sim = "rate=1e9,fail=enqueue@1";
  settings.offload = "mandatory";
  hx_context *const context = rank == failing ? open_or_exit(&settings) : hx;
  char words[24];
  snprintf(words, sizeof words, "rank %d", failing);
  for (int type = HX_F32; type <= HX_I32; type++) {
    const uint64_t before = 7;
    hx_value out = {.u64 = before};
    const hx_task part = hx_reduce(HX_SUM, (hx_type)type, x, 3 * LEAF, &out);
    CHECK_MPI_REFUSED(hx_mpi_reduce(MPI_COMM_WORLD, context, &part), HX_DEVICE_FAILED, words);
    CHECK(out.u64 == before, "%llx", (unsigned long long)out.u64);
    compare(HX_SUM, (hx_type)type, 3 * LEAF, EVEN, 1, x, x + ROOM);
  }
  if (rank == failing) hx_close(context);
}

/* The lines that a call writes to stderr. */
static int count_lines(hx_context *context, const hx_task *part) {
  FILE *const log = tmpfile();
  const int standard = dup(STDERR_FILENO);
  int lines = 0;
  CHECK(log && dup2(fileno(log), STDERR_FILENO) == STDERR_FILENO, "no file");
  CHECK_MPI(hx_mpi_reduce(MPI_COMM_WORLD, context, part));
  dup2(standard, STDERR_FILENO);
  close(standard);
  rewind(log);
  for (int c = getc(log); c != EOF; c = getc(log)) lines += c == '\n';
  fclose(log);
  return lines;
}

/* With HX_LOG=info a call writes one line if hx gets one task: a leaf, the leaf that ranks share, a part of integers,
 * or nothing on a rank that has no element, or whose elements an earlier rank gets. */
static void check_log(uint32_t *x) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "cpu";
  settings.log = "info";
  hx_context *const context = open_or_exit(&settings);
  hx_value out;
  const struct {
    hx_op op;
    hx_type type;
    size_t n, n_last; /* of the last rank */
  } rows[] = {{HX_SUM, HX_F32, LEAF, LEAF}, {HX_SUM, HX_F32, 10, 10}, {HX_DOT, HX_F32, 10, 0}, {HX_SUM, HX_I32, 10, 10},
              {HX_SUM, HX_I32, 0, 0},       {HX_PROD, HX_F32, 0, 0},  {HX_MAX, HX_F32, 10, 0}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    hx_task part = hx_reduce(rows[i].op, rows[i].type, x, 0, &out);
    part.reduce.y = x;
    part.reduce.n = rank && rank == ranks - 1 ? rows[i].n_last : rows[i].n;
    const int lines = count_lines(context, &part);
    CHECK(lines == 1, "row %zu: %d lines", i, lines);
  }
  hx_close(context);
  settings.log = NULL;
  hx_close(open_or_exit(&settings)); /* puts the level back */
}

/* The last rank makes no call. */
static void refuse(uint32_t *x) {
  hx_value out = {.u64 = 7};
  const hx_task part = hx_reduce(HX_SUM, HX_F32, x, 10, &out);
  const struct {
    hx_status given, want;
    const char *why, *words;
  } rows[] = {{HX_UNSUPPORTED, HX_UNSUPPORTED, "there is no file", ": there is no file"},
              {HX_OK, HX_INVALID_ARGUMENT, "", ": status is 0, which is no error"},
              {HX_INTERNAL + 1, HX_INVALID_ARGUMENT, "", ": status is 7, which is no error"},
              {HX_OUT_OF_MEMORY, HX_INVALID_ARGUMENT, NULL, ": why is NULL"}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    char words[64];
    snprintf(words, sizeof words, "rank %d%s", ranks - 1, rows[i].words);
    if (rank == ranks - 1)
      CHECK_MPI_REFUSED(hx_mpi_refuse(MPI_COMM_WORLD, rows[i].given, rows[i].why), rows[i].want, words);
    else
      CHECK_MPI_REFUSED(hx_mpi_reduce(MPI_COMM_WORLD, hx, &part), rows[i].want, words);
  }
  CHECK(out.u64 == 7, "%llu", (unsigned long long)out.u64);
  CHECK_MPI_REFUSED(hx_mpi_refuse(MPI_COMM_NULL, HX_INTERNAL, "x"), HX_INVALID_ARGUMENT, "comm is MPI_COMM_NULL");
}

static int handled;
static void count_errors(MPI_Comm *comm, int *code, ...) {
  (void)comm, (void)code;
  handled++;
}

/* A call of MPI that a reduction makes fails on all ranks; the handler hears of it. Whether there is such a call. */
static bool fail_one_call(MPI_Comm comm, const hx_task *part, int call) {
  handled = 0;
  fail_call(call);
  const hx_status status = hx_mpi_reduce(comm, hx, part);
  const bool failed = calls_made() >= call;
  fail_call(0);
  CHECK(status == (failed ? HX_DEVICE_FAILED : HX_OK) && handled == failed, "call %d: %s, handled %d times: %s", call,
        hx_status_string(status), handled, hx_mpi_error_detail());
  if (failed) check_mpi_text();
  return failed;
}

/* How many exchanges there are once the communicator has its duplicate: one if the order does not matter. Sums of
 * floats also wait for borders, even if there are none. */
static void count_calls(uint32_t *x) {
  hx_value out;
  const struct {
    hx_op op;
    hx_type type;
    int calls;
  } rows[] = {{HX_SUM, HX_F32, 3}, {HX_SUM, HX_I32, 1}, {HX_MAX, HX_F32, 1}, {HX_ARGMIN, HX_U32, 1}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    const hx_task part = hx_reduce(rows[i].op, rows[i].type, x, 1000, &out);
    CHECK_MPI(hx_mpi_reduce(MPI_COMM_WORLD, hx, &part));
    fail_call(0);
    CHECK_MPI(hx_mpi_reduce(MPI_COMM_WORLD, hx, &part));
    CHECK(calls_made() == rows[i].calls, "row %zu: %d calls of MPI, not %d", i, calls_made(), rows[i].calls);
  }
}

static MPI_Comm new_communicator(MPI_Errhandler handler) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, handler);
  return comm;
}

/* Every call fails once with a new communicator, and once with one that was used before; the next call works, and no
 * object of MPI is left. */
static void fail_every_call(uint32_t *x) {
  MPI_Errhandler handler;
  const int before = objects_alive();
  bool failed = true;
  MPI_Comm_create_errhandler(count_errors, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* it hears of types and operations */
  hx_value want = {0}, got = {0};
  hx_task part = hx_reduce(HX_SUM, HX_F32, x, 1000, &want);
  CHECK_MPI(hx_mpi_reduce(MPI_COMM_WORLD, hx, &part));
  part.reduce.out = &got;
  for (int call = 1; failed; call++) {
    MPI_Comm fresh = new_communicator(handler);
    failed = fail_one_call(fresh, &part, call);
    MPI_Comm_free(&fresh);
    CHECK(objects_alive() == before, "call %d: %d objects of MPI are left", call, objects_alive() - before);
  }
  MPI_Comm kept = new_communicator(handler);
  fail_one_call(kept, &part, INT_MAX); /* none fails */
  for (int call = 1; fail_one_call(kept, &part, call); call++) {
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  for (int call = 1; fail_one_call(MPI_COMM_WORLD, &part, call); call++) {
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  CHECK(got.u64 == want.u64, "%llx", (unsigned long long)got.u64);
  MPI_Comm_free(&kept);
  MPI_Errhandler_free(&handler);
  CHECK(objects_alive() == before, "%d objects of MPI are left", objects_alive() - before);
}

/* Whether all functions are refused because MPI is not there. No argument is looked at. */
static void check_without_mpi(const char *words) {
  CHECK_MPI_REFUSED(hx_mpi_reduce(MPI_COMM_WORLD, NULL, NULL), HX_INVALID_ARGUMENT, words);
  CHECK_MPI_REFUSED(hx_mpi_refuse(MPI_COMM_WORLD, HX_INTERNAL, NULL), HX_INVALID_ARGUMENT, words);
  CHECK_MPI_REFUSED(hx_mpi_matmul(MPI_COMM_WORLD, NULL, 0, 0, 0, 1, NULL, NULL, NULL, NULL, 0, NULL, NULL),
                    HX_INVALID_ARGUMENT, words);
}

int main(int argc, char **argv) {
  check_without_mpi("MPI is not initialized");
  start_rank(argc, argv);
  uint32_t *const x = malloc(2 * ROOM * sizeof *x);
  compare_all(x, x + ROOM);
  compare_large(x, x + ROOM);
  if (is_to_die) raise(SIGKILL); /* the other ranks are in the next call */
  check_errors(x);
  check_refused_by_hx(x);
  refuse(x);
  fail_by_device(x);
  check_log(x);
  count_calls(x);
  fail_every_call(x);
  sum_both_ways(x);
  check_lost();
  unsigned counts[2] = {checks_done, checks_failed};
  uint64_t hashes[2] = {hash >> 1, ~hash >> 1}; /* both MPIs compare 63 bits */
  PMPI_Allreduce(MPI_IN_PLACE, counts, 2, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD);
  PMPI_Allreduce(MPI_IN_PLACE, hashes, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  const bool same = hashes[0] == (~hashes[1] << 1) >> 1;
  if (rank == 0) printf("hash %016llx\n%u checks, %u failed\n", (unsigned long long)hash, counts[0], counts[1] + !same);
  free(x);
  hx_close(hx);
  MPI_Finalize();
  check_without_mpi("MPI is finalized");
  return counts[1] || !same || checks_failed;
}
