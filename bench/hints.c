/* SPDX-License-Identifier: Apache-2.0
 * The doctor's order, and its advice that is not about one GPU of the bus. */
#include "bench/hints.h"

#include <stdarg.h>
#include <string.h>

#include "bench/packages.h"

#define FMA_OPTION "radeonsi_force_use_fma32" /* in the text of a device that refuses products without it */
#define WINDOWS_GPU 0x008eu                   /* PCI id, by Microsoft, of a GPU that Windows lends to WSL */
#define LINE 512u

static void add(bench_hint_list *list, bool detail, const char *format, va_list arguments) {
  if (list->count == BENCH_HINTS) return;
  bench_hint *const hint = &list->hint[list->count++];
  hint->detail = detail;
  vsnprintf(hint->text, sizeof hint->text, format, arguments);
}

void bench_hint_add(bench_hint_list *list, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add(list, false, format, arguments);
  va_end(arguments);
}

void bench_hint_detail(bench_hint_list *list, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add(list, true, format, arguments);
  va_end(arguments);
}

static bool is_gpu(const hx_device_info *d) { return d->kind == HX_IGPU || d->kind == HX_GPU; }

static size_t count_gpus(const bench_machine *m) {
  size_t count = 0;
  for (size_t i = 0; i < m->device_count; i++) count += is_gpu(&m->devices[i]);
  return count;
}

/* GPUs that a driver shows and hx does not use. A reason that names a variable is the user's choice. */
static void hint_refused(const bench_machine *m, bench_hint_list *list) {
  for (size_t i = 0; i < m->device_count; i++) {
    const hx_device_info *const d = &m->devices[i];
    if (!is_gpu(d) || (d->state != HX_REFUSED && d->state != HX_LOST) || strncmp(d->why, "HX_", 3) == 0) continue;
    list->unusable++;
    bench_hint_add(list, "%s (device %zu) is %s: %s", d->name, i, d->state == HX_LOST ? "lost" : "refused",
                   *d->why ? d->why : "its driver gave no reason");
  }
}

/* A GPU whose products wait for an option of Mesa's. What it brings is measured in docs/measurements/mesa-fma.tsv. */
static void hint_fma(const bench_machine *m, bench_hint_list *list) {
  for (size_t i = 0; i < m->device_count; i++)
    if (strstr(m->devices[i].why, FMA_OPTION))
      bench_hint_add(list,
                     "%s: products run on the CPU, because Mesa computes fma in software on this chip. " FMA_OPTION
                     "=true in the environment makes Mesa use the chip's own instruction in place of some 220 others, "
                     "and hx then uses the GPU for products. The bits are the same",
                     m->devices[i].name);
}

/* WSL 2 names itself in the kernel's release; WSL 1 has Microsoft's name alone. */
static void hint_wsl(const bench_machine *m, bench_hint_list *list) {
  char line[LINE];
  if (!bench_machine_is_wsl(m) || count_gpus(m)) return;
  const bool lent = bench_machine_node(m, "/dev/dxg") != NULL;
  for (size_t i = 0; i < m->gpu_count; i++)
    list->unusable += m->gpus[i].vendor == BENCH_VENDOR_MICROSOFT && m->gpus[i].device == WINDOWS_GPU;
  if (!lent && !strcasestr(m->kernel, "WSL2")) {
    bench_hint_add(list, "this is WSL 1, which has no GPU: wsl --set-version DISTRIBUTION 2 in Windows");
  } else if (!lent) {
    bench_hint_add(
        list,
        "this is WSL 2 without /dev/dxg, through which Windows lends its GPUs: install the current driver of "
        "the GPU's maker in Windows, then wsl --update and wsl --shutdown there");
  } else {
    bench_hint_add(list,
                   "this is WSL 2: the driver of Windows provides the GPUs (/dev/dxg), and no OpenCL driver shows one");
    bench_hint_detail(list, "Intel: install Intel's current driver in Windows, and here: %s",
                      bench_package_line(m, BENCH_NEED_INTEL, line, sizeof line));
    bench_hint_detail(list,
                      "NVIDIA: its driver offers CUDA in WSL, but no OpenCL (github.com/microsoft/WSL/issues/6951)");
    bench_hint_detail(list, "AMD: only ROCm's packages for WSL, for few cards (rocm.docs.amd.com)");
  }
}

/* Faults that are not about a GPU of this machine. */
static void hint_faults(const bench_machine *m, bench_hint_list *list) {
  for (size_t i = 0; i < m->icd_count; i++) {
    const bench_icd *const icd = &m->icds[i];
    bool told = false;
    for (size_t h = 0; *icd->fault && h < list->count; h++) told |= strstr(list->hint[h].text, icd->fault) != NULL;
    if (*icd->fault && !told)
      bench_hint_add(list, "%s names a driver that cannot be used: %s", bench_icd_name(icd), icd->fault);
  }
}

static void hint_variables(const bench_machine *m, bench_hint_list *list) {
  static const char *const names[] = {"OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (bench_machine_variable(m, names[i]))
      bench_hint_add(list, "%s=%s: the ICD loader looks for OpenCL drivers only there", names[i],
                     bench_machine_variable(m, names[i]));
  if (bench_machine_variable(m, "OCL_ICD_FILENAMES"))
    bench_hint_add(list, "OCL_ICD_FILENAMES=%s: the ICD loader loads these drivers, too",
                   bench_machine_variable(m, "OCL_ICD_FILENAMES"));
}

static void hint_general(const bench_machine *m, bench_hint_list *list) {
  char line[LINE];
  size_t known = 0;
  for (size_t i = 0; i < m->gpu_count; i++) known += bench_gpu_is_known(&m->gpus[i]);
  if (*m->loader_fault)
    bench_hint_add(list, "there is no OpenCL without libOpenCL.so.1 (%s): %s", m->loader_fault,
                   bench_package_line(m, BENCH_NEED_LOADER, line, sizeof line));
  hint_faults(m, list);
  hint_variables(m, list);
  if (!known && !count_gpus(m) && !bench_machine_is_wsl(m))
    bench_hint_add(list,
                   "there is no GPU of Intel, AMD or NVIDIA on this machine's PCI bus, so no package can provide one");
  if (!m->icd_count && !bench_machine_variable(m, "OCL_ICD_VENDORS"))
    bench_hint_add(list,
                   "no OpenCL driver is installed; the CPU computes alone, with the same bits. One for the CPU, to try "
                   "hx with: %s",
                   bench_package_line(m, BENCH_NEED_POCL, line, sizeof line));
}

void bench_hints_find(const bench_machine *m, bench_hint_list *list) {
  list->count = list->unusable = 0;
  bench_hints_gpus(m, list);
  hint_refused(m, list);
  hint_fma(m, list);
  hint_wsl(m, list);
  hint_general(m, list);
}
