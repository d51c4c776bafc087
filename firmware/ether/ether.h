/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Ethernet frames of raw packet queue pairs: what their headers say, which flows match them, and
 * which work queue RSS selects.
 *
 * Takes no lock, and calls no other room.
 */
#ifndef NIC_ETHER_H
#define NIC_ETHER_H

#include "layout/lock.h"

struct nic_message;

/* -- frame.c */

static inline bool nic_is_ether_length(u64 length)
{
	return length >= NIC_ETHER_HEADER && length <= NIC_MAX_ETHER;
}

/*
 * Length of the headers that flows can match: two VLAN tags, IPv6 and ports, or IPv4 with options.
 */
#define NIC_FRAME_HEAD 128

/* Parse the headers of a frame into the fields that flows match. */
void nic_frame_parse_key(const u8 *frame, u32 length, struct nic_frame_key *key);
/* Is this the port's own address? */
bool nic_is_own_mac(const struct nic *nic, const u8 *mac);

/* -- flow.c */

/* A set of flows, one bit each, and its size. */
struct nic_flow_set {
	u64 bits[NIC_MAX_FLOWS / 64];
	u32 count;
};

u32 nic_flow_high(const struct nic *nic);
/* Find the flows that a frame goes to; each receiver gets it once. */
void nic_flow_find(const struct nic *nic, const struct nic_frame_key *key,
		   struct nic_flow_set *set);
static inline bool nic_flow_is_in(const struct nic_flow_set *set, u32 i)
{
	return set->bits[i / 64] >> (i % 64) & 1;
}
/* The receiver of flow i; NULL: none can receive now. */
struct nic_qp *nic_flow_receiver(struct nic *nic, u32 i, const struct nic_frame_key *key);
/* Set what the completion reports of flow i. */
void nic_flow_show(const struct nic *nic, u32 i, struct nic_message *msg);
void nic_flow_count(struct nic *nic, u32 i, u64 bytes);
/* Remove the flows of a destroyed QP. */
void nic_flows_remove(struct nic *nic, u32 qpn);

/* -- rss.c */

/* Number of the work queue for a frame. */
u32 nic_rss_wqn(const struct nic_rss *rss, const struct nic_frame_key *key);

#endif /* NIC_ETHER_H */
