/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Two connections to the other process, one each way, whose receiver matches tags
 * (IBV_SRQT_TM): such a queue pair has no sends of its own.
 */
#ifndef VNET_BENCH_TAGS_H
#define VNET_BENCH_TAGS_H

#include "raw.h"

#define TAGS_HEADER 16 /* bytes before the data of a message */
#define TAGS_RENDEZVOUS 32 /* of a message that announces data */

struct tags {
	struct raw in, out;
	struct ibv_comp_channel *in_channel, *out_channel;
	struct ibv_cq_ex *cq; /* of what comes in */
	struct ibv_srq *srq;
};

/* As raw_open(), with @size bytes for either way. Ends the job where the device cannot match. */
void tags_open(struct tags *tags, struct two *two, const char *device, size_t size);
void tags_close(struct tags *tags);

/* A buffer of @length bytes at @offset of in.buffer, for the one message with @tag. */
void tags_expect(struct tags *tags, uint64_t tag, size_t offset, uint32_t length);

/* Sends @length bytes, at most 32, from the begin of out.buffer. */
void tags_send(struct tags *tags, uint64_t tag, uint32_t length);
/* Offers as many there, which the other side's device fetches. */
void tags_offer(struct tags *tags, uint64_t tag, uint32_t length);

/* Until the data of an expected message have come; the second sleeps. */
void tags_await(struct tags *tags);
void tags_await_asleep(struct tags *tags);
/* Sleeps until the other side has fetched what was offered. */
void tags_await_fetched(struct tags *tags);

#endif
