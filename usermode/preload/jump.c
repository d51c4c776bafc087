// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A handler that interrupted a request to the daemon may leave by a jump. Nobody waits for
 * that request's answer any more, and what it was to be written to is used for something
 * else: so the request is given up first.
 *
 * A jump within the handler gives it up, too: the call fails with EIO then.
 */
#define _GNU_SOURCE
#include "../platform/host.h"
#include "control.h"
#include "real.h"

/* What this thread waits for, and the handlers that it is in, are left. */
static void leave(const struct __jmp_buf_tag *env)
{
	control_give_up();
	/* The C library gives the mask back by a call of its own. */
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
