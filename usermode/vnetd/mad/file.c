// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Open umad files and their registered agents. Received MADs are sent to the file's socket, from
 * which the program reads them.
 */
#include "inside.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "uverbs/objects.h"

/* Shortest MAD that can be written: up to the RMPP header. */
#define SHORTEST 36u
#define MOST_METHODS 128u
#define CLASS_VERSIONS 8u
/* Offset of the OUI in MADs of vendor classes. */
#define VENDOR_OUI 37u

static struct umad_file *files;

/* -------------------------------------------------------------------- agents */

/* Vendor classes with an OUI. */
static bool is_vendor_class(u8 class)
{
	return class >= 0x30 && class <= 0x4f;
}

static bool overlaps(const struct umad_agent *a, const struct umad_agent *b)
{
	return a->used && a->class == b->class && a->version == b->version && a->oui == b->oui &&
	       (a->methods[0] & b->methods[0] || a->methods[1] & b->methods[1]);
}

/* Whether another agent, or the connection manager, receives some of these methods already. */
static bool is_taken(const struct device *device, const struct umad_agent *wanted)
{
	if (wanted->class == MAD_CLASS_CM && (wanted->methods[0] || wanted->methods[1]))
		return true;
	for (const struct umad_file *file = files; file; file = file->next)
		for (u32 i = 0; file->file->device == device && i < UMAD_AGENTS; i++)
			if (overlaps(&file->agent[i], wanted))
				return true;
	return false;
}

static bool is_tid_high(u32 tid_high)
{
	for (const struct umad_file *file = files; file; file = file->next)
		for (u32 i = 0; i < UMAD_AGENTS; i++)
			if (file->agent[i].used && file->agent[i].tid_high == tid_high)
				return true;
	return false;
}

/* Draws the upper half of an agent's transaction ids: random, non-zero and unique. */
static bool choose_tid_high(u32 *tid_high)
{
	if (getrandom(tid_high, sizeof(*tid_high), GRND_NONBLOCK) != sizeof(*tid_high))
		return false;
	while (!*tid_high || is_tid_high(*tid_high))
		++*tid_high;
	return true;
}

static int register_agent(struct umad_file *file, const struct vnet_umad_ioctl *ioctl, u32 *id)
{
	struct umad_agent agent = {
		.used = true,
		.qpn = ioctl->qpn,
		.class = ioctl->mgmt_class,
		.version = ioctl->class_version,
		.methods = { ioctl->method_mask[0], ioctl->method_mask[1] },
		.oui = is_vendor_class(ioctl->mgmt_class) ? ioctl->oui & 0xffffff : 0,
	};

	if (agent.qpn > 1 || agent.version >= CLASS_VERSIONS || ioctl->rmpp_version > 1 ||
	    (agent.class && mad_is_subnet(agent.class) != !agent.qpn) ||
	    (is_vendor_class(agent.class) && !agent.oui))
		return -EINVAL;
	if (!agent.class)
		memset(agent.methods, 0, sizeof(agent.methods));
	if (is_taken(file->file->device, &agent))
		return -EINVAL;
	for (u32 i = 0; i < UMAD_AGENTS; i++) {
		if (file->agent[i].used)
			continue;
		if (!choose_tid_high(&agent.tid_high))
			return -EAGAIN;
		file->agent[i] = agent;
		if (!file->registered && ioctl->with_pkeys)
			file->pkeys = true;
		file->registered = true;
		*id = i;
		return 0;
	}
	return -ENOMEM;
}

static int unregister_agent(struct umad_file *file, u32 id)
{
	if (id >= UMAD_AGENTS || !file->agent[id].used)
		return -EINVAL;
	umad_forget(file, id);
	file->agent[id].used = false;
	return 0;
}

/* Allowed only before an agent is registered, because it changes the size of headers. */
static int enable_pkeys(struct umad_file *file)
{
	if (file->registered)
		return -EINVAL;
	file->pkeys = true;
	return 0;
}

static int run_ioctl(struct call *call, u32 *id)
{
	struct umad_file *file = call->file->priv;
	struct vnet_umad_ioctl ioctl;

	if (call->length != sizeof(ioctl))
		return -EINVAL;
	memcpy(&ioctl, call->data, sizeof(ioctl));
	switch (ioctl.op) {
	case VNET_UMAD_REGISTER:
		return register_agent(file, &ioctl, id);
	case VNET_UMAD_UNREGISTER:
		return unregister_agent(file, ioctl.id);
	case VNET_UMAD_ENABLE_PKEYS:
		return enable_pkeys(file);
	default:
		return -ENOTTY;
	}
}

enum call_outcome umad_ioctl(struct call *call)
{
	u32 id = 0;
	int error = run_ioctl(call, &id);

	return uv_answer(call, error, (s32)id);
}

/* ---------------------------------------------------------- sending and receiving */

static int write_one(struct call *call)
{
	struct umad_file *file = call->file->priv;
	u32 head = umad_header_size(file);
	struct ib_user_mad_hdr hdr = { 0 };
	struct mad mad = { 0 };

	if (call->length < head + SHORTEST || call->length > head + MAD_SIZE)
		return -EINVAL;
	memcpy(&hdr, call->data, head);
	memcpy(&mad, call->data + head, call->length - head);
	if (hdr.id >= UMAD_AGENTS || !file->agent[hdr.id].used)
		return -EINVAL;
	return umad_send(file, &hdr, &mad);
}

enum call_outcome umad_write(struct call *call)
{
	return uv_answer(call, write_one(call), (s32)call->length);
}

struct umad_file *umad_find(const struct device *device, const struct mad *mad, u32 *agent)
{
	const u8 *byte = mad->byte;
	u32 method = byte[MAD_METHOD] % MOST_METHODS;

	for (struct umad_file *file = files; file; file = file->next) {
		for (u32 i = 0; file->file->device == device && i < UMAD_AGENTS; i++) {
			const struct umad_agent *a = &file->agent[i];

			if (!a->used || !a->class || a->class != byte[MAD_CLASS] ||
			    a->version != byte[MAD_CLASS_VERSION] ||
			    (a->oui && a->oui != mad_get24(mad, VENDOR_OUI)) ||
			    !(a->methods[method / 64] >> method % 64 & 1))
				continue;
			*agent = i;
			return file;
		}
	}
	return NULL;
}

bool umad_give(struct umad_file *file, const struct ib_user_mad_hdr *hdr, const struct mad *mad,
	       u32 length)
{
	u8 record[sizeof(*hdr) + sizeof(*mad)];
	u32 head = umad_header_size(file);

	memcpy(record, hdr, head);
	memcpy(record + head, mad, length);
	return send(file->file->sock, record, head + length, MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
}

/* ---------------------------------------------------------------------- life */

int umad_file_open(struct file *file)
{
	struct umad_file *made = calloc(1, sizeof(*made));

	if (!made)
		return -ENOMEM;
	made->file = file;
	made->next = files;
	files = made;
	file->priv = made;
	return 0;
}

void umad_file_close(struct file *file)
{
	struct umad_file *closed = file->priv, **place = &files;

	if (!closed)
		return;
	umad_forget(closed, UMAD_AGENTS);
	while (*place != closed)
		place = &(*place)->next;
	*place = closed->next;
	free(closed);
	file->priv = NULL;
}
