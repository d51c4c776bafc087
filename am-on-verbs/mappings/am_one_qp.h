/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Helpers for mappings with one queue pair per connection (v2, v3, v4).
 *
 * Work requests complete in the order in which they were posted. conn->sq[0].sent and
 * conn->sq[0].done count them.
 *
 * v2 and v3, which have two completion queues, signal each work request, and its wr_id
 * names the connection (am_one_qp_id()). v4 has its own scheme.
 */
#ifndef AM_ONE_QP_H
#define AM_ONE_QP_H

#include <errno.h>

#include "am_mappings.h"

#define AM_ONE_QP_WRITES 4u /* work requests for the core's RDMA writes, in addition to messages */

/* Creates conn->qp[0], in state INIT. 0 or errno. */
int am_one_qp_open(struct am_conn *conn, const struct am_qp_needs *needs);
int am_one_qp_connect(struct am_conn *conn);
/*
 * Waits until all posted work requests have completed, because completions point to @conn.
 * Then frees the queue pair.
 */
void am_one_qp_close(struct am_conn *conn, const struct am_qp_needs *needs);

/*
 * am_one_qp_write() implements the mapping's write(). am_one_qp_post_write() takes the
 * wr_id from the caller, who has made sure that there is room in the send queue.
 */
int am_one_qp_write(struct am_conn *conn, const void *source, size_t size, uint64_t address,
		    uint32_t rkey);
int am_one_qp_post_write(struct am_conn *conn, uint64_t wr_id, const void *source, size_t size,
			 uint64_t address, uint32_t rkey);

static inline uint64_t am_one_qp_id(const struct am_conn *conn)
{
	return (uintptr_t)conn | AM_WR_SEND;
}

static inline void am_one_qp_sent(struct am_eb *eb, const struct ibv_wc *wc)
{
	struct am_conn *conn = (struct am_conn *)(uintptr_t)(wc->wr_id & ~(uint64_t)AM_WR_SEND);

	(void)eb;
	am_cost_begin(AM_COST_RECYCLE_SEND);
	conn->sq[0].done++;
	if (wc->status != IBV_WC_SUCCESS)
		am_conn_broken(conn, EUNREACHABLE);
	am_cost_end(AM_COST_RECYCLE_SEND);
}

/*
 * Waits until the send queue has room for @n more work requests. 0, or EIO if the
 * connection is broken; its outstanding requests have been returned to the program then.
 */
static inline int am_one_qp_room(struct am_conn *conn, unsigned int n)
{
	while (__builtin_expect(conn->sq[0].sent - conn->sq[0].done + n > conn->sq_depth, 0)) {
		if (conn->state == AM_BROKEN)
			return EIO;
		conn->eb->mapping->poll(conn->eb);
	}
	return conn->state == AM_BROKEN ? EIO : 0;
}

/* Posts the list @wr of @n work requests. 0 or errno. */
static inline int am_one_qp_post(struct am_conn *conn, struct ibv_send_wr *wr, unsigned int n)
{
	int err = am_post(conn->qp[0], wr);

	if (!err)
		conn->sq[0].sent += n;
	return err;
}

/*
 * Posts @message, which sends @m, after the RDMA write of @bulk, if that is not NULL. The
 * caller has made sure that the send queue has room for both. 0 or errno.
 */
static inline int am_one_qp_send(struct am_conn *conn, struct am_message *m,
				 struct ibv_send_wr *message, const struct am_bulk *bulk)
{
	struct am_bulk_write write;
	uint32_t target;
	int err;

	if (!bulk || !bulk->nbytes)
		return am_one_qp_post(conn, message, 1);
	err = am_bulk_begin(conn, m, bulk, &write);
	if (err)
		return err;
	write.wr.wr_id = am_one_qp_id(conn);
	write.wr.next = message;
	target = conn->sq[0].sent + 1;
	err = am_one_qp_post(conn, &write.wr, 2);
	am_bulk_finish(conn, bulk, &write, err ? conn->sq[0].done : target);
	return err;
}

#endif
