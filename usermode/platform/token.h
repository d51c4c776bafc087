/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A page at an address that only one address space has mapped: random, and not
 * inherited by forked children. process_vm_*() name a process by number, which
 * may since have executed another program, or be another process altogether;
 * with a byte of this page first in their vector they move nothing there.
 */
#ifndef TOKEN_H
#define TOKEN_H

#include "layout/types.h"

struct token_page {
	u64 magic;
	u64 address;
	/* What others read and write. */
	u8 byte;
};

#define TOKEN_MAGIC 0x6e656b6f54656e76ull /* "vneToken" */

/* Address of this process' token page, made when first asked for; 0: none. */
u64 token_own(void);

/* Does process pid have the token page at this address? */
bool token_verify(u32 pid, u64 token);

static inline u64 token_byte(u64 token)
{
	return token + offsetof(struct token_page, byte);
}

#endif /* TOKEN_H */
