// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Objects of simulated processes: regions, windows, rings, CQs, SRQs, channels. */
#include <stdio.h>
#include <stdlib.h>

#include "base/event.h"
#include "cluster/command.h"
#include "tags/tags.h"

/* Pause before a busy command is repeated, and maximum number of attempts. */
#define BUSY_NS 20000
#define BUSY_TRIES 100000
/* Entries of a ring of tag operations. */
#define TAG_OPS 16

/* An object that a process owns. */
struct owned {
	struct owned *next;
	/* 'q' QP, 's' SRQ, 'c' CQ, 'w' window, 'm' region */
	char kind;
	u32 num;
};

void own_number(struct process *p, char kind, u32 num)
{
	struct owned *o = sim_alloc(sizeof(*o));

	*o = (struct owned){ p->owned, kind, num };
	p->owned = o;
}

void disown(struct process *p, char kind, u32 num)
{
	struct owned **at_link = &p->owned;

	while (*at_link && ((*at_link)->kind != kind || (*at_link)->num != num))
		at_link = &(*at_link)->next;
	if (*at_link)
		*at_link = (*at_link)->next;
}

bool command_again(struct process *p, u32 *tries)
{
	struct process *running = coroutine_running();

	if (!has_nic(p) || !running || ++*tries > BUSY_TRIES)
		return false;
	sleep_for(running, BUSY_NS);
	return has_nic(p);
}

/* Drawing a number cannot fail, as plat_random() always succeeds here. */
static void drawn(enum nic_result result)
{
	if (result != NIC_OK)
		abort();
}

u32 new_qpn(struct node *node)
{
	u32 qpn, index = node->next_qpn++ & node->nic.qp_index_mask;

	drawn(nic_qpn_draw(&node->nic, index, node->last_qpn[index], &qpn));
	node->last_qpn[index] = qpn;
	return qpn;
}

static u32 new_srqn(struct node *node)
{
	u32 srqn;

	drawn(nic_srqn_draw(&node->nic, node->next_srqn++, 0, &srqn));
	return srqn;
}

static u32 new_key(struct node *node)
{
	u32 key;

	drawn(nic_key_draw(&node->nic, node->next_mr++, 0, &key));
	return key;
}

static struct region *region_of(struct node *node, u32 key)
{
	return &node->region[nic_key_index(&node->nic, key)];
}

u32 reg_mr(struct process *p, u64 offset, u64 length, u32 access)
{
	struct node *node = p->node;
	struct nic_mr_params params = {
		.kind = NIC_MR_REGION,
		.access = access,
		.pdn = p->pdn,
		.iova = address_at(p, offset),
		.addr = address_at(p, offset),
		.length = length,
		.space = p->space,
	};

	if (node->next_mr >= node->nic.max_mr)
		return 0;
	params.key = new_key(node);
	if (nic_mr_create(&node->nic, &params) != NIC_OK)
		return 0;
	*region_of(node, params.key) = (struct region){
		.addr = params.addr,
		.length = length,
		.access = access,
		.space = p->space,
		.live = true,
	};
	own_number(p, 'm', params.key);
	return params.key;
}

bool dereg_mr(struct process *p, u32 key)
{
	u64 life = p->node->life;

	if (COMMAND(p, nic_mr_destroy(&p->node->nic, key)) != NIC_OK || is_lost(p, life))
		return false;
	region_of(p->node, key)->live = false;
	disown(p, 'm', key);
	return true;
}

bool free_mw(struct process *p, u32 key)
{
	/* The firmware finds the window by the index in the key. Its tag may have changed. */
	u64 life = p->node->life;

	if (COMMAND(p, nic_mr_destroy(&p->node->nic, key)) != NIC_OK || is_lost(p, life))
		return false;
	region_of(p->node, key)->live = false;
	disown(p, 'w', key);
	return true;
}

u32 alloc_fast(struct process *p, u64 offset, u64 length)
{
	u32 key = alloc_mw(p, NIC_MR_FAST);

	if (key)
		*region_of(p->node, key) = (struct region){
			.addr = address_at(p, offset),
			.length = length,
			.access = ALL_ACCESS,
			.space = p->space,
			.live = true,
		};
	return key;
}

void tear(struct process *p, u32 key)
{
	region_of(p->node, key)->torn = true;
}

u32 reg_device(struct process *p, u64 length)
{
	struct node *node = p->node;
	struct nic_mr_params params = {
		.kind = NIC_MR_DEVICE,
		.access = ALL_ACCESS & ~(u32)NIC_ACCESS_MW_BIND,
		.pdn = p->pdn,
		.addr = queue_take(p, length),
		.length = length,
		.space = NIC_SPACE_DEVICE,
	};

	if (node->next_mr >= node->nic.max_mr)
		return 0;
	params.key = new_key(node);
	if (nic_mr_create(&node->nic, &params) != NIC_OK)
		return 0;
	own_number(p, 'm', params.key);
	return params.key;
}

u32 alloc_mw(struct process *p, u8 kind)
{
	struct nic_mr_params params = { .kind = kind, .pdn = p->pdn, .space = p->space };

	if (p->node->next_mr >= p->node->nic.max_mr)
		return 0;
	params.key = new_key(p->node);
	if (nic_mr_create(&p->node->nic, &params) != NIC_OK)
		return 0;
	own_number(p, 'w', params.key);
	return params.key;
}

u64 queue_take(struct process *p, u64 bytes)
{
	struct node *node = p->node;
	u64 offset = node->queue_at;

	node->queue_at += (bytes + 4095) & ~4095ull;
	if (node->queue_at > node->nic.off_queue + node->nic.queue_bytes) {
		fprintf(stderr, "vnet-sim: node %u has no queue memory left\n", node->index);
		abort();
	}
	return offset;
}

struct ring_view ring_make(struct process *p, u32 entries, u32 shift)
{
	struct node *node = p->node;
	u64 bytes = VNET_RING_HDR_SIZE + ((u64)entries << shift);
	struct ring_view ring = { .mask = entries - 1, .shift = shift };

	ring.offset = queue_take(p, bytes);
	ring.hdr = (void *)((u8 *)node->memory + ring.offset);
	ring.slots = (u8 *)(ring.hdr + 1);
	return ring;
}

static void channel_make(struct process *p)
{
	if (!p->node->nic.channel[p->space].generation)
		nic_channel_create(&p->node->nic, p->space, 1);
}

void channel_renew(struct process *p)
{
	struct nic *nic = &p->node->nic;
	struct nic_channel *ch = &nic->channel[p->space];
	u32 generation = ch->generation + 1;

	if (!ch->generation || COMMAND(p, nic_channel_destroy(nic, p->space)) != NIC_OK)
		return;
	p->node->readable[p->space] = false;
	if (COMMAND(p, nic_channel_create(nic, p->space, generation)) != NIC_OK && has_nic(p))
		violated("node %u: no channel %u", p->node->index, p->space);
}

static struct queue *new_cq(struct process *p, u32 entries, u32 channel, u32 flags)
{
	struct queue *cq = sim_alloc(sizeof(*cq));
	struct node *node = p->node;
	struct nic_cq_params params = { .entries = entries,
					.channel = channel,
					.flags = flags | VNET_CREATE_CQ_IMM64 };

	if (channel != NIC_NONE) {
		channel_make(p);
		params.channel = p->space;
	}
	cq->process = p;
	cq->life = node->life;
	cq->cqn = node->next_cqn++;
	cq->ring = ring_make(p, entries, CQE_SHIFT);
	params.ring = cq->ring.offset;
	if (node->ncq == SIM_MAX_OBJECTS ||
	    COMMAND(p, nic_cq_create(&node->nic, cq->cqn, &params)) != NIC_OK) {
		if (has_nic(p))
			violated("node %u: CQ %u cannot be made", node->index, cq->cqn);
		return cq;
	}
	own_number(p, 'c', cq->cqn);
	return cq;
}

struct queue *make_cq_aside(struct process *p, u32 entries, u32 channel, u32 flags)
{
	return new_cq(p, entries, channel, flags);
}

struct queue *make_cq(struct process *p, u32 entries, u32 channel)
{
	struct queue *cq = new_cq(p, entries, channel, 0);

	if (p->node->ncq < SIM_MAX_OBJECTS)
		p->node->cq[p->node->ncq++] = cq;
	return cq;
}

/* Allocate a ring of tag operations and the memory of the tag list. */
static void add_tag_matching(struct srq *srq, struct nic_srq_params *params, u32 tags)
{
	struct process *p = srq->process;

	srq->ops = ring_make(p, TAG_OPS, VNET_TM_OP_SHIFT);
	params->tm_tags = tags;
	params->tm_ops = srq->ops.offset;
	params->tm_ops_entries = TAG_OPS;
	params->tm = queue_take(p, sizeof(struct nic_tm) + tags * sizeof(struct nic_tag));
}

struct srq *make_srq(struct process *p, u32 entries)
{
	static const struct srq_options plain;

	return make_srq_with(p, entries, &plain);
}

struct srq *make_srq_with(struct process *p, u32 entries, const struct srq_options *o)
{
	struct srq *srq = sim_alloc(sizeof(*srq));
	struct node *node = p->node;
	struct nic_srq_params params = {
		.entries = entries,
		.stride_shift = RECV_SHIFT,
		.max_sge = MAX_RECV_SGE,
		.pdn = p->pdn,
		.space = p->space,
		.xrcdn = o->xrcdn,
		.cqn = o->cq ? o->cq->cqn : 0,
	};

	srq->process = p;
	srq->life = node->life;
	srq->srqn = new_srqn(node);
	srq->ring = ring_make(p, entries, params.stride_shift);
	params.ring = srq->ring.offset;
	if (o->tags)
		add_tag_matching(srq, &params, o->tags);
	if (COMMAND(p, nic_srq_create(&node->nic, srq->srqn, &params)) != NIC_OK && has_nic(p))
		violated("node %u: SRQ %u cannot be made", node->index, srq->srqn);
	own_number(p, 's', srq->srqn);
	return srq;
}

bool resize_cq(struct queue *cq, u32 entries)
{
	struct process *p = cq->process;
	struct ring_view ring;

	if (is_lost(p, cq->life) ||
	    p->node->queue_at + (4u << 20) > p->node->nic.off_queue + p->node->nic.queue_bytes)
		return false;
	ring = ring_make(p, entries, CQE_SHIFT);
	if (COMMAND(p, nic_cq_resize(&p->node->nic, cq->cqn, ring.offset, entries)) != NIC_OK)
		return false;
	cq->ring = ring;
	return true;
}

bool limit_srq(struct srq *srq, u32 limit)
{
	struct process *p = srq->process;
	u32 now;

	return !is_lost(p, srq->life) &&
	       COMMAND(p, nic_srq_set_limit(&p->node->nic, srq->srqn, limit)) == NIC_OK &&
	       nic_srq_get_limit(&p->node->nic, srq->srqn, &now) == NIC_OK;
}

bool destroy_cq(struct queue *cq)
{
	struct process *p = cq->process;
	struct node *node = p->node;
	u32 events, i;

	if (is_lost(p, cq->life))
		return true;
	if (COMMAND(p, nic_cq_destroy(&node->nic, cq->cqn, &events)) != NIC_OK)
		return false;
	disown(p, 'c', cq->cqn);
	/* The channel stays readable only if other CQs have unread events. */
	if (node->nic.channel[p->space].generation)
		COMMAND(p, nic_channel_clear_stale(&node->nic, p->space, channel_read,
						   &node->readable[p->space]));
	for (i = 0; i < node->ncq; i++) {
		if (node->cq[i] == cq)
			node->cq[i] = node->cq[--node->ncq];
	}
	return true;
}

bool destroy_srq(struct srq *srq)
{
	struct process *p = srq->process;

	if (is_lost(p, srq->life))
		return true;
	if (COMMAND(p, nic_srq_destroy(&p->node->nic, srq->srqn)) != NIC_OK)
		return false;
	disown(p, 's', srq->srqn);
	return true;
}

/* ------------------------------------------------ objects of dead processes */

/* NIC_EINVAL: the process died between the destruction of the object and disown(). */
static bool is_gone(enum nic_result result)
{
	return result == NIC_OK || result == NIC_EINVAL;
}

/* Destroy an object of a dead process. Returns false if it cannot be destroyed. */
static bool free_one(struct process *p, const struct owned *o)
{
	struct nic *nic = &p->node->nic;
	u32 events;

	switch (o->kind) {
	case 'q':
		return is_gone(COMMAND(p, nic_qp_destroy(nic, o->num)));
	case 'c':
		return is_gone(COMMAND(p, nic_cq_destroy(nic, o->num, &events)));
	case 's':
		return is_gone(COMMAND(p, nic_srq_destroy(nic, o->num)));
	default:
		if (COMMAND(p, nic_mr_destroy(nic, o->num)) != NIC_OK &&
		    nic->mr[nic_key_index(nic, o->num)].kind != NIC_MR_FREE)
			return false;
		if (!p->fatal)
			region_of(p->node, o->num)->live = false;
		return true;
	}
}

static void free_all(struct process *p, char kind)
{
	struct owned *o, *next;

	for (o = p->owned; o && has_nic(p); o = next) {
		next = o->next;
		if (o->kind != kind)
			continue;
		if (!free_one(p, o) && has_nic(p))
			violated("node %u: '%c' %u of a dead process cannot be freed",
				 p->node->index, kind, o->num);
		if (!p->fatal)
			disown(p, kind, o->num);
	}
}

void process_destroy_objects(struct process *p)
{
	/* QPs, windows, regions, SRQs, CQs: users before the objects that they use. */
	static const char order[] = "qwmsc";
	struct node *node = p->node;
	const char *kind;

	for (kind = order; *kind && has_nic(p); kind++) {
		free_all(p, *kind);
		node_ran(node);
	}
	if (has_nic(p) && node->nic.channel[p->space].generation &&
	    COMMAND(p, nic_channel_destroy(&node->nic, p->space)) != NIC_OK && has_nic(p))
		violated("node %u: the channel of a dead process cannot be freed", node->index);
}
