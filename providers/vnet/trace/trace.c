// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Switches tracing on for a context, and warns of waits for unarmed CQs.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "trace.h"

/* Protects the list of traced contexts. Taken before a context's mutex. */
static pthread_mutex_t traces_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct vnet_trace *traces;

static const struct verbs_context_ops vnet_trace_ops = {
	.async_event = vnet_trace_async_event,
	.bind_mw = vnet_trace_bind_mw,
	.cq_event = vnet_trace_cq_event,
	.create_cq = vnet_trace_create_cq,
	.create_cq_ex = vnet_trace_create_cq_ex,
	.create_qp = vnet_trace_create_qp,
	.create_qp_ex = vnet_trace_create_qp_ex,
	.create_srq = vnet_trace_create_srq,
	.create_srq_ex = vnet_trace_create_srq_ex,
	.create_wq = vnet_trace_create_wq,
	.dereg_mr = vnet_trace_dereg_mr,
	.destroy_cq = vnet_trace_destroy_cq,
	.destroy_qp = vnet_trace_destroy_qp,
	.destroy_srq = vnet_trace_destroy_srq,
	.import_mr = vnet_trace_import_mr,
	.modify_qp = vnet_trace_modify_qp,
	.poll_cq = vnet_trace_poll_cq,
	.post_recv = vnet_trace_post_recv,
	.post_send = vnet_trace_post_send,
	.post_srq_ops = vnet_trace_post_srq_ops,
	.post_srq_recv = vnet_trace_post_srq_recv,
	.reg_dm_mr = vnet_trace_reg_dm_mr,
	.reg_dmabuf_mr = vnet_trace_reg_dmabuf_mr,
	.reg_mr = vnet_trace_reg_mr,
	.req_notify_cq = vnet_trace_req_notify_cq,
	.rereg_mr = vnet_trace_rereg_mr,
	.resize_cq = vnet_trace_resize_cq,
	.unimport_mr = vnet_trace_unimport_mr,
};

static void hook_waits(void)
{
	vnet_trace_wait_fn *hook = dlsym(RTLD_DEFAULT, VNET_TRACE_WAIT_HOOK_NAME);

	if (hook)
		__atomic_store_n(hook, vnet_trace_wait, __ATOMIC_RELEASE);
}

void vnet_trace_start(struct vnet_context *ctx)
{
	struct vnet_trace *trace;

	if (!vnet_trace_settings()->on)
		return;
	trace = calloc(1, sizeof(*trace));
	if (!trace)
		return;
	pthread_mutex_init(&trace->mutex, NULL);
	trace->context = &ctx->ibv_ctx.context;
	trace->poll_cq = trace->context->ops.poll_cq;
	ctx->trace = trace;
	/*
	 * Their functions are called by name, so they cannot be replaced: report them as not
	 * supported.
	 */
	ctx->imm64 = false;
	ctx->returns = false;
	verbs_set_ops(&ctx->ibv_ctx, &vnet_trace_ops);
	pthread_mutex_lock(&traces_mutex);
	trace->next = traces;
	traces = trace;
	pthread_mutex_unlock(&traces_mutex);
	hook_waits();
}

void vnet_trace_stop(struct vnet_context *ctx)
{
	struct vnet_trace *trace = ctx->trace, **place;

	if (!trace)
		return;
	pthread_mutex_lock(&traces_mutex);
	for (place = &traces; *place != trace; place = &(*place)->next)
		;
	*place = trace->next;
	pthread_mutex_unlock(&traces_mutex);
	vnet_trace_forget_mrs(trace);
	pthread_mutex_destroy(&trace->mutex);
	free(trace);
}

/* ------------------------------------------------------------------- waiting */

static bool is_armed(const struct vnet_cq *cq)
{
	return __atomic_load_n(&cq->ring->arm, __ATOMIC_RELAXED) != VNET_CQ_DISARMED;
}

static bool has_entry(const struct vnet_cq *cq)
{
	uint32_t cons = __atomic_load_n(&cq->cons, __ATOMIC_RELAXED);

	return __atomic_load_n(&cq->slots[cons & cq->mask].seq, __ATOMIC_RELAXED) == cons + 1;
}

/*
 * Returns one of the channel's CQs if none of them is armed, preferably one with entries; otherwise
 * NULL. *unpolled: one of them has entries.
 */
static struct vnet_trace_cq *find_unarmed(const struct vnet_trace *trace, int fd, bool *unpolled)
{
	struct vnet_trace_cq *tcq, *found = NULL;
	const struct vnet_cq *cq;

	for (tcq = trace->cqs; tcq; tcq = tcq->next) {
		cq = tcq->cq;
		if (!cq->vcq.cq.channel || cq->vcq.cq.channel->fd != fd)
			continue;
		if (tcq->resizing || is_armed(cq))
			return NULL;
		if (!found || has_entry(cq))
			found = tcq;
		*unpolled |= has_entry(cq);
	}
	return found;
}

/*
 * Returns a CQ if waiting for its channel is a mistake. If the program waits for other descriptors,
 * too, the CQ may be unarmed on purpose: then only unpolled completions make it a mistake.
 */
static struct vnet_trace_cq *find_unarmed_wait(const struct vnet_trace *trace, int fd, bool alone,
					       bool *unpolled)
{
	struct vnet_trace_cq *tcq;

	*unpolled = false;
	tcq = find_unarmed(trace, fd, unpolled);
	return alone || *unpolled ? tcq : NULL;
}

/* Milliseconds. Only until the first warning for a CQ, so that repeated waits are not delayed. */
#define UNARMED_WAIT_MS 200

/*
 * Returns how long to wait for an event before the warning, in milliseconds; negative: no warning.
 */
static int warning_delay(struct vnet_trace *trace, int fd, bool alone)
{
	struct vnet_trace_cq *tcq;
	int delay = -1;
	bool unpolled;

	pthread_mutex_lock(&trace->mutex);
	tcq = find_unarmed_wait(trace, fd, alone, &unpolled);
	if (tcq)
		delay = tcq->warned & 1u << TRACE_UNARMED_WAIT ? 0 : UNARMED_WAIT_MS;
	pthread_mutex_unlock(&trace->mutex);
	return delay;
}

static void warn_mistaken(struct vnet_trace *trace, int fd, bool alone)
{
	struct vnet_trace_cq *tcq;
	bool unpolled;

	pthread_mutex_lock(&trace->mutex);
	tcq = find_unarmed_wait(trace, fd, alone, &unpolled);
	if (tcq)
		vnet_trace_warn(
			trace->context, "cq", tcq->cq->cqn, TRACE_UNARMED_WAIT, &tcq->warned,
			"waiting for an event of a channel none of whose completion queues is "
			"armed (ibv_req_notify_cq)%s: it does not come",
			unpolled ? ", with completions to be polled" : "");
	pthread_mutex_unlock(&trace->mutex);
}

/* A channel belongs to one context. */
static int warning_delay_any(int fd, bool alone)
{
	struct vnet_trace *trace;
	int delay = -1;

	pthread_mutex_lock(&traces_mutex);
	for (trace = traces; trace && delay < 0; trace = trace->next)
		delay = warning_delay(trace, fd, alone);
	pthread_mutex_unlock(&traces_mutex);
	return delay;
}

/*
 * The NIC disarms the CQ before it makes an event, and its thread may be preempted in between: give
 * the event some time. Poll with sleeps, because a poll() with a timeout would call
 * vnet_trace_wait() again.
 */
static bool event_comes(int fd, int turns)
{
	const struct timespec turn = { .tv_nsec = 1000000 };
	struct pollfd event = { .fd = fd, .events = POLLIN };

	while (!poll(&event, 1, 0)) {
		if (!turns--)
			return false;
		nanosleep(&turn, NULL);
	}
	return true;
}

void vnet_trace_wait(int fd, int alone)
{
	int error = errno, delay = warning_delay_any(fd, alone);
	struct vnet_trace *trace;

	if (delay >= 0 && !event_comes(fd, delay)) {
		pthread_mutex_lock(&traces_mutex);
		for (trace = traces; trace; trace = trace->next)
			warn_mistaken(trace, fd, alone);
		pthread_mutex_unlock(&traces_mutex);
	}
	errno = error;
}
