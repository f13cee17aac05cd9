/* SPDX-License-Identifier: Apache-2.0
 * The main function of the process that loads one OpenCL driver and prints what it shows. It calls the driver through
 * the KHR dispatch table, without the ICD loader, which may be missing and would load every other driver, too. */
#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <CL/cl_icd.h>

#include "bench/icd.h"
#include "bench/text.h"

#define MOST 16u

/* Vendors' ways to ask for a device's place on the PCI bus (cl_nv_device_attribute_query, cl_amd_device_topology). */
#define PCI_BUS_ID_NV 0x4008
#define PCI_SLOT_ID_NV 0x4009
#define PCI_DOMAIN_ID_NV 0x400A

typedef void *(CL_API_CALL *extension_address)(const char *name);

typedef struct topology_amd {
  cl_uint type;
  char unused[17];
  char bus, device, function;
} topology_amd;

/* Every OpenCL object begins with a pointer to its driver's functions. */
static const cl_icd_dispatch *functions_of(const void *object) {
  const cl_icd_dispatch *table;
  memcpy(&table, object, sizeof table);
  return table;
}

static bool read_value(cl_device_id device, cl_device_info what, void *value, size_t bytes) {
  return functions_of(device)->clGetDeviceInfo(device, what, bytes, value, NULL) == CL_SUCCESS;
}

static void find_address(cl_device_id device, char address[16]) {
  char all[8192] = "";
  cl_device_pci_bus_info_khr khr;
  cl_uint bus, slot, domain = 0;
  topology_amd amd;
  address[0] = '\0';
  read_value(device, CL_DEVICE_EXTENSIONS, all, sizeof all - 1);
  if (strstr(all, "cl_khr_pci_bus_info") && read_value(device, CL_DEVICE_PCI_BUS_INFO_KHR, &khr, sizeof khr)) {
    snprintf(address, 16, "%04x:%02x:%02x.%x", khr.pci_domain & 0xffff, khr.pci_bus & 0xff, khr.pci_device & 0x1f,
             khr.pci_function & 7);
  } else if (strstr(all, "cl_nv_device_attribute_query") && read_value(device, PCI_BUS_ID_NV, &bus, sizeof bus) &&
             read_value(device, PCI_SLOT_ID_NV, &slot, sizeof slot)) {
    read_value(device, PCI_DOMAIN_ID_NV, &domain, sizeof domain);
    snprintf(address, 16, "%04x:%02x:%02x.%x", domain & 0xffff, bus & 0xff, slot >> 3 & 0x1f, slot & 7);
  } else if (strstr(all, "cl_amd_device_topology") && read_value(device, CL_DEVICE_TOPOLOGY_AMD, &amd, sizeof amd) &&
             amd.type == 1) {
    snprintf(address, 16, "0000:%02x:%02x.%x", amd.bus & 0xff, amd.device & 0x1f, amd.function & 7);
  }
}

static void print_device(cl_device_id device) {
  cl_device_type type = 0;
  cl_uint vendor = 0;
  char name[256] = "", plain[256], address[16];
  read_value(device, CL_DEVICE_TYPE, &type, sizeof type);
  read_value(device, CL_DEVICE_VENDOR_ID, &vendor, sizeof vendor);
  read_value(device, CL_DEVICE_NAME, name, sizeof name - 1);
  find_address(device, address);
  printf("device: %s %x %s %s\n", type & CL_DEVICE_TYPE_GPU ? "gpu" : "other", vendor, *address ? address : "-",
         bench_plain(name, plain, sizeof plain));
}

static void print_platform(cl_platform_id platform) {
  const cl_icd_dispatch *const call = functions_of(platform);
  char name[256] = "", plain[256];
  cl_device_id devices[MOST];
  cl_uint found = 0;
  call->clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
  printf("platform: %s\n", bench_plain(name, plain, sizeof plain));
  if (call->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, devices, &found) != CL_SUCCESS) return;
  for (cl_uint i = 0; i < found && i < MOST; i++) print_device(devices[i]);
}

/* Prints why the library cannot be used as a driver, or its platforms. */
static void print_library(const char *name) {
  char plain[600];
  void *const library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  if (!library) {
    printf("fault: %s\n", bench_plain(dlerror(), plain, sizeof plain));
    return;
  }
  extension_address address = NULL;
  clIcdGetPlatformIDsKHR_fn platform_ids = NULL;
  void *symbol = dlsym(library, "clGetExtensionFunctionAddress");
  memcpy(&address, &symbol, sizeof address);
  symbol = address ? address("clIcdGetPlatformIDsKHR") : NULL;
  memcpy(&platform_ids, &symbol, sizeof platform_ids);
  if (!platform_ids) {
    printf("fault: %s is not an OpenCL driver: it has no clIcdGetPlatformIDsKHR\n",
           bench_plain(name, plain, sizeof plain));
    return;
  }
  cl_platform_id platforms[MOST];
  cl_uint found = 0;
  if (platform_ids(MOST, platforms, &found) != CL_SUCCESS) return;
  for (cl_uint i = 0; i < found && i < MOST; i++) print_platform(platforms[i]);
}

int bench_cmd_driver(const bench_options *options) {
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (!options->topic) return BENCH_USAGE;
  if (null >= 0) dup2(null, STDERR_FILENO); /* drivers print warnings there */
  puts("{");                                /* part.c takes what is between braces for complete */
  print_library(options->topic);
  puts("}");
  fflush(stdout);
  _exit(BENCH_OK); /* some drivers hang in their destructors */
}
