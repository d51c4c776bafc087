/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The write interface: tables of commands. Each has a fixed request and response, followed by
 * driver-specific parts.
 */
#ifndef UVERBS_WRITE_H
#define UVERBS_WRITE_H

#include "objects.h"

struct uv_command {
	/* NULL: not supported. */
	int (*handler)(struct uv_request *req);
	/* Minimum sizes of the core parts. */
	u16 request;
	u16 response;
	/* The request begins with the response address (plain commands). */
	bool responds;
	/* Bytes beyond the core parts are the driver-specific parts (plain commands). */
	bool driver_part;
	/* Has an extended header, which contains the sizes of all four parts. */
	bool extended;
};

/* Finds a command by number. Returns 0, -EINVAL or -EOPNOTSUPP. */
int uv_command_find(u32 number, const struct uv_command **command);

#endif /* UVERBS_WRITE_H */
