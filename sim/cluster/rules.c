// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Violates protocol rules on purpose. The oracle must detect each violation. */
#include <string.h>

#include "cluster/rules.h"
#include "base/crc32c.h"
#include "base/trace.h"
#include "cluster/node.h"
#include "cluster/process.h"
#include "vn/vn.h"

static struct {
	enum rule rule;
	struct random random;
	u64 broken;
} state;

static const char *const rule_names[RULES] = {
	[RULE_NONE] = "none",
	[RULE_CRC] = "crc",
	[RULE_SEQUENCE] = "sequence",
	[RULE_ACK_FIRST] = "ack-first",
	[RULE_NACK_IS_ACK] = "nack-is-ack",
	[RULE_RETURN_IS_ACK] = "return-is-ack",
	[RULE_ACK_IS_RETURN] = "ack-is-return",
	[RULE_STALE_ACK] = "stale-ack",
	[RULE_ORDER] = "order",
	[RULE_LAST] = "last",
	[RULE_OFFSET] = "offset",
	[RULE_ADDRESS] = "address",
	[RULE_COPY] = "copy",
	[RULE_RETRANSMIT] = "retransmit",
	[RULE_INCARNATION] = "incarnation",
	[RULE_RESULT] = "result",
	[RULE_IMMEDIATE] = "immediate",
	[RULE_LOST_COMPLETION] = "lost-completion",
	[RULE_DOUBLE_COMPLETION] = "double-completion",
#ifdef NIC_TEST_BREAK
#define FIRMWARE(rule) [RULE_FIRMWARE + NIC_RULE_##rule - NIC_RULE_UNLOAD]
	FIRMWARE(UNLOAD) = "firmware-unload",
	FIRMWARE(LATEST) = "firmware-latest",
	FIRMWARE(WRITTEN) = "firmware-written",
	FIRMWARE(EXPECTED) = "firmware-expected",
	FIRMWARE(ATOMIC_ONCE) = "firmware-atomic-once",
	FIRMWARE(LIFE) = "firmware-life",
	FIRMWARE(FENCE) = "firmware-fence",
	FIRMWARE(RETIRE) = "firmware-retire",
	FIRMWARE(OPEN) = "firmware-open",
	FIRMWARE(LAST) = "firmware-last",
#undef FIRMWARE
#endif
};

const char *rule_name(enum rule rule)
{
	return rule < RULES ? rule_names[rule] : "?";
}

enum rule rule_named(const char *name)
{
	u32 i;

	for (i = 0; i < RULES; i++) {
		if (!strcmp(name, rule_names[i]))
			break;
	}
	return (enum rule)i;
}

void rule_break(enum rule rule, u64 seed)
{
	state.rule = rule;
	state.broken = 0;
	random_seed(&state.random, seed, 0x501e);
}

u64 rule_broken(void)
{
	return state.broken;
}

/* For rules that are violated in one of n cases only, so that other traffic continues. */
static bool one_in(u32 n)
{
	return !random_below(&state.random, n);
}

static void note(u32 node, u32 channel, u32 seq)
{
	state.broken++;
	trace(TRACE_BROKEN, node, state.rule, channel, seq);
}

/* ------------------------------------------------------------ parts of a frame */

struct parts {
	struct vnet_frame *head;
	struct vnet_frame_ack *ack;
	u32 nacks;
	struct vnet_frame_op *op;
};

static bool take_apart(struct frame *frame, struct parts *p)
{
	u32 at = sizeof(struct vnet_frame);

	memset(p, 0, sizeof(*p));
	p->head = (void *)frame->data;
	if (frame->length < at)
		return false;
	p->nacks = p->head->nacks;
	p->ack = (void *)(frame->data + at);
	at += p->nacks * (u32)sizeof(*p->ack);
	if (frame->length < at)
		return false;
	if (p->head->kind == VNET_FRAME_DATA && frame->length >= at + sizeof(*p->op))
		p->op = (void *)(frame->data + at);
	return true;
}

void frame_seal(struct frame *frame)
{
	struct vnet_frame *head = (void *)frame->data;

	head->crc = 0;
	head->crc = crc32c(0, frame->data, frame->length);
}

/* The row with this id, as frames have it. NULL: the row has another id by now, or none. */
static struct nic_row *row_at(u32 node, u32 id)
{
	struct nic *nic = &sim.node[node].nic;
	u32 i = nic_row_index_of(id);

	return i < nic->max_row && nic->row[i].id == id ? &nic->row[i] : NULL;
}

/* ------------------------------------------------------------------ in transit */

/* Send the acknowledgement of a packet in its receiver's name. */
static void acknowledge(const struct frame *frame, const struct parts *p)
{
	const struct nic_row *row = row_at(frame->src, p->head->src_row);
	struct {
		struct vnet_frame head;
		struct vnet_frame_ack ack;
	} made;
	struct frame *answer;

	if (!row)
		return;
	memset(&made, 0, sizeof(made));
	made.head = *p->head;
	memcpy(made.head.secret, row->secret_in, sizeof(made.head.secret));
	made.head.kind = VNET_FRAME_ACK;
	made.head.src_incarnation = p->head->dst_incarnation;
	made.head.dst_incarnation = p->head->src_incarnation;
	made.head.src_row = p->head->dst_row;
	made.head.dst_row = p->head->src_row;
	made.head.payload_len = 0;
	made.head.nacks = 1;
	made.ack.seq = p->op->seq;
	made.ack.timestamp = p->op->timestamp;
	made.ack.channel = p->op->channel;
	made.ack.code = VNET_ACK_DONE;
	answer = frame_new(frame->dst, frame->src, &made, sizeof(made));
	frame_seal(answer);
	fabric_send(answer, sim_now() + 2000);
}

static bool is_connected(const struct vnet_frame_op *op)
{
	return op->qp_type == NIC_QPT_RC;
}

static bool break_acks(struct frame *frame, struct parts *p)
{
	const struct nic_row *row = row_at(frame->dst, p->head->dst_row);
	bool changed = false;
	u32 i;

	for (i = 0; i < p->nacks; i++) {
		struct vnet_frame_ack *ack = &p->ack[i];
		const struct nic_tx *tx =
			row && ack->channel < VNET_WIRE_CHANNELS ? &row->tx[ack->channel] : NULL;

		if (state.rule == RULE_NACK_IS_ACK && ack->code >= VNET_NACK_FIRST &&
		    ack->code < VNET_RETURN_FIRST) {
			ack->code = VNET_ACK_DONE;
		} else if (state.rule == RULE_RETURN_IS_ACK && ack->code >= VNET_RETURN_FIRST) {
			ack->code = VNET_ACK_DONE;
		} else if (state.rule == RULE_ACK_IS_RETURN && ack->code == VNET_ACK_DONE && tx &&
			   tx->flags & NIC_TX_UNORDERED) {
			ack->code = VNET_RETURN_DROPPED;
			ack->result = VNET_WC_RNR_RETRY_EXC_ERR;
		} else if (state.rule == RULE_RESULT && ack->code == VNET_ACK_RESULT) {
			ack->result ^= 2;
		} else if (state.rule == RULE_STALE_ACK && tx && tx->qpn && ack->seq != tx->seq) {
			ack->seq = tx->seq;
			ack->timestamp = tx->timestamp;
		} else {
			continue;
		}
		note(frame->dst, ack->channel, ack->seq);
		changed = true;
	}
	return changed;
}

static bool break_op(struct frame *frame, struct parts *p)
{
	struct vnet_frame_op *op = p->op;

	switch (state.rule) {
	case RULE_ORDER:
		if (!is_connected(op))
			return false;
		op->psn ^= 1;
		break;
	case RULE_LAST:
		if (op->flags & VNET_OP_LAST)
			return false;
		op->flags |= VNET_OP_LAST;
		break;
	case RULE_OFFSET:
		if (!op->offset || !p->head->payload_len)
			return false;
		op->offset = 0;
		op->remote_addr -= op->remote_addr % 4096;
		break;
	case RULE_ADDRESS:
		if (op->opcode > VNET_WR_RDMA_WRITE_IMM || !p->head->payload_len || !one_in(8))
			return false;
		op->remote_addr += 8;
		break;
	case RULE_IMMEDIATE:
		if ((op->opcode != VNET_WR_SEND_IMM && op->opcode != VNET_WR_RDMA_WRITE_IMM) ||
		    !one_in(8))
			return false;
		/* For 64-bit data, change the upper half: 32-bit data tests the lower half. */
		if (op->flags & VNET_OP_IMM64)
			op->imm_high ^= 1;
		else
			op->imm ^= 1;
		break;
	default:
		return false;
	}
	note(frame->src, op->channel, op->seq);
	return true;
}

bool rule_send(struct frame *frame)
{
	const struct nic_row *row;
	struct parts p;

	if (state.rule == RULE_NONE || !take_apart(frame, &p))
		return true;
	if (p.op && p.op->channel < VNET_WIRE_CHANNELS) {
		row = row_at(frame->src, p.head->src_row);
		if (state.rule == RULE_RETRANSMIT && row && row->tx[p.op->channel].retries) {
			note(frame->src, p.op->channel, p.op->seq);
			return false;
		}
		if (state.rule == RULE_ACK_FIRST && is_connected(p.op) && one_in(64)) {
			note(frame->dst, p.op->channel, p.op->seq);
			acknowledge(frame, &p);
			return false;
		}
		if (break_op(frame, &p))
			frame_seal(frame);
	}
	if (break_acks(frame, &p))
		frame_seal(frame);
	return true;
}

/* ------------------------------------------------------------------ on arrival */

/* Reset the receiving channel to its state before this packet. */
static void forget(struct node *node, const struct parts *p)
{
	struct nic_row *row = row_at(node->index, p->head->dst_row);
	struct nic_rx *rx;

	if (!row || p->op->channel >= VNET_WIRE_CHANNELS)
		return;
	rx = &row->rx[p->op->channel];
	if (rx->seq != p->op->seq)
		return;
	rx->seq--;
	rx->answer_seq = rx->seq;
	note(node->index, p->op->channel, p->op->seq);
}

static bool is_whole(struct frame *frame)
{
	struct vnet_frame *head = (void *)frame->data;
	u32 crc = head->crc, sum;

	head->crc = 0;
	sum = crc32c(0, frame->data, frame->length);
	head->crc = crc;
	return sum == crc;
}

/* Give a frame for an earlier life of the NIC the row and the secret of its present life. */
static void revive(const struct node *node, u32 from, struct vnet_frame *head)
{
	const struct nic *nic = &node->nic;
	u32 i = nic_row_index_of(head->dst_row);
	const struct nic_row *row = i < nic->max_row ? &nic->row[i] : NULL;
	u32 peer;

	if (!row || head->kind < VNET_FRAME_DATA)
		return;
	memcpy(&peer, row->address.bytes, sizeof(peer));
	if (peer != from)
		return;
	head->dst_row = row->id;
	head->src_row = row->peer_row;
	memcpy(head->secret, row->secret_in, sizeof(head->secret));
}

void rule_arrived(struct node *node, struct frame *frame)
{
	struct parts p;

	if (state.rule == RULE_NONE || !take_apart(frame, &p))
		return;
	if (state.rule == RULE_CRC && !is_whole(frame)) {
		frame_seal(frame);
		note(node->index, 0, 0);
	}
	if (state.rule == RULE_SEQUENCE && p.op && is_whole(frame))
		forget(node, &p);
	if (state.rule == RULE_INCARNATION && p.head->dst_incarnation && is_whole(frame) &&
	    p.head->dst_incarnation != node->nic.hdr->incarnation) {
		p.head->dst_incarnation = node->nic.hdr->incarnation;
		revive(node, frame->src, p.head);
		frame_seal(frame);
		note(node->index, p.op ? p.op->channel : 0, p.op ? p.op->seq : 0);
	}
}

/* ------------------------------------------------------ in NIC memory and copies */

u64 rule_copy(u64 length)
{
	if (state.rule != RULE_COPY || length < 16 || !one_in(64))
		return length;
	state.broken++;
	return length - 1;
}

static struct vnet_cqe *newest(struct queue *cq)
{
	u32 prod = cq->ring.hdr->prod;

	return prod == cq->looked || !prod ? NULL : queue_entry(cq, prod - 1);
}

void rule_after(struct node *node)
{
	struct vnet_cqe *cqe;
	u32 i;

	if (state.rule != RULE_LOST_COMPLETION && state.rule != RULE_DOUBLE_COMPLETION)
		return;
	for (i = 0; i < node->ncq; i++) {
		cqe = newest(node->cq[i]);
		if (!cqe || !one_in(64))
			continue;
		if (state.rule == RULE_LOST_COMPLETION) {
			cqe->seq = 0;
		} else if (node->cq[i]->looked) {
			u32 seq = cqe->seq;

			*cqe = *queue_entry(node->cq[i], node->cq[i]->looked - 1);
			cqe->seq = seq;
		}
		note(node->index, node->cq[i]->cqn, 0);
	}
}

#ifdef NIC_TEST_BREAK
bool plat_broken(enum nic_vn_rule rule)
{
	if (state.rule != RULE_FIRMWARE + (u32)rule - NIC_RULE_UNLOAD)
		return false;
	state.broken++;
	return true;
}
#endif
