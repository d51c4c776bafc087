// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Mapping v2 (paper 003, section 4): RDMA writes with immediate into buffers that the
 * sender manages.
 *
 * There is one queue pair per connection. The immediate names the buffer. Each message
 * consumes a receive without a buffer, which is reposted when its completion is polled. So
 * 2k receives are enough for k requests and k answers; there is one more than needed. Bulk
 * data are written before the message.
 *
 * The paper's version was unstable. A sender must not overwrite a buffer that is in use. It
 * does not, for these reasons:
 *
 * Requests: each slot has two buffers, used alternately. One is not enough. The handler of
 * a request may reply and continue; the peer receives the reply, and sends the next request
 * in that slot while the handler still reads the first one. But handlers of a bundle run
 * one at a time. When the second request is answered, its handler has run, so the handler
 * of the first one has returned, and its buffer is free for the third request.
 *
 * Answers: each slot has one buffer. The answer to the next request in that slot overwrites
 * it. No request is sent in that slot before the handler of this answer has returned:
 * handlers of replies send nothing, and other threads cannot, because the bundle's lock is
 * held from the release of the slot until the handler returns. Answers without a handler
 * are read before the slot is released.
 *
 * The receiver detects a peer that violates this: it tracks which buffers are in use.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

#include "am_one_qp.h"
#include "am_two_cqs.h"

struct v2 {
	struct am_buffer *buffer; /* two per slot for requests, then one per slot for answers */
	bool busy[3 * AM_MAX_CREDITS]; /* the core has this buffer */
	/* which of the peer's two buffers the slot's next request uses */
	bool second[AM_MAX_CREDITS];
};

static unsigned int request_index(unsigned int slot, bool second)
{
	return 2 * slot + second;
}

/* @credits: those of the side that has the buffers. */
static unsigned int answer_index(unsigned int credits, unsigned int slot)
{
	return 2 * credits + slot;
}

static unsigned int receives(const struct am_conn *conn)
{
	return 2 * conn->mine.credits + 1u;
}

static unsigned int buffers(const struct am_conn *conn)
{
	return 3u * conn->mine.credits;
}

static size_t v2_memory(const struct am_conn *conn)
{
	return buffers(conn) * sizeof(struct am_buffer);
}

static struct am_qp_needs needs_of(const struct am_conn *conn)
{
	/* A request or a reply may need two work requests: two writes. */
	return (struct am_qp_needs){ .send_cq = conn->eb->scq,
				     .recv_cq = conn->eb->rcq,
				     .max_send_wr = 4 * conn->mine.credits + AM_ONE_QP_WRITES,
				     .max_recv_wr = receives(conn),
				     .sq_sig_all = true };
}

static void post_receive(struct am_conn *conn)
{
	struct ibv_recv_wr wr = { .wr_id = (uintptr_t)conn }, *bad;

	am_cost_begin(AM_COST_POST_RECV);
	if (!ibv_post_recv(conn->qp[0], &wr, &bad))
		conn->rq_posted++;
	am_cost_end(AM_COST_POST_RECV);
}

static int v2_open(struct am_conn *conn, void *memory)
{
	struct am_qp_needs needs = needs_of(conn);
	struct v2 *v2 = calloc(1, sizeof(*v2));
	int err;

	if (!v2)
		return ENOMEM;
	err = am_one_qp_open(conn, &needs);
	if (err) {
		free(v2);
		return err;
	}
	v2->buffer = memory;
	conn->private = v2;
	conn->mine.buffers = (uintptr_t)memory;
	for (unsigned int i = 0; i < buffers(conn); i++)
		v2->buffer[i].index = i;
	for (unsigned int i = 0; i < receives(conn); i++)
		post_receive(conn);
	return 0;
}

/* Whether a message of this kind and slot belongs in buffer @index. */
static bool belongs(const struct am_conn *conn, const struct am_message *m, unsigned int index)
{
	bool request = m->what == AM_REQUEST || m->what == AM_SYSTEM;

	if (request)
		return index / 2 == m->slot && index < 2u * conn->mine.credits;
	return index == answer_index(conn->mine.credits, m->slot);
}

/* The buffer into which a message was written, or NULL if the completion is invalid. */
static struct am_buffer *written(struct am_conn *conn, const struct ibv_wc *wc)
{
	struct v2 *v2 = conn->private;
	struct am_buffer *buffer;
	uint32_t index = ntohl(wc->imm_data);

	if (wc->opcode != IBV_WC_RECV_RDMA_WITH_IMM || !(wc->wc_flags & IBV_WC_WITH_IMM))
		return NULL;
	if (index >= buffers(conn) || v2->busy[index])
		return NULL;
	buffer = &v2->buffer[index];
	if (wc->byte_len < sizeof(buffer->message) || wc->byte_len > sizeof(buffer->bytes))
		return NULL;
	return belongs(conn, &buffer->message, index) ? buffer : NULL;
}

static void received(struct am_eb *eb, const struct ibv_wc *wc)
{
	struct am_conn *conn = (struct am_conn *)(uintptr_t)wc->wr_id;
	struct v2 *v2 = conn->private;
	struct am_buffer *buffer;

	(void)eb;
	conn->rq_posted--;
	if (conn->state == AM_BROKEN)
		return;
	buffer = wc->status == IBV_WC_SUCCESS ? written(conn, wc) : NULL;
	if (!buffer) {
		am_conn_broken(conn, EUNREACHABLE);
		return;
	}
	post_receive(conn);
	v2->busy[buffer - v2->buffer] = true;
	am_arrival(conn, buffer, wc->byte_len);
}

static int v2_poll(struct am_eb *eb)
{
	return am_two_cqs_poll(eb, received, am_one_qp_sent);
}

/* Index of the peer's buffer for the message. */
static unsigned int target_index(const struct am_conn *conn, unsigned int slot, bool reply)
{
	const struct v2 *v2 = conn->private;

	return reply ? answer_index(conn->theirs.credits, slot) :
		       request_index(slot, v2->second[slot]);
}

static uint64_t target_address(const struct am_conn *conn, unsigned int index)
{
	return conn->theirs.buffers + index * sizeof(struct am_buffer) +
	       offsetof(struct am_buffer, bytes);
}

static int v2_send(struct am_conn *conn, unsigned int slot, bool reply, size_t size,
		   const struct am_bulk *bulk)
{
	struct am_message *m = reply ? am_reply_buffer(conn, slot) : am_request_buffer(conn, slot);
	unsigned int index = target_index(conn, slot, reply);
	struct ibv_sge sge = { .addr = (uintptr_t)m,
			       .length = (uint32_t)size,
			       .lkey = conn->mr->lkey };
	struct ibv_send_wr message = { .wr_id = am_one_qp_id(conn),
				       .sg_list = &sge,
				       .num_sge = 1,
				       .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				       .send_flags = IBV_SEND_SOLICITED,
				       .imm_data = htonl(index),
				       .wr.rdma = { .remote_addr = target_address(conn, index),
						    .rkey = conn->theirs.buffers_rkey } };
	struct v2 *v2 = conn->private;
	int err = am_one_qp_room(conn, 2);

	if (!err)
		err = am_one_qp_send(conn, m, &message, bulk);
	if (!err && !reply)
		v2->second[slot] = !v2->second[slot];
	return err;
}

static void v2_release(struct am_conn *conn, struct am_buffer *buffer)
{
	struct v2 *v2 = conn->private;

	v2->busy[buffer - v2->buffer] = false;
}

static void v2_close(struct am_conn *conn)
{
	struct am_qp_needs needs = needs_of(conn);

	am_one_qp_close(conn, &needs);
	free(conn->private);
}

const struct am_mapping am_mapping_v2 = {
	.name = "v2",
	.about = "one queue pair per connection, RDMA writes into buffers the sender manages",
	.max_credits = AM_MAX_CREDITS,
	.open_bundle = am_two_cqs_open,
	.close_bundle = am_two_cqs_close,
	.memory = v2_memory,
	.open = v2_open,
	.connect = am_one_qp_connect,
	.close = v2_close,
	.send = v2_send,
	.write = am_one_qp_write,
	.poll = v2_poll,
	.release = v2_release,
};
