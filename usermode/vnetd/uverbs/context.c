// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* uverbs files, and the context that each may open once. */
#include <errno.h>
#include <stdlib.h>

#include "ioctl.h"
#include "objects.h"

/* The core accepts optional access flags of memory regions. */
#define CORE_SUPPORT ((u64)IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS)

static const struct vnet_alloc_ucontext_resp any_response = {
	.hw_version = VNET_HW_VERSION,
	.caps = VNET_UCONTEXT_CAP_CQE_PAYLOAD | VNET_UCONTEXT_CAP_TRAP_DOORBELL |
		VNET_UCONTEXT_CAP_IMM64 | VNET_UCONTEXT_CAP_TM | VNET_UCONTEXT_CAP_QUERY_DEVICE |
		VNET_UCONTEXT_CAP_RETURN | VNET_UCONTEXT_CAP_FLUSH,
	.max_send_sge = VNET_MAX_SGE,
	.max_recv_sge = VNET_MAX_SGE,
	.max_inline_data = VNET_MAX_INLINE,
	.clock_khz = UV_CLOCK_KHZ,
	.doorbell_fd = -1,
};

static struct vnet_alloc_ucontext_resp context_resp(const struct device *device)
{
	struct vnet_alloc_ucontext_resp resp = any_response;

	if (device->lid)
		resp.caps |= VNET_UCONTEXT_CAP_LID;
	return resp;
}

/* Tells the preload library where to add the gate, if the response has room for it. */
static void expect_gate(struct uv_request *req, u64 addr, u32 room)
{
	if (room < UV_UP_TO(struct vnet_alloc_ucontext_resp, gate_cookie))
		return;
	req->call->result.ucontext_addr = addr;
	req->call->result.ucontext_nic = req->device->index;
}

/* Handles the driver-specific part of opening a context. */
static int exchange_driver_part(struct uv_request *req)
{
	struct vnet_alloc_ucontext_resp resp = context_resp(req->device);
	struct vnet_alloc_ucontext_req driver;
	int err;

	err = uv_get_driver(req, &driver, sizeof(driver));
	if (err)
		return err;
	if (driver.hw_version != VNET_HW_VERSION)
		return -EINVAL;
	if (driver.reserved_20[0] || driver.reserved_20[1] || driver.reserved_20[2] ||
	    driver.reserved_20[3])
		return -EINVAL;
	err = uv_respond_driver(req, &resp, sizeof(resp));
	if (!err)
		expect_gate(req, req->driver_out, req->driver_out_length);
	return err;
}

int uv_get_context(struct uv_request *req)
{
	struct ib_uverbs_get_context_resp resp = { .num_comp_vectors = UV_COMP_VECTORS };
	struct ib_uverbs_get_context cmd;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (err)
		return err;
	if (req->ctx->open)
		return -EINVAL;
	req->opens = true;
	err = exchange_driver_part(req);
	if (err)
		return err;
	err = uv_respond(req, &resp, sizeof(resp));
	if (err)
		return err;
	req->fd_addr = req->out + offsetof(struct ib_uverbs_get_context_resp, async_fd);
	req->fd_size = sizeof(resp.async_fd);
	return uv_events_new(req, &req->created);
}

static int put_support(struct uv_request *req, u16 vectors_id, u16 support_id)
{
	u32 vectors = UV_COMP_VECTORS;
	u64 support = CORE_SUPPORT;
	int err;

	err = uv_attr_put(req, vectors_id, &vectors, sizeof(vectors));
	return err ? err : uv_attr_put(req, support_id, &support, sizeof(support));
}

int uv_ioctl_get_context(struct uv_request *req)
{
	int err;

	if (req->ctx->open)
		return -EINVAL;
	err = put_support(req, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS,
			  UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT);
	if (err)
		return err;
	req->opens = true;
	return exchange_driver_part(req);
}

/* For a context that another process has opened and this one imports. */
int uv_ioctl_query_context(struct uv_request *req)
{
	struct vnet_alloc_ucontext_resp resp = context_resp(req->device);
	u32 room = uv_attr_length(req, VNET_ATTR_QUERY_CONTEXT_RESP);
	int err;

	if (!req->ctx->open)
		return -EINVAL;
	err = put_support(req, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS,
			  UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT);
	if (err)
		return err;
	err = uv_attr_put_or_zero(req, VNET_ATTR_QUERY_CONTEXT_RESP, &resp, sizeof(resp));
	if (!err)
		expect_gate(req, uv_attr_out_addr(req, VNET_ATTR_QUERY_CONTEXT_RESP), room);
	return err;
}

/* ------------------------------------------------------------------ files */

int uverbs_file_open(struct file *file)
{
	struct device_alloc *alloc = file->device->alloc;
	struct uctx *ctx;

	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return -ENOMEM;
	ctx->file = file;
	ctx->device = file->device;
	ctx->next = alloc->contexts;
	alloc->contexts = ctx;
	file->priv = ctx;
	return 0;
}

/* Detaches channels and event files, which live on while the program holds them. */
static void disown_files(struct uctx *ctx)
{
	struct uv_channel *channel;
	struct uv_events *events;

	if (ctx->default_events)
		uv_events_put(ctx->default_events);
	for (channel = ctx->channels; channel; channel = channel->next)
		channel->obj.ctx = NULL;
	for (events = ctx->events; events; events = events->next)
		events->obj.ctx = NULL;
}

static enum call_outcome context_close(struct uctx *ctx)
{
	struct uctx **place = &ctx->device->alloc->contexts;

	if (uv_object_destroy_all(ctx) == UV_PARK)
		return CALL_PARK;
	disown_files(ctx);
	while (*place != ctx)
		place = &(*place)->next;
	*place = ctx->next;
	ctx->file->priv = NULL;
	free(ctx);
	return CALL_DONE;
}

enum call_outcome uverbs_file_close(struct file *file)
{
	if (!file->priv)
		return CALL_DONE;
	switch (file->kind) {
	case VNET_FILE_UVERBS:
		return context_close(file->priv);
	case VNET_FILE_CHANNEL:
		uv_channel_closed(file->priv);
		break;
	case VNET_FILE_ASYNC:
		uv_events_closed(file->priv);
		break;
	case VNET_FILE_NETLINK:
	case VNET_FILE_RDMA_CM:
	case VNET_FILE_UMAD:
		/* Closed by other modules. */
		break;
	}
	return CALL_DONE;
}

/*
 * Only frees rings that the process could still have mapped. Objects belong to files, which
 * another process may hold open; they are destroyed when the file is closed. Until then, regions
 * of the dead process fail as its address space is gone, and nic_recover() has disabled its queue
 * pairs.
 */
void uverbs_client_dead(struct client *client)
{
	uv_rings_put_mapped(client);
}
