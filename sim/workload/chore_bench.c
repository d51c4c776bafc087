// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The bench of a chore: creates, uses and destroys its objects. */
#include <string.h>

#include "base/event.h"
#include "base/trace.h"
#include "workload/chore.h"

#define SLOTS 64u

bool lives(const struct process *p, u64 life)
{
	return !p->fatal && !p->dead && !p->node->dead && !is_lost(p, life);
}

bool holds(const struct bench *b)
{
	return !b->p->fatal && !b->far->fatal && !b->far->dead && !b->p->node->dead &&
	       !b->far->node->dead && !is_lost(b->p, b->life) && !is_lost(b->far, b->far_life) &&
	       !is_violated();
}

void wrong(const struct bench *b, const char *what, u32 got)
{
	if (holds(b))
		violated("node %u QP %u (to node %u QP %u): %s: %u", b->p->node->index,
			 b->x ? b->x->qpn : 0, b->far->node->index, b->y ? b->y->qpn : 0, what,
			 got);
}

void want(const struct bench *b, bool ok, const char *what)
{
	if (!ok)
		wrong(b, what, 0);
}

/* ---------------------------------------------------------------------- set-up */

bool bench_has_room(const struct node *node)
{
	const struct nic *nic = &node->nic;

	return node->next_mr + 160 < nic->max_mr && node->next_cqn + 16 < nic->max_cq &&
	       node->next_srqn + 8 < nic->max_srq &&
	       node->queue_at + (16u << 20) < nic->off_queue + nic->queue_bytes;
}

/* Reserve SLOT_BYTES of the memory for chores. Returns the offset, or 0 if all is in use. */
static u64 take_memory(struct actor *a)
{
	const struct space *space = &a->process->node->space[a->process->space];
	u32 slot;

	if (!~a->slots)
		return 0;
	do {
		slot = a->slot++ % SLOTS;
	} while (a->slots & 1ull << slot);
	a->slots |= 1ull << slot;
	return space->size - (2 + slot) * SLOT_BYTES;
}

static void give_memory(struct actor *a, u64 offset)
{
	const struct space *space = &a->process->node->space[a->process->space];

	if (offset)
		a->slots &= ~(1ull << ((space->size - offset) / SLOT_BYTES - 2));
}

bool bench_make(struct bench *b, struct actor *a, struct actor *other,
		const struct bench_options *o)
{
	struct process *p = a->process, *far = other->process;

	*b = (struct bench){ .actor = a, .other = other, .p = p, .far = far };
	if (!bench_has_room(p->node) || !bench_has_room(far->node))
		return false;
	b->here = take_memory(a);
	b->there = take_memory(other);
	if (!b->here || !b->there)
		return false;
	b->life = p->node->life;
	b->far_life = far->node->life;
	process_undying++;
	b->key = reg_mr(p, b->here, BYTES, ALL_ACCESS);
	b->far_key = reg_mr(far, b->there, BYTES, ALL_ACCESS);
	b->cq = make_cq_aside(p, o->cq_entries ? o->cq_entries : 64,
			      o->channel ? p->space : NIC_NONE, o->cq_flags);
	b->far_cq = make_cq_aside(far, o->far_cq_entries ? o->far_cq_entries : 64, NIC_NONE, 0);
	if (o->type) {
		b->x = make_qp(p, o->type, b->cq, b->cq, &o->near);
		b->y = make_qp(far, o->type, b->far_cq, b->far_cq, &o->far);
		connect_qp(b->x, far->node->index, b->y->qpn, &o->near);
		connect_qp(b->y, p->node->index, b->x->qpn, &o->far);
	}
	process_undying--;
	memset(mem(p, b->here), 0x11, BYTES);
	memset(mem(far, b->there), 0x22, BYTES);
	return holds(b);
}

static void free_end(struct process *p, u64 life, struct qp *qp, struct queue *cq, u32 key)
{
	if (!lives(p, life))
		return;
	if (qp)
		destroy_qp(qp);
	if (cq)
		destroy_cq(cq);
	dereg_mr(p, key);
}

static struct other *one_more(struct bench *b, struct process *p)
{
	struct other *o = &b->others[b->nothers++ % BENCH_OTHERS];

	*o = (struct other){ .p = p, .life = p->node->life };
	return o;
}

struct qp *bench_has_qp(struct bench *b, struct qp *qp)
{
	one_more(b, qp->process)->qp = qp;
	return qp;
}

struct srq *bench_has_srq(struct bench *b, struct srq *srq)
{
	one_more(b, srq->process)->srq = srq;
	return srq;
}

struct queue *bench_has_cq(struct bench *b, struct queue *cq)
{
	one_more(b, cq->process)->cq = cq;
	return cq;
}

struct slot *bench_memory(struct bench *b, struct actor *a)
{
	struct slot *slot = &b->slots[b->nslots];
	u64 offset = b->nslots < BENCH_SLOTS ? take_memory(a) : 0;

	if (!offset)
		return NULL;
	b->nslots++;
	*slot = (struct slot){ .actor = a, .offset = offset, .life = a->process->node->life };
	slot->key = reg_mr(a->process, offset, SLOT_BYTES, ALL_ACCESS);
	return slot->key ? slot : NULL;
}

static void free_other(const struct other *o)
{
	if (!lives(o->p, o->life))
		return;
	if (o->qp)
		destroy_qp(o->qp);
	if (o->srq)
		destroy_srq(o->srq);
	if (o->cq)
		destroy_cq(o->cq);
}

static void free_others(struct bench *b)
{
	const struct slot *slot;

	while (b->nothers && b->nothers <= BENCH_OTHERS)
		free_other(&b->others[--b->nothers]);
	while (b->nslots) {
		slot = &b->slots[--b->nslots];
		if (slot->key && lives(slot->actor->process, slot->life))
			dereg_mr(slot->actor->process, slot->key);
		give_memory(slot->actor, slot->offset);
	}
}

void bench_free(struct bench *b)
{
	give_memory(b->actor, b->here);
	give_memory(b->other, b->there);
	if (!b->far_cq)
		return;
	process_undying++;
	free_others(b);
	free_end(b->p, b->life, b->x, b->cq, b->key);
	free_end(b->far, b->far_life, b->y, b->far_cq, b->far_key);
	process_undying--;
}

/* -------------------------------------------------------------------- requests */

void post(struct bench *b, struct vnet_send_wqe wqe, u32 length, u32 lkey)
{
	struct sge sg = { address_at(b->p, b->here), length, lkey };

	wqe.wr_id = ++b->next_id;
	post_send(b->x, &wqe, &sg, length ? 1 : 0);
}

u32 next_status_of(struct bench *b, struct queue *cq, struct wc *out)
{
	u64 until = event_now() + EVENT_TIMEOUT_NS;
	struct wc wc;

	while (holds(b) && event_now() < until) {
		if (poll_cq(cq, &wc)) {
			if (out)
				*out = wc;
			return wc.status;
		}
		sleep_for(b->p, 3 * US + bench_below(b, 20000));
	}
	return NO_STATUS;
}

u32 next_status(struct bench *b, struct wc *out)
{
	return next_status_of(b, b->cq, out);
}

u32 run(struct bench *b, const struct vnet_send_wqe *wqe, u32 length, u32 lkey)
{
	if (!holds(b))
		return NO_STATUS;
	post(b, *wqe, length, lkey);
	ring_qp(b->x);
	return next_status(b, NULL);
}

bool ends(struct bench *b, u32 status, u32 expected, const char *what)
{
	if (status == expected)
		return true;
	if (status != NO_STATUS && status != VNET_WC_RETRY_EXC_ERR)
		wrong(b, what, status);
	return false;
}

struct vnet_send_wqe one_sided(const struct bench *b, u8 opcode)
{
	struct vnet_send_wqe wqe = make_wr(opcode, 0);

	wqe.rdma.remote_addr = address_at(b->far, b->there);
	wqe.rdma.rkey = b->far_key;
	return wqe;
}

void receives(struct bench *b, u32 n)
{
	struct sge sg = { address_at(b->far, b->there), BYTES, b->far_key };

	while (n-- && holds(b))
		post_recv(b->y, 1000 + n, &sg, 1);
}

bool write_works(struct bench *b, u32 lkey, const char *what)
{
	struct vnet_send_wqe wqe = one_sided(b, VNET_WR_RDMA_WRITE);
	u8 byte = (u8)bench_below(b, 256);

	memset(mem(b->p, b->here), byte, 512);
	if (!ends(b, run(b, &wqe, 512, lkey), VNET_WC_SUCCESS, what) || !holds(b))
		return false;
	want(b, mem(b->far, b->there)[0] == byte && mem(b->far, b->there)[511] == byte, what);
	return holds(b);
}

bool comes_to_error(struct bench *b, const struct qp *qp)
{
	u64 until = event_now() + EVENT_TIMEOUT_NS;

	while (holds(b) && state_of(qp) != NIC_QPS_ERR) {
		/* A message between two nodes may be delayed for longer. */
		if (event_now() > until)
			return b->p->node != b->far->node;
		sleep_for(b->p, 50 * US);
	}
	return true;
}
