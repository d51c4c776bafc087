// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Polls for messages, queues them, and runs their handlers.
 *
 * Replies are handled first, because they free credits.
 */
#include <sched.h>

#include "am_messages.h"
#include "connections/am_connections.h"
#include "cost/am_cost.h"
#include "objects/am_mapping.h"
#include "objects/am_process.h"

#define IDLE_LOOKS 64u /* consecutive empty polls per look_at_clock() */
#define BUSY_LOOKS 4096u /* the same for polls that found something */
#define IDLE_YIELDS 2000u /* consecutive empty polls before the CPU is yielded */

static void enqueue(struct am_queue *queue, struct am_buffer *buffer)
{
	buffer->next = NULL;
	*queue->last = buffer;
	queue->last = &buffer->next;
}

static struct am_buffer *dequeue(struct am_queue *queue)
{
	struct am_buffer *buffer = queue->first;

	queue->first = buffer->next;
	if (!queue->first)
		queue->last = &queue->first;
	return buffer;
}

/* Handles an acknowledgement or a refusal, for which no handler runs. */
static void answered(struct am_conn *conn, const struct am_message *m)
{
	if (m->what == AM_REFUSAL) {
		am_return_slot(conn, m->slot, m->handler);
		return;
	}
	for (unsigned int i = 0; i < m->nargs; i++) {
		unsigned int slot = (unsigned int)m->args[i];

		if (slot < conn->credits && am_slot_waits(conn, slot))
			am_slot_done(conn, slot);
	}
}

/* Whether the protocol allows the peer to send this message now. */
static bool acceptable(struct am_conn *conn, const struct am_message *m, uint32_t length)
{
	if (!am_message_ok(m, length) || m->slot >= conn->credits)
		return false;
	if (m->what == AM_REQUEST || m->what == AM_SYSTEM)
		return !conn->replying[m->slot];
	return m->what == AM_ACK || am_slot_waits(conn, m->slot);
}

static void process(struct am_conn *conn, struct am_buffer *buffer, uint32_t length)
{
	struct am_eb *eb = conn->eb;
	struct am_message *m = buffer->at;

	conn->heard = eb->clock;
	buffer->conn = conn;
	if (__builtin_expect(conn->state != AM_READY, 0))
		am_wire_heard(conn);
	if (__builtin_expect(!acceptable(conn, m, length), 0)) {
		eb->mapping->release(conn, buffer);
		am_conn_broken(conn, EUNREACHABLE);
		return;
	}
	if (m->what == AM_ACK || m->what == AM_REFUSAL) {
		answered(conn, m);
		eb->mapping->release(conn, buffer);
		return;
	}
	if (eb->event_mask == AM_NOTEMPTY && !eb->requests.first && !eb->replies.first)
		eb->semaphore = true;
	if (m->what == AM_REPLY) {
		conn->slot[m->slot].answered = true;
		enqueue(&eb->replies, buffer);
	} else {
		conn->replying[m->slot] = true;
		enqueue(&eb->requests, buffer);
	}
}

void am_arrival_at(struct am_conn *conn, struct am_buffer *buffer, struct am_message *message,
		   uint32_t length)
{
	buffer->at = message;
	am_cost_begin(AM_COST_PROCESS_RECEIVED);
	process(conn, buffer, length);
	am_cost_end(AM_COST_PROCESS_RECEIVED);
}

void am_arrival(struct am_conn *conn, struct am_buffer *buffer, uint32_t length)
{
	am_arrival_at(conn, buffer, &buffer->message, length);
}

static void flush_acks(struct am_eb *eb)
{
	struct am_conn *conn;

	while ((conn = eb->acking)) {
		eb->acking = conn->acking;
		conn->acks = false;
		am_flush_acks(conn);
	}
}

/* Atomic, because am_let_others() may read it without the lock. */
static inline void set_idle(struct am_eb *eb, unsigned int idle)
{
	__atomic_store_n(&eb->idle, idle, __ATOMIC_RELAXED);
}

static void look_at_clock(struct am_eb *eb)
{
	eb->busy = 0;
	eb->clock = am_now();
	am_wire_look(eb);
	am_conn_probe(eb);
}

/* A poll found nothing: does work of low priority. */
static void look_around(struct am_eb *eb)
{
	if (eb->acking)
		flush_acks(eb);
	set_idle(eb, eb->idle + 1);
	if (eb->idle % IDLE_LOOKS == 0)
		look_at_clock(eb);
}

int am_drain(struct am_eb *eb)
{
	int n = eb->mapping->poll(eb);

	if (!n) {
		look_around(eb);
		return 0;
	}
	set_idle(eb, 0);
	/* A bundle that is never idle must handle connection setup, too. */
	if (__builtin_expect(++eb->busy >= BUSY_LOOKS, 0))
		look_at_clock(eb);
	return n;
}

static int run_returned(struct am_eb *eb)
{
	struct am_returned *r;
	int n = 0;

	while ((r = eb->returned)) {
		eb->returned = r->next;
		if (!eb->returned)
			eb->returned_last = &eb->returned;
		am_run_error(eb, r);
		n++;
	}
	return n;
}

/* Does what is rare, when no handler runs and no message is queued. */
static int do_chores(struct am_eb *eb)
{
	eb->chores = false;
	am_conns_reap(eb);
	return run_returned(eb);
}

int am_progress(struct am_eb *eb)
{
	int n = am_drain(eb);

	/* Called within a handler: no other handler may run before it returns. */
	if (eb->running)
		return n;
	while (eb->replies.first)
		am_run_message(dequeue(&eb->replies));
	/* Requests that arrive while handlers run wait for the next poll, so this loop ends. */
	while (eb->requests.first)
		am_run_message(dequeue(&eb->requests));
	if (__builtin_expect(eb->chores, 0))
		n += do_chores(eb);
	return n;
}

/*
 * A peer that is waited for needs a CPU. If each process of the job has its own CPU,
 * sched_yield() would only let unrelated processes run, except that other threads of this
 * process may want the lock.
 */
static bool crowded = true;

void am_cpus_shared(bool shared)
{
	crowded = shared;
}

void am_let_others(const struct am_eb *eb)
{
	if (__atomic_load_n(&eb->idle, __ATOMIC_RELAXED) >= IDLE_YIELDS &&
	    (crowded || eb->parallel))
		sched_yield();
}

void am_yield(struct am_eb *eb)
{
	if (eb->idle < IDLE_YIELDS)
		return;
	am_unlock(eb);
	am_let_others(eb);
	am_lock(eb);
}

int AM_Poll(eb_t bundle)
{
	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!bundle)
		return AM_ERR_BAD_ARG;
	am_lock(bundle);
	if (!am_progress(bundle))
		am_yield(bundle);
	am_unlock(bundle);
	return AM_OK;
}
