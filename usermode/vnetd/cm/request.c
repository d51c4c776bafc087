// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Handles received connection requests: finds the listener, and creates the new id. */
#include <arpa/inet.h>
#include <endian.h>
#include <infiniband/verbs.h>

#include "inside.h"

/* ---------------------------------------------------- addresses in private data */

static void put_ip(struct mad *mad, u32 at, const union cm_address *address)
{
	if (address->any.sa_family == AF_INET)
		memcpy(&mad->byte[at + 12], &address->in.sin_addr, 4);
	else
		memcpy(&mad->byte[at], &address->in6.sin6_addr, 16);
}

u32 cm_ip_header_size(const struct cm_id *id)
{
	return id->src.any.sa_family == CM_AF_IB ? 0 : IP_HEADER_SIZE;
}

void cm_put_ip_header(struct mad *mad, u32 at, const struct cm_id *id)
{
	if (!cm_ip_header_size(id))
		return;
	mad->byte[at + IP_HEADER_VERSION] = 0;
	mad->byte[at + IP_HEADER_FAMILY] = (id->src.any.sa_family == AF_INET ? 4 : 6) << 4;
	mad_put16(mad, at + IP_HEADER_PORT, cm_address_port(&id->src));
	put_ip(mad, at + IP_HEADER_SOURCE, &id->src);
	put_ip(mad, at + IP_HEADER_DESTINATION, &id->dst);
}

static void get_ip(const struct mad *mad, u32 at, u32 version, union cm_address *address, u16 port)
{
	memset(address, 0, sizeof(*address));
	if (version == 4) {
		address->in.sin_family = AF_INET;
		memcpy(&address->in.sin_addr, &mad->byte[at + 12], 4);
	} else {
		address->in6.sin6_family = AF_INET6;
		memcpy(&address->in6.sin6_addr, &mad->byte[at], 16);
	}
	cm_address_set_port(address, port);
}

bool cm_get_addresses(const struct cm_arrival *arrival, u32 at, u64 service_id,
		      union cm_address *src, union cm_address *dst)
{
	const struct mad *mad = &arrival->mad;
	u32 version = mad->byte[at + IP_HEADER_FAMILY] >> 4;

	if (mad->byte[at + IP_HEADER_VERSION] != 0 || (version != 4 && version != 6)) {
		cm_address_of_port(arrival->sgid, 0, src);
		cm_address_of_port(arrival->dgid, service_id, dst);
		return false;
	}
	get_ip(mad, at + IP_HEADER_SOURCE, version, src, mad_get16(mad, at + IP_HEADER_PORT));
	get_ip(mad, at + IP_HEADER_DESTINATION, version, dst, (u16)service_id);
	return true;
}

/* -------------------------------------------------------------------- ids */

bool cm_arrival_path(const struct cm_arrival *arrival, struct cm_path *path)
{
	u8 index = 0;

	memset(path, 0, sizeof(*path));
	if (cm_gid_device(arrival->device->daemon, arrival->dgid, &index) != arrival->device)
		return false;
	path->device = arrival->device;
	path->sgid_index = index;
	memcpy(path->dgid, arrival->sgid, sizeof(path->dgid));
	path->hop_limit = 64;
	return true;
}

bool cm_is_peers(const struct cm_conn *conn, const struct cm_arrival *arrival)
{
	struct lid_port port;

	if (!conn->path.device->lid)
		return memcmp(conn->path.dgid, arrival->sgid, sizeof(arrival->sgid)) == 0;
	/* A port has several GIDs: compare LIDs. */
	return lid_find(conn->path.device->daemon, arrival->sgid, &port) &&
	       port.lid == conn->path.port.lid;
}

struct cm_id *cm_request_id(struct cm_id *listener, const struct cm_arrival *arrival,
			    const union cm_address *src, const union cm_address *dst,
			    u64 service_id)
{
	struct cm_path path;
	struct cm_id *id;

	if (!listener->backlog || !cm_arrival_path(arrival, &path) || cm_path_complete(&path))
		return NULL;
	if (cm_id_new(listener->file, listener->ps, listener->qp_type, &id))
		return NULL;
	id->pid = listener->pid;
	id->path = path;
	id->route = true;
	if (listener->src.any.sa_family == CM_AF_IB) {
		cm_address_of_port(cm_path_sgid(&path), service_id, &id->src);
		cm_address_of_port(cm_path_dgid(&path), 0, &id->dst);
	} else {
		id->src = *dst;
		id->dst = *src;
	}
	id->tos = listener->tos;
	id->ack_timeout = listener->ack_timeout;
	id->ack_timeout_set = listener->ack_timeout_set;
	id->qkey = listener->qkey;
	id->state = CM_ID_CONNECT;
	listener->backlog--;
	return id;
}

void cm_request_drop(struct cm_id *listener, struct cm_id *id)
{
	listener->backlog++;
	cm_id_destroy(id);
}

/* --------------------------------------------------------------------- REQ */

void cm_refuse_req(struct cm *cm, const struct cm_arrival *arrival, u32 reason)
{
	struct cm_path path;
	struct mad mad;

	if (!cm_arrival_path(arrival, &path))
		return;
	mad_begin(&mad, CM_REJ, mad_get64(&arrival->mad, MAD_TID));
	mad_put32(&mad, CM_REMOTE_ID, mad_get32(&arrival->mad, CM_LOCAL_ID));
	mad_put16(&mad, REJ_REASON, reason);
	cm_transmit(cm, &path, &mad);
}

/* Whether the sender's port has no LID, as it is of the other link layer. */
static bool lacks_lid(const struct cm_arrival *arrival)
{
	struct cm_path path;

	return cm_arrival_path(arrival, &path) && cm_path_complete(&path);
}

/* Whether the connection has ended, or is one of SIDR. */
static bool over(const struct cm_conn *conn)
{
	return conn->state > CM_TIMEWAIT;
}

/* Whether this is a repeated REQ. If so, repeats the answer to it. */
static bool is_repeated(struct cm *cm, const struct cm_arrival *arrival)
{
	u32 remote_id = mad_get32(&arrival->mad, CM_LOCAL_ID);
	u64 guid = mad_get64(&arrival->mad, REQ_CA_GUID);
	struct cm_conn *conn;

	for (conn = cm->conns; conn; conn = conn->next) {
		if (conn->active || over(conn) || conn->remote_id != remote_id ||
		    conn->remote_guid != guid || !cm_is_peers(conn, arrival))
			continue;
		if (conn->state == CM_REQ_RECEIVED)
			cm_send_mra(conn);
		else if (conn->state == CM_REP_SENT)
			cm_transmit(cm, &conn->path, &conn->last);
		return true;
	}
	return false;
}

/*
 * Whether the peer's queue pair is still connected to this node by another connection, whose end
 * was not received. Ends that connection. GUID and queue pair number are claims of the message,
 * so cm_is_peers() keeps other nodes from ending a connection.
 */
static bool is_stale(struct cm *cm, const struct cm_arrival *arrival)
{
	u32 qpn = mad_get24(&arrival->mad, REQ_QPN);
	u64 guid = mad_get64(&arrival->mad, REQ_CA_GUID);
	struct cm_conn *conn;

	for (conn = cm->conns; conn && qpn; conn = conn->next) {
		if (over(conn) || conn->state == CM_REQ_SENT || conn->remote_qpn != qpn ||
		    conn->remote_guid != guid || !cm_is_peers(conn, arrival))
			continue;
		if (conn->state == CM_ESTABLISHED)
			cm_send_dreq(conn);
		return true;
	}
	return false;
}

static bool fits(const struct cm_id *listener, const struct mad *mad)
{
	u32 transport = mad->byte[REQ_TRANSPORT] >> 1 & 3;

	switch (listener->qp_type) {
	case IBV_QPT_RC:
		return transport == 0;
	case IBV_QPT_UC:
		return transport == 1;
	case IBV_QPT_XRC_RECV:
		return transport == 3 && (mad->byte[REQ_CM_RETRIES] & 7) == 1;
	default:
		return false;
	}
}

static void take_req(struct cm_conn *conn, const struct mad *mad)
{
	conn->remote_id = mad_get32(mad, CM_LOCAL_ID);
	conn->remote_guid = mad_get64(mad, REQ_CA_GUID);
	conn->tid = mad_get64(mad, MAD_TID);
	conn->service_id = mad_get64(mad, REQ_SERVICE_ID);
	conn->remote_qpn = mad_get24(mad, REQ_QPN);
	conn->sq_psn = mad_get24(mad, REQ_PSN);
	conn->path_mtu = mad->byte[REQ_MTU_RNR] >> 4;
	if (conn->path_mtu < IBV_MTU_256 || conn->path_mtu > IBV_MTU_4096)
		conn->path_mtu = IBV_MTU_4096;
	conn->initiator_depth = mad->byte[REQ_RESPONDER_RESOURCES];
	conn->responder_resources = mad->byte[REQ_INITIATOR_DEPTH];
	conn->retry_count = mad->byte[REQ_RETRY] & 7;
	conn->rnr_retry_count = mad->byte[REQ_MTU_RNR] & 7;
	conn->ack_timeout = mad->byte[REQ_ACK_TIMEOUT] >> 3;
	conn->path.life_time = conn->ack_timeout ? (u8)(conn->ack_timeout - 1) : 0;
	conn->path.traffic_class = mad->byte[REQ_TCLASS];
	/* The peer's timeout and retry limit also apply to our answers. */
	conn->response_timeout = mad->byte[REQ_RETRY] >> 3;
	conn->most_retries = mad->byte[REQ_CM_RETRIES] >> 4;
}

static bool report_request(struct cm_id *listener, struct cm_id *id, const struct mad *mad)
{
	struct rdma_ucm_event_resp resp = { .event = CM_EVENT_CONNECT_REQUEST };
	struct rdma_ucm_conn_param *param = &resp.param.conn;
	u32 header = cm_ip_header_size(listener), length = REQ_PRIVATE_SIZE - header;

	param->qp_num = mad_get24(mad, REQ_QPN);
	/* From the passive side's view, the values are swapped. */
	param->responder_resources = mad->byte[REQ_INITIATOR_DEPTH];
	param->initiator_depth = mad->byte[REQ_RESPONDER_RESOURCES];
	param->flow_control = mad->byte[REQ_TRANSPORT] & 1;
	param->retry_count = mad->byte[REQ_RETRY] & 7;
	param->rnr_retry_count = mad->byte[REQ_MTU_RNR] & 7;
	param->srq = mad->byte[REQ_CM_RETRIES] >> 3 & 1;
	param->private_data_len = (u8)length;
	memcpy(param->private_data, &mad->byte[REQ_PRIVATE + header], length);
	resp.ece.vendor_id = mad_get24(mad, REQ_VENDOR_ID);
	resp.ece.attr_mod = mad_get32(mad, MAD_MODIFIER);
	return cm_event(listener, NULL, id, &resp);
}

void cm_on_req(struct cm *cm, const struct cm_arrival *arrival)
{
	const struct mad *mad = &arrival->mad;
	u64 service_id = mad_get64(mad, REQ_SERVICE_ID);
	union cm_address src, dst;
	struct cm_id *owner, *id;
	struct cm_conn *conn;
	bool by_ip, fit;

	if (is_repeated(cm, arrival))
		return;
	if (is_stale(cm, arrival)) {
		cm_refuse_req(cm, arrival, CM_REJ_STALE_CONN);
		return;
	}
	by_ip = cm_get_addresses(arrival, REQ_PRIVATE, service_id, &src, &dst);
	owner = cm_early_owner(cm, arrival, service_id, &dst);
	if (!owner && !by_ip &&
	    cm_port_owner(cm, CM_ID_LISTEN, service_id, NULL, arrival->device)) {
		cm_refuse_req(cm, arrival, CM_REJ_CONSUMER_DEFINED);
		return;
	}
	fit = owner && fits(owner, mad);
	if (owner ? fit && cm_early_keep(owner, arrival) :
		    cm_early_keep_port(cm, arrival, service_id))
		return;
	if (!fit || owner->state != CM_ID_LISTEN) {
		if (!owner && by_ip)
			cm_neighbour_report(cm, arrival, &dst);
		cm_refuse_req(cm, arrival, CM_REJ_INVALID_SERVICE_ID);
		return;
	}
	if (lacks_lid(arrival)) {
		cm_refuse_req(cm, arrival, CM_REJ_INVALID_LID);
		return;
	}
	/* The backlog is full or memory is short: drop the REQ, which the peer will resend. */
	id = cm_request_id(owner, arrival, &src, &dst, service_id);
	if (!id)
		return;
	if (cm_conn_new(cm, id, &id->path, &conn)) {
		cm_request_drop(owner, id);
		return;
	}
	take_req(conn, mad);
	/* The program needs the PSN before it accepts: it sets up its queue pair first. */
	conn->rq_psn = id->psn;
	id->path = conn->path;
	conn->state = CM_REQ_RECEIVED;
	if (!report_request(owner, id, mad))
		cm_request_drop(owner, id);
}
