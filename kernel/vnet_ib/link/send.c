// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Transmission of frames: collected in batches, and sent as few datagrams (UDP segmentation).
 * The firmware's frames are collected until plat_flush(). Consecutive frames of one length to
 * one peer are passed to the network as one datagram, which is segmented by the network stack or
 * the device.
 */
#include <linux/udp.h>
#include <linux/vmalloc.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ip6_route.h>
#include <net/ipv6_stubs.h>
#include <net/route.h>
#include <net/udp.h>

#include "layers.h"

/* Limit in bytes of a datagram that is to be segmented. */
#define VNET_MOST_BYTES 65000
/* Shorter datagrams are linear. */
#define VNET_LINEAR_BYTES 2048
/* Alignment of frames in a batch. */
#define VNET_FRAME_ALIGN 64
/* The room that plat_frame() promises, and a trailer. */
#define VNET_FRAME_ROOM (VNET_WIRE_MAX_FRAME + sizeof(struct vnet_wire_trailer))
/* Owner of batches that are left to a receiver. No value of vnet_executor(). */
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
 * Identifies the executing context: a task on any processor, or a softirq or interrupt, which
 * sends its frames before it returns. Values are even, so different from VNET_LEFT.
 */
static unsigned long vnet_executor(void)
{
	if (in_task())
		return (unsigned long)current;
	return 2 + 4ul * smp_processor_id() + (in_hardirq() ? 2 : 0);
}

/* The executor's last batch, or NULL. */
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

/*
 * Take a free batch and append it to the executor's list, whose last one is `last` (or NULL).
 * Returns NULL if all batches are in use.
 */
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

/* The release pairs with the acquire of the cmpxchg in vnet_batch_take(). */
static void vnet_batch_release(struct vnet_link *link, struct vnet_batch *batch)
{
	atomic_dec(&link->busy);
	smp_store_release(&batch->owner, 0);
}

static bool vnet_batch_full(const struct vnet_batch *batch)
{
	return batch->n == VNET_BATCH_FRAMES || batch->used > VNET_BATCH_SIZE;
}

/* -------------------------------------------------------------- transmission */

/* Number of frames from `first` on that can be sent as one datagram; *bytes: their length. */
static u32 vnet_count_gso(const struct vnet_batch *batch, u32 first, u32 most, u32 *bytes)
{
	u32 length = batch->frame[first].length;
	u32 n = 1, total = length;

	*bytes = length;
	if (length > most)
		return 1;
	while (first + n < batch->n && n < UDP_MAX_SEGMENTS) {
		u32 next = batch->frame[first + n].length;

		total += next;
		if (next > length || total > VNET_MOST_BYTES ||
		    batch->frame[first + n].leaves != batch->frame[first].leaves ||
		    memcmp(&batch->frame[first + n].to, &batch->frame[first].to,
			   sizeof(union vnet_address)))
			break;
		*bytes = total;
		n++;
		/* Only the last segment may be shorter. */
		if (next < length)
			break;
	}
	return n;
}

/* A route to a peer, and the socket and namespace that it was looked up for. */
struct vnet_route {
	struct net *net;
	struct sock *sk;
	struct dst_entry *dst;
	u32 headers;
};

/* Look up the route from the port's address to another address. Returns 0 or -errno. */
static int vnet_route_find4(struct vnet_route *way, const struct vnet_port *port,
			    const struct sockaddr_in *to)
{
	struct flowi4 flow = {
		.daddr = to->sin_addr.s_addr,
		.saddr = port->own.in.sin_addr.s_addr,
		.fl4_dport = to->sin_port,
		.fl4_sport = port->own.in.sin_port,
		.flowi4_proto = IPPROTO_UDP,
		.flowi4_uid = way->sk->sk_uid,
	};
	struct rtable *route = ip_route_output_flow(way->net, &flow, way->sk);

	if (IS_ERR(route))
		return PTR_ERR(route);
	way->dst = &route->dst;
	way->headers = sizeof(struct iphdr) + sizeof(struct udphdr);
	return 0;
}

static int vnet_route_find6(struct vnet_route *way, const struct vnet_port *port,
			    const struct sockaddr_in6 *to)
{
	struct flowi6 flow = {
		.daddr = to->sin6_addr,
		.saddr = port->own.in6.sin6_addr,
		.fl6_dport = to->sin6_port,
		.fl6_sport = port->own.in6.sin6_port,
		.flowi6_proto = IPPROTO_UDP,
		.flowi6_oif = to->sin6_scope_id,
		.flowi6_uid = way->sk->sk_uid,
	};

	way->dst = ipv6_stub->ipv6_dst_lookup_flow(way->net, way->sk, &flow, NULL);
	way->headers = sizeof(struct ipv6hdr) + sizeof(struct udphdr);
	return PTR_ERR_OR_ZERO(way->dst);
}

static int vnet_route_find(struct vnet_route *way, const struct vnet_port *port,
			   const union vnet_address *to)
{
	way->sk = port->sock->sk;
	way->net = sock_net(way->sk);
	if (to->any.sa_family == AF_INET)
		return vnet_route_find4(way, port, &to->in);
	return vnet_route_find6(way, port, &to->in6);
}

/* Allocate a datagram of `length` bytes, with headroom for all headers. */
static struct sk_buff *vnet_skb_make(const struct vnet_route *way, u32 length)
{
	u32 linear = length <= VNET_LINEAR_BYTES ? length : 0;
	u32 room = LL_RESERVED_SPACE(way->dst->dev) + way->headers;
	struct sk_buff *skb;
	int err;

	/* Limit of memory that qdiscs and device queues hold for this socket. */
	if (refcount_read(&way->sk->sk_wmem_alloc) > VNET_SEND_QUEUE)
		return NULL;
	skb = alloc_skb_with_frags(room + linear, length - linear, PAGE_ALLOC_COSTLY_ORDER, &err,
				   GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return NULL;
	skb_reserve(skb, room);
	skb_put(skb, linear);
	skb->data_len = length - linear;
	skb->len += skb->data_len;
	skb_set_owner_w(skb, way->sk);
	return skb;
}

static void vnet_put_udp(struct sk_buff *skb, __be16 from, __be16 to)
{
	struct udphdr *udp;

	skb_push(skb, sizeof(*udp));
	skb_reset_transport_header(skb);
	udp = udp_hdr(skb);
	udp->source = from;
	udp->dest = to;
	udp->len = htons(skb->len);
	/* Completed by the hardware, or in segmentation. */
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
}

/*
 * UDP's checksum covers nothing that the frame's CRC or MAC does not cover, and is optional with
 * IPv4. So it is omitted, unless hardware or segmentation computes it anyway.
 */
static bool vnet_wants_sum(const struct vnet_route *way, const struct sk_buff *skb)
{
	return skb_is_gso(skb) || way->dst->dev->features & NETIF_F_CSUM_MASK;
}

static int vnet_send_skb4(const struct vnet_route *way, const struct vnet_port *port,
			  const struct sockaddr_in *to, struct sk_buff *skb)
{
	const struct sockaddr_in *from = &port->own.in;
	struct iphdr *ip;

	vnet_put_udp(skb, from->sin_port, to->sin_port);
	if (vnet_wants_sum(way, skb)) {
		udp_hdr(skb)->check = ~csum_tcpudp_magic(from->sin_addr.s_addr, to->sin_addr.s_addr,
							 skb->len, IPPROTO_UDP, 0);
	} else {
		udp_hdr(skb)->check = 0;
		skb->ip_summed = CHECKSUM_NONE;
	}
	skb_push(skb, sizeof(*ip));
	skb_reset_network_header(skb);
	memset(IPCB(skb), 0, sizeof(*IPCB(skb)));
	ip = ip_hdr(skb);
	/* IP_DF is not set, so networks with a smaller MTU fragment the datagram. */
	*ip = (struct iphdr){
		.version = 4,
		.ihl = sizeof(*ip) / 4,
		.ttl = ip4_dst_hoplimit(way->dst),
		.protocol = IPPROTO_UDP,
		.saddr = from->sin_addr.s_addr,
		.daddr = to->sin_addr.s_addr,
	};
	__ip_select_ident(way->net, ip, skb_shinfo(skb)->gso_segs ?: 1);
	return ip_local_out(way->net, way->sk, skb);
}

static int vnet_send_skb6(const struct vnet_route *way, const struct vnet_port *port,
			  const struct sockaddr_in6 *to, struct sk_buff *skb)
{
	const struct sockaddr_in6 *from = &port->own.in6;
	struct ipv6hdr *ip;

	vnet_put_udp(skb, from->sin6_port, to->sin6_port);
	udp_hdr(skb)->check =
		~csum_ipv6_magic(&from->sin6_addr, &to->sin6_addr, skb->len, IPPROTO_UDP, 0);
	skb_push(skb, sizeof(*ip));
	skb_reset_network_header(skb);
	memset(IP6CB(skb), 0, sizeof(*IP6CB(skb)));
	ip = ipv6_hdr(skb);
	ip6_flow_hdr(ip, 0, 0);
	ip->nexthdr = IPPROTO_UDP;
	ip->hop_limit = ip6_dst_hoplimit(way->dst);
	ip->saddr = from->sin6_addr;
	ip->daddr = to->sin6_addr;
	/* Allow fragments, as with IPv4. */
	skb->ignore_df = 1;
	return ip6_local_out(way->net, way->sk, skb);
}

/*
 * Send `n` frames as one datagram. They pass the network stack as one, and are segmented by the
 * net device or just before it. Returns 0 or -errno.
 */
static int vnet_send_gso(const struct vnet_route *way, const struct vnet_port *port,
			 const struct vnet_batch *batch, u32 first, u32 n, u32 total)
{
	const union vnet_address *to = &batch->frame[first].to;
	struct sk_buff *skb = vnet_skb_make(way, total);
	u32 i, at = 0;
	int err;

	if (!skb)
		return -ENOBUFS;
	for (i = first; i < first + n; i++) {
		err = skb_store_bits(skb, at, batch->arena + batch->frame[i].offset,
				     batch->frame[i].length);
		if (WARN_ON_ONCE(err)) {
			kfree_skb(skb);
			return err;
		}
		at += batch->frame[i].length;
	}
	if (n > 1) {
		skb_shinfo(skb)->gso_size = batch->frame[first].length;
		skb_shinfo(skb)->gso_segs = n;
		skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
	}
	skb_dst_set(skb, dst_clone(way->dst));
	if (to->any.sa_family == AF_INET)
		err = vnet_send_skb4(way, port, &to->in, skb);
	else
		err = vnet_send_skb6(way, port, &to->in6, skb);
	return net_xmit_eval(err);
}

/*
 * Whether the frames may take this route. Frames that must not leave this machine (see
 * vnet_seal()) need a loopback device.
 */
static bool vnet_route_allowed(const struct vnet_route *way, const struct vnet_batch *batch,
			       u32 first)
{
	return batch->frame[first].leaves || way->dst->dev->flags & IFF_LOOPBACK;
}

static int vnet_send_to(struct vnet_link *link, const struct vnet_port *port,
			const struct vnet_batch *batch, u32 first, u32 n, u32 total)
{
	struct vnet_route way;
	int err = vnet_route_find(&way, port, &batch->frame[first].to);

	if (err)
		return err;
	if (likely(vnet_route_allowed(&way, batch, first)))
		err = vnet_send_gso(&way, port, batch, first, n, total);
	else
		nic_fetch_add(&link->counters.no_key, n);
	dst_release(way.dst);
	return err;
}

static void vnet_send_some(struct vnet_link *link, const struct vnet_batch *batch, u32 first, u32 n,
			   u32 total)
{
	const union vnet_address *to = &batch->frame[first].to;
	struct vnet_port *port = vnet_port_of(link, to);

	if (!port || vnet_send_to(link, port, batch, first, n, total))
		nic_fetch_add(&link->counters.unsent, n);
}

/*
 * Send all frames of a batch. The caller may call the network stack, and is in a read section of
 * vnet_inside.
 */
static void vnet_batch_send(struct vnet_link *link, struct vnet_batch *batch)
{
	u32 most = nic_load(&link->dev->agent.nic.hdr->settings.fit) + VNET_WIRE_SLACK +
		   sizeof(struct vnet_wire_trailer);
	u32 first = 0;

	while (first < batch->n) {
		u32 total, n = vnet_count_gso(batch, first, most, &total);

		vnet_send_some(link, batch, first, n, total);
		first += n;
	}
	batch->n = 0;
	batch->used = 0;
}

static void vnet_batch_hand_over(struct vnet_link *link, struct vnet_batch *batch)
{
	WRITE_ONCE(batch->owner, VNET_LEFT);
	llist_add(&batch->left, &link->left);
	irq_work_queue(&link->call);
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
 * Does not send frames if it can be avoided: the caller holds locks of the firmware that
 * receivers may need.
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
	bool leaves = false;

	if (WARN_ON_ONCE(!batch || length > VNET_WIRE_MAX_FRAME))
		return;
	length = vnet_seal(link, &address, batch->arena + batch->used, length, &leaves);
	if (!length)
		return;
	batch->frame[batch->n].to = address;
	batch->frame[batch->n].offset = batch->used;
	batch->frame[batch->n].length = length;
	batch->frame[batch->n].leaves = leaves;
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
		/* A kernel consumer may hold locks that the network stack takes. */
		if (batch->n && !view->may_send) {
			vnet_batch_hand_over(link, batch);
			continue;
		}
		vnet_batch_send(link, batch);
		vnet_batch_release(link, batch);
	}
}

void vnet_link_flush(struct vnet_view *view)
{
	int idx;

	if (likely(!atomic_read(&view->dev->link->busy)))
		return;
	idx = srcu_read_lock(&vnet_inside);
	plat_flush(&view->nic);
	srcu_read_unlock(&vnet_inside, idx);
}
