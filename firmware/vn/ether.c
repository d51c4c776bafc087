// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Ethernet frames between NICs. All NICs that know each other form one segment, with a hub: the
 * sender sends a copy to each of them, as of a multicast datagram (vn/group.c), whatever the
 * destination address. The receiving NIC delivers it to the receivers of its own flows, and never
 * forwards it.
 */
#include "layout/message.h"
#include "ether/ether.h"
#include "vn/vn.h"

/*
 * No flow matches: counted only if the frame was for this port. Other frames are not lost, as each
 * segment carries frames for others.
 */
static void nic_ether_count_drop(struct nic *nic, const struct nic_frame_key *key)
{
	if (key->dst_mac[0] & 1 || nic_is_own_mac(nic, key->dst_mac))
		nic_count(nic, drop_no_flow);
}

/* A single receiver is waited for. Of several, none may delay the others. */
static enum nic_rnr_wait nic_ether_rnr_wait(const struct nic *nic, const struct nic_rx *rx,
					    const struct vnet_frame_op *op,
					    const struct nic_flow_set *set, u32 i)
{
	if (set->count > 1)
		return NIC_RNR_NO_WAIT;
	return nic_member_may_wait(nic, rx, op, i) ? NIC_RNR_WAIT : NIC_RNR_EXPIRED;
}

enum nic_member_result nic_ether_arrive(struct nic *nic, struct nic_rx *rx,
					const struct vnet_frame_op *op, struct nic_message *msg)
{
	const u8 *frame = (const u8 *)(unsigned long)msg->src->addr;
	enum nic_member_result fate;
	struct nic_frame_key key;
	struct nic_flow_set set;
	struct nic_qp *qp;
	u32 i;

	nic_frame_parse_key(frame, (u32)msg->length, &key);
	nic_flow_find(nic, &key, &set);
	if (!set.count)
		nic_ether_count_drop(nic, &key);
	msg->datagram = true;
	msg->group = true;
	for (i = nic_member_next(rx, op); i < nic_flow_high(nic); i++) {
		if (!nic_flow_is_in(&set, i))
			continue;
		qp = nic_flow_receiver(nic, i, &key);
		nic_flow_show(nic, i, msg);
		fate = qp ? nic_member_arrive(nic, qp, op, msg,
					      nic_ether_rnr_wait(nic, rx, op, &set, i)) :
			    NIC_MEMBER_DONE;
		if (fate != NIC_MEMBER_DONE && nic_member_wait(nic, rx, op, i))
			return fate;
		nic_flow_count(nic, i, msg->length);
	}
	return NIC_MEMBER_DONE;
}
