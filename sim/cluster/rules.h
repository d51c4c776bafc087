/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Protocol rules that can be violated on purpose, to test whether the oracle detects it.
 *
 * Most violations change frames, NIC memory or the results of platform functions, and leave the
 * firmware unchanged.
 */
#ifndef SIM_RULES_H
#define SIM_RULES_H

#include "cluster/fabric.h"
#include "nic_platform.h"

struct node;

enum rule {
	RULE_NONE,
	/* Frames with a wrong CRC are accepted. */
	RULE_CRC,
	/* A duplicate packet is accepted as new. */
	RULE_SEQUENCE,
	/* A packet is lost, and acknowledged in its receiver's name. */
	RULE_ACK_FIRST,
	/* A NACK (retry later) is changed to an acknowledgement. */
	RULE_NACK_IS_ACK,
	/* A return (undeliverable) is changed to an acknowledgement. */
	RULE_RETURN_IS_ACK,
	/* The acknowledgement of a datagram is changed to a return. */
	RULE_ACK_IS_RETURN,
	/* An old acknowledgement is changed to that of the outstanding packet. */
	RULE_STALE_ACK,
	/* The PSNs of adjacent packets of a queue pair are exchanged. */
	RULE_ORDER,
	/* Each packet of a message is marked as the last one. */
	RULE_LAST,
	/* A packet's offset in its message is changed to 0. */
	RULE_OFFSET,
	/* Data is placed at a wrong address. */
	RULE_ADDRESS,
	/* The last byte of a copy is missing. */
	RULE_COPY,
	/* Retransmissions are dropped. */
	RULE_RETRANSMIT,
	/* Frames for an earlier life of a NIC are accepted. */
	RULE_INCARNATION,
	/* The result of an atomic operation is changed. */
	RULE_RESULT,
	/* Immediate data is changed. */
	RULE_IMMEDIATE,
	/* A completion disappears. */
	RULE_LOST_COMPLETION,
	/* A completion is duplicated. */
	RULE_DOUBLE_COMPLETION,
#ifdef NIC_TEST_BREAK
	/* Rules that the firmware itself violates on request: enum nic_vn_rule. */
	RULE_FIRMWARE,
	RULE_FIRMWARE_LAST = RULE_FIRMWARE + NIC_RULE_LAST - NIC_RULE_UNLOAD,
#endif
	RULES,
};

const char *rule_name(enum rule rule);
enum rule rule_named(const char *name);
void rule_break(enum rule rule, u64 seed);
/* Number of violations. */
u64 rule_broken(void);

/* Compute the CRC of a changed frame. */
void frame_seal(struct frame *frame);

/* Hooks at which rules are violated. rule_send() returns false to drop the frame. */
bool rule_send(struct frame *frame);
void rule_arrived(struct node *node, struct frame *frame);
u64 rule_copy(u64 length);
void rule_after(struct node *node);

#endif /* SIM_RULES_H */
