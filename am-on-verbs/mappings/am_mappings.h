/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The mappings of Active Messages onto queue pairs (objects/am_mapping.h), and their helpers.
 *
 * This room calls connections to create and connect queue pairs. It passes received messages to
 * am_arrival(), and mapping v1 polls by am_drain() while a transfer waits. Lower rooms call a
 * mapping by its table of functions, with the bundle's lock held. A registration of a source takes
 * the lock of the device.
 */
#ifndef AM_MAPPINGS_H
#define AM_MAPPINGS_H

#include "connections/am_connections.h"
#include "cost/am_cost.h"
#include "messages/am_messages.h"
#include "objects/am_mapping.h"

extern const struct am_mapping am_mapping_v1, am_mapping_v2, am_mapping_v3, am_mapping_v4;

/* The mapping with a number as in struct am_offer, 1 to 4, or NULL. */
const struct am_mapping *am_mapping(unsigned int number);

/* Posts the list @wr. 0 or errno. */
static inline int am_post(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	int err;

	am_cost_begin(AM_COST_POST_SEND);
	err = ibv_post_send(qp, wr, &bad);
	am_cost_end(AM_COST_POST_SEND);
	return err;
}

/* am_bulk.c: a bulk transfer as an RDMA write. */
struct am_bulk_write {
	struct ibv_send_wr wr; /* wr_id and next are the caller's to fill in */
	struct ibv_sge sge;
	/* the source's region, held until the write is complete; NULL: none */
	struct am_region *region;
	bool waits; /* am_bulk_finish() must wait for the write's completion */
};

/*
 * Prepares the RDMA write of @bulk. A short source is copied behind @message in its send
 * buffer. A longer one is copied into a buffer of the device, or registered in place. 0 or
 * errno.
 *
 * After posting the write as work request number @target (as conn->sq[0].sent counts), the
 * caller calls am_bulk_finish(), which waits for the completion if necessary and releases
 * the region.
 */
int am_bulk_begin(struct am_conn *conn, struct am_message *message, const struct am_bulk *bulk,
		  struct am_bulk_write *write);
void am_bulk_finish(struct am_conn *conn, const struct am_bulk *bulk,
		    const struct am_bulk_write *write, uint32_t target);

#endif
