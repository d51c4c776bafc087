// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Raw packets: the requester delivers Ethernet frames to the receivers of their flows on this NIC. */
#include "layout/message.h"
#include "ether/ether.h"
#include "pending/pending.h"
#include "protection/protection.h"
#include "responder/responder.h"
#include "objects/objects.h"
#include "requester/requester.h"

/* A queue pair with a rate limit may be ahead of it by this time. */
#define NIC_PACE_BURST_NS 1000000ull

static u32 nic_frame_read_key(struct nic_request *r, struct nic_frame_key *key)
{
	u8 head[NIC_FRAME_HEAD];
	struct nic_piece here = { .addr = (u64)(unsigned long)head,
				  .length = sizeof(head),
				  .space = NIC_SPACE_POINTER };
	u32 length = r->length < NIC_FRAME_HEAD ? (u32)r->length : NIC_FRAME_HEAD;
	enum nic_copy_result result;

	result = nic_copy(r->nic, nic_page_waiter(r->qp, NIC_REQUESTS, r->index), &here, 1,
			  r->local, r->nlocal, length);
	if (unlikely(nic_is_later(result)))
		return nic_await_pages(r->nic, r->qp, true);
	if (result != NIC_COPY_OK)
		return VNET_WC_LOC_PROT_ERR;
	nic_frame_parse_key(head, length, key);
	return VNET_WC_SUCCESS;
}

/*
 * Begin a frame, and count it for the rate limit (kbit/s), once. false: the limit does not permit
 * it now.
 */
static bool nic_frame_begin_one(struct nic_request *r)
{
	struct nic_qp *qp = r->qp;
	u32 limit = qp->attr.rate_limit;
	u64 now = limit ? plat_clock() : 0;

	if (limit && qp->counters.paced_until > now + NIC_PACE_BURST_NS)
		return false;
	nic_store(&qp->op_member, nic_group_mark(r->index, 0));
	if (!limit)
		return true;
	if (qp->counters.paced_until < now)
		qp->counters.paced_until = now;
	qp->counters.paced_until += r->length * 8000000 / limit;
	return true;
}

/*
 * Deliver to the receivers of all flows, one after the other. Only a single receiver is waited for.
 */
static u32 nic_deliver_frame(struct nic_request *r, const struct nic_frame_key *key,
			     const struct nic_flow_set *set)
{
	struct nic_message msg = {
		.src = r->local,
		.nsrc = r->nlocal,
		.length = r->length,
		.wc_opcode = VNET_WC_RECV,
		.datagram = true,
		.group = set->count > 1,
	};
	u32 status, i = nic_group_at(r->qp->op_member, r->index);
	struct nic_qp *peer;

	for (; i < nic_flow_high(r->nic); i++) {
		if (!nic_flow_is_in(set, i))
			continue;
		peer = nic_flow_receiver(r->nic, i, key);
		nic_flow_show(r->nic, i, &msg);
		status = peer ? nic_deliver_one(r, peer, &msg, i) : VNET_WC_SUCCESS;
		if (status == VNET_WC_SUCCESS || status == NIC_EXEC_MORE)
			nic_flow_count(r->nic, i, r->length);
		if (status)
			return status;
	}
	return VNET_WC_SUCCESS;
}

NIC_COLD u32 nic_do_frame(struct nic_request *r)
{
	struct nic_frame_key key;
	struct nic_flow_set set;
	u32 status;

	if (r->wqe.opcode != VNET_WR_SEND)
		return VNET_WC_LOC_QP_OP_ERR;
	status = nic_gather(r, 0);
	if (status)
		return status;
	if (!nic_is_ether_length(r->length))
		return VNET_WC_LOC_LEN_ERR;
	if (nic_group_at(r->qp->op_member, r->index) == NIC_NONE && !nic_frame_begin_one(r)) {
		nic_wait_on(r->nic, r->qp, NIC_WAIT_LOCK, 0);
		return NIC_EXEC_WAIT;
	}
	status = nic_frame_read_key(r, &key);
	if (status)
		return status;
	nic_flow_find(r->nic, &key, &set);
	/* A frame that other NICs may receive is not lost. */
	if (!set.count && (!nic_is_wired(r->nic) || nic_is_own_mac(r->nic, key.dst_mac)))
		nic_fetch_add(&r->nic->hdr->counters.drop_no_flow, 1);
	status = nic_deliver_frame(r, &key, &set);
	if (status == VNET_WC_SUCCESS)
		nic_store(&r->qp->wait, NIC_WAIT_NONE);
	return status;
}
