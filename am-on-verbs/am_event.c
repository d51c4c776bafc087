// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Waiting asleep (paper 000, F4): an event when a message comes while none is
 * waiting.
 */
#include <errno.h>
#include <poll.h>

#include "am_mapping.h"
#include "am_process.h"

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

/* Something to do for AM_Poll(). */
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
 * ms until something is due without a message: a connection to be asked for
 * again, or a silent peer to be probed. -1: never.
 */
static int patience(const struct am_eb *eb)
{
	if (eb->connecting)
		return 5;
	return eb->outstanding ? (int)am_settings.keepalive : -1;
}

/* One event, which need not be there any more: another thread may have taken it. */
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
	int timeout = patience(eb);

	am_unlock(eb);
	poll(fds, 2, timeout);
	am_lock(eb);
	if (fds[0].revents)
		take_event(eb);
	/* The clock may have gone far. */
	eb->clock = am_now();
	am_wire_look(eb);
	if (eb->outstanding)
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
		/* What came before it was armed makes no event. */
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
