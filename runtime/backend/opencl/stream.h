/* SPDX-License-Identifier: Apache-2.0
 * A stream of an OpenCL device: what it holds, and the steps of a chunk, from where its operands lie to its results. */
#ifndef HX_BACKEND_OPENCL_STREAM_H
#define HX_BACKEND_OPENCL_STREAM_H

#include "kernels/gemm_plan.h"
#include "runtime/backend/opencl/cl.h"
#include "runtime/backend/spot_check.h"

/* Where a kernel finds part of an array: a buffer or a pointer, the first element, and the leading dimension there. */
typedef struct hx__cl_view {
  hx__memory_mode mode;
  cl_mem mem;
  const void *p;
  cl_ulong first, ld;
} hx__cl_view;

/* The part of an array that a view is asked for. */
typedef struct hx__cl_region {
  size_t row, rows, col, cols;
} hx__cl_region;

#define HX__CL_STAGE_BYTES ((size_t)8 << 20)

/* One array of the run. */
typedef struct hx__cl_operand {
  const hx__array *array;
  hx__memory_mode mode; /* as used: copy where the wanted one could not be had */
  hx__cl_hostptr *hostptr;
  hx__cl_block *coarse;
  hx__mirror *mirror; /* the device's copy of all of it, for this run or longer */
  bool of_run;
  const hx__cl_block *block; /* copy mode: what is pinned of it; NULL: nothing */
  hx__cl_buffer copy;        /* copy mode without a mirror: the region in it */
  hx__cl_region region;
  bool holds;
} hx__cl_operand;

/* A kernel object and the kinds of argument it has had: once it was given a pointer, one driver refuses a buffer in the
 * same place (CL_INVALID_KERNEL_ARGS), so another mix of modes gets a new object. */
typedef struct hx__cl_kernel {
  cl_kernel kernel;
  hx__memory_mode x, y;
} hx__cl_kernel;

/* The kernel objects of a stream, by program, each made at its first use. */
typedef struct hx__cl_kernels {
  hx__cl_kernel compute[HX__PROGRAMS]; /* hx_reduce or hx_matmul */
  hx__cl_kernel pack_a[HX__PROGRAMS], pack_b[HX__PROGRAMS];
  hx__cl_kernel join[HX__PROGRAMS], copy[HX__PROGRAMS], store[HX__PROGRAMS];
} hx__cl_kernels;

#define HX__CL_READBACK_BUFFERS 2u /* one is stored from while another is read into */

/* A pinned block for a product's results. */
typedef struct hx__cl_readback_buffer {
  void *p, *block;
  size_t bytes;
  bool busy;
} hx__cl_readback_buffer;

/* Where the kernels of a product write: ldt floats from row to row. beta times what is there is added. */
typedef struct hx__cl_target {
  cl_mem mem;
  size_t ldt;
  float beta;
} hx__cl_target;

/* A chunk in flight. After a timeout it owns its block, and with it the stream, until its event completes. */
typedef struct hx__cl_inflight {
  hx__chunk chunk;
  hx__cl_buffer out; /* slots, or t; reused by the next chunk */
  cl_event event;    /* the results are there; NULL: nothing is in flight, or they wait for a readback buffer */
  cl_event computed; /* where they are read beside kernels: before that */
  void *mapped;      /* results, if they are not in a readback buffer, */
  void *host;        /* nor here: more of them than a buffer takes. NULL: they are not */
  hx__cl_readback_buffer *readback;
  size_t bytes; /* of the results there */
  bool product;
  bool joined;   /* a reduction's: one slot for each field, of all its leaves */
  bool stored;   /* a product's: the kernels wrote it to the C that stays on the device */
  size_t ldt;    /* a product's: floats from row to row */
  bool compared; /* a few results are compared with the CPU's */
  hx__spot_check spot;
  float ends[2]; /* of a C that stays on the device: the first and last element of the chunk */
} hx__cl_inflight;

#define HX__CL_CHOICES 4u

/* What a product of a set of rows was launched by, for the next one of its shape: to choose takes 10 us. */
typedef struct hx__cl_choice {
  hx__gemm_shape shape;
  uint64_t ready; /* the variants there were; 0: no choice was made */
  unsigned program;
  hx__gemm_plan plan;
} hx__cl_choice;

typedef struct hx__cl_choices {
  hx__cl_choice entry[HX__CL_CHOICES];
  unsigned made; /* so far: the oldest is replaced next */
} hx__cl_choices;

/* Device buffers that kernels use between a chunk's operands and its results. They outlive the run unless large. */
typedef struct hx__cl_scratch {
  hx__cl_buffer packed_a, packed_b;
  hx__cl_buffer tickets;  /* of launches that join: HX__JOIN_TICKETS of them, 0 between launches */
  hx__cl_buffer partials; /* of a product whose k is cut */
  hx__cl_buffer part;     /* of C, if an operand arrives in parts */
} hx__cl_scratch;

/* What is set when a run begins and means nothing after its end. */
typedef struct hx__cl_run {
  hx__copy_threads copiers;
  size_t operands;               /* of the stream's array of operands */
  hx__resident_output *resident; /* C stays here; NULL: it goes to the host */
  size_t slices;                 /* of the task */
  size_t resident_slices;        /* of these, those that have arrived in the resident output */
  size_t most_bytes;             /* of results of a chunk */
  size_t previous;               /* first slice of the chunk before this one; SIZE_MAX: there was none */
  bool shared_packed;            /* the operand that all chunks share is packed */
  uint64_t copied;               /* bytes, to and from the device */
  size_t unsent;                 /* bytes of the last array whose upload was cancelled, as nothing needed it any more */
} hx__cl_run;

/* The staging ring: two pinned buffers, each mapped at `host` for as long as the stream lives. */
typedef struct hx__cl_staging {
  cl_mem half[2];
  void *host[2];
  cl_event event[2]; /* the device has read that half; NULL: it is free */
  unsigned next;     /* the half to fill next is its lowest bit */
} hx__cl_staging;

/* What the self-test sets on its stream, and finds out by it. */
typedef struct hx__cl_self_test_state {
  unsigned program; /* index of the variant under test; 0: none */
  bool reached;     /* that one has been launched */
  bool chained;     /* its last panels were added by the product's own launch, if that was possible */
  bool active;      /* the stream is the self-test's, which compares every result itself */
} hx__cl_self_test_state;

/* The members but run, operand and inflight live as long as the stream. */
typedef struct hx__cl_stream {
  hx__stream base;
  hx__cl_device *device;
  cl_command_queue queue;
  cl_command_queue uploads; /* beside kernels, on devices with memory of their own; NULL: on queue as well */
  cl_command_queue results; /* likewise, of what kernels have computed */
  cl_event leftover;        /* behind the commands of a run that timed out; NULL: none */
  cl_event uploaded;        /* the last one on uploads that no kernel waits for yet; NULL: none */
  unsigned product;         /* index of the product's program: HX_TILE chooses it */
  bool copy_inputs;         /* a timeout set by hand on a CPU-type device: chunks may then time out */
  bool joins;               /* reductions: chunks are joined on the device if that is possible */
  bool backwards;           /* the last launch for few rows of C read B from its end: they alternate, as a cache still
                             * has what the launch before read last */
  uint64_t limit_ns;        /* of waits without a prediction, as for uploads; UINT64_MAX: none */
  hx__cl_self_test_state self_test;
  hx__cl_kernels kernels;
  hx__cl_choices choices;
  hx__cl_scratch scratch;
  hx__cl_staging staging;
  hx__cl_readback_buffer readback[HX__CL_READBACK_BUFFERS];

  hx__cl_run run;
  hx__cl_operand *operand; /* the arrays of the run; their buffers may outlive it */
  size_t operand_room;
  hx__cl_inflight inflight[HX__MAX_INFLIGHT];
  unsigned next; /* of them */
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
size_t hx__cl_most_slices(const hx__stream *stream, const hx__work *work);

/* Once a device is lost no OpenCL call is made on it. */
static inline bool hx__cl_is_lost(const hx__cl_stream *stream) {
  return atomic_load_explicit(&stream->device->base.lost, memory_order_acquire);
}
/* The event's state without waiting: CL_COMPLETE, a positive state, or a negative error. */
cl_int hx__cl_state_of(cl_event event);
/* The same, asleep until it has completed or the deadline is there; expected_ns: when it may be so, 0: unknown. */
cl_int hx__cl_wait_until(cl_event event, uint64_t expected_ns, const _Atomic uint64_t *deadline_ns);
/* Waits for an event at most for the stream's limit. HX__TIMED_OUT: the stream takes no work until it has ended. */
hx__outcome hx__cl_await(hx__cl_stream *stream, cl_event event);
/* Kernels launched after this call wait, on the device, for everything uploaded before it. */
hx__outcome hx__cl_await_uploads(hx__cl_stream *stream);
/* Puts a marker behind everything launched on the stream's queue and flushes it. *end: its event; NULL after an error.
 */
hx__outcome hx__cl_mark_end(hx__cl_stream *stream, cl_event *end);
/* What was launched of a chunk that is not to be delivered may read the caller's memory: it is waited for, as long as
 * the stream's limit allows. After an error only on devices that are waited for for ever. Returns the outcome, or
 * HX__TIMED_OUT.
 */
hx__outcome hx__cl_quiesce(hx__cl_stream *stream, hx__outcome outcome);
/* How a task is cut, so that no buffer of a chunk is too large for the device. */
typedef struct hx__cl_cut {
  size_t slices; /* of a chunk, at most */
  /* Products: lines in one launch of the operand that all chunks share, if it is copied or packed. */
  size_t cross_extent;
  size_t k; /* products: of one launch */
} hx__cl_cut;
hx__cl_cut hx__cl_cut_of(const hx__cl_stream *stream, const hx__work *work);
size_t hx__cl_stage_bytes(const hx__cl_device *device); /* of a half of the ring */
/* Gives back what the run bound; the copies' buffers stay for the next run unless they are large. */
void hx__cl_unbind(hx__cl_stream *stream);
#define HX__CL_MOST_LEAVES 16384u /* of a reduction's chunk: 256 MiB a field */
#define HX__CL_RETAINED_BYTES \
  ((size_t)64 << 20) /* of a buffer that outlives the run, and of a product's result block */

/* After the kernels of a chunk: how its results come, to their event; come: those that waited for a readback buffer, if
 * there is one now; end: the chunk lets go of what it holds. */
hx__outcome hx__cl_results_begin(hx__cl_stream *stream, hx__cl_inflight *inflight, const hx__work *work);
hx__outcome hx__cl_results_start_waiting(hx__cl_stream *stream, hx__cl_inflight *inflight);
void hx__cl_results_end(hx__cl_stream *stream, hx__cl_inflight *inflight, bool right);
/* Between runs: reads part of a result that stays on the device into memory of the stream (hx__cl_results_of), so that
 * a read that times out may still write it. HX__FAILED: twice it did not arrive, though the driver said so. */
hx__outcome hx__cl_read_result(hx__cl_stream *stream, hx__cl_inflight *inflight, cl_mem from, size_t at, size_t bytes);
/* Where the host finds the results of a chunk, or what hx__cl_read_result has read. */
const void *hx__cl_results_of(const hx__cl_inflight *inflight);
void hx__cl_results_close(hx__cl_stream *stream);

/* The stream's tickets, zero. */
hx__outcome hx__cl_tickets_ready(hx__cl_stream *stream);

/* Enqueues the kernels of a chunk. Its results are then to->bytes of to->out or of to->host; of to they set these and
 * joined, stored and ldt. */
hx__outcome hx__cl_launch_reduce(hx__cl_stream *stream, const hx__request *request, hx__chunk chunk,
                                 hx__cl_inflight *to);
hx__outcome hx__cl_launch_matmul(hx__cl_stream *stream, const hx__request *request, hx__chunk chunk,
                                 hx__cl_inflight *to);
/* A product by a set of rows: op(A) and op(B) of m x k and k x n, alpha times their product to a target. */
typedef struct hx__cl_strides {
  size_t rs, cs;
} hx__cl_strides;
typedef struct hx__gemm_size {
  size_t m, n, k;
  float alpha;
} hx__gemm_size;
hx__outcome hx__cl_launch_tiles(hx__cl_stream *stream, const hx__cl_view *a, hx__cl_strides as, const hx__cl_view *b,
                                hx__cl_strides bs, const hx__gemm_size *size, const hx__cl_target *target);

/* `bytes` of host memory to a place of a device buffer: through the ring, or where the block is pinned (NULL: nothing
 * is) by the device itself. */
hx__outcome hx__cl_upload(hx__cl_stream *stream, const void *from, size_t bytes, const hx__cl_block *block, cl_mem to,
                          size_t at);
/* Part of an array to a buffer, from byte `at` on, its rows to_pitch bytes apart. */
hx__outcome hx__cl_upload_rows(hx__cl_stream *stream, const hx__cl_operand *operand, hx__cl_region region, cl_mem to,
                               size_t at, size_t to_pitch);
/* A copy of the whole array, completed for a region. */
hx__outcome hx__cl_view_mirror(hx__cl_stream *stream, hx__cl_operand *operand, hx__cl_region region, hx__cl_view *view);
/* A run's first chunk may take it in parts, each with its own view; all_parts ends that: all of it is there, or none.
 */
bool hx__cl_operand_arrives_in_parts(const hx__cl_operand *operand);
hx__outcome hx__cl_view_part(hx__cl_stream *stream, hx__cl_operand *operand, hx__cl_region region, hx__cl_view *view);
void hx__cl_operand_parts_done(hx__cl_operand *operand, bool there);
/* While a chunk is computed: what the next one will want, if it is the neighbour on the side that chunks go to, within
 * hx__request.reach. */
void hx__cl_prefetch(hx__cl_stream *stream, const hx__work *work, hx__chunk chunk, hx__chunk reach);
/* C that stays on the device: what it begins with; a chunk's block stored into it, unless its kernels did so; and as
 * their target, if a launch of all of the product (or several, in_parts) can write it. mem is NULL if it cannot. */
hx__outcome hx__cl_resident_begin(hx__cl_stream *stream, const hx__work *work);
/* Reads the first and the last element of a chunk of that C to inflight->ends. */
hx__outcome hx__cl_resident_read_ends(hx__cl_stream *stream, hx__cl_inflight *inflight, const hx__work *work);
hx__outcome hx__cl_resident_store_chunk(hx__cl_stream *stream, const hx__work *work, const hx__cl_inflight *inflight);
hx__cl_target hx__cl_resident_target(const hx__cl_stream *stream, const hx__work *work, hx__chunk chunk, bool in_parts);
hx__outcome hx__cl_fetch(hx__stream *stream, const hx__array *array);
hx__outcome hx__cl_view_of(hx__cl_stream *stream, hx__cl_operand *operand, hx__cl_region region, hx__cl_view *view);
void hx__cl_stage_close(hx__cl_stream *stream);
void hx__cl_release_kernels(const hx__cl_kernel *kernels); /* HX__PROGRAMS of them */
/* The kernel object of a program on this stream for operands of these views (NULL: it has none), made at first use;
 * NULL with a failed outcome in *outcome. */
cl_kernel hx__cl_stream_kernel(hx__cl_stream *stream, hx__cl_kernel *slot, unsigned need, const char *name,
                               const hx__cl_view *x, const hx__cl_view *y, hx__outcome *outcome);

#endif
