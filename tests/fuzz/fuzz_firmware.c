// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A libFuzzer target: a hostile process against the firmware. The input is a sequence of
 * actions that such a process can take: any bytes in its own rings, any doorbells, any commands
 * for its own objects. Other threads may be stopped inside the firmware, and time passes.
 *
 * Invariants after each input: no access outside of registered memory, or without the access
 * rights; no lock is held; memory, queues and traffic of third parties are not affected.
 * Sanitizers check the firmware itself.
 *
 * If the first byte is odd, the process also writes to all of NIC memory. Then the firmware
 * only has to survive.
 *
 * Process 0 is hostile. Process 1 is its peer, with one QP of each type. Processes 1 and 2 also
 * communicate with each other (the third party).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "world.h"

/* The used part of each space, which is cleared for each input. */
#define USED 0x8000
/* Regions of the peer, named by their use. */
#define REMOTE_WRITE 0x1000
#define REMOTE_READ 0x2000
#define RECEIVE 0x3000
#define ATOMIC 0x4000
#define REGION 0x1000
/* Data of the third party, in processes 1 and 2. */
#define THIRD 0x5000

#define TYPES 3
#define SLOTS 4
#define CHANNEL 1

static const u8 types[TYPES] = { NIC_QPT_RC, NIC_QPT_UC, NIC_QPT_UD };

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* ------------------------------------------------------------------- input */

static u64 quad(void)
{
	u64 v;

	take(&v, 8);
	return v;
}

/* ------------------------------------------------------------------- stage */

/* A process other than the hostile one runs the firmware. It does not die there. */
static bool innocent;

/* Queue memory that the agent assigns to the hostile process' objects. */
struct area {
	struct ring ring;
	bool used;
};

static struct stage {
	/* QPs of the hostile process, and their peers. */
	struct qp *mine[TYPES];
	struct qp *peer[TYPES];
	struct cq *cq;
	struct cq *peer_cq;
	struct srq *srq;
	struct qp *sharing;
	u32 mw[2];
	/* The third party. */
	struct qp *u, *v;
	u32 third_key[PROCESSES];
	/* Numbers of objects that the hostile process created; 0: none. */
	u32 made_qp[SLOTS], made_cq[SLOTS], made_srq[SLOTS], made_mr[SLOTS];
	struct area area[3 * SLOTS];
	u32 generation;
	bool scribbling;
	/* A lock that a stopped process, outside of this test, holds. */
	nic_lock_t *stopped;
} s;

static struct {
	void *memory;
	u8 space[PROCESSES][USED];
	struct tp tp;
	struct world w;
	struct stage s;
	struct cq cq, peer_cq, ucq, vcq;
	struct srq srq;
	struct qp mine[TYPES], peer[TYPES], sharing, u, v;
	bool made;
} first;

static u32 region_of_peer(u32 offset, u32 access, u32 rights)
{
	tp_allow(w.p[1].nic.space, at(&w.p[1], offset), REGION, rights);
	return reg_mr(&w.p[1], offset, REGION, access);
}

static void make_third_party(void)
{
	struct cq *cu = make_cq(&w.p[1], 8, 0), *cv = make_cq(&w.p[2], 8, 0);

	s.u = make_qp(&w.p[1], NIC_QPT_RC, cu, cu);
	s.v = make_qp(&w.p[2], NIC_QPT_RC, cv, cv);
	connect(s.u, s.v);
	s.third_key[1] = reg_mr(&w.p[1], THIRD, 40, NIC_ACCESS_LOCAL_WRITE);
	s.third_key[2] = reg_mr(&w.p[2], THIRD, 40, NIC_ACCESS_LOCAL_WRITE);
}

static void make_stage(void)
{
	struct qp_options o = { .sq_entries = 8, .rq_entries = 8 };

	world_queue_bytes = 448u << 10;
	world_setup(NULL);
	assert_int_equal(nic_channel_create(&w.agent, CHANNEL, 1), NIC_OK);
	/* Destroys the default regions over whole spaces. */
	for (u32 i = 0; i < PROCESSES; i++)
		assert_int_equal(nic_mr_destroy(&w.agent, w.p[i].key), NIC_OK);
	/* The hostile process may access its own memory in any way. */
	tp_allow(w.p[0].nic.space, 0, ~0ull, TP_READ | TP_WRITE);
	w.p[0].key = reg_mr(&w.p[0], 0, USED, ALL_ACCESS);
	s.cq = make_cq_channel(&w.p[0], 64, CHANNEL, 7);
	s.peer_cq = make_cq_channel(&w.p[1], 64, CHANNEL, 8);
	s.srq = make_srq(&w.p[0], 8);
	for (u32 i = 0; i < TYPES; i++) {
		s.mine[i] = make_qp_with(&w.p[0], types[i], s.cq, s.cq, &o);
		s.peer[i] = make_qp_with(&w.p[1], types[i], s.peer_cq, s.peer_cq, &o);
		connect(s.mine[i], s.peer[i]);
	}
	o.srq = s.srq;
	s.sharing = make_qp_with(&w.p[0], NIC_QPT_RC, s.cq, s.cq, &o);
	bring_up(s.sharing, s.sharing->qpn);
	s.mw[0] = alloc_mw(&w.p[0], NIC_MR_WINDOW_1);
	s.mw[1] = alloc_mw(&w.p[0], NIC_MR_WINDOW_2);
	region_of_peer(REMOTE_WRITE, NIC_ACCESS_LOCAL_WRITE | NIC_ACCESS_REMOTE_WRITE, TP_WRITE);
	region_of_peer(REMOTE_READ, NIC_ACCESS_REMOTE_READ, TP_READ);
	w.p[1].key = region_of_peer(RECEIVE, NIC_ACCESS_LOCAL_WRITE, TP_WRITE);
	region_of_peer(ATOMIC, NIC_ACCESS_LOCAL_WRITE | NIC_ACCESS_REMOTE_ATOMIC,
		       TP_READ | TP_WRITE);
	make_third_party();
	for (u32 i = 0; i < 3 * SLOTS; i++)
		s.area[i].ring = ring_make(8, 10);
	tp.check_regions = true;
}

static void remember(void)
{
	first.memory = malloc(tp.memory_size);
	memcpy(first.memory, tp.memory, tp.memory_size);
	first.tp = tp;
	first.w = w;
	first.s = s;
	first.cq = *s.cq;
	first.peer_cq = *s.peer_cq;
	first.ucq = *s.u->scq;
	first.vcq = *s.v->scq;
	first.srq = *s.srq;
	first.sharing = *s.sharing;
	first.u = *s.u;
	first.v = *s.v;
	for (u32 i = 0; i < TYPES; i++) {
		first.mine[i] = *s.mine[i];
		first.peer[i] = *s.peer[i];
	}
	first.made = true;
}

static void begin_anew(void)
{
	if (!first.made) {
		make_stage();
		remember();
	}
	tp = first.tp;
	w = first.w;
	s = first.s;
	*s.cq = first.cq;
	*s.peer_cq = first.peer_cq;
	*s.u->scq = first.ucq;
	*s.v->scq = first.vcq;
	*s.srq = first.srq;
	*s.sharing = first.sharing;
	*s.u = first.u;
	*s.v = first.v;
	for (u32 i = 0; i < TYPES; i++) {
		*s.mine[i] = first.mine[i];
		*s.peer[i] = first.peer[i];
	}
	memcpy(tp.memory, first.memory, tp.memory_size);
	for (u32 i = 0; i < PROCESSES; i++)
		memset(mem(&w.p[i], 0), 0, USED);
}

/* ------------------------------------------------------------------ checks */

#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static void no_lock_is_left(void)
{
	const struct nic *nic = &w.agent;
	u32 i;

#define FREE(lock) MUST(!(lock) || &(lock) == s.stopped)
	for (i = nic_qp_next(nic, 0); i < nic->max_qp; i = nic_qp_next(nic, i + 1)) {
		FREE(nic->qp[i].sq_lock);
		FREE(nic->qp[i].rq.lock);
	}
	for (i = 0; i < nic->max_cq; i++)
		FREE(nic->cq[i].lock);
	for (i = 0; i < nic->max_srq; i++)
		FREE(nic->srq[i].rq.lock);
	for (i = 0; i < nic->max_channel; i++)
		FREE(nic->channel[i].lock);
	for (i = 0; i < NIC_ATOMIC_LOCKS; i++)
		FREE(nic->hdr->atomic_lock[i]);
#undef FREE
}

/* One message in each direction completes at once, whatever the hostile process did. */
static void third_party_runs_on(void)
{
	struct qp *way[2][2] = { { s.u, s.v }, { s.v, s.u } };

	for (u32 i = 0; i < 2; i++) {
		struct qp *from = way[i][0], *to = way[i][1];
		struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
		struct sge room = { at(to->p, THIRD), 40, s.third_key[to->p->index] };
		u8 text[40];
		struct wc wc;

		memset(text, 'a' + (int)i, sizeof(text));
		post_recv(to, 2, &room, 1);
		post_inline(from, &wqe, text, sizeof(text));
		ring_send(from);
		MUST(poll(from->scq, &wc) && wc.wr_id == 1 && wc.status == VNET_WC_SUCCESS);
		MUST(poll(to->rcq, &wc) && wc.wr_id == 2 && wc.status == VNET_WC_SUCCESS);
		MUST(!poll(from->scq, &wc) && !poll(to->rcq, &wc));
		MUST(!memcmp(mem(to->p, THIRD), text, sizeof(text)));
		memset(mem(to->p, THIRD), 0, sizeof(text));
	}
}

static void third_party_is_untouched(void)
{
	static const u8 zero[USED];

	MUST(!memcmp(mem(&w.p[1], THIRD), zero, USED - THIRD));
	MUST(!memcmp(mem(&w.p[2], 0), zero, USED));
	MUST(state_of(s.u) == NIC_QPS_RTS && state_of(s.v) == NIC_QPS_RTS);
}

static void check(void)
{
	if (s.scribbling)
		return;
	MUST(!tp.violated);
	no_lock_is_left();
	third_party_is_untouched();
}

/* -------------------------------------------------------------- actions: data */

static struct ring *any_ring(u8 which)
{
	switch (which % 11) {
	case 0:
	case 1:
	case 2:
		return &s.mine[which % 3]->sq;
	case 3:
	case 4:
	case 5:
		return &s.mine[which % 3]->rq;
	case 6:
		return &s.srq->ring;
	case 7:
		return &s.cq->ring;
	case 8:
		return &s.sharing->sq;
	default:
		return &s.area[which % (3 * SLOTS)].ring;
	}
}

static void write_ring(void)
{
	struct ring *ring = any_ring(take8());
	u32 size = VNET_RING_HDR_SIZE + ((ring->mask + 1) << ring->shift);
	u32 at_byte = take32() % size, n = take8() % 64;

	if (n > size - at_byte)
		n = size - at_byte;
	take((u8 *)ring->hdr + at_byte, n);
}

static void set_index(void)
{
	struct ring *ring = any_ring(take8());
	u8 how = take8();
	u32 *index[4] = { &ring->hdr->prod, &ring->hdr->cons, &ring->hdr->need_doorbell,
			  &ring->hdr->arm };

	*index[how % 4] = how & 0x40 ? take32() : *index[how % 4] + (how >> 2) % 16;
}

/* Mostly valid, to reach the data path. */
static void some_sge(struct process *p, struct vnet_sge *entry)
{
	u8 how = take8();

	entry->addr = at(p, (u64)take8() << 7);
	entry->length = how & 1 ? take8() : take32() % 0x3000;
	entry->lkey = p->key;
	if ((how & 0xf0) == 0x10)
		entry->lkey = take32();
	if ((how & 0xf0) == 0x20)
		entry->addr = quad();
	if ((how & 0xf0) == 0x30)
		entry->length = take32();
}

static u32 some_key(void)
{
	u8 how = take8();

	/* A key of an existing object with its tag, or any key. */
	return how & 0x80 ? take32() : (u32)(how % 16) << NIC_KEY_TAG_BITS | 0x5a;
}

static void aim(struct vnet_send_wqe *wqe, u8 type)
{
	if (type == NIC_QPT_UD) {
		take(&wqe->ud, sizeof(wqe->ud));
		if (take8() & 7) {
			memcpy(wqe->ud.dgid, w.agent.hdr->gid[take8() & 1], 16);
			wqe->ud.remote_qpn = s.peer[take8() % TYPES]->qpn;
			wqe->ud.remote_qkey = TEST_QKEY;
		}
		return;
	}
	if (wqe->opcode == VNET_WR_BIND_MW) {
		take(&wqe->bind, sizeof(wqe->bind));
		wqe->bind.old_rkey = take8() & 7 ? s.mw[take8() & 1] : some_key();
		wqe->bind.new_rkey = (wqe->bind.old_rkey & ~0xffu) | take8();
		wqe->bind.lkey = some_key();
		wqe->bind.access &= 0x2f;
		wqe->bind.addr = at(&w.p[0], take8());
		wqe->bind.length = take8();
		return;
	}
	wqe->rdma.rkey = some_key();
	wqe->rdma.remote_addr = take8() & 3 ? at(&w.p[1], (take32() & ~7u) % USED) : quad();
	wqe->rdma.compare_add = take8();
	wqe->rdma.swap = take8();
}

static void post_some_send(void)
{
	u8 which = take8(), how = take8();
	struct qp *qp = which & 0x80 ? s.sharing : s.mine[which % TYPES];
	struct vnet_send_wqe wqe = wr(how % 11, take8());
	u8 *slot = qp->sq.slots + ((size_t)(qp->sq.hdr->prod & qp->sq.mask) << qp->sq.shift);

	wqe.flags = take8();
	wqe.num_sge = take8() % 8;
	wqe.imm = take8() & 1 ? some_key() : take32();
	wqe.inline_len = wqe.flags & VNET_WR_INLINE ? take32() % 300 : 0;
	if ((how & 0xf0) == 0xf0) {
		wqe.num_sge = take8();
		wqe.inline_len = take32();
	}
	aim(&wqe, qp->type);
	memcpy(slot, &wqe, sizeof(wqe));
	for (u32 i = 0; i < 4 && i < wqe.num_sge; i++) {
		struct vnet_sge entry;

		some_sge(&w.p[0], &entry);
		memcpy(slot + sizeof(wqe) + i * sizeof(entry), &entry, sizeof(entry));
	}
	nic_store_release(&qp->sq.hdr->prod, qp->sq.hdr->prod + 1);
	if (how & 1)
		nic_send_doorbell(&w.p[0].nic, qp->qpn);
}

/* A receive of the hostile process, or a valid one of its peer. */
static void post_some_recv(void)
{
	u8 which = take8();
	struct process *p = which & 0x80 ? &w.p[1] : &w.p[0];
	struct qp *qp = which & 0x80 ? s.peer[which % TYPES] : s.mine[which % TYPES];
	struct ring *ring = (which & 0xc0) == 0x40 ? &s.srq->ring : &qp->rq;
	u8 *slot = ring->slots + ((size_t)(ring->hdr->prod & ring->mask) << ring->shift);
	struct vnet_recv_wqe wqe = { .wr_id = take8(), .num_sge = take8() % 6 };

	if (p == &w.p[1] && ring->hdr->prod - ring->hdr->cons > ring->mask)
		return;
	memcpy(slot, &wqe, sizeof(wqe));
	for (u32 i = 0; i < wqe.num_sge; i++) {
		struct vnet_sge entry;

		some_sge(p, &entry);
		if (p == &w.p[1]) {
			entry.lkey = p->key;
			entry.addr = at(p, RECEIVE + entry.addr % REGION);
			entry.length %= REGION / 4;
		}
		memcpy(slot + sizeof(wqe) + i * sizeof(entry), &entry, sizeof(entry));
	}
	nic_store_release(&ring->hdr->prod, ring->hdr->prod + 1);
	innocent = p == &w.p[1];
	if (ring->hdr->need_doorbell)
		nic_recv_doorbell(&p->nic, ring == &s.srq->ring ? s.srq->srqn : qp->qpn,
				  ring == &s.srq->ring);
	innocent = false;
}

/* Every entry point for processes, with any number. */
static void doorbells(void)
{
	u8 how = take8();
	u32 num = how & 0x80 ? take32() : take8() % 40;
	struct nic *nic = &w.p[0].nic;

	switch (how % 6) {
	case 0:
		nic_send_doorbell(nic, num);
		break;
	case 1:
		nic_recv_doorbell(nic, num, how & 0x40);
		break;
	case 2:
		nic_recv_fault(nic, num);
		break;
	case 3:
		nic_idle(nic);
		break;
	case 4:
		innocent = true;
		nic_idle(&w.p[1].nic);
		innocent = false;
		break;
	case 5:
		/*
		 * A client calls this only if it believes that the agent is dead; it affects
		 * only itself.
		 */
		nic_flush_own(nic);
		break;
	}
}

static void drain(void *arg)
{
}

static void channel(void)
{
	u8 how = take8();
	u32 number = how & 0x80 ? take32() : CHANNEL;
	u64 handle;

	innocent = how & 2;
	if (how & 1)
		nic_channel_take(&w.p[how >> 1 & 1].nic, number, &handle, drain, NULL);
	else
		nic_channel_clear_stale(&w.p[0].nic, number, drain, NULL);
	innocent = false;
}

static void poll_some(void)
{
	struct cq *cq = take8() & 1 ? s.cq : s.peer_cq;
	u32 n = take8() % 16;

	cq->ring.hdr->cons += cq == s.peer_cq ? 0 : n;
	if (cq == s.cq)
		return;
	/* The peer polls correctly. */
	while (n-- &&
	       nic_load(&((struct vnet_cqe *)(void *)cq->ring.slots)[cq->cons & cq->ring.mask]
				 .seq) == cq->cons + 1)
		nic_store(&cq->ring.hdr->cons, ++cq->cons);
}

/* ---------------------------------------------------------- actions: commands */

static struct qp *own_qp(u8 which)
{
	return which & 4 ? s.sharing : s.mine[which % TYPES];
}

static void modify_some(void)
{
	u8 which = take8(), how = take8();
	u32 qpn = which & 0x40 ? s.made_qp[which % SLOTS] : own_qp(which)->qpn;
	struct nic_qp_attr attr = good_attr(s.peer[which % TYPES]->qpn);
	u32 mask = take32();
	u8 to = how % 8;

	if (which & 0x80)
		take(&attr, sizeof(attr));
	if (how & 0x80)
		mask = M_STATE | needed(types[which % TYPES], to);
	nic_qp_modify(&w.agent, qpn, &attr, mask, how >> 3 & 7, to);
}

static struct area *free_area(void)
{
	for (u32 i = 0; i < 3 * SLOTS; i++) {
		if (!s.area[i].used) {
			memset(s.area[i].ring.hdr, 0, VNET_RING_HDR_SIZE + (8u << 10));
			return &s.area[i];
		}
	}
	return NULL;
}

/* The agent chooses numbers and memory; the other parameters come from the request. */
static void create_qp(u32 slot)
{
	static const struct qp_options plain = { .sq_entries = 8, .rq_entries = 8 };
	struct nic_qp_params p = qp_params(&w.p[0], types[take8() % TYPES], s.cq, s.cq, &plain);
	struct area *sq = free_area(), *rq;
	u8 how = take8();

	if (s.made_qp[slot] || !sq)
		return;
	sq->used = true;
	rq = free_area();
	sq->used = false;
	if (!rq)
		return;
	p.qpn = (s.generation++ * w.config.max_qp + 32 + slot) & 0xffffff;
	p.sq_ring = sq->ring.offset;
	p.rq_ring = rq->ring.offset;
	if (how & 1)
		p.max_send_sge = take8();
	if (how & 2)
		p.max_recv_sge = take8();
	if (how & 4)
		p.max_inline = (u16)take32();
	if (how & 8)
		p.sq_entries = take8() % 9;
	if (how & 16)
		p.rq_entries = take8() % 9;
	if (how & 32)
		p.send_cqn = take8() % 8;
	if (how & 64)
		p.srqn = s.srq->srqn, p.rq_entries = 0;
	if (how & 128)
		p.type = take8();
	/* The agent does not let it use CQs of other processes. */
	if (p.send_cqn == s.peer_cq->cqn || p.send_cqn == s.u->scq->cqn ||
	    p.send_cqn == s.v->scq->cqn)
		return;
	if (nic_qp_create(&w.agent, &p) != NIC_OK)
		return;
	s.made_qp[slot] = p.qpn;
	sq->used = rq->used = true;
}

static void destroy_qp(u32 slot)
{
	const struct nic_qp *qp = &w.agent.qp[s.made_qp[slot] & w.agent.qp_index_mask];
	u64 sq = qp->sq_ring, rq = qp->rq.ring;

	if (!s.made_qp[slot] || nic_qp_destroy(&w.agent, s.made_qp[slot]) != NIC_OK)
		return;
	s.made_qp[slot] = 0;
	for (u32 i = 0; i < 3 * SLOTS; i++) {
		if (s.area[i].ring.offset == sq || s.area[i].ring.offset == rq)
			s.area[i].used = false;
	}
}

/* Registers any range of its own space; accesses find out whether memory is there. */
static void create_mr(u32 slot)
{
	struct nic_mr_params p = {
		.key = (40 + slot) << NIC_KEY_TAG_BITS | take8(),
		.kind = take8() % 5,
		.access = take32() & 0x3f,
		.pdn = w.p[0].pdn,
		.space = w.p[0].nic.space,
	};

	p.addr = take8() & 1 ? quad() : at(&w.p[0], take8());
	p.iova = take8() & 1 ? quad() : p.addr;
	p.length = take8() & 1 ? quad() : take8();
	if (!s.made_mr[slot] && nic_mr_create(&w.agent, &p) == NIC_OK)
		s.made_mr[slot] = p.key;
}

static void destroy_mr(u32 slot)
{
	if (s.made_mr[slot] && nic_mr_destroy(&w.agent, s.made_mr[slot]) == NIC_OK)
		s.made_mr[slot] = 0;
}

static void resize_own_cq(void)
{
	static const u32 sizes[4] = { 8, 16, 32, 64 };
	struct area *area = free_area();

	/* 8 slots of 1 KiB are 64 entries. */
	if (area)
		nic_cq_resize(&w.agent, s.cq->cqn, area->ring.offset, sizes[take8() % 4]);
	area = area ? area : &s.area[0];
	if (w.agent.cq[s.cq->cqn - 1].ring == area->ring.offset)
		area->used = true;
}

static void commands(void)
{
	u8 how = take8();
	u32 slot = take8() % SLOTS, limit;

	switch (how % 8) {
	case 0:
	case 1:
		modify_some();
		break;
	case 2:
		create_qp(slot);
		break;
	case 3:
		destroy_qp(slot);
		break;
	case 4:
		create_mr(slot);
		break;
	case 5:
		destroy_mr(slot);
		break;
	case 6:
		nic_srq_set_limit(&w.agent, s.srq->srqn, take8());
		nic_srq_get_limit(&w.agent, s.srq->srqn, &limit);
		break;
	case 7:
		resize_own_cq();
		break;
	}
}

/* ------------------------------------------------------ actions: environment */

static void agent_works(void)
{
	u8 how = take8();
	struct nic_async async;
	u64 next;

	innocent = true;
	tp.clock += (u64)(how >> 2) * MS;
	nic_run(&w.agent, 1 + how % 4, &next);
	if (how & 2)
		nic_async_take(&w.agent, &async);
	innocent = false;
}

/* A process outside of the test stops while it holds a lock, or continues. */
static void stop_or_continue(void)
{
	u8 which = take8();
	struct nic *nic = &w.agent;
	struct qp *qp = which & 0x40 ? s.peer[which % TYPES] : own_qp(which);
	nic_lock_t *lock[6] = { &nic->qp[qp->qpn & nic->qp_index_mask].sq_lock,
				&nic->qp[qp->qpn & nic->qp_index_mask].rq.lock,
				&nic->cq[qp->scq->cqn - 1].lock,
				&nic->srq[s.srq->srqn - 1].rq.lock,
				&nic->channel[CHANNEL].lock,
				&nic->hdr->atomic_lock[which % NIC_ATOMIC_LOCKS] };

	if (s.stopped) {
		*s.stopped = 0;
		s.stopped = NULL;
	} else {
		s.stopped = lock[which / 4 % 6];
		*s.stopped = 77;
	}
}

static void trouble_with_memory(void)
{
	u8 how = take8();
	struct tp_space *space = &tp.space[1 + (how & 1)];

	space->no_read = space->no_write = at(&w.p[how & 1], take8() * 128);
	space->no_read_len = how & 2 ? take8() : 0;
	space->no_write_len = how & 4 ? take8() : 0;
	space->gone = how == 0x55;
}

/* Overwrites any NIC memory. */
static void scribble(void)
{
	u64 offset = take32() % tp.memory_size;
	u32 n = 1 + take8() % 32;

	if (!s.scribbling)
		return;
	if (n > tp.memory_size - offset)
		n = (u32)(tp.memory_size - offset);
	take((u8 *)tp.memory + offset, n);
}

static void scribble_field(void)
{
	struct nic_qp *qp = &w.agent.qp[(take8() & 1 ? s.mine : s.peer)[take8() % TYPES]->qpn];
	u32 at_byte = take8() % 256;

	if (s.scribbling && at_byte >= sizeof(u32))
		take((u8 *)qp + at_byte, 1 + take8() % 4);
}

static void repair(void)
{
	if (s.scribbling)
		nic_recover(&w.agent, take8(), take8() % 8);
}

/* The process dies in the firmware, at the n-th step from now. */
static jmp_buf afterlife;
static u32 countdown;

static void on_step(int step)
{
	if (!innocent && !countdown--)
		longjmp(afterlife, 1);
}

static void will_die(void)
{
	countdown = take8();
	tp.on_step = on_step;
}

static void act(void)
{
	static void (*const acts[])(void) = {
		write_ring,       set_index,
		post_some_send,   post_some_send,
		post_some_send,   post_some_recv,
		post_some_recv,   doorbells,
		channel,          poll_some,
		commands,         agent_works,
		stop_or_continue, trouble_with_memory,
		scribble,         scribble_field,
		repair,           will_die,
	};

	acts[take8() % (sizeof(acts) / sizeof(acts[0]))]();
}

/* The process has ended: the agent destroys all of its objects. */
static void clean_up(void)
{
	u32 events;

	if (s.stopped)
		*s.stopped = 0;
	s.stopped = NULL;
	nic_recover(&w.agent, w.p[0].nic.self, w.p[0].nic.space);
	for (u32 i = 0; i < SLOTS; i++) {
		destroy_qp(i);
		MUST(!s.made_qp[i]);
	}
	for (u32 i = 0; i < TYPES; i++)
		MUST(nic_qp_destroy(&w.agent, s.mine[i]->qpn) == NIC_OK);
	MUST(nic_qp_destroy(&w.agent, s.sharing->qpn) == NIC_OK);
	MUST(nic_srq_destroy(&w.agent, s.srq->srqn) == NIC_OK);
	MUST(nic_cq_destroy(&w.agent, s.cq->cqn, &events) == NIC_OK);
	for (u32 i = 0; i < 2; i++)
		MUST(nic_mr_destroy(&w.agent, s.mw[i]) == NIC_OK);
	/* Windows first, then the regions that they may be bound to. */
	for (u32 i = 0; i < 2 * SLOTS; i++)
		destroy_mr(i % SLOTS);
	for (u32 i = 0; i < SLOTS; i++)
		MUST(!s.made_mr[i]);
	MUST(nic_mr_destroy(&w.agent, w.p[0].key) == NIC_OK);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	input = data;
	left = size;
	begin_anew();
	innocent = false;
	s.scribbling = take8() & 1;
	if (s.scribbling)
		tp.check_regions = false;
	if (!setjmp(afterlife)) {
		while (left)
			act();
	} else {
		nic_recover(&w.agent, w.p[0].nic.self, w.p[0].nic.space);
	}
	tp.on_step = NULL;
	check();
	if (s.scribbling)
		return 0;
	third_party_runs_on();
	clean_up();
	check();
	third_party_runs_on();
	return 0;
}
