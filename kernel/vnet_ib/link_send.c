// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Frames that leave: gathered in a batch for as long as the firmware runs, and
 * given to the network in as few calls as can be. Frames of one length that
 * follow each other to one peer go as one datagram, which the network cuts.
 */
#include <linux/crc32c.h>
#include <linux/kthread.h>
#include <linux/udp.h>
#include <linux/vmalloc.h>
#include <net/udp.h>

#include "link.h"

/* What the network takes as one datagram to be cut: bytes. */
#define VNET_MOST_BYTES 65000
/* Where the network could not cut one, so many go without being tried. */
#define VNET_UNCUT 256
/* Frames begin at multiples of so many bytes. */
#define VNET_FRAME_ALIGN 64
/* What plat_frame() promises, and a trailer. */
#define VNET_FRAME_ROOM (VNET_WIRE_MAX_FRAME + sizeof(struct vnet_trailer))
/* Owner of batches that are left to the thread. */
#define VNET_LEFT 1ul

/* ------------------------------------------------------------------- batches */

int vnet_batches_make(struct vnet_link *link)
{
	u32 i, n = clamp_t(u32, 4 * num_possible_cpus(), 8, 64);

	link->batch = kcalloc(n, sizeof(*link->batch), GFP_KERNEL);
	if (!link->batch)
		return -ENOMEM;
	link->nbatch = n;
	for (i = 0; i < n; i++) {
		link->batch[i].arena = vmalloc(VNET_BATCH_SIZE + VNET_FRAME_ROOM);
		if (!link->batch[i].arena)
			return -ENOMEM;
	}
	return 0;
}

void vnet_batches_free(struct vnet_link *link)
{
	u32 i;

	for (i = 0; i < link->nbatch; i++)
		vfree(link->batch[i].arena);
	kfree(link->batch);
}

/*
 * Who is running: a task, wherever it runs; or what has interrupted one, and is
 * through with its frames before that goes on. Even, so that it is not VNET_LEFT.
 */
static unsigned long vnet_executor(void)
{
	if (in_task())
		return (unsigned long)current;
	return 2 + 4ul * smp_processor_id() + (in_hardirq() ? 2 : 0);
}

/* The last of its batches; NULL: it has none. */
static struct vnet_batch *vnet_batch_find(struct vnet_link *link, unsigned long owner)
{
	u32 i;

	if (!atomic_read(&link->busy))
		return NULL;
	for (i = 0; i < link->nbatch; i++) {
		if (READ_ONCE(link->batch[i].owner) == owner && link->batch[i].first)
			return &link->batch[i];
	}
	return NULL;
}

/* One more, after `last` if that is not NULL; NULL: there is none. */
static struct vnet_batch *vnet_batch_take(struct vnet_link *link, unsigned long owner,
					  struct vnet_batch *last)
{
	struct vnet_batch *batch;
	u32 i;

	for (i = 0; i < link->nbatch; i++) {
		batch = &link->batch[i];
		if (READ_ONCE(batch->owner) || cmpxchg_acquire(&batch->owner, 0, owner))
			continue;
		atomic_inc(&link->busy);
		batch->n = 0;
		batch->used = 0;
		batch->next = NULL;
		batch->first = last ? last->first : batch;
		if (last) {
			last->next = batch;
			last->first = NULL;
		}
		return batch;
	}
	return NULL;
}

/* Pairs with the acquire of who takes it next. */
static void vnet_batch_release(struct vnet_link *link, struct vnet_batch *batch)
{
	atomic_dec(&link->busy);
	smp_store_release(&batch->owner, 0);
}

static bool vnet_batch_full(const struct vnet_batch *batch)
{
	return batch->n == VNET_BATCH_FRAMES || batch->used > VNET_BATCH_SIZE;
}

/* ------------------------------------------------------------ to the network */

/* Without a key, frames stay on this machine. */
static bool vnet_may_leave(struct vnet_link *link, const struct vnet_port *port,
			   const union vnet_address *to)
{
	if (likely(READ_ONCE(link->keys)) || vnet_is_local(port, to))
		return true;
	nic_fetch_add(&link->counters.no_key, 1);
	return false;
}

/* How many frames from the first on can go as one datagram. */
static u32 vnet_count_alike(const struct vnet_batch *batch, u32 first, u32 most)
{
	u32 length = batch->frame[first].length;
	u32 n = 1, total = length;

	if (length > most)
		return 1;
	while (first + n < batch->n && n < UDP_MAX_SEGMENTS) {
		u32 next = batch->frame[first + n].length;

		total += next;
		if (next > length || total > VNET_MOST_BYTES ||
		    memcmp(&batch->frame[first + n].to, &batch->frame[first].to,
			   sizeof(union vnet_address)))
			break;
		n++;
		/* A shorter one is the last. */
		if (next < length)
			break;
	}
	return n;
}

/* As one datagram, if there are several: 0 or -errno. */
static int vnet_send_alike(struct vnet_port *port, struct vnet_batch *batch, u32 first, u32 n)
{
	struct kvec vec[VNET_BATCH_FRAMES];
	u8 control[CMSG_SPACE(sizeof(u16))] __aligned(sizeof(long)) = {};
	struct cmsghdr *cmsg = (struct cmsghdr *)control;
	struct msghdr msg = {
		.msg_name = &batch->frame[first].to.any,
		.msg_namelen = vnet_address_size(&batch->frame[first].to),
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL,
	};
	size_t total = 0;
	u32 i;
	int ret;

	for (i = 0; i < n; i++) {
		vec[i].iov_base = batch->arena + batch->frame[first + i].offset;
		vec[i].iov_len = batch->frame[first + i].length;
		total += vec[i].iov_len;
	}
	if (n > 1) {
		cmsg->cmsg_level = SOL_UDP;
		cmsg->cmsg_type = UDP_SEGMENT;
		cmsg->cmsg_len = CMSG_LEN(sizeof(u16));
		*(u16 *)CMSG_DATA(cmsg) = batch->frame[first].length;
		msg.msg_control = control;
		msg.msg_controllen = sizeof(control);
	}
	ret = kernel_sendmsg(port->sock, &msg, vec, n, total);
	return ret < 0 ? ret : 0;
}

/* The network cannot cut it: one after the other. */
static int vnet_send_each(struct vnet_port *port, struct vnet_batch *batch, u32 first, u32 n)
{
	u32 i;
	int err = 0;

	for (i = 0; i < n && !err; i++)
		err = vnet_send_alike(port, batch, first + i, 1);
	return err;
}

/*
 * A net device may be one for which nobody cuts (before 6.11, one without checksums
 * of its own); that is known only after all of it was copied.
 */
static bool vnet_may_cut(struct vnet_port *port)
{
	u32 uncut = READ_ONCE(port->uncut);

	if (likely(!uncut))
		return true;
	WRITE_ONCE(port->uncut, uncut - 1);
	return false;
}

static int vnet_send_to(struct vnet_port *port, struct vnet_batch *batch, u32 first, u32 n)
{
	int err;

	if (n > 1 && !vnet_may_cut(port))
		return vnet_send_each(port, batch, first, n);
	err = vnet_send_alike(port, batch, first, n);
	if (n == 1 || (err != -EINVAL && err != -EIO && err != -EMSGSIZE))
		return err;
	WRITE_ONCE(port->uncut, VNET_UNCUT);
	return vnet_send_each(port, batch, first, n);
}

static void vnet_send_some(struct vnet_link *link, struct vnet_batch *batch, u32 first, u32 n)
{
	struct vnet_port *port = vnet_port_at(link, batch->frame[first].to.port);

	if (port && !vnet_may_leave(link, port, &batch->frame[first].to))
		return;
	if (!port || vnet_send_to(port, batch, first, n))
		nic_fetch_add(&link->counters.unsent, n);
}

/* In a task that may sleep; the caller is inside. */
static void vnet_batch_send(struct vnet_link *link, struct vnet_batch *batch)
{
	u32 most = nic_load(&link->dev->agent.nic.hdr->settings.payload) + VNET_WIRE_SLACK +
		   sizeof(struct vnet_trailer);
	u32 first = 0;

	while (first < batch->n) {
		u32 n = vnet_count_alike(batch, first, most);

		vnet_send_some(link, batch, first, n);
		first += n;
	}
	batch->n = 0;
	batch->used = 0;
}

static void vnet_batch_leave(struct vnet_link *link, struct vnet_batch *batch)
{
	WRITE_ONCE(batch->owner, VNET_LEFT);
	llist_add(&batch->left, &link->left);
	wake_up_process(link->thread);
}

void vnet_batches_send(struct vnet_link *link)
{
	struct llist_node *list = llist_reverse_order(llist_del_all(&link->left));
	struct vnet_batch *batch, *next;

	llist_for_each_entry_safe(batch, next, list, left)
	{
		vnet_batch_send(link, batch);
		vnet_batch_release(link, batch);
	}
}

/* ------------------------------------------------------------------ platform */

/*
 * Nothing is sent here, if it can be helped: the firmware has locks of its own, for
 * which others wait that have just received something.
 */
void *plat_frame(struct nic *nic)
{
	const struct vnet_view *view = nic->host;
	struct vnet_link *link = view->dev->link;
	unsigned long owner = vnet_executor();
	struct vnet_batch *batch = vnet_batch_find(link, owner);

	if (!batch || vnet_batch_full(batch)) {
		struct vnet_batch *more = vnet_batch_take(link, owner, batch);

		if (!more && batch) {
			plat_flush(nic);
			more = vnet_batch_take(link, owner, NULL);
		}
		batch = more;
	}
	if (unlikely(!batch)) {
		nic_fetch_add(&link->counters.no_batch, 1);
		return NULL;
	}
	return batch->arena + batch->used;
}

void plat_send(struct nic *nic, const struct nic_address *to, u32 length)
{
	const struct vnet_view *view = nic->host;
	struct vnet_link *link = view->dev->link;
	struct vnet_batch *batch = vnet_batch_find(link, vnet_executor());
	union vnet_address address = { .nic = *to };

	if (WARN_ON_ONCE(!batch || length > VNET_WIRE_MAX_FRAME))
		return;
	length = vnet_seal(link, &address, batch->arena + batch->used, length);
	if (!length) {
		nic_fetch_add(&link->counters.unsent, 1);
		return;
	}
	batch->frame[batch->n].to = address;
	batch->frame[batch->n].offset = batch->used;
	batch->frame[batch->n].length = length;
	batch->n++;
	batch->used += ALIGN(length, VNET_FRAME_ALIGN);
}

void plat_flush(struct nic *nic)
{
	const struct vnet_view *view = nic->host;
	struct vnet_link *link = view->dev->link;
	struct vnet_batch *batch = vnet_batch_find(link, vnet_executor());
	struct vnet_batch *next;

	for (batch = batch ? batch->first : NULL; batch; batch = next) {
		next = batch->next;
		/* What consumers in the kernel hold, nobody knows. */
		if (batch->n && !view->may_sleep) {
			vnet_batch_leave(link, batch);
			continue;
		}
		vnet_batch_send(link, batch);
		vnet_batch_release(link, batch);
	}
}

void vnet_link_leave(struct vnet_view *view)
{
	int idx;

	if (likely(!atomic_read(&view->dev->link->busy)))
		return;
	idx = srcu_read_lock(&vnet_inside);
	plat_flush(&view->nic);
	srcu_read_unlock(&vnet_inside, idx);
}

u32 plat_crc32c(u32 crc, const void *data, u64 length)
{
	return ~crc32c(~crc, data, length);
}
