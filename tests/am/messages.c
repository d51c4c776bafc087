// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests all forms of requests and replies, with all numbers of words and critical sizes. Each
 * message must arrive once, in order, with its words and data.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "words.h"

enum form { SHORT, MEDIUM, BULK, ASYNC, NUM_FORMS };

/* First handler indices. Each range has 17 handlers, for 0 to 16 words. */
#define REQUEST_SHORT 10
#define REQUEST_DATA 40
#define REPLY_SHORT 70
#define REPLY_DATA 100

/* Requests are written to the first half of the segment, replies to the second half. */
#define AREA ((size_t)AM_MaxLong() + 4096)
#define GUARD 8 /* bytes around a transfer that must stay unchanged */

static uint8_t *segment, *source;

/* Contents of message @number. Both ends compute them. */
struct spec {
	enum form form;
	int nargs;
	size_t nbytes;
	uintptr_t offset; /* in its half */
	uint32_t seed;
};

static const size_t medium_sizes[] = { 0, 1, 3, 8, 255, 4095, AM_MaxMedium() };
static const size_t bulk_sizes[] = { 1, 0, 7, 4096, 4097, 65535, 12345 };
#define SIZES 7

static struct spec request_spec(int number)
{
	struct spec s = { .form = (enum form)(number % NUM_FORMS),
			  .nargs = number / NUM_FORMS % 17,
			  .seed = (uint32_t)number * 2 };

	if (s.form == MEDIUM)
		s.nbytes = medium_sizes[number % SIZES];
	else if (s.form != SHORT)
		s.nbytes = number % 67 == 66 ? (size_t)AM_MaxLong() : bulk_sizes[number % SIZES];
	s.offset = GUARD + (uintptr_t)number * 13 % 999;
	return s;
}

static struct spec reply_spec(int number)
{
	struct spec s = { .form = (enum form)(number / 3 % ASYNC),
			  .nargs = number * 5 % 17,
			  .seed = (uint32_t)number * 2 + 1 };

	if (s.form == MEDIUM)
		s.nbytes = medium_sizes[number / 2 % SIZES];
	else if (s.form != SHORT)
		s.nbytes = number % 71 == 70 ? (size_t)AM_MaxLong() :
					       bulk_sizes[number / 2 % SIZES];
	s.offset = AREA + GUARD + (uintptr_t)number * 11 % 999;
	return s;
}

/* Checks words, data, and the place of the data. */
static void verify(const struct spec *s, const void *data, int nbytes, int nargs, const int32_t *w)
{
	uint8_t *place = segment + s->offset;

	IS(nargs, s->nargs);
	CHECK(filled(w, 4 * (size_t)nargs, ~s->seed));
	if (s->form == SHORT)
		return;
	IS(nbytes, s->nbytes);
	CHECK(filled(data, s->nbytes, s->seed));
	if (s->form == MEDIUM)
		return;
	CHECK(data == place);
	for (int i = 0; i < GUARD; i++) {
		IS(place[-1 - i], 0xee);
		IS(place[s->nbytes + (size_t)i], 0xee);
	}
	memset(place, 0xee, s->nbytes);
}

static void words_of(const struct spec *s, int32_t *w)
{
	fill(w, 4 * (size_t)s->nargs, ~s->seed);
}

static int requests, replies; /* received */
static en_t pred_name, peer_name;

#define REPLY(n)                                                                                   \
	static int reply_##n(void *token, const struct spec *s, const void *data,                  \
			     const int32_t *w)                                                     \
	{                                                                                          \
		(void)w;                                                                           \
		switch (s->form) {                                                                 \
		case SHORT:                                                                        \
			return CALL(AM_Reply##n, token, REPLY_SHORT + n WORDS##n);                 \
		case MEDIUM:                                                                       \
			return CALL(AM_ReplyI##n, token, REPLY_DATA + n, data,                     \
				    s->nbytes WORDS##n);                                           \
		default:                                                                           \
			return CALL(AM_ReplyXfer##n, token, s->offset, REPLY_DATA + n, data,       \
				    s->nbytes WORDS##n);                                           \
		}                                                                                  \
	}
FOR_ALL(REPLY)

#define REQUEST(n)                                                                                 \
	static int request_##n(const struct spec *s, const int32_t *w)                             \
	{                                                                                          \
		(void)w;                                                                           \
		switch (s->form) {                                                                 \
		case SHORT:                                                                        \
			return CALL(AM_Request##n, ep, peer, REQUEST_SHORT + n WORDS##n);          \
		case MEDIUM:                                                                       \
			return CALL(AM_RequestI##n, ep, peer, REQUEST_DATA + n, source,            \
				    s->nbytes WORDS##n);                                           \
		case BULK:                                                                         \
			return CALL(AM_RequestXfer##n, ep, peer, s->offset, REQUEST_DATA + n,      \
				    source, s->nbytes WORDS##n);                                   \
		default:                                                                           \
			return CALL(AM_RequestXferAsync##n, ep, peer, s->offset, REQUEST_DATA + n, \
				    source, s->nbytes WORDS##n);                                   \
		}                                                                                  \
	}
FOR_ALL(REQUEST)

#define NAME_REPLY(n) reply_##n,
#define NAME_REQUEST(n) request_##n,
static int (*const reply_forms[])(void *, const struct spec *, const void *,
				  const int32_t *) = { FOR_ALL(NAME_REPLY) };
static int (*const request_forms[])(const struct spec *,
				    const int32_t *) = { FOR_ALL(NAME_REQUEST) };

static void token_tells(void *token, const en_t *sender)
{
	en_t from;
	ep_t to;
	tag_t tag, mine;

	OK(AM_GetSourceEndpoint(token, &from));
	CHECK(AM_NameEqual(from, *sender));
	OK(AM_GetDestEndpoint(token, &to));
	CHECK(to == ep);
	OK(AM_GetMsgTag(token, &tag));
	OK(AM_GetTag(ep, &mine));
	CHECK(tag == mine);
}

/* Two of three requests are answered by a reply, the others by an acknowledgement. */
static bool wants_reply(int number)
{
	return number % 3 != 1;
}

static void got_request(void *token, bool data, void *buf, int nbytes, int nargs, const int32_t *w)
{
	int number = requests++;
	struct spec s = request_spec(number), r = reply_spec(number);
	int32_t words[16];

	IS(data, s.form != SHORT);
	verify(&s, buf, nbytes, nargs, w);
	token_tells(token, &pred_name);
	if (!wants_reply(number))
		return;
	words_of(&r, words);
	/*
	 * An own asynchronous request may still use its source, so replies have a source of their
	 * own.
	 */
	fill(source + AREA, r.nbytes, r.seed);
	OK(reply_forms[r.nargs](token, &r, source + AREA, words));
	memset(source + AREA, 0xdd, r.nbytes);
}

static void got_reply(void *token, bool data, void *buf, int nbytes, int nargs, const int32_t *w)
{
	struct spec s;

	while (!wants_reply(replies))
		replies++;
	s = reply_spec(replies++);
	IS(data, s.form != SHORT);
	verify(&s, buf, nbytes, nargs, w);
	token_tells(token, &peer_name);
	IS(AM_Reply0(token, REPLY_SHORT), AM_ERR_BAD_ARG);
}

#define HANDLERS(n)                                                                                \
	static void request_short_##n(void *token PARAMETERS##n)                                   \
	{                                                                                          \
		const int32_t w[] = { 0 NAMES##n };                                                \
		got_request(token, false, NULL, 0, n, w + 1);                                      \
	}                                                                                          \
	static void request_data_##n(void *token, void *buf, int nbytes PARAMETERS##n)             \
	{                                                                                          \
		const int32_t w[] = { 0 NAMES##n };                                                \
		got_request(token, true, buf, nbytes, n, w + 1);                                   \
	}                                                                                          \
	static void reply_short_##n(void *token PARAMETERS##n)                                     \
	{                                                                                          \
		const int32_t w[] = { 0 NAMES##n };                                                \
		got_reply(token, false, NULL, 0, n, w + 1);                                        \
	}                                                                                          \
	static void reply_data_##n(void *token, void *buf, int nbytes PARAMETERS##n)               \
	{                                                                                          \
		const int32_t w[] = { 0 NAMES##n };                                                \
		got_reply(token, true, buf, nbytes, n, w + 1);                                     \
	}
FOR_ALL(HANDLERS)

static void set_up(void)
{
	void *addr;
	uintptr_t length;

	segment = malloc(2 * AREA);
	source = malloc(2 * AREA);
	CHECK(segment && source);
	memset(segment, 0xee, 2 * AREA);
	OK(AM_SetSeg(ep, segment, 2 * AREA));
	OK(AM_GetSeg(ep, &addr, &length));
	CHECK(addr == segment && length == 2 * AREA);
#define SET(n)                                                                                     \
	OK(AM_SetHandler(ep, REQUEST_SHORT + n, request_short_##n));                               \
	OK(AM_SetHandler(ep, REQUEST_DATA + n, request_data_##n));                                 \
	OK(AM_SetHandler(ep, REPLY_SHORT + n, reply_short_##n));                                   \
	OK(AM_SetHandler(ep, REPLY_DATA + n, reply_data_##n));
	FOR_ALL(SET)
	OK(AM_GetTranslationName(ep, peer, &peer_name));
	OK(AM_GetTranslationName(ep, (rank + size - 1) % size, &pred_name));
}

/* Waits until no request is outstanding, which is when the entry can be unmapped. Maps it again. */
static void await_answers(void)
{
	tag_t tag;
	int err;

	OK(AM_GetTranslationTag(ep, peer, &tag));
	while ((err = AM_UnMap(ep, peer)) == AM_ERR_IN_USE)
		OK(AM_Poll(eb));
	OK(err);
	OK(AM_Map(ep, peer, peer_name, tag));
}

static void send_one(int number)
{
	struct spec s = request_spec(number);
	int32_t words[16];
	int err;

	words_of(&s, words);
	fill(source, s.nbytes, s.seed);
	while ((err = request_forms[s.nargs](&s, words)) == AM_ERR_NOT_SENT && s.form == ASYNC)
		OK(AM_Poll(eb));
	OK(err);
	/* Only asynchronous requests need their source after the call. */
	if (s.form != ASYNC)
		memset(source, 0xdd, s.nbytes);
	await_answers();
	IS(replies > number || !wants_reply(number), true);
}

/* Sum over short, medium and bulk messages. */
static uint64_t total(const uint64_t n[3])
{
	return n[0] + n[1] + n[2];
}

static void check_statistics(int n)
{
	struct am_statistics s;
	int answered = 0;

	for (int i = 0; i < n; i++)
		answered += wants_reply(i);
	OK(AM_GetEndpointStatistics(ep, &s));
	IS(total(s.requests_sent), n);
	IS(total(s.requests_received), n);
	IS(s.requests_sent[BULK], n / 2);
	IS(s.requests_received[SHORT], n / 4);
	IS(total(s.replies_sent), answered);
	IS(total(s.replies_received), answered);
	IS(s.acknowledgements_sent >= (uint64_t)(n - answered), true);
	IS(s.returned, 0);
}

int main(void)
{
	int n = how_many(4 * 17 * 4, 4 * 17 * 7 * 16);

	job_begin(AM_SEQ);
	set_up();
	OK(AM_SPMDBarrier());
	for (int i = 0; i < n; i++)
		send_one(i);
	OK(AM_SPMDBarrier());
	IS(requests, n);
	check_statistics(n);
	AM_SPMDExit(0);
}
