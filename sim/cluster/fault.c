// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Fault injection: loses, duplicates, reorders, corrupts, truncates, delays and forges frames. */
#include <string.h>

#include "cluster/fault.h"
#include "base/event.h"
#include "base/trace.h"
#include "cluster/node.h"
#include "cluster/rules.h"

/* Maximum delay of a reordered frame. */
#define REORDER_NS 50000
/* Maximum number of flipped bits of a corrupted frame. */
#define FLIPS 4

static struct {
	struct fault_config config;
	/* Not cleared by fault_stop(), as delayed frames arrive later. */
	bool delays;
	struct fault_counts counts;
	struct random random;
} fault;

void fault_setup(const struct fault_config *config, u64 seed)
{
	fault.config = *config;
	fault.delays = config->delay_ns;
	memset(&fault.counts, 0, sizeof(fault.counts));
	random_seed(&fault.random, seed, 0xfa017);
}

void fault_stop(void)
{
	memset(&fault.config, 0, sizeof(fault.config));
}

const struct fault_counts *fault_counts(void)
{
	return &fault.counts;
}

bool fault_delays(void)
{
	return fault.delays;
}

static bool happens(double chance)
{
	return random_chance(&fault.random, chance);
}

static void lose(struct frame *frame, enum trace_kind why)
{
	trace(why, frame->src, frame->dst, frame->length, frame->number);
	frame_free(frame);
}

static void corrupt(struct frame *frame)
{
	u32 flips = 1 + random_below(&fault.random, FLIPS), bit = 0;

	while (flips--) {
		bit = random_below(&fault.random, frame->length * 8);
		frame->data[bit / 8] ^= (u8)(1u << bit % 8);
	}
	fault.counts.corrupted++;
	trace(TRACE_DAMAGED, frame->src, frame->dst, bit, frame->number);
}

static u32 any(void)
{
	return (u32)random_next(&fault.random) | 0x10000;
}

/* Make an operation invalid. forge() corrects the CRC, so the receiver must check the fields. */
static void forge_op(struct vnet_frame_op *op)
{
	switch (random_below(&fault.random, 4)) {
	case 0:
		op->channel |= 0x80;
		break;
	case 1:
		op->opcode |= 0x40;
		break;
	case 2:
		op->qp_type |= 0x10;
		break;
	default:
		op->dst_qpn = any();
		break;
	}
}

/*
 * Make a HELLO with an unknown link key. Its nonce is changed, so that the sender does not take
 * the refusal for one of its own HELLO.
 */
static void forge_stranger(struct vnet_frame *head)
{
	static const u32 key = SIM_STRANGE_KEY;
	struct vnet_frame_hello *hello = (void *)(head + 1);

	memcpy(head->rsvd, &key, sizeof(key));
	hello->nonce[0] ^= 0x11;
}

static void forge_head(struct vnet_frame *head)
{
	switch (random_below(&fault.random, 6)) {
	case 0:
		head->kind |= 0x20;
		break;
	case 4:
		head->proof = VNET_PROOF_NONE;
		break;
	case 5:
		if (head->proof == VNET_PROOF_MAC)
			head->proof = VNET_PROOF_SECRET;
		else
			head->secret[random_below(&fault.random, sizeof(head->secret))] ^= 0x11;
		break;
	case 1:
		head->nacks ^= 1u << random_below(&fault.random, 8);
		break;
	case 2:
		head->dst_row = any();
		break;
	default:
		head->payload_len ^= (u16)(1u << random_below(&fault.random, 16));
		break;
	}
}

static void forge(struct frame *frame)
{
	struct vnet_frame *head = (void *)frame->data;
	struct vnet_frame_ack *ack = (void *)(head + 1);
	struct vnet_frame_hello *hello = (void *)(head + 1);
	u32 kind = head->kind;

	if (random_below(&fault.random, 2) && kind >= VNET_FRAME_DATA && head->nacks)
		ack[random_below(&fault.random, head->nacks)].channel |= 0x80;
	else if (random_below(&fault.random, 2) && kind == VNET_FRAME_DATA)
		forge_op((void *)(ack + head->nacks));
	else if (kind < VNET_FRAME_DATA && random_below(&fault.random, 2))
		hello->payload = 0;
	else if (kind == VNET_FRAME_HELLO && !random_below(&fault.random, 4))
		forge_stranger(head);
	else if (kind < VNET_FRAME_DATA && random_below(&fault.random, 2))
		hello->dst_gid[random_below(&fault.random, 16)] ^= 0x11;
	else
		forge_head(head);
	frame_seal(frame);
	fault.counts.forged++;
	trace(TRACE_FORGED, frame->src, frame->dst, kind, frame->number);
}

static void double_frame(const struct frame *frame, u64 at)
{
	struct frame *copy = frame_new(frame->src, frame->dst, frame->data, frame->length);

	fault.counts.duplicated++;
	trace(TRACE_DOUBLED, frame->src, frame->dst, frame->length, copy->number);
	at += random_below(&fault.random, REORDER_NS);
	if (fault.config.delay_copies && fault.config.delay_ns && random_below(&fault.random, 2))
		at += random_below(&fault.random, (u32)fault.config.delay_ns);
	fabric_send(copy, at);
}

static u64 lateness(const struct frame *frame)
{
	u64 late = 0;

	if (happens(fault.config.reorder)) {
		late = random_below(&fault.random, REORDER_NS);
		fault.counts.reordered++;
	}
	if (fault.config.delay_ns && happens(fault.config.delay)) {
		late += random_below(&fault.random, (u32)fault.config.delay_ns);
		fault.counts.delayed++;
	}
	if (late)
		trace(TRACE_DELAYED, frame->src, frame->dst, late, frame->number);
	return late;
}

void fault_send(struct frame *frame, u64 at)
{
	u64 now = event_now();

	if (sim.node[frame->src].cut_until > now || sim.node[frame->dst].cut_until > now) {
		fault.counts.cut++;
		lose(frame, TRACE_CUT);
		return;
	}
	if (!rule_send(frame)) {
		frame_free(frame);
		return;
	}
	if (happens(fault.config.loss)) {
		fault.counts.lost++;
		lose(frame, TRACE_LOST);
		return;
	}
	if (happens(fault.config.duplicate))
		double_frame(frame, at);
	if (fault.config.forge > 0 && happens(fault.config.forge))
		forge(frame);
	if (happens(fault.config.corrupt))
		corrupt(frame);
	if (happens(fault.config.truncate)) {
		frame->length = random_below(&fault.random, frame->length);
		fault.counts.truncated++;
		trace(TRACE_SHORTENED, frame->src, frame->dst, frame->length, frame->number);
	}
	fabric_send(frame, at + lateness(frame));
}

void fault_arrived(struct node *node, struct frame *frame)
{
	rule_arrived(node, frame);
}
