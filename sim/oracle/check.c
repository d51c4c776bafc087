// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The oracle: finds new completions, tracks ends, and checks the final state. */
#include <string.h>

#include "base/event.h"
#include "base/trace.h"
#include "oracle/oracle.h"

struct check_totals check_totals;
bool check_strict;

/*
 * A receive completion at an InfiniBand port: check the source LID and the service level, and
 * return the completion without them, as at an Ethernet port.
 */
static struct vnet_cqe without_lid(const struct queue *cq, const struct vnet_cqe *cqe)
{
	struct vnet_cqe plain = *cqe;
	u32 lid = cqe->byte_len >> VNET_CQE_LID_SHIFT;

	if (!lid || lid > node_lid(sim.config.nodes - 1) || cqe->src_qp >> VNET_CQE_SL_SHIFT)
		violated("node %u CQ %u: a datagram of LID %u and QP %#x", cq->process->node->index,
			 cq->cqn, lid, cqe->src_qp);
	plain.byte_len &= (1u << VNET_CQE_LID_SHIFT) - 1;
	plain.src_qp &= (1u << VNET_CQE_SL_SHIFT) - 1;
	return plain;
}

static void check_receive_entry(const struct queue *cq, const struct vnet_cqe *cqe,
				struct receive *r)
{
	struct vnet_cqe plain;

	if (!(cqe->flags & VNET_WC_LID)) {
		check_receive_done(cq, cqe, r);
		return;
	}
	plain = without_lid(cq, cqe);
	check_receive_done(cq, &plain, r);
	if (r->work && node_lid(node_of(r->work->end)) != cqe->byte_len >> VNET_CQE_LID_SHIFT)
		bad(r->work, "delivered as from another port");
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
		check_receive_entry(cq, cqe, r);
	else
		violated("node %u CQ %u: a completion of no request (wr_id %#llx)",
			 cq->process->node->index, cq->cqn, (unsigned long long)cqe->wr_id);
}

/*
 * Receives are checked first: if both ends are on one node, the request and the receive of a
 * message complete in the same step, and the check of the request needs the delivery.
 */
void check_after_step(struct node *node)
{
	u32 i, j;

	/* Completions of a dead node are not checked, even if its processes still run. */
	if (node->dead)
		return;
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

/* ---------------------------------------------------- ends and final checks */

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
		/* Its message may have been delivered until now (datagram_to()). */
		w->done_at = event_now();
		fail(w);
		check_totals.lost++;
	}
	e->received = e->nreceive;
}

void check_lost_node(u32 node)
{
	u32 i;

	for (i = 0; i < posted.nend; i++) {
		struct end *e = posted.end[i];

		if (node_of(e) == node && !e->gone)
			check_close(e);
		/* Requests to that node may not be answered. */
		if (e->peer && node_of(e->peer) == node)
			e->excused = true;
	}
}

void check_lost_actor(const struct actor *actor)
{
	u32 i;

	for (i = 0; i < posted.nend; i++) {
		struct end *e = posted.end[i];

		if (e->actor != actor)
			continue;
		/* If this process was destroying the connection, the peer must do so now. */
		if (e->peer)
			e->peer->closing = false;
		if (e->gone)
			continue;
		check_close(e);
		if (e->peer)
			e->peer->excused = true;
	}
}

bool check_is_complete(const struct end *e)
{
	u32 i;

	if (e->gone)
		return true;
	for (i = e->done; i < e->nwork; i++) {
		/* Unsignaled requests at the end are complete when the queue is empty. */
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
		violated("node %u QP %u: compare and swap left a wrong word", node_of(e),
			 e->qp->qpn);
}

void check_final(struct actor **actors, u32 n)
{
	u32 i;

	for (i = 0; i < posted.nend; i++)
		check_word(posted.end[i]);
	for (i = 0; i < posted.ncounter; i++)
		check_counter(posted.counter[i]);
	for (i = 0; i < n; i++)
		pool_check(&actors[i]->pool);
}
