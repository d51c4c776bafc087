/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The write interface: commands by number, with a fixed request and response,
 * then the driver's part of each.
 */
#ifndef UVERBS_WRITE_H
#define UVERBS_WRITE_H

#include "uverbs.h"

struct uv_command {
	/* NULL: the device does not have it. */
	int (*handler)(struct uv_request *req);
	/* Least sizes of the command's own parts. */
	u16 request;
	u16 response;
	/* The request begins with the response's address (plain commands). */
	bool responds;
	/* What is beyond the own parts is the driver's (plain commands). */
	bool driver_part;
	/* Extended header, which says the sizes of all four parts. */
	bool extended;
};

/* The command of a number: 0, or why there is none. */
int uv_command_find(u32 number, const struct uv_command **command);

#endif /* UVERBS_WRITE_H */
