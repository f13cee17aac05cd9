/* SPDX-License-Identifier: Apache-2.0
 * Every variable through the settings table: one line NAME=VALUE for each, without the HX_. A value means the same in
 * the environment and in hx_settings, and if it is refused the detail names it. */
#include "runtime/base/config.h"
#include "runtime/base/environment.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  return 0;
}

static const hx__config_row *row_of(const char *line, size_t length) {
  size_t count;
  const hx__config_row *const rows = hx__config_rows(&count);
  for (size_t i = 0; i < count; i++)
    if (strlen(rows[i].name) == length + 3 && strncmp(rows[i].name + 3, line, length) == 0) return &rows[i];
  return NULL;
}

/* Checks what the readers of a config rely on. */
static void check_config(const hx__config *c) {
  double sum = 0;
  FUZZ_CHECK(c->splits <= HX_MAX_DEVICES && c->sims <= HX__SIMS, "%u shares, %u sims", c->splits, c->sims);
  for (uint32_t i = 0; i < c->splits; i++) {
    FUZZ_CHECK(c->split[i] >= 0 && c->split[i] <= 1, "share %u is %g", i, (double)c->split[i]);
    sum += (double)c->split[i];
  }
  FUZZ_CHECK(sum <= 1, "the shares give %.17g", sum);
  FUZZ_CHECK(c->threads <= HX__MOST_THREADS, "%u threads", c->threads);
  FUZZ_CHECK((unsigned)c->schedule <= HX__SCHEDULE_GUIDED && (unsigned)c->memory < HX__MEMORY_MODES &&
                 (unsigned)c->objective <= HX__OBJECTIVE_EDP && (unsigned)c->isa < HX__ISAS &&
                 (unsigned)c->offload <= HX__OFFLOAD_MANDATORY && c->log >= HX__LOG_ERROR && c->log <= HX__LOG_TRACE,
             "a word that is none");
  FUZZ_CHECK(c->tile_m <= 1024 && c->tile_n <= 1024 && c->tile_k <= 1024 && !c->tile_m == !c->tile_k,
             "a tile of %u x %u x %u", c->tile_m, c->tile_n, c->tile_k);
}

static void check_refusal(const char *what) {
  const char *const detail = hx_error_detail();
  FUZZ_CHECK(strlen(detail) < HX__DETAIL_BYTES && strstr(detail, ": accepted: "), "%s: %s", what, detail);
}

static void read_both_ways(const hx__config_row *row, const char *value) {
  static hx__config by_setting, by_environment;
  hx_settings settings = HX_SETTINGS_DEFAULT;
  *(const char **)((char *)&settings + row->setting) = value;
  const hx_status given = hx__config_read(&by_setting, &settings);
  setenv(row->name, value, 1);
  const hx_status found = hx__config_read(&by_environment, NULL);
  unsetenv(row->name);
  FUZZ_CHECK(given == found, "%s=%s: %d in hx_settings, %d in the environment", row->name, value, given, found);
  if (given == HX_OK) {
    FUZZ_CHECK(memcmp(&by_setting, &by_environment, sizeof by_setting) == 0, "%s=%s differs", row->name, value);
    check_config(&by_setting);
  } else {
    check_refusal(row->name);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static hx__config config;
  char *const text = fuzz_text(data, size), *rest = text, *line;
  hx_settings settings = HX_SETTINGS_DEFAULT;
  for (int i = 0; (line = strsep(&rest, "\n")) && i < 8; i++) {
    const size_t length = strcspn(line, "=");
    const hx__config_row *const row = line[length] ? row_of(line, length) : NULL;
    if (!row) continue;
    read_both_ways(row, line + length + 1);
    *(const char **)((char *)&settings + row->setting) = line + length + 1;
  }
  if (hx__config_read(&config, &settings) == HX_OK)
    check_config(&config);
  else
    check_refusal("together");
  /* The variables that libgomp reads, with the same values. */
  hx__omp_sleeps_by(settings.devices, settings.split);
  free(text);
  return 0;
}
