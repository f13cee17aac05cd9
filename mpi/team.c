/* SPDX-License-Identifier: Apache-2.0 */
#include "mpi/team.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/hx_mpi.h"

#define SENTENCE_BYTES 512

static _Thread_local char sentence[SENTENCE_BYTES];

const char *hx_mpi_error_detail(void) { return sentence; }

hx_status hx__mpi_fail(hx_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  return status;
}

hx_status hx__mpi_fail_by_hx(hx_status status) { return hx__mpi_fail(status, "%s", hx_error_detail()); }

bool hx__mpi_did_on(const hx__mpi_team *team, MPI_Comm told, int code, const char *function) {
  if (code == MPI_SUCCESS) return true;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length;
  MPI_Error_string(code, text, &length);
  hx__mpi_fail(HX__MPI_FAILED, "%s: %s", function, text);
  if (told != team->user) MPI_Comm_call_errhandler(team->user, code);
  return false;
}

bool hx__mpi_did(const hx__mpi_team *team, int code, const char *function) {
  return hx__mpi_did_on(team, team->comm, code, function);
}

/* Of a call with the communicator of the user. */
static bool user_did(const hx__mpi_team *team, int code, const char *function) {
  return hx__mpi_did_on(team, team->user, code, function);
}

/* What is wrong with the first request of a list that failed. */
static int code_of(int code, int count, const MPI_Status *statuses) {
  int class = code;
  MPI_Error_class(code, &class);
  for (int i = 0; class == MPI_ERR_IN_STATUS && i < count; i++)
    if (statuses[i].MPI_ERROR != MPI_SUCCESS && statuses[i].MPI_ERROR != MPI_ERR_PENDING) return statuses[i].MPI_ERROR;
  return code;
}

bool hx__mpi_wait_all(const hx__mpi_team *team, int count, MPI_Request *requests) {
  enum { AT_ONCE = 64 };
  int waited = 0;
  do {
    MPI_Status statuses[AT_ONCE];
    const int n = count - waited < AT_ONCE ? count - waited : AT_ONCE;
    const int code = MPI_Waitall(n, requests + waited, statuses);
    if (code != MPI_SUCCESS) return hx__mpi_did(team, code_of(code, n, statuses), "MPI_Waitall");
    waited += n;
  } while (waited < count);
  return true;
}

/* gcc takes MPICH's MPI_STATUSES_IGNORE, which is the address 1, for an array of no element. */
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif
bool hx__mpi_move_on(const hx__mpi_team *team, int count, MPI_Request *requests) {
  int are_done;
  return hx__mpi_did(team, MPI_Testall(count, requests, &are_done, MPI_STATUSES_IGNORE), "MPI_Testall");
}

static int key = MPI_KEYVAL_INVALID; /* of the attribute */
static int key_code;

static int free_kept(MPI_Comm comm, int keyval, void *attribute, void *extra) {
  (void)comm, (void)keyval, (void)extra;
  hx__mpi_kept *const kept = attribute;
  if (kept->row != MPI_COMM_NULL) MPI_Comm_free(&kept->row);
  if (kept->column != MPI_COMM_NULL) MPI_Comm_free(&kept->column);
  const int code = MPI_Comm_free(&kept->comm);
  free(kept);
  return code;
}

static void make_key(void) { key_code = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_kept, &key, NULL); }

/* The lowest rank on which something is not there; team->size if there is none. False after an error of MPI. */
static bool find_lack(const hx__mpi_team *team, bool is_there, int *first) {
  *first = is_there ? team->size : team->rank;
  const int code = MPI_Allreduce(MPI_IN_PLACE, first, 1, MPI_INT, MPI_MIN, team->user);
  return user_did(team, code, "MPI_Allreduce");
}

/* The duplicate for kept, or no rank has it. The allocation is agreed on before it is made, because all ranks make it
 * or none. MPI may fail to make it on one rank alone: a function of the program that copies an attribute may. */
static hx_status make_duplicate(hx__mpi_team *team, hx__mpi_kept *kept) {
  int first;
  if (!find_lack(team, kept, &first)) return HX__MPI_FAILED;
  if (!kept || first < team->size)
    return hx__mpi_fail(HX_OUT_OF_MEMORY, "rank %d: no memory for a duplicate of the communicator", first);
  const bool is_made = user_did(team, MPI_Comm_dup(team->user, &kept->comm), "MPI_Comm_dup");
  if (!find_lack(team, is_made, &first)) {
    if (is_made) MPI_Comm_free(&kept->comm);
    return HX__MPI_FAILED;
  }
  if (!is_made) return HX__MPI_FAILED;
  if (first < team->size) return hx__mpi_fail(HX__MPI_FAILED, "rank %d: MPI_Comm_dup failed", first);
  team->kept = kept;
  team->comm = kept->comm; /* with the error handler of the user's */
  if (user_did(team, MPI_Comm_set_errhandler(team->comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler") &&
      user_did(team, MPI_Comm_set_attr(team->user, key, kept), "MPI_Comm_set_attr"))
    return HX_OK;
  MPI_Comm_free(&kept->comm);
  return HX__MPI_FAILED;
}

static hx_status duplicate(hx__mpi_team *team) {
  hx__mpi_kept *const kept = malloc(sizeof *kept + (size_t)team->size * sizeof kept->told[0]);
  if (kept) *kept = (hx__mpi_kept){MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL};
  const hx_status status = make_duplicate(team, kept);
  if (status != HX_OK) free(kept);
  return status;  // NOLINT(clang-analyzer-unix.Malloc): after HX_OK the team has it
}

static hx_status check(MPI_Comm comm, const char *name) {
  int initialized = 0, finalized = 0, is_inter = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (!initialized) return hx__mpi_fail(HX_INVALID_ARGUMENT, "MPI is not initialized");
  if (finalized) return hx__mpi_fail(HX_INVALID_ARGUMENT, "MPI is finalized");
  if (comm == MPI_COMM_NULL) return hx__mpi_fail(HX_INVALID_ARGUMENT, "%s is MPI_COMM_NULL", name);
  MPI_Comm_test_inter(comm, &is_inter);
  if (is_inter) return hx__mpi_fail(HX_INVALID_ARGUMENT, "%s is an intercommunicator", name);
  return HX_OK;
}

hx_status hx__mpi_join(MPI_Comm comm, const char *name, hx__mpi_team *team) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  const hx_status status = check(comm, name);
  if (status != HX_OK) return status;
  *team = (hx__mpi_team){.user = comm};
  pthread_once(&once, make_key);
  hx__mpi_kept *kept = NULL;
  int found = 0;
  if (!hx__mpi_did_on(team, MPI_COMM_WORLD, key_code, "MPI_Comm_create_keyval") ||
      !user_did(team, MPI_Comm_get_attr(comm, key, &kept, &found), "MPI_Comm_get_attr") ||
      !user_did(team, MPI_Comm_rank(comm, &team->rank), "MPI_Comm_rank") ||
      !user_did(team, MPI_Comm_size(comm, &team->size), "MPI_Comm_size"))
    return HX__MPI_FAILED;
  if (!found) return duplicate(team);
  team->kept = kept;
  team->comm = kept->comm;
  return HX_OK;
}

hx_status hx__mpi_agree_with(const hx__mpi_team *team, int first, hx_status mine) {
  if (first == team->size) return HX_OK;
  struct {
    int status;
    char text[SENTENCE_BYTES];
  } told = {(int)mine, ""};
  memcpy(told.text, sentence, sizeof sentence);
  if (!hx__mpi_did(team, MPI_Bcast(&told, (int)sizeof told, MPI_BYTE, first, team->comm), "MPI_Bcast"))
    return HX__MPI_FAILED;
  told.text[SENTENCE_BYTES - 1] = '\0';
  return hx__mpi_fail((hx_status)told.status, "rank %d: %.*s", first, SENTENCE_BYTES - 24, told.text);
}

hx_status hx__mpi_agree(const hx__mpi_team *team, hx_status mine) {
  int first = mine == HX_OK ? team->size : team->rank;
  if (!hx__mpi_did(team, MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, team->comm), "MPI_Allreduce"))
    return HX__MPI_FAILED;
  return hx__mpi_agree_with(team, first, mine);
}

hx_status hx__mpi_begin(const hx__mpi_team *team, hx_status mine, const hx__mpi_told *told) {
  hx__mpi_told own = *told, *const all = team->kept->told;
  const int bytes = (int)sizeof own;
  own.status = (uint32_t)mine;
  if (!hx__mpi_did(team, MPI_Allgather(&own, bytes, MPI_BYTE, all, bytes, MPI_BYTE, team->comm), "MPI_Allgather"))
    return HX__MPI_FAILED;
  int first = 0;
  while (first < team->size && all[first].status == HX_OK) first++;
  return hx__mpi_agree_with(team, first, mine);
}

hx_status hx_mpi_refuse(MPI_Comm comm, hx_status status, const char *why) {
  hx__mpi_team team;
  const hx_status joined = hx__mpi_join(comm, "comm", &team);
  if (joined != HX_OK) return joined;
  if (status <= HX_OK || status > HX_INTERNAL)
    status = hx__mpi_fail(HX_INVALID_ARGUMENT, "status is %d, which is no error", (int)status);
  else
    status = !why              ? hx__mpi_fail(HX_INVALID_ARGUMENT, "why is NULL")
             : why == sentence ? status
                               : hx__mpi_fail(status, "%s", why);
  return hx__mpi_begin(&team, status, &(hx__mpi_told){0});
}
