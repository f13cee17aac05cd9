/* SPDX-License-Identifier: Apache-2.0
 * Which call of the fault layer fails: see fault_layer_plan.h. This file makes no OpenCL calls. */
#include "tests/layers/fault_layer_plan.h"

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_icd.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/layers/fault_layer.h"
#include "tests/layers/fault_layer_entries.h"
#include "tests/layers/layer_log.h"

__attribute__((visibility("default"))) layer_fault_t layer_fault;

#define ENTRY_NAME(name, ...) #name,
#define ENTRY_NAME_OF(type, name, ...) #name,
static const char *const kNames[] = {ENTRIES(ENTRY_NAME, ENTRY_NAME, ENTRY_NAME, ENTRY_NAME_OF, ENTRY_NAME, ENTRY_NAME)
                                         EXTENSIONS(ENTRY_NAME, ENTRY_NAME_OF, ENTRY_NAME)};

/* Whether the entry can succeed without doing anything. */
#define NEVER(...) false,
#define ALWAYS(...) true,
static const bool kSilent[] = {ENTRIES(NEVER, ALWAYS, ALWAYS, NEVER, NEVER, ALWAYS) EXTENSIONS(NEVER, NEVER, ALWAYS)};

/* Whether the entry can return an error. */
static const bool kFails[] = {ENTRIES(ALWAYS, ALWAYS, ALWAYS, ALWAYS, ALWAYS, NEVER) EXTENSIONS(ALWAYS, ALWAYS, NEVER)};

typedef enum kind { ERROR, HANG, SLOW, SILENT, LOST, COUNT, KINDS } kind;
static const char *const kKinds[KINDS] = {"error", "hang", "slow", "silent", "lost", "count"};

enum { NVIDIA_LOST = -9999 };

_Thread_local int fault_plan_copies;
static int target = -1;   /* FAULT_FN */
static int second = -1;   /* FAULT_THEN */
static unsigned long nth; /* FAULT_NTH: 0 is every call */
static unsigned long one_in, seed;
static kind what;
static unsigned long slow_ms, grace_ms;
static cl_int code;
static const char *arm_file;
static atomic_ulong calls[2][entries]; /* calls before the layer was armed, and calls since */
static atomic_ulong all_calls;
static atomic_bool lost;
static _Atomic int64_t told_ns; /* when a failure first told the program of the loss; 0: none did */

int fault_code(void) { return code; }

static unsigned long number_from_env(const char *name, unsigned long otherwise) {
  const char *text = getenv(name);
  return text && text[0] ? strtoul(text, NULL, 10) : otherwise;
}

/* Aborts, because a test with a misspelt name would pass without a fault. */
static void refuse_value(const char *name, const char *value) {
  layer_log("%s=%s: there is none of that name", name, value);
  abort();
}

static int index_of_name(const char *variable, const char *value, const char *const *names, int count) {
  for (int i = 0; i < count; i++)
    if (strcmp(value, names[i]) == 0) return i;
  refuse_value(variable, value);
  return -1;
}

static void list_entries(void) {
  for (int i = 0; i < entries; i++)
    layer_log("entry %s %s %s", kNames[i], kFails[i] ? "error" : "-", kSilent[i] ? "silent" : "-");
}

void fault_plan_read(void) {
  const char *name = getenv("FAULT_FN"), *as = getenv("FAULT_KIND"), *returns = getenv("FAULT_CODE");
  const char *then = getenv("FAULT_THEN");
  what = as ? (kind)index_of_name("FAULT_KIND", as, kKinds, KINDS) : ERROR;
  nth = number_from_env("FAULT_NTH", 1);
  one_in = number_from_env("FAULT_ONE_IN", 0);
  seed = number_from_env("FAULT_SEED", 1);
  slow_ms = number_from_env("FAULT_MS", 60);
  grace_ms = number_from_env("FAULT_GRACE_MS", 200);
  code = returns ? (cl_int)strtol(returns, NULL, 10) : what == LOST ? CL_DEVICE_NOT_AVAILABLE : CL_OUT_OF_RESOURCES;
  arm_file = getenv("FAULT_ARM");
  atomic_store(&layer_fault.armed, arm_file == NULL);
  if (name && strcmp(name, "list") == 0)
    list_entries();
  else if (name)
    target = index_of_name("FAULT_FN", name, kNames, entries);
  if (then && then[0]) second = index_of_name("FAULT_THEN", then, kNames, entries);
}

static bool is_armed(void) {
  if (atomic_load(&layer_fault.armed)) return true;
  if (arm_file[0] == '\0' || access(arm_file, F_OK) != 0) return false;
  atomic_store(&layer_fault.armed, 1);
  return true;
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void sleep_ms(unsigned long ms) {
  nanosleep(&(struct timespec){(time_t)(ms / 1000), (long)(ms % 1000) * 1000000}, NULL);
}

/* Whether the entry is called on a context; queries of platforms and devices are not. */
static bool on_context(int entry) {
  return entry > at_clGetDeviceInfo && entry != at_clGetExtensionFunctionAddressForPlatform;
}

/* How a successful call of each entry changes the references that the program holds. */
static const struct {
  signed char step;
  layer_object of;
} kLive[entries] = {
    [at_clCreateContext] = {1, LAYER_CONTEXT},
    [at_clRetainContext] = {1, LAYER_CONTEXT},
    [at_clReleaseContext] = {-1, LAYER_CONTEXT},
    [at_clCreateCommandQueue] = {1, LAYER_QUEUE},
    [at_clCreateCommandQueueWithProperties] = {1, LAYER_QUEUE},
    [at_clReleaseCommandQueue] = {-1, LAYER_QUEUE},
    [at_clCreateBuffer] = {1, LAYER_MEM},
    [at_clCreateSubBuffer] = {1, LAYER_MEM},
    [at_clRetainMemObject] = {1, LAYER_MEM},
    [at_clReleaseMemObject] = {-1, LAYER_MEM},
    [at_clCreateProgramWithSource] = {1, LAYER_PROGRAM},
    [at_clCreateProgramWithBinary] = {1, LAYER_PROGRAM},
    [at_clReleaseProgram] = {-1, LAYER_PROGRAM},
    [at_clCreateKernel] = {1, LAYER_KERNEL},
    [at_clReleaseKernel] = {-1, LAYER_KERNEL},
    [at_clCreateUserEvent] = {1, LAYER_EVENT},
    [at_clRetainEvent] = {1, LAYER_EVENT},
    [at_clReleaseEvent] = {-1, LAYER_EVENT},
    [at_clEnqueueMapBuffer] = {1, LAYER_MAP},
    [at_clEnqueueUnmapMemObject] = {-1, LAYER_MAP},
    [at_clSVMAlloc] = {1, LAYER_SVM},
    [at_clSVMFree] = {-1, LAYER_SVM},
    [at_clHostMemAllocINTEL] = {1, LAYER_SVM},
    [at_clMemFreeINTEL] = {-1, LAYER_SVM},
};

/* Every call after the loss fails. The program learns of the loss by the first failure that it can act upon, which
 * excludes failed releases, unless the code says that the device is gone. */
static fault_verdict after_the_loss(int entry) {
  static atomic_bool named[entries];
  const int64_t now = now_ns(), told = atomic_load(&told_ns), age = now - told;
  if (on_context(entry) && told && age > (int64_t)grace_ms * 1000000) {
    atomic_fetch_add(&layer_fault.violations, 1);
    if (!atomic_exchange(&named[entry], true))
      layer_log("VIOLATION %s is called %lld ms after the loss was reported", kNames[entry],
                (long long)(age / 1000000));
  }
  const bool says_gone = code == CL_DEVICE_NOT_AVAILABLE || code == NVIDIA_LOST;
  if (!told && kFails[entry] && (kLive[entry].step >= 0 || says_gone)) atomic_store(&told_ns, now);
  return kFails[entry] ? FAULT_FAIL : FAULT_SILENT;
}

static void hang_forever(void) {
  for (;;) pause();
}

static fault_verdict inject(int entry, unsigned long call) {
  const bool never_runs = what == ERROR || what == SILENT || what == HANG || what == LOST;
  if ((what == SILENT && !kSilent[entry]) || (what == ERROR && !kFails[entry])) return FAULT_PASS;
  layer_log("fault: %s call %lu -> %s %d", kNames[entry], call, kKinds[what], what == SLOW ? (int)slow_ms : code);
  atomic_fetch_add(&layer_fault.injected, 1);
  if (entry == at_clEnqueueNDRangeKernel && never_runs && !(what == SILENT && fault_plan_copies))
    atomic_fetch_add(&layer_fault.chunks, 1);
  switch (what) {
    case HANG:
      hang_forever();
      return FAULT_PASS;
    case SLOW:
      sleep_ms(slow_ms);
      return FAULT_PASS;
    case SILENT:
      return FAULT_SILENT;
    case LOST:
      atomic_store(&lost, true);
      return after_the_loss(entry);
    default:
      return FAULT_FAIL;
  }
}

/* FAULT_ONE_IN: whether this call is one of those that fail, by FAULT_SEED and the call's number. */
static bool is_drawn(void) {
  uint64_t z = (atomic_fetch_add(&all_calls, 1) + 1 + seed * 1000003u) * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return (z ^ z >> 31) % one_in == 0;
}

/* The second fault: the first call of its entry after the first fault. */
static bool second_fault(int entry, unsigned long call) {
  static atomic_bool done;
  if (entry != second || atomic_load(&layer_fault.injected) == 0 || atomic_exchange(&done, true)) return false;
  layer_log("fault: %s call %lu -> error %d, after another fault", kNames[entry], call, code);
  return true;
}

fault_verdict fault_plan_call(int entry) {
  const bool on = is_armed();
  const unsigned long call = atomic_fetch_add(&calls[on][entry], 1) + 1;
  if (!on || what == COUNT) return FAULT_PASS;
  if (atomic_load(&lost)) return after_the_loss(entry);
  if (second_fault(entry, call)) return FAULT_FAIL;
  if (one_in ? is_drawn() : entry == target && (nth == 0 || call == nth)) return inject(entry, call);
  return FAULT_PASS;
}

void fault_live(int entry, int event) {
  if (kLive[entry].step) atomic_fetch_add(&layer_fault.live[kLive[entry].of], kLive[entry].step);
  if (event) atomic_fetch_add(&layer_fault.live[LAYER_EVENT], 1);
}

__attribute__((destructor)) static void at_end(void) {
  if (target >= 0) layer_log("calls: %s %lu", kNames[target], atomic_load(&calls[1][target]));
  for (int i = 0; what == COUNT && i < entries; i++)
    if (calls[0][i] + calls[1][i] > 0) layer_log("count: %s %lu %lu", kNames[i], calls[0][i], calls[1][i]);
}
