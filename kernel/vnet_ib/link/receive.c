// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reception of frames: queued by the socket's callback, passed to the firmware by a tasklet. The
 * tasklet runs on the same processor, after the network's softirq. So replies are collected for
 * all frames that have arrived, and no task is woken. Each frame is copied to an aligned,
 * contiguous buffer.
 */
#include <linux/udp.h>
#include <net/dst.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include "events/events.h"
#include "layers.h"

/* Bytes that are processed before replies are sent and the tasklet yields. */
#define VNET_RECEIVE_TURN (256 << 10)

/* Stored in skb->cb: the sender, and whether the frame arrived by a loopback device. */
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

/* Receive callback of the sockets. Softirq; UDP has verified the checksum. Always consumes skb. */
int vnet_encap_rcv(struct sock *sk, struct sk_buff *skb)
{
	struct vnet_port *port = rcu_dereference_sk_user_data(sk);
	bool local = skb->dev->flags & IFF_LOOPBACK;
	struct vnet_receiver *receiver;
	struct vnet_link *link;

	if (unlikely(!port))
		goto drop;
	link = port->link;
	/* Without a given key, frames of other machines cannot be authenticated. */
	if (!local && !rcu_access_pointer(link->keys)) {
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
	receiver = this_cpu_ptr(link->receiver);
	skb_queue_tail(&receiver->arrived, skb);
	tasklet_schedule(&receiver->tasklet);
	return 0;
drop:
	kfree_skb(skb);
	return 0;
}

/* -------------------------------------------------------------- receivers */

static void vnet_take_frame(struct vnet_receiver *receiver, struct sk_buff *skb, u32 offset,
			    u32 length)
{
	const struct vnet_arrival *arrival = vnet_arrival(skb);
	const union vnet_address *from = &arrival->from;
	struct vnet_link *link = receiver->link;
	struct nic *nic = &receiver->view.nic;
	struct nic_proof proof;
	u32 whole = length;
	bool stranger;

	if (length > VNET_LINK_FRAME + sizeof(struct vnet_wire_trailer) ||
	    skb_copy_bits(skb, offset, receiver->frame, length)) {
		nic_fetch_add(&link->counters.oversize, 1);
		return;
	}
	length =
		vnet_unseal(link, from, arrival->local, receiver->frame, length, &proof, &stranger);
	if (proof.given && !vnet_replay_check(nic, link, &proof))
		return;
	if (likely(length))
		nic_receive(nic, &from->nic, receiver->frame, length, &proof);
	else if (stranger)
		nic_refuse_caller(nic, &from->nic, receiver->frame, whole);
}

/* Process all frames of a datagram. GRO may have joined frames of one length. */
static void vnet_take(struct vnet_receiver *receiver, struct sk_buff *skb)
{
	u32 each = skb_is_gso(skb) ? skb_shinfo(skb)->gso_size : skb->len;
	u32 offset;

	for (offset = 0; offset < skb->len; offset += each)
		vnet_take_frame(receiver, skb, offset, min(each, skb->len - offset));
	atomic_sub(skb->truesize, &receiver->link->waiting);
	consume_skb(skb);
}

/* The receiver's tasklet. Softirq, on any processor, but never on two at the same time. */
static void vnet_receive(struct tasklet_struct *tasklet)
{
	struct vnet_receiver *receiver = from_tasklet(receiver, tasklet, tasklet);
	struct vnet_link *link = receiver->link;
	int idx = srcu_read_lock(&vnet_inside);
	struct sk_buff *skb;
	u32 bytes = 0;

	vnet_batches_send(link);
	while (bytes < VNET_RECEIVE_TURN && (skb = skb_dequeue(&receiver->arrived))) {
		bytes += skb->truesize;
		vnet_take(receiver, skb);
	}
	/* The NIC processor may sleep until a later tick than delayed acknowledgements allow. */
	if (bytes && nic_receive_end(&receiver->view.nic))
		plat_kick(&receiver->view.nic);
	srcu_read_unlock(&vnet_inside, idx);
	vnet_link_flush(&link->dev->agent);
	vnet_completions_deliver(link->dev);
	/* Yield. Frames that are queued from now on schedule the tasklet again. */
	if (!skb_queue_empty(&receiver->arrived))
		tasklet_schedule(tasklet);
}

/* The tasklet runs in the softirq after this interrupt, so no thread is needed. */
static void vnet_receiver_called(struct irq_work *work)
{
	struct vnet_link *link = container_of(work, struct vnet_link, call);

	tasklet_schedule(&this_cpu_ptr(link->receiver)->tasklet);
}

/* -------------------------------------------------------- creation and end */

int vnet_receivers_make(struct vnet_link *link)
{
	int cpu;

	init_irq_work(&link->call, vnet_receiver_called);
	link->receiver = alloc_percpu(struct vnet_receiver);
	if (!link->receiver)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
	{
		struct vnet_receiver *receiver = per_cpu_ptr(link->receiver, cpu);

		receiver->link = link;
		receiver->view = link->dev->agent;
		receiver->view.may_sleep = false;
		receiver->view.nic.host = &receiver->view;
		tasklet_setup(&receiver->tasklet, vnet_receive);
		skb_queue_head_init(&receiver->arrived);
	}
	for_each_possible_cpu(cpu)
	{
		struct vnet_receiver *receiver = per_cpu_ptr(link->receiver, cpu);

		receiver->frame = kvmalloc_node(VNET_LINK_FRAME + sizeof(struct vnet_wire_trailer),
						GFP_KERNEL, cpu_to_node(cpu));
		if (!receiver->frame)
			return -ENOMEM;
	}
	return 0;
}

void vnet_receivers_stop(struct vnet_link *link)
{
	int cpu;

	if (!link->receiver)
		return;
	irq_work_sync(&link->call);
	for_each_possible_cpu(cpu) tasklet_kill(&per_cpu_ptr(link->receiver, cpu)->tasklet);
}

void vnet_receivers_free(struct vnet_link *link)
{
	int cpu;

	if (!link->receiver)
		return;
	for_each_possible_cpu(cpu)
	{
		struct vnet_receiver *receiver = per_cpu_ptr(link->receiver, cpu);

		skb_queue_purge(&receiver->arrived);
		kvfree(receiver->frame);
	}
	free_percpu(link->receiver);
}
