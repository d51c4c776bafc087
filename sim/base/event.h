/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The virtual clock and the event queue. Virtual time advances only from event to event. Events
 * of the same time are executed in the order in which they were scheduled.
 */
#ifndef SIM_EVENT_H
#define SIM_EVENT_H

#include "layout/types.h"

typedef void event_fn(void *arg, u64 value);

/* Call fn(arg, value) at `time`, or now if that is in the past. */
void event_at(u64 time, event_fn *fn, void *arg, u64 value);
/* Execute the next event. Returns false if there is none. */
bool event_step(void);
/* Time of the next event, or ~0 if there is none. */
u64 event_next(void);
/* Discard all events and set the clock to 0. */
void event_reset(void);
u64 event_now(void);
/* Number of events executed since the reset. */
u64 event_count(void);

#endif /* SIM_EVENT_H */
