/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Two Active Messages endpoints, one in each process of a job, which are mapped to each other. */
#ifndef VNET_BENCH_AM_SIDE_H
#define VNET_BENCH_AM_SIDE_H

#include <am.h>

#include "two.h"

#define AM_PEER 0 /* index of the other endpoint in the translation table */

struct am_side {
	struct two *two;
	eb_t bundle;
	ep_t ep;
	unsigned int credits; /* towards the peer */
};

/*
 * Device and credits are from @opt, other settings from the environment (AM_SETTINGS). Ends
 * the job on error.
 */
void am_side_open(struct am_side *side, struct two *two, const struct bench_options *opt);
void am_side_close(struct am_side *side);

/* Ends the job if @err, the result of an AM function, is not AM_OK. */
void am_check(struct am_side *side, const char *what, int err);

/* Polls until *@condition is true. */
void am_until(struct am_side *side, const bool *condition);

#endif
