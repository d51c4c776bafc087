// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Chores: raw packet queue pairs with flows, on one and on two NICs, and RSS. Each chore has a MAC
 * address of its own. A second NIC receives each frame at most once, unchanged.
 */
#include <string.h>

#include "base/event.h"
#include "base/trace.h"
#include "layout/lock.h"
#include "workload/chore.h"

#define FRAMES 8u
#define FRAME_BYTES 256u
#define LONGEST 200u
#define RECEIVERS 3u
#define RECEIVES (SLOT_BYTES / FRAME_BYTES / RECEIVERS)
#define NO_FLOW (~0u)

struct receiver {
	struct qp *qp;
	struct queue *cq;
	u32 flow;
	u32 posted;
	/* has: it must receive the frames. got: it has received the current frame. */
	bool has, got;
};

/* A receiver on another NIC, with a flow that matches all frames. */
struct neighbour {
	struct process *p;
	u64 life;
	struct queue *cq;
	struct slot *slot;
	u32 flow;
	/* Frames received, one bit each. */
	u32 got;
};

struct wire {
	struct bench *b;
	struct slot *from, *to;
	struct receiver receiver[RECEIVERS];
	u8 mac[6];
	u64 content, since;
	u32 length;
	/* For each conversation, the receiver of its frames plus 1; 0: not known. */
	u32 home[4];
	struct neighbour neighbour;
	/* Frames sent. */
	u8 sent[FRAMES][LONGEST];
	u32 sent_length[FRAMES], nsent;
};

static u8 *frame(const struct wire *w)
{
	return mem(w->b->p, w->from->offset);
}

static u64 place(const struct wire *w, u32 receiver, u32 i)
{
	return w->to->offset + (receiver * RECEIVES + i % RECEIVES) * (u64)FRAME_BYTES;
}

static void ready(struct qp *qp, const struct qp_options *options)
{
	if (qp->type == NIC_QPT_WQ)
		set_state(qp, NIC_QPS_RTR);
	else
		connect_qp(qp, 0, 0, options);
}

static void supply(struct wire *w, u32 receiver)
{
	struct receiver *r = &w->receiver[receiver];
	struct sge sg = { address_at(w->b->p, place(w, receiver, r->posted)), FRAME_BYTES,
			  w->to->key };

	if (holds(w->b))
		post_recv(r->qp, r->posted++, &sg, 1);
}

static bool wire_make(struct wire *w, struct bench *b, u8 qp_type)
{
	struct qp_options options = { 0 }, slow = { .rate_limit = bench_below(b, 2) ? 0 : 1000 };
	u64 random = random_next(&b->actor->random);
	u32 i, j;

	*w = (struct wire){ .b = b, .since = event_now() };
	w->from = bench_memory(b, b->actor);
	w->to = bench_memory(b, b->actor);
	if (!w->from || !w->to || !holds(b))
		return false;
	memcpy(w->mac, &random, 6);
	w->mac[0] &= 0xfe;
	process_undying++;
	b->x = bench_has_qp(b, make_qp(b->p, NIC_QPT_RAW_PACKET, b->cq, b->cq, &options));
	ready(b->x, &slow);
	for (i = 0; i < RECEIVERS && holds(b); i++) {
		struct receiver *r = &w->receiver[i];

		r->flow = NO_FLOW;
		r->cq = bench_has_cq(b, make_cq_aside(b->p, 64, NIC_NONE, 0));
		r->qp = bench_has_qp(b, make_qp(b->p, qp_type, r->cq, r->cq, &options));
		ready(r->qp, &options);
		for (j = 0; j < 4; j++)
			supply(w, i);
	}
	process_undying--;
	return holds(b);
}

/* --------------------------------------------------------------------- headers */

/* EtherTypes of IPv6 and IPv4. */
static const u8 type[2][2] = { { 0x86, 0xdd }, { 0x08, 0 } };
static const u8 one_tag[] = { 0x81, 0, 0, 5 };
static const u8 two_tags[] = { 0x88, 0xa8, 0, 5, 0x81, 0, 0, 7, 0x88, 0xb5 };

static u32 put_ipv4(u8 *at_frame, u8 proto)
{
	static const u8 head[] = { 0x45, 0, 0,  86, 0,   0,   0x40, 0,   64,  17,
				   0,    0, 66, 9,  149, 187, 161,  142, 100, 80 };

	memcpy(at_frame, head, sizeof(head));
	at_frame[9] = proto;
	return sizeof(head);
}

static u32 put_ipv6(u8 *at_frame, u8 proto)
{
	memset(at_frame, 0x20, 40);
	at_frame[0] = 0x60;
	at_frame[6] = proto;
	return 40;
}

/* Make a frame of a random kind to w->mac. The ports identify the conversation. */
static void make_frame(struct wire *w, u32 conversation)
{
	u8 *f = frame(w), kind = (u8)bench_below(w->b, 5);
	u8 proto = kind & 1 ? 6 : 17;
	u32 at_frame = 12;

	w->length = 80 + bench_below(w->b, LONGEST - 80);
	w->content = random_next(&w->b->actor->random);
	bytes_fill(f, w->length, w->content, 0);
	memcpy(f, w->mac, 6);
	if (kind == 4) {
		/* Two VLAN tags, then random content. */
		memcpy(f + 12, two_tags, sizeof(two_tags));
		return;
	}
	if (!bench_below(w->b, 3)) {
		memcpy(f + at_frame, one_tag, sizeof(one_tag));
		at_frame += sizeof(one_tag);
	}
	memcpy(f + at_frame, type[kind < 2], 2);
	at_frame += 2;
	at_frame += kind < 2 ? put_ipv4(f + at_frame, proto) : put_ipv6(f + at_frame, proto);
	memset(f + at_frame, (int)(conversation + 1), 4);
}

/* ----------------------------------------------------------------------- flows */

static u32 free_flow(const struct nic *nic)
{
	u32 i;

	for (i = 0; i < NIC_MAX_FLOWS; i++) {
		if (!nic->hdr->flow[i].qpn)
			return i;
	}
	return NO_FLOW;
}

static void add_flow(struct wire *w, u32 receiver, u8 kind, u16 priority, u8 flags)
{
	struct nic *nic = &w->b->p->node->nic;
	struct receiver *r = &w->receiver[receiver];
	struct nic_flow flow = { .type = kind, .flags = flags, .priority = priority };
	struct nic_flow_specs specs = { .flow = &flow };
	u8 ether[32] = { 0 };

	if (!holds(w->b))
		return;
	r->flow = free_flow(nic);
	flow.qpn = r->qp->qpn;
	flow.counter = r->flow;
	memcpy(ether, w->mac, 6);
	memset(ether + 16, 0xff, 6);
	want(w->b, nic_flow_match(&specs, NIC_SPEC_ETH, ether, sizeof(ether)) == NIC_OK,
	     "a destination");
	nic_flow_counter_reset(nic, flow.counter);
	if (nic_flow_create(nic, r->flow, &flow) != NIC_OK) {
		r->flow = NO_FLOW;
		return;
	}
	want(w->b, nic_flow_create(nic, r->flow, &flow) == NIC_EINUSE, "a flow twice");
}

static void drop_flows(struct wire *w)
{
	u32 i;

	for (i = 0; i < RECEIVERS && holds(w->b); i++) {
		if (w->receiver[i].flow != NO_FLOW)
			nic_flow_destroy(&w->b->p->node->nic, w->receiver[i].flow);
		w->receiver[i].flow = NO_FLOW;
		w->receiver[i].has = false;
	}
}

/* Create a random arrangement of flows, and set `has` of the receivers. */
static void arrange(struct wire *w)
{
	struct receiver *r = w->receiver;

	drop_flows(w);
	switch (bench_below(w->b, 7)) {
	case 0:
		add_flow(w, 0, NIC_FLOW_NORMAL, 3, 0);
		r[0].has = true;
		break;
	case 1:
		/* All flows with the lowest priority value receive a frame. */
		add_flow(w, 0, NIC_FLOW_NORMAL, 2, 0);
		add_flow(w, 1, NIC_FLOW_NORMAL, 2, 0);
		add_flow(w, 2, NIC_FLOW_NORMAL, 5, 0);
		r[0].has = r[1].has = true;
		break;
	case 2:
		add_flow(w, 0, NIC_FLOW_NORMAL, 2, NIC_FLOW_DONT_TRAP);
		add_flow(w, 1, NIC_FLOW_NORMAL, 5, 0);
		r[0].has = r[1].has = true;
		break;
	case 3:
		add_flow(w, 0, NIC_FLOW_NORMAL, 0, NIC_FLOW_DROP);
		add_flow(w, 1, NIC_FLOW_NORMAL, 5, 0);
		break;
	case 4:
		/* A default flow and a sniffer. */
		add_flow(w, 0, NIC_FLOW_ALL_DEFAULT, 0, 0);
		add_flow(w, 1, NIC_FLOW_SNIFFER, 0, 0);
		r[0].has = r[1].has = true;
		break;
	case 5:
		add_flow(w, 0, NIC_FLOW_MC_DEFAULT, 0, 0);
		r[0].has = w->mac[0] & 1;
		break;
	default:
		break;
	}
}

/* ------------------------------------------------------------ receiving frames */

static bool send(struct wire *w, u32 expected)
{
	struct sge sg = { address_at(w->b->p, w->from->offset), w->length, w->from->key };
	struct vnet_send_wqe wqe = make_wr(VNET_WR_SEND, 1);

	if (!holds(w->b))
		return false;
	post_send(w->b->x, &wqe, &sg, 1);
	ring_qp(w->b->x);
	return ends(w->b, next_status(w->b, NULL), expected, "a frame") && holds(w->b);
}

static void take(struct wire *w, u32 i)
{
	struct receiver *r = &w->receiver[i];
	struct wc wc;

	r->got = false;
	while (holds(w->b) && poll_cq(r->cq, &wc)) {
		if (wc.status) {
			wrong(w->b, "a receive of a frame fails", wc.status);
			return;
		}
		want(w->b, !r->got, "a frame arrives twice");
		r->got = true;
		want(w->b,
		     wc.byte_len == w->length &&
			     !memcmp(mem(w->b->p, place(w, i, (u32)wc.wr_id)), frame(w), w->length),
		     "a frame has other bytes");
		check_totals.frames++;
		supply(w, i);
	}
}

/* Whether delivery is certain: no process stops, no page is missing, and there are receives. */
static bool is_certain(const struct wire *w)
{
	return check_strict && !sim.config.pages && w->b->p->node->starved_until < w->since;
}

static void judge(struct wire *w)
{
	u32 i;

	for (i = 0; i < RECEIVERS && holds(w->b); i++) {
		take(w, i);
		if (w->receiver[i].got && !w->receiver[i].has)
			wrong(w->b, "a frame arrives at a queue pair whose flow does not match", i);
		if (is_certain(w) && w->receiver[i].has && w->receiver[i].flow != NO_FLOW &&
		    !w->receiver[i].got)
			wrong(w->b, "a frame does not arrive by its flow", i);
	}
}

/* ------------------------------------------------------------------- neighbours */

static void neighbour_receives(struct neighbour *n, struct qp *qp)
{
	u32 i;

	for (i = 0; i < FRAMES; i++) {
		struct sge sg = { address_at(n->p, n->slot->offset + i * (u64)FRAME_BYTES),
				  FRAME_BYTES, n->slot->key };

		if (lives(n->p, n->life))
			post_recv(qp, i, &sg, 1);
	}
}

static void neighbour_steer(struct wire *w, struct neighbour *n, const struct qp *qp)
{
	struct nic *nic = &n->p->node->nic;
	struct nic_flow flow = { .qpn = qp->qpn, .counter = NIC_NONE };
	u8 gid[16];

	n->flow = free_flow(nic);
	memcpy(flow.value.dst_mac, w->mac, 6);
	memset(flow.mask.dst_mac, 0xff, 6);
	if (nic_flow_create(nic, n->flow, &flow) != NIC_OK)
		n->flow = NO_FLOW;
	node_gid(n->p->node->index, gid);
	nic_peer_call(&w->b->p->node->nic, gid);
	node_ran(w->b->p->node);
}

static void neighbour_make(struct wire *w)
{
	struct actor *a = workload.actor[bench_below(w->b, workload.nactors)];
	struct neighbour *n = &w->neighbour;
	struct qp_options options = { 0 };
	struct process *p = a->process;
	struct qp *qp;

	n->flow = NO_FLOW;
	if (p->node == w->b->p->node || !lives(p, p->node->life) || !bench_has_room(p->node))
		return;
	process_undying++;
	n->p = p;
	n->life = p->node->life;
	n->slot = bench_memory(w->b, a);
	if (n->slot && holds(w->b) && lives(p, n->life)) {
		n->cq = bench_has_cq(w->b, make_cq_aside(p, 64, NIC_NONE, 0));
		qp = bench_has_qp(w->b, make_qp(p, NIC_QPT_RAW_PACKET, n->cq, n->cq, &options));
		ready(qp, &options);
		neighbour_receives(n, qp);
		if (lives(p, n->life) && holds(w->b))
			neighbour_steer(w, n, qp);
	}
	process_undying--;
}

static void neighbour_came(struct wire *w, const struct wc *wc)
{
	struct neighbour *n = &w->neighbour;
	const u8 *bytes;
	u32 i;

	if (wc->status || wc->wr_id >= FRAMES) {
		if (wc->status != VNET_WC_WR_FLUSH_ERR)
			wrong(w->b, "a receive of a frame fails at another NIC", wc->status);
		return;
	}
	bytes = mem(n->p, n->slot->offset + wc->wr_id * FRAME_BYTES);
	for (i = 0; i < w->nsent; i++) {
		if (wc->byte_len == w->sent_length[i] &&
		    !memcmp(bytes, w->sent[i], w->sent_length[i]))
			break;
	}
	if (i == w->nsent)
		wrong(w->b, "a frame arrives at another NIC, but was not sent", wc->byte_len);
	else if (n->got & 1u << i)
		wrong(w->b, "a frame arrives twice at another NIC", i);
	n->got |= 1u << i;
	check_totals.far_frames++;
}

static void neighbour_listens(struct wire *w)
{
	struct neighbour *n = &w->neighbour;
	struct wc wc;

	while (n->flow != NO_FLOW && holds(w->b) && lives(n->p, n->life) && poll_cq(n->cq, &wc))
		neighbour_came(w, &wc);
}

static void neighbour_leaves(struct wire *w)
{
	struct neighbour *n = &w->neighbour;

	neighbour_listens(w);
	if (n->flow != NO_FLOW && lives(n->p, n->life))
		nic_flow_destroy(&n->p->node->nic, n->flow);
}

static void keep(struct wire *w)
{
	memcpy(w->sent[w->nsent], frame(w), w->length);
	w->sent_length[w->nsent++] = w->length;
}

/* Valid and invalid flow specifications. */
static void wrong_specs(struct wire *w)
{
	static const struct {
		u32 type, length;
		/* All bytes of the specification have this value. */
		u8 filter;
		enum nic_result want;
	} specs[] = {
		{ 0x77, 8, 0, NIC_EINVAL },
		{ NIC_SPEC_GRE, 8, 0, NIC_EOPNOTSUPP },
		{ NIC_SPEC_INNER | NIC_SPEC_ETH, 8, 0, NIC_EOPNOTSUPP },
		{ NIC_SPEC_TCP, 0, 0, NIC_EINVAL },
		{ NIC_SPEC_TCP, 7, 0, NIC_EINVAL },
		/* The Ethernet specification includes the VLAN tag. */
		{ NIC_SPEC_ETH, 32, 0xff, NIC_OK },
		{ NIC_SPEC_ETH, 32, 0xff, NIC_EINVAL },
		{ NIC_SPEC_IPV4, 24, 0xff, NIC_OK },
		{ NIC_SPEC_IPV6, 78, 0xff, NIC_EINVAL },
		/* Longer than the known structure: accepted only if the tail is zero. */
		{ NIC_SPEC_UDP, 16, 0, NIC_OK },
		{ NIC_SPEC_TCP, 16, 0, NIC_EINVAL },
	};
	u8 filters[96];
	struct nic_flow flow = { .type = NIC_FLOW_NORMAL };
	struct nic_flow_specs made = { .flow = &flow }, other = { .flow = &flow };
	u32 i;

	for (i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		memset(filters, specs[i].filter, sizeof(filters));
		want(w->b,
		     nic_flow_match(&made, specs[i].type, filters, specs[i].length) ==
			     specs[i].want,
		     "a flow's specification");
	}
	want(w->b, flow.mask.layers == (NIC_LAYER_VLAN | NIC_LAYER_IPV4 | NIC_LAYER_UDP),
	     "a flow's headers");
	memset(filters, 1, sizeof(filters));
	want(w->b, nic_flow_match(&other, NIC_SPEC_TCP, filters, 16) == NIC_EOPNOTSUPP,
	     "fields that are not known");
	want(w->b, nic_flow_mark(&made, 1u << 24) == NIC_EINVAL, "a tag of 25 bits");
	want(w->b, nic_flow_mark(&made, 5) == NIC_OK && flow.tag == 5, "a tag");
	want(w->b, nic_flow_mark(&made, 6) == NIC_EINVAL, "two tags");
}

static void wrong_frame(struct wire *w)
{
	struct nic *nic = &w->b->p->node->nic;
	struct nic_flow flow = { .type = 9, .qpn = w->b->x->qpn };

	want(w->b, nic_flow_create(nic, 0, &flow) == NIC_EINVAL, "a flow of an invalid type");
	want(w->b, nic_flow_create(nic, NIC_MAX_FLOWS, &flow) == NIC_EINVAL, "a flow too many");
	want(w->b, nic_flow_destroy(nic, NIC_MAX_FLOWS) == NIC_EINVAL, "no flow");
	wrong_specs(w);
	w->length = 13;
	send(w, VNET_WC_LOC_LEN_ERR);
}

void frames(struct bench *b)
{
	struct nic_flow_counter count;
	struct wire w;
	u32 i;

	if (!wire_make(&w, b, NIC_QPT_RAW_PACKET))
		return;
	if (!bench_below(b, 2))
		w.mac[0] |= 1;
	neighbour_make(&w);
	for (i = 0; i < FRAMES && holds(b); i++) {
		arrange(&w);
		make_frame(&w, bench_below(b, 4));
		keep(&w);
		if (!send(&w, VNET_WC_SUCCESS))
			break;
		judge(&w);
		neighbour_listens(&w);
		if (holds(b) && w.receiver[0].flow != NO_FLOW)
			nic_flow_counter_read(&b->p->node->nic, w.receiver[0].flow, &count);
	}
	drop_flows(&w);
	neighbour_leaves(&w);
	if (i == FRAMES && holds(b))
		wrong_frame(&w);
}

/* -------------------------------------------------------------------------- RSS */

static bool spread(struct wire *w, u64 *offset)
{
	struct nic *nic = &w->b->p->node->nic;
	struct nic_flow flow = { .qpn = 0x700000 + w->b->x->qpn, .counter = NIC_NONE };
	struct nic_rss rss = { .fields = NIC_RSS_KNOWN, .log_size = 1 };
	u32 i;

	for (i = 0; i < NIC_RSS_KEY; i++)
		rss.key[i] = (u8)(i * 37 + 1 + bench_below(w->b, 256));
	rss.wqn[0] = w->receiver[0].qp->qpn;
	rss.wqn[1] = w->receiver[1].qp->qpn;
	flow.rss = *offset = queue_take(w->b->p, sizeof(rss));
	memcpy(flow.value.dst_mac, w->mac, 6);
	memset(flow.mask.dst_mac, 0xff, 6);
	w->receiver[0].flow = free_flow(nic);
	if (w->receiver[0].flow == NO_FLOW)
		return false;
	return nic_rss_create(nic, *offset, &rss) == NIC_OK &&
	       nic_flow_create(nic, w->receiver[0].flow, &flow) == NIC_OK;
}

/* One work queue receives a frame, the same one for all frames of a conversation. */
static void judge_spread(struct wire *w, u32 conversation)
{
	u32 i, n = 0, who = 0;

	for (i = 0; i < RECEIVERS; i++) {
		take(w, i);
		n += w->receiver[i].got;
		who = w->receiver[i].got ? i + 1 : who;
	}
	if (!holds(w->b))
		return;
	want(w->b, n <= 1 && who < 3, "a frame arrives in several work queues");
	want(w->b, n || !is_certain(w), "a frame arrives in no work queue");
	if (who && w->home[conversation] && w->home[conversation] != who)
		wrong(w->b, "frames of one flow arrive in several work queues", conversation);
	if (who)
		w->home[conversation] = who;
}

void spread_frames(struct bench *b)
{
	struct wire w;
	u64 offset;
	u32 i, conversation;
	bool ipv6;

	if (!wire_make(&w, b, NIC_QPT_WQ) || !spread(&w, &offset))
		return;
	for (i = 0; i < FRAMES && holds(b); i++) {
		conversation = bench_below(b, 4);
		ipv6 = conversation & 1;
		make_frame(&w, conversation);
		/* Frames of one conversation have one protocol and the same addresses. */
		memcpy(frame(&w) + 12, type[!ipv6], 2);
		if (ipv6)
			put_ipv6(frame(&w) + 14, conversation & 2 ? 6 : 17);
		else
			put_ipv4(frame(&w) + 14, conversation & 2 ? 6 : 17);
		memset(frame(&w) + (ipv6 ? 54 : 34), (int)conversation + 1, 4);
		if (!send(&w, VNET_WC_SUCCESS))
			break;
		judge_spread(&w, conversation);
	}
	drop_flows(&w);
}
