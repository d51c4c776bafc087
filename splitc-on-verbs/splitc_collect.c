// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Messages between processors within a collective operation.
 *
 * Received messages are queued by operation number, because other processors may be several
 * operations ahead.
 */
#include "splitc_collect.h"

#include <stdlib.h>
#include <string.h>

#include "splitc_core.h"

/* operations between barriers, which limit how far a processor gets ahead */
#define BARRIER_EVERY 64

struct collected {
	struct collected *next;
	int from;
	uint32_t n;
	uint64_t operation;
	uint8_t data[];
};

static struct collected *queue, **queue_end = &queue;
static uint64_t operation; /* number of the current operation */

void sc_collect_begin(void)
{
	sc_enter();
	if (++operation % BARRIER_EVERY == 0)
		splitc_barrier();
}

void sc_collected(struct sc_peer *peer, const struct sc_message *m, uint32_t nbytes)
{
	struct collected *c = malloc(sizeof(*c) + nbytes);

	if (!c)
		sc_fail("no memory for what processor %d sent", peer->proc);
	c->next = NULL;
	c->from = peer->proc;
	c->n = nbytes;
	c->operation = m->address;
	memcpy(c->data, m->data, nbytes);
	*queue_end = c;
	queue_end = &c->next;
}

/* Removes the first message of this operation from @proc from the queue. Returns it, or NULL. */
static struct collected *take(int proc)
{
	for (struct collected **at = &queue, *c; (c = *at); at = &c->next) {
		if (c->from != proc || c->operation != operation)
			continue;
		*at = c->next;
		if (queue_end == &c->next)
			queue_end = at;
		return c;
	}
	return NULL;
}

static uint32_t piece(size_t n)
{
	return n < SC_FRAGMENT ? (uint32_t)n : SC_FRAGMENT;
}

void sc_collect_send(int proc, const void *data, size_t n)
{
	const uint8_t *at = data;
	uint32_t length;

	do {
		length = piece(n);
		sc_request(&(struct sc_request){ .proc = proc,
						 .op = SC_COLLECT,
						 .length = length,
						 .address = operation,
						 .data = at,
						 .nbytes = length });
		at += length;
		n -= length;
	} while (n);
}

void sc_collect_receive(int proc, void *data, size_t n)
{
	uint8_t *at = data;
	struct collected *c;
	uint32_t length;

	do {
		length = piece(n);
		sc_wait_until((c = take(proc)));
		if (c->n != length)
			sc_fail("processor %d is in another collective operation, or has other arguments",
				proc);
		if (length)
			memcpy(at, c->data, length);
		free(c);
		at += length;
		n -= length;
	} while (n);
}
