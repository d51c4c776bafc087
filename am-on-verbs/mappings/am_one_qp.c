// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Creates and frees the queue pair of a connection, and writes to the peer's board. */
#include "am_one_qp.h"

int am_one_qp_open(struct am_conn *conn, const struct am_qp_needs *needs)
{
	conn->qp[0] = am_qp_make(conn, needs, &conn->max_inline);
	if (!conn->qp[0])
		return errno;
	conn->sq_depth = needs->max_send_wr;
	conn->mine.qpn[0] = conn->qp[0]->qp_num;
	return 0;
}

int am_one_qp_connect(struct am_conn *conn)
{
	return am_qp_connect(conn, conn->qp[0], conn->theirs.qpn[0]);
}

void am_one_qp_close(struct am_conn *conn, const struct am_qp_needs *needs)
{
	uint64_t end = am_now() + AM_FLUSH_NS;

	while ((conn->rq_posted || conn->sq[0].sent != conn->sq[0].done) && am_now() < end)
		conn->eb->mapping->poll(conn->eb);
	am_qp_free(conn, conn->qp[0], needs);
}

int am_one_qp_post_write(struct am_conn *conn, uint64_t wr_id, const void *source, size_t size,
			 uint64_t address, uint32_t rkey)
{
	struct ibv_sge sge = { .addr = (uintptr_t)source,
			       .length = (uint32_t)size,
			       .lkey = conn->mr->lkey };
	struct ibv_send_wr write = { .wr_id = wr_id,
				     .sg_list = &sge,
				     .num_sge = size ? 1 : 0,
				     .opcode = IBV_WR_RDMA_WRITE,
				     .send_flags = IBV_SEND_SIGNALED,
				     .wr.rdma = { .remote_addr = address, .rkey = rkey } };

	return am_one_qp_post(conn, &write, 1);
}

int am_one_qp_write(struct am_conn *conn, const void *source, size_t size, uint64_t address,
		    uint32_t rkey)
{
	int err = am_one_qp_room(conn, 1);

	if (err)
		return err;
	return am_one_qp_post_write(conn, am_one_qp_id(conn), source, size, address, rkey);
}
