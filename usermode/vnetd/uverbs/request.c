// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Decodes requests, encodes responses, and completes commands. Lengths may differ from those
 * known here.
 */
#include <errno.h>
#include <linux/capability.h>
#include <string.h>

#include "ioctl.h"
#include "process.h"
#include "objects.h"

static bool all_zero(const u8 *bytes, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
		if (bytes[i])
			return false;
	return true;
}

/* Copies a request, zero-padded. Returns false if bytes beyond `size` are not zero. */
static bool copy_in(void *dst, size_t size, const u8 *src, size_t length)
{
	size_t known = length < size ? length : size;

	memset(dst, 0, size);
	if (known)
		memcpy(dst, src, known);
	return length == known || all_zero(src + known, length - known);
}

int uv_get(struct uv_request *req, void *dst, size_t size)
{
	return copy_in(dst, size, req->in, req->in_length) ? 0 : -EOPNOTSUPP;
}

int uv_get_driver(struct uv_request *req, void *dst, size_t size)
{
	return copy_in(dst, size, req->driver_in, req->driver_in_length) ? 0 : -EINVAL;
}

int uv_clear_user(struct uv_request *req, u64 addr, u64 length)
{
	static const u8 zeros[256];
	u64 piece;
	int err;

	for (; length; addr += piece, length -= piece) {
		piece = length < sizeof(zeros) ? length : sizeof(zeros);
		err = user_write(req->client, addr, zeros, piece);
		if (err)
			return err;
	}
	return 0;
}

int uv_respond(struct uv_request *req, const void *src, size_t size)
{
	size_t written = size < req->out_length ? size : req->out_length;
	int err = 0;

	if (written)
		err = user_write(req->client, req->out, src, written);
	if (!err && req->out_length > size)
		err = uv_clear_user(req, req->out + size, req->out_length - size);
	if (!err)
		err = uv_attr_responded(req);
	return err;
}

u32 uv_response_length(const struct uv_request *req, size_t size)
{
	return size < req->out_length ? (u32)size : req->out_length;
}

int uv_respond_driver(struct uv_request *req, const void *src, size_t size)
{
	size_t written = size < req->driver_out_length ? size : req->driver_out_length;

	return written ? user_write(req->client, req->driver_out, src, written) : 0;
}

int uv_result(enum nic_result result)
{
	switch (result) {
	case NIC_OK:
		return 0;
	case NIC_BUSY:
		return UV_PARK;
	case NIC_EINUSE:
		return -EBUSY;
	case NIC_ENOMEM:
		return -ENOMEM;
	case NIC_EOPNOTSUPP:
		return -EOPNOTSUPP;
	case NIC_EAGAIN:
		return -EAGAIN;
	case NIC_EINVAL:
		break;
	}
	return -EINVAL;
}

int uv_check_raw(const struct uv_request *req)
{
	return uv_process_capable(req->client, CAP_NET_RAW) ? 0 : -EPERM;
}

int uv_created(struct device *device, enum nic_result result)
{
	if (result != NIC_EINUSE)
		return uv_result(result);
	nic_store(&device->nic.hdr->fatal, 1);
	return -EIO;
}

static int start_created(struct uv_request *req, struct uv_object *obj)
{
	int err = 0;

	if (obj->class->start)
		err = obj->class->start(req, obj);
	if (!err)
		obj->live = true;
	return err;
}

int uv_finish(struct uv_request *req, int err)
{
	struct uv_object *obj = req->created;

	if (obj && !err)
		err = start_created(req, obj);
	if (obj && err)
		uv_object_free(obj);
	if (!err && req->opens)
		req->ctx->open = true;
	return err;
}

enum call_outcome uv_answer(struct call *call, int err, s32 value)
{
	if (err == UV_PARK)
		return CALL_PARK;
	if (err) {
		call->result.error = (u32)-err;
		call->result.ucontext_addr = 0;
	} else {
		call->result.value = value;
	}
	return CALL_DONE;
}
