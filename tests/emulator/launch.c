/* SPDX-License-Identifier: Apache-2.0
 * Sets up registers and memory as AMD's ABI requires, and runs the waves of each group from barrier to barrier. */
#include "tests/emulator/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/operation.h"

/* The values of arguments that the compiler adds to a kernel. Returns false for those without a value. */
static bool hidden_value(const launch *launch, const char *kind, uint64_t *value) {
  static const char *const axes = "xyz";
  const size_t length = strlen(kind);
  const unsigned axis =
      length > 0 && strchr(axes, kind[length - 1]) ? (unsigned)(strchr(axes, kind[length - 1]) - axes) : 0;
  if (strncmp(kind, "hidden_global_offset_", 21) == 0 || strncmp(kind, "hidden_remainder_", 17) == 0)
    *value = 0;
  else if (strncmp(kind, "hidden_block_count_", 19) == 0)
    *value = axis < 2 ? launch->groups[axis] : 1;
  else if (strncmp(kind, "hidden_group_size_", 18) == 0)
    *value = axis < 2 ? launch->local[axis] : 1;
  else if (strcmp(kind, "hidden_grid_dims") == 0)
    *value = 2;
  else
    return false;
  return true;
}

static bool write_arguments(const launch *launch, const kernel *kernel, memory *memory, uint64_t address,
                            unsigned char *to, char *why, size_t why_bytes) {
  unsigned next = 0;
  memory_forget(memory, address, 0, (kernel->kernarg_size + 3) / 4);
  memory_range *const range = &memory->ranges[memory->count - 1];
  for (unsigned i = 0; i < kernel->argument_count; i++) {
    const kernel_argument *const a = &kernel->arguments[i];
    uint64_t value;
    if (strncmp(a->kind, "hidden_", 7) == 0) {
      if (!hidden_value(launch, a->kind, &value)) continue;
    } else {
      if (next == launch->argument_count) return snprintf(why, why_bytes, "the kernel has more arguments"), false;
      value = launch->arguments[next++];
    }
    if (a->size > 8 || a->offset + a->size > kernel->kernarg_size)
      return snprintf(why, why_bytes, "argument %u has %u bytes at %u", i, a->size, a->offset), false;
    memcpy(to + a->offset, &value, a->size);
    memset(range->written + a->offset, 1, a->size);
  }
  return next == launch->argument_count || (snprintf(why, why_bytes, "the kernel has fewer arguments"), false);
}

/* hsa_kernel_dispatch_packet_t, as far as kernels read it */
static void write_packet(const launch *launch, unsigned char packet[64]) {
  const uint16_t sizes[3] = {(uint16_t)launch->local[0], (uint16_t)launch->local[1], 1};
  const uint32_t grid[3] = {launch->groups[0] * launch->local[0], launch->groups[1] * launch->local[1], 1};
  memcpy(packet + 4, sizes, sizeof sizes);
  memcpy(packet + 12, grid, sizeof grid);
}

static void set_address(wave *wave, unsigned at, uint64_t address) {
  wave->s[at] = (uint32_t)address, wave->s[at + 1] = (uint32_t)(address >> 32);
  wave->s_defined[at] = wave->s_defined[at + 1] = true;
}

/* Scalar registers have these values in this order. exec has a bit for each work-item of the group. */
static void start(wave *wave, const launch *launch, uint64_t packet, uint64_t arguments) {
  const group *const group = wave->group;
  const kernel *const kernel = group->kernel;
  const uint32_t items = launch->local[0] * launch->local[1];
  unsigned at = kernel->user_sgpr_private_segment_buffer ? 4 : 0;
  if (kernel->user_sgpr_dispatch_ptr) set_address(wave, at, packet), at += 2;
  if (kernel->user_sgpr_kernarg_segment_ptr) set_address(wave, at, arguments);
  at = kernel->user_sgpr_count;
  for (unsigned axis = 0; axis < 3; axis++)
    if (kernel->system_sgpr_workgroup_id[axis]) {
      wave->s[at] = group->id[axis];
      wave->s_defined[at++] = true;
    }
  uint64_t exec = 0;
  for (unsigned i = 0; i < wave->lanes; i++) {
    const uint32_t item = wave->number * wave->lanes + i, x = item % launch->local[0], y = item / launch->local[0];
    if (item < items) exec |= UINT64_C(1) << i;
    wave->v[0][i] = group->program->packed_items ? x | y << 10 : x;
    wave->v[1][i] = y;
  }
  wave->v_defined[0] = exec;
  if (!group->program->packed_items && kernel->system_vgpr_workitem_id >= 1) wave->v_defined[1] = exec;
  set_address(wave, REGISTER_EXEC, exec);
  wave->issued = 16; /* so that no register counts as recently written */
  wave->at = kernel->entry;
}

static bool run_to_barrier(wave *wave) {
  const program *const program = wave->group->program;
  for (unsigned long left = 100000000; !wave->ended && !wave->waits; left--) {
    if (wave->at >= program->code_count) fault(wave, "execution leaves the code");
    if (program->executed) program->executed[wave->at]++;
    wave->now = &program->code[wave->at++];
    if (left == 0) fault(wave, "it does not end");
    wave->issued++;
    wave->defers = wave->now->pair_follows;
    wave->now->operation->run(wave, wave->now);
    if (!wave->defers) continue;
    wave->defers = false;
    if (program->executed) program->executed[wave->at]++;
    wave->now = &program->code[wave->at++];
    wave->now->operation->run(wave, wave->now);
    write_deferred(wave);
  }
  return wave->waits;
}

/* Runs all waves from barrier to barrier: in ascending or descending order, or starting with another wave, by the seed.
 * */
static bool run_group(group *group, unsigned seed) {
  if (setjmp(group->failed)) return false;
  for (;; group->interval++) {
    unsigned waiting = 0;
    const wave *first = NULL;
    for (unsigned i = 0; i < group->wave_count; i++) {
      const unsigned turned = (i + seed + group->interval) % group->wave_count;
      wave *const wave = &group->waves[(seed + group->interval) & 1 ? group->wave_count - 1 - turned : turned];
      if (wave->ended || !run_to_barrier(wave)) continue;
      if (first && first->at != wave->at) fault(wave, "waves wait at different barriers");
      first = wave;
      waiting++;
    }
    if (waiting == 0) return true;
    for (unsigned i = 0; i < group->wave_count; i++) {
      if (group->waves[i].ended) fault(&group->waves[i], "it ended while others wait at a barrier");
      group->waves[i].waits = false;
    }
  }
}

/* Resets the state for a new group: nothing was written. Registers that the kernel does not use are skipped, which
 * saves time. */
static void reset(group *group, const kernel *kernel, unsigned waves) {
  memset(group->waves, 0, waves * sizeof group->waves[0]);
  memset(group->local_written, 0, kernel->group_segment_fixed_size);
  memset(group->local_uses, 0, (kernel->group_segment_fixed_size + 3) / 4 * sizeof group->local_uses[0]);
  group->kernel = kernel;
  group->wave_count = waves;
}

bool launch_run(const program *program, memory *memory, const launch *launch, unsigned seed, char *why,
                size_t why_bytes) {
  const kernel *const kernel = program_kernel(program, launch->kernel);
  if (!kernel) return snprintf(why, why_bytes, "there is no kernel %s", launch->kernel), false;
  group *const group = calloc(1, sizeof *group);
  unsigned char *const arguments = calloc(kernel->kernarg_size + 4, 1), *const packet = calloc(64, 1);
  const unsigned lanes = kernel->wavefront_size32 ? 32 : 64, ranges = memory->count;
  const uint32_t items = launch->local[0] * launch->local[1], count = launch->groups[0] * launch->groups[1];
  const uint64_t packet_at = memory_add(memory, "the dispatch packet", packet, 16, true, true);
  const uint64_t arguments_at =
      memory_add(memory, "the arguments", arguments, (kernel->kernarg_size + 3) / 4, false, true);
  bool good = group && arguments && packet && (items + lanes - 1) / lanes <= WAVES &&
              kernel->group_segment_fixed_size <= LOCAL_BYTES && kernel->next_free_vgpr <= VECTOR_REGISTERS;
  if (!good) snprintf(why, why_bytes, "the emulator is too small for this launch");
  good = good && write_arguments(launch, kernel, memory, arguments_at, arguments, why, why_bytes);
  if (good) write_packet(launch, packet);
  memory_begin_launch(memory);
  for (uint32_t g = 0; g < count && good; g++) {
    const uint32_t number = seed & 1 ? count - 1 - g : g;
    reset(group, kernel, (items + lanes - 1) / lanes);
    group->program = program, group->memory = memory;
    group->why = why, group->why_bytes = why_bytes;
    group->number = number + 1;
    group->id[0] = number % launch->groups[0], group->id[1] = number / launch->groups[0];
    group->interval = 1;
    for (unsigned w = 0; w < group->wave_count; w++) {
      group->waves[w].group = group, group->waves[w].number = w, group->waves[w].lanes = lanes;
      start(&group->waves[w], launch, packet_at, arguments_at);
    }
    good = run_group(group, seed);
  }
  while (memory->count > ranges) {
    memory->count--;
    free(memory->ranges[memory->count].written);
    free(memory->ranges[memory->count].writer);
  }
  free(group);
  free(arguments);
  free(packet);
  return good;
}
