// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Open rdma_cm files and their events. A byte is in the program's socket while events are unread.
 * It is sent with the first event, and after each read that leaves events. The preload library
 * reads all bytes before it asks for an event.
 */
#include <errno.h>
#include <stdlib.h>

#include "uverbs/objects.h"
#include "inside.h"

/* ------------------------------------------------------------------ events */

static void append(struct cm_file *cm_file, struct cm_event *event)
{
	event->next = NULL;
	*cm_file->tail = event;
	cm_file->tail = &event->next;
}

bool cm_event(struct cm_id *id, struct cm_group *group, struct cm_id *request,
	      const struct rdma_ucm_event_resp *resp)
{
	struct cm_event *event;

	/* An id that is not accepted yet gets no events; only its listener gets the request. */
	if (!request && !id->uid)
		return true;
	event = calloc(1, sizeof(*event));
	if (!event) {
		log_line("no memory for an event of rdma_cm");
		return false;
	}
	event->id = id;
	event->group = group;
	event->request = request;
	if (request)
		request->unread = event;
	event->resp = *resp;
	event->resp.uid = group ? group->uid : id->uid;
	event->resp.id = request ? request->handle : group ? group->handle : id->handle;
	file_tell(id->file->file, !id->file->head);
	append(id->file, event);
	return true;
}

void cm_plain_event(struct cm_id *id, u32 event, int status)
{
	struct rdma_ucm_event_resp resp = { .event = event, .status = (u32)status };

	(void)cm_event(id, NULL, NULL, &resp);
}

/* Takes the events of an id, or of one of its groups, out of the file's queue. */
static struct cm_event *take_out(struct cm_file *cm_file, const struct cm_id *id,
				 const struct cm_group *group)
{
	struct cm_event **place = &cm_file->head, *event, *out = NULL, **out_tail = &out;

	while ((event = *place)) {
		if (event->id != id || (group && event->group != group)) {
			place = &event->next;
			continue;
		}
		*place = event->next;
		event->next = NULL;
		*out_tail = event;
		out_tail = &event->next;
	}
	cm_file->tail = place;
	return out;
}

void cm_drop_events(struct cm_id *id, const struct cm_group *group)
{
	struct cm_event *event = take_out(id->file, id, group), *next;

	for (; event; event = next) {
		next = event->next;
		if (event->request)
			cm_id_destroy(event->request);
		free(event);
	}
}

int cm_cmd_get_event(const struct cm_call *call)
{
	u32 least = offsetof(struct rdma_ucm_event_resp, reserved), size = call->out_length;
	struct cm_event *event = call->file->head;
	struct rdma_ucm_get_event cmd;
	int err;

	if (size < least)
		return -ENOSPC;
	err = cm_get(call, &cmd, sizeof(cmd));
	if (err)
		return err;
	if (!event)
		return -EAGAIN;
	size = size < sizeof(event->resp) ? size : (u32)sizeof(event->resp);
	err = cm_put(call, cmd.response, &event->resp, size);
	if (err) {
		file_tell(call->file->file, true);
		return err;
	}
	if (event->request) {
		event->request->unread = NULL;
		event->id->backlog++;
	}
	call->file->head = event->next;
	if (event->next)
		file_tell(call->file->file, true);
	else
		call->file->tail = &call->file->head;
	event->id->events_reported++;
	if (event->group)
		event->group->events_reported++;
	cm_orphan_write(event->id);
	if (event->request)
		cm_orphan_write(event->request);
	free(event);
	return 0;
}

/* ----------------------------------------------------------------- migration */

static void move_id(struct cm_id *id, struct cm_file *to)
{
	struct cm_id **place = &id->file->ids;

	while (*place != id)
		place = &(*place)->next;
	*place = id->next;
	id->next = to->ids;
	to->ids = id;
	id->file = to;
	/* An id whose request the program has not read has no record yet. */
	if (!id->unread)
		cm_orphan_write(id);
}

/* Moves an id to another file, with its events and the ids of requests among these, in order. */
static void migrate(struct cm_id *id, struct cm_file *to)
{
	struct cm_event *event = take_out(id->file, id, NULL), *next;
	bool was_empty = !to->head;

	move_id(id, to);
	for (; event; event = next) {
		next = event->next;
		append(to, event);
		if (event->request)
			move_id(event->request, to);
	}
	if (was_empty && to->head)
		file_tell(to->file, true);
}

int cm_cmd_migrate_id(const struct cm_call *call)
{
	struct file *other = file_find(call->cm->daemon, call->other_file);
	struct rdma_ucm_migrate_id cmd;
	struct rdma_ucm_migrate_resp resp;
	struct cm_call there = *call;
	struct cm_id *id;
	int err;

	if (call->out_length < sizeof(resp))
		return -ENOSPC;
	err = cm_get(call, &cmd, sizeof(cmd));
	if (err)
		return err;
	if (!other)
		return -EBADF;
	if (other->kind != VNET_FILE_RDMA_CM)
		return -EINVAL;
	there.file = other->priv;
	err = cm_call_id(&there, cmd.id, &id);
	if (err)
		return err;
	/* Park before the id moves: a retry would not find it. */
	if (user_bring(call->client, cmd.response, sizeof(resp)) == UV_PARK)
		return UV_PARK;
	if (id->file != call->file)
		migrate(id, call->file);
	resp.events_reported = id->events_reported;
	return cm_put(call, cmd.response, &resp, sizeof(resp));
}

/* ------------------------------------------------------------------- life */

int cm_file_open(struct file *file)
{
	struct cm_file *cm_file = calloc(1, sizeof(*cm_file));

	if (!cm_file)
		return -ENOMEM;
	cm_file->cm = file->daemon->cm;
	cm_file->file = file;
	cm_file->tail = &cm_file->head;
	file->priv = cm_file;
	return 0;
}

void cm_file_close(struct file *file)
{
	struct cm_file *cm_file = file->priv;

	if (!cm_file)
		return;
	while (cm_file->ids)
		cm_id_destroy(cm_file->ids);
	free(cm_file);
	file->priv = NULL;
}

void cm_file_resignal(struct file *file)
{
	const struct cm_file *cm_file = file->priv;

	if (cm_file->head)
		file_tell(cm_file->file, true);
}
