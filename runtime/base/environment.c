/* SPDX-License-Identifier: Apache-2.0
 * Information from the environment that is not in the table of settings. */
#define _GNU_SOURCE
#include "runtime/base/environment.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "runtime/base/config.h"
#include "runtime/base/log.h"
#include "runtime/base/span.h"

bool hx__is_secure_process(void) { return getauxval(AT_SECURE) != 0; }

void hx__environment_cache_dir(char *out, size_t bytes) {
  static const struct { const char *variable, *below; } homes[] = {{"XDG_CACHE_HOME", "/hx"}, {"HOME", "/.cache/hx"}};
  for (size_t i = 0; i < sizeof homes / sizeof homes[0]; i++) {
    const char *home = secure_getenv(homes[i].variable);
    if (!home || home[0] != '/') continue; /* XDG Base Directory Specification: a relative path is ignored */
    if ((size_t)snprintf(out, bytes, "%s%s", home, homes[i].below) < bytes) return;
  }
  out[0] = '\0';
}

#define LEAST_SPINS 300000.0 /* of libgomp's waiting loop, its default: some milliseconds */

static const char blanks[] = " \t\n\v\f\r";

uint32_t hx__environment_omp_threads(void) {
  const char *list = secure_getenv("OMP_NUM_THREADS");
  if (!list) return 0;
  list += strspn(list, blanks); /* as in libgomp: blanks, then a number for each level of nesting */
  const size_t n = strspn(list, "0123456789");
  const char after = list[n + strspn(list + n, blanks)];
  uint64_t threads;
  if ((after != '\0' && after != ',') || !hx__span_integer((hx__span){list, n}, 1, UINT64_MAX, &threads)) return 0;
  return threads < HX__MOST_THREADS ? (uint32_t)threads : HX__MOST_THREADS;
}

/* As in libgomp, spins is a number, with an optional letter for the factor, or "infinity"; anything else is ignored. */
bool hx__omp_sleeps_by(const char *spins, const char *policy) {
  static const char letters[] = "kmgt";
  if (spins) {
    char *end;
    double count = strtod(spins, &end); /* takes "infinity", too */
    const char *const letter = end > spins && *end ? strchr(letters, *end | 0x20) : NULL;
    for (size_t i = 0; letter && i <= (size_t)(letter - letters); i++) count *= 1000.0;
    end += letter != NULL;
    if (end > spins && end[strspn(end, blanks)] == '\0') return count < LEAST_SPINS;
  }
  static const char passive[] = "passive";
  if (policy) policy += strspn(policy, blanks);
  return policy && strncasecmp(policy, passive, sizeof passive - 1) == 0 &&
         policy[sizeof passive - 1 + strspn(policy + sizeof passive - 1, blanks)] == '\0';
}

static bool omp_sleeps;

static void read_wait_policy(void) {
  omp_sleeps = hx__omp_sleeps_by(secure_getenv("GOMP_SPINCOUNT"), secure_getenv("OMP_WAIT_POLICY"));
}

bool hx__environment_omp_sleeps(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_wait_policy);
  return omp_sleeps;
}

/* As in libgomp, the value is a number of KiB, or of the unit of the letter after it. 0: not set. */
static size_t stack_of(const char *variable) {
  static const struct {
    char letter;
    unsigned shift;
  } units[] = {{'b', 0}, {'k', 10}, {'m', 20}, {'g', 30}};
  const char *s = secure_getenv(variable);
  if (!s) return 0;
  s += strspn(s, blanks);
  const size_t n = strspn(s, "0123456789");
  const char *end = s + n + strspn(s + n, blanks);
  unsigned shift = 10;
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
    if ((*end | 0x20) == units[i].letter) {
      shift = units[i].shift;
      end++;
      break;
    }
  uint64_t value;
  const bool fine =
      end[strspn(end, blanks)] == '\0' && hx__span_integer((hx__span){s, n}, 1, SIZE_MAX >> shift, &value);
  return fine ? (size_t)value << shift : 0;
}

static size_t omp_stack;
static void read_omp_stack(void) {
  omp_stack = stack_of("OMP_STACKSIZE");
  if (!omp_stack) omp_stack = stack_of("GOMP_STACKSIZE");
}

size_t hx__environment_omp_stack(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_omp_stack);
  return omp_stack;
}

#define MOST_LETTERS 64 /* of a name: longer ones are equally far from every known name */

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

size_t hx__edit_distance(const char *a, size_t length, const char *b) {
  size_t row[MOST_LETTERS + 1];
  const size_t columns = strnlen(b, MOST_LETTERS), n = min_size(length, MOST_LETTERS);
  for (size_t j = 0; j <= columns; j++) row[j] = j;
  for (size_t i = 0; i < n; i++) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < columns; j++) {
      const size_t replaced = diagonal + (toupper((unsigned char)a[i]) != toupper((unsigned char)b[j]));
      diagonal = row[j + 1];
      row[j + 1] = min_size(replaced, min_size(diagonal, row[j]) + 1);
    }
  }
  return row[columns];
}

/* Variables that the Python package reads: when it is built, and when hx.mpi is imported. */
static const char *const of_python[] = {"HX_LIBRARY", "HX_MPI_LIBRARY"};

static bool is_name(const char *name, size_t length, const char *known) {
  return strlen(known) == length && memcmp(known, name, length) == 0;
}

static void warn_if_unknown(const char *name, size_t length, const hx__config_row *rows, size_t count) {
  const char *nearest = NULL;
  size_t nearest_distance = SIZE_MAX;
  for (size_t i = 0; i < sizeof of_python / sizeof of_python[0]; i++)
    if (is_name(name, length, of_python[i])) return;
  for (size_t i = 0; i < count; i++) {
    if (is_name(name, length, rows[i].name)) return;
    const size_t d = hx__edit_distance(name, length, rows[i].name);
    if (d < nearest_distance) nearest_distance = d, nearest = rows[i].name;
  }
  hx__log(HX__LOG_WARN, "%.*s is not a variable of hx; the nearest is %s", (int)min_size(length, 256), name, nearest);
}

void hx__environment_warn(void) {
  static bool done;
  if (!hx__logs(HX__LOG_WARN) || hx__is_secure_process() || !environ) return;
  if (__atomic_exchange_n(&done, true, __ATOMIC_RELAXED)) return;
  size_t count;
  const hx__config_row *rows = hx__config_rows(&count);
  for (char **entry = environ; *entry; entry++)
    if (strncmp(*entry, "HX_", 3) == 0) warn_if_unknown(*entry, strcspn(*entry, "="), rows, count);
}
