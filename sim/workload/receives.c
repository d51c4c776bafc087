// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The random workload: posts receives. */
#include "workload/actor.h"

/* Get one or two buffers for a receive. Returns false if there are not enough. */
static bool get_receive(struct actor *a, struct receive *r, u32 size)
{
	u32 first = size;

	/* The GRH of a datagram must fit in the first buffer. */
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

static void stock_end(struct end *e)
{
	struct actor *a = e->actor;
	u32 want = e->lazy ? 1 : e->capacity > 16384 ? 4 : e->qp->rq.mask + 1;
	u32 most = want;
	struct receive *r;
	struct sge sg[2];

	/* Limit the number for each call: in the error state, receives are flushed at once. */
	for (; want && is_usable(e) && !e->failed && e->nreceive - e->received < most &&
	       recv_room(e->qp);
	     want--) {
		r = check_receive(e, NULL);
		if (!get_receive(a, r, e->capacity)) {
			/* Withdraw the receive from the oracle. */
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

void stock_all(struct actor *a)
{
	u32 n, i;

	check_ends(&n);
	for (i = 0; i < n; i++) {
		struct end *e = check_end_at(i);

		if (e->actor == a && !e->qp->srq)
			stock_end(e);
	}
	stock_srq(a);
}
