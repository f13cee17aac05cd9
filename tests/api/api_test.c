/* SPDX-License-Identifier: Apache-2.0
 * The calls that compute: every refusal of hx.h with nothing written and a detail that names the value, the empty
 * cases, the bytes of a result, reports and events. On the CPU alone. */
#include <math.h>
#include <pthread.h>
#include <stdint.h>

#include "tests/check.h"

static hx_context *hx;
static float x[64], y[64];
static hx_value out[8];

static void reset_arrays(void) {
  for (int i = 0; i < 64; i++) x[i] = (float)i, y[i] = 1;
  memset(out, 0xa5, sizeof out);
}

static bool out_untouched(void) {
  for (size_t i = 0; i < sizeof out; i++)
    if (((const unsigned char *)out)[i] != 0xa5) return false;
  return true;
}

/* Both calls refuse the task; out and the report stay unchanged. */
static void expect_refusal(const hx_task *task, const char *text, int line) {
  hx_report report, before;
  memset(&report, 0x5a, sizeof report);
  before = report;
  hx_event *event = NULL;
  unsigned failed = checks_failed;
  reset_arrays();
  CHECK_REFUSED(hx_offload(hx, task, &report), HX_INVALID_ARGUMENT, text);
  CHECK_REFUSED(hx_offload_async(hx, task, &event), HX_INVALID_ARGUMENT, text);
  CHECK(event == NULL, "an event was made");
  CHECK(out_untouched(), "the output was written");
  CHECK(memcmp(&report, &before, sizeof report) == 0, "the report was written");
  for (int i = 0; i < 64; i++) CHECK(x[i] == (float)i && y[i] == 1, "the input was written at %d", i);
  if (checks_failed != failed) printf("  (case of line %d)\n", line);
}
#define REFUSED(task, text) expect_refusal(&(task), text, __LINE__)

static void bad_reductions(void) {
  hx_task t = hx_reduce(HX_SUM, HX_F32, NULL, 5, out);
  REFUSED(t, "x");
  t = hx_reduce(HX_SUM, HX_F32, x, 5, NULL);
  REFUSED(t, "out");
  t = hx_reduce((hx_op)0, HX_F32, x, 5, out);
  REFUSED(t, "op is 0");
  t = hx_reduce((hx_op)10, HX_F32, x, 5, out);
  REFUSED(t, "10");
  t = hx_reduce((hx_op)-1, HX_F32, x, 5, out);
  REFUSED(t, "op");
  t = hx_reduce(HX_SUM, (hx_type)0, x, 5, out);
  REFUSED(t, "type");
  t = hx_reduce(HX_SUM, (hx_type)4, x, 5, out);
  REFUSED(t, "4");
  t = hx_reduce(HX_SUM, HX_F32, x, SIZE_MAX / 4 + 1, out);
  REFUSED(t, "n");
  t = hx_reduce(HX_SUM, HX_F32, x, SIZE_MAX, out);
  REFUSED(t, "18446744073709551615");
  t = hx_reduce(HX_SUM, HX_F32, (char *)x + 2, 5, out);
  REFUSED(t, "aligned");
  t = hx_reduce(HX_SUM, HX_F32, x, 5, (hx_value *)(void *)((char *)out + 4));
  REFUSED(t, "aligned");
  t = hx_dot(HX_F32, x, NULL, 5, out);
  REFUSED(t, "y");
  t = hx_dot(HX_F32, x, (char *)y + 1, 5, out);
  REFUSED(t, "aligned");
  const hx_op extremes[] = {HX_MIN, HX_MAX, HX_ARGMIN, HX_ARGMAX};
  for (int type = HX_F32; type <= HX_U32; type++)
    for (int i = 0; i < 4; i++) {
      t = hx_reduce(extremes[i], (hx_type)type, x, 0, out);
      REFUSED(t, "n");
    }
  static union {
    hx_value value[32];
    float f32[64];
  } both; /* an output inside an input */
  t = hx_reduce(HX_SUM, HX_F32, both.f32, 64, &both.value[31]);
  REFUSED(t, "out");
  t = hx_dot(HX_F32, x, both.f32 + 1, 63, &both.value[0]);
  REFUSED(t, "out");
  t = hx_reduce(HX_SUM, HX_F32, both.f32, 62, &both.value[31]); /* arrays may be adjacent */
  CHECK_OK(hx_offload(hx, &t, NULL));
}

static void bad_tasks(void) {
  hx_task t = hx_reduce(HX_SUM, HX_F32, x, 5, out);
  t.gpu_share = NAN;
  REFUSED(t, "gpu_share");
  t.gpu_share = 1.0001f;
  REFUSED(t, "gpu_share");
  t.gpu_share = INFINITY;
  REFUSED(t, "gpu_share");
  t.gpu_share = -INFINITY; /* negative: hx decides */
  CHECK_OK(hx_offload(hx, &t, NULL));
  t.gpu_share = -0.0f; /* zero */
  CHECK_OK(hx_offload(hx, &t, NULL));
  for (int i = 0; i < 8; i++) {
    t = hx_reduce(HX_SUM, HX_F32, x, 5, out);
    t.reserved[i] = 1;
    REFUSED(t, "reserved");
  }
  t = hx_reduce(HX_SUM, HX_F32, x, 5, out);
  t.kind = (hx_kind)0;
  REFUSED(t, "kind");
  t.kind = (hx_kind)7;
  REFUSED(t, "kind");
  reset_arrays();
  CHECK_REFUSED(hx_offload(hx, NULL, NULL), HX_INVALID_ARGUMENT, "task");
  t = hx_reduce(HX_SUM, HX_F32, x, 5, out);
  CHECK_REFUSED(hx_offload(NULL, &t, NULL), HX_INVALID_ARGUMENT, "NULL");
  CHECK_REFUSED(hx_offload_async(hx, &t, NULL), HX_INVALID_ARGUMENT, "NULL");
  CHECK_REFUSED(hx_wait(NULL, NULL), HX_INVALID_ARGUMENT, "NULL");
  CHECK(hx_done(NULL), "hx_done(NULL) is false");
  CHECK(out_untouched(), "the output was written");
}

static void bad_soa(void) {
  hx_field f[3] = {{HX_SUM, HX_F32, x, NULL}, {HX_MAX, HX_I32, x, NULL}, {HX_DOT, HX_F32, x, y}};
  hx_task t = hx_reduce_soa(NULL, 3, 5, out);
  REFUSED(t, "fields");
  t = hx_reduce_soa(f, 3, 5, NULL);
  REFUSED(t, "out");
  t = hx_reduce_soa(f, 3, 0, out); /* one field has no value for n == 0, so the whole task is refused */
  REFUSED(t, "n");
  f[2].y = NULL;
  t = hx_reduce_soa(f, 3, 5, out);
  REFUSED(t, "y");
  f[2].y = y;
  f[1].x = NULL;
  REFUSED(t, "x");
  f[1].x = x;
  f[1].op = (hx_op)77;
  REFUSED(t, "op of field 1 is 77");
  f[1].op = HX_SUM;
  f[1].type = (hx_type)9;
  REFUSED(t, "9");
  f[1].type = HX_U32;
  t = hx_reduce_soa(f, SIZE_MAX / 4, 5, out);
  REFUSED(t, "nfields");
  t = hx_reduce_soa(f, 3, 5, (hx_value *)&f[2].y); /* the results would overwrite the fields */
  REFUSED(t, "fields");
  reset_arrays();
  t = hx_reduce_soa(NULL, 0, 5, NULL);
  CHECK_OK(hx_offload(hx, &t, NULL));
  t = hx_reduce_soa(f, 3, 0, out);
  CHECK_OK(hx_offload(hx, &t, NULL));
  CHECK(out[0].u64 == 0 && out[1].u64 == 0 && out[2].u64 == 0, "sums of nothing are not +0");
  f[0].y = (const void *)1; /* ignored: not a dot */
  t = hx_reduce_soa(f, 3, 4, out);
  CHECK_OK(hx_offload(hx, &t, NULL));
  CHECK(out[0].f32 == 6 && out[2].f32 == 6, "%g, %g", (double)out[0].f32, (double)out[2].f32);
}

/* The results for n == 0, and that no byte beside a result is written. */
static void results_are_stored(void) {
  for (int op = HX_SUM; op <= HX_PROD; op++)
    for (int type = HX_F32; type <= HX_U32; type++) {
      bool extreme = op >= HX_MIN && op <= HX_ARGMAX;
      hx_task t = hx_reduce((hx_op)op, (hx_type)type, NULL, 0, out);
      if (!extreme) {
        reset_arrays();
        CHECK_OK(hx_offload(hx, &t, NULL));
        uint64_t want = op != HX_PROD ? 0 : type == HX_F32 ? 0x3f800000u : 1;
        CHECK(out[0].u64 == want, "op %d type %d of nothing: %llx", op, type, (unsigned long long)out[0].u64);
      }
      reset_arrays();
      x[0] = -3, x[1] = 2;
      t = hx_reduce((hx_op)op, (hx_type)type, x, 2, out);
      t.reduce.y = y;
      CHECK_OK(hx_offload(hx, &t, NULL));
      bool narrow = op == HX_MIN || op == HX_MAX || (type == HX_F32 && op != HX_ARGMIN && op != HX_ARGMAX);
      CHECK(!narrow || out[0].u64 >> 32 == 0, "op %d type %d: %llx", op, type, (unsigned long long)out[0].u64);
      CHECK(out[1].u64 == UINT64_C(0xa5a5a5a5a5a5a5a5), "op %d type %d wrote past its result", op, type);
    }
  int32_t least[2] = {INT32_MIN, INT32_MIN};
  hx_task t = hx_reduce(HX_SUM_ABS, HX_I32, least, 2, out);
  CHECK_OK(hx_offload(hx, &t, NULL));
  CHECK(out[0].i64 == INT64_C(4294967296), "%lld", (long long)out[0].i64);
}

static void report_is_filled(void) {
  hx_report report;
  hx_task t = hx_reduce(HX_SUM, HX_F32, x, 64, out);
  memset(&report, 0x5a, sizeof report);
  CHECK_OK(hx_offload(hx, &t, &report));
  CHECK(report.seconds >= 0 && report.seconds < 10, "seconds %g", report.seconds);
  CHECK(report.gpu_share == 0, "gpu_share %g", report.gpu_share);
  CHECK(isnan(report.joules) || report.joules >= 0, "joules %g", report.joules);
  CHECK(report.bytes_copied == 0 && report.recovered == 0, "copied %llu, recovered %u",
        (unsigned long long)report.bytes_copied, report.recovered);
  CHECK(report.device_count == 1 && report.device[0].index == 0 && report.device[0].units == 64,
        "%u devices, %llu units", report.device_count, (unsigned long long)report.device[0].units);
  for (int i = 0; i < 8; i++) CHECK(report.reserved[i] == 0, "reserved[%d]", i);
}

static void *wait_there(void *event) {
  hx_report report;
  return hx_wait(event, &report) == HX_OK && report.device_count >= 1 ? event : NULL;
}

static void events_are_checked(void) {
  enum { EVENTS = 8 };
  hx_event *event[EVENTS];
  static hx_value sums[EVENTS];
  static float data[EVENTS][5000];
  hx_field f[1];
  for (int i = 0; i < EVENTS; i++) {
    for (int j = 0; j < 5000; j++) data[i][j] = (float)i;
    f[0] = (hx_field){HX_SUM, HX_F32, data[i], NULL};
    hx_task t = hx_reduce_soa(f, 1, 5000, &sums[i]);
    CHECK_OK(hx_offload_async(hx, &t, &event[i]));
    memset(&t, 0xff, sizeof t); /* the task and its fields were copied */
    memset(f, 0xff, sizeof f);
  }
  double give_up = seconds_now() + 20;
  while (!hx_done(event[EVENTS - 1]) && seconds_now() < give_up) nanosleep(&(struct timespec){0, 1000000}, NULL);
  CHECK(hx_done(event[EVENTS - 1]), "not done after 20 s");
  for (int i = EVENTS - 1; i >= 0; i--) {
    pthread_t thread;
    void *ok = NULL;
    if (pthread_create(&thread, NULL, wait_there, event[i]) == 0)
      pthread_join(thread, &ok); /* any thread may call hx_wait */
    CHECK(ok == event[i], "event %d", i);
    CHECK(sums[i].f32 == 5000.0f * (float)i, "event %d: %g", i, (double)sums[i].f32);
  }
  hx_context *other = open_or_exit(NULL); /* hx_close waits, and frees events without hx_wait */
  hx_task t = hx_reduce(HX_SUM, HX_F32, data[3], 5000, &sums[0]);
  CHECK_OK(hx_offload_async(other, &t, &event[0]));
  hx_close(other);
  CHECK(sums[0].f32 == 15000, "hx_close did not wait: %g", (double)sums[0].f32);
}

static void *detail_there(void *text) {
  snprintf(text, 64, "%s", hx_error_detail());
  hx_task t = hx_reduce(HX_SUM, HX_F32, x, 5, NULL);
  (void)hx_offload(hx, &t, NULL);
  return NULL;
}

static void strings_are_defined(void) {
  const char *const names[] = {"HX_OK",          "HX_INVALID_ARGUMENT", "HX_INVALID_CONFIG", "HX_OUT_OF_MEMORY",
                               "HX_UNSUPPORTED", "HX_DEVICE_FAILED",    "HX_INTERNAL"};
  for (int i = 0; i < 7; i++)
    CHECK(strcmp(hx_status_string((hx_status)i), names[i]) == 0, "%s", hx_status_string((hx_status)i));
  CHECK(hx_status_string((hx_status)99) != NULL && hx_status_string((hx_status)-1) != NULL, "NULL");
  CHECK(strcmp(hx_version(), "0.1.0") == 0 && HX_VERSION_NUMBER == 100, "%s", hx_version());
  hx_task t = hx_reduce(HX_SUM, HX_F32, x, SIZE_MAX, out);
  (void)hx_offload(hx, &t, NULL);
  char mine[256], theirs[64] = "?";
  snprintf(mine, sizeof mine, "%s", hx_error_detail());
  pthread_t thread;
  if (pthread_create(&thread, NULL, detail_there, theirs) == 0) pthread_join(thread, NULL);
  CHECK(theirs[0] == '\0', "a new thread's detail is: %s", theirs);
  CHECK(strcmp(mine, hx_error_detail()) == 0, "another thread changed this one's detail to: %s", hx_error_detail());
}

int main(void) {
  CHECK(hx_error_detail()[0] == '\0', "a detail before the first failure: %s", hx_error_detail());
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "cpu";
  hx = open_or_exit(&settings);
  bad_reductions();
  bad_tasks();
  bad_soa();
  results_are_stored();
  reset_arrays();
  report_is_filled();
  events_are_checked();
  strings_are_defined();
  hx_close(hx);
  hx_close(NULL);
  return checks_end("api_test");
}
