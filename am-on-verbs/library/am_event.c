// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Waits for messages without polling (paper 000, F4).
 *
 * An event occurs when a message arrives while none is waiting.
 */
#include <errno.h>
#include <poll.h>

#include "connections/am_connections.h"
#include "messages/am_messages.h"
#include "objects/am_process.h"

int AM_GetEventMask(eb_t eb, int *mask)
{
	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!eb || !mask)
		return AM_ERR_BAD_ARG;
	am_lock(eb);
	*mask = eb->event_mask;
	am_unlock(eb);
	return AM_OK;
}

int AM_SetEventMask(eb_t eb, int mask)
{
	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!eb || mask < 0 || mask >= AM_NUMEVENTMASKS)
		return AM_ERR_BAD_ARG;
	am_lock(eb);
	eb->event_mask = mask;
	if (mask == AM_NOEVENTS)
		eb->semaphore = false;
	am_unlock(eb);
	return AM_OK;
}

/* Whether AM_Poll() has something to handle. */
static bool pending(struct am_eb *eb)
{
	return eb->semaphore || eb->requests.first || eb->replies.first || eb->returned;
}

static int arm(struct am_eb *eb)
{
	int err = ibv_req_notify_cq(eb->rcq, 0);

	if (!err && eb->scq != eb->rcq)
		err = ibv_req_notify_cq(eb->scq, 0);
	return err;
}

/*
 * Time in ms until the library must act without a message: retry a connection attempt, or
 * probe a silent peer. -1: no limit.
 */
static int poll_timeout_of(const struct am_eb *eb)
{
	if (eb->connecting)
		return 5;
	return eb->outstanding ? (int)am_settings.keepalive : -1;
}

/* Reads one completion event. There may be none: another thread may have read it. */
static void take_event(struct am_eb *eb)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(eb->channel, &cq, &context))
		return;
	if (cq == eb->rcq)
		eb->events.receive++;
	else
		eb->events.send++;
}

static void sleep_until_event(struct am_eb *eb)
{
	struct pollfd fds[2] = { { .fd = eb->channel->fd, .events = POLLIN },
				 { .fd = am_wire_fd(eb), .events = POLLIN } };
	int timeout = poll_timeout_of(eb);

	am_unlock(eb);
	poll(fds, 2, timeout);
	am_lock(eb);
	if (fds[0].revents)
		take_event(eb);
	/* Much time may have passed since the last reading. */
	eb->clock = am_now();
	am_wire_look(eb);
	am_conn_probe(eb);
}

static int wait_for_message(struct am_eb *eb)
{
	while (!pending(eb)) {
		am_drain(eb);
		if (pending(eb))
			break;
		if (arm(eb))
			return AM_ERR_RESOURCE;
		/* Completions that arrived before the queue was armed cause no event. */
		if (am_drain(eb))
			continue;
		if (!pending(eb))
			sleep_until_event(eb);
	}
	eb->semaphore = false;
	return AM_OK;
}

int AM_WaitSema(eb_t eb)
{
	int err;

	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!eb)
		return AM_ERR_BAD_ARG;
	am_lock(eb);
	err = eb->event_mask == AM_NOEVENTS || eb->running ? AM_ERR_BAD_ARG : wait_for_message(eb);
	am_unlock(eb);
	return err;
}
