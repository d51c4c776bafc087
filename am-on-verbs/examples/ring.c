// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Example: passes a token around a ring of processes, each of which adds its rank:
 *
 *	vnet run -n 4 build/release/bin/am_ring 1000
 *
 * It shows the steps of every program: join the job, set handlers, synchronise, send, poll,
 * exit.
 */
#include <am_spmd.h>
#include <stdio.h>
#include <stdlib.h>

#define TOKEN 1 /* handler index */

static volatile int rounds_left;
static volatile int token_here = -1;

/* A handler may not send requests, so it only stores the token for the main program. */
static void token_handler(void *token, int32_t sum)
{
	(void)token;
	token_here = sum;
}

static void check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "am_ring: %s: error %d\n", what, err);
	AM_SPMDExit(1);
}

static void pass_on(ep_t ep, int sum)
{
	int next = (AM_SPMDMyProc() + 1) % AM_SPMDNumProcs();

	check(AM_Request1(ep, next, TOKEN, sum + AM_SPMDMyProc()), "AM_Request1");
}

int main(int argc, char **argv)
{
	eb_t eb;
	ep_t ep;

	check(AM_SPMDStartup(AM_SEQ, &eb, &ep), "AM_SPMDStartup");
	rounds_left = argc > 1 ? atoi(argv[1]) : 10;
	check(AM_SetHandler(ep, TOKEN, token_handler), "AM_SetHandler");
	check(AM_SPMDBarrier(), "AM_SPMDBarrier");

	if (AM_SPMDMyProc() == 0 && rounds_left)
		pass_on(ep, 0);
	while (rounds_left) {
		while (token_here < 0)
			check(AM_Poll(eb), "AM_Poll");
		rounds_left--;
		if (AM_SPMDMyProc() != 0)
			pass_on(ep, token_here);
		else if (rounds_left)
			pass_on(ep, token_here);
		else
			printf("%d processes, sum %d\n", AM_SPMDNumProcs(), token_here);
		token_here = -1;
	}
	AM_SPMDExit(0);
}
