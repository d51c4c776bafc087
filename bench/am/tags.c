// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "tags.h"

#include <endian.h>
#include <errno.h>
#include <infiniband/tm_types.h>
#include <stdbool.h>
#include <string.h>

#define DEPTH 64
#define MAX_SMALL 32

_Static_assert(sizeof(struct ibv_tmh) == TAGS_HEADER, "header");
_Static_assert(sizeof(struct ibv_tmh) + sizeof(struct ibv_rvh) == TAGS_RENDEZVOUS, "headers");

static struct ibv_comp_channel *make_channel(struct raw *raw)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(raw->context);

	if (!channel)
		raw_check(raw, "a completion channel", errno);
	return channel;
}

static void post_fin(struct tags *t)
{
	raw_post_recv(&t->out, 0, TAGS_RENDEZVOUS);
}

/*
 * The receive CQ needs a completion channel: the FIN message, by which the peer's device ends a
 * rendezvous, must wake this process.
 */
static void open_out(struct tags *t)
{
	struct raw *raw = &t->out;

	t->out_channel = make_channel(raw);
	ibv_destroy_cq(raw->recv_cq);
	raw->recv_cq = ibv_create_cq(raw->context, DEPTH, NULL, t->out_channel, 0);
	if (!raw->recv_cq)
		raw_check(raw, "a completion queue", errno);
	raw_connect(raw);
	post_fin(t);
}

static void open_in(struct tags *t)
{
	struct raw *raw = &t->in;
	struct ibv_cq_init_attr_ex cq = {
		.cqe = 4 * DEPTH, .wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_TM_INFO
	};
	struct ibv_srq_init_attr_ex srq = {
		.attr = { .max_wr = DEPTH, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = raw->pd,
		.tm_cap = { .max_num_tags = 16, .max_ops = 16 },
	};

	cq.channel = t->in_channel = make_channel(raw);
	t->cq = ibv_create_cq_ex(raw->context, &cq);
	if (!t->cq)
		raw_check(raw, "a completion queue", errno);
	srq.cq = ibv_cq_ex_to_cq(t->cq);
	t->srq = ibv_create_srq_ex(raw->context, &srq);
	if (!t->srq)
		raw_check(raw, "a receive queue that matches tags", errno);
	ibv_destroy_cq(raw->recv_cq);
	raw->recv_cq = ibv_cq_ex_to_cq(t->cq);
	raw->srq = t->srq;
	raw_connect(raw);
}

void tags_open(struct tags *t, struct two *two, const char *device, size_t size)
{
	raw_begin(&t->out, two, device, DEPTH, size);
	raw_begin(&t->in, two, device, DEPTH, size);
	/* In each turn, `out` of one process is connected to `in` of the other one. */
	for (int turn = 0; turn < 2; turn++) {
		if (two->client == !turn)
			open_out(t);
		else
			open_in(t);
	}
}

void tags_close(struct tags *t)
{
	raw_disconnect(&t->out);
	raw_disconnect(&t->in);
	ibv_destroy_srq(t->srq);
	raw_close(&t->out);
	raw_close(&t->in);
}

void tags_expect(struct tags *t, uint64_t tag, size_t offset, uint32_t length)
{
	struct ibv_sge sge = { .addr = (uintptr_t)t->in.buffer + offset,
			       .length = length,
			       .lkey = t->in.mr->lkey };
	struct ibv_ops_wr wr = { .opcode = IBV_WR_TAG_ADD,
				 .tm = { .add = { .recv_wr_id = offset,
						  .sg_list = &sge,
						  .num_sge = 1,
						  .tag = tag,
						  .mask = ~0ull } } },
			  *bad;

	raw_check(&t->in, "posting a tag", ibv_post_srq_ops(t->srq, &wr, &bad));
}

static void send_message(struct tags *t, const void *message, uint32_t length)
{
	struct ibv_sge sge = { .addr = (uintptr_t)message, .length = length };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE
	};

	if (length > t->out.max_inline)
		two_fail(t->out.two, "the device takes only %u bytes inline", t->out.max_inline);
	raw_post_send(&t->out, &wr);
}

static struct ibv_tmh header(uint8_t opcode, uint64_t tag)
{
	return (struct ibv_tmh){ .opcode = opcode, .tag = htobe64(tag) };
}

void tags_send(struct tags *t, uint64_t tag, uint32_t length)
{
	uint8_t message[TAGS_HEADER + MAX_SMALL];
	struct ibv_tmh tmh = header(IBV_TMH_EAGER, tag);

	if (length > MAX_SMALL)
		two_fail(t->out.two, "%u bytes are too many", length);
	memcpy(message, &tmh, sizeof(tmh));
	memcpy(message + sizeof(tmh), t->out.buffer, length);
	send_message(t, message, TAGS_HEADER + length);
}

void tags_offer(struct tags *t, uint64_t tag, uint32_t length)
{
	uint8_t message[TAGS_RENDEZVOUS];
	struct ibv_tmh tmh = header(IBV_TMH_RNDV, tag);
	struct ibv_rvh rvh = { .va = htobe64((uintptr_t)t->out.buffer),
			       .rkey = htobe32(t->out.mr->rkey),
			       .len = htobe32(length) };

	memcpy(message, &tmh, sizeof(tmh));
	memcpy(message + sizeof(tmh), &rvh, sizeof(rvh));
	send_message(t, message, sizeof(message));
}

/* Polls the CQ until it is empty or a message is complete. Returns whether one is. */
static bool look(struct tags *t)
{
	struct ibv_poll_cq_attr attr = { .comp_mask = 0 };
	bool complete = false;

	while (!complete && !ibv_start_poll(t->cq, &attr)) {
		enum ibv_wc_status status = t->cq->status;

		/* A rendezvous has two completions: for the match, and for the data. */
		complete = ibv_wc_read_opcode(t->cq) == IBV_WC_TM_RECV &&
			   ibv_wc_read_wc_flags(t->cq) & IBV_WC_TM_DATA_VALID;
		ibv_end_poll(t->cq);
		if (status != IBV_WC_SUCCESS)
			two_fail(t->in.two, "a receive failed: %s", ibv_wc_status_str(status));
	}
	return complete;
}

void tags_await(struct tags *t)
{
	while (!look(t))
		;
}

static bool look_fetched(struct tags *t)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(t->out.recv_cq, 1, &wc);

	if (n < 0)
		two_fail(t->out.two, "polling failed");
	if (!n)
		return false;
	raw_check_wc(&t->out, &wc);
	post_fin(t);
	return true;
}

/* Requests the event before it polls, so that no completion is missed. */
static void await_asleep(struct tags *t, bool (*look_for)(struct tags *t),
			 struct ibv_comp_channel *channel, struct ibv_cq *cq)
{
	void *context;

	for (;;) {
		raw_check(&t->in, "asking for an event", ibv_req_notify_cq(cq, 0));
		if (look_for(t))
			return;
		if (ibv_get_cq_event(channel, &cq, &context))
			raw_check(&t->in, "waiting for a completion", errno);
		ibv_ack_cq_events(cq, 1);
	}
}

void tags_await_asleep(struct tags *t)
{
	await_asleep(t, look, t->in_channel, ibv_cq_ex_to_cq(t->cq));
}

void tags_await_fetched(struct tags *t)
{
	await_asleep(t, look_fetched, t->out_channel, t->out.recv_cq);
}
