/* SPDX-License-Identifier: Apache-2.0
 * Verdicts on drivers. A verdict is cached as long as the library's file and the libraries that are preloaded are the
 * same, so that a driver that was tried before costs a process only a few calls of stat. */
#include "runtime/backend/opencl/driver_check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/cache_dir.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/variable.h"

#define KEY_BYTES 4096u

static hx__vendor skipped[HX__VENDORS];
static size_t skipped_count;

static size_t add_file(const char *path, char *text, size_t bytes) {
  struct stat st;
  if (stat(path, &st) != 0) return 0;
  const int n = snprintf(text, bytes, "%s %llu %lld.%09ld %llu\n", path, (unsigned long long)st.st_size,
                         (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (unsigned long long)st.st_ino);
  return n > 0 && (size_t)n < bytes ? (size_t)n : 0;
}

/* The loader searches several folders for a name without a slash. So the text contains the file of that name in each of
 * these folders, and the loader's cache, which every installation of a library rewrites. */
size_t hx__driver_file_identity(const char *library, char *text, size_t bytes) {
  static const char *const places[] = {
      "/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib", "/usr/local/lib"};
  size_t used = (size_t)snprintf(text, bytes, "driver, 1: %s\n", library);
  if (used >= bytes) return 0;
  if (strchr(library, '/')) return used + add_file(library, text + used, bytes - used);
  char path[2 * HX__VENDOR_PATH], value[HX__VENDOR_PATH], *rest = value;
  if (hx__variable("LD_LIBRARY_PATH", value, sizeof value))
    for (const char *place; (place = strsep(&rest, ":")) != NULL;) {
      snprintf(path, sizeof path, "%s/%s", *place ? place : ".", library);
      used += add_file(path, text + used, bytes - used);
    }
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    snprintf(path, sizeof path, "%s/%s", places[i], library);
    used += add_file(path, text + used, bytes - used);
  }
  return used + add_file("/etc/ld.so.cache", text + used, bytes - used);
}

/* A preloaded library is in the process that tries a driver, too. It may end it: AddressSanitizer does at the first
 * error of any driver. */
static size_t add_preloads(char *text, size_t bytes) {
  char value[KEY_BYTES];
  if (!hx__variable("LD_PRELOAD", value, sizeof value)) return 0;
  const int n = snprintf(text, bytes, "preloaded: %s\n", value);
  return n > 0 ? (size_t)n : 0;
}

/* A cached verdict, which is never empty. */
static bool load_verdict(const char *key, size_t bytes, hx__vendor *v) {
  size_t got = 0;
  char *const text = hx__cache_get(key, bytes, &got, NULL);
  const bool known = text && got > 0 && got < HX__DRIVER_FAULT_TEXT && text[0] == '.';
  if (known) snprintf(v->fault, sizeof v->fault, "%.*s", (int)(got - 1), text + 1);
  free(text);
  return known;
}

static void store_verdict(const char *key, size_t bytes, const hx__vendor *v) {
  char text[HX__DRIVER_FAULT_TEXT + 1];
  const int n = snprintf(text, sizeof text, ".%s", v->fault);
  if (n > 0 && (size_t)n < HX__DRIVER_FAULT_TEXT) hx__cache_put(key, bytes, text, (size_t)n);
}

static void check_driver(hx__vendor *v) {
  char key[KEY_BYTES];
  size_t bytes = hx__driver_file_identity(v->file, key, sizeof key);
  bytes += add_preloads(key + bytes, sizeof key - bytes);
  const bool cached = bytes < sizeof key && hx__cache_dir_is_enabled(); /* else the key is too long */
  if (cached && load_verdict(key, bytes, v)) return;
  const uint64_t from = hx__now_ns();
  bool by_driver;
  if (!hx__driver_check_run(v->file, v->fault, &by_driver)) {
    hx__log(HX__LOG_INFO, "%s is loaded without a check: no process could be started for it (%s)", v->file,
            strerror(errno));
    return;
  }
  hx__log(HX__LOG_DEBUG, "%s was checked in %.1f ms", v->file, (double)(hx__now_ns() - from) * 1e-6);
  if (cached && by_driver) store_verdict(key, bytes, v);
}

void hx__driver_check_all(void) {
  static hx__vendor vendors[HX__VENDORS];
  const size_t count = hx__driver_list("", vendors, HX__VENDORS);
  const uint64_t from = hx__now_ns();
  size_t good = 0;
  for (size_t i = 0; i < count; i++) {
    check_driver(&vendors[i]);
    if (vendors[i].fault[0]) {
      hx__log(HX__LOG_WARN, "an OpenCL driver is left out: %s", vendors[i].fault);
      skipped[skipped_count++] = vendors[i];
    } else {
      vendors[good++] = vendors[i];
    }
  }
  hx__log(HX__LOG_DEBUG, "%zu OpenCL drivers were checked in %.2f ms", count, (double)(hx__now_ns() - from) * 1e-6);
  if (!skipped_count) return;
  hx__log(HX__LOG_INFO, "%zu OpenCL drivers are called without the ICD loader, so OPENCL_LAYERS has no effect", good);
  hx__driver_dispatch_directly(vendors, good);
}

size_t hx__driver_check_skipped(const hx__vendor **list) {
  *list = skipped;
  return skipped_count;
}
