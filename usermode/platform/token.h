/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Token pages: prove that a PID still belongs to an expected address space.
 *
 * The page is at a random address, and forked children do not inherit it. process_vm_*() name a
 * process by its PID, but that process may have executed another program since, or the PID may have
 * been reused. With a byte of the token page first in their vector, they move nothing in a wrong
 * address space.
 */
#ifndef TOKEN_H
#define TOKEN_H

#include "layout/types.h"

struct token_page {
	u64 magic;
	u64 address;
	/* The byte that peers read and write. */
	u8 byte;
};

#define TOKEN_MAGIC 0x6e656b6f54656e76ull /* "vneToken" */

/* Returns the address of this process' token page, which the first call makes; 0: none. */
u64 token_own(void);

/* Does process `pid` have the token page at this address? */
bool token_verify(u32 pid, u64 token);

static inline u64 token_byte(u64 token)
{
	return token + offsetof(struct token_page, byte);
}

#endif /* TOKEN_H */
