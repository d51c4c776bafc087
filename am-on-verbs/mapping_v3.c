// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * v3, the paper's best (003, section 4): one queue pair per connection; k credits
 * for messages of all sizes, 2k send and 2k + 1 receive buffers, the one more
 * because a buffer is given back only after its handler, whose reply may have
 * brought another request already; a send and a receive completion queue per
 * bundle; bulk data by RDMA write, and a send that tells of it.
 */
#include <errno.h>
#include <stdlib.h>

#include "am_cost.h"
#include "am_mapping.h"
#include "am_process.h"

#define CQ_BATCH 16
#define WRITES 4u /* work requests of the core's */

static int v3_open_bundle(struct am_eb *eb)
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

static void v3_close_bundle(struct am_eb *eb)
{
	ibv_destroy_cq(eb->rcq);
	ibv_destroy_cq(eb->scq);
}

static unsigned int receives(const struct am_conn *conn)
{
	return 2 * conn->mine.credits + 1u;
}

static size_t v3_memory(const struct am_conn *conn)
{
	return receives(conn) * sizeof(struct am_buffer);
}

static struct am_qp_needs needs_of(const struct am_conn *conn)
{
	/* A request or a reply may be a write and a send. */
	return (struct am_qp_needs){ .send_cq = conn->eb->scq,
				     .recv_cq = conn->eb->rcq,
				     .max_send_wr = 4 * conn->mine.credits + WRITES,
				     .max_recv_wr = receives(conn),
				     .sq_sig_all = true };
}

static void post_receive(struct am_conn *conn, struct am_buffer *buffer)
{
	struct ibv_sge sge = { .addr = (uintptr_t)buffer->bytes,
			       .length = sizeof(buffer->bytes),
			       .lkey = conn->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = (uintptr_t)buffer, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (conn->state == AM_BROKEN)
		return;
	am_cost_begin(AM_COST_POST_RECV);
	if (!ibv_post_recv(conn->qp[0], &wr, &bad))
		conn->rq_posted++;
	am_cost_end(AM_COST_POST_RECV);
}

static int v3_open(struct am_conn *conn, void *memory)
{
	struct am_qp_needs needs = needs_of(conn);
	struct am_buffer *buffer = memory;

	conn->qp[0] = am_qp_make(conn, &needs, NULL);
	if (!conn->qp[0])
		return errno;
	conn->sq_depth = needs.max_send_wr;
	conn->mine.qpn[0] = conn->qp[0]->qp_num;
	for (unsigned int i = 0; i < receives(conn); i++) {
		buffer[i].conn = conn;
		post_receive(conn, &buffer[i]);
	}
	return 0;
}

static int v3_connect(struct am_conn *conn)
{
	return am_qp_connect(conn, conn->qp[0], conn->theirs.qpn[0]);
}

static void received(struct am_eb *eb, const struct ibv_wc *wc)
{
	struct am_buffer *buffer = (struct am_buffer *)(uintptr_t)wc->wr_id;

	if (wc->wr_id & AM_WR_WIRE) {
		am_wire_completion(eb, wc);
		return;
	}
	buffer->conn->rq_posted--;
	if (buffer->conn->state == AM_BROKEN)
		return;
	if (wc->status == IBV_WC_SUCCESS)
		am_arrival(buffer->conn, buffer, wc->byte_len);
	else
		am_conn_broken(buffer->conn, EUNREACHABLE);
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
		am_conn_broken(conn, EUNREACHABLE);
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

static int v3_poll(struct am_eb *eb)
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

static int wait_for_room(struct am_conn *conn, unsigned int n)
{
	while (conn->sq_sent - conn->sq_done + n > conn->sq_depth) {
		if (conn->state == AM_BROKEN)
			return EIO;
		poll_sends(conn->eb);
	}
	return conn->state == AM_BROKEN ? EIO : 0;
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

static int v3_send(struct am_conn *conn, unsigned int slot, bool reply, size_t size,
		   const struct am_bulk *bulk)
{
	struct am_message *m = reply ? am_reply_buffer(conn, slot) : am_request_buffer(conn, slot);
	struct ibv_sge sge[2] = {
		{ .addr = (uintptr_t)m, .length = (uint32_t)size, .lkey = conn->mr->lkey }
	};
	uint64_t wr_id = (uintptr_t)conn | AM_WR_SEND;
	struct ibv_send_wr send = { .wr_id = wr_id,
				    .sg_list = &sge[0],
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SOLICITED };
	struct ibv_send_wr write = { .wr_id = wr_id,
				     .next = &send,
				     .sg_list = &sge[1],
				     .num_sge = 1,
				     .opcode = IBV_WR_RDMA_WRITE };
	struct am_region *region = NULL;
	bool writes = bulk && bulk->nbytes;
	uint32_t target;
	int err;

	err = wait_for_room(conn, 2);
	if (!err && writes)
		err = am_bulk_sge(conn, m, bulk, &sge[1], &region);
	if (err)
		return err;
	if (writes) {
		write.wr.rdma.remote_addr = bulk->address;
		write.wr.rdma.rkey = bulk->rkey;
	}
	target = conn->sq_sent + 1;
	err = post(conn, writes ? &write : &send, 1 + writes);
	if (writes)
		am_bulk_finish(conn, bulk, region, err ? conn->sq_done : target);
	return err;
}

static int v3_write(struct am_conn *conn, const void *source, size_t size, uint64_t address,
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
	int err = wait_for_room(conn, 1);

	return err ? err : post(conn, &write, 1);
}

static void v3_release(struct am_conn *conn, struct am_buffer *buffer)
{
	am_cost_begin(AM_COST_RECYCLE_RECV);
	post_receive(conn, buffer);
	am_cost_end(AM_COST_RECYCLE_RECV);
}

/* Not before all that was posted has completed: completions name the connection. */
static void v3_close(struct am_conn *conn)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct am_qp_needs needs = needs_of(conn);
	uint64_t end = am_now() + AM_FLUSH_NS;

	ibv_modify_qp(conn->qp[0], &attr, IBV_QP_STATE);
	while ((conn->rq_posted || conn->sq_sent != conn->sq_done) && am_now() < end)
		v3_poll(conn->eb);
	am_qp_free(conn, conn->qp[0], &needs);
}

const struct am_mapping am_mapping_v3 = {
	.name = "v3",
	.about = "one queue pair per connection, credits, two completion queues",
	.max_credits = AM_MAX_CREDITS,
	.open_bundle = v3_open_bundle,
	.close_bundle = v3_close_bundle,
	.memory = v3_memory,
	.open = v3_open,
	.connect = v3_connect,
	.close = v3_close,
	.send = v3_send,
	.write = v3_write,
	.poll = v3_poll,
	.release = v3_release,
};
