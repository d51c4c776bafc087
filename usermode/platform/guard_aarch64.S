/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Guarded copy, AArch64. See guard.h; and guard_x86_64.S for the rule that no
 * byte of the tail is stored twice.
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

/* dst x0, src x1, length x2; returns faulted x0, address x1. */
	.type	guard_copy_raw, %function
	.p2align 6
guard_copy_raw:
	.cfi_startproc
	hint	#34		/* bti c */
guard_copy_begin:
	/* x12: the tail, what lies in the last aligned word; x3: the body. */
	add	x12, x0, x2
	sub	x12, x12, #1
	and	x12, x12, #7
	add	x12, x12, #1
	subs	x3, x2, x12
	b.lo	.Lall_tail
	subs	x3, x3, #64
	b.lo	.Lbody_rest
.Lline:
	ldp	x4, x5, [x1]
	ldp	x6, x7, [x1, #16]
	ldp	x8, x9, [x1, #32]
	ldp	x10, x11, [x1, #48]
	stp	x4, x5, [x0]
	stp	x6, x7, [x0, #16]
	stp	x8, x9, [x0, #32]
	stp	x10, x11, [x0, #48]
	add	x1, x1, #64
	add	x0, x0, #64
	subs	x3, x3, #64
	b.hs	.Lline
	/* The low six bits of x3 are those of what is left. */
.Lbody_rest:
	tbz	x3, #5, 1f
	ldp	x4, x5, [x1], #16
	ldp	x6, x7, [x1], #16
	stp	x4, x5, [x0], #16
	stp	x6, x7, [x0], #16
1:	tbz	x3, #4, 1f
	ldp	x4, x5, [x1], #16
	stp	x4, x5, [x0], #16
1:	tbz	x3, #3, 1f
	ldr	x4, [x1], #8
	str	x4, [x0], #8
1:	tbz	x3, #2, 1f
	ldr	w4, [x1], #4
	str	w4, [x0], #4
1:	tbz	x3, #1, 1f
	ldrh	w4, [x1], #2
	strh	w4, [x0], #2
1:	tbz	x3, #0, 1f
	ldrb	w4, [x1], #1
	strb	w4, [x0], #1
1:	dmb	ishst
	b	.Ltail
.Lall_tail:
	mov	x12, x2
.Ltail:
	tbz	x12, #3, 1f
	ldr	x4, [x1]
	str	x4, [x0]
1:	tbz	x12, #2, 1f
	ldr	w4, [x1], #4
	str	w4, [x0], #4
1:	tbz	x12, #1, 1f
	ldrh	w4, [x1], #2
	strh	w4, [x0], #2
1:	tbz	x12, #0, 1f
	ldrb	w4, [x1]
	strb	w4, [x0]
1:	mov	x0, #0
guard_copy_end:
guard_copy_fixup:
	ret
	.cfi_endproc
	.size	guard_copy_raw, . - guard_copy_raw

	.section .note.GNU-stack, "", %progbits
