/* SPDX-License-Identifier: Apache-2.0
 * Pinning memory for later calls takes several times as long as a call, so the times of such a call must not be learned
 * as a rate. The first calls on a copying stream are not learned, later ones are. Pinned memory is released with the
 * context.
 *     pinning_cost_test DEVICE product  shares with the CPU
 *     pinning_cost_test DEVICE late     looks like a card, and pins for so long that the CPU computes its part instead
 */
#define HX__CL_ENTRIES_AS_THEY_ARE
#include "runtime/backend/opencl/entries.h"
#include "runtime/plan/key.h"
#include "runtime/sched/store.h"
#include "tests/check.h"
#include "reference/data.h"

#define PINNING_S 1.0
#define RING_BYTES ((size_t)4 << 20) /* the least size of each half of the ring */

enum { SIDE = 1000, ELEMENTS = 8000000, CALLS = 12 };

static bool late;

static struct hx__cl_entries loaded; /* the driver's entries, which the functions of this program call */

static cl_int get_device_info(cl_device_id device, cl_device_info what, size_t size, void *value, size_t *size_out) {
  const cl_int code = loaded.clGetDeviceInfo(device, what, size, value, size_out);
  if (!late || code != CL_SUCCESS || !value) return code;
  if (what == CL_DEVICE_TYPE) *(cl_device_type *)value = CL_DEVICE_TYPE_GPU;
  if (what == CL_DEVICE_HOST_UNIFIED_MEMORY) *(cl_bool *)value = CL_FALSE;
  return code;
}

static void *map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset,
                        size_t size, cl_uint waits, const cl_event *list, cl_event *event, cl_int *code) {
  const double till = seconds_now() + PINNING_S;
  while (late && size >= RING_BYTES && seconds_now() < till) nanosleep(&(struct timespec){0, 10000000}, NULL);
  return loaded.clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, waits, list, event, code);
}

static _Atomic int buffers; /* buffers that have not been released */

static cl_mem create_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code) {
  const cl_mem made = loaded.clCreateBuffer(context, flags, size, host, code);
  buffers += made != NULL;
  return made;
}

static cl_int release_mem_object(cl_mem mem) {
  buffers--;
  return loaded.clReleaseMemObject(mem);
}

/* Replaces entries of the loader by functions of this program. */
static void take_entries(void) {
  if (!hx__cl_load()) exit(1);
  loaded = hx__cl;
  hx__cl.clGetDeviceInfo = get_device_info;
  hx__cl.clEnqueueMapBuffer = map_buffer;
  hx__cl.clCreateBuffer = create_buffer;
  hx__cl.clReleaseMemObject = release_mem_object;
}

/* The model's entries of devices, without those of the CPU and of whole calls. */
static unsigned entries(void) {
  hx__model *const model = hx__model_of_process();
  unsigned count = 0;
  for (size_t i = 0; i < HX__MODEL_ENTRIES; i++) {
    const hx__model_entry *const e = &model->entry[i];
    count += e->samples && e->key.device && e->key.device != HX__CPU_IDENTITY;
  }
  return count;
}

/* Offloads a task in a new context. */
static void offload_in_own_context(const hx_settings *s, hx_task t) {
  hx_context *const hx = open_or_exit(s);
  CHECK_OK(hx_ready(hx));
  t.gpu_share = 1.0f;
  hx_report report = {.gpu_share = 0};
  for (int i = 0; i < 3; i++) CHECK_OK(hx_offload(hx, &t, &report));
  CHECK(report.gpu_share == 1.0, "share %.2f", report.gpu_share);
  hx_close(hx);
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  take_entries();
  late = strcmp(argv[2], "late") == 0;
  char devices[64];
  snprintf(devices, sizeof devices, "cpu,%s", argv[1]);
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = devices;
  s.memory = "copy";
  s.schedule = "static"; /* at first each gets half */
  s.cache_dir = "off";
  if (!late) s.timeout_ms = "off"; /* no chunk is computed again */
  hx_context *const hx = open_or_exit(&s);
  CHECK_OK(hx_ready(hx));
  const size_t n = late ? ELEMENTS : 3 * (size_t)SIDE * SIDE;
  float *const a = malloc(n * sizeof *a), *const b = a + SIDE * SIDE, *const c = b + SIDE * SIDE;
  if (!a) return 1;
  data_fill(HX_F32, DATA_SIGNED, 1, a, n);
  hx_value sum;
  const hx_task t = late ? hx_reduce(HX_SUM, HX_F32, a, n, &sum) : hx_matmul(SIDE, SIDE, SIDE, a, b, c);
  hx_report report;
  int calls = 0; /* the CPU may be done before the device has begun */
  do CHECK_OK(hx_offload(hx, &t, &report));
  while (report.gpu_share == 0 && report.recovered == 0 && ++calls < CALLS);
  CHECK(late ? report.recovered > 0 : report.gpu_share > 0, "share %.2f, %u recovered", report.gpu_share,
        report.recovered);
  CHECK(entries() == 0, "%u entries were learned from the call that pinned the ring and a readback buffer", entries());
  for (int i = 0; i < CALLS && !entries(); i++) CHECK_OK(hx_offload(hx, &t, &report));
  CHECK(entries() > 0, "nothing was learned from %d calls", CALLS);
  hx_close(hx);
  if (!late) {
    offload_in_own_context(&s, t);
    const int left = buffers;
    offload_in_own_context(&s, t);
    CHECK(buffers == left, "a context has left %d buffers", buffers - left);
  }
  free(a);
  return checks_end("pinning_cost_test");
}
