/* SPDX-License-Identifier: Apache-2.0
 * What the CPU's stream offers beside the table: a team of threads. Unlike other streams it may be entered by every
 * thread of a team, and by several runs, at once; and its submit always computes the chunk: HX__DONE, whatever memory
 * there is.
 */
#ifndef HX_BACKEND_CPU_CPU_BACKEND_H
#define HX_BACKEND_CPU_CPU_BACKEND_H

#include "runtime/backend/backend.h"

extern const hx__backend hx__cpu_backend;

/* Threads a run may use now: HX_THREADS, else OMP_NUM_THREADS, else the usable cores, less what other calls of the
 * process use at the moment; one inside a parallel region of the caller, unless it asked for nested ones, and in a
 * forked child. */
unsigned hx__cpu_threads(const hx__config *config);

/* How soon a team of the calling thread would be at work, as far as its last ones show. Asked once for each call that
 * could use one. */
typedef enum hx__pool_state {
  HX__POOL_ASLEEP, /* its threads have to be woken */
  HX__POOL_AWAKE,  /* at once: calls come close upon each other */
  HX__POOL_CROWDED /* other programs have the cores: the caller would be done before its team has begun */
} hx__pool_state;
hx__pool_state hx__cpu_pool_state(void);

/* Calls body(arg) on each of `threads` threads (fewer where OpenMP gives fewer), all in the canonical floating-point
 * state, as the caller is; returns when all have returned. One thread: a plain call. */
void hx__cpu_pool_run(unsigned threads, void (*body)(void *arg), void *arg);

/* Threads of the calling thread's last team, where they are OpenMP's usual number and wait for work in a loop; 0: they
 * sleep, there is none, a team of this process is at work, or other programs have the cores. */
unsigned hx__cpu_pool_spinning(void);
/* The same team for a moment: what it does is no call's work, and other callers' teams are no smaller for it. */
void hx__cpu_pool_rerun(unsigned threads, void (*body)(void *arg), void *arg);

/* The CPU's device, without a look at the topology: a small call never needs one. */
void hx__cpu_device(hx__device **device);

/* Of a product whose chunks several threads will compute: the operand that all chunks share, to be packed once. NULL
 * where that does not pay, or there is no memory for it: chunks then pack it themselves. Before the first chunk every
 * thread of the team calls hx__cpu_pack, which returns when all of it is packed; the request of the chunks names it. */
typedef struct hx__packed hx__packed;
/* version: 0, or the number of the operand's contents (HX_READ_MOSTLY): what is packed is then kept for the next
 * product with the same number. */
hx__packed *hx__cpu_pack_open(hx__stream *stream, const hx__work *work, uint64_t version);
void hx__cpu_pack(hx__packed *packed);
void hx__cpu_pack_close(hx__stream *stream, hx__packed *packed);

/* A block of a product: chunk's slices, but only `across` of the lines that they cross, cut at multiples of
 * hx__cpu_cross_grain and with at least so many in the last part. */
void hx__cpu_block(hx__stream *stream, const hx__request *request, hx__chunk chunk, hx__chunk across);
size_t hx__cpu_cross_grain(const hx__stream *stream, const hx__work *work);

/* For all of a reduction, whoever reads which part of it. */
hx__locality hx__cpu_locality(const hx__stream *stream, const hx__work *work);

/* The variant and block sizes in use. */
const hx__cpu_kernels *hx__cpu_stream_kernels(const hx__stream *stream);

#endif
