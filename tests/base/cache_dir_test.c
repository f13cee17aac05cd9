/* SPDX-License-Identifier: Apache-2.0
 * The first open context chooses the cache folder of the process. A context that is opened later with another folder,
 * or none, does not change it; once all are closed the next one chooses again. */
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cache_dir.h"
#include "tests/check.h"

static char first[512], second[512];

static hx_context *open_with(const char *folder) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = "cpu", s.cache_dir = folder;
  return open_or_exit(&s);
}

/* Stores a file in the cache, and returns which folder it is in: folders are made with their first file. */
static const char *folder_in_use(void) {
  char command[1200];
  snprintf(command, sizeof command, "rm -rf '%s' '%s'", first, second);
  if (system(command) != 0) return "cannot clean up";
  hx__cache_put("key", 3, "data", 4);
  return access(first, F_OK) == 0 ? "first" : access(second, F_OK) == 0 ? "second" : "none";
}

#define CHECK_KEPT(where) CHECK(strcmp(folder_in_use(), where) == 0, "stored in %s", folder_in_use())

int main(void) {
  const char *const scratch = getenv("TEST_TMPDIR");
  char root[256];
  snprintf(root, sizeof root, "%s/cache_dir.XXXXXX", scratch ? scratch : "/tmp");
  if (!mkdtemp(root)) return 1;
  snprintf(first, sizeof first, "%s/first", root);
  snprintf(second, sizeof second, "%s/second", root);
  hx_context *const a = open_with(first);
  CHECK_KEPT("first");
  hx_context *const b = open_with(second), *const c = open_with("off");
  CHECK_KEPT("first");
  hx_close(a);
  CHECK_KEPT("first");
  hx_close(b);
  hx_close(c);
  hx_context *const d = open_with(second);
  CHECK_KEPT("second");
  hx_close(d);
  hx_context *const e = open_with("off");
  CHECK_KEPT("none");
  hx_close(e);
  return checks_end("cache_dir_test");
}
