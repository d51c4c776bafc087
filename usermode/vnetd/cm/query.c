// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* rdma_cm queries of an id: addresses, GIDs, paths, and queue pair attributes. */
#include <endian.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <infiniband/sa.h>
#include <rdma/ib_user_sa.h>

#include "inside.h"

#define RATE_100_GBPS 16
/* Selector in path records: exact value. */
#define EXACTLY 2

/* ------------------------------------------------------------------- route */

static void fill_path(struct ib_user_path_rec *rec, const struct cm_path *path)
{
	memcpy(rec->dgid, cm_path_dgid(path), sizeof(rec->dgid));
	memcpy(rec->sgid, cm_path_sgid(path), sizeof(rec->sgid));
	rec->dlid = htobe16(path->port.lid);
	rec->slid = htobe16(path->device->lid);
	rec->pkey = htobe16(CM_PKEY);
	rec->reversible = 1;
	rec->mtu = IBV_MTU_4096;
	rec->hop_limit = cm_path_hops(path);
	rec->traffic_class = path->traffic_class;
	rec->numb_path = 1;
	rec->mtu_selector = EXACTLY;
	rec->rate_selector = EXACTLY;
	rec->rate = RATE_100_GBPS;
	rec->packet_life_time_selector = EXACTLY;
	rec->packet_life_time = path->life_time;
}

/* Without a route yet: only the GIDs. */
static void fill_gids(struct ib_user_path_rec *rec, const struct cm_id *id)
{
	if (id->path.device->lid) {
		memcpy(rec->dgid, cm_path_dgid(&id->path), sizeof(rec->dgid));
		memcpy(rec->sgid, cm_path_sgid(&id->path), sizeof(rec->sgid));
	} else {
		cm_address_gid(&id->dst, rec->dgid);
		cm_address_gid(&id->src, rec->sgid);
	}
	rec->pkey = htobe16(CM_PKEY);
}

static void copy_in6(struct sockaddr_in6 *to, const union cm_address *from)
{
	u32 size = cm_address_size(from);

	memcpy(to, from, size < sizeof(*to) ? size : sizeof(*to));
}

static void fill_device(struct rdma_ucm_query_route_resp *resp, const struct cm_id *id)
{
	const struct device *device = id->path.device;

	memcpy(&resp->node_guid, device->node_guid, sizeof(resp->node_guid));
	resp->port_num = 1;
	resp->ibdev_index = device->index;
	if (id->route) {
		resp->num_paths = 1;
		fill_path(&resp->ib_route[0], &id->path);
	} else {
		fill_gids(&resp->ib_route[0], id);
	}
}

int cm_cmd_query_route(const struct cm_call *call)
{
	struct rdma_ucm_query_route_resp resp;
	u32 size = call->out_length;
	struct rdma_ucm_query cmd;
	struct cm_id *id;
	int err;

	if (size < offsetof(struct rdma_ucm_query_route_resp, ibdev_index))
		return -ENOSPC;
	err = cm_get(call, &cmd, sizeof(cmd));
	if (!err)
		err = cm_call_id(call, cmd.id, &id);
	if (err)
		return err;
	memset(&resp, 0, sizeof(resp));
	copy_in6(&resp.src_addr, &id->src);
	copy_in6(&resp.dst_addr, &id->dst);
	if (id->path.device)
		fill_device(&resp, id);
	return cm_put(call, cmd.response, &resp, size < sizeof(resp) ? size : sizeof(resp));
}

/* ------------------------------------------------------------ address, gid, path */

static void put_addresses(struct rdma_ucm_query_addr_resp *resp, const struct cm_id *id)
{
	const struct device *device = id->path.device;

	if (!device)
		return;
	memcpy(&resp->node_guid, device->node_guid, sizeof(resp->node_guid));
	resp->port_num = 1;
	resp->pkey = htobe16(CM_PKEY);
	resp->ibdev_index = device->index;
}

static void put_ib(void *to, const struct cm_id *id, const union cm_address *address, const u8 *gid)
{
	struct cm_address_ib ib = { .family = CM_AF_IB };
	u64 sid = htobe64(cm_service_id(id, address));

	if (address->any.sa_family == CM_AF_IB) {
		ib = address->ib;
	} else {
		ib.pkey = id->path.device ? htobe16(CM_PKEY) : 0;
		memcpy(ib.sid, &sid, sizeof(sid));
		if (gid)
			memcpy(ib.gid, gid, sizeof(ib.gid));
	}
	memcpy(to, &ib, sizeof(ib));
}

static int query_address(const struct cm_call *call, const struct rdma_ucm_query *cmd,
			 const struct cm_id *id)
{
	struct rdma_ucm_query_addr_resp resp;
	u32 size = call->out_length;

	if (size < offsetof(struct rdma_ucm_query_addr_resp, ibdev_index))
		return -ENOSPC;
	memset(&resp, 0, sizeof(resp));
	put_addresses(&resp, id);
	if (cmd->option == RDMA_USER_CM_QUERY_ADDR) {
		resp.src_size = (u16)cm_address_size(&id->src);
		resp.dst_size = (u16)cm_address_size(&id->dst);
		memcpy(&resp.src_addr, &id->src, resp.src_size);
		memcpy(&resp.dst_addr, &id->dst, resp.dst_size);
	} else {
		resp.src_size = resp.dst_size = sizeof(struct cm_address_ib);
		put_ib(&resp.src_addr, id, &id->src,
		       id->path.device ? cm_path_sgid(&id->path) : NULL);
		put_ib(&resp.dst_addr, id, &id->dst, cm_path_dgid(&id->path));
	}
	return cm_put(call, cmd->response, &resp, size < sizeof(resp) ? size : sizeof(resp));
}

static void pack_path(struct ibv_path_record *rec, const struct cm_path *path)
{
	memcpy(&rec->dgid, cm_path_dgid(path), sizeof(rec->dgid));
	memcpy(&rec->sgid, cm_path_sgid(path), sizeof(rec->sgid));
	rec->dlid = htobe16(path->port.lid);
	rec->slid = htobe16(path->device->lid);
	rec->flowlabel_hoplimit = htobe32(cm_path_hops(path));
	rec->tclass = path->traffic_class;
	rec->reversible_numpath = 1 << 7 | 1;
	rec->pkey = htobe16(CM_PKEY);
	rec->mtu = EXACTLY << 6 | IBV_MTU_4096;
	rec->rate = EXACTLY << 6 | RATE_100_GBPS;
	rec->packetlifetime = (u8)(EXACTLY << 6 | path->life_time);
}

static int query_path(const struct cm_call *call, const struct rdma_ucm_query *cmd,
		      const struct cm_id *id)
{
	struct {
		struct rdma_ucm_query_path_resp head;
		struct ib_path_rec_data data;
	} resp;
	size_t size = sizeof(resp.head);

	if (call->out_length < sizeof(resp.head))
		return -ENOSPC;
	memset(&resp, 0, sizeof(resp));
	resp.head.num_paths = id->route;
	if (id->route && call->out_length > sizeof(resp.head) + sizeof(resp.data)) {
		struct ibv_path_record rec = { .tclass = 0 };

		static_assert(sizeof(rec) == sizeof(resp.data.path_rec), "as the agent packs it");
		pack_path(&rec, &id->path);
		memcpy(resp.data.path_rec, &rec, sizeof(rec));
		resp.data.flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
		size = sizeof(resp);
	}
	return cm_put(call, cmd->response, &resp, size);
}

int cm_cmd_query(const struct cm_call *call)
{
	struct rdma_ucm_query cmd;
	struct cm_id *id;
	int err;

	err = cm_get(call, &cmd, sizeof(cmd));
	if (!err)
		err = cm_call_id(call, cmd.id, &id);
	if (err)
		return err;
	switch (cmd.option) {
	case RDMA_USER_CM_QUERY_ADDR:
	case RDMA_USER_CM_QUERY_GID:
		return query_address(call, &cmd, id);
	case RDMA_USER_CM_QUERY_PATH:
		return query_path(call, &cmd, id);
	default:
		return -ENOSYS;
	}
}

/* ------------------------------------------------------- queue pair attributes */

static u32 access_of(const struct cm_conn *conn)
{
	u32 access = IBV_ACCESS_REMOTE_WRITE;

	if (conn->responder_resources)
		access |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
			  NIC_ACCESS_FLUSH_GLOBAL | NIC_ACCESS_FLUSH_PERSISTENT;
	return access;
}

/* Attributes for INIT without a connection, and for UD. */
static int init_unconnected(const struct cm_id *id, struct ib_uverbs_qp_attr *attr)
{
	if (attr->qp_state != IBV_QPS_INIT && id->qp_type != IBV_QPT_UD)
		return -EINVAL;
	attr->qp_attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	attr->port_num = 1;
	if (id->qp_type == IBV_QPT_UD) {
		attr->qkey = id->qkey ? id->qkey : CM_UD_QKEY;
		attr->qp_attr_mask |= IBV_QP_QKEY;
	} else {
		attr->qp_attr_mask |= IBV_QP_ACCESS_FLAGS;
	}
	return 0;
}

static void init_rtr(const struct cm_id *id, struct ib_uverbs_qp_attr *attr)
{
	const struct cm_conn *conn = id->conn;

	attr->qp_attr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			     IBV_QP_RQ_PSN;
	cm_path_ah(&conn->path, &attr->ah_attr);
	attr->path_mtu = conn->path_mtu;
	attr->dest_qp_num = conn->remote_qpn;
	attr->rq_psn = conn->rq_psn;
	if (id->qp_type == IBV_QPT_RC || id->qp_type == IBV_QPT_XRC_RECV) {
		attr->qp_attr_mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		attr->max_dest_rd_atomic = conn->responder_resources;
	}
}

static void init_rts(const struct cm_id *id, struct ib_uverbs_qp_attr *attr)
{
	const struct cm_conn *conn = id->conn;

	attr->qp_attr_mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	attr->sq_psn = conn->sq_psn;
	if (id->qp_type == IBV_QPT_RC || id->qp_type == IBV_QPT_XRC_SEND) {
		attr->qp_attr_mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
		attr->retry_cnt = conn->retry_count;
		attr->rnr_retry = conn->rnr_retry_count;
		attr->max_rd_atomic = conn->initiator_depth;
	}
	if (id->qp_type == IBV_QPT_RC || id->qp_type == IBV_QPT_XRC_SEND ||
	    id->qp_type == IBV_QPT_XRC_RECV) {
		attr->qp_attr_mask |= IBV_QP_TIMEOUT;
		attr->timeout = id->ack_timeout_set ? id->ack_timeout : conn->ack_timeout;
	}
}

static int init_connected(const struct cm_id *id, struct ib_uverbs_qp_attr *attr)
{
	enum cm_conn_state state = id->conn->state;

	if (state > CM_ESTABLISHED)
		return -EINVAL;
	/* Before REP, the peer's queue pair is not known. */
	if (state == CM_REQ_SENT && attr->qp_state != IBV_QPS_INIT)
		return -EINVAL;
	switch (attr->qp_state) {
	case IBV_QPS_INIT:
		attr->qp_attr_mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX |
				     IBV_QP_PORT;
		attr->qp_access_flags = access_of(id->conn);
		attr->port_num = 1;
		return 0;
	case IBV_QPS_RTR:
		init_rtr(id, attr);
		return 0;
	case IBV_QPS_RTS:
		init_rts(id, attr);
		return 0;
	default:
		return -EINVAL;
	}
}

int cm_cmd_init_qp_attr(const struct cm_call *call)
{
	struct rdma_ucm_init_qp_attr cmd;
	struct ib_uverbs_qp_attr attr;
	struct cm_id *id;
	int err;

	if (call->out_length < sizeof(attr))
		return -ENOSPC;
	err = cm_get(call, &cmd, sizeof(cmd));
	if (!err && cmd.qp_state > IBV_QPS_ERR)
		err = -EINVAL;
	if (!err)
		err = cm_call_device_id(call, cmd.id, &id);
	if (err)
		return err;
	memset(&attr, 0, sizeof(attr));
	attr.qp_state = cmd.qp_state;
	if (id->conn && id->qp_type != IBV_QPT_UD)
		err = init_connected(id, &attr);
	else
		err = init_unconnected(id, &attr);
	return err ? err : cm_put(call, cmd.response, &attr, sizeof(attr));
}
