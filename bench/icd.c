/* SPDX-License-Identifier: Apache-2.0
 * Lists OpenCL drivers and reads what the process that tried one has printed. */
#include "bench/icd.h"

#include <stdlib.h>
#include <string.h>

#include "bench/part.h"
#include "runtime/backend/opencl/driver_check.h"

#define LIMIT_S 10.0 /* loading a driver takes 0.05 to 2 s */

_Static_assert(BENCH_ICDS == HX__VENDORS, "each driver has room");

static int by_file(const void *a, const void *b) {
  const bench_icd *const x = a, *const y = b;
  const int order = strcmp(x->file, y->file);
  return order ? order : strcmp(x->path, y->path);
}

size_t bench_icd_list(bench_icd icds[BENCH_ICDS], const char *root) {
  static hx__vendor found[HX__VENDORS];
  const size_t count = hx__driver_list(root, found, HX__VENDORS);
  for (size_t i = 0; i < count; i++) {
    const size_t within = strncmp(found[i].icd, root, strlen(root)) == 0 ? strlen(root) : 0;
    icds[i] = (bench_icd){.file = ""};
    snprintf(icds[i].file, sizeof icds[i].file, "%.255s", found[i].icd + within);
    snprintf(icds[i].path, sizeof icds[i].path, "%s", found[i].file);
  }
  qsort(icds, count, sizeof *icds, by_file);
  return count;
}

const char *bench_icd_name(const bench_icd *icd) {
  const char *const path = *icd->file ? icd->file : icd->path, *const slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* Appends a name to the platforms. A name that has no room is left out. */
static void add_platform(bench_icd *icd, const char *name) {
  const size_t used = strlen(icd->platform);
  const int more = snprintf(icd->platform + used, sizeof icd->platform - used, "%s%s", used ? ", " : "", name);
  if (more < 0 || used + (size_t)more >= sizeof icd->platform) icd->platform[used] = '\0';
}

static void add_device(bench_icd *icd, const char *text) {
  char kind[8], address[16];
  unsigned vendor;
  int name = 0;
  if (icd->device_count == BENCH_ICD_DEVICES) return;
  if (sscanf(text, "%7s %x %15s %n", kind, &vendor, address, &name) != 3) return;
  bench_icd_device *const d = &icd->devices[icd->device_count++];
  *d = (bench_icd_device){.is_gpu = strcmp(kind, "gpu") == 0, .vendor = vendor};
  if (strcmp(address, "-") != 0) memcpy(d->address, address, sizeof address);
  snprintf(d->name, sizeof d->name, "%.127s", text + name);
}

static void read_line(bench_icd *icd, const char *line) {
  static const char fault[] = "fault: ", platform[] = "platform: ", device[] = "device: ";
  if (strncmp(line, fault, sizeof fault - 1) == 0)
    snprintf(icd->fault, sizeof icd->fault, "%s", line + sizeof fault - 1);
  else if (strncmp(line, platform, sizeof platform - 1) == 0)
    add_platform(icd, line + sizeof platform - 1);
  else if (strncmp(line, device, sizeof device - 1) == 0)
    add_device(icd, line + sizeof device - 1);
}

/* hx has tried every driver before it used one; its verdict may be an earlier process's. */
static bool is_left_out(bench_icd *icd) {
  const hx__vendor *skipped;
  const size_t count = hx__driver_check_skipped(&skipped);
  for (size_t i = 0; i < count; i++)
    if (strcmp(skipped[i].file, icd->path) == 0) {
      snprintf(icd->fault, sizeof icd->fault, "%s", skipped[i].fault);
      return true;
    }
  return false;
}

void bench_icd_try(bench_icd *icd) {
  if (is_left_out(icd)) return;
  const char *const arguments[BENCH_PART_ARGUMENTS] = {"driver", icd->path};
  bench_part_result result;
  bench_part_run(arguments, LIMIT_S, NULL, NULL, &result);
  char *rest = result.document;
  for (const char *line; (line = strsep(&rest, "\n")) != NULL;) read_line(icd, line);
  const bool ended = result.document == NULL || result.timed_out;
  free(result.document);
  if (!ended) return;
  /* The child of the driver check says by which signal and in which step. */
  bool by_driver;
  if (!hx__driver_check_run(icd->path, icd->fault, &by_driver) || !*icd->fault)
    snprintf(icd->fault, sizeof icd->fault, "%s ended the process that loaded it", icd->path);
}
