// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion channels: a socket pair, whose other end the program holds, and a channel of the
 * NIC. A channel is destroyed when the program has closed it and no CQ uses it.
 */
#include <errno.h>
#include <unistd.h>

#include "process.h"
#include "objects.h"

void uv_give_fd(struct uv_request *req, int fd, const struct vnet_msg_fd *about)
{
	struct vnet_msg_result *result = &req->call->result;

	req->call->fd[result->nfds] = fd;
	result->fd[result->nfds] = *about;
	result->fd[result->nfds].user_addr = req->fd_addr;
	result->fd[result->nfds].user_size = req->fd_size;
	result->nfds++;
}

static int channel_start(struct uv_request *req, struct uv_object *obj)
{
	struct uv_channel *channel = UV_CAST(struct uv_channel, obj);
	struct device *device = obj->device;
	struct vnet_msg_fd about = { .kind = VNET_FILE_CHANNEL };
	int fd, err;

	channel->file = file_create(device->daemon, device, VNET_FILE_CHANNEL, channel, &fd);
	if (!channel->file)
		return -errno;
	channel->file->number = channel->index;
	channel->file->generation = channel->generation;
	err = uv_socket_inode(fd, &channel->inode);
	if (!err)
		err = uv_created(device, nic_channel_create(&device->nic, channel->index,
							    channel->generation));
	if (err) {
		close(fd);
		file_destroy(channel->file);
		return err;
	}
	channel->next = obj->ctx->channels;
	obj->ctx->channels = channel;
	about.file_id = channel->file->id;
	about.nic = device->index;
	about.number = channel->index;
	about.generation = channel->generation;
	uv_give_fd(req, fd, &about);
	return 0;
}

static void channel_release(struct uv_object *obj)
{
	uv_number_put(&obj->device->alloc->channel, UV_CAST(struct uv_channel, obj)->index);
}

static const struct uv_class channel_class = {
	.type = UVERBS_OBJECT_COMP_CHANNEL,
	.is_file = true,
	.size = sizeof(struct uv_channel),
	.start = channel_start,
	.release = channel_release,
};

static int channel_new(struct uv_request *req)
{
	struct uv_numbers *numbers = &req->device->alloc->channel;
	struct uv_channel *channel;
	struct uv_object *obj;
	int err;

	err = uv_object_new(req, &channel_class, &obj);
	if (err)
		return err;
	channel = UV_CAST(struct uv_channel, obj);
	channel->index = uv_number_get(numbers, channel);
	if (channel->index == NIC_NONE) {
		uv_object_drop(obj);
		return -ENOMEM;
	}
	channel->generation = uv_number_use(numbers, channel->index) + 1;
	req->created = obj;
	return 0;
}

int uv_create_comp_channel(struct uv_request *req)
{
	struct ib_uverbs_create_comp_channel cmd;
	/* The preload library replaces this by the descriptor's number. */
	struct ib_uverbs_create_comp_channel_resp resp = { .fd = 0 };
	int err;

	uv_channel_sweep(req->device);
	err = uv_get(req, &cmd, sizeof(cmd));
	if (!err)
		err = channel_new(req);
	if (err)
		return err;
	req->fd_addr = req->out + offsetof(struct ib_uverbs_create_comp_channel_resp, fd);
	req->fd_size = sizeof(resp.fd);
	return uv_respond(req, &resp, sizeof(resp));
}

int uv_channel_find(struct uv_request *req, s64 fd, struct uv_object **out)
{
	struct uv_channel *channel;
	u64 inode;
	int err;

	err = uv_process_socket(req->call, fd, &inode);
	if (err)
		return err;
	for (channel = req->ctx->channels; channel; channel = channel->next)
		if (channel->inode == inode && channel->file) {
			*out = &channel->obj;
			return 0;
		}
	return -EBADF;
}

static void unlink_from_context(struct uv_channel *channel)
{
	struct uv_channel **place;

	if (!channel->obj.ctx)
		return;
	for (place = &channel->obj.ctx->channels; *place != channel;)
		place = &(*place)->next;
	*place = channel->next;
	channel->obj.ctx = NULL;
}

static void channel_end(struct uv_channel *channel)
{
	struct device_alloc *alloc = channel->obj.device->alloc;

	unlink_from_context(channel);
	if (nic_channel_destroy(&channel->obj.device->nic, channel->index) == NIC_BUSY) {
		channel->next = alloc->stuck_channels;
		alloc->stuck_channels = channel;
		return;
	}
	uv_object_free(&channel->obj);
}

void uv_channel_sweep(struct device *device)
{
	struct uv_channel *channel = device->alloc->stuck_channels, *next;

	device->alloc->stuck_channels = NULL;
	for (; channel; channel = next) {
		next = channel->next;
		channel_end(channel);
	}
}

void uv_channel_forget(struct device *device)
{
	struct uv_channel *channel = device->alloc->stuck_channels, *next;

	for (; channel; channel = next) {
		next = channel->next;
		uv_object_free(&channel->obj);
	}
	device->alloc->stuck_channels = NULL;
}

void uv_channel_put(struct uv_channel *channel)
{
	uv_unuse(&channel->obj);
	if (!channel->obj.uses && !channel->file)
		channel_end(channel);
}

void uv_channel_closed(struct uv_channel *channel)
{
	channel->file = NULL;
	if (!channel->obj.uses)
		channel_end(channel);
}

struct file *uverbs_channel_file(struct device *device, u32 channel, u32 generation)
{
	struct uv_channel *found = uv_number_owner(&device->alloc->channel, channel);

	return found && found->generation == generation ? found->file : NULL;
}
