/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Active Messages (AM-II) over verbs: the interface.
 *
 * The interface is that of A. Mainwaring and D. Culler, "Active Messages Applications
 * Programming Interface and Communication Subsystem Organization". Endpoints hold each
 * other's names and tags, and are grouped in bundles. A request runs a handler at the
 * destination, which may answer with one reply. There are three classes of messages:
 *
 *   short    up to AM_MaxShort() words, AM_RequestN
 *   medium   the same, and up to AM_MaxMedium() bytes; the handler gets a pointer to
 *            them, which is valid until the handler returns, AM_RequestIN
 *   bulk     the same, and up to AM_MaxLong() bytes, placed in the receiving
 *            endpoint's segment before its handler runs, AM_RequestXferN
 *
 * The library runs on any device of libibverbs. Endpoints connect on first use, by
 * datagrams between the two processes or, with a setting, by rdma_cm. A sender needs only
 * the name (en_t) of the other endpoint.
 *
 * Deadlock is prevented by one rule. A request waits until the destination has room for it,
 * and runs handlers of other messages meanwhile. A reply never waits for the other side. So
 * the handler of a request may send one reply, and no requests. The handler of a reply may
 * send nothing.
 *
 * An undeliverable request is returned to its sender: handler 0 of the sending endpoint is
 * called with the reason and the message (struct am_arguments).
 *
 * The library makes progress only in calls: messages are received, connections accepted and
 * errors detected while the program is in AM_Poll(), AM_WaitSema() or a request that waits.
 *
 * Threads: in a bundle of mode AM_PAR, any thread may call any function at any time; one
 * handler of a bundle runs at a time. In mode AM_SEQ, the program must ensure that only one
 * thread at a time uses a bundle and the objects in it. Different bundles are independent
 * of each other.
 *
 * Unless stated otherwise, a function returns AM_OK, AM_ERR_NOT_INIT before AM_Init(),
 * AM_ERR_BAD_ARG if an argument is out of range or NULL, or AM_ERR_RESOURCE if memory or
 * the device's resources are exhausted.
 */
#ifndef AM_H
#define AM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Return values. */
#define AM_OK 0
#define AM_ERR_NOT_INIT 1 /* AM_Init() has not been called */
#define AM_ERR_BAD_ARG 2 /* an argument is invalid */
#define AM_ERR_RESOURCE 3 /* memory or resources of the device are exhausted */
#define AM_ERR_NOT_SENT 4 /* an asynchronous request cannot be sent at once */
#define AM_ERR_IN_USE 5 /* the object is in use */

/*
 * Why a message was returned: the first argument of handler 0. AM-II defines all of them. This
 * library does not use EBADARGS, because the request returns AM_ERR_BAD_ARG, and EREPLYREJECTED,
 * because a reply that cannot be delivered is dropped.
 */
#define EBADARGS 1 /* arguments of the request are invalid */
#define EBADENTRY 2 /* the translation table has no such entry */
#define EBADTAG 3 /* the tag differs from that of the destination */
#define EBADHANDLER 4 /* the destination has no such handler */
#define EBADSEGOFF 5 /* the offset is outside the destination's segment */
#define EBADLENGTH 6 /* the transfer goes beyond the segment's end */
#define EBADENDPOINT 7 /* the destination endpoint does not exist any more */
#define ECONGESTION 8 /* the destination did not accept the message in time */
#define EUNREACHABLE 9 /* the destination does not answer */
#define EREPLYREJECTED 10 /* the destination refused a reply */

/* Kind of the returned message: the second argument of handler 0. Replies are not returned. */
#define AM_REQUEST_M 1
#define AM_REQUEST_IM 2
#define AM_REQUEST_XFER_M 3
#define AM_REPLY_M 4
#define AM_REPLY_IM 5
#define AM_REPLY_XFER_M 6

/* Special tags of an endpoint. */
#define AM_ALL ((tag_t)-1) /* accepts every message */
#define AM_NONE ((tag_t)0) /* accepts no message */

/* Modes of bundles. */
enum { AM_SEQ, AM_PAR, AM_NUM_BUNDLE_MODES };

/* Events, for AM_SetEventMask(). */
enum {
	AM_NOEVENTS, /* AM_WaitSema() cannot be used */
	AM_NOTEMPTY, /* a message has arrived while none was waiting, or a message is waiting */
	AM_NUMEVENTMASKS
};

typedef uint64_t tag_t;
typedef uint8_t handler_t; /* index into an endpoint's table of handlers */
typedef int op_t;
typedef struct am_eb *eb_t;
typedef struct am_ep *ep_t;

/*
 * An endpoint's name. It is valid in the whole network as long as the endpoint exists. A
 * program may copy it, compare it by AM_NameEqual(), and send it to other processes in any
 * way that preserves its bytes.
 */
typedef struct {
	uint8_t gid[16];
	uint32_t qpn; /* of the queue pair that receives connection requests */
	uint32_t endpoint;
	uint64_t incarnation; /* of the endpoint; names are never reused */
	uint16_t lid;
	uint16_t port; /* rdma_cm port, if the endpoint is connected by rdma_cm; otherwise 0 */
	uint8_t unused[4]; /* 0 */
} en_t;

/* The generic function type to which AM_SetHandler() casts its argument. */
typedef void (*am_handler_fn_t)(void);

/*
 * The third argument of handler 0: the message that was returned, as the program sent it.
 * For a medium message, @source points to the library's copy of the data. For a bulk
 * transfer, @source is the address that the program gave; the bytes there are unchanged
 * only if the request was asynchronous. @source (of a medium message) and this structure
 * are valid until the handler returns.
 */
struct am_arguments {
	ep_t ep; /* the endpoint that sent the message */
	/*
	 * In its translation table. -1: the entry has been unmapped since, and may be bound
	 * to another name.
	 */
	int index;
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

/* Limits. */
#define AM_MaxShort() 16 /* words of a message */
#define AM_MaxMedium() 4096 /* bytes of a medium message */
#define AM_MaxLong() (1 << 20) /* bytes of a bulk transfer */
#define AM_MaxNumHandlers() 256

/*
 * Changes a setting. To be called before AM_Init(). @name and @value are as in the
 * environment variable AM_SETTINGS ("mapping=v4,credits=16"), which AM_Init() reads, and
 * which overrides AM_SetOption(). am(7) lists the settings. AM_ERR_BAD_ARG: no such
 * setting, or an invalid value. AM_ERR_IN_USE: after AM_Init().
 */
int AM_SetOption(const char *name, const char *value);

/*
 * Begin and end the use of the library. AM_Init() opens the device; if it cannot, it prints
 * the reason to stderr (AM_ERR_RESOURCE). AM_Init() may be called more than once; each call
 * needs its AM_Terminate(). The last AM_Terminate() frees all bundles; unanswered requests
 * are dropped. Any threads may call them at once: AM_Init() waits until a last AM_Terminate()
 * has closed the device, and opens it again.
 */
int AM_Init(void);
int AM_Terminate(void);

/*
 * A bundle is a set of endpoints that are polled and waited for together. @type: AM_SEQ or
 * AM_PAR. Freeing a bundle frees its endpoints.
 */
int AM_AllocateBundle(int type, eb_t *endb);
int AM_FreeBundle(eb_t bundle);

/*
 * Allocate and free an endpoint. A new endpoint has the tag AM_NONE, no segment, no
 * handlers except handler 0, and 256 unbound translations. *@endpoint_name is its name.
 * AM_FreeEndpoint() waits until all that the endpoint has sent is acknowledged.
 */
int AM_AllocateEndpoint(eb_t bundle, ep_t *endp, en_t *endpoint_name);
int AM_FreeEndpoint(ep_t ea);

/*
 * Moves an endpoint to another bundle. Peers can use its old name as long as @from_bundle
 * exists. AM_ERR_IN_USE: the endpoint has connections; their queue pairs use the completion
 * queues of the old bundle.
 */
int AM_MoveEndpoint(ep_t ea, eb_t from_bundle, eb_t to_bundle);

/*
 * The segment: memory of this process that receives bulk transfers, at offsets into it. The
 * library registers it with the device. AM_SetSeg() informs all connected peers, and
 * returns when they know the new segment; the program must ensure that no transfer into the
 * old one is in progress. @nbytes 0: no segment.
 */
int AM_GetSeg(ep_t ea, void **addr, uintptr_t *nbytes);
int AM_SetSeg(ep_t ea, void *addr, uintptr_t nbytes);
int AM_MaxSegLength(uintptr_t *nbytes);

/* An endpoint accepts messages that carry its tag. */
int AM_GetTag(ep_t ea, tag_t *tag);
int AM_SetTag(ep_t ea, tag_t tag);

/*
 * The translation table maps small integers to destinations, and to the tags that messages
 * to them carry. AM_MapAny() uses the first unbound entry. AM_UnMap() of an entry with
 * outstanding requests: AM_ERR_IN_USE. A connection that has failed is freed when no entry is
 * bound to its peer, so a program unmaps peers that have ended. AM_GetTranslationInuse()
 * returns AM_OK if entry @i is bound, and AM_ERR_RESOURCE if it is not. Shrinking the table
 * must not remove bound entries (AM_ERR_IN_USE).
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
 * Tells the library with how many endpoints @ea will communicate, and how many requests it
 * will have outstanding to each. The latter becomes the credits of connections made later,
 * unless the setting "credits" says otherwise. Limit: 64.
 */
int AM_SetExpectedResources(ep_t ea, int n_endpoints, int n_outstanding_requests);

/*
 * Handlers. The handler of a request or reply with n words is:
 *
 *   short            void handler(void *token, int32_t a0, ...)
 *   medium and bulk  void handler(void *token, void *buf, int nbytes, int32_t a0, ...)
 *
 * Handler 0 is the error handler, an am_error_fn_t. The default one prints the returned
 * message, and aborts the program.
 */
int AM_SetHandlerFn(ep_t ea, handler_t handler, am_handler_fn_t function);
int AM_SetHandlerAnyFn(ep_t ea, handler_t *handler, am_handler_fn_t function);
#define AM_SetHandler(ea, handler, function)                                                       \
	AM_SetHandlerFn((ea), (handler), (am_handler_fn_t)(function))
#define AM_SetHandlerAny(ea, handler, function)                                                    \
	AM_SetHandlerAnyFn((ea), (handler), (am_handler_fn_t)(function))
int AM_GetNumHandlers(ep_t ep, int *nhandlers);
int AM_SetNumHandlers(ep_t ep, int nhandlers); /* must be AM_MaxNumHandlers() */

/*
 * Events. With the mask AM_NOTEMPTY, a message that arrives while none is waiting posts the
 * bundle's semaphore. AM_WaitSema() sleeps until it is posted, and returns at once if a
 * message is already waiting. AM_Poll() then handles the message. AM_WaitSema() returns
 * AM_ERR_BAD_ARG if the mask is AM_NOEVENTS, because nothing would wake it.
 */
int AM_GetEventMask(eb_t eb, int *mask);
int AM_SetEventMask(eb_t eb, int mask);
int AM_WaitSema(eb_t eb);

/* Properties of the message whose handler is running. */
int AM_GetSourceEndpoint(void *token, en_t *gan);
int AM_GetDestEndpoint(void *token, ep_t *endp);
int AM_GetMsgTag(void *token, tag_t *tagp);

/* Whether two names denote the same endpoint. */
int AM_NameEqual(en_t a, en_t b);

/* Receives messages and runs their handlers. */
int AM_Poll(eb_t bundle);

/* Counters of an endpoint since its allocation. */
struct am_statistics {
	uint64_t requests_sent[3]; /* short, medium, bulk */
	uint64_t replies_sent[3];
	uint64_t requests_received[3];
	uint64_t replies_received[3];
	uint64_t bytes_sent[3]; /* of medium and bulk data */
	uint64_t acknowledgements_sent; /* for requests that had no reply */
	uint64_t returned; /* messages returned to the sender */
	uint64_t credit_waits; /* requests that had to wait for a credit */
};
int AM_GetEndpointStatistics(ep_t ep, struct am_statistics *statistics);

/*
 * Requests, to entry @index of the sender's translation table, and replies, by the token of
 * the request. The numbered forms below call these functions; words are passed as int32_t.
 *
 * They return when the source may be reused. The exception is the asynchronous form: its
 * source must stay unchanged until the request is answered, and it returns AM_ERR_NOT_SENT
 * instead of waiting. AM_ERR_BAD_ARG: a request from a handler, a second reply, or a reply
 * from a reply handler.
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
