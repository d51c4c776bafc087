// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Asynchronous events. The NIC raises them in NIC memory. The daemon moves them to the event file
 * that the object named at its creation, and keeps them in private memory until the program reads
 * them.
 *
 * A byte in the program's socket shows unread events: see file_tell(). It is sent with the first
 * event, and after each read that leaves events. The preload library reads all bytes before it
 * asks for an event, so no event is missed; a spurious byte costs one read that finds none.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ioctl.h"
#include "process.h"
#include "objects.h"

/* IBV_EVENT_WQ_FATAL, the only event of work queues. */
#define EVENT_WQ_FATAL 19u

/* Limit of events per call: a process may raise them faster than they are taken. */
#define MAX_COLLECT 4096

struct uv_record {
	struct uv_record *next;
	/* NULL: event of the device. */
	struct uv_object *obj;
	struct ib_uverbs_async_event_desc desc;
};

/* ------------------------------------------------------------------ files */

static int events_start(struct uv_request *req, struct uv_object *obj)
{
	struct uv_events *events = UV_CAST(struct uv_events, obj);
	struct device *device = obj->device;
	struct vnet_msg_fd about = { .kind = VNET_FILE_ASYNC };
	struct uctx *ctx = obj->ctx;
	int fd, err;

	events->file = file_create(device->daemon, device, VNET_FILE_ASYNC, events, &fd);
	if (!events->file)
		return -errno;
	err = uv_socket_inode(fd, &events->inode);
	if (err) {
		close(fd);
		file_destroy(events->file);
		return err;
	}
	events->next = ctx->events;
	ctx->events = events;
	if (!ctx->default_events) {
		ctx->default_events = events;
		uv_use(obj);
	}
	about.file_id = events->file->id;
	about.nic = device->index;
	uv_give_fd(req, fd, &about);
	return 0;
}

static void drop_records(struct uv_events *events, const struct uv_object *obj)
{
	struct uv_record **place = &events->head, *record;

	while ((record = *place)) {
		if (obj && record->obj != obj) {
			place = &record->next;
			continue;
		}
		*place = record->next;
		if (record->obj)
			record->obj->events_unread--;
		else
			events->device_unread--;
		free(record);
	}
	events->tail = place;
}

static void events_release(struct uv_object *obj)
{
	drop_records(UV_CAST(struct uv_events, obj), NULL);
}

static const struct uv_class events_class = {
	.type = UVERBS_OBJECT_ASYNC_EVENT,
	.is_file = true,
	.size = sizeof(struct uv_events),
	.start = events_start,
	.release = events_release,
};

int uv_events_new(struct uv_request *req, struct uv_object **out)
{
	struct uv_events *events;
	int err;

	err = uv_object_new(req, &events_class, out);
	if (err)
		return err;
	events = UV_CAST(struct uv_events, *out);
	events->tail = &events->head;
	return 0;
}

int uv_ioctl_alloc_events(struct uv_request *req)
{
	u16 id = UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE;
	int err;

	err = uv_events_new(req, &req->created);
	if (err)
		return err;
	req->fd_addr = uv_attr_data_addr(req, id);
	req->fd_size = sizeof(u64);
	/* The preload library replaces this by the descriptor's number. */
	return uv_attr_put_handle(req, id, 0);
}

int uv_events_find(struct uv_request *req, s64 fd, struct uv_object **out)
{
	struct uv_events *events;
	u64 inode;
	int err;

	err = uv_process_socket(req->call, fd, &inode);
	if (err)
		return err;
	for (events = req->ctx->events; events; events = events->next)
		if (events->inode == inode && events->file) {
			*out = &events->obj;
			return 0;
		}
	return -EBADF;
}

static void events_end(struct uv_events *events)
{
	struct uv_events **place;

	if (events->obj.ctx) {
		for (place = &events->obj.ctx->events; *place != events;)
			place = &(*place)->next;
		*place = events->next;
	}
	uv_object_free(&events->obj);
}

void uv_events_put(struct uv_events *events)
{
	uv_unuse(&events->obj);
	if (!events->obj.uses && !events->file)
		events_end(events);
}

void uv_events_closed(struct uv_events *events)
{
	events->file = NULL;
	drop_records(events, NULL);
	if (!events->obj.uses)
		events_end(events);
}

void uv_events_attach(struct uv_object *obj, struct uv_object *events)
{
	obj->events = events ? UV_CAST(struct uv_events, events) : obj->ctx->default_events;
	if (obj->events)
		uv_use(&obj->events->obj);
}

void uv_events_detach(struct uv_object *obj)
{
	if (!obj->events)
		return;
	drop_records(obj->events, obj);
	uv_events_put(obj->events);
	obj->events = NULL;
}

/* ---------------------------------------------------------------- records */

static void add_record(struct uv_events *events, struct uv_object *obj, u64 element, u32 event)
{
	u32 *unread = obj ? &obj->events_unread : &events->device_unread;
	struct uv_record *record;

	if (!events->file || *unread >= UV_MAX_UNREAD)
		return;
	record = calloc(1, sizeof(*record));
	if (!record)
		return;
	record->obj = obj;
	record->desc.element = element;
	record->desc.event_type = event;
	file_tell(events->file, !events->head);
	*events->tail = record;
	events->tail = &record->next;
	++*unread;
}

enum call_outcome uverbs_async_read(struct call *call)
{
	struct uv_events *events = call->file->priv;
	struct uv_record *record;

	if (call->file->kind != VNET_FILE_ASYNC)
		return uv_answer(call, -EINVAL, 0);
	record = events->head;
	if (!record)
		return uv_answer(call, -EAGAIN, 0);
	/* Before the answer, after which the program may look whether there is another event. */
	if (record->next)
		file_tell(events->file, true);
	memcpy(call->record, &record->desc, sizeof(record->desc));
	call->record_length = sizeof(record->desc);
	return uv_answer(call, 0, (s32)call->record_length);
}

void uverbs_async_answered(struct file *file, bool sent)
{
	struct uv_events *events = file->priv;
	struct uv_record *record = events->head;

	if (!sent) {
		file_tell(events->file, true);
		return;
	}
	events->head = record->next;
	if (!events->head)
		events->tail = &events->head;
	if (record->obj) {
		record->obj->events_unread--;
		record->obj->events_reported++;
	} else {
		events->device_unread--;
	}
	free(record);
}

/* ------------------------------------------------------- from NIC memory */

static bool is_wq(const struct uv_object *obj)
{
	return obj->class->type == UVERBS_OBJECT_WQ;
}

/* Number of a queue pair or work queue. */
static u32 queue_number(const struct uv_object *obj)
{
	return is_wq(obj) ? UV_CAST(const struct uv_wq, obj)->params.qpn :
			    UV_CAST(const struct uv_qp, obj)->params.qpn;
}

static struct uv_object *event_object(struct device *device, const struct nic_async *event)
{
	struct device_alloc *alloc = device->alloc;
	struct uv_object *obj;

	switch (event->kind) {
	case 'q':
		obj = uv_number_owner(&alloc->qp, nic_qpn_index(&device->nic, event->num));
		return obj && queue_number(obj) == event->num ? obj : NULL;
	case 'c':
		return uv_number_owner(&alloc->cq, event->num - 1);
	case 's':
		obj = uv_number_owner(&alloc->srq, nic_srqn_index(&device->nic, event->num));
		return obj && UV_CAST(struct uv_srq, obj)->srqn == event->num ? obj : NULL;
	default:
		return NULL;
	}
}

static void tell(struct uv_object *obj, u32 event)
{
	if (obj->events)
		add_record(obj->events, obj, obj->user_handle, event);
}

/* Adds the event to all queue pair objects that have opened an XRC target. */
static void tell_all(struct uv_target *target, u32 event)
{
	struct uv_qp *qp;

	for (qp = target->opened; qp; qp = qp->next_opened)
		tell(&qp->obj, event);
}

void uverbs_collect_async(struct device *device)
{
	struct nic_async event;
	struct uv_object *obj;
	u32 i;

	for (i = 0; i < MAX_COLLECT && nic_async_take(&device->nic, &event); i++) {
		obj = event_object(device, &event);
		if (obj && is_wq(obj))
			tell(obj, EVENT_WQ_FATAL);
		else if (obj && event.kind == 'q' && UV_CAST(struct uv_qp, obj)->target)
			tell_all(UV_CAST(struct uv_qp, obj)->target, event.event);
		else if (obj)
			tell(obj, event.event);
	}
}

void uverbs_device_event(struct device *device, u32 event, u64 element)
{
	struct uv_events *events;
	struct uctx *ctx;

	for (ctx = device->alloc->contexts; ctx; ctx = ctx->next)
		for (events = ctx->events; events; events = events->next)
			add_record(events, NULL, element, event);
}
