// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tests resizing of completion queues while requests complete. */
#include <linux/sched.h>
#include <linux/workqueue.h>

#include "ktest.h"

#define KT_LENGTH 100u
#define KT_RECV_AT 32768u
/* Large enough for a resize to take a while. */
#define KT_LARGE (1 << 16)
/* Number of resizes to wait for, and the limit of messages meanwhile. */
#define KT_CHANGES 8
#define KT_MOST_MESSAGES 20000

struct kt_resizer {
	struct work_struct work;
	struct kt_pair *p;
	bool stops;
	int changes, err;
};

static void kt_resize(struct work_struct *work)
{
	struct kt_resizer *r = container_of(work, struct kt_resizer, work);
	int sizes[2] = { min(KT_LARGE, r->p->dev->attrs.max_cqe), 4 * KT_DEPTH };
	int i, err = 0;

	while (!READ_ONCE(r->stops) && !err) {
		for (i = 0; i < 2 && !err; i++)
			err = ib_resize_cq(r->p->end[i].cq, sizes[r->changes & 1]);
		WRITE_ONCE(r->changes, r->changes + 1);
		cond_resched();
	}
	WRITE_ONCE(r->err, err);
}

static int kt_message_through(struct kt_pair *p, enum kt_from from)
{
	struct kt_request *sent = kt_request(p), *got = kt_request(p);
	struct ib_sge sge = kt_sge(p, 0, 0, KT_LENGTH);
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.send_flags = IB_SEND_SIGNALED,
	};

	KT_TRY(kt_post_recv(from, p, 1, KT_RECV_AT, KT_LENGTH, got));
	KT_TRY(kt_post_send(from, p->end[0].qp, &wr, sent));
	KT_TRY(kt_expect(p, sent, IB_WC_SUCCESS));
	return kt_expect(p, got, IB_WC_SUCCESS);
}

/* No completion is lost or reported twice, and no event is lost. */
static int kt_resized(struct kt_pair *p, enum kt_from from)
{
	struct kt_resizer r = { .p = p };
	int i, err = 0;

	INIT_WORK_ONSTACK(&r.work, kt_resize);
	queue_work(system_unbound_wq, &r.work);
	for (i = 0; i < KT_MOST_MESSAGES && !err; i++) {
		if (READ_ONCE(r.err) || READ_ONCE(r.changes) >= KT_CHANGES)
			break;
		err = kt_message_through(p, from);
	}
	WRITE_ONCE(r.stops, true);
	flush_work(&r.work);
	destroy_work_on_stack(&r.work);
	KT_TRY(err);
	KT_TRY(r.err);
	KT_CHECK(r.changes >= 1 && p->end[0].cq->cqe >= 4 * KT_DEPTH);
	return kt_message_through(p, from);
}

const struct kt_test kt_resize_tests[] = {
	{ "queues that get another size", kt_resized, IB_QPT_RC, false },
	{},
};
