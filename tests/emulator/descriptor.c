/* SPDX-License-Identifier: Apache-2.0
 * Reads the descriptor of a kernel: the .amdhsa_ directives, and the arguments in the metadata. */
#include "tests/emulator/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STORED, REQUIRED, IGNORED };

/* A directive is stored, must have the only value that the emulator supports, or has no effect on results. */
static const struct directive {
  const char *name;
  int what;
  size_t at; /* offset of the member, or the required value */
} directives[] = {
#define STORE(name) \
  { #name, STORED, offsetof(kernel, name) }
    STORE(group_segment_fixed_size),
    STORE(kernarg_size),
    STORE(user_sgpr_count),
    STORE(next_free_vgpr),
    STORE(next_free_sgpr),
    STORE(wavefront_size32),
    STORE(user_sgpr_private_segment_buffer),
    STORE(user_sgpr_dispatch_ptr),
    STORE(user_sgpr_kernarg_segment_ptr),
    STORE(system_vgpr_workitem_id),
    {"system_sgpr_workgroup_id_x", STORED, offsetof(kernel, system_sgpr_workgroup_id[0])},
    {"system_sgpr_workgroup_id_y", STORED, offsetof(kernel, system_sgpr_workgroup_id[1])},
    {"system_sgpr_workgroup_id_z", STORED, offsetof(kernel, system_sgpr_workgroup_id[2])},
    {"private_segment_fixed_size", REQUIRED, 0}, /* scratch memory */
    {"uses_dynamic_stack", REQUIRED, 0},
    {"enable_private_segment", REQUIRED, 0},
    {"system_sgpr_private_segment_wavefront_offset", REQUIRED, 0},
    {"user_sgpr_queue_ptr", REQUIRED, 0},
    {"user_sgpr_dispatch_id", REQUIRED, 0},
    {"user_sgpr_flat_scratch_init", REQUIRED, 0},
    {"user_sgpr_private_segment_size", REQUIRED, 0},
    {"user_sgpr_kernarg_preload_length", REQUIRED, 0},
    {"user_sgpr_kernarg_preload_offset", REQUIRED, 0},
    {"system_sgpr_workgroup_info", REQUIRED, 0},
    {"float_round_mode_32", REQUIRED, 0},  /* round to nearest even */
    {"float_denorm_mode_32", REQUIRED, 3}, /* denormals are kept */
    {"float_round_mode_16_64", REQUIRED, 0},
    {"float_denorm_mode_16_64", REQUIRED, 3},
    {"fp16_overflow", IGNORED, 0},
    {"dx10_clamp", IGNORED, 0},
    {"ieee_mode", IGNORED, 0},
    {"tg_split", REQUIRED, 0},
    {"accum_offset", IGNORED, 0},
    {"reserve_vcc", IGNORED, 0},
    {"reserve_flat_scratch", IGNORED, 0},
    {"reserve_xnack_mask", IGNORED, 0},
    {"workgroup_processor_mode", IGNORED, 0},
    {"memory_ordered", IGNORED, 0},
    {"forward_progress", IGNORED, 0},
    {"shared_vgpr_count", REQUIRED, 0},
    {"exception_fp_ieee_invalid_op", REQUIRED, 0},
    {"exception_fp_denorm_src", REQUIRED, 0},
    {"exception_fp_ieee_div_zero", REQUIRED, 0},
    {"exception_fp_ieee_overflow", REQUIRED, 0},
    {"exception_fp_ieee_underflow", REQUIRED, 0},
    {"exception_fp_ieee_inexact", REQUIRED, 0},
    {"exception_int_div_zero", REQUIRED, 0},
};

static bool value_read(program *program, kernel *kernel, const char *name, unsigned value) {
  for (size_t i = 0; i < sizeof directives / sizeof directives[0]; i++) {
    if (strcmp(name, directives[i].name) != 0) continue;
    if (directives[i].what == STORED) memcpy((char *)kernel + directives[i].at, &value, sizeof value);
    if (directives[i].what == REQUIRED && value != directives[i].at)
      return program_fault(program, "%s: %s is %u instead of %zu", kernel->name, name, value, directives[i].at);
    return true;
  }
  return program_fault(program, "%s: unknown directive .amdhsa_%s", kernel->name, name);
}

bool directive_read(program *program, kernel **current, char *line) {
  char name[64], value[64];
  if (strstr(line, ".end_amdhsa_kernel")) {
    *current = NULL;
    return true;
  }
  if (sscanf(line, " .amdhsa_%63s %63s", name, value) != 2) return program_fault(program, "not understood: %s", line);
  if (strcmp(name, "kernel") == 0) {
    if (program->kernel_count == sizeof program->kernels / sizeof program->kernels[0])
      return program_fault(program, "too many kernels");
    *current = &program->kernels[program->kernel_count++];
    snprintf((*current)->name, sizeof(*current)->name, "%s", value);
    return true;
  }
  if (!*current) return program_fault(program, "a directive outside a kernel: %s", line);
  return value_read(program, *current, name, (unsigned)strtoul(value, NULL, 0));
}

/* The arguments precede the name of their kernel and are indented further. */
void metadata_read(program *program, const char *const *lines, unsigned count) {
  kernel read = {.argument_count = 0};
  for (unsigned i = 0; i < count; i++) {
    char key[32], value[64];
    const size_t indent = strspn(lines[i], " -");
    if (sscanf(lines[i] + indent, ".%31[a-z_]: %63s", key, value) != 2) continue;
    if (indent == 4 && strcmp(key, "name") == 0) {
      for (unsigned k = 0; k < program->kernel_count; k++) {
        if (strcmp(program->kernels[k].name, value) != 0) continue;
        memcpy(program->kernels[k].arguments, read.arguments, sizeof read.arguments);
        program->kernels[k].argument_count = read.argument_count;
      }
      read.argument_count = 0;
    }
    if (indent != 8) continue;
    if (strchr(lines[i], '-') && strchr(lines[i], '-') < lines[i] + indent &&
        read.argument_count < sizeof read.arguments / sizeof read.arguments[0])
      read.arguments[read.argument_count++] = (kernel_argument){.offset = 0};
    if (read.argument_count == 0) continue;
    kernel_argument *const argument = &read.arguments[read.argument_count - 1];
    if (strcmp(key, "offset") == 0) argument->offset = (unsigned)strtoul(value, NULL, 0);
    if (strcmp(key, "size") == 0) argument->size = (unsigned)strtoul(value, NULL, 0);
    if (strcmp(key, "value_kind") == 0) snprintf(argument->kind, sizeof argument->kind, "%.31s", value);
  }
}
