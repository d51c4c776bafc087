// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Mapping v3 (paper 003, section 4): one queue pair per connection, sends, bulk data by
 * RDMA write.
 *
 * This is the paper's best version. A connection has k credits for messages of all sizes,
 * 2k send buffers and 2k + 1 receive buffers. The additional one is needed because a
 * receive is reposted only after the handler, whose reply may already have caused another
 * request. A bundle has one completion queue for sends and one for receives. The message of
 * a bulk transfer is a send after the RDMA write.
 */
#include "am_one_qp.h"
#include "am_two_cqs.h"

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
	/* A request or a reply may need two work requests: a write and a send. */
	return (struct am_qp_needs){ .send_cq = conn->eb->scq,
				     .recv_cq = conn->eb->rcq,
				     .max_send_wr = 4 * conn->mine.credits + AM_ONE_QP_WRITES,
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
	int err = am_one_qp_open(conn, &needs);

	if (err)
		return err;
	for (unsigned int i = 0; i < receives(conn); i++) {
		buffer[i].conn = conn;
		post_receive(conn, &buffer[i]);
	}
	return 0;
}

static void received(struct am_eb *eb, const struct ibv_wc *wc)
{
	struct am_buffer *buffer = (struct am_buffer *)(uintptr_t)wc->wr_id;

	(void)eb;
	buffer->conn->rq_posted--;
	if (buffer->conn->state == AM_BROKEN)
		return;
	if (wc->status == IBV_WC_SUCCESS)
		am_arrival(buffer->conn, buffer, wc->byte_len);
	else
		am_conn_broken(buffer->conn, EUNREACHABLE);
}

static int v3_poll(struct am_eb *eb)
{
	return am_two_cqs_poll(eb, received, am_one_qp_sent);
}

static int v3_send(struct am_conn *conn, unsigned int slot, bool reply, size_t size,
		   const struct am_bulk *bulk)
{
	struct am_message *m = reply ? am_reply_buffer(conn, slot) : am_request_buffer(conn, slot);
	struct ibv_sge sge = { .addr = (uintptr_t)m,
			       .length = (uint32_t)size,
			       .lkey = conn->mr->lkey };
	struct ibv_send_wr send = { .wr_id = am_one_qp_id(conn),
				    .sg_list = &sge,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SOLICITED };
	int err = am_one_qp_room(conn, 2);

	return err ? err : am_one_qp_send(conn, m, &send, bulk);
}

static void v3_release(struct am_conn *conn, struct am_buffer *buffer)
{
	am_cost_begin(AM_COST_RECYCLE_RECV);
	post_receive(conn, buffer);
	am_cost_end(AM_COST_RECYCLE_RECV);
}

/* Waits until all posted work requests have completed, because completions point to @conn. */
static void v3_close(struct am_conn *conn)
{
	struct am_qp_needs needs = needs_of(conn);

	am_one_qp_close(conn, &needs);
}

const struct am_mapping am_mapping_v3 = {
	.name = "v3",
	.about = "one queue pair per connection, credits, two completion queues",
	.max_credits = AM_MAX_CREDITS,
	.open_bundle = am_two_cqs_open,
	.close_bundle = am_two_cqs_close,
	.memory = v3_memory,
	.open = v3_open,
	.connect = am_one_qp_connect,
	.close = v3_close,
	.send = v3_send,
	.write = am_one_qp_write,
	.poll = v3_poll,
	.release = v3_release,
};
