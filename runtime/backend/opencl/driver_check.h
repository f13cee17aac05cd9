/* SPDX-License-Identifier: Apache-2.0
 * Drivers that end or hold up whoever loads them: each is tried in a process of its own before the ICD loader loads it
 * into this one. */
#ifndef HX_BACKEND_OPENCL_LOOK_H
#define HX_BACKEND_OPENCL_LOOK_H

#include <stdbool.h>
#include <stddef.h>

#define HX__VENDORS 32u
#define HX__VENDOR_PATH 512u
#define HX__DRIVER_FAULT_TEXT 640u

/* One driver, as the ICD loader finds it. */
typedef struct hx__vendor {
  char file[HX__VENDOR_PATH];        /* as the dynamic loader is asked for it */
  char fault[HX__DRIVER_FAULT_TEXT]; /* what it did to the process that tried it; "": nothing */
} hx__vendor;

/* The drivers that the ICD loader would load. */
size_t hx__driver_list(hx__vendor *vendors, size_t max);
/* What the library's file is, for a key: as many bytes as are written. It changes whenever the file does. */
size_t hx__driver_file_identity(const char *library, char *text, size_t bytes);
/* Tries a library in a process of its own; its fault, or "". False if no such process can be had. */
bool hx__driver_check_run(const char *library, char fault[HX__DRIVER_FAULT_TEXT]);

/* Tries every driver whose verdict is not cached. If one is bad the entry points (entries.h) lead from now on to the
 * other drivers without the ICD loader. Called once, before the first call of OpenCL. */
void hx__driver_check_all(void);
/* The drivers that were left out. */
size_t hx__driver_check_skipped(const hx__vendor **list);

/* Points the entry points at these drivers. */
void hx__driver_dispatch_directly(const hx__vendor *vendors, size_t count);

#endif
