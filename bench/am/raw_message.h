/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Small messages over plain verbs, with a window as flow control.
 *
 * The window limits outstanding messages to the receives of the peer. A request is answered by
 * a message. One-way messages are acknowledged by one message for half a window.
 */
#ifndef VNET_BENCH_RAW_MESSAGE_H
#define VNET_BENCH_RAW_MESSAGE_H

#include "raw.h"

#define RAW_MESSAGE_MAX 64

struct raw_messages {
	struct raw raw;
	uint32_t size;
	unsigned int window;
	unsigned int outstanding; /* requests without an answer */
	unsigned int one_way; /* one-way messages that are not acknowledged */
	unsigned int came; /* one-way messages received and not acknowledged */
	size_t receives; /* offset of the receive buffers in the buffer; the send buffers follow */
	unsigned int next_send;
	uint8_t message[RAW_MESSAGE_MAX]; /* source of inline sends */
	struct ibv_sge sge;
	struct ibv_send_wr wr;
};

/*
 * Uses the message size and window of @opt. The first @room bytes of the buffer are the
 * caller's.
 */
void raw_messages_open(struct raw_messages *m, struct two *two, const struct bench_options *opt,
		       size_t room);
void raw_messages_close(struct raw_messages *m);

/* Sends a message, waiting for room in the window. */
void raw_messages_send(struct raw_messages *m, bool answer);

/* Handles all messages received. False: the peer has sent its last message. */
bool raw_messages_take(struct raw_messages *m);

/* Waits until all messages are answered or acknowledged. */
void raw_messages_drain(struct raw_messages *m);

/* Tells the peer that there are no more messages. */
void raw_messages_end(struct raw_messages *m);

#endif
