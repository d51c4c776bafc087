/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The virtual clock and what is to happen: nothing passes but by an event, and of
 * two at one time the one that was asked for first comes first.
 */
#ifndef SIM_EVENT_H
#define SIM_EVENT_H

#include "layout/types.h"

typedef void event_fn(void *arg, u64 value);

/* Call fn(arg, value) at `time`, which is not in the past. */
void event_at(u64 time, event_fn *fn, void *arg, u64 value);
/* Let the next one happen; false: there is none. */
bool event_step(void);
/* Time of the next one; ~0 if there is none. */
u64 event_next(void);
/* Forget all, and put the clock to 0. */
void event_reset(void);
u64 event_now(void);
/* How many have happened since the reset. */
u64 event_count(void);

#endif /* SIM_EVENT_H */
