// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The processes of random schedules. */
#include <string.h>

#include "chores.h"
#include "event.h"
#include "trace.h"
#include "workload.h"

#define SPACE_BYTES (2048ull << 20)
#define FIRST_SPACE_BYTES (512u << 20)
#define CQ_ENTRIES 2048
#define SRQ_ENTRIES 64
#define MAX_DATAGRAM 4096
#define MAX_REQUESTS_AT_ONCE 4
/* Silent requests in a row: the queue's room must become known. */
#define MAX_SILENT 4
#define MAX_DEATHS 12
#define US 1000ull
#define MS 1000000ull
/* A queue in the error state is flushed within this. */
#define FLUSH_NS (20000 * MS)

struct workload workload;

static u32 below(struct actor *a, u32 n)
{
	return random_below(&a->random, n);
}

static bool chance(struct actor *a, double p)
{
	return random_chance(&a->random, p);
}

/* -------------------------------------------------------------------- set-up */

static struct counter *new_counter(struct actor *a)
{
	struct buffer *buffer = buffer_get(&a->pool, 8);

	memset(buffer_memory(buffer), 0, 8);
	return check_counter_new(buffer, workload.total + 1);
}

/* All that a process has of its NIC; again after a reset. */
static void actor_equip(struct actor *a)
{
	struct process *p = a->process;
	u32 i;

	a->memory_used += pool_setup(&a->pool, p, a->memory_used);
	for (i = 0; i < 2; i++)
		a->cq[i] = make_cq(p, CQ_ENTRIES, below(a, 2) ? p->space : NIC_NONE);
	a->srq = make_srq(p, SRQ_ENTRIES);
	a->srq_posted = 0;
	a->srq_done = 0;
	a->counter = new_counter(a);
}

/* With room for what many lives of a NIC need. */
static u64 space_bytes(void)
{
	return workload.version == 1 ? FIRST_SPACE_BYTES : SPACE_BYTES;
}

struct actor *actor_new(struct node *node, u64 seed)
{
	struct actor *a = sim_alloc(sizeof(*a));

	a->process = process_new(node, space_bytes());
	a->process->user = a;
	random_seed(&a->random, seed, 0xac000 + workload.nactors);
	actor_equip(a);
	workload.actor[workload.nactors++] = a;
	return a;
}

/* Again with that queue pair (not NULL), which is in RESET. */
static struct end *make_end(struct actor *a, u8 type, struct qp *again)
{
	struct qp_options options = {
		.sq_entries = 8u << below(a, 3),
		.rq_entries = 8u << below(a, 3),
	};
	struct end *e;

	if (again)
		options.srq = again->srq;
	else if (type != NIC_QPT_UC && chance(a, 0.25))
		options.srq = a->srq;
	if (!again)
		again = make_qp(a->process, type, a->cq[below(a, 2)], a->cq[below(a, 2)], &options);
	e = check_end(again, a);
	/* What its receives hold. */
	e->capacity = options.srq || type == NIC_QPT_UD ? 4160 :
		      below(a, 4)                       ? 4160 :
		      below(a, 4)                       ? 16384 :
							  131072;
	e->lazy = chance(a, 0.15);
	return e;
}

static void give_word(struct end *e)
{
	struct pool *pool = &e->peer->actor->pool;

	e->word = buffer_get(pool, 8);
	if (e->word)
		memset(buffer_memory(e->word), 0, 8);
}

/* With packet numbers from psn on. */
static void make_ends_with(struct actor *a, struct qp *again, struct actor *b, u8 type, u32 psn)
{
	struct qp_options options = { .timeout = 16, .psn = psn, .ipv6 = chance(a, 0.2) };
	struct end *x = make_end(a, type, again), *y;
	bool impatient = chance(a, 0.1);

	if (!b) {
		connect_qp(x->qp, a->process->node->index, x->qp->qpn, &options);
		return;
	}
	/* With little patience for a receiver that is not ready. */
	if (impatient) {
		options.rnr_retry = (u8)(1 + below(a, 3));
		options.min_rnr_timer = 1;
	}
	y = make_end(b, type, NULL);
	x->may_rnr = y->may_rnr = impatient;
	x->peer = y;
	y->peer = x;
	connect_qp(x->qp, b->process->node->index, y->qp->qpn, &options);
	connect_qp(y->qp, a->process->node->index, x->qp->qpn, &options);
	if (type != NIC_QPT_RC)
		return;
	give_word(x);
	give_word(y);
	x->window_key = alloc_mw(a->process, NIC_MR_WINDOW_2);
	y->window_key = alloc_mw(b->process, NIC_MR_WINDOW_2);
	x->window = x->window_key ? WINDOW_CLOSED : WINDOW_NONE;
	y->window = y->window_key ? WINDOW_CLOSED : WINDOW_NONE;
}

void make_ends(struct actor *a, struct actor *b, u8 type)
{
	make_ends_with(a, NULL, b, type, 0);
}

/* ------------------------------------------------------------------- receives */

static bool get_receive(struct actor *a, struct receive *r, u32 size)
{
	u32 first = size;

	/* In one piece or two; a datagram's header is in the first. */
	if (chance(a, 0.3))
		first = 64;
	r->local[0] = buffer_get(&a->pool, first);
	if (!r->local[0])
		return false;
	r->local_length[0] = first;
	r->nlocal = 1;
	r->size = size;
	if (first == size)
		return true;
	r->local[1] = buffer_get(&a->pool, size - first);
	if (!r->local[1]) {
		buffer_put(&a->pool, r->local[0]);
		return false;
	}
	r->local_length[1] = size - first;
	r->nlocal = 2;
	return true;
}

static void receive_sges(const struct receive *r, struct sge *sg)
{
	u32 i;

	for (i = 0; i < r->nlocal; i++)
		sg[i] = (struct sge){ buffer_address(r->local[i]), r->local_length[i],
				      r->local[i]->key };
}

static bool is_usable(const struct end *e)
{
	return !e->gone && !e->closing && !is_lost(e->qp->process, e->qp->life) &&
	       !e->qp->process->node->dead;
}

static void stock_end(struct end *e)
{
	struct actor *a = e->actor;
	u32 want = e->lazy ? 1 : e->capacity > 16384 ? 4 : e->qp->rq.mask + 1;
	u32 most = want;
	struct receive *r;
	struct sge sg[2];

	/* In the error state they come back at once: each is posted once. */
	for (; want && is_usable(e) && !e->failed && e->nreceive - e->received < most &&
	       recv_room(e->qp);
	     want--) {
		r = check_receive(e, NULL);
		if (!get_receive(a, r, e->capacity)) {
			/* It was not posted after all. */
			r->done = true;
			e->nreceive--;
			return;
		}
		receive_sges(r, sg);
		post_recv(e->qp, receive_wr_id(r), sg, r->nlocal);
	}
}

static void stock_srq(struct actor *a)
{
	struct receive *r;
	struct sge sg[2];

	while (a->srq_posted - a->srq_done < SRQ_ENTRIES / 2 && srq_room(a->srq)) {
		r = check_receive(NULL, a->srq);
		if (!get_receive(a, r, 4160))
			return;
		receive_sges(r, sg);
		if (post_srq(a->srq, receive_wr_id(r), sg, r->nlocal))
			a->srq_posted++;
	}
}

/* --------------------------------------------------------------- send requests */

static u32 random_length(struct actor *a, u32 max)
{
	u32 kind = below(a, 100), length;

	if (kind < 8)
		length = 0;
	else if (kind < 40)
		length = 1 + below(a, 64);
	else if (kind < 65)
		length = 1 + below(a, 512);
	else if (kind < 85)
		length = 1 + below(a, 4096);
	else if (kind < 97)
		length = 1 + below(a, 16384);
	else
		length = 1 + below(a, 131072);
	return length < max ? length : max;
}

static u8 random_opcode(struct actor *a, u8 type)
{
	static const u8 reliable[] = {
		VNET_WR_SEND,
		VNET_WR_SEND,
		VNET_WR_SEND,
		VNET_WR_SEND_IMM,
		VNET_WR_RDMA_WRITE,
		VNET_WR_RDMA_WRITE,
		VNET_WR_RDMA_WRITE,
		VNET_WR_RDMA_WRITE_IMM,
		VNET_WR_RDMA_WRITE_IMM,
		VNET_WR_RDMA_READ,
		VNET_WR_RDMA_READ,
		VNET_WR_ATOMIC_CMP_SWP,
		VNET_WR_ATOMIC_CMP_SWP,
		VNET_WR_ATOMIC_FETCH_ADD,
		VNET_WR_ATOMIC_FETCH_ADD,
		VNET_WR_BIND_MW,
		VNET_WR_LOCAL_INV,
		VNET_WR_SEND_INV,
	};
	static const u8 unreliable[] = { VNET_WR_SEND, VNET_WR_SEND_IMM, VNET_WR_RDMA_WRITE,
					 VNET_WR_RDMA_WRITE_IMM };

	if (type == NIC_QPT_RC)
		return reliable[below(a, sizeof(reliable))];
	return unreliable[below(a, type == NIC_QPT_UC ? 4 : 2)];
}

/* Local memory in up to three pieces; false: there is not enough. */
static bool get_local(struct actor *a, struct work *w)
{
	u32 left = w->length, n = 1 + below(a, 3), part;

	while (left) {
		part = n > 1 && left > 1 ? 1 + below(a, left - 1) : left;
		if (w->nlocal == WORK_SGE - 1)
			part = left;
		w->local[w->nlocal] = buffer_get(&a->pool, part);
		if (!w->local[w->nlocal])
			return false;
		w->local_length[w->nlocal++] = part;
		left -= part;
		n -= n > 1;
	}
	return true;
}

static void fill_local(struct work *w)
{
	u32 i, done = 0;

	for (i = 0; i < w->nlocal; i++) {
		bytes_fill(buffer_memory(w->local[i]), w->local_length[i], w->id, done);
		done += w->local_length[i];
	}
}

/* Not posted after all: its buffers go back. */
static void withdraw(struct work *w)
{
	struct end *e = w->end;
	u32 i;

	for (i = 0; i < w->nlocal; i++)
		buffer_put(&e->actor->pool, w->local[i]);
	if (w->remote && !w->by_window)
		buffer_put(&e->peer->actor->pool, w->remote);
	w->done = true;
	if (w->by_window)
		e->peer->window_users--;
	e->nwork--;
	check_totals.works--;
}

static struct end *random_end(struct actor *a, u8 type)
{
	struct end **ends, *e;
	u32 n, tries;

	ends = check_ends(&n);
	for (tries = 0; tries < 16 && n; tries++) {
		e = ends[below(a, n)];
		if (e->type == type && is_usable(e))
			return e;
	}
	return NULL;
}

static u32 max_length(const struct end *e, u8 opcode)
{
	if (e->type == NIC_QPT_UD)
		return MAX_DATAGRAM;
	if (opcode == VNET_WR_RDMA_WRITE || opcode == VNET_WR_RDMA_WRITE_IMM)
		return e->type == NIC_QPT_UC ? 4160 : 131072;
	return opcode == VNET_WR_RDMA_READ ? 131072 : e->peer->capacity;
}

/* A message that its receiver has no room for; now and then. */
static bool overflow(struct work *w)
{
	struct end *e = w->end;

	if (e->type != NIC_QPT_RC || w->opcode != VNET_WR_SEND || e->peer->capacity > 16384 ||
	    !chance(e->actor, 0.002))
		return false;
	w->length = e->peer->capacity + 1 + below(e->actor, 4096);
	w->expect = EXPECT_REM_INV_REQ;
	e->may_fail = true;
	e->peer->may_fail = true;
	return true;
}

/* A reason to fail, now and then. */
static void spoil(struct actor *a, struct work *w, struct vnet_send_wqe *wqe, struct sge *sg)
{
	struct end *e = w->end;

	if (w->expect != EXPECT_SUCCESS || !chance(a, 0.004))
		return;
	if (e->type == NIC_QPT_UD) {
		if (!w->nlocal)
			return;
		wqe->opcode = VNET_WR_RDMA_READ;
		w->expect = EXPECT_LOC_QP_OP;
		w->to = NULL;
		e->may_fail = true;
		return;
	}
	if (w->nlocal && !w->is_inline && below(a, 2)) {
		sg[below(a, w->nlocal)].lkey ^= 0x80;
		w->expect = EXPECT_LOC_PROT;
	} else if (e->type == NIC_QPT_RC && w->length &&
		   (w->opcode == VNET_WR_RDMA_WRITE || w->opcode == VNET_WR_RDMA_READ)) {
		wqe->rdma.rkey ^= 0x40;
		w->expect = EXPECT_REM_ACCESS;
	} else if (w->opcode == VNET_WR_ATOMIC_CMP_SWP || w->opcode == VNET_WR_ATOMIC_FETCH_ADD) {
		wqe->rdma.remote_addr += 4;
		w->expect = EXPECT_REM_INV_REQ;
	} else {
		return;
	}
	e->may_fail = true;
	if (w->expect != EXPECT_LOC_PROT)
		e->peer->may_fail = true;
}

/* The part of a request that names the peer's memory; false: it cannot be. */
static bool get_remote(struct work *w, struct vnet_send_wqe *wqe)
{
	struct end *e = w->end, *peer = e->peer;
	struct actor *a = e->actor;
	u32 length = w->length ? w->length : 1;

	if (peer->window == WINDOW_OPEN && w->length && w->length <= 512 && chance(a, 0.6) &&
	    !peer->window_users) {
		/* One at a time, so that each finds the window's memory its own. */
		w->remote = peer->window_buffer;
		w->by_window = true;
		peer->window_users++;
		peer->window_buffer = buffer_get(&peer->actor->pool, 512);
		wqe->rdma.rkey = peer->window_key;
		wqe->rdma.remote_addr = buffer_address(w->remote);
		return true;
	}
	w->remote = buffer_get(&peer->actor->pool, length);
	if (!w->remote)
		return false;
	wqe->rdma.rkey = w->remote->key;
	wqe->rdma.remote_addr = buffer_address(w->remote);
	return true;
}

static bool prepare_data(struct work *w, struct vnet_send_wqe *wqe)
{
	struct end *e = w->end;
	struct actor *a = e->actor;

	if (!overflow(w))
		w->length = random_length(a, max_length(e, w->opcode));
	/* What may be lost must be told from others. */
	if (e->type != NIC_QPT_RC && w->opcode == VNET_WR_SEND && w->length < 8)
		w->length = 8;
	if (w->opcode == VNET_WR_RDMA_WRITE || w->opcode == VNET_WR_RDMA_WRITE_IMM ||
	    w->opcode == VNET_WR_RDMA_READ) {
		if (!get_remote(w, wqe))
			return false;
	}
	if (w->opcode == VNET_WR_RDMA_READ) {
		w->remote_id = 1ull << 62 | w->id;
		bytes_fill(buffer_memory(w->remote), w->length, w->remote_id, 0);
		return get_local(a, w);
	}
	if (w->length <= 256 && chance(a, 0.3)) {
		w->is_inline = true;
		return true;
	}
	if (!get_local(a, w))
		return false;
	fill_local(w);
	return true;
}

static bool prepare_atomic(struct work *w, struct vnet_send_wqe *wqe)
{
	struct end *e = w->end;
	struct actor *a = e->actor;
	struct buffer *word = w->opcode == VNET_WR_ATOMIC_CMP_SWP ? e->word :
								    e->peer->actor->counter->buffer;

	w->length = 8;
	w->local[0] = word ? buffer_get(&a->pool, 8) : NULL;
	if (!w->local[0] || is_lost(word->process, word->life))
		return false;
	w->local_length[0] = 8;
	w->nlocal = 1;
	wqe->rdma.remote_addr = buffer_address(word);
	wqe->rdma.rkey = word->key;
	if (w->opcode == VNET_WR_ATOMIC_FETCH_ADD) {
		w->counter = e->peer->actor->counter;
		w->counter->posted++;
		wqe->rdma.compare_add = 1;
		return true;
	}
	/* It is the only one who changes this word, so it knows what is there. */
	w->result = e->word_value;
	wqe->rdma.compare_add = chance(a, 0.8) ? e->word_value : e->word_value + 1;
	wqe->rdma.swap = random_mix(w->id);
	if (wqe->rdma.compare_add == e->word_value)
		e->word_value = wqe->rdma.swap;
	return true;
}

/* Windows: opened and closed by their end; by the peer where it invalidates. */
static bool prepare_window(struct work *w, struct vnet_send_wqe *wqe)
{
	struct end *e = w->end;
	u32 key = e->window_key;

	if (w->opcode == VNET_WR_LOCAL_INV) {
		if (e->window != WINDOW_OPEN || e->window_users)
			return false;
		wqe->imm = key;
		e->window = WINDOW_CLOSING;
		return true;
	}
	if (e->window != WINDOW_CLOSED)
		return false;
	if (!e->window_buffer)
		e->window_buffer = buffer_get(&e->actor->pool, 512);
	if (!e->window_buffer || is_lost(e->window_buffer->process, e->window_buffer->life))
		return false;
	e->window_key = (key & ~0xffu) | ((key + 1) & 0xff);
	/* All of the buffers' region: the oracle knows what may be written. */
	wqe->bind = (struct vnet_wqe_bind){
		.addr = at(e->actor->process, e->actor->pool.base[1]),
		.length = e->actor->pool.room[1],
		.old_rkey = key,
		.new_rkey = e->window_key,
		.lkey = e->actor->pool.key[1],
		.access = NIC_ACCESS_REMOTE_WRITE | NIC_ACCESS_REMOTE_READ,
	};
	e->window = WINDOW_OPENING;
	return true;
}

static bool prepare(struct work *w, struct vnet_send_wqe *wqe)
{
	struct end *peer = w->end->peer;

	switch (w->opcode) {
	case VNET_WR_BIND_MW:
	case VNET_WR_LOCAL_INV:
		return prepare_window(w, wqe);
	case VNET_WR_ATOMIC_CMP_SWP:
	case VNET_WR_ATOMIC_FETCH_ADD:
		return prepare_atomic(w, wqe);
	case VNET_WR_SEND_INV:
		if (peer->window != WINDOW_OPEN || peer->window_users)
			return false;
		if (!prepare_data(w, wqe))
			return false;
		wqe->imm = peer->window_key;
		peer->window = WINDOW_CLOSING;
		return true;
	default:
		return prepare_data(w, wqe);
	}
}

/* A datagram that nobody may take; the oracle does not expect it anywhere. */
static void misaddress(struct work *w, struct vnet_send_wqe *wqe)
{
	switch (below(w->end->actor, 3)) {
	case 0:
		wqe->ud.remote_qkey++;
		break;
	case 1:
		wqe->ud.remote_qpn += 0x1000;
		break;
	default:
		wqe->ud.dgid[0] ^= 0x55;
		wqe->ud.dgid[12] = 99;
		break;
	}
	w->to = NULL;
}

static bool address(struct work *w, struct vnet_send_wqe *wqe)
{
	struct end *e = w->end;

	if (e->type != NIC_QPT_UD)
		return true;
	w->to = random_end(e->actor, NIC_QPT_UD);
	if (!w->to)
		return false;
	if (chance(e->actor, 0.2))
		to_address_ipv6(wqe, w->to->qp->process->node->index, w->to->qp->qpn);
	else
		to_address(wqe, w->to->qp->process->node->index, w->to->qp->qpn);
	/* Now and then to nobody: the sender learns nothing. */
	if (chance(e->actor, 0.02))
		misaddress(w, wqe);
	return true;
}

static void enqueue(struct work *w, struct vnet_send_wqe *wqe, struct sge *sg)
{
	struct end *e = w->end;
	u8 data[256];

	wqe->wr_id = work_wr_id(w);
	wqe->flags = (u8)((w->signaled ? VNET_WR_SIGNALED : 0) |
			  (below(e->actor, 8) ? 0 : VNET_WR_SOLICITED) |
			  (below(e->actor, 16) ? 0 : VNET_WR_FENCE));
	if (work_is_wide(w)) {
		wqe->flags |= VNET_WR_IMM64;
		wqe->rdma.imm_high = w->imm_high;
	}
	if (w->to) {
		w->next_datagram = w->to->datagrams;
		w->to->datagrams = w;
	}
	if (!w->is_inline) {
		post_send(e->qp, wqe, sg, w->nlocal);
		return;
	}
	bytes_fill(data, w->length, w->id, 0);
	post_inline(e->qp, wqe, data, w->length);
}

static bool post_one(struct end *e)
{
	struct actor *a = e->actor;
	struct work *w = check_work(e);
	struct vnet_send_wqe wqe;
	struct sge sg[WORK_SGE];
	u32 i;

	w->opcode = random_opcode(a, e->type);
	wqe = make_wr(w->opcode, 0);
	if (w->opcode == VNET_WR_SEND_IMM || w->opcode == VNET_WR_RDMA_WRITE_IMM)
		wqe.imm = w->imm;
	if (!address(w, &wqe) || !prepare(w, &wqe)) {
		withdraw(w);
		return false;
	}
	for (i = 0; i < w->nlocal; i++)
		sg[i] = (struct sge){ buffer_address(w->local[i]), w->local_length[i],
				      w->local[i]->key };
	w->signaled = chance(a, 0.7) || ++e->silent > MAX_SILENT || send_room(e->qp) < 3;
	if (w->signaled)
		e->silent = 0;
	spoil(a, w, &wqe, sg);
	enqueue(w, &wqe, sg);
	return true;
}

static bool is_read(const struct end *e)
{
	return e->nwork && e->work[e->nwork - 1]->opcode == VNET_WR_RDMA_READ;
}

/* Send what a read brings, which the fence has to wait for. */
static bool relay(struct end *e, struct work *read)
{
	struct work *w;
	struct vnet_send_wqe wqe = make_wr(VNET_WR_SEND, 0);
	struct sge sg[WORK_SGE];
	u32 i;

	if (read->expect != EXPECT_SUCCESS || !read->length || read->length > e->peer->capacity ||
	    !send_room(e->qp) || read->relayed)
		return false;
	w = check_work(e);
	w->opcode = VNET_WR_SEND;
	w->content = read->remote_id;
	w->length = read->length;
	w->nlocal = read->nlocal;
	w->signaled = true;
	for (i = 0; i < read->nlocal; i++) {
		w->local[i] = read->local[i];
		w->local_length[i] = read->local_length[i];
		sg[i] = (struct sge){ buffer_address(w->local[i]), w->local_length[i],
				      w->local[i]->key };
	}
	read->relayed = true;
	wqe.wr_id = work_wr_id(w);
	wqe.flags = VNET_WR_SIGNALED | VNET_WR_FENCE;
	e->silent = 0;
	return post_send(e->qp, &wqe, sg, w->nlocal);
}

static void post_some(struct actor *a)
{
	struct end **ends, *e = NULL;
	u32 n, i, start, posted = 0, want = 1 + below(a, MAX_REQUESTS_AT_ONCE);

	ends = check_ends(&n);
	start = below(a, n);
	for (i = 0; i < n; i++) {
		e = ends[(start + i) % n];
		if (e->actor == a && is_usable(e) && !e->failed && send_room(e->qp) > 1 &&
		    (!e->peer || !e->peer->gone))
			break;
	}
	if (i == n)
		return;
	while (want-- && workload.left && send_room(e->qp) > 1) {
		if (!post_one(e))
			continue;
		workload.left--;
		posted++;
		if (workload.version > 1 && workload.left && is_read(e) && below(a, 2) &&
		    relay(e, e->work[e->nwork - 1])) {
			workload.left--;
			posted++;
		}
	}
	if (posted)
		ring_qp(e->qp);
}

/* ----------------------------------------------------------------- connections */

void give_up(struct end *e)
{
	e->may_fail = true;
	e->broken = true;
	if (!e->peer)
		return;
	e->peer->may_fail = true;
	e->excused = true;
	e->peer->excused = true;
}

static bool is_flushed(const struct end *e)
{
	return !e || e->gone || is_lost(e->qp->process, e->qp->life) ||
	       e->qp->process->node->dead ||
	       (check_is_complete(e) && (e->qp->srq || e->received == e->nreceive));
}

static void to_error(struct end *e)
{
	if (e->gone || is_lost(e->qp->process, e->qp->life) || e->qp->process->node->dead)
		return;
	e->closing = true;
	e->may_fail = true;
	e->excused = true;
	set_state(e->qp, NIC_QPS_ERR);
}

static void remove_end(struct end *e)
{
	if (e->gone)
		return;
	if (!e->qp->process->node->dead && !destroy_qp(e->qp))
		violated("node %u QP %u cannot be destroyed", e->qp->process->node->index,
			 e->qp->qpn);
	check_close(e);
}

static bool is_alive(const struct actor *a)
{
	return !a->process->fatal && !a->process->node->dead && !a->process->dead;
}

static bool can_connect(const struct actor *a)
{
	return is_alive(a) && !a->process->dies;
}

static void connect_ends(struct actor *a, struct actor *b, u8 type)
{
	process_undying++;
	make_ends(a, b, type);
	process_undying--;
}

/*
 * The same queue pair for another connection. After a reset of the peer's NIC its
 * numbers may be the same, too, which must do no harm; else packet numbers differ, as
 * programs must see to themselves. false: it stays in the error state.
 */
static bool renew(struct actor *a, struct end *e, struct actor *other)
{
	struct end *peer = e->peer;
	bool lost = is_lost(peer->qp->process, peer->qp->life);

	if (e->gone || !is_alive(a) || is_lost(e->qp->process, e->qp->life) ||
	    set_state(e->qp, NIC_QPS_RESET) != NIC_OK)
		return false;
	check_close(e);
	make_ends_with(a, e->qp, other, e->type, lost ? 0 : 1 + below(a, 1u << 22));
	return true;
}

/* A connection (or an end for datagrams) failed: down with it, and a new one. */
static void repair(struct actor *a, struct end *e)
{
	struct end *peer = e->peer;
	u64 until = event_now() + FLUSH_NS;
	bool again = false;

	workload.repairs++;
	a->repairing++;
	to_error(e);
	if (peer)
		to_error(peer);
	while (!is_violated() && (!is_flushed(e) || !is_flushed(peer))) {
		if (event_now() > until) {
			check_incomplete();
			violated("node %u QP %u: its queues are not flushed",
				 e->qp->process->node->index, e->qp->qpn);
			return;
		}
		sleep_for(a->process, 200 * US);
	}
	if (peer)
		remove_end(peer);
	if (workload.version > 1 && peer && !workload.stop && can_connect(a) &&
	    can_connect(peer->actor) && below(a, 4)) {
		process_undying++;
		again = renew(a, e, peer->actor);
		process_undying--;
	}
	remove_end(e);
	if (!again && can_connect(a) && (!peer || can_connect(peer->actor)) && !workload.stop)
		connect_ends(a, peer ? peer->actor : NULL, e->type);
	a->repairing--;
	workload.repairs--;
}

/* Whether it is this end's process that sees to it: of the two that can, one. */
static bool is_ours(const struct end *e)
{
	const struct end *peer = e->peer;

	if (!peer || peer->gone || is_lost(peer->qp->process, peer->qp->life) ||
	    peer->qp->process->node->dead || !is_alive(peer->actor))
		return true;
	return e->number < peer->number;
}

static bool needs_repair(const struct end *e)
{
	const struct end *peer = e->peer;

	return e->failed || e->broken || e->seen_error ||
	       (peer && (peer->failed || peer->broken || peer->gone || peer->seen_error));
}

static bool repair_some(struct actor *a)
{
	struct end **ends;
	u32 n, i;

	ends = check_ends(&n);
	for (i = 0; i < n; i++) {
		struct end *e = ends[i];

		if (e->actor != a || !is_usable(e))
			continue;
		if (!e->seen_error && e->may_fail && state_of(e->qp) == NIC_QPS_ERR)
			e->seen_error = true;
		if (needs_repair(e) && is_ours(e)) {
			repair(a, e);
			return true;
		}
	}
	return false;
}

/* -------------------------------------------------------------------- a process */

static bool poll_all(struct actor *a)
{
	bool any = false;
	struct wc wc;
	u32 i;

	for (i = 0; i < 2; i++) {
		while (poll_cq(a->cq[i], &wc)) {
			check_polled(a, &wc);
			any = true;
		}
	}
	return any;
}

static void stock_all(struct actor *a)
{
	struct end **ends;
	u32 n, i;

	ends = check_ends(&n);
	for (i = 0; i < n; i++) {
		if (ends[i]->actor == a && !ends[i]->qp->srq)
			stock_end(ends[i]);
	}
	stock_srq(a);
}

/* A queue drains for a while, in which requests are posted and none begins. */
static void drain_some(struct actor *a)
{
	struct end **ends;
	u32 n, i;

	ends = check_ends(&n);
	for (i = 0; i < n; i++) {
		struct end *e = ends[i];

		if (e->actor != a || !is_usable(e))
			continue;
		if (e->drains_until && event_now() >= e->drains_until) {
			e->drains_until = 0;
			/* A request may have failed meanwhile. */
			if (workload.version > 1 && (e->failed || state_of(e->qp) != NIC_QPS_SQD))
				continue;
			set_state(e->qp, NIC_QPS_RTS);
		} else if (!e->drains_until && workload.left && chance(a, 0.002) &&
			   state_of(e->qp) == NIC_QPS_RTS &&
			   set_state(e->qp, NIC_QPS_SQD) == NIC_OK) {
			e->drains_until = event_now() + below(a, 300) * US;
		}
	}
}

/* Other things that programs do now and then. */
static void potter(struct actor *a)
{
	struct process *p = a->process;

	if (a->spare_key && chance(a, 0.1)) {
		dereg_mr(p, a->spare_key);
		a->spare_key = 0;
	} else if (!a->spare_key && chance(a, 0.02) &&
		   p->node->next_mr + 64 < p->node->nic.max_mr) {
		a->spare_key = reg_mr(p, space_bytes() - 8192, 4096, ALL_ACCESS);
	}
	if (chance(a, 0.01))
		limit_srq(a->srq, below(a, SRQ_ENTRIES));
	if (chance(a, 0.002))
		resize_cq(a->cq[below(a, 2)], CQ_ENTRIES);
}

static void rest(struct actor *a, bool busy)
{
	static const u32 longest = 12;
	u64 ns = below(a, 4000);

	if (chance(a, 0.02))
		ns = below(a, 200000);
	a->idle = busy ? 0 : a->idle < longest ? a->idle + 1 : longest;
	/* Nothing to do: look more and more seldom. */
	if (a->idle > 4)
		ns = (2 * US) << a->idle;
	if (a->idle > 4 && chance(a, 0.3)) {
		arm_cq(a->cq[0], false);
		wait_event(a->process, event_now() + ns);
		return;
	}
	sleep_for(a->process, ns);
}

static bool has_room(const struct node *node)
{
	return !node->dead && node->next_mr + 128 < node->nic.max_mr &&
	       node->next_cqn + 8 < node->nic.max_cq && node->next_srqn + 8 < node->nic.max_srq;
}

/* Connections to some that live, and an end for datagrams. */
static void make_acquaintance(struct actor *a)
{
	struct actor *b;
	u32 i;

	for (i = 0; i < 4 && can_connect(a) && has_room(a->process->node); i++) {
		b = workload.actor[below(a, workload.nactors)];
		if (can_connect(b))
			connect_ends(a, b, i ? NIC_QPT_RC : NIC_QPT_UC);
	}
	if (can_connect(a))
		connect_ends(a, NULL, NIC_QPT_UD);
}

/* Another process in a dead one's place, with connections to some that live. */
static void replace(const struct actor *dead)
{
	struct node *node = dead->process->node;
	struct actor *a;

	if (workload.stop || workload.nactors >= MAX_ACTORS || workload.deaths >= MAX_DEATHS ||
	    !has_room(node))
		return;
	process_undying++;
	a = actor_new(node, sim.config.seed);
	make_acquaintance(a);
	process_undying--;
	process_start(a->process, actor_program, a, event_now() + below(a, 5000));
}

static void bury_program(struct process *helper, void *arg)
{
	struct actor *a = arg;

	(void)helper;
	process_bury(a->process);
	if (!is_violated())
		replace(a);
	workload.repairs--;
}

void actor_died(struct process *p)
{
	struct actor *a = p->user;
	struct process *helper = process_helper(p->node);

	workload.deaths++;
	workload.repairs -= a->repairing;
	a->repairing = 0;
	check_lost_actor(a);
	workload.repairs++;
	process_start(helper, bury_program, a, event_now());
}

static void chore(struct actor *a)
{
	struct actor *other = workload.actor[below(a, workload.nactors)];

	if (!can_connect(a) || !can_connect(other))
		return;
	chore_do(a, other);
}

void actor_program(struct process *p, void *arg)
{
	struct actor *a = arg;
	bool busy;

	while (!workload.stop && !is_violated() && !p->node->dead) {
		if (p->fatal) {
			process_renew(p);
			a->spare_key = 0;
			actor_equip(a);
			if (workload.version > 1)
				make_acquaintance(a);
		}
		busy = poll_all(a);
		if (!chance(a, 0.1))
			stock_all(a);
		if (workload.left) {
			post_some(a);
			busy = true;
		}
		if (repair_some(a))
			busy = true;
		drain_some(a);
		potter(a);
		if (workload.version > 1 && workload.left && chance(a, 0.05))
			chore(a);
		rest(a, busy);
	}
}
