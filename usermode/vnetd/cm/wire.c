// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sends CM messages: to other nodes by queue pair 1, to GIDs of this node through a queue. Queued
 * messages are handled in the next turn of the loop, as if they had been received.
 */
#include <errno.h>
#include <stdlib.h>

#include "inside.h"

static void queue(struct cm *cm, struct device *device, const struct cm_path *path,
		  const struct mad *mad)
{
	struct cm_arrival *arrival = calloc(1, sizeof(*arrival));

	/* The message is lost, as it may be on a network. */
	if (!arrival)
		return;
	arrival->device = device;
	memcpy(arrival->sgid, cm_path_sgid(path), sizeof(arrival->sgid));
	memcpy(arrival->dgid, path->dgid, sizeof(arrival->dgid));
	arrival->mad = *mad;
	*cm->tail = arrival;
	cm->tail = &arrival->next;
}

void cm_transmit(struct cm *cm, const struct cm_path *path, const struct mad *mad)
{
	struct device *device;
	u8 index;

	device = cm_gid_device(cm->daemon, path->dgid, &index);
	if (device)
		queue(cm, device, path, mad);
	else
		cm_qp1_send(cm, path, mad);
}

int cm_init(struct daemon *daemon)
{
	struct cm *cm = calloc(1, sizeof(*cm));
	int error;

	if (!cm)
		return -ENOMEM;
	cm->daemon = daemon;
	cm->due = NEVER;
	cm->tail = &cm->head;
	daemon->cm = cm;
	error = cm_orphans_init(cm);
	if (error)
		return error;
	for (u32 i = 0; i < daemon->ndevices; i++) {
		error = cm_qp1_open(cm, &daemon->device[i]->device);
		if (error)
			return error;
	}
	return 0;
}

/* Also handles messages that handlers send meanwhile; every exchange is finite. */
static void deliver(struct cm *cm)
{
	struct cm_arrival *arrival;

	while ((arrival = cm->head)) {
		cm->head = arrival->next;
		if (!cm->head)
			cm->tail = &cm->head;
		cm_receive(cm, arrival);
		free(arrival);
	}
}

u64 cm_run(struct daemon *daemon, u64 now)
{
	struct cm *cm = daemon->cm;
	u64 next;

	cm_qp1_poll(cm);
	deliver(cm);
	next = earlier(cm_conns_run(cm, now), cm_early_run(cm, now));
	return cm->head ? now : next;
}
