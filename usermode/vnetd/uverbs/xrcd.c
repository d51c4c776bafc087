// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * XRC domains. Contexts, also of different processes, share a domain by opening it with
 * descriptors of the same file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ioctl.h"
#include "process.h"
#include "objects.h"

/* No file: a private domain. */
#define NO_FILE ((u32)-1)

static void domain_put(struct device *device, struct uv_domain *domain)
{
	struct uv_domain **place;

	if (--domain->uses)
		return;
	for (place = &device->alloc->domains; *place != domain;)
		place = &(*place)->next;
	*place = domain->next;
	uv_number_put(&device->alloc->xrcd, domain->number);
	if (domain->file >= 0)
		close(domain->file);
	free(domain);
}

static void xrcd_release(struct uv_object *obj)
{
	domain_put(obj->device, UV_CAST(struct uv_xrcd, obj)->domain);
}

static const struct uv_class xrcd_class = {
	.type = UVERBS_OBJECT_XRCD,
	.size = sizeof(struct uv_xrcd),
	.release = xrcd_release,
};

/* Creates a domain; takes `file` (or -1) if it succeeds. */
static struct uv_domain *domain_new(struct device *device, int file, const struct stat *st)
{
	struct uv_domain *domain;

	domain = calloc(1, sizeof(*domain));
	if (!domain)
		return NULL;
	domain->number = uv_number_get(&device->alloc->xrcd, domain);
	if (domain->number == NIC_NONE) {
		free(domain);
		return NULL;
	}
	domain->file = file;
	if (file >= 0) {
		domain->dev = st->st_dev;
		domain->inode = st->st_ino;
	}
	domain->next = device->alloc->domains;
	device->alloc->domains = domain;
	return domain;
}

static struct uv_domain *domain_of_file(const struct device *device, const struct stat *st)
{
	struct uv_domain *domain;

	for (domain = device->alloc->domains; domain; domain = domain->next)
		if (domain->file >= 0 && domain->dev == st->st_dev && domain->inode == st->st_ino)
			return domain;
	return NULL;
}

/* Opens the domain of a file. The domain keeps a descriptor, so that the inode is not reused. */
static int domain_open(struct uv_request *req, s32 fd, u32 oflags, struct uv_domain **out)
{
	struct uv_domain *domain;
	struct stat st;
	int err, file;

	err = uv_process_file(req->call, fd, &file);
	if (err)
		return err;
	if (fstat(file, &st) < 0) {
		close(file);
		return -EBADF;
	}
	domain = domain_of_file(req->device, &st);
	if (!domain && !(oflags & O_CREAT)) {
		close(file);
		return -EAGAIN;
	}
	if (domain) {
		close(file);
		*out = domain;
		return oflags & O_EXCL ? -EINVAL : 0;
	}
	*out = domain_new(req->device, file, &st);
	if (*out)
		return 0;
	close(file);
	return -ENOMEM;
}

static int domain_get(struct uv_request *req, const struct ib_uverbs_open_xrcd *cmd,
		      struct uv_domain **out)
{
	if (cmd->fd != NO_FILE)
		return domain_open(req, (s32)cmd->fd, cmd->oflags, out);
	*out = domain_new(req->device, -1, NULL);
	return *out ? 0 : -ENOMEM;
}

int uv_open_xrcd(struct uv_request *req)
{
	struct ib_uverbs_open_xrcd_resp resp;
	struct ib_uverbs_open_xrcd cmd;
	struct uv_object *obj;
	struct uv_domain *domain;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (err)
		return err;
	err = uv_object_new(req, &xrcd_class, &obj);
	if (err)
		return err;
	err = domain_get(req, &cmd, &domain);
	if (err) {
		uv_object_drop(obj);
		return err;
	}
	domain->uses++;
	UV_CAST(struct uv_xrcd, obj)->domain = domain;
	req->created = obj;
	resp.xrcd_handle = obj->handle;
	return uv_respond(req, &resp, sizeof(resp));
}

int uv_close_xrcd(struct uv_request *req)
{
	struct ib_uverbs_close_xrcd cmd;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	return err ? err : uv_object_destroy(req->ctx, UVERBS_OBJECT_XRCD, cmd.xrcd_handle);
}

int uv_ioctl_destroy_xrcd(struct uv_request *req)
{
	struct uv_object *obj = uv_attr_object(req, UVERBS_ATTR_DESTROY_XRCD_HANDLE);

	return uv_object_destroy(req->ctx, UVERBS_OBJECT_XRCD, obj->handle);
}
