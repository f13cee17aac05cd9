/* SPDX-License-Identifier: Apache-2.0
 * A stream of an OpenCL device: its state, and the functions that carry out the steps of a chunk, from binding the
 * operands to delivering the results. */
#ifndef HX_BACKEND_OPENCL_STREAM_H
#define HX_BACKEND_OPENCL_STREAM_H

#include "kernels/gemm_plan.h"
#include "runtime/backend/opencl/cl.h"
#include "runtime/backend/spot_check.h"

/* Where a kernel finds a part of an array: a buffer or a pointer, the index of the first element, and the leading
 * dimension there. */
typedef struct hx__cl_view {
  hx__memory_mode mode;
  cl_mem mem;
  const void *p;
  cl_ulong first, ld;
} hx__cl_view;

/* A rectangular part of an array, in elements. */
typedef struct hx__cl_region {
  size_t row, rows, col, cols;
} hx__cl_region;

#define HX__CL_STAGE_BYTES ((size_t)8 << 20)

/* One array of the run. */
typedef struct hx__cl_operand {
  const hx__array *array;
  hx__memory_mode mode; /* the mode in use: copy if the mode of the array was not possible */
  hx__cl_hostptr *hostptr;
  hx__cl_block *coarse;
  hx__mirror *mirror; /* the device's copy of the whole array, for this run or longer */
  bool of_run;
  const hx__cl_block *block; /* copy mode: the pinned memory that contains it; NULL: none */
  hx__cl_buffer copy;        /* copy mode without a mirror: a copy of `region` if `holds` */
  hx__cl_region region;      /* with a mirror of this run: the columns that were copied to it as rectangles */
  bool holds;
} hx__cl_operand;

#define HX__CL_VALUES 32u

/* The arguments of a kernel object that are numbers, as they were set last: those that stay the same need no call of
 * the driver. Memory objects are always set, because a new one may have the address of one that was released. */
typedef struct hx__cl_values {
  uint32_t known; /* bits */
  cl_ulong value[HX__CL_VALUES];
} hx__cl_values;

/* A kernel object and the kinds of argument that were set on it, as four bits for each array. After a pointer was set
 * as an argument, one driver refuses a buffer in the same place (CL_INVALID_KERNEL_ARGS), so another mix of modes gets
 * a new object. */
typedef struct hx__cl_kernel {
  cl_kernel kernel;
  uint64_t kinds;
  hx__cl_values *values; /* NULL: not remembered */
} hx__cl_kernel;

/* The kernel objects of a stream, by program. Each is created at its first use. */
typedef struct hx__cl_kernels {
  hx__cl_kernel compute[HX__PROGRAMS]; /* hx_reduce, hx_reduce_fields or hx_matmul */
  hx__cl_kernel pack_a[HX__PROGRAMS], pack_b[HX__PROGRAMS];
  hx__cl_kernel join[HX__PROGRAMS], copy[HX__PROGRAMS], store[HX__PROGRAMS];
} hx__cl_kernels;

#define HX__CL_READBACK_BUFFERS 2u /* one is stored to C while another is filled */

/* A pinned block into which results are read. */
typedef struct hx__cl_readback_buffer {
  void *p, *block;
  size_t bytes;
  bool busy;
} hx__cl_readback_buffer;

/* Where the kernels of a product write. Rows are ldt floats apart, and the products of a batch `step` floats. beta
 * times the old contents is added. */
typedef struct hx__cl_target {
  cl_mem mem;
  size_t ldt, step;
  float beta;
} hx__cl_target;

/* A chunk in flight. After a timeout it keeps its buffers, and the stream takes no work, until its event completes. */
typedef struct hx__cl_inflight {
  hx__chunk chunk;
  hx__cl_buffer out; /* the slots of a reduction or the block t of a product; reused by later chunks */
  cl_event event;    /* the results have arrived; NULL: nothing in flight, or waiting for a readback buffer */
  cl_event computed; /* the kernels have finished, if the results are read on a queue of their own */
  void *mapped;      /* the mapped results; NULL: not mapped */
  void *host;        /* results in host memory, because no device buffer is large enough for them; NULL: not there */
  hx__cl_readback_buffer *readback;
  const void *completed; /* the results that a completion brings, instead of an event; NULL: there is none */
  size_t bytes;          /* of the results */
  bool product, map;
  bool joined;     /* reductions: all leaves are joined into one slot for each field */
  uint32_t join;   /* if so, the number that its launches store, for the host to see that they have ended; else 0 */
  bool stored;     /* products: the kernels wrote directly to the C that stays on the device */
  size_t ldt;      /* products: floats from row to row */
  bool compared;   /* a few results are compared with the CPU's */
  uint64_t unmaps; /* of the thread when the chunk was submitted: they end before the chunk */
  hx__spot_check spot;
  float ends[2]; /* if C stays on the device: the first and last element of the chunk */
} hx__cl_inflight;

/* The words by which the host sees the end of a chunk (completion.c). */
typedef struct hx__cl_completions {
  cl_kernel kernel;
  volatile uint64_t *words; /* pinned: each result word beside the number of its launch, in the upper half */
  void *block;
  bool refused;              /* there is no kernel or no memory */
  uint32_t number;           /* of the launch that is awaited */
  unsigned awaited, arrived; /* words */
  _Alignas(8) uint32_t result[512];
} hx__cl_completions;

#define HX__CL_CHOICES 4u

/* The plan that was chosen for one shape of product. It is remembered because choosing takes 10 us. */
typedef struct hx__cl_choice {
  hx__gemm_shape shape;
  uint64_t ready; /* the variants that were ready at the time, as bits; 0: the entry is empty */
  unsigned program;
  hx__gemm_plan plan;
} hx__cl_choice;

typedef struct hx__cl_choices {
  hx__cl_choice entry[HX__CL_CHOICES];
  unsigned made; /* choices made so far; each replaces the oldest entry */
} hx__cl_choices;

/* The same of a user kernel. */
typedef struct hx__cl_map_kernel {
  cl_kernel kernel;
  hx__memory_mode mode[HX__EXPR_INPUTS];
} hx__cl_map_kernel;

/* Device buffers for intermediate data of a chunk. They outlive the run unless they are large. */
typedef struct hx__cl_scratch {
  hx__cl_buffer packed_a, packed_b;
  hx__cl_buffer tickets;  /* HX__JOIN_TICKETS tickets for launches that join; all are 0 between launches */
  hx__cl_buffer partials; /* partial sums of a product whose k is cut */
  hx__cl_buffer part;     /* a block of C, if the product is launched in parts */
} hx__cl_scratch;

/* State of one run. It is set when the run begins and is not used after its end. */
typedef struct hx__cl_run {
  hx__copy_threads copiers;
  size_t operands;               /* used entries of the stream's `operand` array */
  hx__resident_output *resident; /* the C that stays on the device; NULL: C goes to the host */
  size_t slices;                 /* of the task */
  size_t resident_slices;        /* slices that have arrived in the resident output */
  size_t most_bytes;             /* of a chunk's results */
  unsigned shortages;            /* of the device when it began */
  size_t previous;               /* first slice of the previous chunk; SIZE_MAX: none */
  bool shared_packed;            /* the operand that all chunks share is packed */
  unsigned map;                  /* index of the user kernel; HX__CL_MAPS: none */
  uint64_t copied;               /* bytes copied to and from the device */
  size_t unsent;                 /* bytes not sent of the last upload that was cancelled because its chunk was
                                  * superseded */
} hx__cl_run;

/* The staging ring: two pinned buffers. Each stays mapped at `host` until the stream is closed. */
typedef struct hx__cl_staging {
  cl_mem half[2];
  void *host[2];
  cl_event event[2]; /* completes when the device has read that half; NULL: the half is free */
  unsigned next;     /* its lowest bit is the half to fill next */
} hx__cl_staging;

/* State of the self-test in the stream that it uses. */
typedef struct hx__cl_self_test_state {
  unsigned program; /* index of the variant, or the program of several fields, under test; 0: none */
  bool reached;     /* that variant has been launched */
  bool chained;     /* the last product's own launch added the panels, if the kernel can do that */
  bool active;      /* the stream belongs to the self-test, which compares every result itself */
  bool full_groups; /* map-reduces: groups have as many leaves as in long launches */
} hx__cl_self_test_state;

/* All members except run, operand and inflight keep their values between runs. */
typedef struct hx__cl_stream {
  hx__stream base;
  hx__cl_device *device;
  cl_command_queue queue;
  cl_command_queue uploads; /* for uploads that overlap with kernels; NULL: uploads go to `queue` */
  cl_command_queue results; /* for reading results while kernels run; NULL: results are read on `queue` */
  cl_event leftover;        /* the marker behind the commands of a run that timed out; NULL: none */
  cl_event uploaded;        /* the last command on `uploads` if no kernel waits for it yet; NULL: none */
  unsigned product;         /* index of the product's program: HX_TILE chooses it */
  bool copy_inputs;         /* the user set a timeout for a CPU-type device: copies, so that chunks may time out */
  uint32_t numbered;        /* the number of the last launch that has one */
  bool joins;               /* reductions: the device joins the slots of a chunk if that is possible */
  bool backwards;           /* the last launch for few rows of C read B from its end. Launches alternate, because caches
                             * still hold what was read last */
  size_t most_alloc;        /* bytes of an array in a chunk: the device's max_alloc, or less while memory is short */
  uint64_t short_since_ns;  /* when memory last ran short; 0: not lately */
  uint64_t limit_ns;        /* limit of waits that have no deadline, such as those for uploads; UINT64_MAX: none */
  hx__cl_self_test_state self_test;
  hx__cl_kernels kernels;
  hx__cl_map_kernel maps[HX__CL_MAPS];
  hx__cl_choices choices;
  hx__cl_scratch scratch;
  hx__cl_staging staging;
  hx__cl_readback_buffer readback[HX__CL_READBACK_BUFFERS];
  hx__cl_completions completions;

  hx__cl_run run;
  hx__cl_operand *operand; /* the arrays of the run; their buffers may outlive the run */
  size_t operand_room;
  hx__cl_inflight inflight[HX__MAX_INFLIGHT];
  unsigned next; /* index of the next inflight to use */
} hx__cl_stream;

hx__stream *hx__cl_stream_open(hx__device *device, const hx__config *config);
void hx__cl_stream_close(hx__stream *stream);
hx__outcome hx__cl_begin(hx__stream *stream, const hx__request *request);
void hx__cl_end(hx__stream *stream, uint64_t *copied);
hx__outcome hx__cl_submit(hx__stream *stream, const hx__request *request, hx__chunk chunk, hx__inflight **ticket);
hx__outcome hx__cl_wait(hx__stream *stream, hx__inflight *ticket, const _Atomic uint64_t *deadline_ns);
bool hx__cl_deliver(hx__stream *stream, const hx__request *request, hx__inflight *ticket, hx__chunk part);
void hx__cl_retire(hx__stream *stream, hx__inflight *ticket);
void hx__cl_abandon(hx__stream *stream);
bool hx__cl_recovered(hx__stream *stream);
size_t hx__cl_grain(const hx__stream *stream, const hx__work *work);
size_t hx__cl_most_slices(const hx__stream *stream, const hx__request *request);

/* Whether the device is lost. No OpenCL call is made on a lost device. */
static inline bool hx__cl_is_lost(const hx__cl_stream *stream) {
  return atomic_load_explicit(&stream->device->base.lost, memory_order_acquire);
}
/* The event's state without waiting: CL_COMPLETE, a positive state, or a negative error. */
cl_int hx__cl_state_of(cl_event event);
/* Waits until the event has completed or the deadline is reached, and returns the same. expected_ns: when the event is
 * expected to complete; 0: unknown. */
cl_int hx__cl_wait_until(const hx__cl_stream *stream, cl_event event, uint64_t expected_ns,
                         const _Atomic uint64_t *deadline_ns);
/* Waits for an event for at most the stream's limit. HX__TIMED_OUT: the stream takes no work until the event
 * completes. */
hx__outcome hx__cl_await(hx__cl_stream *stream, cl_event event);
/* Kernels launched after this call wait, on the device, for all uploads that were enqueued before it. */
hx__outcome hx__cl_await_uploads(hx__cl_stream *stream);
/* Enqueues a marker behind all commands on the stream's queue and flushes the queue. *end: the marker's event; NULL
 * after an error. */
hx__outcome hx__cl_mark_end(hx__cl_stream *stream, cl_event *end);
/* Called with the outcome of a step. If the chunk will not be delivered, commands that were already launched for it may
 * still read the caller's memory. After HX__NO_MEMORY or HX__SUPERSEDED this waits for them, for at most the stream's
 * limit. After HX__FAILED it waits only if the device never times out and the stream has no limit. Returns the outcome,
 * HX__TIMED_OUT if the wait timed out, or HX__FAILED if the wait failed. */
hx__outcome hx__cl_quiesce(hx__cl_stream *stream, hx__outcome outcome);
/* How a task is cut so that no buffer of a chunk is larger than the device allows. */
typedef struct hx__cl_cut {
  size_t slices; /* the most slices of a chunk */
  /* Products: the most lines of the operand that all chunks share in one launch, if that operand is copied or
   * packed. */
  size_t cross_extent;
  size_t k; /* products: the most k of one launch */
} hx__cl_cut;
/* resident: C stays on the device in this run. */
hx__cl_cut hx__cl_cut_of(const hx__cl_stream *stream, const hx__work *work, bool resident);
size_t hx__cl_stage_bytes(const hx__cl_device *device); /* bytes of a half of the ring */
/* Releases what the run bound. Buffers of copies are kept for the next run unless they are large. */
void hx__cl_unbind(hx__cl_stream *stream);
/* The most leaves of a reduction's chunk: 256 MiB of each array, or 4 GiB if the device has the arrays already. The
 * kernels that join leaves join as many as that. */
#define HX__CL_MOST_LEAVES 16384u
#define HX__CL_MOST_PRESENT_LEAVES (1u << 18)
size_t hx__cl_most_leaves(const hx__work *work);

/* Bring the results of a chunk to the host. begin is called after the chunk's kernels are enqueued: it enqueues the
 * transfer of the results and sets their event. start_waiting enqueues the transfer of results that wait for a readback
 * buffer, if one is free now. end releases what the chunk holds, except the map of results, which unmap ends before
 * the chunk's buffer is used again. right: the results have arrived. close unmaps and releases the buffers. */
hx__outcome hx__cl_results_begin(hx__cl_stream *stream, hx__cl_inflight *inflight, const hx__work *work);
hx__outcome hx__cl_results_start_waiting(hx__cl_stream *stream, hx__cl_inflight *inflight);
void hx__cl_results_end(hx__cl_stream *stream, hx__cl_inflight *inflight, bool right);
hx__outcome hx__cl_results_unmap(hx__cl_stream *stream, hx__cl_inflight *inflight);
/* Between runs: reads a part of a result that stays on the device into memory of the stream (hx__cl_results_of). That
 * memory stays valid if the read times out and writes it later. HX__FAILED: the driver reported success for two reads
 * whose data did not arrive. */
hx__outcome hx__cl_read_result(hx__cl_stream *stream, hx__cl_inflight *inflight, cl_mem from, size_t at, size_t bytes);
/* The results of a chunk in host memory, or what hx__cl_read_result has read. */
const void *hx__cl_results_of(const hx__cl_inflight *inflight);
/* Puts unmaps of all mapped results on the queue. */
void hx__cl_results_unmap_all(hx__cl_stream *stream);
void hx__cl_results_close(hx__cl_stream *stream);

/* A completion instead of an event. expect is called if f's own launch will bring it, before that launch: it returns
 * the host's address that the launch gets, beside the number, and sets f->completed; 0: it must not bring one. begin is
 * called after the chunk's launches, and enqueues one behind them if no other brings the completion. await looks until
 * the end, and returns false if it is not there by the deadline, is late, or will be long in coming: the chunk's event
 * is then awaited. arrived looks once. The result is then at f->completed. */
cl_ulong hx__cl_completion_expect(hx__cl_stream *stream, hx__cl_inflight *f, uint32_t number);
bool hx__cl_completion_is_possible(hx__cl_stream *stream, const hx__cl_inflight *f);
hx__outcome hx__cl_completion_begin(hx__cl_stream *stream, hx__cl_inflight *f);
bool hx__cl_completion_await(hx__cl_stream *stream, uint64_t expected_ns, const _Atomic uint64_t *deadline_ns);
bool hx__cl_completion_arrived(hx__cl_stream *stream);
void hx__cl_completions_close(hx__cl_stream *stream);

/* Called after a run: makes the next one need less of the device's memory if it was short in this one. */
void hx__cl_adapt_to_room(hx__cl_stream *stream);

/* Whether the device works on copies of the run's operands. */
static inline bool hx__cl_run_copies(const hx__cl_stream *stream) {
  return stream->run.operands && stream->operand[0].mode == HX__MEMORY_COPY;
}

/* A number that no recent launch of the stream has. Not 0. */
static inline uint32_t hx__cl_next_number(hx__cl_stream *stream) {
  if (++stream->numbered == 0) stream->numbered = 1;
  return stream->numbered;
}

/* Notes in *f whether its launches join all leaves, and gives them a number if they do. */
static inline void hx__cl_set_joined(hx__cl_stream *stream, hx__cl_inflight *f, bool joined) {
  f->joined = joined;
  f->join = joined ? hx__cl_next_number(stream) : 0;
}

/* Whether a kernel of this row joins all leaves of the chunk. */
bool hx__cl_row_joins(const hx__cl_stream *stream, const hx__kernel_row *row, const hx__work *work, hx__chunk chunk);

/* Makes sure that the stream has a buffer of tickets, set to zero when it is created. */
hx__outcome hx__cl_tickets_ready(hx__cl_stream *stream);

/* Enqueue the kernels of a chunk. The results will be to->bytes of to->out or to->host. Of *to, these functions set
 * those three and joined, stored and ldt. */
hx__outcome hx__cl_launch_reduce(hx__cl_stream *stream, const hx__request *request, hx__chunk chunk,
                                 hx__cl_inflight *to);
hx__outcome hx__cl_launch_lines(hx__cl_stream *stream, const hx__request *request, hx__chunk chunk,
                                hx__cl_inflight *inflight);
hx__outcome hx__cl_launch_matmul(hx__cl_stream *stream, const hx__request *request, hx__chunk chunk,
                                 hx__cl_inflight *to);
/* Whether one launch will compute several fields of a chunk. joins: otherwise the device would join the leaves of each
 * field. Asks for the programs that are missing. */
bool hx__cl_fields_fuse(hx__cl_stream *stream, const hx__work *work, bool joins);
/* Launches the fields from number `first` on that have a program together: their slots go to to->out. *fields: how many
 * there are; 0: the next field has no such program and is launched by itself. */
hx__outcome hx__cl_launch_fields(hx__cl_stream *stream, const hx__request *request, hx__chunk chunk, size_t first,
                                 const hx__cl_inflight *to, size_t *fields);
/* The operands of a launch: of one product, or of several, whose matrices are a_step and b_step elements apart. */
typedef struct hx__cl_strides {
  size_t rs, cs;
} hx__cl_strides;
typedef struct hx__cl_factors {
  hx__cl_view a, b;
  hx__cl_strides as, bs;
  size_t products, a_step, b_step;
} hx__cl_factors;
/* A product by a set of rows: writes alpha times the product of op(A) (m x k) and op(B) (k x n) to a target. */
typedef struct hx__gemm_size {
  size_t m, n, k;
  float alpha;
} hx__gemm_size;
hx__outcome hx__cl_launch_tiles(hx__cl_stream *stream, const hx__cl_factors *factors, const hx__gemm_size *size,
                                const hx__cl_target *target);

/* Copies `bytes` of host memory to byte `at` of a device buffer. The device reads the parts that the block (NULL: none)
 * has pinned directly; the rest goes through the staging ring. */
hx__outcome hx__cl_upload(hx__cl_stream *stream, const void *from, size_t bytes, const hx__cl_block *block, cl_mem to,
                          size_t at);
/* Copies a part of an array to a buffer, from byte `at` on, with rows to_pitch bytes apart. */
hx__outcome hx__cl_upload_rows(hx__cl_stream *stream, const hx__cl_operand *operand, hx__cl_region region, cl_mem to,
                               size_t at, size_t to_pitch);
/* Copies those parts of a region that the operand's mirror lacks, and sets *view to the region in the mirror. */
hx__outcome hx__cl_view_mirror(hx__cl_stream *stream, hx__cl_operand *operand, hx__cl_region region, hx__cl_view *view);
/* The first chunk of a run may receive an operand in parts. arrives_in_parts tells whether that is possible, view_part
 * uploads one part and sets a view of it, and parts_done ends it. there: all parts have arrived; otherwise the mirror
 * is invalidated. */
bool hx__cl_operand_arrives_in_parts(const hx__cl_operand *operand);
hx__outcome hx__cl_view_part(hx__cl_stream *stream, hx__cl_operand *operand, hx__cl_region region, hx__cl_view *view);
void hx__cl_operand_parts_done(hx__cl_operand *operand, bool there);
/* While a chunk is computed, uploads the next chunk's part of the operand that is cut. The next chunk is taken to be
 * the neighbour of this one in the direction in which chunks proceed, as far as it lies within `reach`
 * (hx__request.upcoming). */
void hx__cl_prefetch(hx__cl_stream *stream, const hx__work *work, hx__chunk chunk, hx__chunk reach);
/* For a C that stays on the device. begin fills it with the old C if beta != 0. store_chunk writes a chunk's block to
 * it, unless the kernels did so. target returns it as a target for the kernels; mem is NULL if they cannot write to it
 * directly. in_parts: the product is launched in several parts. */
hx__outcome hx__cl_resident_begin(hx__cl_stream *stream, const hx__work *work);
/* The buffer of the resident output. */
cl_mem hx__cl_resident_mem(const hx__cl_stream *stream);
/* Reads the first and the last element of the chunk in that C into inflight->ends. */
hx__outcome hx__cl_resident_read_ends(hx__cl_stream *stream, hx__cl_inflight *inflight, const hx__work *work);
hx__outcome hx__cl_resident_store_chunk(hx__cl_stream *stream, const hx__work *work, const hx__cl_inflight *inflight);
hx__cl_target hx__cl_resident_target(const hx__cl_stream *stream, const hx__work *work, hx__chunk chunk, bool in_parts);
hx__outcome hx__cl_fetch(hx__stream *stream, const hx__array *array);
hx__outcome hx__cl_view_of(hx__cl_stream *stream, hx__cl_operand *operand, hx__cl_region region, hx__cl_view *view);
void hx__cl_stage_close(hx__cl_stream *stream);
void hx__cl_release_kernels(const hx__cl_kernel *kernels, bool lost); /* an array of HX__PROGRAMS */
/* The kernel object of a program on this stream for operands with these views (NULL: no such operand), created at its
 * first use. Returns NULL after an error, with the error in *outcome. */
cl_kernel hx__cl_stream_kernel(hx__cl_stream *stream, hx__cl_kernel *slot, unsigned need, const char *name,
                               const hx__cl_view *x, const hx__cl_view *y, hx__outcome *outcome);
/* The same with the kinds of all its arrays: hx__cl_kind_of, four bits for each. */
cl_kernel hx__cl_stream_kernel_of(hx__cl_stream *stream, hx__cl_kernel *slot, unsigned need, const char *name,
                                  uint64_t kinds, hx__outcome *outcome);
static inline uint64_t hx__cl_kind_of(const hx__cl_view *view) {
  return (uint64_t)(!view || view->mem ? HX__MEMORY_COPY : view->mode);
}

#endif
