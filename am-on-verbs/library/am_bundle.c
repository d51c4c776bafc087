// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Bundles: allocation and freeing. */
#include <fcntl.h>
#include <stdlib.h>

#include "am_library.h"
#include "mappings/am_mappings.h"
#include "messages/am_messages.h"
#include "objects/am_process.h"
#include "wirings/am_wirings.h"

static int make_lock(struct am_eb *eb)
{
	pthread_mutexattr_t attr;
	int err;

	/* Recursive, because handlers run with the lock held, and reply. */
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	err = pthread_mutex_init(&eb->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	return err;
}

static struct am_eb *bundle_make(struct am_device *device, bool parallel)
{
	struct am_eb *eb = calloc(1, sizeof(*eb));

	if (!eb)
		return NULL;
	eb->device = device;
	eb->parallel = parallel;
	eb->mapping = am_mapping((unsigned int)am_settings.mapping);
	eb->wiring = am_wiring((unsigned int)am_settings.wiring);
	eb->requests.last = &eb->requests.first;
	eb->replies.last = &eb->replies.first;
	eb->returned_last = &eb->returned;
	eb->clock = am_now();
	if (!eb->mapping || !eb->wiring || make_lock(eb))
		goto free;
	eb->channel = ibv_create_comp_channel(device->context);
	if (!eb->channel)
		goto free_lock;
	/* Non-blocking: if two threads wait, only one of them gets the event. */
	fcntl(eb->channel->fd, F_SETFL, fcntl(eb->channel->fd, F_GETFL) | O_NONBLOCK);
	if (eb->mapping->open_bundle(eb))
		goto free_channel;
	if (eb->wiring->open(eb))
		goto close_mapping;
	return eb;
close_mapping:
	eb->mapping->close_bundle(eb);
free_channel:
	ibv_destroy_comp_channel(eb->channel);
free_lock:
	pthread_mutex_destroy(&eb->lock);
free:
	free(eb);
	return NULL;
}

int AM_AllocateBundle(int type, eb_t *endb)
{
	struct am_eb *eb;

	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (type < 0 || type >= AM_NUM_BUNDLE_MODES || !endb)
		return AM_ERR_BAD_ARG;
	eb = bundle_make(am_the_device(), type == AM_PAR);
	if (!eb)
		return AM_ERR_RESOURCE;
	am_bundle_register(eb);
	*endb = eb;
	return AM_OK;
}

static void acknowledge_events(struct am_eb *eb)
{
	/* ibv_destroy_cq() waits until all events of the queue are acknowledged. */
	struct am_cq_event *events = &eb->events;

	if (events->send)
		ibv_ack_cq_events(eb->scq, events->send);
	if (events->receive)
		ibv_ack_cq_events(eb->rcq, events->receive);
	events->send = 0;
	events->receive = 0;
}

void am_bundle_free(struct am_eb *eb)
{
	struct am_returned *returned;

	/* The drain releases the lock while it waits, and takes it again. */
	am_lock(eb);
	am_bundle_drain(eb);
	while (eb->eps)
		am_endpoint_free(eb->eps);
	am_unlock(eb);
	while ((returned = eb->returned)) {
		eb->returned = returned->next;
		free(returned);
	}
	eb->wiring->close(eb);
	acknowledge_events(eb);
	eb->mapping->close_bundle(eb);
	ibv_destroy_comp_channel(eb->channel);
	pthread_mutex_destroy(&eb->lock);
	free(eb->by_qpn);
	free(eb);
}

int AM_FreeBundle(eb_t bundle)
{
	bool running;

	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!bundle)
		return AM_ERR_BAD_ARG;
	am_lock(bundle);
	running = bundle->running;
	am_unlock(bundle);
	if (running || !am_bundle_unregister(bundle))
		return AM_ERR_BAD_ARG;
	am_bundle_free(bundle);
	return AM_OK;
}
