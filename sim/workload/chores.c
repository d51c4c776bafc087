// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Chores: windows, fast registration, small completion queues, states, invalid requests. */
#include <string.h>

#include "workload/chores.h"
#include "base/event.h"
#include "base/trace.h"
#include "layout/lookup.h"
#include "workload/chore.h"

static u32 below(struct bench *b, u32 n)
{
	return bench_below(b, n);
}

/* -------------------------------------------------------------- windows, regions */

static u32 bind(struct bench *b, u32 old_key, u32 new_key, u64 offset, u64 length, u32 access,
		u32 lkey)
{
	struct vnet_send_wqe wqe = make_wr(VNET_WR_BIND_MW, 0);

	wqe.bind = (struct vnet_wqe_bind){
		.addr = address_at(b->p, b->here) + offset,
		.length = length,
		.old_rkey = old_key,
		.new_rkey = new_key,
		.lkey = lkey,
		.access = access,
	};
	return run(b, &wqe, 0, 0);
}

#define RIGHTS (NIC_ACCESS_REMOTE_WRITE | NIC_ACCESS_REMOTE_READ)

/* Write through a window. Both ends are in one process, so they have the same PD. */
static bool through_window(struct bench *b, u32 key, u64 offset, u32 length, u32 expected)
{
	struct vnet_send_wqe wqe = make_wr(VNET_WR_RDMA_WRITE, 0);

	wqe.rdma.remote_addr = address_at(b->p, b->here) + offset;
	wqe.rdma.rkey = key;
	return ends(b, run(b, &wqe, length, b->key), expected, "a write through a window");
}

static void windows_of_type_1(struct bench *b)
{
	u32 mw = alloc_mw(b->p, NIC_MR_WINDOW_1), key = next_key(mw), other;

	if (!mw ||
	    !ends(b, bind(b, mw, key, 1024, 512, RIGHTS, b->key), VNET_WC_SUCCESS, "a window") ||
	    !through_window(b, key, 1024, 256, VNET_WC_SUCCESS))
		goto out;
	/* A region cannot be destroyed while a window is bound to it. */
	want(b, nic_mr_destroy(&b->p->node->nic, b->key) == NIC_EINUSE,
	     "a region with a window in it ends");
	other = next_key(key);
	if (!ends(b, bind(b, key, other, 1536, 256, RIGHTS, b->key), VNET_WC_SUCCESS,
		  "a window that is bound again") ||
	    !through_window(b, other, 1536, 256, VNET_WC_SUCCESS))
		goto out;
	switch (below(b, 6)) {
	case 0:
		/* A bind of length 0 unbinds the window. */
		if (ends(b, bind(b, other, key, 0, 0, 0, 0), VNET_WC_SUCCESS, "closing"))
			through_window(b, key, 1536, 256, VNET_WC_REM_ACCESS_ERR);
		break;
	case 1:
		through_window(b, key, 1024, 256, VNET_WC_REM_ACCESS_ERR);
		break;
	case 2:
		ends(b, bind(b, key, other, 1024, 64, RIGHTS, b->key), VNET_WC_MW_BIND_ERR,
		     "a window's old key");
		break;
	case 3:
		ends(b, bind(b, other, key, 1024, 64, RIGHTS | NIC_ACCESS_ZERO_BASED, b->key),
		     VNET_WC_MW_BIND_ERR, "a window of type 1 from 0");
		break;
	case 4:
		ends(b, bind(b, other, key, 1024, BYTES, RIGHTS, b->key), VNET_WC_MW_BIND_ERR,
		     "a window beyond its region");
		break;
	default:
		ends(b, bind(b, other, key, 1024, 64, RIGHTS, b->key ^ 0x33), VNET_WC_MW_BIND_ERR,
		     "a window in no region");
		break;
	}
out:
	if (mw && holds(b))
		free_mw(b->p, mw);
}

static void windows_of_type_2(struct bench *b)
{
	u32 mw = alloc_mw(b->p, NIC_MR_WINDOW_2), key = next_key(mw);
	u32 poor = reg_mr(b->p, b->here, BYTES, NIC_ACCESS_LOCAL_WRITE);
	struct vnet_send_wqe invalidate = make_wr(VNET_WR_LOCAL_INV, 0);

	if (!mw || !poor)
		return;
	switch (below(b, 6)) {
	case 0:
		ends(b, bind(b, mw, key, 0, 512, RIGHTS, poor), VNET_WC_MW_BIND_ERR,
		     "a window where none may be");
		break;
	case 1:
		ends(b, bind(b, mw, key, 0, 0, RIGHTS, b->key), VNET_WC_MW_BIND_ERR,
		     "an empty window of type 2");
		break;
	case 2:
		if (ends(b, bind(b, mw, key, 0, 64, RIGHTS, b->key), VNET_WC_SUCCESS, "a window"))
			ends(b, bind(b, key, mw, 0, 64, RIGHTS, b->key), VNET_WC_MW_BIND_ERR,
			     "a window of type 2 that is open");
		break;
	case 3:
		/* The key is that of a region. */
		ends(b, bind(b, b->key, b->key, 0, 64, RIGHTS, b->key), VNET_WC_MW_BIND_ERR,
		     "a region as a window");
		break;
	case 4:
		invalidate.imm = b->key;
		ends(b, run(b, &invalidate, 0, 0), VNET_WC_MW_BIND_ERR, "a region's end");
		break;
	default:
		/* The window is freed while it is bound. */
		ends(b, bind(b, mw, key, 512, 64, RIGHTS | NIC_ACCESS_ZERO_BASED, b->key),
		     VNET_WC_SUCCESS, "a window from 0");
		break;
	}
	if (!holds(b))
		return;
	free_mw(b->p, mw);
	dereg_mr(b->p, poor);
}

static u32 register_as(struct bench *b, u32 old_key, u32 new_key, u64 length, u32 access)
{
	struct vnet_send_wqe wqe = make_wr(VNET_WR_REG_MR, 0);

	wqe.bind = (struct vnet_wqe_bind){
		.addr = address_at(b->p, b->here),
		.length = length,
		.old_rkey = old_key,
		.new_rkey = new_key,
		.access = access,
		/* The region has no page list: offsets in it are addresses. */
		.page_offset = address_at(b->p, b->here),
	};
	return run(b, &wqe, 0, 0);
}

static u32 invalidate_key(struct bench *b, u32 key)
{
	struct vnet_send_wqe wqe = make_wr(VNET_WR_LOCAL_INV, 0);

	wqe.imm = key;
	return run(b, &wqe, 0, 0);
}

/* Fast registration (REG_MR) on a privileged queue pair, which kernel consumers have. */
static void fast_regions(struct bench *b)
{
	u32 fast = alloc_fast(b->p, b->here, BYTES), key = next_key(fast);

	if (!fast)
		return;
	if (!ends(b, register_as(b, fast, key, BYTES, ALL_ACCESS & 0xf), VNET_WC_SUCCESS,
		  "a registration") ||
	    !write_works(b, key, "a write from a registered region"))
		goto out;
	switch (below(b, 6)) {
	case 0:
		ends(b, register_as(b, key, fast, BYTES, 1), VNET_WC_MW_BIND_ERR,
		     "a registration of what is registered");
		goto out;
	case 1:
		ends(b, invalidate_key(b, key ^ 0x44), VNET_WC_MW_BIND_ERR, "a wrong key's end");
		goto out;
	default:
		break;
	}
	if (!ends(b, invalidate_key(b, key), VNET_WC_SUCCESS, "a registration's end"))
		goto out;
	switch (below(b, 5)) {
	case 0:
		ends(b, register_as(b, key, fast, 0, 1), VNET_WC_MW_BIND_ERR, "an empty region");
		break;
	case 1:
		ends(b, register_as(b, key, fast, ~0ull, 1), VNET_WC_MW_BIND_ERR,
		     "a region with an invalid index");
		break;
	case 2:
		ends(b, register_as(b, key, fast, BYTES, NIC_ACCESS_REMOTE_WRITE),
		     VNET_WC_MW_BIND_ERR, "a region for others to write only");
		break;
	case 3:
		ends(b, register_as(b, b->key, b->key, BYTES, 1), VNET_WC_MW_BIND_ERR,
		     "a region of another kind");
		break;
	default:
		if (ends(b, register_as(b, key, fast, BYTES, ALL_ACCESS & 0xf), VNET_WC_SUCCESS,
			 "another registration"))
			write_works(b, fast, "a write from a region that is registered again");
		break;
	}
out:
	if (holds(b))
		free_mw(b->p, fast);
}

static void registration_by_others(struct bench *b)
{
	ends(b, register_as(b, b->key, b->key, BYTES, 1), VNET_WC_LOC_QP_OP_ERR,
	     "a registration by a process");
}

/* ----------------------------------------------------------- completion queues */

/* The CQ overruns: the queue pair fails. */
static void overflow_here(struct bench *b)
{
	struct vnet_send_wqe wqe = one_sided(b, VNET_WR_RDMA_WRITE);
	u32 i;

	for (i = 0; i < 8; i++)
		post(b, wqe, 64, b->key);
	ring_qp(b->x);
	want(b, comes_to_error(b, b->x), "an overrun completion queue still works");
}

static void overflow_there(struct bench *b)
{
	struct vnet_send_wqe wqe = make_wr(VNET_WR_SEND, 0);
	u32 i, status = 0;

	receives(b, 8);
	for (i = 0; i < 8 && holds(b); i++)
		post(b, wqe, 1024, b->key);
	ring_qp(b->x);
	for (i = 0; i < 8 && !status; i++)
		status = next_status(b, NULL);
	ends(b, status, VNET_WC_REM_OP_ERR, "a receiver with an overrun completion queue");
}

/*
 * VNET_CREATE_CQ_IGNORE_OVERRUN: CQEs overwrite older ones, and all requests complete. Faults of
 * the network may fail the queue pair; the CQ must not fail in any case.
 */
static void overrun_ignored(struct bench *b)
{
	struct vnet_send_wqe wqe = one_sided(b, VNET_WR_RDMA_WRITE);
	u64 until = event_now() + EVENT_TIMEOUT_NS;
	const struct nic_cq *cq;
	u32 i;

	for (i = 0; i < 8; i++)
		post(b, wqe, 64, b->key);
	ring_qp(b->x);
	while (holds(b) && send_room(b->x) <= b->x->sq.mask && event_now() < until)
		sleep_for(b->p, 50 * US);
	if (!holds(b))
		return;
	cq = nic_find_cq(&b->p->node->nic, b->cq->cqn);
	want(b, cq && !cq->error, "a completion queue that ignores overruns has overrun");
	if (event_now() < until && state_of(b->x) != NIC_QPS_RTS && state_of(b->x) != NIC_QPS_ERR)
		wrong(b, "a queue that may be overrun", state_of(b->x));
}

/* Completion events of two CQs are unread when a CQ or their channel is destroyed. */
static void unread_events(struct bench *b)
{
	struct vnet_send_wqe wqe = one_sided(b, VNET_WR_RDMA_WRITE);
	u32 i;

	for (i = 0; i < 3; i++) {
		arm_cq(b->cq, false);
		arm_cq(b->actor->cq[0], false);
		if (run(b, &wqe, 64, b->key) == NO_STATUS)
			return;
	}
	want(b, !resize_cq(b->cq, 3), "a ring of three entries");
	if (below(b, 2) && holds(b))
		channel_renew(b->p);
}

/* ----------------------------------------------------------------------- states */

static void refuse(struct bench *b, u8 to, u8 now, const char *what)
{
	enum nic_result result = set_state_from(b->x, to, now);

	if (result != NIC_EINVAL && holds(b))
		wrong(b, what, result);
}

static void states(struct bench *b)
{
	struct vnet_send_wqe wqe = one_sided(b, VNET_WR_RDMA_WRITE);
	u32 i;

	refuse(b, NIC_QPS_INIT, NIC_QPS_RTS, "from RTS to INIT");
	refuse(b, NIC_QPS_RTS, NIC_QPS_SQD, "from SQD in RTS");
	want(b, set_state_from(b->x, NIC_QPS_RTS, NIC_QPS_RTS) != NIC_EINVAL, "RTS to RTS");
	for (i = 0; i < 6; i++)
		post(b, wqe, below(b, BYTES), b->key);
	ring_qp(b->x);
	if (below(b, 2))
		sleep_for(b->p, below(b, 30000));
	if (!holds(b) || set_state(b->x, NIC_QPS_RESET) != NIC_OK)
		return;
	want(b, state_of(b->x) == NIC_QPS_RESET, "RESET");
	want(b, send_room(b->x) == b->x->sq.mask + 1, "requests after RESET");
	refuse(b, NIC_QPS_ERR, NIC_NONE & 0xff, "from RESET to ERR");
	if (set_state(b->y, NIC_QPS_RESET) != NIC_OK || !holds(b))
		return;
	/* Connect the same queue pairs again, with another PSN. */
	{
		struct qp_options again = { .psn = 4096 + below(b, 1u << 22) };

		process_undying++;
		connect_qp(b->x, b->far->node->index, b->y->qpn, &again);
		connect_qp(b->y, b->p->node->index, b->x->qpn, &again);
		process_undying--;
	}
	while (holds(b) && poll_cq(b->cq, &(struct wc){ 0 }))
		;
	write_works(b, b->key, "a write after RESET");
}

/* -------------------------------------------------------------- invalid requests */

/* Memory that was unmapped while it was registered. */
static void torn_memory(struct bench *b)
{
	static const u8 opcode[] = { VNET_WR_RDMA_WRITE, VNET_WR_RDMA_READ, VNET_WR_SEND,
				     VNET_WR_ATOMIC_FETCH_ADD };
	u8 op = opcode[below(b, 4)];
	bool here = below(b, 2);
	struct vnet_send_wqe wqe = op == VNET_WR_SEND ? make_wr(op, 0) : one_sided(b, op);
	u32 status;

	if (op == VNET_WR_SEND)
		receives(b, 1);
	if (!holds(b))
		return;
	tear(here ? b->p : b->far, here ? b->key : b->far_key);
	status = run(b, &wqe, op == VNET_WR_ATOMIC_FETCH_ADD ? 8 : 1500, b->key);
	ends(b, status, here ? VNET_WC_LOC_PROT_ERR : VNET_WC_REM_OP_ERR,
	     "unmapped memory within a buffer");
}

static void wrong_request(struct bench *b)
{
	struct vnet_send_wqe wqe = one_sided(b, VNET_WR_RDMA_WRITE);

	switch (below(b, 4)) {
	case 0:
		wqe.opcode = 200;
		break;
	case 1:
		wqe.flags |= VNET_WR_INLINE;
		wqe.inline_len = 1u << 20;
		ends(b, run(b, &wqe, 0, 0), VNET_WC_LOC_LEN_ERR,
		     "inline data longer than its ring");
		return;
	case 2:
		post_crooked(b->x, &wqe, 200);
		ring_qp(b->x);
		ends(b, next_status(b, NULL), VNET_WC_LOC_QP_OP_ERR, "200 pieces");
		return;
	default:
		/* A producer index beyond the ring. */
		advance_producer(b->x, 10000);
		ring_qp(b->x);
		want(b, comes_to_error(b, b->x), "an impossible producer index");
		return;
	}
	ends(b, run(b, &wqe, 64, b->key), VNET_WC_LOC_QP_OP_ERR, "an invalid opcode");
}

static void wrong_receive(struct bench *b)
{
	struct vnet_send_wqe wqe = make_wr(VNET_WR_SEND, 0);
	struct sge sg = { address_at(b->far, b->there), BYTES, b->far_key ^ 0x55 };

	if (below(b, 2))
		post_crooked_receive(b->y, 200);
	else
		post_recv(b->y, 1, &sg, 1);
	if (holds(b))
		ends(b, run(b, &wqe, 1024, b->key), VNET_WC_REM_OP_ERR, "an invalid receive");
}

/* The responder grants no access: its qp_access_flags are 0. */
static void refused(struct bench *b)
{
	static const u8 opcode[] = { VNET_WR_RDMA_WRITE, VNET_WR_RDMA_READ,
				     VNET_WR_ATOMIC_FETCH_ADD };
	u8 op = opcode[below(b, 3)];
	struct vnet_send_wqe wqe = one_sided(b, op);

	ends(b, run(b, &wqe, op == VNET_WR_ATOMIC_FETCH_ADD ? 8 : 64, b->key),
	     VNET_WC_REM_INV_REQ_ERR, "what the responder does not permit");
}

static void reads_without_room(struct bench *b)
{
	struct vnet_send_wqe wqe = one_sided(b, VNET_WR_RDMA_READ);

	ends(b, run(b, &wqe, 64, b->key), VNET_WC_LOC_QP_OP_ERR, "a read without permission");
}

static void wrong_lengths(struct bench *b)
{
	struct vnet_send_wqe wqe = one_sided(b, VNET_WR_ATOMIC_CMP_SWP);

	if (below(b, 2)) {
		ends(b, run(b, &wqe, 16, b->key), VNET_WC_LOC_LEN_ERR, "a word of 16 bytes");
		return;
	}
	wqe.rdma.remote_addr += 4;
	ends(b, run(b, &wqe, 8, b->key), VNET_WC_REM_INV_REQ_ERR, "half of a word");
}

/* A process reports that it cannot place the payload of a CQE (nic_recv_fault()). */
static void receive_fault(struct bench *b)
{
	struct process *p = b->p;

	p->inside = true;
	nic_recv_fault(&p->view, b->x->qpn);
	p->inside = false;
	node_ran(p->node);
	want(b, comes_to_error(b, b->x), "a receive that cannot be placed");
}

/* Invalid parameters of objects. */
static void wrong_objects(struct bench *b)
{
	struct nic *nic = &b->p->node->nic;
	struct nic_cq_params cq = { .entries = 3, .channel = NIC_NONE, .ring = b->cq->ring.offset };
	struct nic_srq_params srq = { .entries = 5, .stride_shift = 9 };
	struct nic_mr_params mr = { .kind = NIC_MR_REGION, .addr = ~0ull, .length = 2 };
	struct nic_qp_params qp = { .qpn = 1u << 25 };
	u32 n;

	if (!holds(b))
		return;
	want(b, nic_cq_create(nic, nic->max_cq, &cq) == NIC_EINVAL, "a CQ of three entries");
	cq.entries = 4;
	cq.flags = 1u << 31;
	want(b, nic_cq_create(nic, nic->max_cq, &cq) == NIC_EINVAL, "a CQ of an invalid kind");
	cq.flags = 0;
	cq.channel = nic->max_channel;
	want(b, nic_cq_create(nic, nic->max_cq, &cq) == NIC_EINVAL, "a CQ with an invalid channel");
	cq.channel = NIC_NONE;
	want(b, nic_cq_create(nic, b->cq->cqn, &cq) == NIC_EINUSE, "a CQ twice");
	want(b, nic_srq_create(nic, nic->max_srq, &srq) == NIC_EINVAL, "an SRQ of five entries");
	want(b, nic_srq_set_limit(nic, nic->max_srq, 1) == NIC_EINVAL,
	     "the limit of an SRQ that does not exist");
	mr.key = (nic->max_mr - 1) << NIC_KEY_TAG_BITS;
	want(b, nic_mr_create(nic, &mr) == NIC_EINVAL, "a region with an invalid index");
	mr.addr = 0;
	mr.kind = 77;
	want(b, nic_mr_create(nic, &mr) == NIC_EINVAL, "a region of an invalid kind");
	mr.kind = NIC_MR_REGION;
	mr.key = b->key;
	want(b, nic_mr_create(nic, &mr) == NIC_EINUSE, "a region twice");
	want(b, nic_mr_destroy(nic, b->key ^ 1) == NIC_EINVAL, "another region's key");
	want(b, nic_qp_create(nic, &qp) == NIC_EINVAL, "a QP without a number");
	qp.qpn = 1;
	qp.type = 9;
	want(b, nic_qp_create(nic, &qp) == NIC_EINVAL, "a QP of an invalid type");
	want(b, nic_channel_create(nic, nic->max_channel, 1) == NIC_EINVAL, "a channel too many");
	want(b, nic_channel_destroy(nic, nic->max_channel) == NIC_EINVAL, "no channel");
	want(b, nic_cq_destroy(nic, nic->max_cq, &n) == NIC_EINVAL, "no CQ");
	want(b, nic_srq_destroy(nic, nic->max_srq) == NIC_EINVAL, "no SRQ");
	want(b, nic_qp_destroy(nic, 0xfffff0) == NIC_EINVAL, "no QP");
	want(b, !nic_qp_lock_owner(nic, 0xfffff0), "the lock of a QP that does not exist");
	nic_qp_lock_owner(nic, b->x->qpn);
}

/* -------------------------------------------------------------------- datagrams */

static void datagrams(struct bench *b)
{
	struct vnet_send_wqe wqe = make_wr(VNET_WR_SEND, 0);

	to_address(&wqe, b->far->node->index, b->y->qpn);
	switch (below(b, 3)) {
	case 0:
		ends(b, run(b, &wqe, BYTES, b->key), VNET_WC_SUCCESS,
		     "a datagram to a QP that does not exist");
		break;
	case 1:
		/*
		 * A controlled Q_Key selects the sender's own Q_Key. The receive is too short
		 * for GRH and message.
		 */
		wqe.ud.remote_qkey = 0x80000000u;
		receives(b, 1);
		ends(b, run(b, &wqe, BYTES, b->key), VNET_WC_SUCCESS, "a datagram too long");
		break;
	default:
		wqe.opcode = VNET_WR_RDMA_WRITE;
		ends(b, run(b, &wqe, 64, b->key), VNET_WC_LOC_QP_OP_ERR, "a datagram that writes");
		break;
	}
}

/* ------------------------------------------------------------ table of chores */

static const struct chore {
	void (*fn)(struct bench *b);
	struct bench_options options;
	/* Both ends are in one process. */
	bool alone;
} chores[] = {
	{ windows_of_type_1, { .type = NIC_QPT_RC }, true },
	{ windows_of_type_2, { .type = NIC_QPT_RC }, false },
	{ fast_regions, { .type = NIC_QPT_RC, .near = { .privileged = true } }, false },
	{ registration_by_others, { .type = NIC_QPT_RC }, false },
	{ overflow_here, { .type = NIC_QPT_RC, .cq_entries = 4 }, false },
	{ overflow_there, { .type = NIC_QPT_RC, .far_cq_entries = 4 }, false },
	{ overrun_ignored,
	  { .type = NIC_QPT_RC,
	    .cq_entries = 4,
	    .cq_flags = VNET_CREATE_CQ_TIMESTAMP | VNET_CREATE_CQ_IGNORE_OVERRUN },
	  false },
	{ unread_events, { .type = NIC_QPT_RC, .channel = true }, false },
	{ states, { .type = NIC_QPT_RC }, false },
	{ states, { .type = NIC_QPT_UC }, false },
	{ torn_memory, { .type = NIC_QPT_RC }, false },
	{ wrong_request, { .type = NIC_QPT_RC }, false },
	{ wrong_receive, { .type = NIC_QPT_RC }, false },
	{ refused, { .type = NIC_QPT_RC, .far = { .no_access = true } }, false },
	{ refused, { .type = NIC_QPT_RC, .far = { .no_access = true } }, true },
	{ reads_without_room, { .type = NIC_QPT_RC, .near = { .no_reads = true } }, false },
	{ wrong_lengths, { .type = NIC_QPT_RC }, false },
	{ receive_fault, { .type = NIC_QPT_RC }, false },
	{ wrong_objects, { .type = NIC_QPT_RC }, false },
	{ datagrams, { .type = NIC_QPT_UD }, false },
	/* Workloads up to version 3 have only the chores above. */
	{ tagged_messages, { 0 }, false },
	{ tagged_messages, { 0 }, false },
	{ tagged_messages, { 0 }, false },
	{ groups, { 0 }, false },
	{ groups, { 0 }, false },
	{ extended, { 0 }, false },
	{ extended, { 0 }, false },
	{ frames, { 0 }, true },
	{ spread_frames, { 0 }, true },
	{ moderated_events, { .type = NIC_QPT_RC, .channel = true }, false },
	{ events_on_purpose, { .type = NIC_QPT_RC }, false },
	{ established, { .type = NIC_QPT_RC, .far = { .receives_only = true } }, false },
	{ starving, { .type = NIC_QPT_RC }, false },
	{ device_memory, { .type = NIC_QPT_RC }, false },
	{ atomic_writes, { .type = NIC_QPT_RC }, false },
	/* Workloads up to version 6 have only the chores above. */
	{ flushes, { .type = NIC_QPT_RC }, false },
	{ flushes, { .type = NIC_QPT_RC }, false },
};
#define CHORES (sizeof(chores) / sizeof(chores[0]))
#define EARLIER_CHORES 20u
#define LATER_CHORES (CHORES - 2)

static u32 known_chores(void)
{
	if (workload.version > 6)
		return CHORES;
	return workload.version > 3 ? LATER_CHORES : EARLIER_CHORES;
}

void chore_do(struct actor *a, struct actor *other)
{
	const struct chore *chore = &chores[random_below(&a->random, known_chores())];
	struct bench b;

	/*
	 * If a NIC has several addresses, and one of them is found dead, a multicast copy may
	 * arrive twice, or never.
	 */
	if (chore->fn == groups && (sim.config.names || sim.config.restless))
		return;
	/* In about half of the cases both ends are on one node. */
	if (chore->alone || random_below(&a->random, 3) == 0)
		other = a;
	trace(TRACE_CHORE, a->process->node->index, (u64)(chore - chores),
	      other->process->node->index, 0);
	if (bench_make(&b, a, other, &chore->options))
		chore->fn(&b);
	bench_free(&b);
}
