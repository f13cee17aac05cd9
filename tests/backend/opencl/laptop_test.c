/* SPDX-License-Identifier: Apache-2.0
 * laptop_test LAPTOP: what hx does on a laptop's integrated GPU, from its discovery to runs that share the work. A
 * CPU's driver computes behind the name, the limits and the extensions of that GPU (dress_layer, DRESS_AS), which also
 * reports what the GPU could not do. */
#include "reference/data.h"
#include "runtime/backend/opencl/stream.h"
#include "runtime/backend/registry.h"
#include "tests/check.h"

enum { N = 1 << 21, SIDE = 384, CALLS = 16, LAST = 5 };

static const struct expected {
  const char *word, *name, *vendor, *maker; /* maker: its word in HX_DEVICES */
  uint32_t units, families;
} laptops[] = {
    {"tgl", "Mesa Intel(R) Iris(R) Xe Graphics (TGL GT2)", "Intel", "intel", 6, HX__FAMILY_INTEL},
    {"phoenix", "AMD Radeon 780M Graphics (radeonsi, phoenix, LLVM 19.1.7, DRM 3.61, 6.12.48+deb13-amd64)", "AMD",
     "amd", 12, HX__FAMILY_AMD_RDNA},
    {"tgl-neo", "Intel(R) Iris(R) Xe Graphics", "Intel(R) Corporation", "intel", 96,
     HX__FAMILY_INTEL | HX__FAMILY_SUBGROUP8 | HX__FAMILY_SUBGROUP16},
};

static const struct expected *laptop;

/* The CPU gets one thread, and kernels without fma where it has such: the driver below then computes a product several
 * times as fast, and a sum several times as slowly. */
static hx_context *open_with(const char *devices) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = devices;
  settings.threads = "1";
#ifdef __x86_64__
  settings.isa = "sse2";
#endif
  return open_or_exit(&settings);
}

/* What hx says of the GPU, which is device 1, if HX_DEVICES is this. */
static hx_device_info gpu_of(const char *devices) {
  hx_device_info d = {0};
  hx_context *const hx = open_with(devices);
  CHECK(hx_device_count(hx) == 2, "%zu devices", hx_device_count(hx));
  CHECK_OK(hx_device(hx, 1, &d));
  hx_close(hx);
  return d;
}

static void test_discovery(void) {
  const hx_device_info d = gpu_of("cpu,igpu");
  CHECK(strcmp(d.name, laptop->name) == 0 && strcmp(d.vendor, laptop->vendor) == 0, "%s of %s", d.name, d.vendor);
  CHECK(d.kind == HX_IGPU && d.compute_units == laptop->units, "kind %d, %u units", (int)d.kind, d.compute_units);
  CHECK(d.state != HX_REFUSED, "igpu: %s", d.why);
  CHECK(gpu_of(laptop->maker).state != HX_REFUSED, "%s does not name it", laptop->maker);
  CHECK(gpu_of("cpu,gpu").state == HX_REFUSED, "it is taken for a discrete GPU");
  hx__device *const *list;
  CHECK(hx__registry_devices(&list) == 1, "one OpenCL device");
  const hx__cl_device *const own = (const hx__cl_device *)list[0];
  CHECK((own->families & laptop->families) == laptop->families, "families 0x%x without some of 0x%x", own->families,
        laptop->families);
  CHECK(!(own->families & HX__FAMILY_CPU), "it gets the rows of CPUs");
  CHECK(!own->base.is_discrete && !own->base.uses_cpu_cores && !own->base.never_times_out, "its properties");
}

static void test_ready(hx_context *hx) {
  hx_device_info d;
  CHECK_OK(hx_ready(hx));
  CHECK_OK(hx_device(hx, 1, &d));
  CHECK(d.state == HX_USABLE && !*d.why, "state %d: %s", (int)d.state, d.why);
  CHECK(strcmp(d.memory, "hostptr") == 0, "arrays reach it by %s", d.memory);
}

typedef struct arrays {
  float *x, *a, *b, *c, *want;
  hx_value sum;
} arrays;

/* A sum and a product with this share, compared with the CPU's. */
static void run(hx_context *hx, const arrays *p, float share, hx_report reports[2]) {
  hx_value sum = {.u64 = 0x5a5a5a5a5a5a5a5a};
  hx_task tasks[2] = {hx_reduce(HX_SUM, HX_F32, p->x, N, &sum), hx_matmul(SIDE, SIDE, SIDE, p->a, p->b, p->c)};
  memset(p->c, 0x5a, SIDE * SIDE * sizeof *p->c);
  for (int i = 0; i < 2; i++) {
    tasks[i].gpu_share = share;
    CHECK_OK(hx_offload(hx, &tasks[i], &reports[i]));
    CHECK(share < 0 || reports[i].recovered == 0, "share %g: %u chunks recovered", (double)share, reports[i].recovered);
  }
  CHECK(memcmp(&sum, &p->sum, sizeof sum) == 0, "share %g: the sum", (double)share);
  CHECK(memcmp(p->c, p->want, SIDE * SIDE * sizeof *p->c) == 0, "share %g: the product", (double)share);
}

/* The part of `slices` that a share means: rounded half up. */
static double rounded(double share, double slices) { return (double)(size_t)(share * slices + 0.5) / slices; }

static bool is_same(double a, double b) { return a - b < 1e-9 && b - a < 1e-9; }

static void test_shares(hx_context *hx, const arrays *p) {
  static const float shares[] = {0.25f, 0.5f, 0.75f, 1.0f};
  hx_report reports[2];
  for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
    const double share = (double)shares[i];
    run(hx, p, shares[i], reports);
    CHECK(is_same(reports[0].gpu_share, rounded(share, N / 4096)), "sum: %g of %g", reports[0].gpu_share, share);
    CHECK(is_same(reports[1].gpu_share, rounded(share, SIDE)), "product: %g of %g", reports[1].gpu_share, share);
    CHECK(reports[0].bytes_copied == 0, "sum: %llu bytes copied", (unsigned long long)reports[0].bytes_copied);
  }
}

/* The units that the device did. Those of all participants have to be the task's. */
static uint64_t units_on_device(const hx_report *report, uint64_t all) {
  uint64_t units = 0, on_device = 0;
  for (uint32_t i = 0; i < report->device_count; i++) {
    units += report->device[i].units;
    if (report->device[i].index == 1) on_device = report->device[i].units;
  }
  CHECK(units == all, "%llu units of %llu", (unsigned long long)units, (unsigned long long)all);
  return on_device;
}

/* hx decides: it tries the device, learns which side is faster at what, and reports what was done. Which side that is
 * depends on the machine and its load, so it is printed and not checked. */
static void test_model(hx_context *hx, const arrays *p) {
  static const uint64_t all[2] = {N, (uint64_t)SIDE * SIDE * SIDE};
  unsigned mostly[2] = {0}; /* of the last calls: those whose greater part the device did */
  unsigned tried[2] = {0};  /* of all calls: those in which the device took part */
  hx_report reports[2];
  for (int call = 0; call < CALLS; call++) {
    run(hx, p, -1, reports);
    for (int i = 0; i < 2; i++) {
      const uint64_t units = units_on_device(&reports[i], all[i]);
      mostly[i] += call >= CALLS - LAST && units > all[i] / 2;
      tried[i] += units > 0;
      CHECK(is_same(reports[i].gpu_share, (double)units / (double)all[i]), "share %g of %llu units",
            reports[i].gpu_share, (unsigned long long)units);
    }
  }
  printf("of the last %d calls the device did most of %u sums and of %u products\n", LAST, mostly[0], mostly[1]);
  CHECK(tried[1] > 0, "the device took part in none of %d products", CALLS);
}

static float *from_malloc(hx_context *hx, size_t bytes) {
  (void)hx;
  return malloc(bytes);
}

static float *from_hx(hx_context *hx, size_t bytes) { return hx_alloc(hx, bytes); }

static void test_runs(hx_context *hx, float *(*get)(hx_context *hx, size_t bytes)) {
  enum { SQUARE = SIDE * SIDE };
  arrays p = {get(hx, N * 4), get(hx, SQUARE * 4), get(hx, SQUARE * 4), get(hx, SQUARE * 4), get(hx, SQUARE * 4), {0}};
  if (!p.x || !p.a || !p.b || !p.c || !p.want) exit(1);
  data_fill(HX_F32, DATA_SIGNED, 1, p.x, N);
  data_fill(HX_F32, DATA_SIGNED, 2, p.a, SQUARE);
  data_fill(HX_F32, DATA_SIGNED, 3, p.b, SQUARE);
  hx_task sum = hx_reduce(HX_SUM, HX_F32, p.x, N, &p.sum), product = hx_matmul(SIDE, SIDE, SIDE, p.a, p.b, p.want);
  sum.gpu_share = product.gpu_share = 0;
  CHECK_OK(hx_offload(hx, &sum, NULL));
  CHECK_OK(hx_offload(hx, &product, NULL));
  test_shares(hx, &p);
  test_model(hx, &p);
  float *const all[] = {p.x, p.a, p.b, p.c, p.want};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) get == from_hx ? hx_free(hx, all[i]) : free(all[i]);
}

int main(int argc, char **argv) {
  for (size_t i = 0; argc == 2 && i < sizeof laptops / sizeof laptops[0]; i++)
    if (strcmp(argv[1], laptops[i].word) == 0) laptop = &laptops[i];
  if (!laptop) return fputs("laptop_test LAPTOP: tgl, phoenix or tgl-neo\n", stderr), 2;
  setenv("DRESS_AS", laptop->word, 1);
  test_discovery();
  hx_context *const hx = open_with("cpu,igpu");
  test_ready(hx);
  test_runs(hx, from_malloc);
  test_runs(hx, from_hx);
  hx_close(hx);
  return checks_end("laptop_test");
}
