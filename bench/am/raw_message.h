/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Small messages over plain verbs, with a window: the least that a program can do
 * that may not send more than the other side has receives for.
 *
 * A request has a message in answer. Of messages that go one way, one tells for
 * half a window that they came.
 */
#ifndef VNET_BENCH_RAW_MESSAGE_H
#define VNET_BENCH_RAW_MESSAGE_H

#include "raw.h"

#define RAW_MESSAGE_MAX 64

struct raw_messages {
	struct raw raw;
	uint32_t size;
	unsigned int window;
	unsigned int outstanding; /* requests without their answers */
	unsigned int one_way; /* messages that are not known to have come */
	unsigned int came; /* one-way messages that the other side is not told of */
	size_t receives; /* where they are in the buffer; behind them the sends */
	unsigned int next_send;
	uint8_t message[RAW_MESSAGE_MAX]; /* what is sent inline */
	struct ibv_sge sge;
	struct ibv_send_wr wr;
};

/* Messages of @opt's size and window; @room bytes of the buffer are the caller's. */
void raw_messages_open(struct raw_messages *m, struct two *two, const struct bench_options *opt,
		       size_t room);
void raw_messages_close(struct raw_messages *m);

/* Waits for room in the window. */
void raw_messages_send(struct raw_messages *m, bool answer);

/* Takes what there is. False: the other side is at its end. */
bool raw_messages_take(struct raw_messages *m);

/* Waits until all are answered, or known to have come. */
void raw_messages_drain(struct raw_messages *m);

/* Tells the other side that this was all. */
void raw_messages_end(struct raw_messages *m);

#endif
