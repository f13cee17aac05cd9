/* SPDX-License-Identifier: Apache-2.0
 * Why no OpenCL driver shows a GPU that is on the PCI bus: its kernel driver, its device node, its OpenCL driver, or a
 * variable, in this order. */
#include <stdlib.h>
#include <string.h>

#include "bench/hints.h"
#include "bench/intel_chip.h"
#include "bench/packages.h"

#define RUSTICL "RusticlOpenCL" /* in the name of the library */
#define LINE 512u

struct view;
typedef void hint_absent_driver(const struct view *v);
static hint_absent_driver hint_absent_intel, hint_absent_amd, hint_absent_nvidia;

static const struct vendor {
  unsigned id;
  const char *name, *words[2]; /* words: in hx_device_info.vendor or .name */
  const char *driver_name;     /* in the name of the library of its own driver */
  const char *kernel_driver;
  const char *rusticl;  /* what RUSTICL_ENABLE calls it; NULL: nothing */
  const char *variable; /* hides devices from its driver */
  bench_need need;      /* installs that driver, if it is broken */
  hint_absent_driver *hint_absent;
} vendors[] = {
    {BENCH_VENDOR_INTEL,
     "Intel",
     {"Intel", NULL},
     "igdrcl",
     "i915 or xe",
     "iris",
     "ZE_AFFINITY_MASK",
     BENCH_NEED_INTEL,
     hint_absent_intel},
    {BENCH_VENDOR_AMD,
     "AMD",
     {"AMD", "Advanced Micro"},
     "amdocl",
     "amdgpu",
     "radeonsi",
     "ROCR_VISIBLE_DEVICES",
     BENCH_NEED_ROCM,
     hint_absent_amd},
    {BENCH_VENDOR_NVIDIA,
     "NVIDIA",
     {"NVIDIA", NULL},
     "nvidia-opencl",
     "nvidia",
     NULL,
     "CUDA_VISIBLE_DEVICES",
     BENCH_NEED_NVIDIA_ICD,
     hint_absent_nvidia},
};
#define VENDORS (sizeof vendors / sizeof vendors[0])

typedef struct view {
  const bench_machine *m;
  const bench_gpu *gpu;
  const struct vendor *vendor;
  const bench_intel_chip *chip; /* NULL: not of Intel, or of today */
  bench_hint_list *list;
  size_t before; /* hints in the list before the first detail about this GPU */
} view;

static const struct vendor *vendor_of(const bench_gpu *gpu) {
  for (size_t v = 0; v < VENDORS; v++)
    if (vendors[v].id == gpu->vendor) return &vendors[v];
  return NULL;
}

bool bench_gpu_is_known(const bench_gpu *gpu) { return vendor_of(gpu) != NULL; }

static const bench_icd *find_icd(const bench_machine *m, const char *library) {
  for (size_t i = 0; i < m->icd_count; i++)
    if (strstr(m->icds[i].path, library)) return &m->icds[i];
  return NULL;
}

static bool has_gpu_of(const bench_machine *m, const struct vendor *vendor) {
  for (size_t i = 0; i < m->device_count; i++) {
    const hx_device_info *const d = &m->devices[i];
    if (d->kind != HX_IGPU && d->kind != HX_GPU) continue;
    for (size_t w = 0; w < 2 && vendor->words[w]; w++)
      if (strstr(d->vendor, vendor->words[w]) || strstr(d->name, vendor->words[w])) return true;
  }
  return false;
}

/* Whether a driver says that it shows the GPU at this address. *unplaced: a driver shows a GPU of this vendor without
 * an address. */
static bool is_at_address(const view *v, bool *unplaced) {
  bool found = false;
  *unplaced = false;
  for (size_t i = 0; i < v->m->icd_count; i++)
    for (size_t d = 0; d < v->m->icds[i].device_count; d++) {
      const bench_icd_device *const device = &v->m->icds[i].devices[d];
      if (!device->is_gpu || device->vendor != v->gpu->vendor) continue;
      found |= strcmp(device->address, v->gpu->address) == 0;
      *unplaced |= !*device->address;
    }
  return found;
}

static bool is_shown(const view *v) {
  bool unplaced;
  return has_gpu_of(v->m, v->vendor) && (is_at_address(v, &unplaced) || unplaced);
}

static void hint_nodes(const view *v) {
  if (v->vendor->id == BENCH_VENDOR_NVIDIA) {
    bench_hint_node(
        v->m, v->list, "/dev/nvidiactl",
        "--gpus all (NVIDIA's container toolkit), NVIDIA_DRIVER_CAPABILITIES=compute,utility in its environment");
    return;
  }
  bench_hint_node(v->m, v->list, v->gpu->node,
                  "--device /dev/dri --group-add N, where N is what stat -c %g /dev/dri/renderD* prints "
                  "outside");
  if (v->vendor->id == BENCH_VENDOR_AMD && find_icd(v->m, v->vendor->driver_name))
    bench_hint_node(v->m, v->list, "/dev/kfd", "--device /dev/kfd as well, which ROCm opens");
}

static bool is_set_aside(const bench_gpu *gpu) {
  return strcmp(gpu->kernel_driver, "vfio-pci") == 0 || strcmp(gpu->kernel_driver, "pci-stub") == 0;
}

/* Returns false if nothing else matters. */
static bool hint_kernel_driver(const view *v) {
  const char *const bound = v->gpu->kernel_driver;
  char line[LINE];
  if (strcmp(bound, "nouveau") == 0) {
    bench_hint_detail(v->list, "its kernel driver is nouveau; OpenCL needs NVIDIA's own: %s",
                      bench_package_line(v->m, BENCH_NEED_NVIDIA, line, sizeof line));
    return false;
  }
  if (*bound) return true;
  if (v->vendor->id == BENCH_VENDOR_NVIDIA && !find_icd(v->m, v->vendor->driver_name)) {
    bench_hint_detail(v->list, "NVIDIA's driver is not installed: %s",
                      bench_package_line(v->m, BENCH_NEED_NVIDIA, line, sizeof line));
    return false;
  }
  bench_hint_detail(v->list,
                    "no kernel driver is bound to it (%s): dmesg says why, or the kernel is older than the GPU",
                    v->vendor->kernel_driver);
  return true;
}

static void hint_fault(const view *v, const bench_icd *icd, bench_need need) {
  char line[LINE];
  bench_hint_detail(v->list, "%s names a driver that cannot be used: %s. Install it again: %s", bench_icd_name(icd),
                    icd->fault, bench_package_line(v->m, need, line, sizeof line));
}

/* also: say that rusticl would serve the GPU, too. */
static void hint_rusticl(const view *v, bool also) {
  const bench_icd *const rusticl = v->vendor->rusticl ? find_icd(v->m, RUSTICL) : NULL;
  const char *const enabled = bench_machine_variable(v->m, "RUSTICL_ENABLE");
  char line[LINE];
  if (rusticl && *rusticl->fault)
    hint_fault(v, rusticl, BENCH_NEED_RUSTICL);
  else if (rusticl && !(enabled && strstr(enabled, v->vendor->rusticl)))
    bench_hint_detail(v->list,
                      "Mesa's rusticl is installed, and shows it only if RUSTICL_ENABLE=%s is in the environment",
                      v->vendor->rusticl);
  else if (!rusticl && also)
    bench_hint_detail(v->list, "Mesa's rusticl serves it, too, with RUSTICL_ENABLE=%s in the environment: %s",
                      v->vendor->rusticl, bench_package_line(v->m, BENCH_NEED_RUSTICL, line, sizeof line));
}

/* Whether "24.35.30872.22" or "24.35..." comes before version 24.35. */
static bool is_before_legacy(const char *version) {
  unsigned major = 0, minor = 0;
  return sscanf(version, "%u.%u", &major, &minor) == 2 && (major < 24 || (major == 24 && minor < 35));
}

static void hint_legacy(const view *v) {
  char line[LINE];
  if (find_icd(v->m, "igdrcl_legacy") || is_before_legacy(v->m->intel_version)) return;
  bench_hint_detail(v->list,
                    "Intel's driver%s%s does not serve it%s: since 24.35 it begins with Gen12. For Gen8 to Gen11: %s",
                    *v->m->intel_version ? " " : "", v->m->intel_version,
                    *v->m->intel_version ? "" : " if its version is 24.35 or later",
                    bench_package_line(v->m, BENCH_NEED_INTEL_LEGACY, line, sizeof line));
}

static void hint_absent_nvidia(const view *v) {
  char line[LINE];
  if (v->m->container)
    bench_hint_detail(v->list,
                      "NVIDIA's container toolkit mounts its OpenCL library, but the image has to hold "
                      "/etc/OpenCL/vendors/nvidia.icd with the line libnvidia-opencl.so.1");
  else
    bench_hint_detail(v->list,
                      "its kernel driver%s%s is loaded, but the OpenCL part of the driver is not installed: %s",
                      *v->m->nvidia_version ? " " : "", v->m->nvidia_version,
                      bench_package_line(v->m, BENCH_NEED_NVIDIA_ICD, line, sizeof line));
}

static void hint_absent_amd(const view *v) {
  char line[LINE];
  if (find_icd(v->m, RUSTICL)) return;
  bench_hint_detail(v->list, "its OpenCL driver is not installed: %s, and RUSTICL_ENABLE=%s in the environment",
                    bench_package_line(v->m, BENCH_NEED_RUSTICL, line, sizeof line), v->vendor->rusticl);
  bench_hint_detail(v->list, "ROCm has another one, for the chips that it supports: %s",
                    bench_package_line(v->m, BENCH_NEED_ROCM, line, sizeof line));
}

static void hint_absent_intel(const view *v) {
  char line[LINE];
  bench_hint_detail(v->list, "its OpenCL driver is not installed: %s",
                    bench_package_line(v->m, BENCH_NEED_INTEL, line, sizeof line));
  if (v->chip && v->chip->support == BENCH_INTEL_LEGACY)
    bench_hint_detail(v->list, "if that is version 24.35 or later, which begins with Gen12: %s",
                      bench_package_line(v->m, BENCH_NEED_INTEL_LEGACY, line, sizeof line));
}

/* Its own driver is not among those that are installed, or that a variable names. */
static void hint_absent(const view *v) {
  const char *const places = bench_machine_variable(v->m, "OCL_ICD_VENDORS");
  if (places)
    bench_hint_detail(v->list, "OCL_ICD_VENDORS=%s names the OpenCL drivers, and none of them is for it", places);
  else
    v->vendor->hint_absent(v);
}

static void hint_driver(const view *v) {
  const bench_icd *const own = find_icd(v->m, v->vendor->driver_name);
  const bool legacy = v->chip && v->chip->support == BENCH_INTEL_LEGACY, amd = v->vendor->id == BENCH_VENDOR_AMD;
  const bool useless = amd && own && !*own->fault && v->list->count == v->before;
  if (!own)
    hint_absent(v);
  else if (*own->fault)
    hint_fault(v, own, v->vendor->need);
  else if (legacy)
    hint_legacy(v);
  else if (useless)
    bench_hint_detail(v->list, "%s loads and does not show it: ROCm serves only some chips", bench_icd_name(own));
  hint_rusticl(v, legacy || useless);
}

static void hint_variable(const view *v) {
  const char *const value = bench_machine_variable(v->m, v->vendor->variable);
  if (value && find_icd(v->m, v->vendor->driver_name))
    bench_hint_detail(v->list, "%s=%s may hide it", v->vendor->variable, value);
}

static void explain(const view *v) {
  bool unplaced;
  if (v->chip && v->chip->support == BENCH_INTEL_NONE) {
    bench_hint_detail(v->list, "no OpenCL driver that is still maintained serves it");
    return;
  }
  if (is_at_address(v, &unplaced)) {
    bench_hint_detail(v->list, *v->m->loader_fault ? "its driver works, but hx reaches drivers through libOpenCL.so.1"
                                                   : "its driver works, but the ICD loader does not pass it on");
    return;
  }
  if (!hint_kernel_driver(v)) return;
  if (*v->gpu->kernel_driver || v->m->container) hint_nodes(v);
  hint_driver(v);
  hint_variable(v);
  const bench_icd *const own = find_icd(v->m, v->vendor->driver_name), *const any = own ? own : find_icd(v->m, RUSTICL);
  if (v->list->count == v->before && any)
    bench_hint_detail(v->list,
                      "%s loads and does not show it: the driver or the kernel (%s) may be older than the GPU, or the "
                      "driver was updated since the last start of the machine",
                      bench_icd_name(any), v->m->kernel);
}

static void hint_gpu(const bench_machine *m, const bench_gpu *gpu, bench_hint_list *list) {
  view v = {m, gpu, vendor_of(gpu), NULL, list, 0};
  if (gpu->vendor == BENCH_VENDOR_INTEL) v.chip = bench_intel_chip_of(gpu->device);
  if (is_shown(&v)) return;
  bench_hint_add(list, "%s GPU %04x:%04x%s%s%s at PCI %s: hx cannot use it", v.vendor->name, gpu->vendor, gpu->device,
                 v.chip ? " (" : "", v.chip ? v.chip->name : "", v.chip ? ")" : "", gpu->address);
  v.before = list->count;
  if (is_set_aside(gpu)) { /* as the user has chosen */
    bench_hint_detail(list, "it is set aside for virtual machines: its kernel driver is %s", gpu->kernel_driver);
    return;
  }
  list->unusable++;
  explain(&v);
}

void bench_hints_gpus(const bench_machine *m, bench_hint_list *list) {
  for (size_t i = 0; i < m->gpu_count; i++)
    if (bench_gpu_is_known(&m->gpus[i])) hint_gpu(m, &m->gpus[i], list);
}
