/* SPDX-License-Identifier: Apache-2.0
 * One row per distribution, found by the words of ID and ID_LIKE in os-release. An entry that is NULL: the distribution
 * has no such package, or it is not certain. */
#include "bench/packages.h"

#include <string.h>

#define RELEASES "github.com/intel/compute-runtime/releases"

typedef struct distribution {
  const char *ids; /* any of these words */
  const char *line[BENCH_NEEDS];
} distribution;

/* dnf, zypper and apk find the package that provides a library. */
static const distribution distributions[] = {
    {"ubuntu",
     {[BENCH_NEED_INTEL] = "apt-get install intel-opencl-icd",
      // NOLINTNEXTLINE(bugprone-suspicious-missing-comma): one sentence
      [BENCH_NEED_INTEL_LEGACY] = "apt-get install intel-opencl-icd-legacy on Ubuntu 25.10 and later, "
                                  "intel-opencl-icd-legacy1 from " RELEASES " on earlier ones",
      [BENCH_NEED_RUSTICL] = "apt-get install mesa-opencl-icd",
      [BENCH_NEED_ROCM] = "apt-get install rocm-opencl-icd on Ubuntu 25.10 and later, rocm-opencl-runtime from AMD's "
                          "repository on earlier ones",
      [BENCH_NEED_NVIDIA] = "ubuntu-drivers install, then restart",
      [BENCH_NEED_NVIDIA_ICD] = "apt-get install libnvidia-compute-%s",
      [BENCH_NEED_LOADER] = "apt-get install ocl-icd-libopencl1",
      [BENCH_NEED_POCL] = "apt-get install pocl-opencl-icd"}},
    {"debian",
     {[BENCH_NEED_INTEL] = "apt-get install intel-opencl-icd",
      // NOLINTNEXTLINE(bugprone-suspicious-missing-comma): one sentence
      [BENCH_NEED_INTEL_LEGACY] = "apt-get install intel-opencl-icd-legacy (in unstable), or intel-opencl-icd-legacy1 "
                                  "from " RELEASES,
      [BENCH_NEED_RUSTICL] = "apt-get install mesa-opencl-icd",
      [BENCH_NEED_NVIDIA] = "apt-get install nvidia-driver nvidia-opencl-icd (in non-free), then restart",
      [BENCH_NEED_NVIDIA_ICD] = "apt-get install nvidia-opencl-icd (in non-free)",
      [BENCH_NEED_LOADER] = "apt-get install ocl-icd-libopencl1",
      [BENCH_NEED_POCL] = "apt-get install pocl-opencl-icd"}},
    {"rhel centos rocky almalinux ol", /* before Fedora, which they are like */
     {[BENCH_NEED_INTEL] = "dnf install intel-opencl (from EPEL)",
      [BENCH_NEED_LOADER] = "dnf install 'libOpenCL.so.1()(64bit)'"}},
    {"fedora",
     {[BENCH_NEED_INTEL] = "dnf install intel-opencl",
      [BENCH_NEED_RUSTICL] = "dnf install mesa-libOpenCL",
      [BENCH_NEED_ROCM] = "dnf install rocm-opencl",
      [BENCH_NEED_NVIDIA] = "dnf install akmod-nvidia xorg-x11-drv-nvidia-cuda (from RPM Fusion), then restart",
      [BENCH_NEED_NVIDIA_ICD] = "dnf install xorg-x11-drv-nvidia-cuda (from RPM Fusion)",
      [BENCH_NEED_LOADER] = "dnf install 'libOpenCL.so.1()(64bit)'",
      [BENCH_NEED_POCL] = "dnf install pocl"}},
    {"arch",
     {[BENCH_NEED_INTEL] = "pacman -S intel-compute-runtime",
      [BENCH_NEED_INTEL_LEGACY] = "intel-compute-runtime-legacy of the AUR, which replaces intel-compute-runtime",
      [BENCH_NEED_RUSTICL] = "pacman -S opencl-mesa",
      [BENCH_NEED_ROCM] = "pacman -S rocm-opencl-runtime",
      [BENCH_NEED_NVIDIA] = "pacman -S nvidia-open opencl-nvidia (nvidia-open is for Turing and later), then restart",
      [BENCH_NEED_NVIDIA_ICD] = "pacman -S opencl-nvidia",
      [BENCH_NEED_LOADER] = "pacman -S ocl-icd",
      [BENCH_NEED_POCL] = "pacman -S pocl"}},
    {"opensuse-tumbleweed",
     {[BENCH_NEED_INTEL] = "zypper install intel-opencl",
      [BENCH_NEED_RUSTICL] = "zypper install Mesa-libRusticlOpenCL",
      [BENCH_NEED_NVIDIA] = "the driver of en.opensuse.org/SDB:NVIDIA_drivers with its package nvidia-compute-G06",
      [BENCH_NEED_NVIDIA_ICD] = "zypper install nvidia-compute-G06 (from NVIDIA's repository)",
      [BENCH_NEED_LOADER] = "zypper install 'libOpenCL.so.1()(64bit)'",
      [BENCH_NEED_POCL] = "zypper install pocl"}},
    {"opensuse suse sles",
     {[BENCH_NEED_INTEL] = "zypper install intel-opencl",
      [BENCH_NEED_NVIDIA] = "the driver of en.opensuse.org/SDB:NVIDIA_drivers with its package nvidia-compute-G06",
      [BENCH_NEED_NVIDIA_ICD] = "zypper install nvidia-compute-G06 (from NVIDIA's repository)",
      [BENCH_NEED_LOADER] = "zypper install 'libOpenCL.so.1()(64bit)'"}},
    {"alpine",
     {[BENCH_NEED_INTEL] = "apk add intel-compute-runtime (in community)",
      [BENCH_NEED_INTEL_LEGACY] = "apk add intel-compute-runtime-legacy (in community)",
      [BENCH_NEED_RUSTICL] = "apk add mesa-rusticl",
      [BENCH_NEED_NVIDIA] = "NVIDIA's driver needs glibc, which Alpine does not use",
      [BENCH_NEED_NVIDIA_ICD] = "NVIDIA's driver needs glibc, which Alpine does not use",
      [BENCH_NEED_LOADER] = "apk add so:libOpenCL.so.1"}},
};

static const char *const elsewhere[BENCH_NEEDS] = {
    [BENCH_NEED_INTEL] = ("Intel's compute-runtime, packages at " RELEASES),
    [BENCH_NEED_INTEL_LEGACY] = "this distribution has no package of Intel's legacy driver",
    [BENCH_NEED_RUSTICL] = "Mesa's OpenCL driver, rusticl (libRusticlOpenCL.so.1), if Mesa is packaged with it",
    [BENCH_NEED_ROCM] = "AMD's ROCm OpenCL runtime, rocm.docs.amd.com",
    [BENCH_NEED_NVIDIA] = "NVIDIA's driver with libnvidia-opencl.so.1, then restart",
    [BENCH_NEED_NVIDIA_ICD] = "the package of this version of the driver that holds libnvidia-opencl.so.1",
    [BENCH_NEED_LOADER] = "an OpenCL ICD loader, ocl-icd or that of Khronos (OpenCL-ICD-Loader)",
    [BENCH_NEED_POCL] = "PoCL, portablecl.org"};

/* Whether a word is in a list of words with blanks between them. */
static bool has_word(const char *list, const char *word, size_t length) {
  for (const char *at = list; *at;) {
    const size_t this = strcspn(at, " ");
    if (this == length && strncmp(at, word, length) == 0) return true;
    at += this + (at[this] == ' ');
  }
  return false;
}

/* ID comes first in ids, then what it is like, nearest first. */
static const distribution *find_distribution(const char *ids) {
  for (const char *at = ids; *at;) {
    const size_t length = strcspn(at, " ");
    for (size_t i = 0; i < sizeof distributions / sizeof distributions[0]; i++)
      if (has_word(distributions[i].ids, at, length)) return &distributions[i];
    at += length + (at[length] == ' ');
  }
  return NULL;
}

/* The part of a driver's version that is in the names of its packages: 550 of 550.120. */
static void major_version(const char *version, char *out, size_t bytes) {
  const size_t length = strspn(version, "0123456789");
  snprintf(out, bytes, "%.*s", (int)length, version);
  if (!length) snprintf(out, bytes, "VERSION");
}

char *bench_package_line(const bench_machine *m, bench_need need, char *out, size_t bytes) {
  const distribution *const d = find_distribution(m->ids);
  const char *const line = d && d->line[need] ? d->line[need] : elsewhere[need];
  const char *const gap = strstr(line, "%s");
  char version[16] = "";
  if (gap) major_version(m->nvidia_version, version, sizeof version);
  snprintf(out, bytes, "%.*s%s%s", (int)(gap ? gap - line : (ptrdiff_t)strlen(line)), line, version,
           gap ? gap + 2 : "");
  return out;
}
