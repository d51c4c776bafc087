/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Guarded copy, x86-64. See guard.h.
 *
 * Stores become visible in program order here, but for those within one string
 * instruction; so the tail takes stores of its own at the end. A store that
 * crosses a line of the cache may be seen in halves, so the tail is no more
 * than what lies in one aligned word. Who polls it may reuse the buffer at
 * once, so no byte of it is stored twice; bytes of the body may well be.
 * Nothing is pushed, so the stack is right wherever a fault strikes.
 */
	.text

	.globl	guard_copy_raw
	.hidden	guard_copy_raw
	.globl	guard_copy_begin
	.hidden	guard_copy_begin
	.globl	guard_copy_end
	.hidden	guard_copy_end
	.globl	guard_copy_fixup
	.hidden	guard_copy_fixup
	.globl	guard_restore_rt
	.hidden	guard_restore_rt
	.globl	guard_rep_from
	.hidden	guard_rep_from

/* dst rdi, src rsi, length rdx; returns faulted rax, address rdx. */
	.type	guard_copy_raw, @function
	.p2align 6
guard_copy_raw:
	.cfi_startproc
	endbr64
guard_copy_begin:
	/* eax: the tail, what lies in the last aligned word; rcx: the body. */
	leaq	-1(%rdi,%rdx), %rax
	andl	$7, %eax
	incl	%eax
	movq	%rdx, %rcx
	subq	%rax, %rcx
	jb	.Lall_tail
	/* r8, r9: where the tail begins. */
	leaq	(%rsi,%rcx), %r8
	leaq	(%rdi,%rcx), %r9
	cmpq	$8, %rcx
	jb	.Lbody_under_8
	cmpq	$16, %rcx
	jbe	.Lbody_16
	cmpq	$32, %rcx
	jbe	.Lbody_32
	cmpq	$64, %rcx
	jbe	.Lbody_64
	cmpq	guard_rep_from(%rip), %rcx
	jae	.Lbody_rep

	/* Lines of 64, then the last 64 of the body, which may overlap them. */
	leaq	-64(%rsi,%rcx), %r10
	leaq	-64(%rdi,%rcx), %r11
	.p2align 4
.Lline:
	movups	(%rsi), %xmm0
	movups	16(%rsi), %xmm1
	movups	32(%rsi), %xmm2
	movups	48(%rsi), %xmm3
	movups	%xmm0, (%rdi)
	movups	%xmm1, 16(%rdi)
	movups	%xmm2, 32(%rdi)
	movups	%xmm3, 48(%rdi)
	addq	$64, %rsi
	addq	$64, %rdi
	cmpq	%r10, %rsi
	jb	.Lline
	movups	(%r10), %xmm0
	movups	16(%r10), %xmm1
	movups	32(%r10), %xmm2
	movups	48(%r10), %xmm3
	movups	%xmm0, (%r11)
	movups	%xmm1, 16(%r11)
	movups	%xmm2, 32(%r11)
	movups	%xmm3, 48(%r11)
	jmp	.Ltail

.Lbody_rep:
	rep movsb
	jmp	.Ltail

	/* 33 to 64: two from the front, two from the back. */
.Lbody_64:
	movups	(%rsi), %xmm0
	movups	16(%rsi), %xmm1
	movups	-32(%rsi,%rcx), %xmm2
	movups	-16(%rsi,%rcx), %xmm3
	movups	%xmm0, (%rdi)
	movups	%xmm1, 16(%rdi)
	movups	%xmm2, -32(%rdi,%rcx)
	movups	%xmm3, -16(%rdi,%rcx)
	jmp	.Ltail

.Lbody_32:
	movups	(%rsi), %xmm0
	movups	-16(%rsi,%rcx), %xmm1
	movups	%xmm0, (%rdi)
	movups	%xmm1, -16(%rdi,%rcx)
	jmp	.Ltail

.Lbody_16:
	movq	(%rsi), %r10
	movq	-8(%rsi,%rcx), %r11
	movq	%r10, (%rdi)
	movq	%r11, -8(%rdi,%rcx)
	jmp	.Ltail

.Lbody_under_8:
	testl	%ecx, %ecx
	jz	.Ltail
	cmpl	$4, %ecx
	jb	.Lbody_under_4
	movl	(%rsi), %r10d
	movl	-4(%rsi,%rcx), %r11d
	movl	%r10d, (%rdi)
	movl	%r11d, -4(%rdi,%rcx)
	jmp	.Ltail

.Lbody_under_4:
	movzbl	(%rsi), %r10d
	movb	%r10b, (%rdi)
	cmpl	$2, %ecx
	jb	.Ltail
	movzwl	-2(%rsi,%rcx), %r10d
	movw	%r10w, -2(%rdi,%rcx)

.Ltail:
	cmpl	$8, %eax
	jne	.Ltail_under_8
	movq	(%r8), %rax
	movq	%rax, (%r9)
	xorl	%eax, %eax
	ret

	/* Each byte once, upwards. */
.Lall_tail:
	movq	%rsi, %r8
	movq	%rdi, %r9
	movl	%edx, %eax
.Ltail_under_8:
	testl	$4, %eax
	jz	.Ltail_under_4
	movl	(%r8), %r10d
	movl	%r10d, (%r9)
	addq	$4, %r8
	addq	$4, %r9
.Ltail_under_4:
	testl	$2, %eax
	jz	.Ltail_under_2
	movzwl	(%r8), %r10d
	movw	%r10w, (%r9)
	addq	$2, %r8
	addq	$2, %r9
.Ltail_under_2:
	testl	$1, %eax
	jz	.Lnothing
	movzbl	(%r8), %r10d
	movb	%r10b, (%r9)
.Lnothing:
	xorl	%eax, %eax
guard_copy_end:
guard_copy_fixup:
	ret
	.cfi_endproc
	.size	guard_copy_raw, . - guard_copy_raw

/*
 * Debuggers and unwinders know a signal frame by exactly these instructions at
 * its return address, provided that no unwind table covers that, nor the byte
 * before it.
 */
	.p2align 4
	nop
	.type	guard_restore_rt, @function
guard_restore_rt:
	movq	$15, %rax	/* rt_sigreturn */
	syscall
	.size	guard_restore_rt, . - guard_restore_rt

	.data
	.p2align 3
	.type	guard_rep_from, @object
	.size	guard_rep_from, 8
guard_rep_from:
	.quad	-1

	.section .note.GNU-stack, "", @progbits
