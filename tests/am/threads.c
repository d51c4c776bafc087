// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Stress test of a parallel bundle with all functions. Threads send and wait for their answers, by
 * polling or asleep; others change endpoints, tags and translations.
 *
 * Handlers of a bundle run one at a time, so their counters need no lock.
 *
 *	am_test_threads SENDERS REQUESTS
 */
#include <pthread.h>
#include <stdlib.h>

#include "check.h"

enum { ASK = 5, ANSWER };

#define TABLE 300 /* translations, more than the job's */

static int senders, requests;
static int asked, answered; /* no lock, no atomics: handlers run one at a time */
static bool in_handler;
static int *got; /* by sender, which reads it while handlers run */
static bool stop;

static void enter(void)
{
	CHECK(!in_handler);
	in_handler = true;
}

static void ask(void *token, int32_t who, int32_t n)
{
	enter();
	asked++;
	OK(AM_Reply2(token, ANSWER, who, n));
	in_handler = false;
}

static void answer(void *token, int32_t who, int32_t n)
{
	enter();
	answered++;
	IS(n, __atomic_fetch_add(&got[who], 1, __ATOMIC_SEQ_CST));
	in_handler = false;
}

static int got_by(int who)
{
	return __atomic_load_n(&got[who], __ATOMIC_SEQ_CST);
}

/*
 * One thread waits asleep; more would not work, because an event wakes one thread only. It is woken
 * even if another thread takes the message.
 */
#define SLEEPER 1

static void await(int who, int n)
{
	while (got_by(who) < n) {
		if (who == SLEEPER)
			OK(AM_WaitSema(eb));
		OK(AM_Poll(eb));
	}
}

static void *send_all(void *arg)
{
	int who = (int)(intptr_t)arg;

	for (int n = 0; n < requests; n++) {
		OK(AM_Request2(ep, peer, ASK, who, n));
		if (n % 3 == 0)
			await(who, n + 1);
	}
	await(who, requests);
	return NULL;
}

/* Creates and changes objects that other threads do not use, while they poll. */
static void *meddle(void *arg)
{
	struct am_statistics s;
	static uint8_t memory[4096];
	uintptr_t length;
	handler_t handler = 200;
	void *addr;
	en_t name;
	tag_t tag;
	ep_t other;
	int index;

	while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
		OK(AM_AllocateEndpoint(eb, &other, &name));
		OK(AM_SetTag(other, 77));
		OK(AM_MapAny(ep, &index, name, 77));
		OK(AM_GetTranslationTag(ep, index, &tag));
		IS(tag, 77);
		OK(AM_UnMap(ep, index));
		OK(AM_SetNumTranslations(ep, TABLE + 256));
		OK(AM_SetNumTranslations(ep, TABLE));
		OK(AM_SetHandler(ep, handler, ask));
		OK(AM_SetHandler(ep, handler, NULL));
		OK(AM_SetSeg(other, memory, sizeof(memory)));
		OK(AM_SetSeg(ep, memory, sizeof(memory)));
		OK(AM_GetSeg(ep, &addr, &length));
		OK(AM_SetSeg(ep, NULL, 0));
		OK(AM_GetEndpointStatistics(ep, &s));
		OK(AM_Poll(eb));
		OK(AM_FreeEndpoint(other));
	}
	return NULL;
}

/* Creates and frees other bundles. */
static void *other_bundles(void *arg)
{
	en_t name;
	ep_t other;
	eb_t own;

	while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
		OK(AM_AllocateBundle(AM_SEQ, &own));
		for (int i = 0; i < 3; i++) {
			OK(AM_AllocateEndpoint(own, &other, &name));
			OK(AM_Poll(own));
			OK(AM_FreeEndpoint(other));
		}
		OK(AM_FreeBundle(own));
	}
	return NULL;
}

/* Requests to endpoints that do not exist make the library look for them. */
static void look_for_strangers(void)
{
	en_t name;
	ep_t gone;
	int index;

	for (int i = 0; i < 10; i++) {
		int before = __atomic_load_n(&came_back.count, __ATOMIC_SEQ_CST);

		OK(AM_AllocateEndpoint(eb, &gone, &name));
		OK(AM_FreeEndpoint(gone));
		OK(AM_MapAny(ep, &index, name, 1));
		OK(AM_Request2(ep, index, ASK, 0, 0));
		while (__atomic_load_n(&came_back.count, __ATOMIC_SEQ_CST) == before)
			OK(AM_Poll(eb));
		OK(AM_UnMap(ep, index));
	}
}

static void returned(int status, op_t opcode, void *argblock)
{
	const struct am_arguments *a = argblock;

	/* No request to the peer is returned. */
	IS(a->index < size, false);
	IS(status, EBADENDPOINT);
	__atomic_add_fetch(&came_back.count, 1, __ATOMIC_SEQ_CST);
}

int main(int argc, char **argv)
{
	pthread_t sender[64] = { 0 }, others[2] = { 0 };

	CHECK(argc == 3);
	senders = atoi(argv[1]);
	requests = atoi(argv[2]);
	CHECK(senders > 0 && senders <= 64);
	got = calloc((size_t)senders, sizeof(*got));
	CHECK(got);
	job_begin(AM_PAR);
	OK(AM_SetHandler(ep, 0, returned));
	OK(AM_SetHandler(ep, ASK, ask));
	OK(AM_SetHandler(ep, ANSWER, answer));
	OK(AM_SetNumTranslations(ep, TABLE));
	OK(AM_SetEventMask(eb, AM_NOTEMPTY));
	OK(AM_SPMDBarrier());
	IS(pthread_create(&others[0], NULL, meddle, NULL), 0);
	IS(pthread_create(&others[1], NULL, other_bundles, NULL), 0);
	for (int i = 0; i < senders; i++)
		IS(pthread_create(&sender[i], NULL, send_all, (void *)(intptr_t)i), 0);
	look_for_strangers();
	for (int i = 0; i < senders; i++)
		IS(pthread_join(sender[i], NULL), 0);
	__atomic_store_n(&stop, true, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 2; i++)
		IS(pthread_join(others[i], NULL), 0);
	OK(AM_SPMDBarrier());
	IS(asked, senders * requests);
	IS(answered, senders * requests);
	AM_SPMDExit(0);
}
