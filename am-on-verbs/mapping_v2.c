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

#include "am_cost.h"
#include "am_mapping.h"
#include "am_process.h"

#define CQ_BATCH 16
#define WRITES 4u /* work requests of the core's */

struct v2 {
	struct am_buffer *buffer; /* of requests, two for each slot, then of answers */
	bool busy[3 * AM_MAX_CREDITS]; /* the core has it */
	bool second[AM_MAX_CREDITS]; /* which one the slot's next request takes, over there */
	bool stopped; /* the queue pair is in error */
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

static int v2_open_bundle(struct am_eb *eb)
{
	eb->scq = ibv_create_cq(eb->device->context, 256, NULL, eb->channel, 0);
	if (!eb->scq)
		return errno;
	eb->rcq = ibv_create_cq(eb->device->context, 256, NULL, eb->channel, 0);
	if (eb->rcq)
		return 0;
	ibv_destroy_cq(eb->scq);
	return ENOMEM;
}

static void v2_close_bundle(struct am_eb *eb)
{
	ibv_destroy_cq(eb->rcq);
	ibv_destroy_cq(eb->scq);
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
				     .max_send_wr = 4 * conn->mine.credits + WRITES,
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
	conn->qp[0] = am_qp_make(conn, &needs, NULL);
	if (!conn->qp[0]) {
		err = errno;
		free(v2);
		return err;
	}
	v2->buffer = memory;
	conn->private = v2;
	conn->sq_depth = needs.max_send_wr;
	conn->mine.qpn[0] = conn->qp[0]->qp_num;
	conn->mine.buffers = (uintptr_t)memory;
	for (unsigned int i = 0; i < buffers(conn); i++)
		v2->buffer[i].index = i;
	for (unsigned int i = 0; i < receives(conn); i++)
		post_receive(conn);
	return 0;
}

static int v2_connect(struct am_conn *conn)
{
	return am_qp_connect(conn, conn->qp[0], conn->theirs.qpn[0]);
}

/* Nothing is received any more; the other side learns it from its next message. */
static void stop(struct am_conn *conn)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct v2 *v2 = conn->private;

	if (!v2->stopped)
		ibv_modify_qp(conn->qp[0], &attr, IBV_QP_STATE);
	v2->stopped = true;
}

static void fail(struct am_conn *conn)
{
	am_conn_broken(conn, EUNREACHABLE);
	stop(conn);
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
	struct am_buffer *buffer;
	struct v2 *v2;

	if (wc->wr_id & AM_WR_WIRE) {
		am_wire_completion(eb, wc);
		return;
	}
	v2 = conn->private;
	conn->rq_posted--;
	if (conn->state == AM_BROKEN)
		return;
	buffer = wc->status == IBV_WC_SUCCESS ? written(conn, wc) : NULL;
	if (!buffer) {
		fail(conn);
		return;
	}
	post_receive(conn);
	v2->busy[buffer - v2->buffer] = true;
	am_arrival(conn, buffer, wc->byte_len);
	if (__builtin_expect(conn->state == AM_BROKEN, 0))
		stop(conn);
}

static void sent(struct am_eb *eb, const struct ibv_wc *wc)
{
	struct am_conn *conn = (struct am_conn *)(uintptr_t)(wc->wr_id & ~(uint64_t)AM_WR_SEND);

	if (wc->wr_id & AM_WR_WIRE) {
		am_wire_completion(eb, wc);
		return;
	}
	am_cost_begin(AM_COST_RECYCLE_SEND);
	conn->sq_done++;
	if (wc->status != IBV_WC_SUCCESS)
		fail(conn);
	am_cost_end(AM_COST_RECYCLE_SEND);
}

/* One look at the head: send buffers are recycled by the answers, not by this. */
static int poll_sends(struct am_eb *eb)
{
	struct ibv_wc wc[CQ_BATCH];
	int n;

	am_cost_begin(AM_COST_POLL_SEND);
	n = ibv_poll_cq(eb->scq, CQ_BATCH, wc);
	am_cost_end_poll(AM_COST_POLL_SEND, n);
	for (int i = 0; i < n; i++)
		sent(eb, &wc[i]);
	return n;
}

static int v2_poll(struct am_eb *eb)
{
	struct ibv_wc wc[CQ_BATCH];
	int n;

	am_cost_begin(AM_COST_POLL_RECV);
	n = ibv_poll_cq(eb->rcq, CQ_BATCH, wc);
	am_cost_end_poll(AM_COST_POLL_RECV, n);
	for (int i = 0; i < n; i++)
		received(eb, &wc[i]);
	return n + poll_sends(eb);
}

/* False: it is broken, and what was outstanding has been returned. */
static bool wait_for_room(struct am_conn *conn, unsigned int n)
{
	while (conn->state != AM_BROKEN && conn->sq_sent - conn->sq_done + n > conn->sq_depth)
		poll_sends(conn->eb);
	return conn->state != AM_BROKEN;
}

static int post(struct am_conn *conn, struct ibv_send_wr *wr, unsigned int n)
{
	struct ibv_send_wr *bad;
	int err;

	am_cost_begin(AM_COST_POST_SEND);
	err = ibv_post_send(conn->qp[0], wr, &bad);
	am_cost_end(AM_COST_POST_SEND);
	if (!err)
		conn->sq_sent += n;
	return err;
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
	struct ibv_sge sge[2] = {
		{ .addr = (uintptr_t)m, .length = (uint32_t)size, .lkey = conn->mr->lkey }
	};
	uint64_t wr_id = (uintptr_t)conn | AM_WR_SEND;
	struct ibv_send_wr message = { .wr_id = wr_id,
				       .sg_list = &sge[0],
				       .num_sge = 1,
				       .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				       .send_flags = IBV_SEND_SOLICITED,
				       .imm_data = htonl(index),
				       .wr.rdma = { .remote_addr = target_address(conn, index),
						    .rkey = conn->theirs.buffers_rkey } };
	struct ibv_send_wr write = { .wr_id = wr_id,
				     .next = &message,
				     .sg_list = &sge[1],
				     .num_sge = 1,
				     .opcode = IBV_WR_RDMA_WRITE };
	struct am_region *region = NULL;
	bool writes = bulk && bulk->nbytes;
	struct v2 *v2 = conn->private;
	uint32_t target;
	int err = 0;

	if (!wait_for_room(conn, 2))
		return 0;
	if (writes)
		err = am_bulk_sge(conn, m, bulk, &sge[1], &region);
	if (err)
		return err;
	if (writes) {
		write.wr.rdma.remote_addr = bulk->address;
		write.wr.rdma.rkey = bulk->rkey;
	}
	target = conn->sq_sent + 1;
	err = post(conn, writes ? &write : &message, 1 + writes);
	if (!err && !reply)
		v2->second[slot] = !v2->second[slot];
	if (writes)
		am_bulk_finish(conn, bulk, region, err ? conn->sq_done : target);
	return err;
}

static int v2_write(struct am_conn *conn, const void *source, size_t size, uint64_t address,
		    uint32_t rkey)
{
	struct ibv_sge sge = { .addr = (uintptr_t)source,
			       .length = (uint32_t)size,
			       .lkey = conn->mr->lkey };
	struct ibv_send_wr write = { .wr_id = (uintptr_t)conn | AM_WR_SEND,
				     .sg_list = &sge,
				     .num_sge = size ? 1 : 0,
				     .opcode = IBV_WR_RDMA_WRITE,
				     .wr.rdma = { .remote_addr = address, .rkey = rkey } };

	return wait_for_room(conn, 1) ? post(conn, &write, 1) : EIO;
}

static void v2_release(struct am_conn *conn, struct am_buffer *buffer)
{
	struct v2 *v2 = conn->private;

	v2->busy[buffer - v2->buffer] = false;
}

/* Not before all that was posted has completed: completions name the connection. */
static void v2_close(struct am_conn *conn)
{
	struct am_qp_needs needs = needs_of(conn);
	uint64_t end = am_now() + AM_FLUSH_NS;

	stop(conn);
	while ((conn->rq_posted || conn->sq_sent != conn->sq_done) && am_now() < end)
		v2_poll(conn->eb);
	am_qp_free(conn, conn->qp[0], &needs);
	free(conn->private);
}

const struct am_mapping am_mapping_v2 = {
	.name = "v2",
	.about = "one queue pair per connection, RDMA writes into buffers the sender manages",
	.max_credits = AM_MAX_CREDITS,
	.open_bundle = v2_open_bundle,
	.close_bundle = v2_close_bundle,
	.memory = v2_memory,
	.open = v2_open,
	.connect = v2_connect,
	.close = v2_close,
	.send = v2_send,
	.write = v2_write,
	.poll = v2_poll,
	.release = v2_release,
};
