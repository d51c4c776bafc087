// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A queue pair in the kernel that answers a process's queue pair. */
#include <linux/mm.h>
#include <linux/slab.h>

#include "ktest.h"
#include "vnet_ktest.h"

struct kt_slot {
	struct kt_session *session;
	struct ib_cqe recv, send;
	u64 dma;
	u8 *at;
	u32 length;
};

struct kt_session {
	struct ib_device *dev;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	/* Buffer of messages, and memory that the process may write and read. */
	struct kt_buffer messages, memory;
	struct kt_region region;
	struct vnet_ktest_end peer;
	struct kt_slot slot[VNET_KTEST_DEPTH];
	/* State of the request of kt_session_wait(). */
	struct ib_cqe cqe;
	struct completion ended;
	enum ib_wc_status status;
};

/* ------------------------------------------------------------------ answers */

static int kt_slot_receive(struct kt_slot *slot)
{
	struct kt_session *s = slot->session;
	struct ib_sge sge = { slot->dma, VNET_KTEST_MESSAGE, s->pd->local_dma_lkey };
	struct ib_recv_wr wr = { .wr_cqe = &slot->recv, .sg_list = &sge, .num_sge = 1 };

	return ib_post_recv(s->qp, &wr, NULL);
}

/* Completion handler of a receive, in softirq: returns the message with its bits inverted. */
static void kt_slot_got(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kt_slot *slot = container_of(wc->wr_cqe, struct kt_slot, recv);
	struct kt_session *s = slot->session;
	struct ib_sge sge = { slot->dma, wc->byte_len, s->pd->local_dma_lkey };
	struct ib_send_wr wr = {
		.wr_cqe = &slot->send,
		.opcode = IB_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.send_flags = IB_SEND_SIGNALED,
	};
	u32 i;

	if (wc->status)
		return;
	for (i = 0; i < wc->byte_len; i++)
		slot->at[i] = ~slot->at[i];
	ib_post_send(s->qp, &wr, NULL);
}

static void kt_slot_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	if (!wc->status)
		kt_slot_receive(container_of(wc->wr_cqe, struct kt_slot, send));
}

static int kt_session_receive(struct kt_session *s)
{
	int i, err = 0;

	for (i = 0; i < VNET_KTEST_DEPTH && !err; i++) {
		struct kt_slot *slot = &s->slot[i];

		slot->session = s;
		slot->recv.done = kt_slot_got;
		slot->send.done = kt_slot_sent;
		slot->at = s->messages.at + i * VNET_KTEST_MESSAGE;
		slot->dma = s->messages.dma + i * VNET_KTEST_MESSAGE;
		err = kt_slot_receive(slot);
	}
	return err;
}

/* ------------------------------------------------------ the session's requests */

static void kt_session_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kt_session *s = container_of(wc->wr_cqe, struct kt_session, cqe);

	s->status = wc->status;
	complete(&s->ended);
}

static int kt_session_wait(struct kt_session *s, struct ib_send_wr *wr)
{
	int err;

	s->cqe.done = kt_session_done;
	reinit_completion(&s->ended);
	wr->wr_cqe = &s->cqe;
	wr->send_flags = IB_SEND_SIGNALED;
	err = ib_post_send(s->qp, wr, NULL);
	if (err)
		return err;
	/* No time limit: without an answer, the request fails when its retries are used up. */
	wait_for_completion(&s->ended);
	return s->status ? -EIO : 0;
}

int kt_session_copy(struct kt_session *s, bool write)
{
	struct ib_sge sge = { s->memory.dma, min(s->peer.length, KT_BUFFER),
			      s->pd->local_dma_lkey };
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = write ? IB_WR_RDMA_WRITE : IB_WR_RDMA_READ,
			.sg_list = &sge,
			.num_sge = 1,
		},
		.remote_addr = s->peer.addr,
		.rkey = s->peer.rkey,
	};

	return s->peer.length ? kt_session_wait(s, &wr.wr) : -EINVAL;
}

static int kt_session_register(struct kt_session *s)
{
	struct ib_reg_wr wr;

	kt_region_register(&s->region, &wr);
	return kt_session_wait(s, &wr.wr);
}

/* --------------------------------------------------------------------- life */

static int kt_session_qp(struct kt_session *s)
{
	struct ib_qp_init_attr init = {
		.cap = {
			.max_send_wr = VNET_KTEST_DEPTH + 2,
			.max_recv_wr = VNET_KTEST_DEPTH + 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
		.port_num = 1,
	};
	struct ib_cq *cq;
	struct ib_qp *qp;

	cq = ib_alloc_cq(s->dev, s, 2 * VNET_KTEST_DEPTH + 4, 0, IB_POLL_SOFTIRQ);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	s->cq = cq;
	init.send_cq = cq;
	init.recv_cq = cq;
	qp = ib_create_qp(s->pd, &init);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	s->qp = qp;
	return kt_to_init(qp);
}

static int kt_session_make(struct kt_session *s)
{
	struct ib_pd *pd = ib_alloc_pd(s->dev, 0);

	if (IS_ERR(pd))
		return PTR_ERR(pd);
	s->pd = pd;
	return kt_buffer_make(s->dev, &s->messages)       ?:
		       kt_buffer_make(s->dev, &s->memory) ?:
		       kt_session_qp(s)                   ?:
		       kt_region_make(pd, &s->region, &s->memory);
}

static struct kt_session *kt_session_new(struct ib_device *dev)
{
	struct kt_session *s = kzalloc(sizeof(*s), GFP_KERNEL);
	int err;

	if (!s)
		return ERR_PTR(-ENOMEM);
	s->dev = dev;
	init_completion(&s->ended);
	err = kt_session_make(s);
	if (!err)
		return s;
	kt_session_close(s);
	return ERR_PTR(err);
}

static int kt_session_connect(struct kt_session *s, struct vnet_ktest_connect *connect)
{
	const struct ib_gid_attr *gid;
	union ib_gid peer;

	s->peer = connect->end;
	memcpy(peer.raw, s->peer.gid, sizeof(peer.raw));
	KT_TRY(kt_to_rts(s->qp, s->peer.qpn, &peer));
	KT_TRY(kt_session_receive(s));
	KT_TRY(kt_session_register(s));
	gid = kt_gid(s->dev);
	if (IS_ERR(gid))
		return PTR_ERR(gid);
	connect->end = (struct vnet_ktest_end){
		.qpn = s->qp->qp_num,
		.rkey = s->region.mr->rkey,
		.addr = s->region.mr->iova,
		.length = KT_BUFFER,
	};
	memcpy(connect->end.gid, gid->gid.raw, sizeof(gid->gid.raw));
	rdma_put_gid_attr(gid);
	return 0;
}

struct kt_session *kt_session_open(struct ib_device *dev, struct vnet_ktest_connect *connect)
{
	struct kt_session *s = kt_session_new(dev);
	int err;

	if (IS_ERR(s))
		return s;
	err = kt_session_connect(s, connect);
	if (!err)
		return s;
	kt_session_close(s);
	return ERR_PTR(err);
}

struct kt_session *kt_session_hold(struct ib_device *dev)
{
	return kt_session_new(dev);
}

bool kt_session_is_on(const struct kt_session *s, const struct ib_device *dev)
{
	return s->dev == dev;
}

void kt_session_close(struct kt_session *s)
{
	if (s->qp) {
		ib_drain_qp(s->qp);
		ib_destroy_qp(s->qp);
	}
	kt_region_free(&s->region);
	if (s->cq)
		ib_free_cq(s->cq);
	kt_buffer_free(s->dev, &s->memory);
	kt_buffer_free(s->dev, &s->messages);
	if (s->pd)
		ib_dealloc_pd(s->pd);
	kfree(s);
}
