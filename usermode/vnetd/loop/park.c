// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Parked operations, which cannot complete yet and are retried. They wait for a lock that a
 * client process holds, or for pages. Retries become less frequent with time, so that a stopped
 * process costs little.
 */
#include "loop.h"

#define SHORTEST_WAIT (50 * NSEC_PER_USEC)
#define LONGEST_WAIT (5 * NSEC_PER_MSEC)

void park_init(struct park *park)
{
	park->head.prev = &park->head;
	park->head.next = &park->head;
}

/* The next retry is after a quarter of the time that the operation has waited so far. */
static u64 next_try(const struct parked *parked, u64 now)
{
	u64 wait = (now - parked->since) / 4;

	if (wait < SHORTEST_WAIT)
		wait = SHORTEST_WAIT;
	if (wait > LONGEST_WAIT)
		wait = LONGEST_WAIT;
	return now + wait;
}

void park_add(struct park *park, struct parked *parked)
{
	if (parked->queued)
		return;
	parked->queued = true;
	parked->since = clock_now();
	parked->due = next_try(parked, parked->since);
	parked->next = &park->head;
	parked->prev = park->head.prev;
	parked->prev->next = parked;
	parked->next->prev = parked;
}

void park_remove(struct parked *parked)
{
	if (!parked->queued)
		return;
	parked->queued = false;
	parked->prev->next = parked->next;
	parked->next->prev = parked->prev;
}

/* New entries are appended, so the first has waited longest. */
bool park_waits(const struct park *park, u64 now, u64 time)
{
	const struct parked *first = park->head.next;

	return first != &park->head && now - first->since > time;
}

/*
 * A retry may remove any other entry (the end of a client closes its connections), so the walk
 * restarts after each success.
 */
u64 park_run(struct park *park, u64 now)
{
	struct parked *parked;
	u64 nearest;

restart:
	nearest = NEVER;
	for (parked = park->head.next; parked != &park->head; parked = parked->next) {
		if (parked->due <= now) {
			parked->due = next_try(parked, now);
			if (parked->retry(parked) == CALL_DONE) {
				park_remove(parked);
				goto restart;
			}
		}
		nearest = earlier(nearest, parked->due);
	}
	return nearest;
}
