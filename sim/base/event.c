// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The event queue: a binary heap, ordered by time and by order of insertion. */
#include <stdio.h>
#include <stdlib.h>

#include "base/event.h"

struct event {
	u64 time;
	u64 order;
	event_fn *fn;
	void *arg;
	u64 value;
};

static struct {
	struct event *heap;
	u32 n, room;
	u64 now, order, count;
} queue;

static bool event_before(const struct event *a, const struct event *b)
{
	return a->time != b->time ? a->time < b->time : a->order < b->order;
}

static void event_grow(void)
{
	queue.room = queue.room ? queue.room * 2 : 1024;
	queue.heap = realloc(queue.heap, queue.room * sizeof(*queue.heap));
	if (!queue.heap) {
		fputs("vnet-sim: no memory for events\n", stderr);
		abort();
	}
}

void event_at(u64 time, event_fn *fn, void *arg, u64 value)
{
	struct event e = {
		.time = time > queue.now ? time : queue.now,
		.order = queue.order++,
		.fn = fn,
		.arg = arg,
		.value = value,
	};
	u32 i;

	if (queue.n == queue.room)
		event_grow();
	for (i = queue.n++; i && event_before(&e, &queue.heap[(i - 1) / 2]); i = (i - 1) / 2)
		queue.heap[i] = queue.heap[(i - 1) / 2];
	queue.heap[i] = e;
}

static struct event event_pop(void)
{
	struct event top = queue.heap[0];
	struct event last = queue.heap[--queue.n];
	u32 i = 0, child;

	for (;;) {
		child = 2 * i + 1;
		if (child >= queue.n)
			break;
		if (child + 1 < queue.n && event_before(&queue.heap[child + 1], &queue.heap[child]))
			child++;
		if (!event_before(&queue.heap[child], &last))
			break;
		queue.heap[i] = queue.heap[child];
		i = child;
	}
	queue.heap[i] = last;
	return top;
}

bool event_step(void)
{
	struct event e;

	if (!queue.n)
		return false;
	e = event_pop();
	queue.now = e.time;
	queue.count++;
	e.fn(e.arg, e.value);
	return true;
}

u64 event_next(void)
{
	return queue.n ? queue.heap[0].time : ~0ull;
}

void event_reset(void)
{
	queue.n = 0;
	queue.now = 0;
	queue.order = 0;
	queue.count = 0;
}

u64 event_now(void)
{
	return queue.now;
}

u64 event_count(void)
{
	return queue.count;
}
