/* SPDX-License-Identifier: Apache-2.0
 * Looks for GPUs on the PCI bus that no OpenCL driver shows, and says why that may be: no driver package, no
 * permission, or a driver that needs a variable to show them. Names the option that a driver needs to be fast. */
#include "bench/hints.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/emit.h"
#include "bench/text.h"
#include "runtime/backend/opencl/driver_check.h"

/* The makers of GPUs, and what OpenCL on them needs on Debian. */
static const struct vendor {
  unsigned id;
  const char *name, *word; /* word: in hx_device_info.vendor */
  const char *package, *icd, *kernel_driver;
  const char *rusticl; /* its name there; NULL: none */
} vendors[] = {
    {0x8086, "Intel", "Intel", "intel-opencl-icd", "intel.icd", "i915 or xe", "iris"},
    {0x1002, "AMD", "AMD", "mesa-opencl-icd", "rusticl.icd", "amdgpu", "radeonsi"},
    {0x1002, "AMD", "Advanced Micro", "mesa-opencl-icd", "rusticl.icd", "amdgpu", "radeonsi"},
    {0x10de, "NVIDIA", "NVIDIA", "nvidia-opencl-icd", "nvidia.icd", "nvidia", NULL},
};

#define FMA_OPTION "radeonsi_force_use_fma32" /* in the text of a device that refuses products without it */
#define VENDORS (sizeof vendors / sizeof vendors[0])

static size_t hint_count;

__attribute__((format(printf, 1, 2))) static void hint(const char *format, ...) {
  char text[1024];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  hint_count++;
  bench_say("  - ");
  bench_say_wrapped(text, 4, 4);
}

/* A number in a file such as /sys/bus/pci/devices/X/class, or 0. */
static unsigned long read_hex(const char *directory, const char *name) {
  char path[512], text[32];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  bench_read_line(path, text, sizeof text);
  return strtoul(text, NULL, 16);
}

static void find_files(const char *pattern, glob_t *found) {
  if (glob(pattern, 0, NULL, found) != 0) found->gl_pathc = 0;
}

static bool file_exists(const char *path) { return access(path, F_OK) == 0; }

static bool has_icd(const char *name) {
  char path[128];
  snprintf(path, sizeof path, "/etc/OpenCL/vendors/%s", name);
  return file_exists(path);
}

/* Whether hx found a GPU of this vendor, in use or not. */
static bool is_vendor_shown(const bench_session *session, unsigned id) {
  for (size_t i = 0; i < session->device_count; i++) {
    const hx_device_info *device = &session->device[i];
    if (device->kind != HX_IGPU && device->kind != HX_GPU) continue;
    for (size_t v = 0; v < VENDORS; v++)
      if (vendors[v].id == id && (strstr(device->vendor, vendors[v].word) || strstr(device->name, vendors[v].word)))
        return true;
  }
  return false;
}

/* Render nodes that this process may not open. */
static size_t hint_permissions(void) {
  glob_t nodes;
  find_files("/dev/dri/renderD*", &nodes);
  size_t count = nodes.gl_pathc;
  for (size_t i = 0; i < nodes.gl_pathc; i++) {
    const char *node = nodes.gl_pathv[i];
    int fd = open(node, O_RDWR | O_CLOEXEC);
    if (fd >= 0) {
      close(fd);
      continue;
    }
    struct stat st;
    if ((errno != EACCES && errno != EPERM) || stat(node, &st) != 0) continue;
    const struct group *group = getgrgid(st.st_gid);
    hint(
        "%s exists, but this user may not open it: its group is %s (%u). usermod -aG %s USER as root, then log in "
        "again; in a container start it with --device /dev/dri --group-add %u",
        node, group ? group->gr_name : "without a name here", (unsigned)st.st_gid, group ? group->gr_name : "render",
        (unsigned)st.st_gid);
  }
  globfree(&nodes);
  return count;
}

/* One GPU on the bus that no driver shows. */
static void hint_gpu(const struct vendor *vendor, const char *address, unsigned device, size_t render_nodes) {
  hint("%s GPU %04x:%04x at PCI %s is not offered by any OpenCL driver", vendor->name, vendor->id, device, address);
  if (!has_icd(vendor->icd)) {
    hint("%s: its OpenCL driver is not installed: apt-get install %s%s", vendor->name, vendor->package,
         vendor->id == 0x10de ? " (in Debian's non-free)" : "");
    return;
  }
  const char *enabled = getenv("RUSTICL_ENABLE");
  if (vendor->rusticl && has_icd("rusticl.icd") && !(enabled && strstr(enabled, vendor->rusticl)))
    hint("%s: Mesa's rusticl shows a GPU only if RUSTICL_ENABLE=%s is in the environment", vendor->name,
         vendor->rusticl);
  bool node = vendor->rusticl ? render_nodes > 0 : file_exists("/dev/nvidiactl");
  if (!node)
    hint("%s: there is no %s: the kernel driver (%s) is not loaded, or the container was started without the device",
         vendor->name, vendor->rusticl ? "/dev/dri/renderD*" : "/dev/nvidiactl", vendor->kernel_driver);
}

/* Returns how many GPUs of known makers are on the bus. */
static size_t hint_bus(const bench_session *session, size_t render_nodes) {
  glob_t devices;
  size_t known = 0;
  find_files("/sys/bus/pci/devices/*", &devices);
  for (size_t i = 0; i < devices.gl_pathc; i++) {
    const char *path = devices.gl_pathv[i], *slash = strrchr(path, '/');
    if (read_hex(path, "class") >> 16 != 0x03) continue; /* display controllers */
    unsigned id = (unsigned)read_hex(path, "vendor");
    for (size_t v = 0; v < VENDORS; v++) {
      if (vendors[v].id != id) continue;
      known++;
      if (!is_vendor_shown(session, id))
        hint_gpu(&vendors[v], slash ? slash + 1 : path, (unsigned)read_hex(path, "device"), render_nodes);
      break;
    }
  }
  globfree(&devices);
  return known;
}

/* A GPU whose products wait for an option of Mesa's. What it brings is measured in docs/measurements/mesa-fma.tsv. */
static void hint_fma(const bench_session *session) {
  for (size_t i = 0; i < session->device_count; i++)
    if (strstr(session->device[i].why, FMA_OPTION))
      hint(
          "%s: products run on the CPU, because Mesa computes fma in software on this chip. " FMA_OPTION
          "=true in the environment makes Mesa use the chip's own instruction in place of some 220 others, and hx then "
          "uses the GPU for products. The bits are the same",
          session->device[i].name);
}

size_t bench_hints(const bench_session *session) {
  glob_t icds;
  find_files("/etc/OpenCL/vendors/*.icd", &icds);
  const char *elsewhere = getenv("OCL_ICD_VENDORS");
  size_t opencl = 0;
  for (size_t i = 0; i < session->device_count; i++)
    opencl += session->device[i].kind != HX_CPU && session->device[i].kind != HX_SIM;
  const hx__vendor *skipped;
  const size_t skipped_count = hx__driver_check_skipped(&skipped);
  for (size_t i = 0; i < skipped_count; i++)
    hint("an OpenCL driver is left out: %s. It is tried again when its file changes, or HX_CACHE_DIR is empty",
         skipped[i].fault);
  if (elsewhere) {
    hint("OCL_ICD_VENDORS=%s: hx looks for OpenCL drivers only there", elsewhere);
  } else if (!icds.gl_pathc) {
    hint(
        "no OpenCL driver is installed; the CPU computes alone, with the same bits. One for the CPU, to try hx with: "
        "apt-get install pocl-opencl-icd");
  } else if (!opencl) {
    hint("OpenCL drivers are installed (%zu), but none of them shows a device", icds.gl_pathc);
  }
  globfree(&icds);
  hint_fma(session);
  if (file_exists("/dev/dxg"))
    hint("this is WSL (/dev/dxg): the driver of Windows provides the GPUs, and there is no /dev/dri");
  size_t gpus = 0;
  for (size_t i = 0; i < session->device_count; i++)
    gpus += session->device[i].kind == HX_IGPU || session->device[i].kind == HX_GPU;
  if (!hint_bus(session, hint_permissions()) && !gpus)
    hint("there is no GPU of Intel, AMD or NVIDIA on this machine's PCI bus, so no package can provide one");
  return hint_count;
}
