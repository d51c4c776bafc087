/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The ioctl interface: objects have methods, methods have attributes. Tables in
 * methods.c say which; the parser in ioctl.c applies them.
 */
#ifndef UVERBS_IOCTL_H
#define UVERBS_IOCTL_H

#include "uverbs.h"

enum uv_attr_type {
	/* Bytes from the process; up to eight stand in the attribute itself. */
	UV_ATTR_IN,
	/* Room for bytes to the process. */
	UV_ATTR_OUT,
	/* An object by its handle. */
	UV_ATTR_HANDLE,
	/* A completion channel or async event file by its descriptor. */
	UV_ATTR_FD,
};

enum uv_attr_access {
	/* Handles and descriptors: look it up, or it is made by the method. */
	UV_ATTR_READ,
	UV_ATTR_NEW,
	/* Look it up to destroy it. */
	UV_ATTR_DESTROY,
};

struct uv_attr_spec {
	u16 id;
	u8 type;
	u8 access;
	bool mandatory;
	/* May be longer than max_length if the rest is zero. */
	bool zero_tail;
	/* Handles and descriptors: enum uverbs_default_objects */
	u16 object;
	u16 min_length;
	u16 max_length;
};

struct uv_method {
	u16 object;
	u16 id;
	u16 attrs;
	/* Has UVERBS_ATTR_UHW_IN and _OUT: what provider and driver exchange. */
	bool driver_part;
	const struct uv_attr_spec *attr;
	int (*handler)(struct uv_request *req);
};

/* -- methods.c */

/* NULL: this device has no such object, or the object no such method. */
const struct uv_method *uv_method_find(u16 object, u16 id);
bool uv_method_has_object(u64 object);

/* -- ioctl.c: attributes of the request under way, by id */

bool uv_attr_present(const struct uv_request *req, u16 id);
/* Length of an attribute; 0 where it is absent. */
u32 uv_attr_length(const struct uv_request *req, u16 id);
/* Copy a value: what the process did not send is zero. -ENOENT: absent. */
int uv_attr_get(struct uv_request *req, u16 id, void *dst, size_t size);
/* The whole value in new memory, NULL for none; the caller frees it on errors too. */
int uv_attr_copy(struct uv_request *req, u16 id, u8 **bytes, u32 *length);
/* A constant of 64 bits that must not be above max. */
int uv_attr_const(struct uv_request *req, u16 id, u64 max, u64 *value);
/* Flags of 32 or 64 bits; absent means none. -EINVAL for others than these. */
int uv_attr_flags(struct uv_request *req, u16 id, u64 allowed, u32 *flags);
/* NULL where it is absent. */
struct uv_object *uv_attr_object(const struct uv_request *req, u16 id);
/*
 * Write a value, cut to the process' room, and mark it as written. Absent is
 * all right. _or_zero: room beyond it is filled with zeros.
 */
int uv_attr_put(struct uv_request *req, u16 id, const void *src, size_t size);
int uv_attr_put_or_zero(struct uv_request *req, u16 id, const void *src, size_t size);
/* Mark as written what was written by other means. */
int uv_attr_written(struct uv_request *req, u16 id);
/* Tell the handle of a new object. */
int uv_attr_put_handle(struct uv_request *req, u16 id, u32 handle);
/* Where an attribute's value stands in the process' memory. */
u64 uv_attr_data_addr(const struct uv_request *req, u16 id);
/* Address that an attribute of type UV_ATTR_OUT gives; 0 where it is absent. */
u64 uv_attr_out_addr(const struct uv_request *req, u16 id);
/* uv_respond() has written the response of a write command inside an ioctl. */
int uv_attr_responded(struct uv_request *req);

/* -- invoke.c: write commands inside an ioctl */
int uv_ioctl_invoke_write(struct uv_request *req);

#endif /* UVERBS_IOCTL_H */
