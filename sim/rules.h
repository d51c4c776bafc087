/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Rules of the protocol, broken on purpose: does the checker see it? Each is
 * broken from outside, in frames on their way, in NIC memory or in the platform's
 * own work, so that the firmware is as it always is.
 */
#ifndef SIM_RULES_H
#define SIM_RULES_H

#include "fabric.h"
#include "nic_platform.h"

struct node;

enum rule {
	RULE_NONE,
	/* Frames are believed whatever their CRC says. */
	RULE_CRC,
	/* A packet that came before is taken for a new one. */
	RULE_SEQUENCE,
	/* Acknowledged before it is delivered, and then lost. */
	RULE_ACK_FIRST,
	/* "Not now" is taken for "done". */
	RULE_NACK_IS_ACK,
	/* "Never" is taken for "done". */
	RULE_RETURN_IS_ACK,
	/* A datagram's sender has it back, which was delivered. */
	RULE_ACK_IS_RETURN,
	/* An old acknowledgement is taken for one of what is under way now. */
	RULE_STALE_ACK,
	/* Packets of a queue pair change places. */
	RULE_ORDER,
	/* Every piece of a message is taken for its last. */
	RULE_LAST,
	/* A piece is put where another one belongs. */
	RULE_OFFSET,
	/* Data is put where nothing was to be put. */
	RULE_ADDRESS,
	/* The end of a copy is not made. */
	RULE_COPY,
	/* Nothing is sent again. */
	RULE_RETRANSMIT,
	/* Frames for an earlier life of a NIC are taken for the present one's. */
	RULE_INCARNATION,
	/* What an atomic operation brings back is another one's. */
	RULE_RESULT,
	/* Immediate data of another message. */
	RULE_IMMEDIATE,
	/* A completion is made, and then it is not there. */
	RULE_LOST_COMPLETION,
	/* A completion is there twice. */
	RULE_DOUBLE_COMPLETION,
#ifdef NIC_TEST_BREAK
	/* Those that the firmware itself breaks when asked: enum nic_vn_rule. */
	RULE_FIRMWARE,
	RULE_FIRMWARE_LAST = RULE_FIRMWARE + NIC_RULE_LAST - NIC_RULE_UNLOAD,
#endif
	RULES,
};

const char *rule_name(enum rule rule);
enum rule rule_named(const char *name);
void rule_break(enum rule rule, u64 seed);
/* How often it was broken. */
u64 rule_broken(void);

/* Its checksum is right again. */
void frame_seal(struct frame *frame);

/* Where they are broken. false: the frame is lost. */
bool rule_send(struct frame *frame);
void rule_arrived(struct node *node, struct frame *frame);
u64 rule_copy(u64 length);
void rule_after(struct node *node);

#endif /* SIM_RULES_H */
