/* SPDX-License-Identifier: Apache-2.0
 * A program: the assembly text that clang writes for an AMD GPU, as instructions whose operands are decoded, and the
 * descriptors of its kernels. */
#ifndef HX_TESTS_EMULATOR_PROGRAM_H
#define HX_TESTS_EMULATOR_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  VECTOR_REGISTERS = 256,
  SCALAR_REGISTERS = 128,
  LANES = 64, /* most */
  /* The numbers that scalar registers with a name have here. */
  REGISTER_VCC = 106,
  REGISTER_NULL = 124,
  REGISTER_M0 = 125,
  REGISTER_EXEC = 126
};

typedef enum operand_kind {
  OPERAND_VECTOR, /* v7, v[4:7] */
  OPERAND_SCALAR, /* s7, s[4:7], vcc, exec_lo */
  OPERAND_VALUE,  /* a constant */
  OPERAND_OFF,    /* the word "off" */
  OPERAND_LABEL   /* value: an instruction's number */
} operand_kind;

typedef struct operand {
  operand_kind kind;
  uint16_t first, count; /* registers */
  uint32_t value;
  bool negated, absolute;
  bool literal; /* not one of the constants that 64-bit operands can have, too */
} operand;

enum { OPERANDS = 6, ANY = -1 };

typedef struct instruction {
  const struct operation *operation;
  operand operands[OPERANDS];
  unsigned count;
  uint32_t offset[2];              /* of memory; offset:, offset0:, offset1: */
  unsigned char select, select_hi; /* op_sel, op_sel_hi: a bit an operand */
  bool across;                     /* DPP or swizzle: lane i takes lane source[i], */
  signed char source[LANES];       /* or keeps its own if that is -1 */
  int wait[4];                     /* s_waitcnt: at most as many by counter; ANY: does not wait */
  bool pair_follows;               /* v_dual_*: the next is executed at the same time */
  unsigned line;
} instruction;

typedef struct kernel_argument {
  unsigned offset, size;
  char kind[32];
} kernel_argument;

/* Descriptor: the .amdhsa_ directives, whose names these have. */
typedef struct kernel {
  char name[64];
  unsigned entry; /* instruction */
  unsigned group_segment_fixed_size, kernarg_size, user_sgpr_count, next_free_vgpr, next_free_sgpr, wavefront_size32;
  unsigned user_sgpr_private_segment_buffer, user_sgpr_dispatch_ptr, user_sgpr_kernarg_segment_ptr;
  unsigned system_sgpr_workgroup_id[3], system_vgpr_workitem_id;
  kernel_argument arguments[48];
  unsigned argument_count;
} kernel;

typedef struct program {
  char *text; /* cut into lines */
  const char **lines;
  unsigned line_count;
  instruction *code;
  unsigned code_count;
  kernel kernels[8];
  unsigned kernel_count;
  char target[32];
  unsigned generation; /* 9, 10, 11 */
  bool packed_items;   /* the item's three numbers share a register */
  char why[256];       /* what was wrong with the text */
} program;

/* Takes the text over, which malloc gave. False: why. */
bool program_read(program *program, char *text);
void program_free(program *program);
const kernel *program_kernel(const program *program, const char *name);

/* For program_read: an instruction's text, and what the directives say. */
bool instruction_read(program *program, instruction *instruction, char *text);
bool directive_read(program *program, kernel **current, char *line);
void metadata_read(program *program, const char *const *lines, unsigned count);
bool program_fault(program *program, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
