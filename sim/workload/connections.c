// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The random workload: creates, breaks and replaces connections. */
#include <string.h>

#include "base/event.h"
#include "base/trace.h"
#include "cluster/fault.h"
#include "workload/actor.h"

/* Time limit for flushing a queue pair in the error state. */
#define FLUSH_NS (20000 * MS)

/* Create an end. again: a queue pair in RESET to be used; NULL: create one. */
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
	if (workload.version > 2 && type == NIC_QPT_UD)
		options.returns = chance(a, 0.5);
	if (!again)
		again = make_qp(a->process, type, a->cq[below(a, 2)], a->cq[below(a, 2)], &options);
	e = check_end(again, a);
	/* Bytes of each posted receive. */
	e->capacity = options.srq || type == NIC_QPT_UD ? 4160 :
		      below(a, 4)                       ? 4160 :
		      below(a, 4)                       ? 16384 :
							  131072;
	e->lazy = chance(a, 0.15);
	e->returns = options.returns;
	/* Sometimes, receives are too short for some datagrams. */
	if (workload.version > 2 && type == NIC_QPT_UD && !options.srq && chance(a, 0.3))
		e->capacity = 1064;
	return e;
}

static void give_word(struct end *e)
{
	struct pool *pool = &e->peer->actor->pool;

	e->word = buffer_get(pool, 8);
	if (e->word)
		memset(buffer_memory(e->word), 0, 8);
}

/* Connect ends of two processes or, with b NULL, create a UD queue pair. psn: first PSN. */
static void make_ends_with(struct actor *a, struct qp *again, struct actor *b, u8 type, u32 psn)
{
	struct qp_options options = { .timeout = 16, .psn = psn, .ipv6 = chance(a, 0.2) };
	struct end *x = make_end(a, type, again), *y;
	bool impatient = chance(a, 0.1);

	if (!b) {
		connect_qp(x->qp, a->process->node->index, x->qp->qpn, &options);
		x->ready = true;
		return;
	}
	/* Few RNR retries, and a short RNR timer. */
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

bool is_usable(const struct end *e)
{
	return !e->gone && !e->closing && !is_lost(e->qp->process, e->qp->life) &&
	       !e->qp->process->node->dead;
}

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

bool can_connect(const struct actor *a)
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
 * Connect the same queue pair again. Returns false if it cannot be brought to RESET.
 *
 * Programs must choose another first PSN, so that packets of the old connection are not valid in
 * the new one. After a reset of the peer's NIC, this is not necessary: PSN 0, which most
 * connections have, is used again, unless frames are delayed and may arrive in the new one.
 */
static bool renew(struct actor *a, struct end *e, struct actor *other)
{
	struct end *peer = e->peer;
	bool lost = is_lost(peer->qp->process, peer->qp->life);

	if (e->gone || !is_alive(a) || is_lost(e->qp->process, e->qp->life) ||
	    set_state(e->qp, NIC_QPS_RESET) != NIC_OK)
		return false;
	check_close(e);
	if (workload.version > 5 && fault_delays())
		lost = false;
	make_ends_with(a, e->qp, other, e->type, lost ? 0 : 4096 + below(a, 1u << 22));
	return true;
}

/* Replace a failed connection or UD queue pair, after its queues have been flushed. */
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

/* Whether the process of this end replaces the connection. If both could, only one does. */
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

bool repair_some(struct actor *a)
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

bool has_room(const struct node *node)
{
	return !node->dead && node->next_mr + 128 < node->nic.max_mr &&
	       node->next_cqn + 8 < node->nic.max_cq && node->next_srqn + 8 < node->nic.max_srq;
}

void connect_some(struct actor *a)
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
