// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests many endpoints in one bundle per process. Each sends to some endpoints of the next process,
 * and each message must arrive at its destination.
 *
 *	am_test_endpoints ENDPOINTS PARTNERS ROUNDS
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define TAKE 5
#define GOT 6

struct member {
	en_t name;
	tag_t tag;
};

static struct member *mine, *theirs; /* endpoints of the next process */
static ep_t *eps;
static int *taken, *answered; /* by endpoint */
static int n, partners, rounds;

static int number_of(void *token)
{
	ep_t e;
	int i = 0;

	OK(AM_GetDestEndpoint(token, &e));
	while (i < n && eps[i] != e)
		i++;
	CHECK(i < n);
	return i;
}

static void take(void *token, void *buf, int nbytes, int32_t from, int32_t to)
{
	int i = number_of(token);
	tag_t tag;

	IS(to, i);
	CHECK(filled(buf, (size_t)nbytes, (uint32_t)(from * n + to)));
	OK(AM_GetMsgTag(token, &tag));
	CHECK(tag == mine[i].tag);
	taken[i]++;
	OK(AM_Reply2(token, GOT, from, to));
}

static void got(void *token, int32_t from, int32_t to)
{
	int i = number_of(token);
	en_t who;

	IS(from, i);
	OK(AM_GetSourceEndpoint(token, &who));
	CHECK(AM_NameEqual(who, theirs[to].name));
	answered[i]++;
}

static void open_all(void)
{
	struct member *all = calloc((size_t)size * (size_t)n, sizeof(*all));

	mine = calloc((size_t)n, sizeof(*mine));
	eps = calloc((size_t)n, sizeof(ep_t));
	taken = calloc((size_t)n, sizeof(*taken));
	answered = calloc((size_t)n, sizeof(*answered));
	CHECK(all && mine && eps && taken && answered);
	for (int i = 0; i < n; i++) {
		OK(AM_AllocateEndpoint(eb, &eps[i], &mine[i].name));
		mine[i].tag = (tag_t)rank * 1000 + (tag_t)i + 1;
		OK(AM_SetTag(eps[i], mine[i].tag));
		OK(AM_SetHandler(eps[i], TAKE, take));
		OK(AM_SetHandler(eps[i], GOT, got));
	}
	OK(AM_SPMDAllGather(mine, all, (size_t)n * sizeof(*mine)));
	theirs = all + (size_t)peer * (size_t)n;
	for (int i = 0; i < n; i++) {
		for (int step = 0; step < partners; step++) {
			struct member *to = &theirs[(i + step) % n];

			OK(AM_Map(eps[i], step, to->name, to->tag));
		}
	}
}

static void send_all(int round)
{
	uint8_t bytes[2000];
	size_t length = (size_t)(round * 391) % sizeof(bytes);

	for (int step = 0; step < partners; step++) {
		for (int i = 0; i < n; i++) {
			int to = (i + step) % n;

			fill(bytes, length, (uint32_t)(i * n + to));
			OK(AM_RequestI2(eps[i], step, TAKE, bytes, length, i, to));
		}
	}
}

int main(int argc, char **argv)
{
	CHECK(argc == 4);
	n = atoi(argv[1]);
	partners = atoi(argv[2]);
	rounds = atoi(argv[3]);
	CHECK(n > 0 && partners > 0 && partners <= n);
	job_begin(AM_SEQ);
	open_all();
	OK(AM_SPMDBarrier());
	for (int round = 0; round < rounds; round++)
		send_all(round);
	for (int i = 0; i < n; i++)
		POLL_UNTIL(answered[i] == partners * rounds);
	OK(AM_SPMDBarrier());
	for (int i = 0; i < n; i++)
		IS(taken[i], partners * rounds);
	AM_SPMDExit(0);
}
