// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * v2, the paper's second (003, section 4): one queue pair per connection, and all
 * by RDMA write with immediate data into buffers of the receiver's that the sender
 * manages; the immediate names the buffer. A receive, which has no buffer, is
 * consumed for each, and posted again when its completion is taken; so 2k are
 * enough for k requests and k answers, and one more does no harm. Bulk data by RDMA
 * write, and the message after it.
 *
 * The paper's was unstable. What a sender must never do is overwrite a buffer
 * that is in use, and here it cannot:
 *
 * A request's slot has two buffers, taken in turn. One is not enough: a request's
 * handler may reply and go on, the other side has the reply, and the next request
 * in that slot arrives while the handler still reads the one before. But handlers
 * of a bundle run one after the other; so when that next request has been
 * answered, which its handler's turn comes before, the first handler has returned,
 * and its buffer is free for the request after the next.
 *
 * An answer's slot has one buffer. It is overwritten by the answer to the next
 * request in that slot, and no request is sent before the handler of this answer
 * has returned: not by itself, handlers send none, and not by another thread,
 * as the bundle's lock is held from when the slot is free until then. What runs
 * no handler is read before its slot is free.
 *
 * A peer that does not keep to it, is found by what is known of each buffer here.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

#include "am_one_qp.h"
#include "am_two_cqs.h"

struct v2 {
	struct am_buffer *buffer; /* of requests, two for each slot, then of answers */
	bool busy[3 * AM_MAX_CREDITS]; /* the core has it */
	bool second[AM_MAX_CREDITS]; /* which one the slot's next request takes, over there */
};

static unsigned int request_index(unsigned int slot, bool second)
{
	return 2 * slot + second;
}

/* @credits: of the side that has the buffers. */
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
	/* A request or a reply may be two writes. */
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

/* Whether that message may be in the buffer of that number. */
static bool belongs(const struct am_conn *conn, const struct am_message *m, unsigned int index)
{
	bool request = m->what == AM_REQUEST || m->what == AM_SYSTEM;

	if (request)
		return index / 2 == m->slot && index < 2u * conn->mine.credits;
	return index == answer_index(conn->mine.credits, m->slot);
}

/* The buffer in which a message has come, or NULL: that cannot be. */
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

/* The buffer over there that the message goes into. */
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
