// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Creates, connects and stops queue pairs, for all mappings. */
#include <errno.h>
#include <string.h>

#include "am_connections.h"

#define MIN_RNR_TIMER 1 /* 0.01 ms */
#define RNR_RETRY 7 /* no limit: a live peer reposts its receives */

static int to_init(struct am_conn *conn, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = conn->eb->device->port,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

struct ibv_qp *am_qp_make(struct am_conn *conn, const struct am_qp_needs *needs,
			  uint32_t *max_inline)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC,
					 .send_cq = needs->send_cq,
					 .recv_cq = needs->recv_cq,
					 .srq = needs->srq,
					 .sq_sig_all = needs->sq_sig_all,
					 .cap = { .max_send_wr = needs->max_send_wr,
						  .max_recv_wr = needs->max_recv_wr,
						  .max_send_sge = 1,
						  .max_recv_sge = 1,
						  .max_inline_data = needs->max_inline } };
	uint32_t granted = needs->max_inline;
	struct ibv_qp *qp;
	int err = am_cq_room(conn->eb, needs->max_send_wr, needs->max_recv_wr);

	if (err) {
		errno = err;
		return NULL;
	}
	/* Devices do not report their inline limit, so try smaller and smaller ones. */
	for (;; granted /= 2) {
		attr.cap.max_send_wr = needs->max_send_wr;
		attr.cap.max_inline_data = granted;
		qp = ibv_create_qp(conn->eb->device->pd, &attr);
		if (qp || errno != EINVAL || !granted)
			break;
	}
	if (qp && !to_init(conn, qp)) {
		if (max_inline)
			*max_inline = granted;
		return qp;
	}
	if (qp)
		ibv_destroy_qp(qp);
	am_cq_room_back(conn->eb, needs->max_send_wr, needs->max_recv_wr);
	return NULL;
}

void am_qp_attributes(struct ibv_qp_attr *attr, int mask)
{
	if (mask & IBV_QP_MIN_RNR_TIMER)
		attr->min_rnr_timer = MIN_RNR_TIMER;
	if (mask & IBV_QP_TIMEOUT)
		attr->timeout = (uint8_t)am_settings.timeout;
	if (mask & IBV_QP_RETRY_CNT)
		attr->retry_cnt = (uint8_t)am_settings.retries;
	if (mask & IBV_QP_RNR_RETRY)
		attr->rnr_retry = RNR_RETRY;
}

static int to_rtr(struct am_conn *conn, struct ibv_qp *qp, uint32_t dest_qpn)
{
	uint8_t mtu = conn->mine.mtu < conn->theirs.mtu ? conn->mine.mtu : conn->theirs.mtu;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = (enum ibv_mtu)mtu,
		.dest_qp_num = dest_qpn,
		.rq_psn = conn->theirs.psn,
		.max_dest_rd_atomic = 1,
		.ah_attr = { .port_num = conn->eb->device->port,
			     .dlid = conn->peer.lid,
			     .is_global = 1,
			     .grh = { .sgid_index = (uint8_t)conn->eb->device->gid_index,
				      .hop_limit = 64 } },
	};

	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;

	memcpy(attr.ah_attr.grh.dgid.raw, conn->peer.gid, sizeof(conn->peer.gid));
	am_qp_attributes(&attr, mask);
	return ibv_modify_qp(qp, &attr, mask);
}

int am_qp_connect_by_hand(struct am_conn *conn, struct ibv_qp *qp, uint32_t dest_qpn)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .sq_psn = conn->mine.psn,
				    .max_rd_atomic = 1 };
	int mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
	int err = to_rtr(conn, qp, dest_qpn);

	am_qp_attributes(&attr, mask);
	return err ? err : ibv_modify_qp(qp, &attr, mask);
}

void am_qp_free(struct am_conn *conn, struct ibv_qp *qp, const struct am_qp_needs *needs)
{
	ibv_destroy_qp(qp);
	am_cq_room_back(conn->eb, needs->max_send_wr, needs->max_recv_wr);
}

/* A peer learns from its next message that this side does not receive any more. */
void am_qp_stop(struct am_conn *conn)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	for (unsigned int i = 0; i < AM_MAX_QPS && conn->qp[i]; i++)
		ibv_modify_qp(conn->qp[i], &attr, IBV_QP_STATE);
}
