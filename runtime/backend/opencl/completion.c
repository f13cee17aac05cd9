/* SPDX-License-Identifier: Apache-2.0
 * The end of a run's only chunk, seen in memory: its launch, or a small one behind it (kernels/completion.cl), stores
 * the result, beside a number, in pinned memory that the host looks at. Looking takes no driver call, and the result
 * need not be read. If the device is late, its event is awaited instead, which also tells of errors.
 *
 * Reductions that join their leaves store the result themselves, because they are often shorter than the time that the
 * host needs to enqueue a second launch. Products do not: most compute for longer than that, and to count the groups
 * that have ended would take them longer than the second launch (docs/measurements/resident-calls-h200.tsv).
 *
 * The kernel writes to an address of the host. NVIDIA's driver gives pinned memory the same address on the device, but
 * OpenCL does not promise it, and a wrong address ends all contexts of the process. So a trial comes first, and a file
 * of the cache remembers one that failed, or that ended its process. */
#include <stdlib.h>

#include "runtime/backend/opencl/arguments.h"
#include "runtime/backend/opencl/poll.h"
#include "runtime/base/cache_dir.h"
#include "runtime/base/clock.h"
#include "runtime/base/thread.h"
#include "runtime/topo/topo.h"

#define ITEMS 64u
#define PAUSES 2 /* between two looks */
#define OPTIONS "-cl-std=CL1.2"
#define LONG_NS 2000000u /* of a chunk that is expected to take so long, an event tells of errors before the end */

bool hx__cl_has_host_addresses(const hx__cl_device *d) {
  return (d->families & HX__FAMILY_NVIDIA) && hx__topo_get()->hardware_threads > 1;
}

/* What the file of the cache says. */
static const char MAY_BE_TRIED = '+', FAILED = '-';

/* How a trial ended. */
typedef enum trial { NOT_LAUNCHED, WRONG_WORDS, RIGHT_WORDS } trial;

static char *note_key(const hx__cl_device *d, size_t *bytes) {
  char *key = NULL;
  FILE *const f = open_memstream(&key, bytes);
  if (!f) return NULL;
  hx__cl_write_key(f, d);
  fputs("kernels write to addresses of the host\n", f);
  const bool complete = !ferror(f);
  if (fclose(f) == 0 && complete) return key;
  free(key);
  return NULL;
}

static cl_int launch_completion(cl_command_queue queue, cl_kernel kernel, cl_mem from, cl_uint words,
                                const volatile uint64_t *to, cl_uint number) {
  const cl_ulong address = (cl_ulong)(uintptr_t)to;
  const size_t items = ITEMS;
  cl_int code = clSetKernelArg(kernel, 0, sizeof from, &from);
  if (code == CL_SUCCESS) code = clSetKernelArg(kernel, 1, sizeof words, &words);
  if (code == CL_SUCCESS) code = clSetKernelArg(kernel, 2, sizeof address, &address);
  if (code == CL_SUCCESS) code = clSetKernelArg(kernel, 3, sizeof number, &number);
  if (code == CL_SUCCESS) code = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &items, 0, NULL, NULL);
  hx__log(HX__LOG_TRACE, "clEnqueueNDRangeKernel: %u words to the host: %d", words, code);
  return code;
}

/* Has the kernel store words at an address of the host. */
static trial try_words(hx__cl_device *d, cl_program program) {
  enum { WORDS = 2 * ITEMS + 1 };
  uint32_t words[WORDS];
  size_t right = 0;
  cl_int code = CL_SUCCESS;
  void *block = NULL;
  for (uint32_t i = 0; i < WORDS; i++) words[i] = i * 0x9e3779b9u;
  volatile uint64_t *const to = hx__cl_alloc(&d->base, WORDS * sizeof *to, HX__MEMORY_COPY, &block);
  cl_mem const from =
      to ? clCreateBuffer(d->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof words, words, &code) : NULL;
  cl_command_queue const queue = from ? clCreateCommandQueue(d->context, d->id, 0, &code) : NULL;
  cl_kernel const kernel = queue ? clCreateKernel(program, "hx_complete", &code) : NULL;
  for (uint32_t i = 0; i < WORDS && kernel; i++) to[i] = 0;
  const bool launched = kernel && launch_completion(queue, kernel, from, WORDS, to, 1) == CL_SUCCESS;
  if (launched) code = clFinish(queue);
  if (launched && code != CL_SUCCESS) hx__cl_failed(d, "a store to an address of the host", code);
  for (uint32_t i = 0; i < WORDS && launched; i++) right += to[i] == (UINT64_C(1) << 32 | words[i]);
  if (kernel) clReleaseKernel(kernel);
  if (queue) clReleaseCommandQueue(queue);
  if (from) clReleaseMemObject(from);
  if (to) hx__cl_free(&d->base, block);
  return !launched ? NOT_LAUNCHED : right == WORDS ? RIGHT_WORDS : WRONG_WORDS;
}

/* Marks the file as in use, so that it is known if the process ends in the trial. False: it may not be tried. */
static bool begin_trial(const char *key, size_t key_bytes, int *crash_mark) {
  size_t bytes = 0;
  char *note = hx__cache_get(key, key_bytes, &bytes, crash_mark);
  if (!note) {
    hx__cache_put(key, key_bytes, &MAY_BE_TRIED, 1);
    note = hx__cache_get(key, key_bytes, &bytes, crash_mark);
  }
  if (!note) return false;
  const bool may = bytes == 1 && *note == MAY_BE_TRIED;
  if (!may) hx__cache_crash_mark_end(*crash_mark, true);
  free(note);
  return may;
}

/* Without a cache each process tries for itself. */
static bool passes_trial(hx__cl_device *d, cl_program program) {
  if (!hx__cache_dir_is_enabled()) return try_words(d, program) == RIGHT_WORDS;
  size_t key_bytes = 0;
  int crash_mark = -1;
  trial ended = NOT_LAUNCHED;
  char *const key = note_key(d, &key_bytes);
  if (key && begin_trial(key, key_bytes, &crash_mark)) {
    ended = try_words(d, program);
    hx__cache_crash_mark_end(crash_mark, true);
    if (ended == WRONG_WORDS) hx__cache_put(key, key_bytes, &FAILED, 1);
  }
  free(key);
  return ended == RIGHT_WORDS;
}

void hx__cl_completions_prepare(hx__cl_device *d) {
  if (d->completions_tried) return;
  d->completions_tried = true;
  const uint64_t from = hx__now_ns();
  cl_int code = CL_SUCCESS;
  const hx__cl_cached_program cached = hx__cl_binary_load(d, HX__KERNEL_COMPLETION, OPTIONS, true);
  cl_program program = cached.program;
  if (!program) program = hx__cl_program_new(d, HX__KERNEL_COMPLETION, OPTIONS, true, &code);
  const bool passed = program && d->max_local >= ITEMS && passes_trial(d, program);
  if (cached.program) hx__cache_crash_mark_end(cached.crash_mark, passed);
  if (passed && !cached.program) hx__cl_binary_store(d, program, HX__KERNEL_COMPLETION, OPTIONS, 0.0f);
  if (program && !passed) clReleaseProgram(program);
  hx__log(HX__LOG_INFO, "%s: ends of chunks are seen %s, found in %.1f ms", d->base.name,
          passed ? "in memory" : "by events", (double)(hx__now_ns() - from) * 1e-6);
  if (passed) atomic_store_explicit(&d->completion, program, memory_order_release);
}

/* The kernel and the pinned memory of the stream. False: they cannot be had. */
static bool is_ready(hx__cl_stream *stream) {
  hx__cl_completions *const c = &stream->completions;
  cl_int code;
  cl_program const program = atomic_load_explicit(&stream->device->completion, memory_order_acquire);
  if (!program || c->refused) return false;
  if (!c->words) {
    c->words = hx__cl_alloc(&stream->device->base, 2 * sizeof c->result, HX__MEMORY_COPY, &c->block);
    stream->base.grew_pinned_memory = true;
  }
  if (c->words && !c->kernel) c->kernel = clCreateKernel(program, "hx_complete", &code);
  c->refused = !c->kernel; /* the runs go on with events */
  return !c->refused;
}

bool hx__cl_completion_is_possible(hx__cl_stream *stream, const hx__cl_inflight *f) {
  const bool stays = stream->run.resident, all = f->chunk.count == stream->run.slices;
  if (!all || f->host || (stays ? f->compared : !hx__cl_run_copies(stream))) return false;
  return (stays || f->bytes <= sizeof stream->completions.result) && is_ready(stream);
}

/* From here on f's completion is the words with this number. If C stays on the device, one word tells of its end. */
static void expect(hx__cl_stream *stream, hx__cl_inflight *f, uint32_t number) {
  hx__cl_completions *const c = &stream->completions;
  const bool stays = stream->run.resident;
  c->awaited = stays ? 1 : (unsigned)(f->bytes / sizeof(uint32_t));
  c->arrived = 0;
  c->number = number;
  for (unsigned i = 0; i < c->awaited; i++) c->words[i] = 0;
  f->completed = c->result;
  if (!stays) stream->run.copied += f->bytes;
}

cl_ulong hx__cl_completion_expect(hx__cl_stream *stream, hx__cl_inflight *f, uint32_t number) {
  if (!hx__cl_completion_is_possible(stream, f)) return 0;
  expect(stream, f, number);
  return (cl_ulong)(uintptr_t)stream->completions.words;
}

hx__outcome hx__cl_completion_begin(hx__cl_stream *stream, hx__cl_inflight *f) {
  hx__cl_completions *const c = &stream->completions;
  cl_int code = CL_SUCCESS;
  if (!f->completed) {
    expect(stream, f, hx__cl_next_number(stream));
    code = launch_completion(stream->queue, c->kernel, stream->run.resident ? hx__cl_resident_mem(stream) : f->out.mem,
                             c->awaited, c->words, c->number);
  }
  if (code != CL_SUCCESS) return hx__cl_failed(stream->device, "clEnqueueNDRangeKernel", code);
  code = clFlush(stream->queue);
  return code == CL_SUCCESS ? HX__DONE : hx__cl_failed(stream->device, "clFlush", code);
}

bool hx__cl_completion_arrived(hx__cl_stream *stream) {
  hx__cl_completions *const c = &stream->completions;
  for (; c->arrived < c->awaited; c->arrived++) {
    const uint64_t word = c->words[c->arrived];
    if (word >> 32 != c->number) return false;
    c->result[c->arrived] = (uint32_t)word;
  }
  atomic_thread_fence(memory_order_acquire);
  return true;
}

bool hx__cl_completion_await(hx__cl_stream *stream, uint64_t expected_ns, const _Atomic uint64_t *deadline_ns) {
  const uint64_t from_ns = hx__now_ns();
  if (expected_ns > from_ns + LONG_NS) return false;
  hx__cl_poll poll = hx__cl_poll_begin(from_ns, expected_ns, true);
  for (;;) {
    if (hx__cl_completion_arrived(stream)) return true;
    const uint64_t now_ns = hx__now_ns();
    if (now_ns >= atomic_load(deadline_ns)) return false;
    const uint64_t sleep_ns = hx__cl_poll_next(&poll, now_ns);
    if (sleep_ns && now_ns >= expected_ns) return false; /* it is late */
    if (sleep_ns) hx__sleep_ns(sleep_ns);
    for (int i = 0; i < PAUSES && !sleep_ns; i++) hx__spin_pause();
  }
}

void hx__cl_completions_close(hx__cl_stream *stream) {
  hx__cl_completions *const c = &stream->completions;
  if (c->kernel) clReleaseKernel(c->kernel);
  if (c->words) hx__cl_free(&stream->device->base, c->block);
}
