// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The oracle: each completion against what was posted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "event.h"
#include "trace.h"

struct check_totals check_totals;
bool check_strict;

static struct {
	struct work **work;
	u32 nwork, work_room;
	struct receive **receive;
	u32 nreceive, receive_room;
	struct end **end;
	u32 nend, end_room;
	struct counter **counter;
	u32 ncounter, counter_room;
} all;

/* ------------------------------------------------------------------ what was posted */

static void append(void *list, u32 *n, u32 *room, void *item)
{
	void ***items = list;

	if (*n == *room) {
		*room = *room ? *room * 2 : 64;
		*items = realloc(*items, *room * sizeof(void *));
		if (!*items)
			abort();
	}
	(*items)[(*n)++] = item;
}

void check_reset(void)
{
	u32 i;

	for (i = 0; i < all.nend; i++) {
		free(all.end[i]->work);
		free(all.end[i]->receive);
		free(all.end[i]);
	}
	for (i = 0; i < all.nwork; i++)
		free(all.work[i]);
	for (i = 0; i < all.nreceive; i++)
		free(all.receive[i]);
	for (i = 0; i < all.ncounter; i++) {
		free(all.counter[i]->seen);
		free(all.counter[i]);
	}
	free(all.work);
	free(all.receive);
	free(all.end);
	free(all.counter);
	memset(&all, 0, sizeof(all));
}

static void *zeroed(size_t size)
{
	void *memory = calloc(1, size);

	if (!memory)
		abort();
	return memory;
}

struct end *check_end(struct qp *qp, struct actor *actor)
{
	struct end *e = zeroed(sizeof(*e));

	e->qp = qp;
	e->actor = actor;
	e->type = qp->type;
	e->number = all.nend;
	e->made_at = event_now();
	e->word_sure = true;
	qp->user = e;
	append(&all.end, &all.nend, &all.end_room, e);
	return e;
}

struct end **check_ends(u32 *n)
{
	*n = all.nend;
	return all.end;
}

struct work *check_work(struct end *e)
{
	struct work *w = zeroed(sizeof(*w));

	w->id = all.nwork + 1;
	w->content = w->id;
	w->end = e;
	w->index = e->nwork;
	/* The receiver's sign for it. */
	w->imm = (u32)random_mix(w->id);
	w->imm_high = (u32)(random_mix(w->id) >> 32);
	append(&all.work, &all.nwork, &all.work_room, w);
	append(&e->work, &e->nwork, &e->work_room, w);
	check_totals.works++;
	return w;
}

struct receive *check_receive(struct end *e, struct srq *srq)
{
	struct receive *r = zeroed(sizeof(*r));

	r->id = all.nreceive + 1;
	r->end = e;
	r->srq = srq;
	append(&all.receive, &all.nreceive, &all.receive_room, r);
	if (e) {
		r->index = e->nreceive;
		append(&e->receive, &e->nreceive, &e->receive_room, r);
	}
	check_totals.receives++;
	return r;
}

struct counter *check_counter_new(struct buffer *buffer, u32 additions)
{
	struct counter *c = zeroed(sizeof(*c));

	c->buffer = buffer;
	c->room = additions / 8 + 1;
	c->seen = zeroed(c->room);
	append(&all.counter, &all.ncounter, &all.counter_room, c);
	return c;
}

static struct work *work_of(u64 wr_id)
{
	u64 id = wr_id >> 1;

	return !(wr_id & 1) && id && id <= all.nwork ? all.work[id - 1] : NULL;
}

static struct receive *receive_of(u64 wr_id)
{
	u64 id = wr_id >> 1;

	return (wr_id & 1) && id && id <= all.nreceive ? all.receive[id - 1] : NULL;
}

static struct end *end_of(const struct queue *cq, u32 qpn)
{
	u32 i;

	for (i = all.nend; i > 0; i--) {
		const struct qp *qp = all.end[i - 1]->qp;

		if (qp->qpn == qpn && qp->process == cq->process && qp->life == cq->life)
			return all.end[i - 1];
	}
	return NULL;
}

static u32 node_of(const struct end *e)
{
	return e->qp->process->node->index;
}

/* ------------------------------------------------------------------- its bytes */

static struct pool *pool_of(const struct buffer *buffer)
{
	return &((struct actor *)buffer->process->user)->pool;
}

/* Only its first `used` bytes were to be written. */
static void put(struct buffer *buffer, u32 used)
{
	const u8 *memory = buffer_memory(buffer);

	if (used < buffer->size &&
	    !bytes_are(memory + used, buffer->size - used, buffer_id(buffer), used))
		violated("node %u: the buffer at %#llx (%u bytes) was written to behind the %u "
			 "bytes that it was for",
			 buffer->process->node->index, (unsigned long long)buffer_address(buffer),
			 buffer->size, used);
	buffer_put(pool_of(buffer), buffer);
}

static bool pieces_are(struct buffer *const *buffer, const u32 *length, u32 n, u32 total, u64 id,
		       u32 skip)
{
	u32 i, done = 0, part;

	for (i = 0; i < n && done < total; i++) {
		const u8 *memory = buffer_memory(buffer[i]);

		part = length[i] < total - done ? length[i] : total - done;
		if (part > skip && !bytes_are(memory + skip, part - skip, id, done))
			return false;
		/* What a datagram's header takes is in the first piece. */
		done += part > skip ? part - skip : 0;
		if (skip) {
			total -= skip;
			skip = 0;
		}
	}
	return done == total;
}

static void bad(const struct work *w, const char *what)
{
	violated("node %u QP %u: request %llu (opcode %u, %u bytes): %s", node_of(w->end),
		 w->end->qp->qpn, (unsigned long long)w->id, w->opcode, w->length, what);
}

/* A source of data, which nobody may change. */
static void release_source(struct work *w)
{
	u32 i;

	if (!w->is_inline &&
	    !pieces_are(w->local, w->local_length, w->nlocal, w->length, w->content, 0))
		bad(w, "its own data has changed");
	for (i = 0; i < w->nlocal; i++)
		put(w->local[i], w->local_length[i]);
	w->nlocal = 0;
}

static void release_target(struct work *w, u64 id)
{
	u32 i;

	if (!pieces_are(w->local, w->local_length, w->nlocal, w->length, id, 0))
		bad(w, "success, but the data that it brought is wrong");
	if (w->relayed)
		return;
	for (i = 0; i < w->nlocal; i++)
		put(w->local[i], w->local_length[i]);
	w->nlocal = 0;
}

/* --------------------------------------------------------------- send completions */

static bool consumes(u8 opcode)
{
	return opcode == VNET_WR_SEND || opcode == VNET_WR_SEND_IMM || opcode == VNET_WR_SEND_INV ||
	       opcode == VNET_WR_RDMA_WRITE_IMM;
}

static void counter_result(struct work *w)
{
	struct counter *c = w->counter;
	u64 value;

	memcpy(&value, buffer_memory(w->local[0]), 8);
	if (value >= c->posted || value >= (u64)c->room * 8)
		bad(w, "an atomic addition answers with more than was added");
	else if (c->seen[value / 8] & 1u << value % 8)
		bad(w, "an atomic addition answers what another one did");
	else
		c->seen[value / 8] |= (u8)(1u << value % 8);
	c->succeeded++;
}

static void atomic_done(struct work *w)
{
	u64 value;

	if (w->counter) {
		counter_result(w);
	} else {
		memcpy(&value, buffer_memory(w->local[0]), 8);
		if (w->end->word_sure && value != w->result)
			bad(w, "compare and swap answers with another word than there was");
	}
	put(w->local[0], 8);
	w->nlocal = 0;
}

static void write_done(struct work *w)
{
	if (w->length && !bytes_are(buffer_memory(w->remote), w->length, w->id, 0))
		bad(w, "success, but its data is not where it was to be written");
	put(w->remote, w->length);
}

static void window_done(struct work *w)
{
	if (w->opcode == VNET_WR_BIND_MW && w->end->window == WINDOW_OPENING)
		w->end->window = WINDOW_OPEN;
	if (w->opcode == VNET_WR_LOCAL_INV && w->end->window == WINDOW_CLOSING)
		w->end->window = WINDOW_CLOSED;
}

static void succeed_reliable(struct work *w)
{
	switch (w->opcode) {
	case VNET_WR_SEND:
	case VNET_WR_SEND_IMM:
	case VNET_WR_SEND_INV:
		if (!w->delivered)
			bad(w, "success, but it was not delivered");
		release_source(w);
		break;
	case VNET_WR_RDMA_WRITE_IMM:
		if (!w->delivered)
			bad(w, "success, but it was not delivered");
		write_done(w);
		release_source(w);
		break;
	case VNET_WR_RDMA_WRITE:
		write_done(w);
		release_source(w);
		break;
	case VNET_WR_RDMA_READ:
		release_target(w, w->remote_id);
		put(w->remote, w->length);
		break;
	case VNET_WR_ATOMIC_CMP_SWP:
	case VNET_WR_ATOMIC_FETCH_ADD:
		atomic_done(w);
		break;
	default:
		window_done(w);
		break;
	}
	if (w->opcode == VNET_WR_SEND_INV && w->end->peer->window == WINDOW_CLOSING)
		w->end->peer->window = WINDOW_CLOSED;
}

static void succeed(struct work *w)
{
	if (w->expect != EXPECT_SUCCESS)
		bad(w, "success, but it was wrong and had to fail");
	if (w->by_window)
		w->end->peer->window_users--;
	if (w->end->type == NIC_QPT_RC) {
		succeed_reliable(w);
		return;
	}
	if (w->opcode == VNET_WR_BIND_MW || w->opcode == VNET_WR_LOCAL_INV) {
		window_done(w);
		return;
	}
	/* Sent is not delivered; it may still come. */
	release_source(w);
	if (w->remote)
		buffer_taint(w->remote, w->id, w->length);
}

/* What a request that failed may have left behind. */
static void fail(struct work *w)
{
	u32 i;

	if (w->by_window)
		w->end->peer->window_users--;
	switch (w->opcode) {
	case VNET_WR_RDMA_WRITE:
	case VNET_WR_RDMA_WRITE_IMM:
		buffer_taint(w->remote, w->id, w->length);
		break;
	case VNET_WR_RDMA_READ:
		for (i = 0; i < w->nlocal; i++)
			buffer_taint(w->local[i], 0, 0);
		break;
	case VNET_WR_ATOMIC_FETCH_ADD:
		buffer_taint(w->local[0], 0, 0);
		break;
	case VNET_WR_ATOMIC_CMP_SWP:
		buffer_taint(w->local[0], 0, 0);
		w->end->word_sure = false;
		break;
	case VNET_WR_BIND_MW:
	case VNET_WR_LOCAL_INV:
		w->end->window = WINDOW_NONE;
		break;
	case VNET_WR_SEND_INV:
		w->end->peer->window = WINDOW_NONE;
		break;
	default:
		break;
	}
}

static bool permitted(const struct work *w, u32 status)
{
	const struct end *e = w->end, *peer = e->peer;

	switch (status) {
	case VNET_WC_WR_FLUSH_ERR:
		return e->failed || e->may_fail;
	case VNET_WC_LOC_PROT_ERR:
		return w->expect == EXPECT_LOC_PROT;
	case VNET_WC_LOC_LEN_ERR:
		return w->expect == EXPECT_LOC_LEN;
	case VNET_WC_LOC_QP_OP_ERR:
		return w->expect == EXPECT_LOC_QP_OP;
	case VNET_WC_REM_ACCESS_ERR:
		return w->expect == EXPECT_REM_ACCESS;
	case VNET_WC_REM_INV_REQ_ERR:
		return w->expect == EXPECT_REM_INV_REQ;
	case VNET_WC_RETRY_EXC_ERR:
		return e->type == NIC_QPT_RC && (e->excused || peer->excused || peer->may_fail ||
						 peer->failed || peer->gone || peer->closing);
	case VNET_WC_RNR_RETRY_EXC_ERR:
		return e->type == NIC_QPT_RC && e->may_rnr;
	default:
		return false;
	}
}

static const u8 wc_opcode[] = {
	[VNET_WR_RDMA_WRITE] = VNET_WC_RDMA_WRITE,
	[VNET_WR_RDMA_WRITE_IMM] = VNET_WC_RDMA_WRITE,
	[VNET_WR_SEND] = VNET_WC_SEND,
	[VNET_WR_SEND_IMM] = VNET_WC_SEND,
	[VNET_WR_RDMA_READ] = VNET_WC_RDMA_READ,
	[VNET_WR_ATOMIC_CMP_SWP] = VNET_WC_COMP_SWAP,
	[VNET_WR_ATOMIC_FETCH_ADD] = VNET_WC_FETCH_ADD,
	[VNET_WR_LOCAL_INV] = VNET_WC_LOCAL_INV,
	[VNET_WR_BIND_MW] = VNET_WC_BIND_MW,
	[VNET_WR_SEND_INV] = VNET_WC_SEND,
};

/* The ones before it that were not to tell have succeeded, if this could come. */
static void complete_silent(struct end *e, u32 until)
{
	while (e->done < until) {
		struct work *w = e->work[e->done++];

		if (w->signaled)
			bad(w, "its completion did not come, but a later one's");
		w->done = true;
		w->done_at = event_now();
		succeed(w);
	}
}

static void check_send(const struct queue *cq, const struct vnet_cqe *cqe, struct work *w)
{
	struct end *e = w->end;

	if (w->done) {
		bad(w, "completed twice");
		return;
	}
	if (e->qp->qpn != cqe->qp_num || e->qp->send_cq != cq)
		bad(w, "completed in another queue");
	if (w->expect != EXPECT_LOC_QP_OP && wc_opcode[w->opcode] != cqe->opcode)
		bad(w, "completed with another opcode");
	if (w->index < e->done)
		bad(w, "completed after a later one");
	complete_silent(e, w->index);
	w->done = true;
	w->done_at = event_now();
	e->done = w->index + 1;
	if (!cqe->status) {
		if (!w->signaled)
			bad(w, "tells of its success, and was not to");
		if (e->failed)
			bad(w, "success after an earlier one failed");
		if ((w->opcode == VNET_WR_RDMA_READ && cqe->byte_len != w->length) ||
		    (w->local[0] && !w->length && cqe->byte_len))
			bad(w, "completed with another length");
		succeed(w);
		return;
	}
	if (!permitted(w, cqe->status))
		violated("node %u QP %u: request %llu (opcode %u, %u bytes) failed with status %u "
			 "without a reason",
			 node_of(e), e->qp->qpn, (unsigned long long)w->id, w->opcode, w->length,
			 cqe->status);
	if (e->failed && cqe->status != VNET_WC_WR_FLUSH_ERR)
		bad(w, "fails after an earlier one, and is not flushed");
	check_totals.failed += cqe->status != VNET_WC_WR_FLUSH_ERR;
	check_totals.flushed += cqe->status == VNET_WC_WR_FLUSH_ERR;
	e->failed = true;
	fail(w);
}

/* ------------------------------------------------------------ receive completions */

/* The first bytes of what came. */
static void first_bytes(const struct receive *r, const struct vnet_cqe *cqe, u32 skip, u8 *to,
			u32 n)
{
	if (cqe->payload_len)
		memcpy(to, cqe->payload + skip, n);
	else
		memcpy(to, buffer_memory(r->local[0]) + skip, n);
}

static bool has_imm(const struct work *w)
{
	return w->opcode == VNET_WR_SEND_IMM || w->opcode == VNET_WR_RDMA_WRITE_IMM;
}

bool work_is_wide(const struct work *w)
{
	return has_imm(w) && w->imm % 2;
}

/* Just the immediate data that it was sent with. */
static bool imm_ok(const struct work *w, const struct vnet_cqe *cqe)
{
	bool wide = work_is_wide(w);
	u32 high = w->imm_high;

	if (!(cqe->flags & VNET_WC_WITH_IMM) != !has_imm(w) ||
	    !(cqe->flags & VNET_WC_IMM64) != !wide)
		return false;
	if (wide)
		memcpy(&high, cqe->payload + vnet_cqe_imm_high(cqe->byte_len), sizeof(high));
	return !has_imm(w) || (cqe->imm == w->imm && high == w->imm_high);
}

static bool looks_like(const struct work *w, const struct receive *r, const struct vnet_cqe *cqe)
{
	bool write = w->opcode == VNET_WR_RDMA_WRITE_IMM;
	u32 skip = w->end->type == NIC_QPT_UD ? VNET_GRH_SIZE : 0;
	u32 n = w->length < 8 ? w->length : 8;
	u8 first[8];

	if (!consumes(w->opcode) || (cqe->opcode == VNET_WC_RECV_RDMA_WITH_IMM) != write ||
	    !imm_ok(w, cqe) || cqe->byte_len != w->length + skip)
		return false;
	if (write || r->local_length[0] < n + skip)
		return true;
	first_bytes(r, cqe, skip, first, n);
	return bytes_are(first, n, w->content, 0);
}

/* The message that came to a connected end. */
static struct work *next_message(struct end *from, const struct receive *r,
				 const struct vnet_cqe *cqe)
{
	u32 i;

	for (i = from->next_deliver; i < from->nwork; i++) {
		struct work *w = from->work[i];

		if (!consumes(w->opcode))
			continue;
		/* Each of a reliable connection comes; any of others. */
		if (from->type == NIC_QPT_RC || looks_like(w, r, cqe))
			return w;
	}
	return NULL;
}

static struct work *datagram_to(const struct end *to, u64 not_done_before, const struct receive *r,
				const struct vnet_cqe *cqe)
{
	struct work *w;

	for (w = to->datagrams; w; w = w->next_datagram) {
		if (looks_like(w, r, cqe) && w->end->qp->qpn == cqe->src_qp &&
		    (!w->done || w->done_at >= not_done_before))
			return w;
	}
	return NULL;
}

/*
 * One that was sent to this end; or to an earlier one with its number, and was still
 * to be sent when this one began.
 */
static struct work *datagram(const struct end *e, const struct receive *r,
			     const struct vnet_cqe *cqe)
{
	struct work *w = datagram_to(e, 0, r, cqe);
	u32 i;

	for (i = 0; i < all.nend && !w; i++) {
		const struct end *other = all.end[i];

		if (other != e && other->gone && node_of(other) == node_of(e) &&
		    other->qp->qpn == e->qp->qpn)
			w = datagram_to(other, e->made_at, r, cqe);
	}
	return w;
}

static bool content_ok(const struct work *w, const struct receive *r, const struct vnet_cqe *cqe)
{
	u32 skip = w->end->type == NIC_QPT_UD ? VNET_GRH_SIZE : 0;

	if (w->opcode == VNET_WR_RDMA_WRITE_IMM)
		return !w->length || bytes_are(buffer_memory(w->remote), w->length, w->id, 0);
	if (cqe->payload_len)
		return cqe->payload_len == w->length + skip &&
		       bytes_are(cqe->payload + skip, w->length, w->content, 0);
	return pieces_are(r->local, r->local_length, r->nlocal, w->length + skip, w->content, skip);
}

static void check_delivery(struct end *e, struct receive *r, const struct vnet_cqe *cqe)
{
	struct work *w = e->type == NIC_QPT_UD ? datagram(e, r, cqe) :
						 next_message(e->peer, r, cqe);

	if (!w || !looks_like(w, r, cqe)) {
		violated("node %u QP %u: a message of %u bytes came%s: not the next one%s",
			 node_of(e), e->qp->qpn, cqe->byte_len,
			 cqe->flags & VNET_WC_WITH_IMM ? " with immediate data" : "",
			 w ? "" : ", there is none");
		return;
	}
	if (w->delivered)
		bad(w, "delivered twice");
	if (w->end->qp->qpn != cqe->src_qp && e->type == NIC_QPT_UD)
		bad(w, "delivered as another queue pair's");
	if (!content_ok(w, r, cqe))
		bad(w, "delivered with wrong bytes");
	w->delivered = true;
	w->end->next_deliver = w->index + 1;
	r->work = w;
	r->byte_len = cqe->byte_len;
	check_totals.delivered++;
	check_totals.by_opcode[w->opcode]++;
}

/* A message that is too long, or a right that is missing, ends the receiver too. */
static bool receive_may_fail(const struct end *e, u32 status)
{
	/* Of its own failure it tells afterwards, in the same step. */
	if (status == VNET_WC_WR_FLUSH_ERR)
		return e->may_fail || e->failed || e->excused || e->may_rnr ||
		       (e->peer && (e->peer->gone || e->peer->may_fail || e->peer->excused));
	return status == VNET_WC_LOC_LEN_ERR && e->may_fail;
}

static void check_receive_done(const struct queue *cq, const struct vnet_cqe *cqe,
			       struct receive *r)
{
	struct end *e = end_of(cq, cqe->qp_num);

	if (!e || (r->end && r->end != e) || (r->srq && e->qp->srq != r->srq) ||
	    e->qp->recv_cq != cq) {
		violated("node %u: a receive completes for QP %u, which has no part in it",
			 cq->process->node->index, cqe->qp_num);
		return;
	}
	if (r->done)
		violated("node %u QP %u: receive %llu completed twice", node_of(e), e->qp->qpn,
			 (unsigned long long)r->id);
	if (r->end && r->index != e->received)
		violated("node %u QP %u: receive %u completes, and the next was %u", node_of(e),
			 e->qp->qpn, r->index, e->received);
	r->done = true;
	r->status = cqe->status;
	if (r->end)
		e->received = r->index + 1;
	else
		e->actor->srq_done++;
	if (!cqe->status)
		check_delivery(e, r, cqe);
	else if (!receive_may_fail(e, cqe->status))
		violated("node %u QP %u: receive %llu failed with status %u without a reason",
			 node_of(e), e->qp->qpn, (unsigned long long)r->id, cqe->status);
}

void check_polled(struct actor *actor, const struct wc *wc)
{
	struct receive *r = receive_of(wc->wr_id);
	u32 i, skip, left = 0;

	(void)actor;
	if (!r || !r->done)
		return;
	if (r->status || !r->work) {
		/* A part of a message may be in it; if not, it serves again: receives may fail for ever. */
		for (i = 0; i < r->nlocal; i++) {
			if (buffer_is_own(r->local[i]))
				put(r->local[i], r->local[i]->size);
			else
				buffer_taint(r->local[i], 0, 0);
		}
		return;
	}
	skip = r->work->end->type == NIC_QPT_UD ? VNET_GRH_SIZE : 0;
	if (r->work->opcode != VNET_WR_RDMA_WRITE_IMM &&
	    !pieces_are(r->local, r->local_length, r->nlocal, r->byte_len, r->work->content, skip))
		bad(r->work, "its bytes are wrong when they are polled");
	/* So much of it in each, in order. */
	if (r->work->opcode != VNET_WR_RDMA_WRITE_IMM)
		left = r->byte_len;
	for (i = 0; i < r->nlocal; i++) {
		u32 part = left < r->local_length[i] ? left : r->local_length[i];

		put(r->local[i], check_strict ? part : r->local[i]->size);
		left -= part;
	}
}

static void check_entry(const struct queue *cq, const struct vnet_cqe *cqe)
{
	struct work *w = work_of(cqe->wr_id);
	struct receive *r = receive_of(cqe->wr_id);

	check_totals.completions++;
	check_totals.by_status[cqe->status % VNET_WC_STATUS_MAX]++;
	trace(TRACE_COMPLETION, cq->process->node->index, cqe->qp_num, cqe->wr_id,
	      cqe->status | (u64)cqe->opcode << 8 | (u64)cqe->byte_len << 16);
	if (w)
		check_send(cq, cqe, w);
	else if (r)
		check_receive_done(cq, cqe, r);
	else
		violated("node %u CQ %u: a completion of nothing (wr_id %#llx)",
			 cq->process->node->index, cq->cqn, (unsigned long long)cqe->wr_id);
}

/*
 * Receives before sends: with both ends on one node, a request and what it delivers
 * complete in one step, and the delivery comes first.
 */
void check_after_step(struct node *node)
{
	u32 i, j;

	for (i = 0; i < node->ncq; i++) {
		struct queue *cq = node->cq[i];

		for (j = cq->looked; queue_has(cq, j); j++) {
			if (queue_entry(cq, j)->wr_id & 1)
				check_entry(cq, queue_entry(cq, j));
		}
	}
	for (i = 0; i < node->ncq; i++) {
		struct queue *cq = node->cq[i];

		for (; queue_has(cq, cq->looked); cq->looked++) {
			if (!(queue_entry(cq, cq->looked)->wr_id & 1))
				check_entry(cq, queue_entry(cq, cq->looked));
		}
	}
}

/* ------------------------------------------------------------------ endings */

void check_silent(struct end *e)
{
	if (!e->gone && !e->failed && send_room(e->qp) == e->qp->sq.mask + 1)
		complete_silent(e, e->nwork);
}

void check_close(struct end *e)
{
	e->gone = true;
	while (e->done < e->nwork) {
		struct work *w = e->work[e->done++];

		w->done = true;
		fail(w);
		check_totals.lost++;
	}
	e->received = e->nreceive;
}

void check_lost_node(u32 node)
{
	u32 i;

	for (i = 0; i < all.nend; i++) {
		struct end *e = all.end[i];

		if (node_of(e) == node && !e->gone)
			check_close(e);
		/* Who talks to it gets no answer for what is under way. */
		if (e->peer && node_of(e->peer) == node)
			e->excused = true;
	}
}

void check_lost_actor(const struct actor *actor)
{
	u32 i;

	for (i = 0; i < all.nend; i++) {
		struct end *e = all.end[i];

		if (e->actor != actor || e->gone)
			continue;
		check_close(e);
		if (!e->peer)
			continue;
		e->peer->excused = true;
		/* If it was taking this connection down, its peer does now. */
		e->peer->closing = false;
	}
}

bool check_is_complete(const struct end *e)
{
	u32 i;

	if (e->gone)
		return true;
	for (i = e->done; i < e->nwork; i++) {
		/* The last ones may be silent: the queue tells. */
		if (e->work[i]->signaled)
			return false;
	}
	return send_room(e->qp) == e->qp->sq.mask + 1;
}

static void check_counter(const struct counter *c)
{
	u64 value;

	memcpy(&value, buffer_memory(c->buffer), 8);
	if (value < c->succeeded || value > c->posted)
		violated("node %u: a counter says %llu: %llu additions succeeded, of %llu",
			 c->buffer->process->node->index, (unsigned long long)value,
			 (unsigned long long)c->succeeded, (unsigned long long)c->posted);
}

static void check_word(const struct end *e)
{
	u64 value;

	if (!e->word || !e->word_sure || e->word->life != pool_of(e->word)->life)
		return;
	memcpy(&value, buffer_memory(e->word), 8);
	if (value != e->word_value)
		violated("node %u QP %u: compare and swap left another word than it was to",
			 node_of(e), e->qp->qpn);
}

void check_final(struct actor **actors, u32 n)
{
	u32 i;

	for (i = 0; i < all.nend; i++)
		check_word(all.end[i]);
	for (i = 0; i < all.ncounter; i++)
		check_counter(all.counter[i]);
	for (i = 0; i < n; i++)
		pool_check(&actors[i]->pool);
}

/* What the firmware has of it. */
static void tell_endpoint(const struct end *e)
{
	const struct nic *nic = &e->qp->process->node->nic;
	const struct nic_qp *qp = &nic->qp[e->qp->qpn & nic->qp_index_mask];
	const struct nic_endpoint *ep = qp->frame < nic->max_frame ? &nic->frame[qp->frame] :
								     &nic->backing[qp - nic->qp];

	if (e->gone || is_lost(e->qp->process, e->qp->life))
		return;
	fprintf(stderr,
		"    sq_cons %u wait %u phase %u lock %u; frame %d of QP %u: packets %u to %u, "
		"request %u cut at %u, done %llx, failed %u at %u, hold until %llu us, "
		"expects %u\n",
		qp->sq_cons, qp->wait, qp->op_phase, qp->sq_lock, (int)qp->frame, ep->qpn, ep->una,
		ep->next, ep->sq_next, ep->cut, (unsigned long long)ep->done, ep->failed_status,
		ep->failed_psn, (unsigned long long)ep->hold_until / 1000, ep->expected);
}

/* Who holds the endpoint frames of the NIC that is waited for. */
static void tell_frames(const struct end *e)
{
	const struct nic *nic = &e->qp->process->node->nic;
	u32 i;

	if (nic->hdr->frame_lock)
		fprintf(stderr, "      frame_lock is held by %u\n", nic->hdr->frame_lock);
	for (i = 0; i < nic->max_frame; i++) {
		const struct nic_endpoint *ep = &nic->frame[i];
		const struct nic_qp *qp = &nic->qp[ep->qpn & nic->qp_index_mask];

		if (ep->qpn)
			fprintf(stderr,
				"      frame %u: QP %u type %u state %u, packets %u to %u, done %llx, "
				"again %llx, request %u of %u, used %u, sent %u, leaving %u, "
				"phase %u, lock %u, row %d\n",
				i, ep->qpn, qp->type, qp->state, ep->una, ep->next,
				(unsigned long long)ep->done, (unsigned long long)ep->again,
				ep->sq_next, qp->sq_cons, ep->used, ep->sent, ep->leaving,
				qp->op_phase, qp->sq_lock, (int)qp->row);
	}
}

void check_incomplete(void)
{
	u32 i, said = 0;

	for (i = 0; i < all.nend && said < 8; i++) {
		const struct end *e = all.end[i];

		if (check_is_complete(e))
			continue;
		said++;
		fprintf(stderr,
			"  node %u QP %u type %u state %u: %u posted, %u complete, %u in queue; "
			"peer node %u QP %u\n",
			node_of(e), e->qp->qpn, e->type, state_of(e->qp), e->nwork, e->done,
			e->qp->sq.mask + 1 - send_room(e->qp), e->peer ? node_of(e->peer) : 0,
			e->peer ? e->peer->qp->qpn : 0);
		tell_endpoint(e);
		if (e->peer)
			tell_frames(e->peer);
	}
}
