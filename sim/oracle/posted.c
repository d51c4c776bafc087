// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The oracle's record of posted requests and receives. */
#include <stdlib.h>
#include <string.h>

#include "base/event.h"
#include "oracle/oracle.h"

struct posted posted;

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

	for (i = 0; i < posted.nend; i++) {
		free(posted.end[i]->work);
		free(posted.end[i]->receive);
		free(posted.end[i]);
	}
	for (i = 0; i < posted.nwork; i++)
		free(posted.work[i]);
	for (i = 0; i < posted.nreceive; i++)
		free(posted.receive[i]);
	for (i = 0; i < posted.ncounter; i++) {
		free(posted.counter[i]->seen);
		free(posted.counter[i]);
	}
	free(posted.work);
	free(posted.receive);
	free(posted.end);
	free(posted.counter);
	memset(&posted, 0, sizeof(posted));
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
	e->number = posted.nend;
	e->made_at = event_now();
	e->word_sure = true;
	qp->user = e;
	append(&posted.end, &posted.nend, &posted.end_room, e);
	return e;
}

struct end **check_ends(u32 *n)
{
	*n = posted.nend;
	return posted.end;
}

struct end *check_end_at(u32 i)
{
	return posted.end[i];
}

struct work *check_work(struct end *e)
{
	struct work *w = zeroed(sizeof(*w));

	w->id = posted.nwork + 1;
	w->content = w->id;
	w->end = e;
	w->index = e->nwork;
	/* Immediate data identifies the request. */
	w->imm = (u32)random_mix(w->id);
	w->imm_high = (u32)(random_mix(w->id) >> 32);
	append(&posted.work, &posted.nwork, &posted.work_room, w);
	append(&e->work, &e->nwork, &e->work_room, w);
	check_totals.works++;
	return w;
}

struct receive *check_receive(struct end *e, struct srq *srq)
{
	struct receive *r = zeroed(sizeof(*r));

	r->id = posted.nreceive + 1;
	r->end = e;
	r->srq = srq;
	append(&posted.receive, &posted.nreceive, &posted.receive_room, r);
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
	append(&posted.counter, &posted.ncounter, &posted.counter_room, c);
	return c;
}

struct work *work_of(u64 wr_id)
{
	u64 id = wr_id >> 1;

	return !(wr_id & 1) && id && id <= posted.nwork ? posted.work[id - 1] : NULL;
}

struct receive *receive_of(u64 wr_id)
{
	u64 id = wr_id >> 1;

	return (wr_id & 1) && id && id <= posted.nreceive ? posted.receive[id - 1] : NULL;
}

struct end *end_of(const struct queue *cq, u32 qpn)
{
	u32 i;

	for (i = posted.nend; i > 0; i--) {
		const struct qp *qp = posted.end[i - 1]->qp;

		if (qp->qpn == qpn && qp->process == cq->process && qp->life == cq->life)
			return posted.end[i - 1];
	}
	return NULL;
}

u32 node_of(const struct end *e)
{
	return e->qp->process->node->index;
}
