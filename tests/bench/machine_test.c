/* SPDX-License-Identifier: Apache-2.0
 * Facts are read from where Linux and the distributions keep them: each file of a machine is made in a folder, which
 * stands for /. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/machine.h"
#include "tests/check.h"

static char root[64];
static bench_machine m;

/* Makes the folders above a path, and returns the path under the root. */
static const char *place(const char *path) {
  static char whole[1024];
  snprintf(whole, sizeof whole, "%s%s", root, path);
  for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
    *at = '\0';
    if (mkdir(whole, 0755) != 0 && errno != EEXIST) CHECK(false, "%s: %s", whole, strerror(errno));
    *at = '/';
  }
  return whole;
}

static void file(const char *path, const char *text) {
  FILE *const f = fopen(place(path), "we");
  CHECK(f && fputs(text, f) >= 0, "%s: %s", path, strerror(errno));
  if (f) fclose(f);
}

static void folder(const char *path) { CHECK(mkdir(place(path), 0755) == 0, "%s: %s", path, strerror(errno)); }

static void link_to(const char *path, const char *target) {
  CHECK(symlink(target, place(path)) == 0, "%s: %s", path, strerror(errno));
}

static void remove_all(void) {
  char command[256];
  snprintf(command, sizeof command, "chmod -R u+rwX '%s' 2>/dev/null; rm -rf '%s'", root, root);
  CHECK(system(command) == 0, "%s", command);
}

static void fresh(void) {
  remove_all();
  CHECK(mkdir(root, 0755) == 0, "%s: %s", root, strerror(errno));
}

static void read_machine(void) { bench_machine_read(&m, root); }

static void test_nothing(void) {
  fresh();
  unsetenv("container");
  read_machine();
  CHECK(!m.os[0] && !m.ids[0] && !m.kernel[0] && !m.container, "%s %s %s", m.os, m.ids, m.kernel);
  CHECK(!m.gpu_count && !m.node_count && !m.intel_version[0] && !m.nvidia_version[0], "%zu GPUs", m.gpu_count);
}

static void test_os(void) {
  fresh();
  file("/etc/os-release",
       "NAME=x\nPRETTY_NAME=\"Linux Mint 22\"\nID=linuxmint\nVERSION_ID=\"22\"\n"
       "ID_LIKE=\"ubuntu debian\"\n");
  file("/proc/sys/kernel/osrelease", "6.8.0-45-generic\n");
  read_machine();
  CHECK(strcmp(m.os, "Linux Mint 22") == 0, "%s", m.os);
  CHECK(strcmp(m.ids, "linuxmint ubuntu debian") == 0, "%s", m.ids);
  CHECK(strcmp(m.kernel, "6.8.0-45-generic") == 0, "%s", m.kernel);
  CHECK(!bench_machine_is_wsl(&m), "%s", m.kernel);
  fresh();
  file("/usr/lib/os-release", "ID='arch'\nPRETTY_NAME=Arch\n");
  file("/proc/sys/kernel/osrelease", "5.15.153.1-microsoft-standard-WSL2\n");
  read_machine();
  CHECK(strcmp(m.ids, "arch") == 0 && strcmp(m.os, "Arch") == 0, "%s %s", m.ids, m.os);
  CHECK(bench_machine_is_wsl(&m), "%s", m.kernel);
}

static void test_container(void) {
  fresh();
  file("/.dockerenv", "");
  read_machine();
  CHECK(m.container, "Docker");
  fresh();
  file("/run/.containerenv", "");
  read_machine();
  CHECK(m.container, "Podman");
  fresh();
  setenv("container", "lxc", 1);
  read_machine();
  CHECK(m.container, "LXC");
  unsetenv("container");
}

static void pci(const char *address, const char *class, const char *vendor, const char *device) {
  char path[256];
  const char *const names[] = {"class", "vendor", "device"}, *const values[] = {class, vendor, device};
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", address, names[i]);
    file(path, values[i]);
  }
}

static void test_gpus(void) {
  fresh();
  pci("0000:00:02.0", "0x030000\n", "0x8086\n", "0x5917\n");
  pci("0000:00:1f.3", "0x040300\n", "0x8086\n", "0x9d71\n"); /* sound */
  pci("0000:01:00.0", "0x030200\n", "0x10de\n", "0x2330\n"); /* a 3D controller */
  pci("0000:c1:00.0", "0x038000\n", "0x1002\n", "0x15bf\n"); /* another display controller */
  link_to("/sys/bus/pci/devices/0000:00:02.0/driver", "../../../bus/pci/drivers/i915");
  folder("/sys/bus/pci/devices/0000:00:02.0/drm/card0");
  folder("/sys/bus/pci/devices/0000:00:02.0/drm/renderD128");
  read_machine();
  CHECK(m.gpu_count == 3, "%zu", m.gpu_count);
  CHECK(strcmp(m.gpus[0].address, "0000:00:02.0") == 0, "%s", m.gpus[0].address);
  CHECK(m.gpus[0].vendor == 0x8086 && m.gpus[0].device == 0x5917, "%x:%x", m.gpus[0].vendor, m.gpus[0].device);
  CHECK(strcmp(m.gpus[0].kernel_driver, "i915") == 0, "%s", m.gpus[0].kernel_driver);
  CHECK(strcmp(m.gpus[0].node, "/dev/dri/renderD128") == 0, "%s", m.gpus[0].node);
  CHECK(m.gpus[1].device == 0x2330 && !m.gpus[1].kernel_driver[0] && !m.gpus[1].node[0], "%s", m.gpus[1].node);
  CHECK(m.gpus[2].device == 0x15bf, "%x", m.gpus[2].device);
}

/* Nodes are plain files here; what matters is their group and whether they open. */
static void test_nodes(void) {
  fresh();
  char groups[256];
  snprintf(groups, sizeof groups, "root:x:99999:\nrender:x:%u:nemo\nvideo:x:99998:nemo\n", (unsigned)getegid());
  file("/etc/group", groups);
  file("/dev/dri/renderD128", "");
  file("/dev/kfd", "");
  file("/dev/nvidia-uvm", ""); /* opened by no check */
  read_machine();
  CHECK(m.node_count == 2, "%zu", m.node_count);
  const bench_node *const n = bench_machine_node(&m, "/dev/dri/renderD128");
  CHECK(n && n->openable && strcmp(n->group, "render") == 0 && !n->member, "%s", n ? n->group : "no node");
  CHECK(!bench_machine_node(&m, "/dev/dri/renderD129"), "a node that is not there");
  CHECK(chmod(place("/dev/kfd"), 0) == 0, "%s", strerror(errno));
  if (geteuid() == 0 && seteuid(65534) != 0) {
    printf("not run: a node without permission (root opens it, and has no other user here)\n");
    return;
  }
  read_machine();
  if (getuid() == 0) CHECK(seteuid(0) == 0, "%s", strerror(errno));
  const bench_node *const kfd = bench_machine_node(&m, "/dev/kfd");
  CHECK(kfd && !kfd->openable, "/dev/kfd opens without permission");
}

static void test_packages(void) {
  fresh();
  file("/var/lib/dpkg/status",
       "Package: intel-opencl-icd-legacy\nVersion: 1\n\nPackage: intel-opencl-icd\nStatus: install\n"
       "Version: 24.35.30872.22\n\nPackage: zlib\nVersion: 2\n");
  read_machine();
  CHECK(strcmp(m.intel_version, "24.35.30872.22") == 0, "dpkg: %s", m.intel_version);
  fresh();
  file("/lib/apk/db/installed", "C:Q1\nP:intel-compute-runtime\nV:25.22.33944.8-r0\n\nP:zlib\nV:2\n");
  read_machine();
  CHECK(strcmp(m.intel_version, "25.22.33944.8-r0") == 0, "apk: %s", m.intel_version);
  fresh();
  folder("/var/lib/pacman/local/intel-compute-runtime-legacy-24.35-1");
  read_machine();
  CHECK(!m.intel_version[0], "pacman: %s", m.intel_version);
  folder("/var/lib/pacman/local/intel-compute-runtime-25.40.35563.4-1");
  read_machine();
  CHECK(strcmp(m.intel_version, "25.40.35563.4-1") == 0, "pacman: %s", m.intel_version);
  fresh();
  file("/sys/module/nvidia/version", "550.120\n");
  read_machine();
  CHECK(strcmp(m.nvidia_version, "550.120") == 0, "%s", m.nvidia_version);
}

static void test_icds(void) {
  static bench_icd icds[BENCH_ICDS];
  fresh();
  unsetenv("OCL_ICD_VENDORS");
  unsetenv("OPENCL_VENDOR_PATH");
  unsetenv("OCL_ICD_FILENAMES");
  file("/etc/OpenCL/vendors/rusticl.icd", "libRusticlOpenCL.so.1\n");
  file("/etc/OpenCL/vendors/intel.icd", "/usr/lib/libigdrcl.so\n");
  file("/etc/OpenCL/vendors/intel.icd.dpkg-old", "/usr/lib/old.so\n");
  file("/etc/OpenCL/vendors/empty.icd", "");
  size_t count = bench_icd_list(icds, root);
  CHECK(count == 2, "%zu", count);
  CHECK(strcmp(icds[0].file, "/etc/OpenCL/vendors/intel.icd") == 0, "%s", icds[0].file);
  CHECK(strcmp(icds[0].path, "/usr/lib/libigdrcl.so") == 0, "%s", icds[0].path);
  CHECK(strcmp(bench_icd_name(&icds[1]), "rusticl.icd") == 0, "%s", icds[1].file);
  setenv("OCL_ICD_FILENAMES", "/opt/libx.so:/opt/liby.so", 1);
  setenv("OCL_ICD_VENDORS", "intel.icd", 1);
  count = bench_icd_list(icds, root);
  CHECK(count == 3, "%zu", count);
  CHECK(!icds[0].file[0] && strcmp(bench_icd_name(&icds[0]), "libx.so") == 0, "%s", icds[0].path);
  read_machine();
  CHECK(bench_machine_variable(&m, "OCL_ICD_VENDORS"), "the variable is not among the facts");
  CHECK(!bench_machine_variable(&m, "PATH"), "a variable that does not matter");
}

int main(void) {
  snprintf(root, sizeof root, "/tmp/hx-machine-%d", (int)getpid()); /* a folder that another user may enter */
  test_nothing();
  test_os();
  test_container();
  test_gpus();
  test_nodes();
  test_packages();
  test_icds();
  remove_all();
  return checks_end("machine_test");
}
