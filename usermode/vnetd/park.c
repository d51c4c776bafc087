// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What cannot be done yet, because somebody holds a lock that it needs: tried
 * again soon, and less often the longer it takes, so that a stopped process
 * costs next to nothing.
 */
#include "daemon.h"

#define SHORTEST_WAIT (50 * NSEC_PER_USEC)
#define LONGEST_WAIT (5 * NSEC_PER_MSEC)

void park_init(struct park *park)
{
	park->head.prev = &park->head;
	park->head.next = &park->head;
}

/* Again after a quarter of the time that it has waited so far. */
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

/* New ones go to the end, so the first has waited longest. */
bool park_waits(const struct park *park, u64 now, u64 time)
{
	const struct parked *first = park->head.next;

	return first != &park->head && now - first->since > time;
}

/*
 * One retry may remove any other entry (a client that turns out to be dead
 * takes its connections along), so the walk starts over after each success.
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
