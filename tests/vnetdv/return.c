// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of datagrams that are returned to their sender, between two processes.
 *
 * For each reason, the peer's queue pair cannot take the datagram; deliveries in between must
 * succeed. The same datagram from a queue pair without the flag completes with success.
 */
#include <errno.h>
#include <string.h>

#include "meet.h"
#include "qp.h"

#define DEPTH 8
#define LENGTH 200u
#define BUFFER 4096u

/* A queue pair without VNETDV_QP_CREATE_RETURN_TO_SENDER. */
static struct ibv_qp *plain;
static struct ibv_ah *to_peer, *to_nobody;

/* ------------------------------------------------------------------- objects */

static struct ibv_qp_init_attr_ex attr_of(const struct side *s, enum ibv_qp_type type)
{
	return (struct ibv_qp_init_attr_ex){
		.qp_type = type,
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.cap = { DEPTH, DEPTH, 1, 1, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = s->pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
}

static struct ibv_qp *make_qp(const struct side *s, uint32_t flags)
{
	const struct vnetdv_qp_init_attr own = { .create_flags = flags };
	struct ibv_qp_init_attr_ex attr = attr_of(s, IBV_QPT_UD);
	struct ibv_qp *qp = s->dv.create_qp(s->ctx, &attr, &own);

	CHECK(qp);
	return qp;
}

/* Creation must fail. Returns errno. */
static int refused(const struct side *s, enum ibv_qp_type type,
		   const struct vnetdv_qp_init_attr *own)
{
	struct ibv_qp_init_attr_ex attr = attr_of(s, type);

	errno = 0;
	CHECK(!s->dv.create_qp(s->ctx, &attr, own));
	return errno;
}

static void refusals(const struct side *s)
{
	struct vnetdv_qp_init_attr own = { .create_flags = VNETDV_QP_CREATE_RETURN_TO_SENDER };

	CHECK(refused(s, IBV_QPT_RC, &own) == EOPNOTSUPP);
	CHECK(refused(s, IBV_QPT_UC, &own) == EOPNOTSUPP);
	own.create_flags |= 1u << 31;
	CHECK(refused(s, IBV_QPT_UD, &own) == EINVAL);
	own.create_flags = VNETDV_QP_CREATE_RETURN_TO_SENDER;
	own.comp_mask = 1;
	CHECK(refused(s, IBV_QPT_UD, &own) == EINVAL);
}

static void to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .port_num = 1, .qkey = QKEY };

	CHECK(!qp_to(qp, IBV_QPS_INIT, &attr));
}

static void to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .port_num = 1 };

	CHECK(!qp_to(qp, IBV_QPS_RTR, &attr) && !qp_to(qp, IBV_QPS_RTS, &attr));
}

static struct ibv_ah *ah_of(const struct side *s, const union ibv_gid *gid)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh.dgid = *gid };
	struct ibv_ah *ah;

	attr.grh.sgid_index = GID_INDEX;
	attr.grh.hop_limit = 64;
	ah = ibv_create_ah(s->pd, &attr);
	CHECK(ah);
	return ah;
}

static void set_up(struct side *s)
{
	union ibv_gid nobody;

	CHECK(s->dv.create_qp);
	s->cq = ibv_create_cq(s->ctx, 4 * DEPTH, NULL, NULL, 0);
	CHECK(s->cq);
	s->mr = ibv_reg_mr(s->pd, s->buffer, BUFFER, IBV_ACCESS_LOCAL_WRITE);
	CHECK(s->mr);
	s->qp = make_qp(s, s->sends ? VNETDV_QP_CREATE_RETURN_TO_SENDER : 0);
	plain = make_qp(s, 0);
	to_init(s->qp);
	to_init(plain);
	nobody = side_exchange(s).gid;
	to_peer = ah_of(s, &s->peer.gid);
	/* An address in the same network, so that there is a route, but without a node. */
	nobody.raw[15] ^= 0xff;
	to_nobody = ah_of(s, &nobody);
	if (!s->sends)
		return;
	refusals(s);
	to_rts(s->qp);
	to_rts(plain);
}

static void tear_down(struct side *s)
{
	CHECK(!ibv_destroy_ah(to_peer) && !ibv_destroy_ah(to_nobody));
	CHECK(!s->qp || !ibv_destroy_qp(s->qp));
	CHECK(!ibv_destroy_qp(plain) && !ibv_destroy_cq(s->cq) && !ibv_dereg_mr(s->mr));
	side_end(s);
}

/* ------------------------------------------------------------------- the steps */

/* State of the receiver before the datagram comes. */
enum scene { NOT_READY, READY, SMALL_RECEIVE, GOOD_RECEIVE, GONE };

struct step {
	const char *name;
	enum scene scene;
	/*
	 * The datagram goes to another QP number, has another Q_Key, or goes to a node that does
	 * not exist.
	 */
	bool other_qpn, other_key, nowhere;
	enum ibv_wc_status status;
};

static const struct step steps[] = {
	{ "in INIT", NOT_READY, .status = IBV_WC_REM_OP_ERR },
	{ "no receive", READY, .status = IBV_WC_RNR_RETRY_EXC_ERR },
	{ "delivered", GOOD_RECEIVE, .status = IBV_WC_SUCCESS },
	{ "no receive any more", READY, .status = IBV_WC_RNR_RETRY_EXC_ERR },
	{ "no such queue pair", READY, .other_qpn = true, .status = IBV_WC_REM_OP_ERR },
	{ "another key", READY, .other_key = true, .status = IBV_WC_REM_ACCESS_ERR },
	{ "no such node", READY, .nowhere = true, .status = IBV_WC_RETRY_EXC_ERR },
	{ "delivered again", GOOD_RECEIVE, .status = IBV_WC_SUCCESS },
	{ "small receive", SMALL_RECEIVE, .status = IBV_WC_REM_INV_REQ_ERR },
	{ "destroyed", GONE, .status = IBV_WC_REM_OP_ERR },
};

static void post_send(const struct side *s, struct ibv_qp *ibqp, const struct step *t, uint64_t id)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(ibqp);

	ibv_wr_start(qp);
	qp->wr_id = id;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qp);
	ibv_wr_set_ud_addr(qp, t->nowhere ? to_nobody : to_peer,
			   t->other_qpn ? 0xfffffe : s->peer.qpn, t->other_key ? QKEY + 1 : QKEY);
	ibv_wr_set_sge(qp, s->mr->lkey, (uintptr_t)s->buffer, LENGTH);
	CHECK(!ibv_wr_complete(qp));
}

static void ends_with(const struct side *s, struct ibv_qp *qp, uint64_t id,
		      enum ibv_wc_status status)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_wc wc = wait_for(s->cq);

	CHECK(wc.wr_id == id && wc.qp_num == qp->qp_num);
	if (wc.status != status)
		fprintf(stderr, "%s\n", ibv_wc_status_str(wc.status));
	CHECK(wc.status == status);
	CHECK(!ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) && attr.qp_state == IBV_QPS_RTS);
}

static void send_step(struct side *s, const struct step *t, uint64_t id)
{
	/* The receiver is ready for the step. */
	meet(s->sock);
	memset(s->buffer, (int)id + 1, LENGTH);
	post_send(s, s->qp, t, id);
	ends_with(s, s->qp, id, t->status);
	for (uint32_t i = 0; i < LENGTH; i++)
		CHECK(s->buffer[i] == (uint8_t)(id + 1));
	if (t->status != IBV_WC_SUCCESS) {
		post_send(s, plain, t, id);
		ends_with(s, plain, id, IBV_WC_SUCCESS);
	}
	meet(s->sock);
}

static void post_receive(const struct side *s, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)s->buffer, length, s->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	CHECK(!ibv_post_recv(s->qp, &wr, &bad));
}

static void make_scene(struct side *s, enum scene scene)
{
	if (scene != NOT_READY && s->qp->state == IBV_QPS_INIT)
		to_rts(s->qp);
	if (scene == SMALL_RECEIVE)
		post_receive(s, GRH + LENGTH - 1);
	if (scene == GOOD_RECEIVE)
		post_receive(s, GRH + LENGTH);
	if (scene != GONE)
		return;
	CHECK(!ibv_destroy_qp(s->qp));
	s->qp = NULL;
}

static void receive_step(struct side *s, const struct step *t, uint64_t id)
{
	struct ibv_wc wc;
	int n;

	make_scene(s, t->scene);
	meet(s->sock);
	/* The sender has its completion. */
	meet(s->sock);
	n = ibv_poll_cq(s->cq, 1, &wc);
	CHECK(n == (t->status == IBV_WC_SUCCESS));
	if (!n)
		return;
	CHECK(wc.status == IBV_WC_SUCCESS && wc.byte_len == GRH + LENGTH);
	CHECK(wc.src_qp && s->buffer[GRH] == (uint8_t)(id + 1));
	CHECK(s->buffer[GRH + LENGTH - 1] == (uint8_t)(id + 1));
}

int main(int argc, char **argv)
{
	struct side s = { 0 };

	side_start(&s, argc, argv, VNETDV_CONTEXT_RETURN_TO_SENDER, BUFFER);
	set_up(&s);
	for (uint64_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		snprintf(here, HERE, "%s", steps[i].name);
		if (s.sends)
			send_step(&s, &steps[i], i);
		else
			receive_step(&s, &steps[i], i);
	}
	tear_down(&s);
	return 0;
}
