// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "am_side.h"

#include <stdio.h>

static const char *words(int err)
{
	switch (err) {
	case AM_ERR_NOT_INIT:
		return "not initialised";
	case AM_ERR_BAD_ARG:
		return "bad argument";
	case AM_ERR_RESOURCE:
		return "out of resources";
	case AM_ERR_NOT_SENT:
		return "not sent";
	case AM_ERR_IN_USE:
		return "in use";
	default:
		return "failed";
	}
}

void am_check(struct am_side *side, const char *what, int err)
{
	if (err != AM_OK)
		two_fail(side->two, "%s: %s", what, words(err));
}

void am_until(struct am_side *side, const bool *condition)
{
	while (!*condition)
		am_check(side, "AM_Poll", AM_Poll(side->bundle));
}

void am_side_open(struct am_side *side, struct two *two, const struct bench_options *opt)
{
	char credits[16];
	en_t mine, theirs;

	side->two = two;
	side->credits = opt->window;
	snprintf(credits, sizeof(credits), "%u", opt->window);
	am_check(side, "credits", AM_SetOption("credits", credits));
	if (opt->device)
		am_check(side, "device", AM_SetOption("device", opt->device));
	am_check(side, "AM_Init", AM_Init());
	am_check(side, "AM_AllocateBundle", AM_AllocateBundle(AM_SEQ, &side->bundle));
	am_check(side, "AM_AllocateEndpoint", AM_AllocateEndpoint(side->bundle, &side->ep, &mine));
	am_check(side, "AM_SetTag", AM_SetTag(side->ep, AM_ALL));
	two_swap(two, &mine, &theirs, sizeof(mine));
	am_check(side, "AM_Map", AM_Map(side->ep, AM_PEER, theirs, 1));
}

void am_side_close(struct am_side *side)
{
	two_meet(side->two);
	am_check(side, "AM_Terminate", AM_Terminate());
}
