// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The ioctl interface: parses attributes by the kernel's rules, and passes them to handlers. */
#include <errno.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdlib.h>
#include <string.h>

#include "ioctl.h"

/* Limit of the kernel: a page of header and attributes. */
#define MAX_IOCTL_LENGTH 4096

/* ----------------------------------------------------------------- values */

/* Values of up to eight bytes are stored in the attribute itself. */
static bool is_inline(const struct uv_attr *attr)
{
	return attr->length <= sizeof(attr->data);
}

static const struct uv_attr_spec *find_spec(const struct uv_method *method, u16 id)
{
	u16 i;

	for (i = 0; i < method->attrs; i++)
		if (method->attr[i].id == id)
			return &method->attr[i];
	return NULL;
}

static const struct uv_attr *find_attr(const struct uv_request *req, u16 id)
{
	const struct uv_attr_spec *spec = find_spec(req->method, id);
	const struct uv_attr *attr;

	if (!spec)
		return NULL;
	attr = &req->attr[spec - req->method->attr];
	return attr->present ? attr : NULL;
}

/* Address of an attribute in the process' memory. */
static u64 attr_addr(const struct uv_request *req, u16 position)
{
	return req->call->user_addr + offsetof(struct ib_uverbs_ioctl_hdr, attrs) +
	       position * sizeof(struct ib_uverbs_attr);
}

bool uv_attr_present(const struct uv_request *req, u16 id)
{
	return find_attr(req, id);
}

u32 uv_attr_length(const struct uv_request *req, u16 id)
{
	const struct uv_attr *attr = find_attr(req, id);

	return attr ? attr->length : 0;
}

int uv_attr_get(struct uv_request *req, u16 id, void *dst, size_t size)
{
	const struct uv_attr *attr = find_attr(req, id);
	size_t known;

	if (!attr)
		return -ENOENT;
	memset(dst, 0, size);
	known = attr->length < size ? attr->length : size;
	if (!is_inline(attr))
		return user_read(req->client, dst, attr->data, known);
	memcpy(dst, &attr->data, known);
	return 0;
}

int uv_attr_const(struct uv_request *req, u16 id, u64 max, u64 *value)
{
	int err;

	err = uv_attr_get(req, id, value, sizeof(*value));
	if (err)
		return err;
	return *value > max ? -EINVAL : 0;
}

int uv_attr_flags(struct uv_request *req, u16 id, u64 allowed, u32 *flags)
{
	const struct uv_attr *attr = find_attr(req, id);
	u64 value = 0;

	*flags = 0;
	if (!attr)
		return 0;
	if (attr->length != sizeof(u32) && attr->length != sizeof(u64))
		return -EINVAL;
	memcpy(&value, &attr->data, attr->length);
	if (value & ~allowed)
		return -EINVAL;
	*flags = (u32)value;
	return 0;
}

struct uv_object *uv_attr_object(const struct uv_request *req, u16 id)
{
	const struct uv_attr *attr = find_attr(req, id);

	return attr ? attr->object : NULL;
}

u64 uv_attr_data_addr(const struct uv_request *req, u16 id)
{
	const struct uv_attr *attr = find_attr(req, id);

	return attr_addr(req, attr->position) + offsetof(struct ib_uverbs_attr, data);
}

u64 uv_attr_out_addr(const struct uv_request *req, u16 id)
{
	const struct uv_attr *attr = find_attr(req, id);

	return attr ? attr->data : 0;
}

int uv_attr_written(struct uv_request *req, u16 id)
{
	const struct uv_attr *attr = find_attr(req, id);
	u16 flags;

	if (!attr)
		return 0;
	flags = attr->flags | UVERBS_ATTR_F_VALID_OUTPUT;
	return user_write(req->client,
			  attr_addr(req, attr->position) + offsetof(struct ib_uverbs_attr, flags),
			  &flags, sizeof(flags));
}

int uv_attr_put(struct uv_request *req, u16 id, const void *src, size_t size)
{
	const struct uv_attr *attr = find_attr(req, id);
	size_t written;
	int err;

	if (!attr)
		return 0;
	written = attr->length < size ? attr->length : size;
	err = written ? user_write(req->client, attr->data, src, written) : 0;
	return err ? err : uv_attr_written(req, id);
}

int uv_attr_put_or_zero(struct uv_request *req, u16 id, const void *src, size_t size)
{
	const struct uv_attr *attr = find_attr(req, id);
	int err;

	if (attr && attr->length > size) {
		err = uv_clear_user(req, attr->data + size, attr->length - size);
		if (err)
			return err;
	}
	return uv_attr_put(req, id, src, size);
}

int uv_attr_put_handle(struct uv_request *req, u16 id, u32 handle)
{
	u64 value = handle;

	return user_write(req->client, uv_attr_data_addr(req, id), &value, sizeof(value));
}

int uv_attr_responded(struct uv_request *req)
{
	return req->method ? uv_attr_written(req, UVERBS_ATTR_CORE_OUT) : 0;
}

/* ---------------------------------------------------------------- parsing */

static bool user_is_zero(struct uv_request *req, u64 addr, u32 length)
{
	u8 bytes[256];
	u32 piece, i;

	for (; length; addr += piece, length -= piece) {
		piece = length < sizeof(bytes) ? length : (u32)sizeof(bytes);
		if (user_read(req->client, bytes, addr, piece))
			return false;
		for (i = 0; i < piece; i++)
			if (bytes[i])
				return false;
	}
	return true;
}

/* Whether the bytes beyond the known length are zero. */
static bool tail_is_zero(struct uv_request *req, const struct uv_attr *attr, u16 known)
{
	u64 unknown;

	if (!is_inline(attr))
		return user_is_zero(req, attr->data + known, attr->length - known);
	unknown = 0;
	memcpy(&unknown, (const u8 *)&attr->data + known, attr->length - known);
	return !unknown;
}

static int check_bytes(struct uv_request *req, const struct uv_attr_spec *spec,
		       const struct uv_attr *attr)
{
	if (spec->type == UV_ATTR_IN && spec->zero_tail && attr->length > spec->max_length &&
	    !tail_is_zero(req, attr, spec->max_length))
		return -EOPNOTSUPP;
	if (attr->length < spec->min_length)
		return -EINVAL;
	if (attr->length > spec->max_length && !spec->zero_tail)
		return -EINVAL;
	return 0;
}

static int find_file(struct uv_request *req, const struct uv_attr_spec *spec, struct uv_attr *attr)
{
	s64 fd = (s64)attr->data;

	if (fd != (int)fd)
		return -EINVAL;
	if (spec->object == UVERBS_OBJECT_COMP_CHANNEL)
		return uv_channel_find(req, fd, &attr->object);
	return uv_events_find(req, fd, &attr->object);
}

static int find_object(struct uv_request *req, const struct uv_attr_spec *spec,
		       struct uv_attr *attr)
{
	if (attr->length)
		return -EINVAL;
	if (spec->access == UV_ATTR_NEW)
		return 0;
	if (spec->type == UV_ATTR_FD)
		return find_file(req, spec, attr);
	if (!uv_method_has_object(spec->object))
		return -EINVAL;
	if (spec->access == UV_ATTR_DESTROY)
		return uv_object_find_dying(req->ctx, spec->object, attr->data, &attr->object);
	return uv_object_find(req->ctx, spec->object, attr->data, &attr->object);
}

static int parse_attr(struct uv_request *req, const struct ib_uverbs_attr *user, u16 position)
{
	const struct uv_attr_spec *spec = find_spec(req->method, user->attr_id);
	struct uv_attr *attr;
	int err;

	if (!spec)
		return user->flags & UVERBS_ATTR_F_MANDATORY ? -EPROTONOSUPPORT : 0;
	attr = &req->attr[spec - req->method->attr];
	if (attr->present)
		return -EINVAL;
	*attr = (struct uv_attr){
		.position = position,
		.flags = user->flags,
		.length = user->len,
		.data = user->data,
	};
	if (spec->type == UV_ATTR_IN || spec->type == UV_ATTR_OUT)
		err = check_bytes(req, spec, attr);
	else
		err = find_object(req, spec, attr);
	if (!err && user->attr_data.reserved)
		err = -EINVAL;
	attr->present = !err;
	return err;
}

/*
 * Brings all pages that the call reads or writes before it has an effect: those of the
 * attributes, whose flags are written, and those that they point to. Otherwise a call could park
 * after its effect, and be repeated.
 */
static int bring_attrs(const struct uv_request *req, const struct ib_uverbs_ioctl_hdr *hdr,
		       const u8 *bytes)
{
	const struct uv_attr_spec *spec;
	struct ib_uverbs_attr user;
	u16 i;

	if (user_bring(req->client, req->call->user_addr, hdr->length) == UV_PARK)
		return UV_PARK;
	for (i = 0; i < hdr->num_attrs; i++) {
		memcpy(&user, bytes + i * sizeof(user), sizeof(user));
		spec = find_spec(req->method, user.attr_id);
		if (!spec || (spec->type != UV_ATTR_IN && spec->type != UV_ATTR_OUT))
			continue;
		if (spec->type == UV_ATTR_IN && user.len <= sizeof(user.data))
			continue;
		if (user_bring(req->client, user.data, user.len) == UV_PARK)
			return UV_PARK;
	}
	return 0;
}

static int parse_attrs(struct uv_request *req, const struct ib_uverbs_ioctl_hdr *hdr,
		       const u8 *bytes)
{
	struct ib_uverbs_attr user;
	u16 i;
	int err;

	for (i = 0; i < hdr->num_attrs; i++) {
		memcpy(&user, bytes + i * sizeof(user), sizeof(user));
		err = parse_attr(req, &user, i);
		if (err)
			return err;
	}
	for (i = 0; i < req->method->attrs; i++)
		if (req->method->attr[i].mandatory && !req->attr[i].present)
			return -EINVAL;
	return 0;
}

static int check_header(const struct call *call, struct ib_uverbs_ioctl_hdr *hdr)
{
	if (call->length < sizeof(*hdr))
		return -EINVAL;
	memcpy(hdr, call->data, sizeof(*hdr));
	if (hdr->length > MAX_IOCTL_LENGTH || hdr->length != call->length ||
	    hdr->length != sizeof(*hdr) + hdr->num_attrs * sizeof(struct ib_uverbs_attr))
		return -EINVAL;
	if (hdr->reserved1 || hdr->reserved2)
		return -EPROTONOSUPPORT;
	if (hdr->driver_id != RDMA_DRIVER_UNKNOWN)
		return -EINVAL;
	return 0;
}

int uv_attr_copy(struct uv_request *req, u16 id, u8 **bytes, u32 *length)
{
	*bytes = NULL;
	*length = uv_attr_length(req, id);
	if (!*length)
		return 0;
	*bytes = malloc(*length);
	if (!*bytes)
		return -ENOMEM;
	return uv_attr_get(req, id, *bytes, *length);
}

static int run_with_driver_part(struct uv_request *req)
{
	u8 *in;
	int err;

	err = uv_attr_copy(req, UVERBS_ATTR_UHW_IN, &in, &req->driver_in_length);
	if (err)
		goto out;
	req->driver_in = in;
	req->driver_out_length = uv_attr_length(req, UVERBS_ATTR_UHW_OUT);
	req->driver_out = uv_attr_out_addr(req, UVERBS_ATTR_UHW_OUT);
	err = req->method->handler(req);
	if (!err)
		err = uv_attr_written(req, UVERBS_ATTR_UHW_OUT);
out:
	free(in);
	return err;
}

static int run_method(struct uv_request *req)
{
	int err;

	if (req->method->driver_part)
		err = run_with_driver_part(req);
	else
		err = req->method->handler(req);
	/*
	 * -EPROTONOSUPPORT means that the method does not exist, so a handler must not return it.
	 */
	return err == -EPROTONOSUPPORT ? -EINVAL : err;
}

static int run_ioctl(struct uv_request *req)
{
	struct ib_uverbs_ioctl_hdr hdr;
	int err;

	err = check_header(req->call, &hdr);
	if (err)
		return err;
	req->method = uv_method_find(hdr.object_id, hdr.method_id);
	if (!req->method)
		return -EPROTONOSUPPORT;
	err = bring_attrs(req, &hdr, req->call->data + sizeof(hdr));
	if (!err)
		err = parse_attrs(req, &hdr, req->call->data + sizeof(hdr));
	return err ? err : run_method(req);
}

enum call_outcome uverbs_ioctl(struct call *call)
{
	struct uv_request req = {
		.call = call,
		.ctx = call->file->priv,
		.device = call->file->device,
		.client = call->client,
	};

	if (call->file->kind != VNET_FILE_UVERBS)
		return uv_answer(call, -ENOTTY, 0);
	return uv_answer(call, uv_finish(&req, run_ioctl(&req)), 0);
}
