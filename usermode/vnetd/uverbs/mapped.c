// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Memory regions whose pages are in the memory file of their process (NIC_MR_MAPPED). */
#include <errno.h>

#include "daemon.h"
#include "uverbs/objects.h"

/* Limit of the wait for peers that copy to pages which go: the time of a large copy. */
#define GONE_TIME (100 * NSEC_PER_MSEC)

/* The next region of this client that overlaps a range, from handle *i of the context on. */
static struct uv_mr *next_region(const struct uctx *ctx, u32 *i, const struct client *client,
				 u64 start, u64 end)
{
	while (*i < ctx->capacity) {
		struct uv_object *obj = ctx->object[(*i)++];
		struct uv_mr *mr;

		if (!obj || obj->class->type != UVERBS_OBJECT_MR)
			continue;
		mr = UV_CAST(struct uv_mr, obj);
		if (mr->params.kind == NIC_MR_REGION && mr->params.space == client->space &&
		    mr->params.addr < end &&
		    (mr->params.length > ~mr->params.addr ||
		     mr->params.addr + mr->params.length > start))
			return mr;
	}
	return NULL;
}

/* Does a region of this client overlap the range? */
static bool has_region(const struct device *device, const struct client *client, u64 start, u64 end)
{
	const struct uctx *ctx;
	u32 i;

	for (ctx = device->alloc->contexts; ctx; ctx = ctx->next) {
		i = 0;
		if (next_region(ctx, &i, client, start, end))
			return true;
	}
	return false;
}

/*
 * Regions that use pages of this range are not mapped any more. Returns true if there are any:
 * operations under way may still use the pages until a grace period is over.
 */
static bool unmap_regions(struct device *device, const struct client *client, u64 start, u64 end)
{
	const struct uctx *ctx;
	struct uv_mr *mr;
	bool found = false;
	u32 i;

	for (ctx = device->alloc->contexts; ctx; ctx = ctx->next)
		for (i = 0; (mr = next_region(ctx, &i, client, start, end));) {
			mr->params.flags &= (u8)~NIC_MR_MAPPED;
			found |= nic_fetch_and(&device->nic.mr[mr->index].flags,
					       (u8)~NIC_MR_MAPPED) &
				 NIC_MR_MAPPED;
		}
	return found;
}

static int begin_move(struct client *client, u64 start, u64 length)
{
	/* Peers write to unmapped regions by other ways, and their writes would be lost. */
	for (u32 i = 0; i < client->daemon->ndevices; i++)
		if (has_region(&client->daemon->device[i]->device, client, start, start + length))
			return -EBUSY;
	return client_map_begin(client, start, length);
}

static bool grace_is_over(const struct daemon *daemon, const struct client_map_wait *wait)
{
	for (u32 i = 0; i < daemon->ndevices; i++)
		if (!nic_grace_over(&daemon->device[i]->device.nic, wait->ticket[i], NIC_NONE))
			return false;
	return true;
}

/*
 * Peers that read a region's flags before may still copy to the pages. A stopped peer would delay
 * the process without limit, so the wait is bounded. A late copy then changes pages of the file
 * that no process uses.
 */
static enum call_outcome unmap(struct client *client, u64 start, u64 length)
{
	struct client_map_wait *wait = client_map_gone(client, start, length);
	struct daemon *daemon = client->daemon;
	bool used = false;

	if (!wait)
		return CALL_DONE;
	if (!wait->active) {
		for (u32 i = 0; i < daemon->ndevices; i++)
			used |= unmap_regions(&daemon->device[i]->device, client, start,
					      start + length);
		if (!used)
			return CALL_DONE;
		wait->active = true;
		wait->deadline = plat_clock() + GONE_TIME;
		for (u32 i = 0; i < daemon->ndevices; i++)
			wait->ticket[i] = nic_grace_begin(&daemon->device[i]->device.nic);
	}
	if (!grace_is_over(daemon, wait) && plat_clock() < wait->deadline)
		return CALL_PARK;
	wait->active = false;
	return CALL_DONE;
}

enum call_outcome uverbs_map_call(struct client *client, const struct vnet_msg_map *call,
				  int *error)
{
	u64 start = call->start, length = call->length;

	*error = 0;
	if (start + length < start)
		*error = -EINVAL;
	else if (call->op == VNET_MAP_BEGIN)
		*error = begin_move(client, start, length);
	else if (call->op == VNET_MAP_DONE)
		*error = client_map_done(client, start, length);
	else if (call->op == VNET_MAP_REFUSED)
		*error = client_map_refused(client, start, length, call->why);
	else if (call->op == VNET_MAP_GONE)
		return unmap(client, start, length);
	else
		*error = -EINVAL;
	return CALL_DONE;
}

void uv_mr_set_mapped(const struct uv_request *req, struct nic_mr_params *params)
{
	params->flags &= (u8)~NIC_MR_MAPPED;
	if (params->kind == NIC_MR_REGION && !(params->access & NIC_ACCESS_ON_DEMAND) &&
	    !params->flags && client_maps(req->client, params->addr, params->length))
		params->flags |= NIC_MR_MAPPED;
}
