/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The ioctl interface: objects have methods, and methods have attributes. The tables are in
 * methods.c, the parser is in ioctl.c.
 */
#ifndef UVERBS_IOCTL_H
#define UVERBS_IOCTL_H

#include "objects.h"

enum uv_attr_type {
	/* Bytes from the process; up to eight are stored in the attribute itself. */
	UV_ATTR_IN,
	/* Buffer for bytes to the process. */
	UV_ATTR_OUT,
	/* An object by its handle. */
	UV_ATTR_HANDLE,
	/* A completion channel or async event file by its descriptor. */
	UV_ATTR_FD,
};

enum uv_attr_access {
	/* Handles and descriptors: find the object, or the method creates it. */
	UV_ATTR_READ,
	UV_ATTR_NEW,
	/* Find the object in order to destroy it. */
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
	/* Has the attributes UVERBS_ATTR_UHW_IN and _OUT for driver-specific data. */
	bool driver_part;
	const struct uv_attr_spec *attr;
	int (*handler)(struct uv_request *req);
};

/* -- methods.c */

/* Returns NULL if the device has no such object or method. */
const struct uv_method *uv_method_find(u16 object, u16 id);
bool uv_method_has_object(u64 object);

/* -- ioctl.c: attributes of the current request, by id */

bool uv_attr_present(const struct uv_request *req, u16 id);
/* Length of an attribute; 0 if absent. */
u32 uv_attr_length(const struct uv_request *req, u16 id);
/* Copies a value, zero-padded. -ENOENT: absent. */
int uv_attr_get(struct uv_request *req, u16 id, void *dst, size_t size);
/* Copies a value into new memory (NULL if empty), which the caller frees, also on errors. */
int uv_attr_copy(struct uv_request *req, u16 id, u8 **bytes, u32 *length);
/* Reads a 64-bit constant, which must not exceed max. */
int uv_attr_const(struct uv_request *req, u16 id, u64 max, u64 *value);
/* Reads 32 or 64 bits of flags; 0 if absent. -EINVAL: flags that are not allowed. */
int uv_attr_flags(struct uv_request *req, u16 id, u64 allowed, u32 *flags);
/* The object of a handle or descriptor; NULL if absent. */
struct uv_object *uv_attr_object(const struct uv_request *req, u16 id);
/*
 * Writes a value, truncated to the process' buffer, and marks it as written. Succeeds if the
 * attribute is absent. _or_zero: fills the rest of the buffer with zeros.
 */
int uv_attr_put(struct uv_request *req, u16 id, const void *src, size_t size);
int uv_attr_put_or_zero(struct uv_request *req, u16 id, const void *src, size_t size);
/* Marks an attribute as written that was written by other means. */
int uv_attr_written(struct uv_request *req, u16 id);
/* Writes the handle of a new object. */
int uv_attr_put_handle(struct uv_request *req, u16 id, u32 handle);
/* Address of an attribute's value in the process' memory. */
u64 uv_attr_data_addr(const struct uv_request *req, u16 id);
/* Buffer address of an attribute of type UV_ATTR_OUT; 0 if absent. */
u64 uv_attr_out_addr(const struct uv_request *req, u16 id);
/* Called by uv_respond(): marks the response of INVOKE_WRITE as written. */
int uv_attr_responded(struct uv_request *req);

/* -- invoke.c: write commands inside an ioctl */
int uv_ioctl_invoke_write(struct uv_request *req);

#endif /* UVERBS_IOCTL_H */
