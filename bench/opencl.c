/* SPDX-License-Identifier: Apache-2.0
 * Finds OpenCL devices in hx's registry. */
#include "bench/opencl.h"

#include <string.h>

#include "bench/text.h"
#include "runtime/backend/opencl/entries.h"
#include "runtime/backend/opencl/stream.h"
#include "runtime/backend/registry.h"

#define BRIEF 24 /* characters */

_Static_assert(BENCH_WHY == HX__WHY_IN_FULL, "a text in full is copied as it is");

void bench_device_why(const bench_session *session, size_t index, char out[BENCH_WHY]) {
  hx__device *const *list = NULL;
  const size_t count = hx__registry_devices(&list);
  char brief[HX__WHY_TEXT];
  snprintf(out, BENCH_WHY, "%s", session->device[index].why);
  if (index == 0 || index > count) return;
  hx__device_why(list[index - 1], brief);
  if (strcmp(brief, out) == 0) hx__device_why_in_full(list[index - 1], out); /* else the context has left it out */
}

/* Platforms that are known by another name than the one they give. */
static const struct { const char *given, *known; } platforms[] = {{"Portable Computing Language", "PoCL"}};

/* The name of the platform of an OpenCL device; "": it is none. */
static void platform_of(size_t index, char *text, size_t bytes) {
  hx__device *const *list = NULL;
  const size_t count = hx__registry_devices(&list);
  char given[128] = "";
  text[0] = '\0';
  if (index == 0 || index > count || list[index - 1]->backend != &hx__opencl_backend) return;
  const cl_platform_id platform = ((const hx__cl_device *)list[index - 1])->platform;
  if (clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof given - 1, given, NULL) != CL_SUCCESS) return;
  const char *known = given;
  for (size_t i = 0; i < sizeof platforms / sizeof platforms[0]; i++)
    if (strcmp(given, platforms[i].given) == 0) known = platforms[i].known;
  bench_plain(known, text, bytes);
}

/* Without what PoCL puts before the name of every CPU. */
static const char *name_of(const hx_device_info *device) {
  static const char *const before[] = {"pthread-", "cpu-"};
  for (size_t i = 0; i < 2 && device->kind == HX_CPU_OPENCL; i++)
    if (strncmp(device->name, before[i], strlen(before[i])) == 0) return device->name + strlen(before[i]);
  return device->name;
}

void bench_name_device(const hx_device_info *device, size_t index, struct bench_device_name *name) {
  char plain[sizeof device->name];
  platform_of(index, name->platform, sizeof name->platform);
  bench_plain(name_of(device), plain, sizeof plain);
  const bool on_cpu = device->kind == HX_CPU_OPENCL && *name->platform;
  if (on_cpu)
    snprintf(name->label, sizeof name->label, "%.24s: %s", name->platform, plain);
  else
    snprintf(name->label, sizeof name->label, "%s", plain);
  const char *const brief = device->kind == HX_CPU ? "CPU" : on_cpu ? name->platform : plain;
  snprintf(name->brief, sizeof name->brief, "%.*s", (int)bench_text_cut(brief, BRIEF), brief);
}

hx__cl_device *bench_opencl_device(const bench_session *session, size_t index) {
  hx__device *const *list = NULL;
  const size_t count = hx__registry_devices(&list); /* OpenCL devices come just after the CPU */
  const hx_device_state state = session->device[index].state;
  if (index == 0 || index > count || list[index - 1]->backend != &hx__opencl_backend) return NULL;
  return state == HX_BUILDING || state == HX_USABLE ? (hx__cl_device *)list[index - 1] : NULL;
}

bool bench_opencl_each(bench_session *session, bench_device_job *job, const void *what) {
  bool fine = true, any = false;
  for (size_t i = 0; i < session->device_count && !bench_stopped(); i++) {
    if (!bench_opencl_device(session, i)) continue;
    any = true;
    fine &= job(session, i, what);
  }
  if (!any && !bench_stopped())
    fputs("hx-bench: no OpenCL device is in use (hx-bench info says why, and what is missing)\n", stderr);
  return fine && any;
}
