// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of flushes between two processes. Checks the access rights that they need, and that earlier
 * writes are visible to the peer when a flush is complete.
 *
 * Both processes execute the same steps, and synchronize by a socket before each step.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meet.h"
#include "qp.h"

#define BUFFER (256u << 10)
#define DEPTH 16
#define WRITES 4u
/* IBV_DEVICE_FLUSH_GLOBAL and IBV_DEVICE_FLUSH_PERSISTENT */
#define DEVICE_GLOBAL (1ull << 38)
#define DEVICE_PERSISTENT (1ull << 39)
#define BOTH (VNETDV_FLUSH_GLOBAL | VNETDV_FLUSH_PERSISTENT)
#define WRITABLE (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

struct step {
	const char *what;
	uint8_t type, level;
	/* Added to the length that was written. */
	uint64_t more;
	/* Access rights in addition to remote write. */
	unsigned int region, qp;
	enum ibv_wc_status status;
};

#define RIGHTS                                                                                     \
	.region = VNETDV_ACCESS_FLUSH_GLOBAL,                                                      \
	.qp = VNETDV_ACCESS_FLUSH_GLOBAL | VNETDV_ACCESS_FLUSH_PERSISTENT

static const struct step steps[] = {
	{ "a range", VNETDV_FLUSH_GLOBAL, VNETDV_FLUSH_RANGE, RIGHTS },
	{ "a region", VNETDV_FLUSH_GLOBAL, VNETDV_FLUSH_MR, RIGHTS },
	{ "a region, with any length", VNETDV_FLUSH_GLOBAL, VNETDV_FLUSH_MR, ~0u, RIGHTS },
	{ "too long a range", VNETDV_FLUSH_GLOBAL, VNETDV_FLUSH_RANGE, 1, RIGHTS,
	  .status = IBV_WC_REM_ACCESS_ERR },
	{ "a persistent range", VNETDV_FLUSH_PERSISTENT, VNETDV_FLUSH_RANGE, RIGHTS,
	  .status = IBV_WC_REM_ACCESS_ERR },
	{ "both in a region", BOTH, VNETDV_FLUSH_MR, RIGHTS, .status = IBV_WC_REM_ACCESS_ERR },
	{ "a region that is not for it", VNETDV_FLUSH_GLOBAL, VNETDV_FLUSH_MR,
	  .qp = VNETDV_ACCESS_FLUSH_GLOBAL, .status = IBV_WC_REM_ACCESS_ERR },
	{ "a queue pair that is not for it", VNETDV_FLUSH_GLOBAL, VNETDV_FLUSH_MR,
	  .region = VNETDV_ACCESS_FLUSH_GLOBAL, .status = IBV_WC_REM_INV_REQ_ERR },
	{ "nothing", 0, VNETDV_FLUSH_MR, RIGHTS, .status = IBV_WC_LOC_QP_OP_ERR },
	{ "a type that there is not", 4, VNETDV_FLUSH_MR, RIGHTS, .status = IBV_WC_LOC_QP_OP_ERR },
	{ "a level that there is not", VNETDV_FLUSH_GLOBAL, 2, RIGHTS,
	  .status = IBV_WC_LOC_QP_OP_ERR },
};

static void check_device(struct side *s)
{
	struct ibv_device_attr_ex attr;

	CHECK(s->dv.wr_flush);
	CHECK(!ibv_query_device_ex(s->ctx, NULL, &attr));
	CHECK((attr.device_cap_flags_ex & (DEVICE_GLOBAL | DEVICE_PERSISTENT)) == DEVICE_GLOBAL);
}

/* Registration for persistent flushes fails, because no memory is persistent. */
static void refuse_regions(struct side *s)
{
	errno = 0;
	CHECK(!ibv_reg_mr(s->pd, s->buffer, BUFFER, WRITABLE | VNETDV_ACCESS_FLUSH_PERSISTENT) &&
	      errno == EOPNOTSUPP);
	CHECK(!ibv_reg_mr(s->pd, s->buffer, BUFFER,
			  WRITABLE | VNETDV_ACCESS_FLUSH_GLOBAL | VNETDV_ACCESS_FLUSH_PERSISTENT) &&
	      errno == EOPNOTSUPP);
}

static void make_qp(struct side *s)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { DEPTH, DEPTH, 1, 1, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = s->pd,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE,
	};

	s->cq = ibv_create_cq(s->ctx, 4 * DEPTH, NULL, NULL, 0);
	CHECK(s->cq);
	attr.send_cq = s->cq;
	attr.recv_cq = s->cq;
	s->qp = ibv_create_qp_ex(s->ctx, &attr);
	CHECK(s->qp);
}

static void bring_up(struct side *s, unsigned int access)
{
	struct ibv_qp_attr attr = qp_attr_to(s->peer.qpn, &s->peer.gid, GID_INDEX);

	attr.path_mtu = IBV_MTU_4096;
	attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | access;
	CHECK(!qp_to_rts(s->qp, &attr));
}

static void begin(struct side *s, const struct step *t)
{
	snprintf(here, sizeof(here), "%s", t->what);
	memset(s->buffer, s->sends ? 0x5a : 0, BUFFER);
	s->mr = ibv_reg_mr(s->pd, s->buffer, BUFFER, (int)(WRITABLE | t->region));
	CHECK(s->mr);
	make_qp(s);
	(void)side_exchange(s);
	bring_up(s, t->qp);
	meet(s->sock);
}

static void end(struct side *s)
{
	meet(s->sock);
	CHECK(!ibv_destroy_qp(s->qp) && !ibv_destroy_cq(s->cq));
	CHECK(!ibv_dereg_mr(s->mr));
}

/* Writes to the whole of the peer's buffer with unsignaled requests, and then flushes. */
static void send_step(struct side *s, const struct step *t)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(s->qp);
	uint32_t part = BUFFER / WRITES;
	struct ibv_wc wc;

	ibv_wr_start(qp);
	qp->wr_flags = 0;
	for (uint32_t i = 0; i < WRITES; i++) {
		ibv_wr_rdma_write(qp, s->peer.rkey, s->peer.addr + (uint64_t)i * part);
		ibv_wr_set_sge(qp, s->mr->lkey, (uintptr_t)s->buffer + (uint64_t)i * part, part);
	}
	qp->wr_id = 77;
	qp->wr_flags = IBV_SEND_SIGNALED;
	s->dv.wr_flush(qp, s->peer.rkey, s->peer.addr, BUFFER + t->more, t->type, t->level);
	CHECK(!ibv_wr_complete(qp));
	wc = wait_for(s->cq);
	CHECK(wc.wr_id == 77 && wc.status == t->status);
	CHECK(t->status || ((int)wc.opcode == VNETDV_WC_FLUSH && !wc.wc_flags));
}

static void receive_step(struct side *s)
{
	for (uint32_t i = 0; i < BUFFER; i++)
		CHECK(s->buffer[i] == 0x5a);
}

static void run_step(struct side *s, const struct step *t)
{
	begin(s, t);
	if (s->sends)
		send_step(s, t);
	/* The sender's flush is complete. */
	meet(s->sock);
	if (!s->sends && !t->status)
		receive_step(s);
	end(s);
}

int main(int argc, char **argv)
{
	struct side s = { 0 };

	side_start(&s, argc, argv, VNETDV_CONTEXT_FLUSH, BUFFER);
	check_device(&s);
	refuse_regions(&s);
	for (uint32_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		run_step(&s, &steps[i]);
	side_end(&s);
	return 0;
}
