/* SPDX-License-Identifier: Apache-2.0
 * Laptops' integrated GPUs as their drivers describe them, for dress_layer. Strings, extensions and limits are what the
 * user-space drivers answer for these chips over Mesa's stub kernel drivers (25.0.7), except for the amount of memory,
 * which is that of a laptop with 16 GiB, and the number of compute units of the Radeon 780M, which AMD publishes.
 * tgl-neo is Intel's own driver, by Intel's documentation; its extensions are those of the driver below, which has to
 * be one with Intel's sub-groups. */
#ifndef HX_TESTS_LAYERS_DRESS_LAYER_LAPTOPS_H
#define HX_TESTS_LAYERS_DRESS_LAYER_LAPTOPS_H

#include <CL/cl.h>
#include <stddef.h>

typedef struct laptop {
  const char *word; /* in DRESS_AS */
  const char *platform, *name, *vendor, *driver, *version;
  const char *extensions; /* NULL: as they are */
  cl_uint vendor_id, units, lanes;
  cl_bool unified;
  size_t max_local;
  cl_ulong local_bytes, memory, most;
  cl_device_svm_capabilities svm;
} laptop;

#define RUSTICL_EXTENSIONS                                                                                     \
  "cl_khr_byte_addressable_store cl_khr_create_command_queue cl_khr_expect_assume cl_khr_extended_versioning " \
  "cl_khr_global_int32_base_atomics cl_khr_global_int32_extended_atomics cl_khr_il_program "                   \
  "cl_khr_local_int32_base_atomics cl_khr_local_int32_extended_atomics cl_khr_integer_dot_product "            \
  "cl_khr_spirv_no_integer_wrap_decoration cl_khr_suggested_local_work_size cl_khr_gl_sharing "                \
  "cl_khr_3d_image_writes cl_khr_depth_images cl_khr_pci_bus_info cl_khr_device_uuid cl_khr_subgroup_shuffle " \
  "cl_khr_subgroup_shuffle_relative"

static const laptop laptops[] = {
    {.word = "tgl",
     .platform = "rusticl",
     .name = "Mesa Intel(R) Iris(R) Xe Graphics (TGL GT2)",
     .vendor = "Intel",
     .driver = "25.0.7-2+deb13u1",
     .version = "OpenCL 3.0 ",
     .extensions = RUSTICL_EXTENSIONS,
     .vendor_id = 0x8086,
     .units = 6,
     .lanes = 1,
     .unified = CL_TRUE,
     .max_local = 1024,
     .local_bytes = 65536,
     .memory = (cl_ulong)2 << 30,
     .most = (cl_ulong)1 << 30},
    {.word = "phoenix",
     .platform = "rusticl",
     .name = "AMD Radeon 780M Graphics (radeonsi, phoenix, LLVM 19.1.7, DRM 3.61, 6.12.48+deb13-amd64)",
     .vendor = "AMD",
     .driver = "25.0.7-2+deb13u1",
     .version = "OpenCL 3.0 ",
     .extensions = RUSTICL_EXTENSIONS " cles_khr_int64",
     .vendor_id = 0x1002,
     .units = 12,
     .lanes = 1,
     .unified = CL_FALSE, /* radeonsi says so of every chip */
     .max_local = 1024,
     .local_bytes = 65536,
     .memory = (cl_ulong)7 << 30,
     .most = (cl_ulong)7 << 28},
    {.word = "tgl-neo",
     .platform = "Intel(R) OpenCL Graphics",
     .name = "Intel(R) Iris(R) Xe Graphics",
     .vendor = "Intel(R) Corporation",
     .driver = "22.43.24595.41",
     .version = "OpenCL 3.0 NEO ",
     .vendor_id = 0x8086,
     .units = 96,
     .lanes = 1,
     .unified = CL_TRUE,
     .max_local = 512,
     .local_bytes = 65536,
     .memory = (cl_ulong)12 << 30,
     .most = ((cl_ulong)4 << 30) - 4096,
     .svm = CL_DEVICE_SVM_COARSE_GRAIN_BUFFER},
};

#endif
