/* SPDX-License-Identifier: Apache-2.0
 * A trampoline for each routine of the covered BLAS: a jump through a cell of memory. The arguments of the routine are not
 * known here and stay where they are, in registers and on the stack. At first each cell leads to `resolve`, which saves
 * the registers that may hold arguments, has hx__blas_resolve (covered.c) look up the routine and set the cell, and goes
 * on to the routine. This is what lazy binding does for a PLT.
 *
 * Public trampolines have the routine's name. Routines that hx computes have a hidden trampoline, hx__covered_NAME, by which calls
 * are forwarded. */

#if defined(__x86_64__)

/* struct hx__blas_cell of covered.h is 1, which begins with the address to jump to. */
	.macro	trampoline label, routine
	.section .data.rel.local, "aw", @progbits
	.balign	8
1:	.quad	2f, 3f
	.section .rodata.str1.1, "aMS", @progbits, 1
3:	.string	"\routine"
	.text
	.balign	16
	.type	\label, @function
\label:
	.cfi_startproc
	endbr64
	jmp	*1b(%rip)
2:	endbr64
	leaq	1b(%rip), %r11
	jmp	resolve
	.cfi_endproc
	.size	\label, . - \label
	.endm

/* System V ABI: integers and pointers in rdi, rsi, rdx, rcx, r8 and r9, floats and complex numbers in xmm0 to xmm7, and
 * in al the number of the latter if the routine is variadic (cblas_xerbla). No BLAS routine takes wider vectors. */
	.text
	.balign	16
	.type	resolve, @function
resolve:
	.cfi_startproc
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	pushq	%r8
	pushq	%r9
	pushq	%rax
	.cfi_adjust_cfa_offset 56
	subq	$128, %rsp
	.cfi_adjust_cfa_offset 128
	movups	%xmm0, (%rsp)
	movups	%xmm1, 16(%rsp)
	movups	%xmm2, 32(%rsp)
	movups	%xmm3, 48(%rsp)
	movups	%xmm4, 64(%rsp)
	movups	%xmm5, 80(%rsp)
	movups	%xmm6, 96(%rsp)
	movups	%xmm7, 112(%rsp)
	movq	%r11, %rdi
	call	hx__blas_resolve
	movq	%rax, %r11
	movups	(%rsp), %xmm0
	movups	16(%rsp), %xmm1
	movups	32(%rsp), %xmm2
	movups	48(%rsp), %xmm3
	movups	64(%rsp), %xmm4
	movups	80(%rsp), %xmm5
	movups	96(%rsp), %xmm6
	movups	112(%rsp), %xmm7
	addq	$128, %rsp
	.cfi_adjust_cfa_offset -128
	popq	%rax
	popq	%r9
	popq	%r8
	popq	%rcx
	popq	%rdx
	popq	%rsi
	popq	%rdi
	.cfi_adjust_cfa_offset -56
	jmp	*%r11
	.cfi_endproc
	.size	resolve, . - resolve

#else
#error "libhx_blas needs trampolines for this processor: a jump through a cell, and resolve"
#endif

#define FORWARD(name) .globl name; trampoline name, name;
#include "blas/routines.inc"

#define COVERED(name) .globl hx__covered_##name; .hidden hx__covered_##name; trampoline hx__covered_##name, name;
COVERED(sgemm_) COVERED(cblas_sgemm)
COVERED(sgemv_) COVERED(cblas_sgemv)
COVERED(ssyrk_) COVERED(cblas_ssyrk)
COVERED(sdot_) COVERED(cblas_sdot)
COVERED(sasum_) COVERED(cblas_sasum)
COVERED(isamax_) COVERED(cblas_isamax)
COVERED(xerbla_)

	.section .note.GNU-stack, "", @progbits
/* Says that the code is fit for indirect branch tracking and shadow stacks (-fcf-protection): else the linker leaves the
 * mark out of the whole library. */
	.section .note.gnu.property, "a"
	.balign	8
	.long	4, 16, 5
	.string	"GNU"
	.long	0xc0000002, 4, 3, 0
