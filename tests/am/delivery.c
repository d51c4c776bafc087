// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests which messages are delivered and which are returned. This depends on tags, handlers,
 * segments and translations. Each process sends to the next one. Barriers separate changes from
 * messages.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define TAKE 5
#define TAKE_DATA 6
#define NOWHERE 7 /* has no handler */
#define BYTES 3000

static int taken, taken_bytes, wanted, wanted_bytes;
static uint8_t source[BYTES], segment[2 * BYTES];
static en_t peer_name;

static void take(void *token, int32_t a, int32_t b)
{
	IS(a + b, 42);
	taken++;
}

static void take_data(void *token, void *buf, int nbytes, int32_t seed)
{
	CHECK(filled(buf, (size_t)nbytes, (uint32_t)seed));
	taken_bytes += nbytes;
	taken++;
}

/*
 * Checks that all expected messages were delivered. The barriers ensure that no process continues
 * before.
 */
static void agree(void)
{
	OK(AM_SPMDBarrier());
	IS(taken, wanted);
	IS(taken_bytes, wanted_bytes);
	OK(AM_SPMDBarrier());
}

/* Exchanges tags; returns the peer's. */
static tag_t peers_tag(tag_t mine)
{
	tag_t *all = calloc((size_t)size, sizeof(*all)), tag;

	CHECK(all);
	OK(AM_SPMDAllGather(&mine, all, sizeof(mine)));
	tag = all[peer];
	free(all);
	return tag;
}

static void remap(tag_t tag)
{
	int err;

	while ((err = AM_UnMap(ep, peer)) == AM_ERR_IN_USE)
		OK(AM_Poll(eb));
	OK(err);
	OK(AM_Map(ep, peer, peer_name, tag));
}

/* The last returned message must be the one that was sent. */
static void is_returned(op_t opcode, int status, handler_t handler, int index)
{
	const struct am_arguments *a = &came_back.arguments;
	tag_t tag;

	IS(came_back.status, status);
	IS(came_back.opcode, opcode);
	IS(a->handler, handler);
	IS(a->index, index);
	CHECK(a->ep == ep);
	if (status == EBADENTRY)
		return;
	OK(AM_GetTranslationTag(ep, index, &tag));
	CHECK(a->tag == tag);
	CHECK(AM_NameEqual(a->destination, peer_name));
}

static void short_comes_back(int index, handler_t handler, int status)
{
	int before = came_back.count;

	OK(AM_Request2(ep, index, handler, -3, 45));
	POLL_UNTIL(came_back.count > before);
	IS(came_back.count, before + 1);
	is_returned(AM_REQUEST_M, status, handler, index);
	IS(came_back.arguments.nargs, 2);
	IS(came_back.arguments.args[0], -3);
	IS(came_back.arguments.args[1], 45);
}

static void medium_comes_back(int index, handler_t handler, int status)
{
	int before = came_back.count;

	fill(source, BYTES, 9);
	OK(AM_RequestI1(ep, index, handler, source, BYTES, 9));
	memset(source, 0, BYTES); /* the library has a copy */
	POLL_UNTIL(came_back.count > before);
	is_returned(AM_REQUEST_IM, status, handler, index);
	IS(came_back.arguments.nbytes, BYTES);
	IS(came_back.arguments.nargs, 1);
	CHECK(filled(came_back.data, BYTES, 9));
}

static void bulk_comes_back(int index, handler_t handler, uintptr_t offset, size_t nbytes,
			    int status)
{
	int before = came_back.count, err;

	fill(source, BYTES, 17);
	while ((err = AM_RequestXferAsync1(ep, index, offset, handler, source, nbytes, 17)) ==
	       AM_ERR_NOT_SENT)
		OK(AM_Poll(eb));
	OK(err);
	POLL_UNTIL(came_back.count > before);
	is_returned(AM_REQUEST_XFER_M, status, handler, index);
	CHECK(came_back.arguments.source == source);
	IS(came_back.arguments.nbytes, nbytes);
	IS(came_back.arguments.dest_offset, offset);
}

static void all_come_back(int index, handler_t handler, int status)
{
	short_comes_back(index, handler, status);
	medium_comes_back(index, handler, status);
	bulk_comes_back(index, handler, 0, 100, status);
	agree();
}

static void await_answers(void)
{
	tag_t tag;

	OK(AM_GetTranslationTag(ep, peer, &tag));
	remap(tag);
}

static void all_are_taken(void)
{
	int returned = came_back.count;

	OK(AM_Request2(ep, peer, TAKE, 40, 2));
	fill(source, BYTES, 3);
	OK(AM_RequestI1(ep, peer, TAKE_DATA, source, BYTES, 3));
	OK(AM_RequestXfer1(ep, peer, 5, TAKE_DATA, source, BYTES, 3));
	await_answers();
	wanted += 3;
	wanted_bytes += 2 * BYTES;
	agree();
	IS(came_back.count, returned);
}

static void tags(void)
{
	tag_t mine = 1000 + (tag_t)rank, theirs;

	OK(AM_SetTag(ep, mine));
	theirs = peers_tag(mine);
	OK(AM_SPMDBarrier());
	all_come_back(peer, TAKE, EBADTAG);
	remap(theirs);
	all_are_taken();

	/*
	 * AM_ALL as the endpoint's tag accepts all messages; AM_NONE accepts none, not even those
	 * with that tag.
	 */
	OK(AM_SetTag(ep, AM_ALL));
	OK(AM_SPMDBarrier());
	all_are_taken();
	remap(AM_NONE);
	all_are_taken();
	OK(AM_SetTag(ep, AM_NONE));
	OK(AM_SPMDBarrier());
	all_come_back(peer, TAKE, EBADTAG);
	remap(AM_ALL);
	all_come_back(peer, TAKE, EBADTAG);
	OK(AM_SetTag(ep, mine));
	OK(AM_SPMDBarrier());
	all_come_back(peer, TAKE, EBADTAG);
	remap(theirs);
	all_are_taken();
}

static void handlers(void)
{
	handler_t any;

	all_come_back(peer, NOWHERE, EBADHANDLER);
	all_come_back(peer, 0, EBADHANDLER);
	all_come_back(peer, 255, EBADHANDLER);
	OK(AM_SetHandlerAny(ep, &any, take));
	CHECK(any != 0 && any != TAKE && any != TAKE_DATA);
	OK(AM_SetHandler(ep, any, NULL));
	OK(AM_SPMDBarrier());
	short_comes_back(peer, any, EBADHANDLER);
	OK(AM_SPMDBarrier());
}

static void entries(void)
{
	int index = 200, again;

	while (AM_GetTranslationInuse(ep, index) == AM_OK)
		index++;
	all_come_back(index, TAKE, EBADENTRY);

	OK(AM_Map(ep, index, peer_name, 0));
	IS(AM_Map(ep, index, peer_name, 0), AM_ERR_IN_USE);
	OK(AM_Request2(ep, index, TAKE, 1, 41)); /* with a wrong tag */
	IS(AM_UnMap(ep, index), AM_ERR_IN_USE);
	POLL_UNTIL(AM_UnMap(ep, index) != AM_ERR_IN_USE);
	IS(came_back.status, EBADTAG);
	IS(AM_UnMap(ep, index), AM_ERR_BAD_ARG);
	OK(AM_MapAny(ep, &again, peer_name, 7));
	OK(AM_GetTranslationInuse(ep, again));
	OK(AM_UnMap(ep, again));
	IS(AM_GetTranslationInuse(ep, again), AM_ERR_RESOURCE);
	OK(AM_SPMDBarrier());
}

static void one_taken(uintptr_t offset, size_t nbytes)
{
	fill(source, nbytes, 1);
	OK(AM_RequestXfer1(ep, peer, offset, TAKE_DATA, nbytes ? source : NULL, nbytes, 1));
	await_answers();
	wanted++;
	wanted_bytes += (int)nbytes;
	agree();
}

static void segment_of(void *addr, size_t nbytes)
{
	OK(AM_SetSeg(ep, addr, nbytes));
	OK(AM_SPMDBarrier());
}

/* Changes the segment while peers are connected. */
static void segments(void)
{
	/* Up to the size of the segment, and beyond it. */
	segment_of(segment, BYTES - 1);
	one_taken(0, BYTES - 1);
	one_taken(BYTES - 2, 1);
	one_taken(BYTES - 1, 0);
	bulk_comes_back(peer, TAKE_DATA, 0, BYTES, EBADLENGTH);
	bulk_comes_back(peer, TAKE_DATA, BYTES - 2, 2, EBADLENGTH);
	bulk_comes_back(peer, TAKE_DATA, BYTES - 1, 1, EBADLENGTH);
	bulk_comes_back(peer, TAKE_DATA, BYTES, 0, EBADSEGOFF);
	bulk_comes_back(peer, TAKE_DATA, BYTES, 1, EBADSEGOFF);
	bulk_comes_back(peer, TAKE_DATA, (uintptr_t)-1, 1, EBADSEGOFF);
	OK(AM_SPMDBarrier());

	segment_of(segment + BYTES, BYTES);
	one_taken(0, BYTES);
	segment_of(NULL, 0);
	bulk_comes_back(peer, TAKE_DATA, 0, 1, EBADSEGOFF);
	one_taken(0, 0);
	segment_of(segment, sizeof(segment));
	one_taken(BYTES, BYTES);
}

/* Calls that are not permitted in handlers. */
#define TRY 8
#define TRY_REPLY 9
#define DONE 10

static int tried, answered;

static void may_not(void)
{
	IS(AM_Request0(ep, peer, DONE), AM_ERR_BAD_ARG);
	IS(AM_RequestI0(ep, peer, DONE, source, 1), AM_ERR_BAD_ARG);
	IS(AM_RequestXfer0(ep, peer, 0, DONE, source, 1), AM_ERR_BAD_ARG);
	IS(AM_RequestXferAsync0(ep, peer, 0, DONE, source, 1), AM_ERR_BAD_ARG);
	IS(AM_FreeEndpoint(ep), AM_ERR_BAD_ARG);
	IS(AM_FreeBundle(eb), AM_ERR_BAD_ARG);
	IS(AM_SetSeg(ep, segment, 1), AM_ERR_BAD_ARG);
	IS(AM_WaitSema(eb), AM_ERR_BAD_ARG);
	/* A handler may poll, but no other handler runs before it returns. */
	for (int i = 0; i < 100; i++)
		OK(AM_Poll(eb));
}

static void try_reply(void *token)
{
	IS(AM_Reply0(token, DONE), AM_ERR_BAD_ARG);
	IS(AM_ReplyI0(token, DONE, source, 1), AM_ERR_BAD_ARG);
	IS(AM_ReplyXfer0(token, 0, DONE, source, 1), AM_ERR_BAD_ARG);
	may_not();
	answered++;
}

static void try(void *token)
{
	may_not();
	/* An invalid reply is not sent, and does not count as the reply. */
	IS(AM_ReplyV(token, TRY_REPLY, 17), AM_ERR_BAD_ARG);
	IS(AM_ReplyV(token, TRY_REPLY, -1), AM_ERR_BAD_ARG);
	IS(AM_ReplyI0(token, TRY_REPLY, source, AM_MaxMedium() + 1), AM_ERR_BAD_ARG);
	IS(AM_ReplyI0(token, TRY_REPLY, NULL, 1), AM_ERR_BAD_ARG);
	IS(AM_ReplyXfer0(token, 0, TRY_REPLY, source, (size_t)AM_MaxLong() + 1), AM_ERR_BAD_ARG);
	IS(AM_ReplyXfer0(token, sizeof(segment), TRY_REPLY, source, 1), AM_ERR_BAD_ARG);
	IS(AM_ReplyXfer0(token, sizeof(segment) + 1, TRY_REPLY, source, 0), AM_ERR_BAD_ARG);
	IS(AM_ReplyXfer0(token, 0, TRY_REPLY, NULL, 1), AM_ERR_BAD_ARG);
	OK(AM_Reply0(token, TRY_REPLY));
	IS(AM_Reply0(token, TRY_REPLY), AM_ERR_BAD_ARG);
	IS(AM_ReplyI0(token, TRY_REPLY, source, 1), AM_ERR_BAD_ARG);
	IS(AM_ReplyXfer0(token, 0, TRY_REPLY, source, 1), AM_ERR_BAD_ARG);
	tried++;
}

static void done(void *token)
{
	CHECK(!"this was not to be sent");
}

static int errors_tried;

static void try_error(int status, op_t opcode, void *argblock)
{
	IS(status, EBADHANDLER);
	may_not();
	errors_tried++;
}

/* A reply without a handler is dropped, but answers the request. */
static void silent(void *token)
{
	OK(AM_Reply0(token, NOWHERE));
	tried++;
}

static void in_handlers(void)
{
	OK(AM_SetHandler(ep, TRY, try));
	OK(AM_SetHandler(ep, TRY_REPLY, try_reply));
	OK(AM_SetHandler(ep, DONE, done));
	OK(AM_SPMDBarrier());
	for (int i = 0; i < 20; i++)
		OK(AM_Request0(ep, peer, TRY));
	POLL_UNTIL(answered == 20 && tried == 20);
	OK(AM_SetHandler(ep, TRY, silent));
	OK(AM_SPMDBarrier());
	OK(AM_Request0(ep, peer, TRY));
	await_answers();
	OK(AM_SPMDBarrier());
	IS(tried, 21);
	IS(answered, 20);

	OK(AM_SetHandler(ep, 0, try_error));
	OK(AM_Request0(ep, peer, NOWHERE));
	POLL_UNTIL(errors_tried);
	OK(AM_SetHandler(ep, 0, keep_returned));
	OK(AM_SPMDBarrier());
}

int main(void)
{
	job_begin(AM_SEQ);
	OK(AM_GetTranslationName(ep, peer, &peer_name));
	OK(AM_SetHandler(ep, 0, keep_returned));
	OK(AM_SetHandler(ep, TAKE, take));
	OK(AM_SetHandler(ep, TAKE_DATA, take_data));
	segment_of(segment, sizeof(segment));
	all_are_taken();
	tags();
	handlers();
	entries();
	segments();
	in_handlers();
	all_are_taken();
	AM_SPMDExit(0);
}
