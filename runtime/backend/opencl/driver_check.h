/* SPDX-License-Identifier: Apache-2.0
 * Finds drivers that crash or hang the process that loads them. Each driver is tried in a process of its own before the
 * ICD loader loads it into this one. */
#ifndef HX_BACKEND_OPENCL_DRIVER_CHECK_H
#define HX_BACKEND_OPENCL_DRIVER_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#define HX__VENDORS 32u
#define HX__VENDOR_PATH 512u
#define HX__DRIVER_FAULT_TEXT 640u

/* One driver, as the ICD loader finds it. */
typedef struct hx__vendor {
  char file[HX__VENDOR_PATH];        /* the name that is passed to dlopen */
  char icd[3 * HX__VENDOR_PATH];     /* the .icd file that names it; "": a variable does */
  char fault[HX__DRIVER_FAULT_TEXT]; /* how the process that tried it failed; "": it did not fail */
} hx__vendor;

/* Lists the drivers that the ICD loader would load, at most max. root: "", or a folder that stands for / where no
 * variable names another place. Returns how many there are. */
size_t hx__driver_list(const char *root, hx__vendor *vendors, size_t max);
/* Writes text that identifies the library's file, as part of a key: it changes whenever the file does. Returns the
 * length in bytes. */
size_t hx__driver_file_identity(const char *library, char *text, size_t bytes);
/* Tries a library in a process of its own and writes its fault, or "". *by_driver: false if that
 * process was ended by a signal from outside, such as SIGTERM or SIGXCPU, so that its end says nothing about the
 * driver. Returns false, with errno set, if that process could not be started. */
bool hx__driver_check_run(const char *library, char fault[HX__DRIVER_FAULT_TEXT], bool *by_driver);

/* Tries every driver whose verdict is not cached. If a driver is bad, the entry points (entries.h) from now on call the
 * other drivers directly, without the ICD loader. Called once, before the first OpenCL call. */
void hx__driver_check_all(void);
/* The drivers that were left out. Returns their number. */
size_t hx__driver_check_skipped(const hx__vendor **list);

/* Makes the entry points call these drivers directly. */
void hx__driver_dispatch_directly(const hx__vendor *vendors, size_t count);

#endif
