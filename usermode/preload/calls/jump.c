// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * longjmp() and its variants: give up requests to the daemon that the jump leaves.
 *
 * A signal handler that interrupted a request may leave it by a jump. The request's answer would
 * then be written to memory that is in use for something else, so the request is given up first. A
 * jump that stays within the handler also gives the request up; it then fails with EIO.
 */
#define _GNU_SOURCE
#include "base/real.h"
#include "session/control.h"
#include "../../platform/host.h"

/* Give up this thread's requests, and record the signal mask that the jump restores. */
static void leave(const struct __jmp_buf_tag *env)
{
	control_give_up();
	/* The C library restores the mask by a call that we do not intercept. */
	if (env->__mask_was_saved)
		host_guard_block(host_guard_bits((const sigset_t *)&env->__saved_mask));
}

INTERPOSED void longjmp(struct __jmp_buf_tag env[1], int value)
{
	leave(env);
	real()->longjmp(env, value);
	__builtin_unreachable();
}

INTERPOSED void _longjmp(struct __jmp_buf_tag env[1], int value)
{
	leave(env);
	real()->_longjmp(env, value);
	__builtin_unreachable();
}

INTERPOSED void siglongjmp(struct __jmp_buf_tag env[1], int value)
{
	leave(env);
	real()->siglongjmp(env, value);
	__builtin_unreachable();
}

INTERPOSED void __longjmp_chk(struct __jmp_buf_tag env[1], int value)
{
	leave(env);
	real()->__longjmp_chk(env, value);
	__builtin_unreachable();
}
