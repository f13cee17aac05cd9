/* SPDX-License-Identifier: Apache-2.0
 * The table of settings: good and bad values of every row from both sources, which source wins, which
 * warnings there are, and that the locale has no effect. secure_test tests that a setuid program ignores the
 * environment. */
#define _GNU_SOURCE
#include <locale.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/config.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "tests/check.h"
#include "tests/config_cases.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const hx__config_row *rows;
static size_t row_count;

static const hx__config_row *row_of(const char *name) {
  for (size_t i = 0; i < row_count; i++)
    if (strcmp(rows[i].name, name) == 0) return &rows[i];
  printf("no row %s\n", name);
  exit(1);
}

static const char **settings_member(hx_settings *settings, const hx__config_row *row) {
  return (const char **)((char *)settings + row->setting);
}

/* Every member of a config as text, which shows what a value changed and that nothing else changed. */
static const char *config_text(const hx__config *c) {
  static char text[4 * HX__PATH_BYTES];
  size_t n = (size_t)snprintf(text, sizeof text, "dev %x %x split", c->device_words, c->device_indices);
  for (size_t i = 0; i < c->splits; i++)
    n += (size_t)snprintf(text + n, sizeof text - n, " %ld",
                          (long)((double)c->split[i] * 1e6 + 0.5)); /* independent of the locale */
  n += (size_t)snprintf(text + n, sizeof text - n,
                        "; sched %d chunk %llu threads %u tile %ux%ux%u mem %d min %llu timeout %llu cache %s obj %d "
                        "trace %s isa %d off %d log %d sim",
                        c->schedule, (unsigned long long)c->chunk, c->threads, c->tile_m, c->tile_n, c->tile_k,
                        c->memory, (unsigned long long)c->min_offload, (unsigned long long)c->timeout_ms, c->cache_dir,
                        c->objective, c->trace, c->isa, c->offload, c->log);
  for (size_t i = 0; i < c->sims; i++)
    n += (size_t)snprintf(text + n, sizeof text - n, " %.0f/%ld/%d@%llu", c->sim[i].rate,
                          (long)(c->sim[i].latency_us * 1000 + 0.5), c->sim[i].fail_entry,
                          (unsigned long long)c->sim[i].fail_at);
  return text;
}

enum { ENVIRONMENT, SETTINGS, SOURCES };

/* Reads with one value, from one source. */
static hx_status read_with(int source, const hx__config_row *row, const char *value, hx__config *config) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  if (source == SETTINGS) *settings_member(&settings, row) = value;
  if (source == ENVIRONMENT) setenv(row->name, value, 1);
  const hx_status s = hx__config_read(config, source == SETTINGS ? &settings : NULL);
  unsetenv(row->name);
  return s;
}

static void check_refused(int source, const char *name, const char *value, const char *says) {
  hx__config config;
  const hx_status s = read_with(source, row_of(name), value, &config);
  CHECK(s == HX_INVALID_CONFIG, "%s=%s: %s", name, value, hx_status_string(s));
  char prefix[512];
  snprintf(prefix, sizeof prefix, "%s=%s: accepted: %s", name, value, row_of(name)->values);
  CHECK(strncmp(hx_error_detail(), prefix, strlen(prefix)) == 0, "not '%s' but '%s'", prefix, hx_error_detail());
  CHECK(strstr(hx_error_detail() + strlen(name) + strlen(value) + 2, says), "'%s' not in '%s'", says,
        hx_error_detail());
}

static void check_values(void) {
  hx__config config;
  for (int source = 0; source < SOURCES; source++) {
    for (size_t i = 0; i < COUNT(good); i++) {
      const hx_status s = read_with(source, row_of(good[i].name), good[i].value, &config);
      CHECK(s == HX_OK, "%s=%s: %s", good[i].name, good[i].value, hx_error_detail());
      if (s != HX_OK) continue;
      CHECK(strstr(config_text(&config), good[i].gives), "%s=%s: '%s' not in '%s'", good[i].name, good[i].value,
            good[i].gives, config_text(&config));
      double sum = 0;
      for (size_t j = 0; j < config.splits; j++) sum += (double)config.split[j];
      CHECK(sum <= 1, "%s=%s: the sum is %.17g", good[i].name, good[i].value, sum);
    }
    for (size_t i = 0; i < COUNT(bad); i++) check_refused(source, bad[i].name, bad[i].value, bad[i].says);
  }
}

/* The table itself: a row for each member, defaults that agree with the parser, every listed word accepted. */
static void check_table(void) {
  hx__config empty, config;
  CHECK(row_count == offsetof(hx_settings, reserved) / sizeof(char *), "%zu rows", row_count);
  CHECK_OK(hx__config_read(&empty, NULL));
  char none[4 * HX__PATH_BYTES];
  strcpy(none, config_text(&empty));
  CHECK(strstr(none,
               "dev 7 0 split; sched 0 chunk 0 threads 0 tile 0x0x0 mem 0 min 18446744073709551615 timeout "
               "18446744073709551615 cache  obj 0 trace  isa 0 off 0 log 1 sim"),
        "defaults: %s", none);
  for (size_t i = 0; i < row_count; i++) {
    size_t tried_good = 0, tried_bad = 0;
    for (size_t j = 0; j < COUNT(good); j++) tried_good += strcmp(good[j].name, rows[i].name) == 0;
    for (size_t j = 0; j < COUNT(bad); j++) tried_bad += strcmp(bad[j].name, rows[i].name) == 0;
    CHECK(tried_good && (tried_bad || strstr(rows[i].values, "a path")), "%s is not tried", rows[i].name);
    CHECK(rows[i].help[0] && rows[i].deflt[0] && !strpbrk(rows[i].values, "|\n"), "%s", rows[i].name);
    for (size_t j = 0; j < i; j++) CHECK(rows[i].setting != rows[j].setting, "%s and %s", rows[i].name, rows[j].name);
    for (int source = 0; source < SOURCES; source++) { /* an empty value means that it is not set */
      CHECK_OK(read_with(source, &rows[i], "", &config));
      CHECK(strcmp(config_text(&config), none) == 0, "%s empty: %s", rows[i].name, config_text(&config));
    }
  }
  static const char *const in_words[] = {"HX_DEVICES", "HX_SPLIT",     "HX_SCHEDULE", "HX_MEMORY",
                                         "HX_OFFLOAD", "HX_OBJECTIVE", "HX_LOG"};
  for (size_t i = 0; i < COUNT(in_words); i++) { /* setting the default explicitly changes nothing */
    CHECK_OK(read_with(SETTINGS, row_of(in_words[i]), row_of(in_words[i])->deflt, &config));
    CHECK(strcmp(config_text(&config), none) == 0, "%s=%s: %s", in_words[i], row_of(in_words[i])->deflt,
          config_text(&config));
  }
  for (int mode = 0; mode < HX__MEMORY_MODES; mode++)
    CHECK(has_words(row_of("HX_MEMORY")->values, hx__memory_mode_name((hx__memory_mode)mode)), "%d", mode);
  for (int isa = HX__ISA_SSE2; isa < HX__ISAS; isa++)
    CHECK(has_words(row_of("HX_ISA")->values, hx__isa_name((hx__isa)isa)), "%d", isa);
}

static void check_precedence(void) {
  hx__config config;
  hx_settings settings = HX_SETTINGS_DEFAULT;
  setenv("HX_DEVICES", "pocl,3", 1);
  setenv("HX_THREADS", "7", 1);
  setenv("HX_SIM", "rate=1;rate=2", 1);
  setenv("HX_SPLIT", "0.1:0.2", 1);
  settings.devices = "sim";
  settings.sim = "rate=9";
  settings.split = "0.5";
  CHECK_OK(hx__config_read(&config, &settings));
  CHECK(config.device_words == HX__DEV_SIM && config.device_indices == 0, "%s", config_text(&config));
  CHECK(config.sims == 1 && config.sim[0].rate == 9 && config.splits == 1, "%s", config_text(&config));
  CHECK(config.threads == 7, "%s", config_text(&config));
  settings.threads = "";
  CHECK_OK(hx__config_read(&config, &settings));
  CHECK(config.threads == 7, "an empty setting is none: %s", config_text(&config));
  settings.threads = "2";
  setenv("HX_THREADS", "many", 1); /* refused although the setting has precedence */
  CHECK_REFUSED(hx__config_read(&config, &settings), HX_INVALID_CONFIG, "HX_THREADS=many: accepted: 1..4096");
  unsetenv("HX_THREADS");
  settings.threads = "none";
  CHECK_REFUSED(hx__config_read(&config, &settings), HX_INVALID_CONFIG, "HX_THREADS=none: accepted: 1..4096");
  settings.threads = NULL;
  settings.reserved[7] = 5;
  CHECK_REFUSED(hx__config_read(&config, &settings), HX_INVALID_ARGUMENT, "reserved[7]");
  settings.reserved[7] = 0;
  setenv("HX_LOG", "error", 1);
  CHECK_OK(hx__config_read(&config, &settings));
  CHECK(hx__log_threshold == HX__LOG_ERROR, "%d", hx__log_threshold);
  setenv("HX_LOG", "loud", 1);
  CHECK(hx__config_read(&config, &settings) == HX_INVALID_CONFIG && hx__log_threshold == HX__LOG_ERROR, "%d",
        hx__log_threshold);
  clearenv();
  CHECK_OK(hx__config_read(&config, NULL));
  CHECK(hx__log_threshold == HX__LOG_WARN, "%d", hx__log_threshold);
}

/* Long values: the longest path that fits, and a detail that still names the accepted values. */
static void check_long(void) {
  static char value[3 * HX__PATH_BYTES];
  hx__config config;
  memset(value, 'v', HX__PATH_BYTES - 1);
  CHECK_OK(read_with(ENVIRONMENT, row_of("HX_TRACE"), value, &config));
  CHECK(strcmp(config.trace, value) == 0, "%zu bytes", strlen(config.trace));
  memset(value, 'v', HX__PATH_BYTES);
  for (int source = 0; source < SOURCES; source++)
    for (size_t i = 0; i < row_count; i++) {
      CHECK(read_with(source, &rows[i], value, &config) == HX_INVALID_CONFIG, "%s", rows[i].name);
      const char *detail = hx_error_detail();
      CHECK(strlen(detail) < HX__DETAIL_BYTES && strstr(detail, "v...: accepted: ") && strstr(detail, rows[i].values),
            "%s", detail);
    }
  memset(value, 0, sizeof value);
  memset(value, 'v', 600); /* shown completely */
  CHECK(read_with(SETTINGS, row_of("HX_TILE"), value, &config) == HX_INVALID_CONFIG, "taken");
  CHECK(strstr(hx_error_detail(), value) && strstr(hx_error_detail(), "v: accepted: MxNxK"), "%s", hx_error_detail());
}

static void check_homes(void) {
  static char longest[2 * HX__PATH_BYTES];
  memset(longest, '/', sizeof longest - 1);
  const struct {
    const char *xdg, *home, *gives;
  } cases[] = {
      {"/x/cache", "/home/u", "/x/cache/hx"},
      {NULL, "/home/u", "/home/u/.cache/hx"},
      {"", "/home/u", "/home/u/.cache/hx"},
      {"rel", "/home/u", "/home/u/.cache/hx"},
      {NULL, NULL, ""},
      {NULL, "", ""},
      {NULL, "rel", ""},
      {longest, "/home/u", "/home/u/.cache/hx"},
      {longest, longest, ""},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    if (cases[i].xdg) setenv("XDG_CACHE_HOME", cases[i].xdg, 1);
    if (cases[i].home) setenv("HOME", cases[i].home, 1);
    hx__config config;
    CHECK_OK(hx__config_read(&config, NULL));
    CHECK(strcmp(config.cache_dir, cases[i].gives) == 0, "case %zu: %s", i, config.cache_dir);
    clearenv();
  }
}

static void check_omp(void) {
  static const struct {
    const char *value;
    uint32_t gives;
  } cases[] = {{"4", 4}, {" 4 ", 4}, {"8,2", 8}, {"8 , 2", 8}, {"", 0},
               {"0", 0}, {"-1", 0},  {"4x", 0},  {"many", 0},  {"9999", 4096}};
  hx__config config;
  for (size_t i = 0; i < COUNT(cases); i++) {
    setenv("OMP_NUM_THREADS", cases[i].value, 1);
    CHECK_OK(hx__config_read(&config, NULL));
    CHECK(config.omp_threads == cases[i].gives, "'%s' gives %u", cases[i].value, config.omp_threads);
  }
  unsetenv("OMP_NUM_THREADS");
}

/* What a child process that reads `times` times writes to stderr. */
static const char *warnings(int times) {
  static char text[8192];
  int ends[2];
  if (pipe(ends) != 0) exit(1);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    hx__config config;
    dup2(ends[1], STDERR_FILENO);
    while (times-- > 0) hx__config_read(&config, NULL);
    _exit(0);
  }
  close(ends[1]);
  size_t n = 0;
  for (ssize_t got; n < sizeof text - 1 && (got = read(ends[0], text + n, sizeof text - 1 - n)) > 0;) n += (size_t)got;
  text[n] = '\0';
  close(ends[0]);
  waitpid(child, NULL, 0);
  return text;
}

static void check_warnings(void) {
  setenv("HX_LIBRARY", "system", 1); /* of the Python package */
  setenv("HX_MPI_LIBRARY", "libhx_mpi.so.0", 1);
  CHECK(warnings(1)[0] == '\0', "%s", warnings(1));
  unsetenv("HX_LIBRARY");
  unsetenv("HX_MPI_LIBRARY");
  for (size_t i = 0; i < row_count; i++) { /* for a misspelt name the warning suggests the right one */
    char misspelt[32];
    snprintf(misspelt, sizeof misspelt, "%s", rows[i].name);
    memmove(misspelt + 4, misspelt + 5, strlen(misspelt + 4)); /* without its second letter */
    setenv(misspelt, "1", 1);
    char line[128];
    snprintf(line, sizeof line, "hx: warning: %s is not a variable of hx; the nearest is %s\n", misspelt, rows[i].name);
    CHECK(strcmp(warnings(3), line) == 0, "not '%s' but '%s'", line, warnings(3));
    unsetenv(misspelt);
  }
  setenv("HX_", "", 1);
  setenv("HXX", "", 1);
  setenv("HX_TREADS_BUT_ON_AND_ON_AND_ON_AND_ON_AND_ON_AND_ON_AND_ON_AND_ON_AND_ON", "1", 1);
  const char *text = warnings(1);
  CHECK(strstr(text, "hx: warning: HX_ is not") && strstr(text, "_ON is not") && !strstr(text, "HXX"), "%s", text);
  setenv("HX_LOG", "error", 1);
  CHECK(warnings(1)[0] == '\0', "%s", warnings(1));
  clearenv();
}

/* A locale whose decimal point is a comma: an installed one, otherwise one made here. */
static bool enter_comma_locale(void) {
  static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
  for (size_t i = 0; i < COUNT(names); i++)
    if (setlocale(LC_ALL, names[i])) return true;
  char folder[] = "/tmp/hx-locale-XXXXXX", command[256];
  if (!mkdtemp(folder)) return false;
  snprintf(command, sizeof command, "/usr/bin/localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 2>/dev/null", folder);
  setenv("LOCPATH", folder, 1);
  const bool made = system(command) == 0 && setlocale(LC_ALL, "de_DE.UTF-8");
  unsetenv("LOCPATH");
  snprintf(command, sizeof command, "/bin/rm -rf %s", folder);
  return system(command) == 0 && made;
}

int main(void) {
  clearenv();
  rows = hx__config_rows(&row_count);
  check_warnings(); /* before this process has read the settings, because it warns only once */
  check_table();
  check_values();
  check_precedence();
  check_long();
  check_homes();
  check_omp();
  if (enter_comma_locale()) {
    char half[8];
    snprintf(half, sizeof half, "%.1f", 0.5);
    CHECK(strcmp(half, "0,5") == 0, "%s", half);
    check_values();
  } else {
    printf("config_test: no locale with a decimal comma here: not tried\n");
  }
  return checks_end("config_test");
}
