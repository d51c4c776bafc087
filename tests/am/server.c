// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests an event-driven server with threads (paper 000, F37). Rank 0 has several endpoints, with a
 * bundle and a thread each. A thread sleeps until there is a message, handles all messages with
 * events off, and sleeps again.
 *
 * The other ranks are clients of all endpoints. Messages with a wrong tag must be returned.
 *
 *	am_test_server THREADS REQUESTS
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { ADD = 5, SUM, BYE };

#define STRANGE ((tag_t)4711)

struct card {
	en_t name;
	tag_t tag;
};

struct service {
	pthread_t thread;
	eb_t eb;
	ep_t ep;
	int requests, byes; /* received */
	int wakes;
};

static struct service *services;
static struct card *cards; /* of rank 0's endpoints */
static int threads, requests, answers;

static struct service *service_of(void *token)
{
	ep_t e;
	int i = 0;

	OK(AM_GetDestEndpoint(token, &e));
	while (i < threads && services[i].ep != e)
		i++;
	CHECK(i < threads);
	CHECK(pthread_equal(services[i].thread, pthread_self()));
	return &services[i];
}

static void add(void *token, void *buf, int nbytes, int32_t a, int32_t b)
{
	struct service *s = service_of(token);

	CHECK(filled(buf, (size_t)nbytes, (uint32_t)a));
	s->requests++;
	OK(AM_ReplyI1(token, SUM, buf, (size_t)nbytes, a + b));
}

static void bye(void *token)
{
	service_of(token)->byes++;
}

static void sum(void *token, void *buf, int nbytes, int32_t c)
{
	CHECK(filled(buf, (size_t)nbytes, (uint32_t)c - 1000));
	answers++;
}

static void *serve(void *arg)
{
	struct service *s = arg;

	OK(AM_SetEventMask(s->eb, AM_NOTEMPTY));
	while (s->byes < size - 1) {
		OK(AM_WaitSema(s->eb));
		s->wakes++;
		OK(AM_SetEventMask(s->eb, AM_NOEVENTS));
		OK(AM_Poll(s->eb));
		OK(AM_SetEventMask(s->eb, AM_NOTEMPTY));
	}
	return NULL;
}

static void open_services(void)
{
	services = calloc((size_t)threads, sizeof(*services));
	CHECK(services);
	for (int i = 0; i < threads; i++) {
		struct service *s = &services[i];

		OK(AM_AllocateBundle(AM_SEQ, &s->eb));
		OK(AM_AllocateEndpoint(s->eb, &s->ep, &cards[i].name));
		cards[i].tag = 100 + (tag_t)i;
		OK(AM_SetTag(s->ep, cards[i].tag));
		OK(AM_SetHandler(s->ep, ADD, add));
		OK(AM_SetHandler(s->ep, BYE, bye));
	}
}

static void publish(void)
{
	size_t length = (size_t)threads * sizeof(*cards);
	struct card *all = calloc((size_t)size, length);

	CHECK(all);
	OK(AM_SPMDAllGather(cards, all, length));
	memcpy(cards, all, length);
	free(all);
}

static void be_server(void)
{
	int total = 0;

	for (int i = 0; i < threads; i++)
		IS(pthread_create(&services[i].thread, NULL, serve, &services[i]), 0);
	for (int i = 0; i < threads; i++) {
		IS(pthread_join(services[i].thread, NULL), 0);
		total += services[i].requests;
		/*
		 * One wake-up may be for one or several messages, but there is none without a
		 * message.
		 */
		CHECK(services[i].wakes <= services[i].requests + services[i].byes);
	}
	IS(total, (size - 1) * threads * requests);
}

static void be_client(void)
{
	uint8_t bytes[1500];

	for (int i = 0; i < threads; i++) {
		OK(AM_Map(ep, size + 2 * i, cards[i].name, cards[i].tag));
		OK(AM_Map(ep, size + 2 * i + 1, cards[i].name, STRANGE));
	}
	for (int n = 0; n < requests; n++) {
		size_t length = (size_t)(n * 531) % sizeof(bytes);

		fill(bytes, length, (uint32_t)n);
		for (int i = 0; i < threads; i++)
			OK(AM_RequestI2(ep, size + 2 * i, ADD, bytes, length, n, 1000));
	}
	POLL_UNTIL(answers == threads * requests);
	for (int i = 0; i < threads; i++)
		OK(AM_Request0(ep, size + 2 * i + 1, BYE));
	POLL_UNTIL(came_back.by_status[EBADTAG] == threads);
	for (int i = 0; i < threads; i++)
		OK(AM_Request0(ep, size + 2 * i, BYE));
}

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	threads = atoi(argv[1]);
	requests = atoi(argv[2]);
	cards = calloc((size_t)threads, sizeof(*cards));
	CHECK(cards);
	job_begin(AM_SEQ);
	OK(AM_SetHandler(ep, 0, keep_returned));
	OK(AM_SetHandler(ep, SUM, sum));
	if (rank == 0)
		open_services();
	publish();
	if (rank == 0)
		be_server();
	else
		be_client();
	AM_SPMDExit(0);
}
