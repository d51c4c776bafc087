/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Active Messages (AM-II) over verbs: the interface.
 *
 * It is that of A. Mainwaring and D. Culler, "Active Messages Applications
 * Programming Interface and Communication Subsystem Organization": endpoints
 * that hold each other's names and tags, grouped in bundles; requests, which a
 * handler at the other end takes and may answer with one reply; three classes
 * of messages:
 *
 *   short    up to AM_MaxShort() words, AM_RequestN
 *   medium   the same and up to AM_MaxMedium() bytes, for which the handler gets
 *            a pointer that is good until it returns, AM_RequestIN
 *   bulk     the same and up to AM_MaxLong() bytes, placed in the receiving
 *            endpoint's segment before its handler runs, AM_RequestXferN
 *
 * It runs on any device of libibverbs. An endpoint's queue pairs are wired on
 * first use, by datagrams between the two processes or, if it is set so, by
 * rdma_cm: nothing but the other endpoint's name (en_t) must be known.
 *
 * The rule that prevents deadlock: a request waits until the destination has
 * room for it, and runs other messages' handlers meanwhile; a reply never
 * waits for the other side. So a request handler may reply, once, and send no
 * request; a reply handler may send nothing.
 *
 * Undeliverable requests come back to their sender: handler 0 of its endpoint
 * is called with the reason and the message (struct am_arguments).
 *
 * Nothing happens behind the program's back: messages are taken, connections
 * accepted and errors noticed while it is inside AM_Poll(), AM_WaitSema() or a
 * request that waits.
 *
 * Threads: in a bundle of mode AM_PAR, all functions may be called by any
 * thread at any time; one handler of a bundle runs at a time. In mode AM_SEQ
 * the program sees to it that one thread at a time uses a bundle and what
 * belongs to it. Different bundles are independent of each other.
 *
 * Unless a function says otherwise it returns AM_OK, AM_ERR_NOT_INIT before
 * AM_Init(), AM_ERR_BAD_ARG for an argument that is out of range or NULL, or
 * AM_ERR_RESOURCE where memory or the device's resources are exhausted.
 */
#ifndef AM_H
#define AM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What functions return. */
#define AM_OK 0
#define AM_ERR_NOT_INIT 1 /* AM_Init() has not been called */
#define AM_ERR_BAD_ARG 2 /* an argument is invalid */
#define AM_ERR_RESOURCE 3 /* memory, or something of the device, is exhausted */
#define AM_ERR_NOT_SENT 4 /* an asynchronous request cannot be sent at once */
#define AM_ERR_IN_USE 5 /* the object is in use */

/* Why a message came back: the first argument of handler 0. */
#define EBADARGS 1 /* arguments of the request are invalid */
#define EBADENTRY 2 /* the translation table has no such entry */
#define EBADTAG 3 /* the tag is not that of the destination */
#define EBADHANDLER 4 /* the destination has no such handler */
#define EBADSEGOFF 5 /* the offset is outside the destination's segment */
#define EBADLENGTH 6 /* the transfer goes beyond the segment's end */
#define EBADENDPOINT 7 /* there is no such endpoint any more */
#define ECONGESTION 8 /* the destination did not take it in time */
#define EUNREACHABLE 9 /* the destination does not answer */
#define EREPLYREJECTED 10 /* the destination refused a reply */

/* What it was: the second argument of handler 0. */
#define AM_REQUEST_M 1
#define AM_REQUEST_IM 2
#define AM_REQUEST_XFER_M 3
#define AM_REPLY_M 4
#define AM_REPLY_IM 5
#define AM_REPLY_XFER_M 6

/* Tags that stand for all and for none. */
#define AM_ALL ((tag_t)-1) /* as an endpoint's tag: takes every message */
#define AM_NONE ((tag_t)0) /* as an endpoint's tag: takes none */

/* Modes of bundles. */
enum { AM_SEQ, AM_PAR, AM_NUM_BUNDLE_MODES };

/* Events, for AM_SetEventMask(). */
enum {
	AM_NOEVENTS, /* AM_WaitSema() is never woken */
	AM_NOTEMPTY, /* a message came while none was waiting, or one is waiting */
	AM_NUMEVENTMASKS
};

typedef uint64_t tag_t;
typedef uint8_t handler_t; /* index into an endpoint's table of handlers */
typedef int op_t;
typedef struct am_eb *eb_t;
typedef struct am_ep *ep_t;

/*
 * An endpoint's name, good for the whole network as long as the endpoint is
 * there. It may be copied, compared by AM_NameEqual(), and sent to others in
 * any way that keeps its bytes.
 */
typedef struct {
	uint8_t gid[16];
	uint32_t qpn; /* of the queue pair that takes requests to connect */
	uint32_t endpoint;
	uint64_t incarnation; /* of the endpoint: names are never used twice */
	uint16_t lid;
	uint16_t port; /* of rdma_cm, where that is what it is wired by; otherwise 0 */
	uint8_t unused[4]; /* 0 */
} en_t;

/* Any function: what AM_SetHandler() makes of its argument. */
typedef void (*am_handler_fn_t)(void);

/*
 * What handler 0 gets as its third argument: the request that came back, as it
 * was made. @source are the bytes of a medium message, which the layer has
 * kept; of a bulk transfer it is the address that the program gave, whose
 * bytes are still those if the request was asynchronous. It and this structure
 * are good until the handler returns.
 */
struct am_arguments {
	ep_t ep; /* the endpoint that sent it */
	int index; /* in its translation table, or -1: a reply, or unmapped since */
	en_t destination;
	tag_t tag;
	handler_t handler;
	int nargs;
	int32_t args[16];
	const void *source;
	size_t nbytes;
	uintptr_t dest_offset;
};

typedef void (*am_error_fn_t)(int status, op_t opcode, void *argblock);

/* Sizes. */
#define AM_MaxShort() 16 /* words of a message */
#define AM_MaxMedium() 4096 /* bytes of a medium message */
#define AM_MaxLong() (1 << 20) /* bytes of a bulk transfer */
#define AM_MaxNumHandlers() 256

/*
 * A setting, before AM_Init(): @name and @value as they stand in the variable
 * AM_SETTINGS of the environment ("mapping=v4,credits=16"), which is read by
 * AM_Init() and comes last. am(7) lists them. AM_ERR_BAD_ARG: there is no such
 * setting, or it cannot have that value; AM_ERR_IN_USE: after AM_Init().
 */
int AM_SetOption(const char *name, const char *value);

/*
 * Begins and ends the use of the layer. AM_Init() opens the device, and says on
 * stderr what is wrong if it cannot (AM_ERR_RESOURCE). It may be called again,
 * and must be matched. AM_Terminate() frees all bundles; requests that nobody
 * has answered are forgotten.
 */
int AM_Init(void);
int AM_Terminate(void);

/*
 * A bundle is what is polled and waited for as one. @type: AM_SEQ or AM_PAR.
 * Freeing it frees its endpoints.
 */
int AM_AllocateBundle(int type, eb_t *endb);
int AM_FreeBundle(eb_t bundle);

/*
 * An endpoint, with tag AM_NONE, no segment, no handlers but handler 0 and 256
 * unbound translations. *@endpoint_name is its name. Freeing it waits until what
 * it has sent is acknowledged.
 */
int AM_AllocateEndpoint(eb_t bundle, ep_t *endp, en_t *endpoint_name);
int AM_FreeEndpoint(ep_t ea);

/*
 * Puts an endpoint into another bundle, under its old name, as long as
 * @from_bundle exists. AM_ERR_IN_USE: it has communicated already, its queue
 * pairs are tied to the bundle's completion queues.
 */
int AM_MoveEndpoint(ep_t ea, eb_t from_bundle, eb_t to_bundle);

/*
 * The segment: memory of this process into which others' bulk transfers go, at
 * offsets into it. It is registered with the device. Setting another one tells
 * all that are connected, and returns when they know; the program sees to it
 * that no transfer into the old one is under way. @nbytes 0: none.
 */
int AM_GetSeg(ep_t ea, void **addr, uintptr_t *nbytes);
int AM_SetSeg(ep_t ea, void *addr, uintptr_t nbytes);
int AM_MaxSegLength(uintptr_t *nbytes);

/* A message is delivered if it carries the tag of the endpoint that it reaches. */
int AM_GetTag(ep_t ea, tag_t *tag);
int AM_SetTag(ep_t ea, tag_t tag);

/*
 * The translation table: small integers for destinations and the tags that
 * messages to them carry. Unmapping an entry whose requests are outstanding:
 * AM_ERR_IN_USE. AM_MapAny() takes the first unbound entry.
 * AM_GetTranslationInuse() is AM_OK if entry @i is bound, and AM_ERR_RESOURCE if
 * it is not. A smaller table must not cut off bound entries (AM_ERR_IN_USE).
 */
int AM_Map(ep_t ea, int index, en_t name, tag_t tag);
int AM_MapAny(ep_t ea, int *index, en_t name, tag_t tag);
int AM_UnMap(ep_t ea, int index);
int AM_GetTranslationInuse(ep_t ea, int i);
int AM_GetTranslationTag(ep_t ea, int i, tag_t *tag);
int AM_GetTranslationName(ep_t ea, int i, en_t *gan);
int AM_GetNumTranslations(ep_t ep, int *pntrans);
int AM_SetNumTranslations(ep_t ep, int ntrans);
int AM_MaxNumTranslations(int *ntrans);

/*
 * How many endpoints this one will speak with, and how many requests to each
 * it will have outstanding: for connections made later, the credits, where the
 * setting "credits" does not name them. At most 64.
 */
int AM_SetExpectedResources(ep_t ea, int n_endpoints, int n_outstanding_requests);

/*
 * Handlers. Of a request or reply with n words:
 *
 *   short            void handler(void *token, int32_t a0, ...)
 *   medium and bulk  void handler(void *token, void *buf, int nbytes, int32_t a0, ...)
 *
 * Handler 0 is the error handler, an am_error_fn_t; until the program sets one,
 * a message that comes back is printed, and ends the program.
 */
int AM_SetHandlerFn(ep_t ea, handler_t handler, am_handler_fn_t function);
int AM_SetHandlerAnyFn(ep_t ea, handler_t *handler, am_handler_fn_t function);
#define AM_SetHandler(ea, handler, function)                                                       \
	AM_SetHandlerFn((ea), (handler), (am_handler_fn_t)(function))
#define AM_SetHandlerAny(ea, handler, function)                                                    \
	AM_SetHandlerAnyFn((ea), (handler), (am_handler_fn_t)(function))
int AM_GetNumHandlers(ep_t ep, int *nhandlers);
int AM_SetNumHandlers(ep_t ep, int nhandlers); /* only AM_MaxNumHandlers() */

/*
 * Events. With mask AM_NOTEMPTY a bundle's semaphore is posted when a message
 * comes while none is waiting; AM_WaitSema() waits for it, asleep, and returns
 * at once if a message is waiting already. AM_Poll() then takes it.
 * AM_ERR_BAD_ARG from AM_WaitSema(): the mask is AM_NOEVENTS, nothing would end it.
 */
int AM_GetEventMask(eb_t eb, int *mask);
int AM_SetEventMask(eb_t eb, int mask);
int AM_WaitSema(eb_t eb);

/* Of the message whose handler is running. */
int AM_GetSourceEndpoint(void *token, en_t *gan);
int AM_GetDestEndpoint(void *token, ep_t *endp);
int AM_GetMsgTag(void *token, tag_t *tagp);

/* Whether two names are of the same endpoint. */
int AM_NameEqual(en_t a, en_t b);

/* Runs the handlers of the messages that have come. */
int AM_Poll(eb_t bundle);

/* What an endpoint has sent and received; all since it was allocated. */
struct am_statistics {
	uint64_t requests_sent[3]; /* short, medium, bulk */
	uint64_t replies_sent[3];
	uint64_t requests_received[3];
	uint64_t replies_received[3];
	uint64_t bytes_sent[3]; /* of medium and bulk data */
	uint64_t acknowledgements_sent; /* for requests without a reply */
	uint64_t returned; /* messages that came back */
	uint64_t credit_waits; /* requests that had to wait for a credit */
};
int AM_GetEndpointStatistics(ep_t ep, struct am_statistics *statistics);

/*
 * Requests, to entry @index of the sender's translation table, and replies, by
 * the token of the request. The numbered forms below call these; words are
 * passed as int32_t.
 *
 * They return when the source may be used again, except for the asynchronous
 * form: its source must stay as it is until the request is answered, and it
 * returns AM_ERR_NOT_SENT instead of waiting. AM_ERR_BAD_ARG from a request made
 * in a handler, from a second reply, or from a reply in a reply handler.
 */
int AM_RequestV(ep_t ep, int index, handler_t handler, int nargs, ...);
int AM_RequestIV(ep_t ep, int index, handler_t handler, const void *source, size_t nbytes,
		 int nargs, ...);
int AM_RequestXferV(ep_t ep, int index, uintptr_t dest_offset, handler_t handler,
		    const void *source, size_t nbytes, int async, int nargs, ...);
int AM_ReplyV(void *token, handler_t handler, int nargs, ...);
int AM_ReplyIV(void *token, handler_t handler, const void *source, size_t nbytes, int nargs, ...);
int AM_ReplyXferV(void *token, uintptr_t dest_offset, handler_t handler, const void *source,
		  size_t nbytes, int nargs, ...);

#include <am_forms.h>

#ifdef __cplusplus
}
#endif

#endif
