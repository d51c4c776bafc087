// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Objects of a context: handles, look-up, and destruction in the order of dependencies. */
#include <errno.h>
#include <stdlib.h>

#include "objects.h"

#define FIRST_CAPACITY 64
/* Far above the sizes of the device's tables. */
#define MAX_CAPACITY (1u << 22)

static int handles_grow(struct uctx *ctx)
{
	u32 capacity = ctx->capacity ? ctx->capacity * 2 : FIRST_CAPACITY;
	struct uv_object **object;
	u32 i;

	if (capacity > MAX_CAPACITY)
		return -ENOMEM;
	object = realloc(ctx->object, capacity * sizeof(struct uv_object *));
	if (!object)
		return -ENOMEM;
	for (i = ctx->capacity; i < capacity; i++)
		object[i] = NULL;
	ctx->object = object;
	ctx->capacity = capacity;
	return 0;
}

static int handle_get(struct uctx *ctx, struct uv_object *obj)
{
	u32 handle = ctx->lowest_free;
	int err;

	while (handle < ctx->capacity && ctx->object[handle])
		handle++;
	if (handle == ctx->capacity) {
		err = handles_grow(ctx);
		if (err)
			return err;
	}
	ctx->object[handle] = obj;
	ctx->lowest_free = handle + 1;
	obj->handle = handle;
	return 0;
}

static void handle_put(struct uctx *ctx, u32 handle)
{
	ctx->object[handle] = NULL;
	if (handle < ctx->lowest_free)
		ctx->lowest_free = handle;
}

int uv_object_new(struct uv_request *req, const struct uv_class *class, struct uv_object **out)
{
	struct uctx *ctx = req->ctx;
	struct uv_object *obj;
	int err;

	if (!ctx->open && !req->opens)
		return -EINVAL;
	obj = calloc(1, class->size);
	if (!obj)
		return -ENOMEM;
	obj->class = class;
	obj->ctx = ctx;
	obj->device = req->device;
	if (!class->is_file) {
		err = handle_get(ctx, obj);
		if (err) {
			free(obj);
			return err;
		}
		obj->client = client_get(req->client);
	}
	*out = obj;
	return 0;
}

void uv_object_drop(struct uv_object *obj)
{
	if (!obj->class->is_file) {
		handle_put(obj->ctx, obj->handle);
		client_put(obj->client);
	}
	free(obj);
}

int uv_object_find_dying(struct uctx *ctx, u16 type, u64 handle, struct uv_object **out)
{
	struct uv_object *obj;

	obj = handle < ctx->capacity ? ctx->object[handle] : NULL;
	if (!obj || !obj->live)
		return -ENOENT;
	if (obj->class->type != type)
		return -EINVAL;
	*out = obj;
	return 0;
}

int uv_object_find(struct uctx *ctx, u16 type, u64 handle, struct uv_object **out)
{
	int err;

	err = uv_object_find_dying(ctx, type, handle, out);
	if (err)
		return err;
	return (*out)->dying ? -EBUSY : 0;
}

struct uv_object *uv_object_read(struct uv_request *req, u16 type, u32 handle)
{
	struct uv_object *obj;

	return uv_object_find(req->ctx, type, handle, &obj) ? NULL : obj;
}

int uv_object_stop(struct uv_object *obj)
{
	int err;

	if (obj->uses)
		return -EBUSY;
	if (!obj->class->stop)
		return 0;
	err = obj->class->stop(obj);
	if (err == UV_PARK)
		obj->dying = true;
	return err;
}

void uv_object_free(struct uv_object *obj)
{
	obj->class->release(obj);
	uv_object_drop(obj);
}

int uv_object_end(struct uctx *ctx, u16 type, u64 handle, u32 *events_reported)
{
	struct uv_object *obj;
	int err;

	err = uv_object_find_dying(ctx, type, handle, &obj);
	if (!err && obj->class->is_held && obj->class->is_held(obj))
		err = -EBUSY;
	if (!err)
		err = uv_object_stop(obj);
	if (err)
		return err;
	*events_reported = obj->events_reported;
	uv_object_free(obj);
	return 0;
}

int uv_object_destroy(struct uctx *ctx, u16 type, u64 handle)
{
	u32 nobody_asks;

	return uv_object_end(ctx, type, handle, &nobody_asks);
}

static int destroy_all_of(struct uctx *ctx, u16 type)
{
	struct uv_object *obj;
	u32 i;

	for (i = 0; i < ctx->capacity; i++) {
		obj = ctx->object[i];
		if (!obj || obj->class->type != type)
			continue;
		if (uv_object_stop(obj) == UV_PARK)
			return UV_PARK;
		ctx->object[i] = NULL;
		uv_object_free(obj);
	}
	return 0;
}

int uv_object_destroy_all(struct uctx *ctx)
{
	/* Objects are destroyed before those that they refer to. */
	static const u16 order[] = {
		UVERBS_OBJECT_FLOW,        UVERBS_OBJECT_COUNTERS, UVERBS_OBJECT_QP,
		UVERBS_OBJECT_RWQ_IND_TBL, UVERBS_OBJECT_WQ,       UVERBS_OBJECT_MW,
		UVERBS_OBJECT_MR,          UVERBS_OBJECT_SRQ,      UVERBS_OBJECT_CQ,
		UVERBS_OBJECT_AH,          UVERBS_OBJECT_PD,       UVERBS_OBJECT_DM,
		UVERBS_OBJECT_XRCD,
	};
	size_t i;

	for (i = 0; i < UV_ARRAY_SIZE(order); i++)
		if (destroy_all_of(ctx, order[i]))
			return UV_PARK;
	free(ctx->object);
	ctx->object = NULL;
	ctx->capacity = 0;
	ctx->lowest_free = 0;
	return 0;
}

u32 uv_object_list(const struct uctx *ctx, u16 type, u32 *handles, u32 max)
{
	u32 i, count = 0;

	for (i = 0; i < ctx->capacity && count < max; i++)
		if (ctx->object[i] && ctx->object[i]->live && ctx->object[i]->class->type == type)
			handles[count++] = i;
	return count;
}
