// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The random workload: posts random requests of all operations. */
#include "base/trace.h"
#include "workload/actor.h"

#define MAX_DATAGRAM 4096
#define MAX_REQUESTS_AT_ONCE 4
/* Limit of consecutive unsignaled requests. */
#define MAX_SILENT 4

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
		/* Not in workloads up to version 3. */
		VNET_WR_ATOMIC_WRITE,
		VNET_WR_ATOMIC_WRITE,
	};
	u32 n = workload.version > 3 ? sizeof(reliable) : sizeof(reliable) - 2;
	static const u8 unreliable[] = { VNET_WR_SEND, VNET_WR_SEND_IMM, VNET_WR_RDMA_WRITE,
					 VNET_WR_RDMA_WRITE_IMM };

	if (type == NIC_QPT_RC)
		return reliable[below(a, n)];
	return unreliable[below(a, type == NIC_QPT_UC ? 4 : 2)];
}

/* Get local buffers, up to three. Returns false if there are not enough. */
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

/* Return the buffers of a request that was not posted. */
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
	if (opcode == VNET_WR_ATOMIC_WRITE)
		return 8;
	if (opcode == VNET_WR_RDMA_WRITE || opcode == VNET_WR_RDMA_WRITE_IMM)
		return e->type == NIC_QPT_UC ? 4160 : 131072;
	return opcode == VNET_WR_RDMA_READ ? 131072 : e->peer->capacity;
}

/* Sometimes, send a message that is longer than the receive. */
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

/* Sometimes, make a request that must fail. */
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

/* Get a buffer of the peer, directly or through a window. Returns false if there is none. */
static bool get_remote(struct work *w, struct vnet_send_wqe *wqe)
{
	struct end *e = w->end, *peer = e->peer;
	struct actor *a = e->actor;
	u32 length = w->length ? w->length : 1;

	if (peer->window == WINDOW_OPEN && w->length && w->length <= 512 && chance(a, 0.6) &&
	    !peer->window_users) {
		/* One request at a time, so that each has the window's buffer to itself. */
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
	if (w->opcode == VNET_WR_ATOMIC_WRITE)
		w->length = 8;
	/* The oracle must be able to distinguish messages that may be lost. */
	if (e->type != NIC_QPT_RC && w->opcode == VNET_WR_SEND && w->length < 8)
		w->length = 8;
	if (w->opcode == VNET_WR_RDMA_WRITE || w->opcode == VNET_WR_RDMA_WRITE_IMM ||
	    w->opcode == VNET_WR_RDMA_READ || w->opcode == VNET_WR_ATOMIC_WRITE) {
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
	/* Only this end changes the word, so it knows the value. */
	w->result = e->word_value;
	wqe->rdma.compare_add = chance(a, 0.8) ? e->word_value : e->word_value + 1;
	wqe->rdma.swap = random_mix(w->id);
	if (wqe->rdma.compare_add == e->word_value)
		e->word_value = wqe->rdma.swap;
	return true;
}

/* Bind or invalidate the window of this end. The peer may also invalidate it, by SEND_INV. */
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
	/* The window covers all buffers of its class. The oracle detects writes to others. */
	wqe->bind = (struct vnet_wqe_bind){
		.addr = address_at(e->actor->process, e->actor->pool.base[1]),
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

/* Make the address one that reaches no queue pair. The oracle expects no delivery. */
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
		if (sim.config.lids)
			wqe->ud.dlid += 1000;
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
	/* Use any GID of the NIC. */
	if (sim.config.names && wqe->ud.sgid_index)
		node_name(w->to->qp->process->node->index, (u32)(w->id % (sim.config.names + 1)),
			  wqe->ud.dgid);
	w->to_ready = w->to->ready;
	/* Sometimes address by LID only, without a GRH. */
	if (sim.config.lids)
		wqe->ud.no_grh = chance(e->actor, 0.5);
	/* Wrong addresses are more frequent if the queue pair reports undeliverable messages. */
	if (chance(e->actor, e->returns ? 0.1 : 0.02))
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

/* Send the data that a read returns. The fence must delay the send until the read completes. */
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

void post_some(struct actor *a)
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
