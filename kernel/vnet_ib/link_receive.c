// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Frames that arrive: queued in softirq, taken apart and given to the firmware by
 * the link's thread, which copies each to where it is aligned and in one piece.
 */
#include <linux/kthread.h>
#include <linux/udp.h>
#include <net/dst.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include "link.h"

/* Datagrams before answers go out and others have their turn. */
#define VNET_RECEIVE_TURN 64

/* Kept in the datagram: where it came from, and whether that is this machine. */
struct vnet_arrival {
	union vnet_address from;
	bool local;
};

static struct vnet_arrival *vnet_arrival(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct vnet_arrival) > sizeof(skb->cb));
	return (struct vnet_arrival *)skb->cb;
}

static void vnet_note_arrival(const struct vnet_port *port, struct sk_buff *skb, bool local)
{
	union vnet_address from = { .port = port->own.port };

	if (port->own.any.sa_family == AF_INET) {
		from.in.sin_family = AF_INET;
		from.in.sin_port = udp_hdr(skb)->source;
		from.in.sin_addr.s_addr = ip_hdr(skb)->saddr;
	} else {
		from.in6.sin6_family = AF_INET6;
		from.in6.sin6_port = udp_hdr(skb)->source;
		from.in6.sin6_addr = ipv6_hdr(skb)->saddr;
		if (ipv6_addr_type(&from.in6.sin6_addr) & IPV6_ADDR_LINKLOCAL)
			from.in6.sin6_scope_id = inet6_iif(skb);
	}
	*vnet_arrival(skb) = (struct vnet_arrival){ .from = from, .local = local };
}

/* In softirq, with its checksum right. */
int vnet_encap_rcv(struct sock *sk, struct sk_buff *skb)
{
	struct vnet_port *port = rcu_dereference_sk_user_data(sk);
	bool local = skb->dev->flags & IFF_LOOPBACK;
	struct vnet_link *link;

	if (unlikely(!port))
		goto drop;
	link = port->link;
	/* No further than this machine, unless keys tell friend from stranger. */
	if (!local && !READ_ONCE(link->keys)) {
		nic_fetch_add(&link->counters.strangers, 1);
		goto drop;
	}
	skb_orphan(skb);
	if (atomic_add_return(skb->truesize, &link->waiting) > VNET_LINK_QUEUE) {
		atomic_sub(skb->truesize, &link->waiting);
		nic_fetch_add(&link->counters.overrun, 1);
		goto drop;
	}
	vnet_note_arrival(port, skb, local);
	__skb_pull(skb, sizeof(struct udphdr));
	skb_dst_drop(skb);
	nf_reset_ct(skb);
	skb_queue_tail(&link->arrived, skb);
	wake_up_process(link->thread);
	return 0;
drop:
	kfree_skb(skb);
	return 0;
}

/* -------------------------------------------------------------- the thread */

static void vnet_take_frame(struct vnet_link *link, struct sk_buff *skb, u32 offset, u32 length)
{
	const struct vnet_arrival *arrival = vnet_arrival(skb);
	const union vnet_address *from = &arrival->from;

	if (length > VNET_LINK_FRAME + sizeof(struct vnet_trailer) ||
	    skb_copy_bits(skb, offset, link->frame, length)) {
		nic_fetch_add(&link->counters.oversize, 1);
		return;
	}
	length = vnet_unseal(link, from, arrival->local, link->frame, length);
	if (length)
		nic_receive(&link->view.nic, &from->nic, link->frame, length);
}

/* The network may have joined frames of one length. */
static void vnet_take(struct vnet_link *link, struct sk_buff *skb)
{
	u32 each = skb_is_gso(skb) ? skb_shinfo(skb)->gso_size : skb->len;
	u32 offset;

	for (offset = 0; offset < skb->len; offset += each)
		vnet_take_frame(link, skb, offset, min(each, skb->len - offset));
	atomic_sub(skb->truesize, &link->waiting);
	consume_skb(skb);
}

/* Was there anything to do? */
static bool vnet_link_run(struct vnet_link *link)
{
	int idx = srcu_read_lock(&vnet_inside);
	struct sk_buff *skb;
	u32 n = 0;

	vnet_batches_send(link);
	while (n < VNET_RECEIVE_TURN && (skb = skb_dequeue(&link->arrived))) {
		vnet_take(link, skb);
		n++;
	}
	if (n)
		nic_receive_end(&link->view.nic);
	srcu_read_unlock(&vnet_inside, idx);
	vnet_tell(link->dev);
	return n;
}

int vnet_link_thread(void *arg)
{
	struct vnet_link *link = arg;

	while (!kthread_should_stop()) {
		if (vnet_link_run(link)) {
			cond_resched();
			continue;
		}
		set_current_state(TASK_IDLE);
		/* The state before the look; they queue, and then wake. */
		if (skb_queue_empty(&link->arrived) && llist_empty(&link->left) &&
		    !kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
	}
	return 0;
}
