/* SPDX-License-Identifier: Apache-2.0
 * What the name of an AMD device says about it that its driver does not report. Private to this folder. */
#ifndef HX_BACKEND_OPENCL_AMD_CHIP_H
#define HX_BACKEND_OPENCL_AMD_CHIP_H

#include <stdbool.h>

/* What Mesa compiles fma to for a chip. */
typedef enum hx__mesa_fma {
  HX__FMA_INSTRUCTION, /* one instruction; so it is for every chip that is not listed */
  HX__FMA_ON_REQUEST,  /* a call to a software routine, unless radeonsi_force_use_fma32=true */
  HX__FMA_SOFTWARE     /* a call to a software routine: the chip's instruction is as slow */
} hx__mesa_fma;

typedef struct hx__amd_chip {
  bool known;      /* The name contains a chip that is listed, or the name of a family of chips. */
  bool integrated; /* an APU: the GPU shares the memory of the CPU */
  bool rdna;       /* RDNA of any generation, whose waves have 32 items; otherwise GCN or CDNA, with 64 */
  hx__mesa_fma mesa_fma;
} hx__amd_chip;

/* Finds the chip in a CL_DEVICE_NAME: rusticl puts Mesa's name of the chip in parentheses behind the product's ("AMD
 * Radeon Graphics (radeonsi, renoir, ...)"), AMD's own drivers report the target ("gfx90c:xnack-"). */
hx__amd_chip hx__amd_chip_of(const char *device_name);

#endif
