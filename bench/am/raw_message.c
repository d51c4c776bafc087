// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "raw_message.h"

#include <string.h>

#define SLOT RAW_MESSAGE_MAX
#define BATCH 16

/* Kind of a message: its first byte. */
enum kind { ANSWER, REQUEST, ONE_WAY, HALF_WINDOW, FLUSH, END };

/* Returns the buffer for a send: for inline sends the same one, else `depth` buffers in turn. */
static uint8_t *place(struct raw_messages *m)
{
	if (m->wr.send_flags & IBV_SEND_INLINE)
		return m->message;
	m->next_send = (m->next_send + 1) % m->raw.depth;
	return m->raw.buffer + m->receives + (size_t)(m->raw.depth + m->next_send) * SLOT;
}

static void post(struct raw_messages *m, enum kind kind)
{
	uint8_t *message = place(m);

	message[0] = (uint8_t)kind;
	m->sge.addr = (uintptr_t)message;
	raw_post_send(&m->raw, &m->wr);
}

static unsigned int half_window(const struct raw_messages *m)
{
	return (m->window + 1) / 2;
}

static void take_one_way(struct raw_messages *m)
{
	if (++m->came == half_window(m)) {
		m->came = 0;
		post(m, HALF_WINDOW);
	}
}

/* Handles a message by its kind. False: it was the last one. */
static bool act(struct raw_messages *m, enum kind kind)
{
	switch (kind) {
	case ANSWER:
		m->outstanding--;
		return true;
	case REQUEST:
		post(m, ANSWER);
		return true;
	case ONE_WAY:
		take_one_way(m);
		return true;
	case HALF_WINDOW:
		m->one_way -= half_window(m);
		return true;
	case FLUSH:
		m->came = 0;
		post(m, ANSWER);
		return true;
	default:
		return false;
	}
}

/*
 * Handles a completion. The answer is sent before the receive is reposted, because the peer waits
 * for the answer, and other receives are posted.
 */
static bool receive(struct raw_messages *m, const struct ibv_wc *wc)
{
	bool on;

	raw_check_wc(&m->raw, wc);
	on = act(m, m->raw.buffer[wc->wr_id]);
	raw_post_recv(&m->raw, wc->wr_id, SLOT);
	return on;
}

bool raw_messages_take(struct raw_messages *m)
{
	struct ibv_wc wc[BATCH];
	int n = ibv_poll_cq(m->raw.recv_cq, BATCH, wc);
	bool on = true;

	if (n < 0)
		two_fail(m->raw.two, "polling failed");
	for (int i = 0; i < n; i++)
		on = receive(m, &wc[i]) && on;
	return on;
}

void raw_messages_send(struct raw_messages *m, bool answer)
{
	while (m->outstanding + m->one_way >= m->window)
		raw_messages_take(m);
	post(m, answer ? REQUEST : ONE_WAY);
	if (answer)
		m->outstanding++;
	else
		m->one_way++;
}

void raw_messages_drain(struct raw_messages *m)
{
	if (m->one_way) {
		post(m, FLUSH);
		m->outstanding++;
	}
	while (m->outstanding)
		raw_messages_take(m);
	m->one_way = 0;
}

void raw_messages_end(struct raw_messages *m)
{
	post(m, END);
	raw_flush_sends(&m->raw);
}

void raw_messages_open(struct raw_messages *m, struct two *two, const struct bench_options *opt,
		       size_t room)
{
	/* Answers, acknowledgements and a flush may be in flight at the same time. */
	uint32_t depth = 2 * opt->window + RAW_SIGNAL;

	memset(m, 0, sizeof(*m));
	m->size = (uint32_t)opt->size;
	m->window = opt->window;
	m->receives = (room + SLOT - 1) / SLOT * SLOT;
	raw_open(&m->raw, two, opt->device, depth, m->receives + 2 * (size_t)depth * SLOT);
	for (uint32_t i = 0; i < depth; i++)
		raw_post_recv(&m->raw, m->receives + i * SLOT, SLOT);
	m->sge.length = m->size;
	m->sge.lkey = m->raw.mr->lkey;
	m->wr.sg_list = &m->sge;
	m->wr.num_sge = 1;
	m->wr.opcode = IBV_WR_SEND;
	m->wr.send_flags = m->raw.max_inline >= m->size ? IBV_SEND_INLINE : 0;
	two_meet(two);
}

void raw_messages_close(struct raw_messages *m)
{
	raw_close(&m->raw);
}
