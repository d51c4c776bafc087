// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The event loop: one epoll set and one timer. A handler may remove a source whose event is in
 * the same batch. So memory is freed only after all events of a turn have been dispatched.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "loop.h"

#define EVENTS_A_TURN 64

u64 clock_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * NSEC_PER_SEC + (u64)ts.tv_nsec;
}

/* The timer only ends the wait; the caller of loop_turn() checks the deadlines. */
static void timer_ready(struct source *source, u32 events)
{
	struct loop *loop = container_of(source, struct loop, timer);
	u64 expirations;

	(void)events;
	if (read(source->fd, &expirations, sizeof(expirations)) == sizeof(expirations))
		loop->armed = NEVER;
}

int loop_init(struct loop *loop)
{
	loop->garbage = NULL;
	loop->armed = NEVER;
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd < 0)
		return -errno;
	loop->timer.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (loop->timer.fd < 0)
		return -errno;
	loop->timer.ready = timer_ready;
	return loop_add(loop, &loop->timer, EPOLLIN);
}

int loop_add(struct loop *loop, struct source *source, u32 events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	return epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, source->fd, &event) < 0 ? -errno : 0;
}

void loop_change(struct loop *loop, struct source *source, u32 events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, source->fd, &event);
}

void loop_listen(struct loop *loop, struct source *source, bool on)
{
	loop_change(loop, source, on ? EPOLLIN : 0);
}

/* EPOLL_CTL_DEL is required: close() removes nothing while other processes have copies. */
void loop_remove(struct loop *loop, struct source *source, void *memory)
{
	if (source->ready && source->fd >= 0)
		epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
	source->ready = NULL;
	source->memory = memory;
	if (source->garbage)
		return;
	source->garbage = true;
	source->next_garbage = loop->garbage;
	loop->garbage = source;
}

static void sweep(struct loop *loop)
{
	while (loop->garbage) {
		struct source *source = loop->garbage;

		loop->garbage = source->next_garbage;
		source->garbage = false;
		free(source->memory);
	}
}

static void arm(struct loop *loop, u64 deadline)
{
	struct itimerspec spec = { 0 };

	if (deadline == loop->armed)
		return;
	if (deadline != NEVER) {
		/* A zero time would disarm the timer. */
		deadline = deadline ? deadline : 1;
		spec.it_value.tv_sec = (time_t)(deadline / NSEC_PER_SEC);
		spec.it_value.tv_nsec = (long)(deadline % NSEC_PER_SEC);
	}
	if (timerfd_settime(loop->timer.fd, TFD_TIMER_ABSTIME, &spec, NULL) == 0)
		loop->armed = deadline;
}

void loop_turn(struct loop *loop, u64 deadline)
{
	struct epoll_event events[EVENTS_A_TURN];
	int n;

	arm(loop, deadline);
	n = epoll_wait(loop->epoll_fd, events, EVENTS_A_TURN, -1);
	for (int i = 0; i < n; i++) {
		struct source *source = events[i].data.ptr;

		if (source->ready)
			source->ready(source, events[i].events);
	}
	sweep(loop);
}
