/* SPDX-License-Identifier: Apache-2.0
 * The model on disk: the next process uses what one process has learned, and ignores a file that is damaged
 * or truncated. Each step is a process; they share a folder. */
#include <dirent.h>
#include <sys/stat.h>

#include "runtime/base/cache_dir.h"
#include "runtime/sched/store.h"
#include "reference/data.h"
#include "tests/scenario.h"

enum { N = 8 << 20, CALLS = 6 };

static const char *folder(void) { return getenv("MODEL_TEST_DIR"); }

/* The number of entries in the model of this process. */
static unsigned known_entries(void) {
  const hx__model *const m = hx__model_of_process();
  unsigned count = 0;
  for (size_t i = 0; i < HX__MODEL_ENTRIES; i++) count += m->entry[i].samples != 0;
  return count;
}

/* The number of measurements in all entries. */
static unsigned measured(void) {
  const hx__model *const m = hx__model_of_process();
  unsigned count = 0;
  for (size_t i = 0; i < HX__MODEL_ENTRIES; i++) count += m->entry[i].samples;
  return count;
}

static hx_context *open_with(const char *sim, const char *cache) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = "cpu,sim";
  s.sim = sim;
  s.threads = "1";
  s.cache_dir = cache;
  return open_or_exit(&s);
}

static hx_context *open_here(const char *cache) { return open_with("rate=4e9,latency_us=20", cache); }

static void call_with(hx_context *hx, float share, int calls) {
  CHECK_OK(hx_ready(hx));
  float *const x = malloc(N * sizeof *x);
  data_fill(HX_F32, DATA_SIGNED, 3, x, N);
  for (int i = 0; i < calls; i++) {
    hx_value sum;
    hx_task t = hx_reduce(HX_SUM, HX_F32, x, N, &sum);
    t.gpu_share = share;
    CHECK_OK(hx_offload(hx, &t, NULL));
  }
  free(x);
}

static void call_by_hx(hx_context *hx) { call_with(hx, -1.0f, CALLS); }

/* The path of the only file in the cache folder. */
static void path_of_file(char path[512]) {
  DIR *const dir = opendir(folder());
  path[0] = '\0';
  for (const struct dirent *e; dir && (e = readdir(dir)) != NULL;)
    if (strstr(e->d_name, HX__CACHE_SUFFIX)) snprintf(path, 512, "%s/%s", folder(), e->d_name);
  if (dir) closedir(dir);
}

static void model_is_stored(void) {
  hx_context *const hx = open_here(folder());
  CHECK(known_entries() == 0, "%u entries before any call", known_entries());
  for (int i = 0; i < 20 && known_entries() < 2; i++)
    call_by_hx(hx); /* on a busy machine the devices may do all of the first calls */
  CHECK(known_entries() >= 2, "%u entries learned", known_entries());
  hx_close(hx);
  char path[512];
  path_of_file(path);
  CHECK(path[0], "no file in %s", folder());
}

static void model_is_loaded(void) {
  hx_context *const hx = open_here(folder());
  CHECK(known_entries() >= 2, "%u entries remembered", known_entries());
  hx_close(hx);
}

/* A program that never calls hx_close stores the model when it exits. */
static void learns_without_close(void) {
  /* It stays open. The pointer to it is static so that the context does not count as a leak, and volatile because the
   * compiler otherwise leaves out a store that nothing reads. */
  static hx_context *volatile open_at_exit;
  open_at_exit = open_here(folder());
  call_by_hx(open_at_exit);
  char path[512];
  path_of_file(path);
  remove(path);
}

static void folder_off(void) {
  hx_context *const hx = open_here("off");
  CHECK(known_entries() == 0, "%u entries although the cache is off", known_entries());
  call_by_hx(hx);
  hx_close(hx);
}

/* Changes one byte, at several places in turn: the file is ignored, and nothing else happens. */
static void damaged_file(void) {
  char path[512];
  path_of_file(path);
  FILE *const f = fopen(path, "r+b");
  CHECK(f != NULL, "%s cannot be opened", path);
  if (!f) return;
  fseek(f, -40, SEEK_END);
  const int was = fgetc(f);
  fseek(f, -40, SEEK_END);
  fputc(was ^ 0x20, f);
  fclose(f);
  hx_context *const hx = open_here(folder());
  CHECK(known_entries() == 0, "%u entries of a damaged file", known_entries());
  call_by_hx(hx);
  hx_close(hx);
}

static void truncated_file(void) {
  char path[512];
  struct stat s;
  path_of_file(path);
  CHECK(stat(path, &s) == 0 && truncate(path, s.st_size / 2) == 0, "%s cannot be cut", path);
  hx_context *const hx = open_here(folder());
  CHECK(known_entries() == 0, "%u entries of a truncated file", known_entries());
  call_by_hx(hx);
  hx_close(hx);
}

/* Calls with a numeric share are measured if one device works alone. Beside other participants they are used only if
 * nothing is known, because with numeric shares one participant works alone for part of the call. */
static void numeric_shares(void) {
  static const struct {
    const char *sim;
    float share;
    bool teaches;
  } rows[] = {{"rate=4e9,latency_us=20", 1.0f, true},
              {"rate=4e9,latency_us=20", 0.5f, false},
              {"rate=4e9,latency_us=20;rate=2e9,latency_us=20", 1.0f, false}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    hx_context *const hx = open_with(rows[i].sim, "off");
    call_with(hx, rows[i].share, 1);
    const unsigned before = measured();
    call_with(hx, rows[i].share, CALLS);
    const unsigned after = measured();
    CHECK(rows[i].teaches ? after >= before + CALLS : after == before, "row %zu: %u measurements, then %u", i, before,
          after);
    hx_close(hx);
  }
}

int main(int argc, char **argv) {
  static const scenario table[] = {{"model_is_stored", model_is_stored},
                                   {"model_is_loaded", model_is_loaded},
                                   {"damaged_file", damaged_file},
                                   {"model_is_loaded_again", model_is_loaded},
                                   {"truncated_file", truncated_file},
                                   {"model_is_loaded_at_last", model_is_loaded},
                                   {"learns_without_close", learns_without_close},
                                   {"model_is_loaded_all_the_same", model_is_loaded},
                                   {"folder_off", folder_off},
                                   {"numeric_shares", numeric_shares}};
  char name[] = "/tmp/hx-model-XXXXXX";
  const bool first = !getenv("MODEL_TEST_DIR");
  if (first && (!mkdtemp(name) || setenv("MODEL_TEST_DIR", name, 1) != 0)) return 1;
  setenv("OCL_ICD_VENDORS", "/proc/self/task", 1); /* no driver, because how it loads is cached in a file, too */
  const int status = scenarios_main(argc, argv, "model_test", table, sizeof table / sizeof table[0]);
  char path[512];
  if (first) {
    path_of_file(path);
    remove(path);
    rmdir(name);
  }
  return status;
}
