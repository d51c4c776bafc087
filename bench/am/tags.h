/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Two connections to the other process, one per direction, with tag matching (IBV_SRQT_TM).
 *
 * There are two because programs cannot send on a queue pair whose SRQ matches tags: the device
 * uses its send queue.
 */
#ifndef VNET_BENCH_TAGS_H
#define VNET_BENCH_TAGS_H

#include "raw.h"

#define TAGS_HEADER 16 /* size of the header of an eager message */
#define TAGS_RENDEZVOUS 32 /* size of the header of a rendezvous message */

struct tags {
	struct raw in, out;
	struct ibv_comp_channel *in_channel, *out_channel;
	struct ibv_cq_ex *cq; /* of the incoming connection */
	struct ibv_srq *srq;
};

/*
 * Like raw_open(), with @size bytes for each direction. Ends the job if the device does not
 * support tag matching.
 */
void tags_open(struct tags *tags, struct two *two, const char *device, size_t size);
void tags_close(struct tags *tags);

/* Posts a buffer of @length bytes at @offset of in.buffer, for one message with @tag. */
void tags_expect(struct tags *tags, uint64_t tag, size_t offset, uint32_t length);

/* Sends @length bytes, at most 32, from the beginning of out.buffer. */
void tags_send(struct tags *tags, uint64_t tag, uint32_t length);
/* Sends a rendezvous message: the peer's device reads @length bytes of out.buffer by RDMA. */
void tags_offer(struct tags *tags, uint64_t tag, uint32_t length);

/* Wait until the data of an expected message have arrived, by polling or asleep. */
void tags_await(struct tags *tags);
void tags_await_asleep(struct tags *tags);
/* Sleeps until the peer's device has read the data of a rendezvous message. */
void tags_await_fetched(struct tags *tags);

#endif
