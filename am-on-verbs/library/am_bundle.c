// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Bundles: allocation, completion queues, and a table of connections by queue pair number. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "objects/am_mapping.h"
#include "objects/am_process.h"
#include "objects/am_wiring.h"

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
	eb->requests.last = &eb->requests.first;
	eb->replies.last = &eb->replies.first;
	eb->returned_last = &eb->returned;
	eb->clock = am_now();
	if (!eb->mapping || make_lock(eb))
		goto free;
	eb->channel = ibv_create_comp_channel(device->context);
	if (!eb->channel)
		goto free_lock;
	/* Non-blocking: if two threads wait, only one of them gets the event. */
	fcntl(eb->channel->fd, F_SETFL, fcntl(eb->channel->fd, F_GETFL) | O_NONBLOCK);
	if (eb->mapping->open_bundle(eb))
		goto free_channel;
	if (am_wire_open(eb))
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
	am_wire_close(eb);
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

/* Reserves @more entries, and resizes the queue if necessary. */
static int cq_grow(struct ibv_cq *cq, unsigned int *needed, unsigned int more)
{
	int err;

	if (*needed + more > (unsigned int)cq->cqe) {
		err = ibv_resize_cq(cq, (int)(2 * (*needed + more)));
		if (err)
			return err;
	}
	*needed += more;
	return 0;
}

int am_cq_room(struct am_eb *eb, unsigned int sends, unsigned int receives)
{
	int err;

	if (eb->scq == eb->rcq)
		return cq_grow(eb->scq, &eb->scq_needed, sends + receives);
	err = cq_grow(eb->scq, &eb->scq_needed, sends);
	if (err)
		return err;
	err = cq_grow(eb->rcq, &eb->rcq_needed, receives);
	if (err)
		eb->scq_needed -= sends;
	return err;
}

void am_cq_room_back(struct am_eb *eb, unsigned int sends, unsigned int receives)
{
	if (eb->scq == eb->rcq) {
		eb->scq_needed -= sends + receives;
		return;
	}
	eb->scq_needed -= sends;
	eb->rcq_needed -= receives;
}

/*
 * Hash table by queue pair number: open addressing, at most half full. The low bits are a
 * good hash, because devices allocate numbers densely or at random.
 */
static struct am_qpn *qpn_place(struct am_qpn *table, unsigned int size, uint32_t qpn)
{
	unsigned int at = qpn & (size - 1);

	while (table[at].conn && table[at].qpn != qpn)
		at = (at + 1) & (size - 1);
	return &table[at];
}

static int qpn_grow(struct am_eb *eb)
{
	unsigned int size = eb->by_qpn_size ? 2 * eb->by_qpn_size : 16;
	struct am_qpn *table = calloc(size, sizeof(*table));

	if (!table)
		return ENOMEM;
	for (unsigned int i = 0; i < eb->by_qpn_size; i++) {
		if (eb->by_qpn[i].conn)
			*qpn_place(table, size, eb->by_qpn[i].qpn) = eb->by_qpn[i];
	}
	free(eb->by_qpn);
	eb->by_qpn = table;
	eb->by_qpn_size = size;
	return 0;
}

int am_qpn_insert(struct am_eb *eb, struct am_conn *conn, uint32_t qpn)
{
	int err;

	if (2 * (eb->by_qpn_used + 1) > eb->by_qpn_size) {
		err = qpn_grow(eb);
		if (err)
			return err;
	}
	*qpn_place(eb->by_qpn, eb->by_qpn_size, qpn) = (struct am_qpn){ qpn, conn };
	eb->by_qpn_used++;
	return 0;
}

struct am_conn *am_conn_by_qpn(struct am_eb *eb, uint32_t qpn)
{
	return eb->by_qpn_size ? qpn_place(eb->by_qpn, eb->by_qpn_size, qpn)->conn : NULL;
}

/* Removes an entry, and reinserts those behind it, so that they are still found. */
void am_qpn_remove(struct am_eb *eb, uint32_t qpn)
{
	unsigned int mask = eb->by_qpn_size - 1, at;
	struct am_qpn *hole, moved;

	if (!am_conn_by_qpn(eb, qpn))
		return;
	hole = qpn_place(eb->by_qpn, eb->by_qpn_size, qpn);
	hole->conn = NULL;
	eb->by_qpn_used--;
	for (at = ((unsigned int)(hole - eb->by_qpn) + 1) & mask; eb->by_qpn[at].conn;
	     at = (at + 1) & mask) {
		moved = eb->by_qpn[at];
		eb->by_qpn[at].conn = NULL;
		*qpn_place(eb->by_qpn, eb->by_qpn_size, moved.qpn) = moved;
	}
}
