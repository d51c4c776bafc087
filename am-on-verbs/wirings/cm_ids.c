// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The rdma_cm ids of a connection, one for each queue pair, for both sides. */
#include <stdlib.h>

#include "connections/am_connections.h"
#include "wiring_cm.h"

unsigned int cm_queue_pairs(const struct am_conn *conn)
{
	unsigned int n = 0;

	while (n < AM_MAX_QPS && conn->qp[n])
		n++;
	return n;
}

/* Destroys the ids, which also informs the peer. */
void cm_drop(struct am_conn *conn)
{
	struct cm_wired *wired = conn->wired;

	for (unsigned int i = 0; wired && i < AM_MAX_QPS; i++) {
		if (wired->end[i].id)
			rdma_destroy_id(wired->end[i].id);
		wired->end[i] = (struct cm_end){ .conn = conn };
	}
}

void cm_broken(struct am_conn *conn, int status)
{
	am_wire_forget(conn);
	am_conn_broken(conn, status);
}

bool cm_all_heard(const struct am_conn *conn)
{
	const struct cm_wired *wired = conn->wired;
	bool all = true;

	for (unsigned int i = 0; i < cm_queue_pairs(conn); i++)
		all = all && wired->end[i].heard;
	return all;
}

struct rdma_conn_param cm_parameters(const struct am_conn *conn, unsigned int index,
				     const void *data, size_t length)
{
	return (struct rdma_conn_param){ .private_data = data,
					 .private_data_len = (uint8_t)length,
					 .responder_resources = 1,
					 .initiator_depth = 1,
					 .flow_control = 1,
					 .retry_count = 7,
					 .rnr_retry_count = 7,
					 .srq = conn->qp[index]->srq ? 1 : 0,
					 .qp_num = conn->qp[index]->qp_num };
}

bool cm_make_wired(struct am_conn *conn)
{
	if (!conn->wired)
		conn->wired = calloc(1, sizeof(struct cm_wired));
	cm_drop(conn);
	return conn->wired;
}
