/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/scarce/calls.h"

hx_status call_offload(world *w) {
  hx_report report;
  return hx_offload(w->hx, &w->task, &report);
}

static hx_status call_async(world *w) {
  hx_event *event;
  const hx_status s = hx_offload_async(w->hx, &w->task, &event);
  return s == HX_OK ? hx_wait(event, NULL) : s;
}

/* The next calls write no memory of the caller; whether they leave hx in order is tested by a product afterwards. */

static hx_status call_open(world *w) {
  hx_context *hx;
  const hx_status s = hx_open(&hx, &w->settings);
  if (s != HX_OK) return hx == NULL ? s : HX_INTERNAL;
  hx_close(hx);
  return HX_OK;
}

static hx_status call_close(world *w) {
  hx_close(w->hx);
  w->hx = NULL;
  return HX_OK;
}

static hx_status call_alloc(world *w) {
  void *const p = hx_alloc(w->hx, 100000);
  hx_free(w->hx, p);
  return p ? HX_OK : HX_OUT_OF_MEMORY;
}

static hx_status call_free(world *w) {
  hx_free(w->hx, w->block);
  return HX_OK;
}

static bool prepare_block(world *w) { return (w->block = hx_alloc(w->hx, 100000)) != NULL; }

static hx_status call_register(world *w) {
  const hx_status s = hx_register(w->hx, w->a, 4096);
  return s == HX_OK ? hx_unregister(w->hx, w->a) : s;
}

static hx_status advise(world *w, unsigned advice) { return hx_advise(w->hx, w->block, 100000, advice); }
static hx_status call_advise(world *w) { return advise(w, HX_READ_MOSTLY | HX_RESIDENT); }
static hx_status call_modified(world *w) { return hx_modified(w->hx, w->block, 100000); }
static hx_status call_sync(world *w) { return hx_sync(w->hx, w->block, 100000); }
static bool prepare_advised(world *w) { return prepare_block(w) && call_advise(w) == HX_OK; }

static hx_status call_ready(world *w) { return hx_ready(w->hx); }
/* hx_device_count reads the topology, which the first call of every process needs. */
static bool prepare_warm(world *w) { return hx_device_count(w->hx) > 0; }
static bool prepare_ready(world *w) { return w->driver ? prepare_warm(w) : hx_ready(w->hx) == HX_OK; }
static hx_status call_count(world *w) { return hx_device_count(w->hx) > 0 ? HX_OK : HX_INTERNAL; }
static hx_status call_device(world *w) {
  hx_device_info info;
  return hx_device(w->hx, 0, &info);
}

/* Operands that stay packed or on a device, and a C that stays there. */
static bool prepare_mostly(world *w) {
  const size_t a = w->row->m * w->row->k * 4, b = w->row->k * w->row->cols * 4;
  return prepare_ready(w) && hx_register(w->hx, w->a, a) == HX_OK && hx_register(w->hx, w->b, b) == HX_OK &&
         hx_advise(w->hx, w->a, a, HX_READ_MOSTLY) == HX_OK && hx_advise(w->hx, w->b, b, HX_READ_MOSTLY) == HX_OK;
}
static bool prepare_resident(world *w) {
  const size_t bytes = w->c_floats * 4;
  return prepare_mostly(w) && hx_register(w->hx, w->c, bytes) == HX_OK &&
         hx_advise(w->hx, w->c, bytes, HX_RESIDENT) == HX_OK;
}
static hx_status sync_c(world *w) { return hx_sync(w->hx, w->c, w->c_floats * 4); }

/* All calls from hx_open to hx_close. A context that was opened is closed whatever fails in between. */
static hx_status call_life(world *w) {
  hx_status s = hx_open(&w->hx, &w->settings);
  if (s != HX_OK) return s;
  hx_device_info info;
  hx_event *event;
  if (!w->driver) hx_ready(w->hx);
  hx_device(w->hx, hx_device_count(w->hx) - 1, &info);
  void *const block = hx_alloc(w->hx, 100000);
  if (block) hx_advise(w->hx, block, 5000, HX_RESIDENT);
  hx_value sum;
  const hx_task t = hx_reduce(HX_SUM, HX_U32, w->a, w->row->m * w->row->k, &sum);
  if (hx_offload_async(w->hx, &t, &event) == HX_OK) hx_wait(event, NULL);
  s = call_offload(w);
  hx_free(w->hx, block);
  call_close(w);
  return s;
}
static bool prepare_life(world *w) { return call_close(w) == HX_OK; }

bool scarce_computes(const row *r) { return r->call == call_offload || r->call == call_async || r->call == call_life; }

#define CPU .devices = "cpu", .threads = "2", .share = -1
#define WARM CPU, .prepare = prepare_warm
#define SIM .devices = "cpu,sim", .threads = "2", .sim = "rate=1e9,latency_us=10"
#define TWO .devices = "cpu,sim", .threads = "2", .sim = "rate=1e9,latency_us=10;rate=5e8"
#define FAILING(where) .devices = "cpu,sim", .threads = "2", .sim = "rate=1e9,latency_us=10,fail=" where
#define OFFLOAD .call = call_offload
#define REDUCE(o, t, count) .op = (o), .type = (t), .n = (count)
#define PRODUCT(rows, columns, depth, b) .m = (rows), .cols = (columns), .k = (depth), .alpha = 1, .beta = (b)
#define OTHER(f) .call = (f), PRODUCT(40, 50, 60, 0.5f)

enum { MANY = (1 << 21) + 1 };

const row scarce_rows[] = {
    {"sum f32", OFFLOAD, CPU, REDUCE(HX_SUM, HX_F32, MANY)},
    {"min f32", OFFLOAD, WARM, REDUCE(HX_MIN, HX_F32, MANY)},
    {"max f32", OFFLOAD, WARM, REDUCE(HX_MAX, HX_F32, MANY)},
    {"argmin f32", OFFLOAD, WARM, REDUCE(HX_ARGMIN, HX_F32, MANY)},
    {"argmax i32", OFFLOAD, WARM, REDUCE(HX_ARGMAX, HX_I32, MANY)},
    {"dot f32", OFFLOAD, WARM, REDUCE(HX_DOT, HX_F32, MANY)},
    {"dot u32", OFFLOAD, WARM, REDUCE(HX_DOT, HX_U32, MANY)},
    {"sum of absolute values f32", OFFLOAD, WARM, REDUCE(HX_SUM_ABS, HX_F32, MANY)},
    {"sum of squares f32", OFFLOAD, WARM, REDUCE(HX_SUM_SQUARES, HX_F32, MANY)},
    {"product of elements i32", OFFLOAD, WARM, REDUCE(HX_PROD, HX_I32, MANY)},
    {"sum, small", OFFLOAD, WARM, REDUCE(HX_SUM, HX_I32, 777)},
    {"sum of nothing", OFFLOAD, CPU, REDUCE(HX_SUM, HX_F32, 0)},
    {"9 fields", OFFLOAD, WARM, REDUCE(HX_SUM, HX_F32, MANY / 4), .fields = 9},
    {"sum, by a device", OFFLOAD, SIM, .prepare = prepare_ready, REDUCE(HX_SUM, HX_F32, MANY), .share = 0.5f,
     .on_drivers = true},
    {"sum, by two devices", OFFLOAD, TWO, .prepare = prepare_ready, REDUCE(HX_SUM, HX_F32, MANY), .share = 0.7f},
    {"40 fields, by two devices", OFFLOAD, TWO, .prepare = prepare_ready, REDUCE(HX_SUM, HX_F32, MANY / 8),
     .fields = 40, .share = 0.7f},
    {"argmin, device fails", OFFLOAD, FAILING("wait@1"), .prepare = prepare_ready, REDUCE(HX_ARGMIN, HX_F32, MANY),
     .share = 0.5f},
    {"sum, in the background", CPU, .call = call_async, REDUCE(HX_SUM, HX_F32, MANY)},
    {"9 fields, in the background", CPU, .call = call_async, REDUCE(HX_SUM, HX_F32, MANY / 4), .fields = 9},

    {"product A B", OFFLOAD, CPU, PRODUCT(136, 152, 1100, 0)},
    {"product A B'", OFFLOAD, WARM, PRODUCT(136, 152, 1100, 0), .trans_b = true},
    {"product A' B", OFFLOAD, WARM, PRODUCT(136, 152, 1100, 0), .trans_a = true},
    {"product A' B'", OFFLOAD, WARM, PRODUCT(136, 152, 1100, 0), .trans_a = true, .trans_b = true},
    {"product A B + C", OFFLOAD, CPU, PRODUCT(136, 152, 1100, 0.5f)},
    {"product A B' + C", OFFLOAD, WARM, PRODUCT(136, 152, 1100, 0.5f), .trans_b = true},
    {"product A' B + C", OFFLOAD, WARM, PRODUCT(136, 152, 1100, 0.5f), .trans_a = true},
    {"product A' B' + C", OFFLOAD, WARM, PRODUCT(136, 152, 1100, 0.5f), .trans_a = true, .trans_b = true},
    {"product with gaps", OFFLOAD, WARM, PRODUCT(152, 136, 1100, -1), .gap = 5},
    {"product, alpha 0", OFFLOAD, WARM, .m = 300, .cols = 400, .k = 600, .beta = 0.5f},
    {"product, k 0", OFFLOAD, WARM, PRODUCT(300, 400, 0, 0.5f)},
    {"product, packed ahead, with a remainder", OFFLOAD, WARM, PRODUCT(500, 520, 600, 0.5f)},
    {"product, packed ahead, rows", OFFLOAD, WARM, PRODUCT(520, 500, 600, 0.5f)},
    {"product by panels", OFFLOAD, CPU, PRODUCT(12, 12, 40000, 0.5f)},
    {"product of few rows", OFFLOAD, WARM, PRODUCT(3, 2000, 1100, 0.5f)},
    {"product by one thread", OFFLOAD, .devices = "cpu", .threads = "1", .share = -1, PRODUCT(136, 152, 1100, 0.5f)},
    {"product, small", OFFLOAD, CPU, PRODUCT(40, 50, 60, 0.5f)},
    {"product, operands kept packed", OFFLOAD, CPU, .prepare = prepare_mostly, PRODUCT(500, 520, 600, 0.5f)},
    {"product, by a device", OFFLOAD, SIM, .prepare = prepare_ready, PRODUCT(136, 152, 600, 0.5f), .share = 0.5f},
    {"product, by the device alone", OFFLOAD, SIM, .prepare = prepare_ready, PRODUCT(136, 152, 600, 0.5f), .share = 1},
    {"product, by two devices", OFFLOAD, TWO, .prepare = prepare_ready, PRODUCT(136, 152, 600, 0.5f), .share = 0.7f},
    {"product, device fails", OFFLOAD, FAILING("enqueue@1"), .prepare = prepare_ready, PRODUCT(136, 152, 600, 0.5f),
     .share = 0.5f},
    {"product, device alone fails", OFFLOAD, FAILING("wait@1"), .prepare = prepare_ready, PRODUCT(136, 152, 600, 0.5f),
     .share = 1},
    {"product, device has no stream", OFFLOAD, FAILING("open@1"), .prepare = prepare_ready,
     PRODUCT(136, 152, 600, 0.5f), .share = 0.5f},
    {"product, operands on the device", OFFLOAD, SIM, .prepare = prepare_mostly, PRODUCT(136, 152, 600, 0.5f),
     .share = 1},
    {"product, C on the device", OFFLOAD, SIM, .prepare = prepare_resident, .finish = sync_c,
     PRODUCT(136, 152, 600, 0.5f), .share = 1},
    {"product, in the background", CPU, .call = call_async, PRODUCT(136, 152, 1100, 0.5f)},

    {"hx_open", OTHER(call_open), .devices = "cpu,sim", .sim = "rate=1e9;profile=xe"},
    {"hx_close", OTHER(call_close), SIM, .prepare = prepare_ready},
    {"hx_alloc", OTHER(call_alloc), CPU},
    {"hx_alloc, with a device", OTHER(call_alloc), SIM},
    {"hx_free", OTHER(call_free), SIM, .prepare = prepare_block},
    {"hx_register", OTHER(call_register), CPU},
    {"hx_register, with a device", OTHER(call_register), SIM, .prepare = prepare_ready},
    {"hx_advise", OTHER(call_advise), SIM, .prepare = prepare_block},
    {"hx_modified", OTHER(call_modified), SIM, .prepare = prepare_advised},
    {"hx_sync", OTHER(call_sync), SIM, .prepare = prepare_advised},
    {"hx_ready", OTHER(call_ready), TWO},
    {"hx_device_count", OTHER(call_count), TWO},
    {"hx_device", OTHER(call_device), TWO},
    {"from open to close", OTHER(call_life), CPU, .prepare = prepare_life},
    {"product, adaptive", OFFLOAD, SIM, .prepare = prepare_ready, PRODUCT(136, 152, 600, 0.5f), .share = -1,
     .min_offload = "1"},
    {"sum, adaptive", OFFLOAD, TWO, .prepare = prepare_ready, REDUCE(HX_SUM, HX_F32, MANY), .share = -1,
     .min_offload = "1"},
    {"from open to close, adaptive", TWO, .call = call_life, .prepare = prepare_life, PRODUCT(136, 152, 600, 0.5f),
     .share = -1, .min_offload = "1"},
    {"from open to close, with devices", TWO, .call = call_life, .prepare = prepare_life, PRODUCT(136, 152, 600, 0.5f),
     .share = 0.5f, .on_drivers = true},
};
const size_t scarce_row_count = sizeof scarce_rows / sizeof scarce_rows[0];
