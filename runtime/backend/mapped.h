/* SPDX-License-Identifier: Apache-2.0
 * User kernels on the CPU: the elements of a map, and the reduction of what a kernel gives. */
#ifndef HX_BACKEND_MAPPED_H
#define HX_BACKEND_MAPPED_H

#include "cpu/cpu.h"
#include "runtime/task/task.h"

/* Computes elements, counted row by row. past_caches: as for evaluate. to: where they are stored one after the other;
 * NULL: to the outputs of a map. Otherwise the kernel has one output. */
void hx__map_elements(const hx__cpu_kernels *kernels, const hx__work *work, hx__elements elements, bool past_caches,
                      uint32_t *to);

/* Stores the slots of a chunk of a map-reduce, with or without lines, in slots[0] and on; those of each further field
 * work->slices after those of the field before. leaf: room for HX__LEAF elements, aligned to 64 bytes. */
void hx__reduce_mapped(const hx__cpu_kernels *kernels, const hx__work *work, hx__chunk chunk, uint32_t *leaf,
                       uint64_t *slots);

/* The slot of one leaf of a field. */
uint64_t hx__reduce_mapped_leaf(const hx__cpu_kernels *kernels, const hx__work *work, const hx_field *field,
                                size_t slot, uint32_t *leaf);

#endif
