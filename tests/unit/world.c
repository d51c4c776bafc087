// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define AGENT_OWNER 1
#define STALL_NS (50 * MS)

struct world w;
u64 world_queue_bytes = 8u << 20;

/* Memory of test objects, freed with the world. */
static void *blocks[256];
static u32 nblocks;

void *test_alloc(size_t size)
{
	void *block = calloc(1, size);

	assert_non_null(block);
	assert_true(nblocks < sizeof(blocks) / sizeof(blocks[0]));
	blocks[nblocks++] = block;
	return block;
}

static const u8 own_gid[2][16] = {
	{ 0xfe, 0x80, [15] = 1 },
	{ [10] = 0xff, [11] = 0xff, [12] = 192, [13] = 0, [14] = 2, [15] = 7 },
};

static void make_process(u32 i)
{
	struct process *p = &w.p[i];
	struct tp_space *space = &tp.space[i + 1];

	assert_int_equal(nic_attach(&p->nic, tp.memory, tp.memory_size), NIC_OK);
	p->nic.self = AGENT_OWNER + 1 + i;
	p->nic.space = i + 1;
	p->index = i;
	p->pdn = i + 1;
	space->memory = test_alloc(SPACE_BYTES);
	space->size = SPACE_BYTES;
	space->start = (u64)(i + 1) << 32;
	p->key = reg_mr(p, 0, SPACE_BYTES, ALL_ACCESS);
}

int world_setup(void **state)
{
	memset(&w, 0, sizeof(w));
	memset(&tp, 0, sizeof(tp));
	nblocks = 0;
	w.config = (struct nic_config){
		.max_qp = 256,
		.max_cq = 128,
		.max_srq = 16,
		.max_mr = 256,
		.max_channel = 16,
		.max_client = 8,
		.queue_bytes = world_queue_bytes,
		.stall_ns = STALL_NS,
		.node_guid = 1,
	};
	tp.memory_size = nic_memory_size(&w.config);
	assert_true(tp.memory_size > world_queue_bytes);
	tp.memory = aligned_alloc(4096, tp.memory_size);
	assert_non_null(tp.memory);
	blocks[nblocks++] = tp.memory;
	memset(tp.memory, 0, tp.memory_size);
	assert_int_equal(nic_format(tp.memory, tp.memory_size, &w.config), NIC_OK);
	assert_int_equal(nic_attach(&w.agent, tp.memory, tp.memory_size), NIC_OK);
	w.agent.self = AGENT_OWNER;
	w.agent.space = NIC_SPACE_POINTER;
	tp.off_queue = w.agent.off_queue;
	tp.queue_bytes = w.agent.queue_bytes;
	tp.clock = 1000 * MS;
	w.queue_at = tp.off_queue;
	w.next_mr = w.next_cqn = w.next_srqn = w.next_qpn = 1;
	w.agent.hdr->ngids = 2;
	memcpy(w.agent.hdr->gid, own_gid, sizeof(own_gid));
	w.agent.hdr->port_up = 1;
	for (u32 i = 0; i < PROCESSES; i++)
		make_process(i);
	return 0;
}

static void assert_lock_free(nic_lock_t lock, u32 but, const char *what, u32 index)
{
	if (lock && lock != but)
		fail_msg("lock of %s %u left with owner %u", what, index, lock);
}

void assert_locks_free(u32 but)
{
	const struct nic *nic = &w.agent;

	for (u32 i = 0; i < nic->max_qp; i++) {
		assert_lock_free(nic->qp[i].sq_lock, but, "send queue", i);
		assert_lock_free(nic->qp[i].rq.lock, but, "receive queue", i);
	}
	for (u32 i = 0; i < nic->max_cq; i++)
		assert_lock_free(nic->cq[i].lock, but, "CQ", i);
	for (u32 i = 0; i < nic->max_srq; i++)
		assert_lock_free(nic->srq[i].rq.lock, but, "SRQ", i);
	for (u32 i = 0; i < nic->max_channel; i++)
		assert_lock_free(nic->channel[i].lock, but, "channel", i);
	for (u32 i = 0; i < NIC_ATOMIC_LOCKS; i++)
		assert_lock_free(nic->hdr->atomic_lock[i], but, "atomic word", i);
}

u32 world_mark(void)
{
	return nblocks;
}

void world_release(u32 mark)
{
	while (nblocks > mark)
		free(blocks[--nblocks]);
}

int world_teardown(void **state)
{
	assert_locks_free(0);
	assert_false(tp.violated);
	world_release(0);
	return 0;
}

/* ------------------------------------------------------------------ memory */

u64 at(const struct process *p, u64 offset)
{
	return tp.space[p->nic.space].start + offset;
}

u8 *mem(const struct process *p, u64 offset)
{
	return tp.space[p->nic.space].memory + offset;
}

static u8 pattern(u64 i, u32 seed)
{
	return (u8)((i * 131 + seed * 17 + (i >> 8) + 1) | 1);
}

void fill(const struct process *p, u64 offset, u64 length, u32 seed)
{
	for (u64 i = 0; i < length; i++)
		mem(p, offset)[i] = pattern(i, seed);
}

bool filled(const struct process *p, u64 offset, u64 length, u32 seed)
{
	for (u64 i = 0; i < length; i++) {
		if (mem(p, offset)[i] != pattern(i, seed))
			return false;
	}
	return true;
}

bool untouched(const struct process *p, u64 offset, u64 length)
{
	for (u64 i = 0; i < length; i++) {
		if (mem(p, offset)[i])
			return false;
	}
	return true;
}

u32 new_key(void)
{
	return w.next_mr++ << NIC_KEY_TAG_BITS | 0x5a;
}

u32 reg_mr(struct process *p, u64 offset, u64 length, u32 access)
{
	struct nic_mr_params params = {
		.key = new_key(),
		.kind = NIC_MR_REGION,
		.access = access,
		.pdn = p->pdn,
		.iova = at(p, offset),
		.addr = at(p, offset),
		.length = length,
		.space = p->nic.space,
	};

	assert_int_equal(nic_mr_create(&w.agent, &params), NIC_OK);
	return params.key;
}

u32 alloc_mw(struct process *p, u8 kind)
{
	struct nic_mr_params params = {
		.key = new_key(),
		.kind = kind,
		.pdn = p->pdn,
		.space = p->nic.space,
	};

	assert_int_equal(nic_mr_create(&w.agent, &params), NIC_OK);
	return params.key;
}

/* ----------------------------------------------------------------- objects */

u64 queue_alloc(u64 bytes)
{
	u64 offset = w.queue_at;

	w.queue_at += (bytes + 4095) & ~4095ull;
	assert_true(w.queue_at <= tp.off_queue + tp.queue_bytes);
	memset((u8 *)tp.memory + offset, 0, bytes);
	return offset;
}

struct ring ring_make(u32 entries, u32 shift)
{
	struct ring r = { .mask = entries - 1, .shift = shift };

	r.offset = queue_alloc(VNET_RING_HDR_SIZE + ((u64)entries << shift));
	r.hdr = (struct vnet_ring *)((u8 *)tp.memory + r.offset);
	r.slots = (u8 *)(r.hdr + 1);
	return r;
}

static struct cq *make_cq_on(struct process *p, u32 entries, u32 flags, u32 channel, u64 handle)
{
	struct cq *cq = test_alloc(sizeof(*cq));
	struct nic_cq_params params = {
		.entries = entries,
		.flags = flags,
		.channel = channel,
		.user_handle = handle,
	};

	cq->p = p;
	cq->cqn = w.next_cqn++;
	cq->ring = ring_make(entries, 7);
	params.ring = cq->ring.offset;
	assert_int_equal(nic_cq_create(&w.agent, cq->cqn, &params), NIC_OK);
	return cq;
}

struct cq *make_cq(struct process *p, u32 entries, u32 flags)
{
	return make_cq_on(p, entries, flags, NIC_NONE, 0);
}

struct cq *make_cq_channel(struct process *p, u32 entries, u32 channel, u64 handle)
{
	return make_cq_on(p, entries, 0, channel, handle);
}

struct srq *make_srq(struct process *p, u32 entries)
{
	struct srq *srq = test_alloc(sizeof(*srq));
	struct nic_srq_params params = {
		.entries = entries,
		.stride_shift = 7,
		.max_sge = 7,
		.pdn = p->pdn,
		.space = p->nic.space,
	};

	srq->p = p;
	srq->srqn = w.next_srqn++;
	srq->ring = ring_make(entries, params.stride_shift);
	params.ring = srq->ring.offset;
	assert_int_equal(nic_srq_create(&w.agent, srq->srqn, &params), NIC_OK);
	return srq;
}

struct nic_qp_params qp_params(struct process *p, u8 type, struct cq *scq, struct cq *rcq,
			       const struct qp_options *o)
{
	return (struct nic_qp_params){
		.qpn = w.next_qpn++,
		.type = type,
		.sq_sig_all = o->sig_all,
		.sq_stride_shift = 10,
		.rq_stride_shift = o->srq ? 0 : 10,
		.max_send_sge = o->max_send_sge ? o->max_send_sge : 32,
		.max_recv_sge = o->max_recv_sge ? o->max_recv_sge : 32,
		.max_inline = 256,
		.pdn = p->pdn,
		.sq_entries = o->sq_entries ? o->sq_entries : 16,
		.rq_entries = o->srq        ? 0 :
			      o->rq_entries ? o->rq_entries :
					      16,
		.send_cqn = scq->cqn,
		.recv_cqn = rcq->cqn,
		.srqn = o->srq ? o->srq->srqn : 0,
		.space = p->nic.space,
		.owner_pid = 100 + p->index,
		.returns = o->returns,
	};
}

struct qp *make_qp_with(struct process *p, u8 type, struct cq *scq, struct cq *rcq,
			const struct qp_options *options)
{
	struct nic_qp_params params = qp_params(p, type, scq, rcq, options);
	struct qp *qp = test_alloc(sizeof(*qp));

	*qp = (struct qp){
		.p = p,
		.qpn = params.qpn,
		.type = type,
		.scq = scq,
		.rcq = rcq,
		.srq = options->srq,
	};
	qp->sq = ring_make(params.sq_entries, params.sq_stride_shift);
	params.sq_ring = qp->sq.offset;
	if (params.rq_entries) {
		qp->rq = ring_make(params.rq_entries, params.rq_stride_shift);
		params.rq_ring = qp->rq.offset;
	}
	assert_int_equal(nic_qp_create(&w.agent, &params), NIC_OK);
	return qp;
}

struct qp *make_qp(struct process *p, u8 type, struct cq *scq, struct cq *rcq)
{
	static const struct qp_options plain;

	return make_qp_with(p, type, scq, rcq, &plain);
}

struct nic_qp_attr good_attr(u32 dest)
{
	struct nic_qp_attr attr = {
		.qkey = TEST_QKEY,
		.rq_psn = 100,
		.sq_psn = 200,
		.dest_qpn = dest,
		.access = ALL_ACCESS & 0xf,
		.port = 1,
		.path_mtu = 5,
		.max_rd_atomic = 16,
		.max_dest_rd_atomic = 16,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 3,
		.rnr_retry = 2,
		.sgid_index = 1,
		.hop_limit = 64,
		.is_global = 1,
	};

	memcpy(attr.dgid, own_gid[1], sizeof(attr.dgid));
	return attr;
}

u32 needed(u8 type, u8 to)
{
	switch (to) {
	case NIC_QPS_INIT:
		return M_PKEY | M_PORT | (type == NIC_QPT_UD ? M_QKEY : M_ACCESS);
	case NIC_QPS_RTR:
		if (type == NIC_QPT_UD)
			return 0;
		return M_AV | M_MTU | M_DEST_QPN | M_RQ_PSN |
		       (type == NIC_QPT_RC ? M_DEST_RD_ATOMIC | M_MIN_RNR : 0);
	case NIC_QPS_RTS:
		return M_SQ_PSN |
		       (type == NIC_QPT_RC ? M_TIMEOUT | M_RETRY_CNT | M_RNR_RETRY | M_RD_ATOMIC :
					     0);
	default:
		return 0;
	}
}

enum nic_result modify(struct qp *qp, const struct nic_qp_attr *attr, u32 mask, u8 to)
{
	return nic_qp_modify(&w.agent, qp->qpn, attr, mask, 0, to);
}

enum nic_result to_state(struct qp *qp, u8 to, u32 dest)
{
	struct nic_qp_attr attr = good_attr(dest);
	u32 mask = M_STATE;

	if (to != NIC_QPS_RTS || state_of(qp) == NIC_QPS_RTR)
		mask |= needed(qp->type, to);
	return modify(qp, &attr, mask, to);
}

void bring_up(struct qp *qp, u32 dest)
{
	assert_int_equal(to_state(qp, NIC_QPS_INIT, dest), NIC_OK);
	assert_int_equal(to_state(qp, NIC_QPS_RTR, dest), NIC_OK);
	assert_int_equal(to_state(qp, NIC_QPS_RTS, dest), NIC_OK);
}

void connect(struct qp *a, struct qp *b)
{
	bring_up(a, b->qpn);
	bring_up(b, a->qpn);
}

struct nic_qp *frame(struct qp *qp)
{
	return &w.agent.qp[qp->qpn & w.agent.qp_index_mask];
}

u8 state_of(struct qp *qp)
{
	struct nic_qp_attr attr;
	u8 state, draining;

	assert_int_equal(nic_qp_query(&w.agent, qp->qpn, &attr, &state, &draining), NIC_OK);
	return state;
}

struct pair make_pair(u8 type)
{
	struct cq *ca = make_cq(&w.p[0], 64, 0);
	struct cq *cb = make_cq(&w.p[1], 64, 0);
	struct pair pair = {
		.a = make_qp(&w.p[0], type, ca, ca),
		.b = make_qp(&w.p[1], type, cb, cb),
	};

	connect(pair.a, pair.b);
	return pair;
}

/* -------------------------------------------------------------------- work */

struct vnet_send_wqe wr(u8 opcode, u64 wr_id)
{
	return (struct vnet_send_wqe){
		.wr_id = wr_id,
		.opcode = opcode,
		.flags = VNET_WR_SIGNALED,
	};
}

struct sge sge(struct process *p, u64 offset, u32 length)
{
	return (struct sge){ at(p, offset), length, p->key };
}

struct vnet_send_wqe rdma(u8 opcode, u64 wr_id, struct process *target, u64 offset)
{
	struct vnet_send_wqe wqe = wr(opcode, wr_id);

	wqe.rdma.remote_addr = at(target, offset);
	wqe.rdma.rkey = target->key;
	return wqe;
}

void aim_datagram(struct vnet_send_wqe *wqe, const struct qp *to)
{
	memcpy(wqe->ud.dgid, w.agent.hdr->gid[1], 16);
	wqe->ud.sgid_index = 1;
	wqe->ud.hop_limit = 64;
	wqe->ud.remote_qpn = to->qpn;
	wqe->ud.remote_qkey = TEST_QKEY;
}

static u8 *slot(const struct ring *ring, u32 index)
{
	return ring->slots + ((u64)(index & ring->mask) << ring->shift);
}

static void write_sges(u8 *to, const struct sge *sg, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		struct vnet_sge one = { sg[i].addr, sg[i].length, sg[i].lkey };

		memcpy(to + i * sizeof(one), &one, sizeof(one));
	}
}

void post_send(struct qp *qp, const struct vnet_send_wqe *wqe, const struct sge *sg, u32 n)
{
	struct vnet_send_wqe copy = *wqe;
	u8 *to = slot(&qp->sq, qp->sq_prod);

	assert_true(qp->sq_prod - nic_load(&qp->sq.hdr->cons) <= qp->sq.mask);
	copy.num_sge = (u8)n;
	memcpy(to, &copy, sizeof(copy));
	write_sges(to + sizeof(copy), sg, n);
	nic_store_release(&qp->sq.hdr->prod, ++qp->sq_prod);
}

void post_inline(struct qp *qp, const struct vnet_send_wqe *wqe, const void *data, u32 length)
{
	struct vnet_send_wqe copy = *wqe;
	u8 *to = slot(&qp->sq, qp->sq_prod);

	copy.flags |= VNET_WR_INLINE;
	copy.inline_len = length;
	memcpy(to, &copy, sizeof(copy));
	memcpy(to + sizeof(copy), data, length);
	nic_store_release(&qp->sq.hdr->prod, ++qp->sq_prod);
}

void ring_send(struct qp *qp)
{
	nic_send_doorbell(&qp->p->nic, qp->qpn);
}

void send_one(struct qp *qp, const struct vnet_send_wqe *wqe, const struct sge *sg)
{
	post_send(qp, wqe, sg, sg != NULL);
	ring_send(qp);
}

static void write_recv(struct ring *ring, u32 *prod, u64 wr_id, const struct sge *sg, u32 n)
{
	struct vnet_recv_wqe wqe = { .wr_id = wr_id, .num_sge = n };
	u8 *to = slot(ring, *prod);

	assert_true(*prod - nic_load(&ring->hdr->cons) <= ring->mask);
	memcpy(to, &wqe, sizeof(wqe));
	write_sges(to + sizeof(wqe), sg, n);
	nic_store_release(&ring->hdr->prod, ++*prod);
	nic_barrier();
}

void post_recv(struct qp *qp, u64 wr_id, const struct sge *sg, u32 n)
{
	write_recv(&qp->rq, &qp->rq_prod, wr_id, sg, n);
	if (nic_load(&qp->rq.hdr->need_doorbell))
		nic_recv_doorbell(&qp->p->nic, qp->qpn, false);
}

void post_one(struct qp *qp, u64 wr_id)
{
	struct sge to = sge(qp->p, wr_id * 256, 256);

	post_recv(qp, wr_id, &to, 1);
}

void post_srq_recv(struct srq *srq, u64 wr_id, const struct sge *sg, u32 n)
{
	write_recv(&srq->ring, &srq->prod, wr_id, sg, n);
	if (nic_load(&srq->ring.hdr->need_doorbell))
		nic_recv_doorbell(&srq->p->nic, srq->srqn, true);
}

bool poll(struct cq *cq, struct wc *wc)
{
	struct vnet_cqe *cqe = (struct vnet_cqe *)slot(&cq->ring, cq->cons);

	if (nic_load_acquire(&cqe->seq) != cq->cons + 1)
		return false;
	*wc = (struct wc){
		.wr_id = cqe->wr_id,
		.status = cqe->status,
		.opcode = cqe->opcode,
		.flags = cqe->flags,
		.byte_len = cqe->byte_len,
		.imm = cqe->imm,
		.qp_num = cqe->qp_num,
		.src_qp = cqe->src_qp,
		.payload_len = cqe->payload_len,
	};
	if (cqe->payload_len) {
		void *to = tp_memory(cq->p->nic.space, cqe->scatter_addr, cqe->payload_len);

		assert_non_null(to);
		memcpy(to, cqe->payload, cqe->payload_len);
	}
	nic_store_release(&cq->ring.hdr->cons, ++cq->cons);
	return true;
}

struct wc expect_next(struct cq *cq, u64 wr_id, u32 status)
{
	struct wc wc = { 0 };
	bool polled = poll(cq, &wc);

	if (!polled)
		fail_msg("no completion; wr_id %llu with status %u was due",
			 (unsigned long long)wr_id, status);
	if (wc.wr_id != wr_id || wc.status != status)
		fail_msg("completion of wr_id %llu with status %u; due was %llu with %u",
			 (unsigned long long)wc.wr_id, wc.status, (unsigned long long)wr_id,
			 status);
	return wc;
}

struct wc expect(struct cq *cq, u64 wr_id, u32 status)
{
	struct wc wc = expect_next(cq, wr_id, status);

	expect_none(cq);
	return wc;
}

void expect_none(struct cq *cq)
{
	struct wc wc;

	if (poll(cq, &wc))
		fail_msg("unexpected completion: wr_id %llu, status %u",
			 (unsigned long long)wc.wr_id, wc.status);
}

void run_for(u64 ns)
{
	u64 end = tp.clock + ns;
	u64 next;

	while (nic_run(&w.agent, 64, &next)) {
		assert_true(next <= tp.clock + MS);
		if (next <= tp.clock)
			continue;
		if (tp.clock >= end)
			return;
		tp.clock = next < end ? next : end;
	}
	tp.clock = end;
}

void idle(struct process *p)
{
	/* Longer than the interval at which an idle process retries. */
	if (!tp.real_time)
		tp.clock += 5000;
	nic_idle(&p->nic);
}

bool async_event(char kind, u32 num, u32 event)
{
	struct nic_async async;

	return nic_async_take(&w.agent, &async) && async.kind == kind && async.num == num &&
	       async.event == event;
}

void no_async(void)
{
	struct nic_async async;

	if (nic_async_take(&w.agent, &async))
		fail_msg("unexpected event %u of '%c' %u", async.event, async.kind, async.num);
}
