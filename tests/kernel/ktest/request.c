// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Posts requests from task, timer and interrupts-off context, and waits for their completions. */
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/timer.h>

#include "ktest.h"

const char *const kt_from_names[KT_FROMS] = { "task", "timer", "irqs off" };

static void kt_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kt_request *r = container_of(wc->wr_cqe, struct kt_request, cqe);

	r->wc = *wc;
	complete(&r->ended);
}

struct kt_request *kt_request(struct kt_pair *p)
{
	struct kt_request *r = &p->requests[p->next++ % ARRAY_SIZE(p->requests)];

	memset(r, 0, sizeof(*r));
	r->cqe.done = kt_done;
	init_completion(&r->ended);
	return r;
}

/* ----------------------------------------------------------------- contexts */

struct kt_timer_call {
	struct timer_list timer;
	int (*fn)(void *arg);
	void *arg;
	int answer;
	struct completion ended;
};

static void kt_timer_fires(struct timer_list *timer)
{
	struct kt_timer_call *call = container_of(timer, struct kt_timer_call, timer);

	call->answer = call->fn(call->arg);
	complete(&call->ended);
}

static int kt_call_timer(int (*fn)(void *arg), void *arg)
{
	struct kt_timer_call call = { .fn = fn, .arg = arg };

	init_completion(&call.ended);
	timer_setup_on_stack(&call.timer, kt_timer_fires, 0);
	mod_timer(&call.timer, jiffies);
	wait_for_completion(&call.ended);
	del_timer_sync(&call.timer);
	destroy_timer_on_stack(&call.timer);
	return call.answer;
}

int kt_call(enum kt_from from, int (*fn)(void *arg), void *arg)
{
	unsigned long flags;
	int answer;

	if (from == KT_TIMER)
		return kt_call_timer(fn, arg);
	if (from == KT_TASK)
		return fn(arg);
	local_irq_save(flags);
	answer = fn(arg);
	local_irq_restore(flags);
	return answer;
}

/* ------------------------------------------------------------------ posting */

struct kt_post {
	struct ib_qp *qp;
	struct ib_srq *srq;
	const struct ib_send_wr *send;
	const struct ib_recv_wr *recv;
};

static int kt_post(void *arg)
{
	const struct kt_post *post = arg;

	if (post->send)
		return ib_post_send(post->qp, post->send, NULL);
	if (post->srq)
		return ib_post_srq_recv(post->srq, post->recv, NULL);
	return ib_post_recv(post->qp, post->recv, NULL);
}

int kt_post_send(enum kt_from from, struct ib_qp *qp, struct ib_send_wr *wr, struct kt_request *r)
{
	struct kt_post post = { .qp = qp, .send = wr };

	wr->wr_cqe = &r->cqe;
	return kt_call(from, kt_post, &post);
}

int kt_post_recv(enum kt_from from, struct kt_pair *p, int end, u32 offset, u32 length,
		 struct kt_request *r)
{
	struct ib_sge sge = kt_sge(p, end, offset, length);
	struct ib_recv_wr wr = { .wr_cqe = &r->cqe, .sg_list = &sge, .num_sge = 1 };
	struct kt_post post = { .qp = p->end[end].qp, .srq = p->end[end].srq, .recv = &wr };

	return kt_call(from, kt_post, &post);
}

struct ib_sge kt_sge(const struct kt_pair *p, int end, u32 offset, u32 length)
{
	return (struct ib_sge){
		.addr = p->end[end].buffer.dma + offset,
		.length = length,
		.lkey = p->pd->local_dma_lkey,
	};
}

/* ------------------------------------------------------------------ waiting */

static int kt_process(void *arg)
{
	ib_process_cq_direct(arg, 16);
	return 0;
}

static int kt_wait(struct kt_pair *p, struct kt_request *r)
{
	unsigned long until = jiffies + KT_TIME_LIMIT;
	unsigned int turn;

	if (p->poll != IB_POLL_DIRECT)
		return wait_for_completion_timeout(&r->ended, KT_TIME_LIMIT) ? 0 : -ETIMEDOUT;
	for (turn = 0; !try_wait_for_completion(&r->ended); turn++) {
		if (time_after(jiffies, until))
			return -ETIMEDOUT;
		kt_call(turn % 64 ? KT_TASK : KT_TIMER, kt_process, p->end[turn & 1].cq);
		cond_resched();
	}
	return 0;
}

int kt_expect(struct kt_pair *p, struct kt_request *r, enum ib_wc_status status)
{
	int err = kt_wait(p, r);

	if (err) {
		pr_err("no completion\n");
		return err;
	}
	if (r->wc.status == status)
		return 0;
	pr_err("completion: %s, not %s\n", ib_wc_status_msg(r->wc.status),
	       ib_wc_status_msg(status));
	return -EIO;
}

/* -------------------------------------------------------------------- bytes */

void kt_fill(u8 *at, u32 length, u8 mark)
{
	u32 i;

	for (i = 0; i < length; i++)
		at[i] = (u8)(mark + i * 7 + (i >> 8));
}

bool kt_is_filled(const u8 *at, u32 length, u8 mark)
{
	u32 i;

	for (i = 0; i < length; i++) {
		if (at[i] != (u8)(mark + i * 7 + (i >> 8)))
			return false;
	}
	return true;
}
