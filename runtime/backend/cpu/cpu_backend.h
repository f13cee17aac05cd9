/* SPDX-License-Identifier: Apache-2.0
 * What the CPU backend offers besides its table: a thread pool, packed operands and blocks. Its stream differs from
 * others in two ways: any number of threads and runs may use it at once, and submit always computes the chunk and
 * returns HX__DONE. */
#ifndef HX_BACKEND_CPU_CPU_BACKEND_H
#define HX_BACKEND_CPU_CPU_BACKEND_H

#include "runtime/backend/backend.h"

extern const hx__backend hx__cpu_backend;

/* The number of threads that a run may use now: HX_THREADS, else OMP_NUM_THREADS, else the usable cores, minus the
 * threads that other calls of the process use at the moment. 1 in a forked child, and in a parallel region of the
 * caller unless nested regions are enabled. */
unsigned hx__cpu_threads(const hx__config *config);

/* How soon the calling thread's pool could start, judged by its last regions. Queried once for each call that could use
 * the pool. */
typedef enum hx__pool_state {
  HX__POOL_MISSING, /* its threads have to be started, and the calling thread may end soon, with them */
  HX__POOL_ASLEEP,  /* its threads sleep and have to be woken */
  HX__POOL_AWAKE,   /* its threads still spin, because calls follow each other closely */
  HX__POOL_CROWDED  /* other programs use the cores: the caller would be done before the pool has started */
} hx__pool_state;
hx__pool_state hx__cpu_pool_state(void);
/* Whether other calls came shortly before the one that last queried the state on this thread, but none of them used the
 * pool: its threads sleep, and that call takes longer than the next one will. */
bool hx__cpu_pool_finds_asleep(void);

/* Calls body(arg) on each of `threads` threads (fewer if OpenMP gives fewer) in the canonical floating-point state,
 * which the caller has entered. Returns when all have returned. One thread: a plain call. OpenMP's team has its usual
 * number of threads; those that are not needed do nothing until its end. */
void hx__cpu_pool_run(unsigned threads, void (*body)(void *arg), void *arg);
/* The same beside other threads that need cores: the team has no more than `threads`, so that none spins for nothing.
 */
void hx__cpu_pool_run_beside(unsigned threads, void (*body)(void *arg), void *arg);
/* In body: the number of its thread, from 0. Of a plain call any number. */
unsigned hx__cpu_pool_thread(void);

/* Tells the pool of the calling thread when the first and the last of equal parts of a region ended, and whether such
 * parts have lately taken different times. */
void hx__cpu_pool_learn_parts(uint64_t from_ns, uint64_t first_ns, uint64_t last_ns);
bool hx__cpu_pool_is_uneven(void);

/* The CPU's device. Does not read the topology, which a small call never needs. */
void hx__cpu_device(hx__device **device);
/* The same after reading the topology, for its name. */
const hx__device *hx__cpu_described(void);

/* Packs the operand that all chunks of a product share, once for all of its threads. NULL if that does not pay or there
 * is no memory: chunks then pack for themselves. Otherwise every thread calls hx__cpu_pack before its first chunk,
 * which returns when the whole operand is packed, and the request names it. Ended by hx__cpu_pack_close. */
typedef struct hx__packed hx__packed;
/* version: 0, or the version of the operand's contents (HX_READ_MOSTLY): the packed operand is then cached, and reused
 * by the next product with the same version. */
hx__packed *hx__cpu_pack_open(hx__stream *stream, const hx__work *work, uint64_t version);
void hx__cpu_pack(hx__packed *packed);
void hx__cpu_pack_close(hx__stream *stream, hx__packed *packed);

/* Computes a block of a product: the slices of chunk, restricted to the range `cross` in the other dimension of C.
 * Ranges begin at multiples of hx__cpu_cross_grain, and the last one has at least that length. */
void hx__cpu_block(hx__stream *stream, const hx__request *request, hx__chunk chunk, hx__chunk cross);
size_t hx__cpu_cross_grain(const hx__stream *stream, const hx__work *work);

/* Whether a thread that computes one small product after another should prefetch the operands of the next one, which
 * have so many elements in all: if they are not in the second cache. */
bool hx__cpu_looks_ahead(uint64_t elements);

/* Where a reduction's data is likely to be, by the bytes that all of it reads. */
hx__locality hx__cpu_locality(const hx__stream *stream, const hx__work *work);

/* The kernels and block sizes in use. */
const hx__cpu_kernels *hx__cpu_stream_kernels(const hx__stream *stream);

#endif
