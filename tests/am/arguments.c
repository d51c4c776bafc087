// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests that functions refuse invalid arguments, before AM_Init() and after it. Each returns the
 * error that the header names, and has no other effect.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define COUNT 3

static en_t name;
static char bytes[8];

static void nothing(void *token)
{
}

/* Calls every function with these arguments; each must return `wanted`. */
static void every_call(eb_t b, ep_t e, int wanted)
{
	struct am_statistics statistics;
	handler_t handler;
	uintptr_t length;
	void *addr;
	tag_t tag;
	int n;

	IS(AM_FreeBundle(b), wanted);
	IS(AM_AllocateEndpoint(b, &e, &name), wanted);
	IS(AM_FreeEndpoint(e), wanted);
	IS(AM_MoveEndpoint(e, b, b), wanted);
	IS(AM_GetSeg(e, &addr, &length), wanted);
	IS(AM_SetSeg(e, bytes, sizeof(bytes)), wanted);
	IS(AM_GetTag(e, &tag), wanted);
	IS(AM_SetTag(e, 1), wanted);
	IS(AM_Map(e, 0, name, 1), wanted);
	IS(AM_MapAny(e, &n, name, 1), wanted);
	IS(AM_UnMap(e, 0), wanted);
	IS(AM_GetTranslationInuse(e, 0), wanted);
	IS(AM_GetTranslationTag(e, 0, &tag), wanted);
	IS(AM_GetTranslationName(e, 0, &name), wanted);
	IS(AM_GetNumTranslations(e, &n), wanted);
	IS(AM_SetNumTranslations(e, 10), wanted);
	IS(AM_SetExpectedResources(e, 1, 1), wanted);
	IS(AM_SetHandler(e, 1, nothing), wanted);
	IS(AM_SetHandlerAny(e, &handler, nothing), wanted);
	IS(AM_GetNumHandlers(e, &n), wanted);
	IS(AM_SetNumHandlers(e, AM_MaxNumHandlers()), wanted);
	IS(AM_GetEventMask(b, &n), wanted);
	IS(AM_SetEventMask(b, AM_NOTEMPTY), wanted);
	IS(AM_WaitSema(b), wanted);
	IS(AM_Poll(b), wanted);
	IS(AM_GetEndpointStatistics(e, &statistics), wanted);
	IS(AM_Request0(e, 0, COUNT), wanted);
	IS(AM_RequestI0(e, 0, COUNT, bytes, 1), wanted);
	IS(AM_RequestXfer0(e, 0, 0, COUNT, bytes, 1), wanted);
	IS(AM_RequestXferAsync0(e, 0, 0, COUNT, bytes, 1), wanted);
	IS(AM_Reply0(NULL, COUNT), wanted);
	IS(AM_ReplyI0(NULL, COUNT, bytes, 1), wanted);
	IS(AM_ReplyXfer0(NULL, 0, COUNT, bytes, 1), wanted);
}

static void before_init(void)
{
	uintptr_t length;
	eb_t b = NULL;
	int n;

	every_call(NULL, NULL, AM_ERR_NOT_INIT);
	IS(AM_Terminate(), AM_ERR_NOT_INIT);
	IS(AM_AllocateBundle(AM_SEQ, &b), AM_ERR_NOT_INIT);
	CHECK(!b);
	IS(AM_MaxSegLength(&length), AM_ERR_NOT_INIT);
	IS(AM_MaxNumTranslations(&n), AM_ERR_NOT_INIT);
	IS(AM_SPMDBarrier(), AM_ERR_NOT_INIT);
	IS(AM_SPMDAllGather(&n, &n, sizeof(n)), AM_ERR_NOT_INIT);
	IS(AM_SPMDMyProc(), 0);
	IS(AM_SPMDNumProcs(), 1);
}

static void options(void)
{
	static const char *const bad[][2] = {
		{ "nonsense", "1" },
		{ "", "1" },
		{ "mapping", "v5" },
		{ "mapping", "v0" },
		{ "mapping", "3" },
		{ "mapping", "v33" },
		{ "mapping", "" },
		{ "credits", "65" },
		{ "credits", "-1" },
		{ "credits", "" },
		{ "credits", "1x" },
		{ "credits", "1e1" },
		{ "ack-unit", "0" },
		{ "ack-unit", "65" },
		{ "retries", "8" },
		{ "timeout", "32" },
		{ "timeout", "0" },
		{ "gid-index", "-2" },
		{ "port", "256" },
		{ "copy", "4097" },
		{ "regions", "-1" },
		{ "imm64", "2" },
		{ "rnr", "yes" },
		{ "receives", "0" },
		{ "signal", "0" },
		{ "keepalive", "0" },
		{ "connect-timeout", "0" },
		{ "credits", "99999999999999999999" },
		{ "device",
		  "a-device-whose-name-is-longer-than-any-device's-name-may-be-on-any-system" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		IS(AM_SetOption(bad[i][0], bad[i][1]), AM_ERR_BAD_ARG);
	IS(AM_SetOption(NULL, "1"), AM_ERR_BAD_ARG);
	IS(AM_SetOption("credits", NULL), AM_ERR_BAD_ARG);
	OK(AM_SetOption("credits", "7"));
	OK(AM_SetOption("credits", "0"));
}

static void options_too_late(void)
{
	IS(AM_SetOption("credits", "7"), AM_ERR_IN_USE);
}

static void bundles(eb_t b)
{
	eb_t none = NULL;
	int n;

	IS(AM_AllocateBundle(AM_NUM_BUNDLE_MODES, &none), AM_ERR_BAD_ARG);
	IS(AM_AllocateBundle(-1, &none), AM_ERR_BAD_ARG);
	IS(AM_AllocateBundle(AM_SEQ, NULL), AM_ERR_BAD_ARG);
	CHECK(!none);
	IS(AM_GetEventMask(b, NULL), AM_ERR_BAD_ARG);
	IS(AM_SetEventMask(b, -1), AM_ERR_BAD_ARG);
	IS(AM_SetEventMask(b, AM_NUMEVENTMASKS), AM_ERR_BAD_ARG);
	OK(AM_GetEventMask(b, &n));
	IS(n, AM_NOEVENTS);
	IS(AM_WaitSema(b), AM_ERR_BAD_ARG);
	OK(AM_Poll(b));
	IS(AM_MaxSegLength(NULL), AM_ERR_BAD_ARG);
	IS(AM_MaxNumTranslations(NULL), AM_ERR_BAD_ARG);
}

static void endpoints(eb_t b, ep_t e)
{
	uintptr_t length = 1;
	void *addr = bytes;
	ep_t none = NULL;
	tag_t tag = 99;

	IS(AM_AllocateEndpoint(b, NULL, &name), AM_ERR_BAD_ARG);
	IS(AM_AllocateEndpoint(b, &none, NULL), AM_ERR_BAD_ARG);
	CHECK(!none);
	IS(AM_MoveEndpoint(e, NULL, b), AM_ERR_BAD_ARG);
	IS(AM_MoveEndpoint(e, b, NULL), AM_ERR_BAD_ARG);
	IS(AM_GetSeg(e, NULL, &length), AM_ERR_BAD_ARG);
	IS(AM_GetSeg(e, &addr, NULL), AM_ERR_BAD_ARG);
	IS(AM_SetSeg(e, NULL, 1), AM_ERR_BAD_ARG);
	IS(AM_SetSeg(e, bytes, (uintptr_t)-1), AM_ERR_BAD_ARG);
	OK(AM_GetSeg(e, &addr, &length));
	CHECK(!addr && !length);
	OK(AM_MaxSegLength(&length));
	CHECK(length >= (uintptr_t)AM_MaxLong());
	IS(AM_GetTag(e, NULL), AM_ERR_BAD_ARG);
	OK(AM_GetTag(e, &tag));
	IS(tag, AM_NONE);
	IS(AM_SetExpectedResources(e, -1, 1), AM_ERR_BAD_ARG);
	IS(AM_SetExpectedResources(e, 1, -1), AM_ERR_BAD_ARG);
	OK(AM_SetExpectedResources(e, 0, 0));
	OK(AM_SetExpectedResources(e, 1 << 30, 1 << 30));
	OK(AM_SetExpectedResources(e, 0, 0));
	IS(AM_GetEndpointStatistics(e, NULL), AM_ERR_BAD_ARG);
}

static void handlers(ep_t e)
{
	handler_t handler = 77;
	int n = 0;

	IS(AM_SetHandlerAny(e, NULL, nothing), AM_ERR_BAD_ARG);
	IS(AM_SetHandlerAny(e, &handler, NULL), AM_ERR_BAD_ARG);
	IS(handler, 77);
	IS(AM_GetNumHandlers(e, NULL), AM_ERR_BAD_ARG);
	OK(AM_GetNumHandlers(e, &n));
	IS(n, AM_MaxNumHandlers());
	IS(AM_SetNumHandlers(e, 0), AM_ERR_BAD_ARG);
	IS(AM_SetNumHandlers(e, -1), AM_ERR_BAD_ARG);
	IS(AM_SetNumHandlers(e, 17), AM_ERR_RESOURCE);
	OK(AM_SetNumHandlers(e, AM_MaxNumHandlers()));
	/* All handler indices but 0 can be allocated. */
	for (int i = 1; i < AM_MaxNumHandlers(); i++)
		OK(AM_SetHandlerAny(e, &handler, nothing));
	IS(AM_SetHandlerAny(e, &handler, nothing), AM_ERR_RESOURCE);
	for (int i = 1; i < AM_MaxNumHandlers(); i++)
		OK(AM_SetHandler(e, (handler_t)i, NULL));
	OK(AM_SetHandlerAny(e, &handler, nothing));
}

static void bad_indices(ep_t e, int index)
{
	tag_t tag;

	IS(AM_Map(e, index, name, 1), AM_ERR_BAD_ARG);
	IS(AM_UnMap(e, index), AM_ERR_BAD_ARG);
	IS(AM_GetTranslationInuse(e, index), AM_ERR_BAD_ARG);
	IS(AM_GetTranslationTag(e, index, &tag), AM_ERR_BAD_ARG);
	IS(AM_GetTranslationName(e, index, &name), AM_ERR_BAD_ARG);
	IS(AM_Request0(e, index, COUNT), AM_ERR_BAD_ARG);
	IS(AM_RequestI0(e, index, COUNT, bytes, 1), AM_ERR_BAD_ARG);
	IS(AM_RequestXfer0(e, index, 0, COUNT, bytes, 1), AM_ERR_BAD_ARG);
	IS(AM_RequestXferAsync0(e, index, 0, COUNT, bytes, 1), AM_ERR_BAD_ARG);
}

static void translations(ep_t e)
{
	int n = 0, most = 0;
	tag_t tag;

	OK(AM_GetNumTranslations(e, &n));
	IS(n, 256);
	bad_indices(e, -1);
	bad_indices(e, 256);
	bad_indices(e, 1 << 30);
	IS(AM_MapAny(e, NULL, name, 1), AM_ERR_BAD_ARG);
	IS(AM_GetTranslationTag(e, 3, &tag), AM_ERR_RESOURCE);
	IS(AM_GetTranslationName(e, 3, &name), AM_ERR_RESOURCE);
	IS(AM_GetTranslationInuse(e, 3), AM_ERR_RESOURCE);
	IS(AM_UnMap(e, 3), AM_ERR_BAD_ARG);
	OK(AM_Map(e, 3, name, 5));
	IS(AM_GetTranslationTag(e, 3, NULL), AM_ERR_BAD_ARG);
	IS(AM_GetTranslationName(e, 3, NULL), AM_ERR_BAD_ARG);
	IS(AM_GetNumTranslations(e, NULL), AM_ERR_BAD_ARG);

	/* The table of translations grows and shrinks, but never below its entries. */
	IS(AM_SetNumTranslations(e, 0), AM_ERR_BAD_ARG);
	IS(AM_SetNumTranslations(e, -1), AM_ERR_BAD_ARG);
	IS(AM_SetNumTranslations(e, 3), AM_ERR_IN_USE);
	OK(AM_SetNumTranslations(e, 4));
	bad_indices(e, 4);
	for (int i = 0; i < 3; i++) {
		OK(AM_MapAny(e, &n, name, 1));
		IS(n, i);
	}
	IS(AM_MapAny(e, &n, name, 1), AM_ERR_RESOURCE);
	OK(AM_MaxNumTranslations(&most));
	IS(AM_SetNumTranslations(e, most + 1), AM_ERR_RESOURCE);
	OK(AM_SetNumTranslations(e, most));
	OK(AM_Map(e, most - 1, name, 6));
	OK(AM_GetTranslationTag(e, most - 1, &tag));
	IS(tag, 6);
	OK(AM_UnMap(e, most - 1));
	OK(AM_SetNumTranslations(e, 256));
	OK(AM_GetTranslationTag(e, 3, &tag));
	IS(tag, 5);
}

/* An invalid request is not sent, and not returned either. */
static void requests(ep_t e)
{
	struct am_statistics s;

	IS(AM_RequestV(e, 3, COUNT, 17), AM_ERR_BAD_ARG);
	IS(AM_RequestV(e, 3, COUNT, -1), AM_ERR_BAD_ARG);
	IS(AM_RequestIV(e, 3, COUNT, bytes, 1, 17), AM_ERR_BAD_ARG);
	IS(AM_RequestIV(e, 3, COUNT, bytes, 1, -1), AM_ERR_BAD_ARG);
	IS(AM_RequestXferV(e, 3, 0, COUNT, bytes, 1, 0, 17), AM_ERR_BAD_ARG);
	IS(AM_RequestXferV(e, 3, 0, COUNT, bytes, 1, 1, -1), AM_ERR_BAD_ARG);
	IS(AM_RequestI0(e, 3, COUNT, bytes, AM_MaxMedium() + 1), AM_ERR_BAD_ARG);
	IS(AM_RequestI0(e, 3, COUNT, bytes, (size_t)-1), AM_ERR_BAD_ARG);
	IS(AM_RequestI0(e, 3, COUNT, NULL, 1), AM_ERR_BAD_ARG);
	IS(AM_RequestXfer0(e, 3, 0, COUNT, bytes, (size_t)AM_MaxLong() + 1), AM_ERR_BAD_ARG);
	IS(AM_RequestXfer0(e, 3, 0, COUNT, bytes, (size_t)-1), AM_ERR_BAD_ARG);
	IS(AM_RequestXfer0(e, 3, 0, COUNT, NULL, 1), AM_ERR_BAD_ARG);
	OK(AM_GetEndpointStatistics(e, &s));
	IS(s.requests_sent[0] + s.requests_sent[1] + s.requests_sent[2] + s.returned, 0);
}

static void tokens(void)
{
	ep_t e;
	tag_t tag;

	IS(AM_GetSourceEndpoint(NULL, &name), AM_ERR_BAD_ARG);
	IS(AM_GetDestEndpoint(NULL, &e), AM_ERR_BAD_ARG);
	IS(AM_GetMsgTag(NULL, &tag), AM_ERR_BAD_ARG);
}

static int asked;

static void ask_token(void *token)
{
	ep_t e;

	IS(AM_GetSourceEndpoint(token, NULL), AM_ERR_BAD_ARG);
	IS(AM_GetDestEndpoint(token, NULL), AM_ERR_BAD_ARG);
	IS(AM_GetMsgTag(token, NULL), AM_ERR_BAD_ARG);
	OK(AM_GetDestEndpoint(token, &e));
	asked++;
}

static void in_a_handler(eb_t b, ep_t e)
{
	OK(AM_SetTag(e, 5));
	OK(AM_SetHandler(e, COUNT, ask_token));
	OK(AM_Request0(e, 3, COUNT));
	while (!asked)
		OK(AM_Poll(b));
}

static void spmd(void)
{
	eb_t b;
	ep_t e;

	IS(AM_SPMDStartup(AM_SEQ, NULL, &e), AM_ERR_BAD_ARG);
	IS(AM_SPMDStartup(AM_SEQ, &b, NULL), AM_ERR_BAD_ARG);
	IS(AM_SPMDStartup(AM_NUM_BUNDLE_MODES, &b, &e), AM_ERR_BAD_ARG);
	IS(AM_SPMDStartup(-1, &b, &e), AM_ERR_BAD_ARG);
	OK(AM_SPMDStartup(AM_SEQ, &b, &e));
	IS(AM_SPMDStartup(AM_SEQ, &b, &e), AM_ERR_IN_USE);
	IS(AM_SPMDMyProc(), 0);
	IS(AM_SPMDNumProcs(), 1);
	IS(AM_SPMDAllGather(NULL, bytes, 1), AM_ERR_BAD_ARG);
	IS(AM_SPMDAllGather(bytes, NULL, 1), AM_ERR_BAD_ARG);
	for (int i = 0; i < 4; i++)
		bytes[i] = (char)(i + 1);
	OK(AM_SPMDAllGather(bytes, bytes + 4, 4));
	CHECK(!memcmp(bytes, bytes + 4, 4));
	OK(AM_SPMDBarrier());
}

int main(void)
{
	eb_t b;
	ep_t e;

	before_init();
	options();
	OK(AM_Init());
	options_too_late();
	every_call(NULL, NULL, AM_ERR_BAD_ARG);
	tokens();
	OK(AM_AllocateBundle(AM_SEQ, &b));
	bundles(b);
	OK(AM_AllocateEndpoint(b, &e, &name));
	endpoints(b, e);
	handlers(e);
	translations(e);
	requests(e);
	in_a_handler(b, e);
	OK(AM_FreeEndpoint(e));
	OK(AM_FreeBundle(b));
	OK(AM_Terminate());
	IS(AM_Terminate(), AM_ERR_NOT_INIT);
	before_init();
	spmd();
	AM_SPMDExit(0);
}
