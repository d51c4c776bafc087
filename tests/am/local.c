// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests endpoints of one process in bundles that the test polls. So the order of events is the same
 * each time.
 */
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define COUNT 3
#define ANSWER 4
#define ANSWERED 5
#define NOWHERE 6

struct side {
	eb_t eb;
	ep_t ep;
	en_t name;
};

static int type; /* AM_SEQ or AM_PAR */
static int counted, answered;
static ep_t counted_at;
static struct side a, b;

static void count(void *token)
{
	OK(AM_GetDestEndpoint(token, &counted_at));
	counted++;
}

static void count_data(void *token, void *buf, int nbytes)
{
	count(token);
}

static void answer(void *token)
{
	count(token);
	OK(AM_Reply0(token, ANSWERED));
}

static void got_answer(void *token)
{
	answered++;
}

static void new_endpoint(struct side *s)
{
	OK(AM_AllocateEndpoint(s->eb, &s->ep, &s->name));
	OK(AM_SetTag(s->ep, AM_ALL));
	OK(AM_SetHandler(s->ep, 0, keep_returned));
	OK(AM_SetHandler(s->ep, COUNT, count));
	OK(AM_SetHandler(s->ep, ANSWER, answer));
	OK(AM_SetHandler(s->ep, ANSWERED, got_answer));
}

static void new_side(struct side *s)
{
	OK(AM_AllocateBundle(type, &s->eb));
	new_endpoint(s);
}

/* Creates two bundles with an endpoint each. Entry 0 of a's table is b. */
static void begin(void)
{
	counted = 0;
	answered = 0;
	memset(&came_back, 0, sizeof(came_back));
	new_side(&a);
	new_side(&b);
	OK(AM_Map(a.ep, 0, b.name, 1));
}

static void end(void)
{
	OK(AM_FreeBundle(a.eb));
	OK(AM_FreeBundle(b.eb));
}

static void poll_both(void)
{
	OK(AM_Poll(a.eb));
	OK(AM_Poll(b.eb));
}

/* Sends an asynchronous request, and polls the bundles until the connection exists. */
static void send_while(struct side *from, int index, eb_t third)
{
	int err;

	while ((err = AM_RequestXferAsync0(from->ep, index, 0, NOWHERE, NULL, 0)) ==
	       AM_ERR_NOT_SENT) {
		poll_both();
		if (third)
			OK(AM_Poll(third));
	}
	OK(err);
}

static void connect_them(void)
{
	int before = came_back.count;

	send_while(&a, 0, NULL);
	while (came_back.count == before)
		poll_both();
	IS(came_back.status, EBADHANDLER);
	memset(&came_back, 0, sizeof(came_back));
}

/* Asynchronous requests use up the credits; the next one is not sent. */
static void credits(void)
{
	static uint8_t from[4][65536], to[4 * 65536];

	begin();
	OK(AM_SetExpectedResources(a.ep, 1, 3));
	OK(AM_SetHandler(b.ep, COUNT, count_data));
	OK(AM_SetSeg(b.ep, to, sizeof(to)));
	connect_them();
	for (int i = 0; i < 4; i++) {
		fill(from[i], sizeof(from[i]), (uint32_t)i);
		IS(AM_RequestXferAsync0(a.ep, 0, (uintptr_t)i * 65536, COUNT, from[i], 65536),
		   i < 3 ? AM_OK : AM_ERR_NOT_SENT);
	}
	IS(counted, 0);
	IS(AM_UnMap(a.ep, 0), AM_ERR_IN_USE);
	while (counted < 3)
		poll_both();
	for (int i = 0; i < 3; i++)
		CHECK(filled(to + i * 65536, 65536, (uint32_t)i));
	/* The request that was not sent has had no effect, and can be made again. */
	send_while(&a, 0, NULL);
	while (AM_UnMap(a.ep, 0) == AM_ERR_IN_USE)
		poll_both();
	IS(counted, 3);
	IS(came_back.count, 1);
	end();
}

/* A thread in AM_WaitSema(). */
struct waiter {
	pthread_t thread;
	eb_t eb;
	int id; /* 0: not yet known */
	int woken;
};

static void *wait_for_sema(void *arg)
{
	struct waiter *w = arg;

	__atomic_store_n(&w->id, thread_id(), __ATOMIC_SEQ_CST);
	OK(AM_WaitSema(w->eb));
	__atomic_store_n(&w->woken, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void start_waiter(struct waiter *w, eb_t bundle)
{
	*w = (struct waiter){ .eb = bundle };
	IS(pthread_create(&w->thread, NULL, wait_for_sema, w), 0);
}

static void is_asleep(struct waiter *w)
{
	int id;

	do {
		id = __atomic_load_n(&w->id, __ATOMIC_SEQ_CST);
		CHECK(!__atomic_load_n(&w->woken, __ATOMIC_SEQ_CST));
	} while (!id || !asleep(id));
}

static void is_woken(struct waiter *w)
{
	IS(pthread_join(w->thread, NULL), 0);
	CHECK(w->woken);
}

/* An event is made only when the bundle becomes non-empty, so two messages make one event. */
static void event_edge(void)
{
	struct waiter w;
	int mask;

	begin();
	OK(AM_GetEventMask(b.eb, &mask));
	IS(mask, AM_NOEVENTS);
	IS(AM_WaitSema(b.eb), AM_ERR_BAD_ARG);
	OK(AM_SetEventMask(b.eb, AM_NOTEMPTY));
	connect_them();
	OK(AM_SetEventMask(b.eb, AM_NOEVENTS));
	OK(AM_SetEventMask(b.eb, AM_NOTEMPTY));
	start_waiter(&w, b.eb);
	is_asleep(&w);
	OK(AM_Request0(a.ep, 0, COUNT));
	is_woken(&w);
	IS(counted, 0); /* AM_Poll() has not run */
	OK(AM_Request0(a.ep, 0, COUNT));
	OK(AM_Request0(a.ep, 0, COUNT));
	/* Messages are still unread, so AM_WaitSema() returns at once. */
	OK(AM_WaitSema(b.eb));
	IS(counted, 0);
	while (counted < 3)
		OK(AM_Poll(b.eb));
	start_waiter(&w, b.eb);
	is_asleep(&w);
	OK(AM_Request0(a.ep, 0, COUNT));
	is_woken(&w);
	OK(AM_Poll(b.eb));
	IS(counted, 4);
	end();
}

/* A message that comes while events are off makes its event when they are on again. */
static void event_off(void)
{
	begin();
	connect_them();
	OK(AM_SetEventMask(b.eb, AM_NOTEMPTY));
	OK(AM_SetEventMask(b.eb, AM_NOEVENTS));
	OK(AM_Request0(a.ep, 0, COUNT));
	OK(AM_SetEventMask(b.eb, AM_NOTEMPTY));
	OK(AM_WaitSema(b.eb));
	while (!counted)
		OK(AM_Poll(b.eb));
	end();
}

/* A reply, and a returned message, make events like a request. */
static void event_kinds(void)
{
	struct waiter w;

	begin();
	connect_them();
	OK(AM_SetEventMask(a.eb, AM_NOTEMPTY));
	OK(AM_Request0(a.ep, 0, ANSWER));
	start_waiter(&w, a.eb);
	is_asleep(&w);
	while (!counted)
		OK(AM_Poll(b.eb));
	is_woken(&w);
	while (!answered)
		OK(AM_Poll(a.eb));
	OK(AM_SetEventMask(a.eb, AM_NOEVENTS));
	OK(AM_SetEventMask(a.eb, AM_NOTEMPTY));

	OK(AM_Request0(a.ep, 0, NOWHERE));
	start_waiter(&w, a.eb);
	while (!__atomic_load_n(&w.woken, __ATOMIC_SEQ_CST))
		OK(AM_Poll(b.eb));
	is_woken(&w);
	IS(came_back.count, 0);
	OK(AM_Poll(a.eb));
	IS(came_back.status, EBADHANDLER);
	/* A request that is returned without being sent. */
	OK(AM_Request0(a.ep, 9, COUNT));
	OK(AM_WaitSema(a.eb));
	OK(AM_Poll(a.eb));
	IS(came_back.status, EBADENTRY);
	end();
}

/* A thread in AM_WaitSema() accepts a connection. */
static void event_connect(void)
{
	struct waiter w;

	begin();
	OK(AM_SetEventMask(b.eb, AM_NOTEMPTY));
	start_waiter(&w, b.eb);
	is_asleep(&w);
	OK(AM_Request0(a.ep, 0, COUNT));
	is_woken(&w);
	while (!counted)
		OK(AM_Poll(b.eb));
	end();
}

/* An endpoint that was moved before its first communication is found by its old name. */
static void move(void)
{
	eb_t third;
	ep_t there;

	begin();
	OK(AM_AllocateBundle(type, &third));
	IS(AM_MoveEndpoint(b.ep, a.eb, third), AM_ERR_BAD_ARG);
	OK(AM_MoveEndpoint(b.ep, b.eb, b.eb));
	OK(AM_MoveEndpoint(b.ep, b.eb, third));
	IS(AM_MoveEndpoint(b.ep, b.eb, third), AM_ERR_BAD_ARG);
	send_while(&a, 0, third);
	while (!came_back.count) {
		OK(AM_Poll(a.eb));
		OK(AM_Poll(third));
	}
	IS(came_back.status, EBADHANDLER);
	IS(AM_MoveEndpoint(b.ep, third, b.eb), AM_ERR_IN_USE);
	IS(AM_MoveEndpoint(a.ep, a.eb, b.eb), AM_ERR_IN_USE);
	OK(AM_Request0(a.ep, 0, COUNT));
	while (!counted) {
		OK(AM_Poll(b.eb));
		OK(AM_Poll(third));
	}
	CHECK(counted_at == b.ep);

	/* Messages between two endpoints of one bundle, one of which was moved there. */
	there = b.ep;
	new_endpoint(&b);
	OK(AM_Map(a.ep, 1, b.name, 1));
	OK(AM_Map(b.ep, 1, a.name, 1));
	OK(AM_MoveEndpoint(b.ep, b.eb, a.eb));
	send_while(&a, 1, third);
	OK(AM_Request0(a.ep, 1, COUNT));
	OK(AM_Request0(b.ep, 1, COUNT));
	while (counted < 3)
		poll_both();
	CHECK(there != b.ep);
	OK(AM_FreeBundle(third));
	end();
}

/* The endpoint is freed before it was ever connected. Its process is alive. */
static void freed_before(void)
{
	begin();
	OK(AM_FreeEndpoint(b.ep));
	send_while(&a, 0, NULL);
	while (!came_back.count)
		poll_both();
	IS(came_back.status, EBADENDPOINT);
	/* The entry stays unusable, also if there is a new endpoint in the bundle. */
	new_endpoint(&b);
	OK(AM_RequestXferAsync0(a.ep, 0, 0, COUNT, NULL, 0));
	while (came_back.count < 2)
		poll_both();
	IS(came_back.status, EBADENDPOINT);
	OK(AM_Map(a.ep, 1, b.name, 1));
	send_while(&a, 1, NULL);
	while (came_back.count < 3)
		poll_both();
	IS(came_back.status, EBADHANDLER);
	end();
}

/* The endpoint is freed while it is connected and has requests in its queue. All are returned. */
static void freed_after(void)
{
	static uint8_t bytes[300];

	begin();
	connect_them();
	fill(bytes, sizeof(bytes), 5);
	for (int i = 0; i < 4; i++)
		OK(AM_RequestI1(a.ep, 0, COUNT, bytes, sizeof(bytes), i));
	OK(AM_FreeEndpoint(b.ep));
	while (came_back.count < 4)
		poll_both();
	IS(came_back.by_status[EUNREACHABLE] + came_back.by_status[EBADENDPOINT], 4);
	CHECK(filled(came_back.data, sizeof(bytes), 5));
	OK(AM_Request0(a.ep, 0, COUNT));
	OK(AM_Poll(a.eb));
	IS(came_back.count, 5);
	IS(came_back.arguments.index, 0);
	/* The entry is unmapped, or bound to another name, before the request is returned. */
	OK(AM_Map(a.ep, 1, b.name, 1));
	OK(AM_Request0(a.ep, 1, COUNT));
	OK(AM_UnMap(a.ep, 1));
	OK(AM_Poll(a.eb));
	IS(came_back.count, 6);
	IS(came_back.arguments.index, -1);
	CHECK(AM_NameEqual(came_back.arguments.destination, b.name));
	OK(AM_Request0(a.ep, 0, COUNT));
	OK(AM_UnMap(a.ep, 0));
	new_endpoint(&b);
	OK(AM_Map(a.ep, 0, b.name, 1));
	OK(AM_Poll(a.eb));
	IS(came_back.count, 7);
	IS(came_back.arguments.index, -1);
	OK(AM_Request0(a.ep, 9, COUNT));
	OK(AM_Poll(a.eb));
	IS(came_back.status, EBADENTRY);
	IS(came_back.arguments.index, 9);
	connect_them();
	IS(counted, 0);
	end();
}

/* Both endpoints are freed with unread messages and messages under way. */
static void freed_unread(void)
{
	begin();
	connect_them();
	OK(AM_Map(b.ep, 0, a.name, 1));
	OK(AM_Request0(a.ep, 0, COUNT));
	OK(AM_Request0(b.ep, 0, COUNT));
	OK(AM_Request0(b.ep, 77, COUNT));
	OK(AM_FreeEndpoint(b.ep));
	OK(AM_FreeEndpoint(a.ep));
	poll_both();
	IS(counted, 0);
	end();
}

/* An endpoint sends to itself, with one credit and with many. */
static void oneself(void)
{
	for (int k = 1; k <= 64; k *= 8) {
		begin();
		OK(AM_SetExpectedResources(a.ep, 1, k));
		OK(AM_Map(a.ep, 1, a.name, 1));
		for (int i = 0; i < 200; i++)
			OK(AM_Request0(a.ep, 1, ANSWER));
		while (answered < 200)
			OK(AM_Poll(a.eb));
		IS(counted, 200);
		end();
	}
}

static void names(void)
{
	struct am_statistics s;
	en_t name;
	tag_t tag;

	begin();
	CHECK(!AM_NameEqual(a.name, b.name));
	CHECK(AM_NameEqual(a.name, a.name));
	OK(AM_GetTranslationName(a.ep, 0, &name));
	CHECK(AM_NameEqual(name, b.name));
	OK(AM_GetTranslationTag(a.ep, 0, &tag));
	IS(tag, 1);
	OK(AM_GetEndpointStatistics(a.ep, &s));
	IS(s.requests_sent[0] + s.requests_sent[1] + s.requests_sent[2] + s.returned, 0);
	end();
}

/* AM_Terminate() with connections and unread messages. */
static void left_over(void)
{
	begin();
	connect_them();
	OK(AM_Request0(a.ep, 0, COUNT));
	OK(AM_Request0(a.ep, 99, COUNT));
	OK(AM_Init());
	OK(AM_Terminate());
	OK(AM_Poll(a.eb));
	OK(AM_Terminate());
	IS(AM_Poll(a.eb), AM_ERR_NOT_INIT);
	IS(AM_Terminate(), AM_ERR_NOT_INIT);
	OK(AM_Init());
}

static pthread_t starter;
static int starter_id;
static bool begun_again, start_at_close;

static void *begin_again(void *arg)
{
	__atomic_store_n(&starter_id, thread_id(), __ATOMIC_SEQ_CST);
	OK(AM_Init());
	__atomic_store_n(&begun_again, true, __ATOMIC_SEQ_CST);
	return NULL;
}

static void start_and_wait(void)
{
	int id = 0;

	IS(pthread_create(&starter, NULL, begin_again, NULL), 0);
	while (!__atomic_load_n(&begun_again, __ATOMIC_SEQ_CST) && !(id && blocked(id)))
		id = __atomic_load_n(&starter_id, __ATOMIC_SEQ_CST);
}

/* Replaces libibverbs' function: another thread is in AM_Init(), or has left it, before this one. */
int ibv_close_device(struct ibv_context *context)
{
	int (*close_device)(struct ibv_context * context) = dlsym(RTLD_NEXT, "ibv_close_device");

	CHECK(close_device);
	if (start_at_close)
		start_and_wait();
	start_at_close = false;
	return close_device(context);
}

/* AM_Init() while another thread is in the last AM_Terminate(): the device is open again. */
static void begun_while_ending(void)
{
	starter_id = 0;
	begun_again = false;
	start_at_close = true;
	OK(AM_Terminate());
	IS(pthread_join(starter, NULL), 0);
	begin();
	connect_them();
	end();
}

static void all(void)
{
	names();
	credits();
	event_edge();
	event_off();
	event_kinds();
	event_connect();
	move();
	freed_before();
	freed_after();
	freed_unread();
	oneself();
	left_over();
	begun_while_ending();
}

int main(void)
{
	OK(AM_SetOption("keepalive", "50"));
	OK(AM_Init());
	type = AM_SEQ;
	all();
	type = AM_PAR;
	all();
	OK(AM_Terminate());
	return 0;
}
