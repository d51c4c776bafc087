// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connects endpoints by datagrams to the UD queue pair that the peer's name contains.
 *
 *   CONNECT  request of the active side, repeated until it is answered
 *   ACCEPT   answer: the passive side can receive and reply
 *   READY    answer to ACCEPT: the passive side may send requests, too
 *   REJECT   refusal, with a reason
 *   GOODBYE  the endpoint is being freed; all that it sent has been acknowledged. If it
 *            is lost, the peer's next request fails.
 *
 * Datagrams may be lost: CONNECT and ACCEPT are repeated; ACCEPT is also sent again for a
 * repeated CONNECT. If both sides connect at once, the attempt of the smaller name counts.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "am_wirings.h"
#include "connections/am_connections.h"
#include "messages/am_messages.h"
#include "objects/am_mapping.h"
#include "objects/am_process.h"

#define WIRE_MAGIC 0x32434d41u /* "AMC2" */
#define WIRE_VERSION 1
#define WIRE_QKEY 0x414d4332u
#define WIRE_RECEIVES 256u
#define WIRE_SENDS 64u
#define GRH 40u

enum wire_type { WIRE_CONNECT = 1, WIRE_ACCEPT, WIRE_READY, WIRE_REJECT, WIRE_GOODBYE };

/* reason to reject: @from contains the endpoint's current queue pair number */
#define WIRE_MOVED 255

struct wire_message {
	uint32_t magic;
	uint8_t version;
	uint8_t type;
	uint8_t status; /* of a rejection: EBAD... of am.h, or WIRE_MOVED */
	uint8_t unused;
	uint64_t cookie; /* identifies the attempt */
	en_t from, to;
	struct am_offer offer;
};

/* Padding gives the message the alignment that its segment needs. */
struct wire_buffer {
	uint8_t unused[64 - GRH];
	uint8_t grh[GRH];
	struct wire_message message;
};

static_assert(offsetof(struct wire_buffer, message) == 64, "the header comes right before it");

struct am_wire {
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct wire_buffer *receive, *send;
	unsigned int sent, done; /* counts of sends; send buffers are used in a ring */
	struct ibv_ah *ah[WIRE_SENDS]; /* of the last message in each send buffer, or NULL */
};

static void hand_address(const struct am_eb *eb, en_t *name)
{
	const struct am_wire *wire = eb->wire;

	name->qpn = wire->qp->qp_num;
	name->port = 0;
}

static int post_receive(struct am_wire *wire, unsigned int index)
{
	struct ibv_sge sge = { .addr = (uintptr_t)wire->receive[index].grh,
			       .length = GRH + sizeof(struct wire_message),
			       .lkey = wire->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = (uint64_t)index << 8 | AM_WR_WIRE,
				  .sg_list = &sge,
				  .num_sge = 1 },
			   *bad;

	return ibv_post_recv(wire->qp, &wr, &bad);
}

static int qp_to_rts(struct am_eb *eb, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = eb->device->port,
				    .qkey = WIRE_QKEY };

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY))
		return EIO;
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE))
		return EIO;
	attr.qp_state = IBV_QPS_RTS;
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

static struct ibv_qp *make_qp(struct am_eb *eb)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_UD,
					 .send_cq = eb->scq,
					 .recv_cq = eb->rcq,
					 .sq_sig_all = 1,
					 .cap = { .max_send_wr = WIRE_SENDS,
						  .max_recv_wr = WIRE_RECEIVES,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 } };
	struct ibv_qp *qp;

	if (am_cq_room(eb, WIRE_SENDS, WIRE_RECEIVES))
		return NULL;
	qp = ibv_create_qp(eb->device->pd, &attr);
	if (qp && !qp_to_rts(eb, qp))
		return qp;
	if (qp)
		ibv_destroy_qp(qp);
	am_cq_room_back(eb, WIRE_SENDS, WIRE_RECEIVES);
	return NULL;
}

static int hand_open(struct am_eb *eb)
{
	size_t size = (WIRE_RECEIVES + WIRE_SENDS) * sizeof(struct wire_buffer);
	struct am_wire *wire = calloc(1, sizeof(*wire));

	if (!wire)
		return ENOMEM;
	wire->receive = aligned_alloc(64, size);
	if (!wire->receive)
		goto free;
	memset(wire->receive, 0, size);
	wire->send = wire->receive + WIRE_RECEIVES;
	wire->mr = ibv_reg_mr(eb->device->pd, wire->receive, size, IBV_ACCESS_LOCAL_WRITE);
	if (!wire->mr)
		goto free_buffers;
	wire->qp = make_qp(eb);
	if (!wire->qp)
		goto free_mr;
	for (unsigned int i = 0; i < WIRE_RECEIVES; i++) {
		if (post_receive(wire, i))
			goto free_qp;
	}
	eb->wire = wire;
	return 0;
free_qp:
	ibv_destroy_qp(wire->qp);
free_mr:
	ibv_dereg_mr(wire->mr);
free_buffers:
	free(wire->receive);
free:
	free(wire);
	return ENOMEM;
}

static void hand_close(struct am_eb *eb)
{
	struct am_wire *wire = eb->wire;
	uint64_t end = am_now() + AM_FLUSH_NS;

	/* Waits for sends in progress, which may be GOODBYEs. */
	while (wire->sent != wire->done && am_now() < end)
		eb->mapping->poll(eb);
	ibv_destroy_qp(wire->qp);
	for (unsigned int i = 0; i < WIRE_SENDS; i++) {
		if (wire->ah[i])
			ibv_destroy_ah(wire->ah[i]);
	}
	ibv_dereg_mr(wire->mr);
	free(wire->receive);
	free(wire);
}

static struct ibv_ah *make_ah(struct am_eb *eb, const en_t *name)
{
	struct ibv_ah_attr attr = { .port_num = eb->device->port,
				    .dlid = name->lid,
				    .is_global = 1,
				    .grh = { .sgid_index = (uint8_t)eb->device->gid_index,
					     .hop_limit = 64 } };

	memcpy(attr.grh.dgid.raw, name->gid, sizeof(name->gid));
	return ibv_create_ah(eb->device->pd, &attr);
}

/* If the message cannot be sent, it counts as lost. */
static void send_message(struct am_eb *eb, const struct wire_message *message)
{
	struct am_wire *wire = eb->wire;
	unsigned int index = wire->sent % WIRE_SENDS;
	struct wire_message *buffer = &wire->send[index].message;
	struct ibv_sge sge = { .addr = (uintptr_t)buffer,
			       .length = sizeof(*buffer),
			       .lkey = wire->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = AM_WR_SEND | AM_WR_WIRE,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SOLICITED },
			   *bad;

	if (wire->sent - wire->done == WIRE_SENDS)
		return;
	/* The message that was in this buffer before has been sent. */
	if (wire->ah[index])
		ibv_destroy_ah(wire->ah[index]);
	wire->ah[index] = make_ah(eb, &message->to);
	if (!wire->ah[index])
		return;
	*buffer = *message;
	wr.wr.ud.ah = wire->ah[index];
	wr.wr.ud.remote_qpn = message->to.qpn;
	wr.wr.ud.remote_qkey = WIRE_QKEY;
	if (!ibv_post_send(wire->qp, &wr, &bad))
		wire->sent++;
}

static struct wire_message header(enum wire_type type, uint64_t cookie, const en_t *from,
				  const en_t *to)
{
	return (struct wire_message){ .magic = WIRE_MAGIC,
				      .version = WIRE_VERSION,
				      .type = (uint8_t)type,
				      .cookie = cookie,
				      .from = *from,
				      .to = *to };
}

static void send_for(struct am_conn *conn, enum wire_type type)
{
	struct wire_message m = header(type, conn->cookie, &conn->ep->name, &conn->peer);

	m.offer = conn->mine;
	send_message(conn->eb, &m);
}

static void reject(struct am_eb *eb, const struct wire_message *request, int status)
{
	struct wire_message m = header(WIRE_REJECT, request->cookie, &request->to, &request->from);

	m.status = (uint8_t)status;
	send_message(eb, &m);
}

static bool hand_goodbye(struct am_conn *conn)
{
	const struct am_wire *wire = conn->eb->wire;

	if (wire->sent - wire->done == WIRE_SENDS)
		am_drain(conn->eb);
	send_for(conn, WIRE_GOODBYE);
	return false;
}

static void hand_ask(struct am_conn *conn)
{
	if (conn->peer.port) {
		fprintf(stderr, "am: a peer is wired by rdma_cm, this process by hand\n");
		am_wire_forget(conn);
		am_conn_broken(conn, EUNREACHABLE);
		return;
	}
	send_for(conn, WIRE_CONNECT);
}

static void hand_again(struct am_conn *conn)
{
	send_for(conn, conn->state == AM_CONNECTING ? WIRE_CONNECT : WIRE_ACCEPT);
}

static void accept_connection(struct am_conn *conn, const struct wire_message *m)
{
	am_wire_forget(conn);
	conn->cookie = m->cookie;
	conn->peer.qpn = m->from.qpn;
	if (am_conn_connect(conn, &m->offer)) {
		am_conn_broken(conn, EUNREACHABLE);
		reject(conn->eb, m, EUNREACHABLE);
		return;
	}
	conn->state = AM_ACCEPTED;
	am_wire_watch(conn);
	send_for(conn, WIRE_ACCEPT);
}

static void somebody_moved(struct am_eb *eb, const struct wire_message *request)
{
	struct wire_message m = header(WIRE_REJECT, request->cookie, &request->to, &request->from);

	if (!am_endpoint_elsewhere(eb, &request->to, &m.from)) {
		reject(eb, request, EBADENDPOINT);
		return;
	}
	m.status = WIRE_MOVED;
	send_message(eb, &m);
}

static void got_connect(struct am_eb *eb, const struct wire_message *m)
{
	struct am_ep *ep = am_wire_endpoint(eb, &m->to);
	struct am_conn *conn;

	if (!ep) {
		somebody_moved(eb, m);
		return;
	}
	if (!am_wire_same_mapping(m->offer.mapping)) {
		reject(eb, m, EUNREACHABLE);
		return;
	}
	conn = am_conn_find(ep, &m->from);
	if (!conn)
		conn = am_conn_make(ep, &m->from);
	else if (conn->state == AM_CONNECTING && am_wire_smaller(&ep->name, &m->from))
		return;
	else if (conn->state == AM_ACCEPTED && conn->cookie == m->cookie) {
		send_for(conn, WIRE_ACCEPT);
		return;
	} else if (conn->state != AM_CONNECTING) {
		if (conn->state != AM_READY || conn->cookie != m->cookie)
			reject(eb, m, EUNREACHABLE);
		return;
	}
	if (!conn) {
		reject(eb, m, ECONGESTION);
		return;
	}
	accept_connection(conn, m);
}

static void got_accept(struct am_conn *conn, const struct wire_message *m)
{
	if (conn->state == AM_CONNECTING) {
		am_wire_forget(conn);
		if (am_conn_connect(conn, &m->offer)) {
			am_conn_broken(conn, EUNREACHABLE);
			return;
		}
		am_wire_ready(conn);
	}
	if (conn->state == AM_READY)
		send_for(conn, WIRE_READY);
}

static void got_reject(struct am_conn *conn, const struct wire_message *m)
{
	if (conn->state != AM_CONNECTING)
		return;
	if (m->status == WIRE_MOVED) {
		conn->peer.qpn = m->from.qpn;
		send_for(conn, WIRE_CONNECT);
		return;
	}
	if (m->status == ECONGESTION) {
		conn->congested = true; /* the attempt will be repeated */
		return;
	}
	am_wire_forget(conn);
	am_conn_broken(conn, m->status == EBADENDPOINT ? EBADENDPOINT : EUNREACHABLE);
}

static void got_message(struct am_eb *eb, const struct wire_message *m)
{
	struct am_ep *ep;
	struct am_conn *conn;

	if (m->type == WIRE_CONNECT) {
		got_connect(eb, m);
		return;
	}
	ep = am_wire_endpoint(eb, &m->to);
	conn = ep ? am_conn_find(ep, &m->from) : NULL;
	if (!conn || conn->cookie != m->cookie)
		return;
	if (m->type == WIRE_ACCEPT)
		got_accept(conn, m);
	else if (m->type == WIRE_READY && conn->state == AM_ACCEPTED)
		am_wire_ready(conn);
	else if (m->type == WIRE_REJECT)
		got_reject(conn, m);
	else if (m->type == WIRE_GOODBYE && conn->state == AM_READY)
		am_conn_broken(conn, EBADENDPOINT);
}

static void hand_completion(struct am_eb *eb, const struct ibv_wc *wc)
{
	unsigned int index = (unsigned int)(wc->wr_id >> 8);
	struct am_wire *wire = eb->wire;
	const struct wire_message *m;

	if (wc->wr_id & AM_WR_SEND) {
		wire->done++;
		return;
	}
	m = &wire->receive[index].message;
	if (wc->status == IBV_WC_SUCCESS && wc->byte_len == GRH + sizeof(*m) &&
	    m->magic == WIRE_MAGIC && m->version == WIRE_VERSION) {
		struct wire_message copy = *m;

		got_message(eb, &copy);
	}
	if (wc->status == IBV_WC_SUCCESS)
		post_receive(wire, index);
}

const struct am_wiring am_wiring_hand = {
	.name = "hand",
	.open = hand_open,
	.close = hand_close,
	.address = hand_address,
	.ask = hand_ask,
	.again = hand_again,
	.connect_qp = am_qp_connect_by_hand,
	.goodbye = hand_goodbye,
	.completion = hand_completion,
};
