// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flows: find the receivers of an Ethernet frame. Commands write the table, one at a time; senders
 * read it without a lock.
 */
#include "layout/lookup.h"
#include "layout/message.h"
#include "ether/ether.h"

#define NIC_KEY_WORDS (sizeof(struct nic_frame_key) / sizeof(u64))
/* Below every priority that a flow can have. */
#define NIC_NO_PRIORITY 0x10000u

u32 nic_flow_high(const struct nic *nic)
{
	u32 high = nic_load(&nic->hdr->flow_high);

	return high < NIC_MAX_FLOWS ? high : NIC_MAX_FLOWS;
}

static bool nic_flow_fits(const struct nic_flow *flow, const struct nic_frame_key *key)
{
	u64 have[NIC_KEY_WORDS], want[NIC_KEY_WORDS], mask[NIC_KEY_WORDS];
	u64 differs = 0;
	u32 i;

	memcpy(have, key, sizeof(have));
	memcpy(want, &flow->value, sizeof(want));
	memcpy(mask, &flow->mask, sizeof(mask));
	for (i = 0; i < NIC_KEY_WORDS; i++)
		differs |= (have[i] ^ want[i]) & mask[i];
	return !differs;
}

/* The QP number of a flow that matches the frame, or 0. */
static u32 nic_flow_owner(const struct nic_flow *flow, const struct nic_frame_key *key)
{
	u32 qpn = nic_load_acquire(&flow->qpn);

	if (!qpn || !nic_flow_fits(flow, key))
		return 0;
	/* The entry may have been reused meanwhile. */
	nic_barrier();
	return nic_load(&flow->qpn) == qpn ? qpn : 0;
}

/* Matching flows of a frame, and their priorities. */
struct nic_flow_matches {
	u32 owner[NIC_MAX_FLOWS];
	/* Flows that were checked; there may be more by now. */
	u32 high;
	/* Priority of the first normal flow that keeps the frame from flows of lower priority. */
	u32 trapped_at;
	/* A normal flow matches. */
	bool steered;
};

static void nic_flow_collect(const struct nic *nic, const struct nic_frame_key *key,
			     struct nic_flow_matches *matches)
{
	u32 i;

	matches->high = nic_flow_high(nic);
	matches->trapped_at = NIC_NO_PRIORITY;
	matches->steered = false;
	for (i = 0; i < matches->high; i++) {
		const struct nic_flow *flow = &nic->hdr->flow[i];

		matches->owner[i] = nic_flow_owner(flow, key);
		if (!matches->owner[i] || flow->type != NIC_FLOW_NORMAL)
			continue;
		matches->steered = true;
		if (!(flow->flags & NIC_FLOW_DONT_TRAP) && flow->priority < matches->trapped_at)
			matches->trapped_at = flow->priority;
	}
}

/* Does a matching flow get the frame? */
static bool nic_flow_selects(const struct nic_flow *flow, const struct nic_frame_key *key,
			     const struct nic_flow_matches *matches)
{
	switch (flow->type) {
	case NIC_FLOW_NORMAL:
		return flow->priority <= matches->trapped_at;
	case NIC_FLOW_ALL_DEFAULT:
		return !matches->steered;
	case NIC_FLOW_MC_DEFAULT:
		return !matches->steered && key->dst_mac[0] & 1;
	case NIC_FLOW_SNIFFER:
		return true;
	default:
		return false;
	}
}

/* Does the receiver get the frame by an earlier flow already? */
static bool nic_flow_is_duplicate(const struct nic_flow_set *set,
				  const struct nic_flow_matches *matches, u32 i)
{
	u32 before;

	for (before = 0; before < i; before++)
		if (nic_flow_is_in(set, before) && matches->owner[before] == matches->owner[i])
			return true;
	return false;
}

void nic_flow_find(const struct nic *nic, const struct nic_frame_key *key, struct nic_flow_set *set)
{
	struct nic_flow_matches matches;
	u32 i;

	memset(set, 0, sizeof(*set));
	nic_flow_collect(nic, key, &matches);
	for (i = 0; i < matches.high; i++) {
		if (!matches.owner[i] || !nic_flow_selects(&nic->hdr->flow[i], key, &matches) ||
		    nic_flow_is_duplicate(set, &matches, i))
			continue;
		set->bits[i / 64] |= 1ull << (i % 64);
		set->count++;
	}
}

/* The receiver, if it is in a state to receive. */
static struct nic_qp *nic_frame_receiver(struct nic *nic, u32 qpn, u8 kind)
{
	struct nic_qp *qp = nic_find_qp(nic, qpn);
	u8 state = qp ? nic_load(&qp->state) : (u8)NIC_QPS_RESET;

	return qp && qp->kind == kind && state >= NIC_QPS_RTR && state != NIC_QPS_ERR ? qp : NULL;
}

struct nic_qp *nic_flow_receiver(struct nic *nic, u32 i, const struct nic_frame_key *key)
{
	const struct nic_flow *flow = &nic->hdr->flow[i];
	u64 offset = nic_load(&flow->rss);
	const struct nic_rss *rss;

	if (flow->flags & NIC_FLOW_DROP)
		return NULL;
	if (!offset)
		return nic_frame_receiver(nic, nic_load(&flow->qpn), NIC_QPT_RAW_PACKET);
	rss = plat_queue(nic, offset, sizeof(*rss));
	return rss ? nic_frame_receiver(nic, nic_rss_wqn(rss, key), NIC_QPT_WQ) : NULL;
}

void nic_flow_show(const struct nic *nic, u32 i, struct nic_message *msg)
{
	msg->imm = nic_load(&nic->hdr->flow[i].tag);
	msg->wc_flags = msg->imm ? VNET_WC_FLOW_TAG : 0;
}

void nic_flow_count(struct nic *nic, u32 i, u64 bytes)
{
	u32 counter = nic_load(&nic->hdr->flow[i].counter);

	if (counter >= NIC_MAX_FLOW_COUNTERS)
		return;
	nic_fetch_add(&nic->hdr->flow_counter[counter].packets, 1);
	nic_fetch_add(&nic->hdr->flow_counter[counter].bytes, bytes);
}

/* ----------------------------------------------------------------- commands */

/* A flow with RSS has a number that no queue pair has. */
static bool nic_flow_ok(struct nic *nic, const struct nic_flow *flow)
{
	const struct nic_qp *qp = nic_find_qp(nic, flow->qpn);

	if (!flow->qpn || flow->type > NIC_FLOW_SNIFFER ||
	    flow->flags & ~(u32)(NIC_FLOW_DONT_TRAP | NIC_FLOW_DROP))
		return false;
	if (flow->counter != NIC_NONE && flow->counter >= NIC_MAX_FLOW_COUNTERS)
		return false;
	if (flow->rss)
		return plat_queue(nic, flow->rss, sizeof(struct nic_rss));
	return qp && qp->kind == NIC_QPT_RAW_PACKET;
}

enum nic_result nic_flow_create(struct nic *nic, u32 index, const struct nic_flow *flow)
{
	struct nic_flow *entry;

	if (index >= NIC_MAX_FLOWS || !nic_flow_ok(nic, flow))
		return NIC_EINVAL;
	entry = &nic->hdr->flow[index];
	if (nic_load(&entry->qpn))
		return NIC_EINUSE;
	entry->type = flow->type;
	entry->flags = flow->flags;
	entry->priority = flow->priority;
	entry->counter = flow->counter;
	nic_store(&entry->tag, flow->tag);
	nic_store(&entry->rss, flow->rss);
	entry->value = flow->value;
	entry->mask = flow->mask;
	/* Pairs with the acquire by senders. */
	nic_store_release(&entry->qpn, flow->qpn);
	if (index >= nic_flow_high(nic))
		nic_store_release(&nic->hdr->flow_high, index + 1);
	return NIC_OK;
}

enum nic_result nic_flow_destroy(struct nic *nic, u32 index)
{
	if (index >= NIC_MAX_FLOWS)
		return NIC_EINVAL;
	nic_xchg(&nic->hdr->flow[index].qpn, 0);
	return NIC_OK;
}

void nic_flows_remove(struct nic *nic, u32 qpn)
{
	u32 i;

	for (i = 0; i < nic_flow_high(nic); i++)
		if (nic_load(&nic->hdr->flow[i].qpn) == qpn)
			nic_store(&nic->hdr->flow[i].qpn, 0);
}

enum nic_result nic_flow_counter_reset(struct nic *nic, u32 counter)
{
	if (counter >= NIC_MAX_FLOW_COUNTERS)
		return NIC_EINVAL;
	nic_store(&nic->hdr->flow_counter[counter].packets, 0);
	nic_store(&nic->hdr->flow_counter[counter].bytes, 0);
	return NIC_OK;
}

enum nic_result nic_flow_counter_read(struct nic *nic, u32 counter, struct nic_flow_counter *out)
{
	if (counter >= NIC_MAX_FLOW_COUNTERS)
		return NIC_EINVAL;
	out->packets = nic_load(&nic->hdr->flow_counter[counter].packets);
	out->bytes = nic_load(&nic->hdr->flow_counter[counter].bytes);
	return NIC_OK;
}
