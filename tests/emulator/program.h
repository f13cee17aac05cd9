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
  LANES = 64, /* the most in a wave */
  /* Numbers of the named scalar registers. */
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
  OPERAND_LABEL   /* value: index of an instruction */
} operand_kind;

typedef struct operand {
  operand_kind kind;
  uint16_t first, count; /* range of registers */
  uint32_t value;
  bool negated, absolute;
  bool literal;  /* the constant is not an inline constant, so a 64-bit vector operand cannot have it */
  bool extended; /* a literal that scalar operations on 64 bits extend with zeros */
} operand;

enum { OPERANDS = 6, ANY = -1 };

typedef struct instruction {
  const struct operation *operation;
  operand operands[OPERANDS];
  unsigned count;
  uint32_t offset[2];              /* of a memory access: offset:, or offset0: and offset1: */
  unsigned char select, select_hi; /* op_sel, op_sel_hi: one bit per operand */
  bool across;                     /* DPP or swizzle: lane i reads lane source[i], */
  signed char source[LANES];       /* or keeps its own value if that is -1 */
  int wait[4];                     /* s_waitcnt: the limit of each counter; ANY: no limit */
  bool returns;                    /* glc: an atomic operation returns the old value */
  bool pair_follows;               /* v_dual_*: the next instruction is executed at the same time */
  unsigned line;
} instruction;

typedef struct kernel_argument {
  unsigned offset, size;
  char kind[32];
} kernel_argument;

/* The descriptor of a kernel. Members have the names of the .amdhsa_ directives. */
typedef struct kernel {
  char name[64];
  unsigned entry; /* index of the first instruction */
  unsigned group_segment_fixed_size, kernarg_size, user_sgpr_count, next_free_vgpr, next_free_sgpr, wavefront_size32;
  unsigned user_sgpr_private_segment_buffer, user_sgpr_dispatch_ptr, user_sgpr_kernarg_segment_ptr;
  unsigned system_sgpr_workgroup_id[3], system_vgpr_workitem_id;
  kernel_argument arguments[48];
  unsigned argument_count;
} kernel;

typedef struct program {
  char *text; /* split into lines */
  const char **lines;
  unsigned line_count;
  instruction *code;
  unsigned code_count;
  uint64_t *executed; /* NULL, or for each instruction how often waves have executed it */
  kernel kernels[8];
  unsigned kernel_count;
  char target[32];
  unsigned generation; /* 9, 10, 11 */
  bool packed_items;   /* the three ids of a work-item share a register */
  char why[256];       /* what is wrong with the text */
} program;

/* Reads a program and takes ownership of text, which is from malloc. On failure returns false and sets program->why. */
bool program_read(program *program, char *text);
void program_free(program *program);
const kernel *program_kernel(const program *program, const char *name);

/* The parts of program_read: instructions, directives and metadata. */
bool instruction_read(program *program, instruction *instruction, char *text);
bool directive_read(program *program, kernel **current, char *line);
void metadata_read(program *program, const char *const *lines, unsigned count);
bool program_fault(program *program, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
