// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The platform functions of the firmware in the simulator. Copies are checked against the
 * simulator's own record of registered regions.
 */
#include <string.h>

#include "address/address.h"
#include "base/crc32c.h"
#include "base/event.h"
#include "base/trace.h"
#include "cluster/node.h"
#include "cluster/process.h"
#include "cluster/rules.h"

/* Steps of the platform at which a process may stop, besides the steps of the firmware. */
enum platform_step {
	STEP_COPY = 1000,
	STEP_COPIED,
	STEP_QUEUE,
	STEP_CLOCK,
	STEP_CHANNEL,
	STEP_FRAME,
	STEP_SEND,
	STEP_FLUSH,
};

static const struct node *node_of(const struct nic *nic)
{
	return nic->host;
}

/*
 * Returns a pointer to part of a piece. Returns NULL, with *result, if its memory is unmapped or its
 * process is dead; or, after a violation, if no registered region permits the access.
 */
static u8 *piece_at(struct nic *nic, const struct nic_piece *piece, u64 offset, u64 length,
		    bool write, enum nic_copy_result *result)
{
	const struct node *node = node_of(nic);
	const struct region *region;
	const struct space *space;
	u64 addr = piece->addr + offset;

	/* Pointers, and addresses of device memory, are valid in the simulator itself. */
	if (piece->space == NIC_SPACE_POINTER || piece->mr & NIC_PIECE_DEVICE)
		return (u8 *)(unsigned long)addr;
	*result = write ? NIC_COPY_DST_FAULT : NIC_COPY_SRC_FAULT;
	region = piece->mr < nic->max_mr ? &node->region[piece->mr] : NULL;
	space = piece->space < SIM_MAX_SPACES ? &node->space[piece->space] : NULL;
	if (!region || !region->live || !space || region->space != piece->space ||
	    addr < region->addr || addr - region->addr > region->length ||
	    length > region->length - (addr - region->addr) ||
	    (write && !(region->access & NIC_ACCESS_LOCAL_WRITE))) {
		violated("node %u %s %llu bytes at %#llx of space %u, but no region (%u) allows it",
			 node->index, write ? "writes" : "reads", (unsigned long long)length,
			 (unsigned long long)addr, piece->space, piece->mr);
		return NULL;
	}
	if (region->torn)
		return NULL;
	if (space->gone) {
		*result = write ? NIC_COPY_DST_GONE : NIC_COPY_SRC_GONE;
		return NULL;
	}
	return space->memory + (addr - space->start);
}

/* Whether a page of these pieces is missing in this call, chosen at random. */
static bool misses(const struct nic_piece *pieces, u32 n)
{
	u32 i;

	for (i = 0; sim.config.pages && i < n; i++) {
		if (pieces[i].space != NIC_SPACE_POINTER &&
		    !random_below(&sim.pages, sim.config.pages))
			return true;
	}
	return false;
}

/* No pager is needed: misses() decides in each call whether a page is missing. */
enum nic_copy_result plat_fetch(struct nic *nic, const struct nic_piece *dst, u32 ndst,
				const struct nic_piece *src, u32 nsrc, u64 length, u64 since)
{
	(void)nic;
	(void)length;
	if (since > node_clock())
		violated("pages are asked for since %llu", (unsigned long long)since);
	if (misses(src, nsrc))
		return NIC_COPY_SRC_LATER;
	return misses(dst, ndst) ? NIC_COPY_DST_LATER : NIC_COPY_OK;
}

enum nic_copy_result plat_copy(struct nic *nic, const struct nic_piece *dst, u32 ndst,
			       const struct nic_piece *src, u32 nsrc, u64 length)
{
	u64 at_dst = 0, at_src = 0;
	enum nic_copy_result result = NIC_COPY_OK;
	bool no_src = misses(src, nsrc), no_dst = !no_src && misses(dst, ndst);

	sim.copies++;
	sim.copied += length;
	length = rule_copy(length);
	if (no_src)
		return NIC_COPY_SRC_LATER;
	if (no_dst)
		return NIC_COPY_DST_LATER;
	process_step(STEP_COPY);
	while (length) {
		u64 n = length;
		u8 *to, *from;

		if (!ndst || !nsrc) {
			violated("node %u copies %llu bytes more than the pieces have",
				 node_of(nic)->index, (unsigned long long)length);
			return NIC_COPY_DST_FAULT;
		}
		if (n > dst->length - at_dst)
			n = dst->length - at_dst;
		if (n > src->length - at_src)
			n = src->length - at_src;
		if (n) {
			from = piece_at(nic, src, at_src, n, false, &result);
			if (!from)
				return result;
			to = piece_at(nic, dst, at_dst, n, true, &result);
			if (!to)
				return result;
			memmove(to, from, n);
			process_step(STEP_COPIED);
		}
		length -= n;
		at_dst += n;
		at_src += n;
		if (at_dst == dst->length) {
			dst++;
			ndst--;
			at_dst = 0;
		}
		if (at_src == src->length) {
			src++;
			nsrc--;
			at_src = 0;
		}
	}
	return NIC_COPY_OK;
}

void *plat_queue(struct nic *nic, u64 offset, u64 length)
{
	if (offset < nic->off_queue || offset - nic->off_queue > nic->queue_bytes ||
	    length > nic->queue_bytes - (offset - nic->off_queue) || offset % sizeof(u64))
		return NULL;
	process_step(STEP_QUEUE);
	return (u8 *)node_of(nic)->memory + offset;
}

u64 node_clock(void)
{
	/* The firmware uses 0 for "no time". */
	return event_now() + 1000000000;
}

u64 plat_clock(void)
{
	process_step(STEP_CLOCK);
	return node_clock();
}

/* Uses a separate random stream, so that it does not change other random choices. */
bool plat_random(struct nic *nic, void *bytes, u32 length)
{
	u8 *at = bytes;

	(void)nic;
	while (length) {
		u64 word = random_next(&sim.secrets);
		u32 n = length < sizeof(word) ? length : (u32)sizeof(word);

		memcpy(at, &word, n);
		at += n;
		length -= n;
	}
	return true;
}

void plat_kick(struct nic *nic)
{
	struct node *node = nic->host;

	node->run_at = event_now();
	node_wake(node, event_now());
}

void plat_channel_ready(struct nic *nic, u32 channel, bool first)
{
	struct node *node = nic->host;

	if (!first)
		return;
	process_step(STEP_CHANNEL);
	if (channel < SIM_MAX_CHANNELS)
		node->readable[channel] = true;
	process_ready(node);
}

void plat_relax(void)
{
}

/* Every third call makes the caller stop, as if its process were being killed. */
bool plat_yield(struct nic *nic)
{
	(void)nic;
	return ++sim.turns % 3;
}

/* The frame buffer of the running thread. */
static u8 *frame_of(struct nic *nic)
{
	struct process *thread = process_inside();

	if (!thread || !sim.config.threads)
		return node_of(nic)->tx;
	if (!thread->tx)
		thread->tx = sim_alloc(VNET_WIRE_MAX_FRAME + 8);
	return thread->tx;
}

void *plat_frame(struct nic *nic)
{
	process_step(STEP_FRAME);
	return frame_of(nic);
}

void plat_send(struct nic *nic, const struct nic_address *to, u32 length)
{
	struct vnet_frame *frame;
	u32 node;

	memcpy(&node, to->bytes, sizeof(node));
	if (node >= sim.config.nodes || length > VNET_WIRE_MAX_FRAME) {
		violated("node %u sends %u bytes to a node %u", node_of(nic)->index, length, node);
		return;
	}
	process_step(STEP_SEND);
	/* Frames have no trailer with a MAC: the header has the number of the link key. */
	frame = (struct vnet_frame *)frame_of(nic);
	if (frame->proof == VNET_PROOF_MAC)
		memcpy(frame->rsvd, &node_of(nic)->key, sizeof(frame->rsvd));
	nic_frame_set_crc(frame, length);
	node_transmit(nic->host, node, frame_of(nic), length);
}

void plat_flush(struct nic *nic)
{
	(void)nic;
	process_step(STEP_FLUSH);
}

bool plat_resolve(struct nic *nic, const u8 *gid, struct nic_address *to)
{
	u32 node = (u32)gid[13] << 16 | (u32)gid[14] << 8 | gid[15];
	u16 lid = nic_gid_lid(gid);
	u8 want[16], which;

	(void)nic;
	node_gid(node, want);
	memset(to, 0, sizeof(*to));
	if (lid) {
		node = lid - node_lid(0);
		memcpy(to->bytes, &node, sizeof(node));
		return sim.config.lids && node < sim.config.nodes;
	}
	/* See node_name(). */
	which = (u8)(gid[12] - want[12]);
	if (node >= sim.config.nodes || which > sim.config.names + sim.config.restless)
		return false;
	if (which > sim.config.names)
		node = sim.node[node].wanderer_at;
	memcpy(to->bytes, &node, sizeof(node));
	return true;
}

/* All nodes have all link keys. The secret is a hash of key (or own node) and text. */
bool plat_secret(struct nic *nic, const struct nic_address *peer, u32 key, const void *text,
		 u32 length, u8 secret[VNET_WIRE_SECRET_SIZE])
{
	u64 word, half[2] = { peer != NULL, node_of(nic)->index };
	u32 i;

	if (peer)
		half[1] = key ? key : node_of(nic)->key;
	half[0] = random_mix(half[0] ^ half[1]);
	for (i = 0; i + sizeof(word) <= length; i += sizeof(word)) {
		memcpy(&word, (const u8 *)text + i, sizeof(word));
		half[0] = random_mix(half[0] ^ word);
		half[1] = random_mix(half[1] + half[0]);
	}
	memcpy(secret, half, VNET_WIRE_SECRET_SIZE);
	return true;
}

void plat_report_refused(struct nic *nic, const u8 *gid, u32 why)
{
	(void)gid;
	violated("node %u is refused, %u", node_of(nic)->index, why);
}

void plat_report_unknown(struct nic *nic, const u8 *gid)
{
	(void)nic;
	(void)gid;
}

bool plat_same_key_group(struct nic *nic, const struct nic_address *a, const struct nic_address *b)
{
	(void)nic;
	(void)a;
	(void)b;
	return true;
}

u32 plat_crc32c(u32 crc, const void *data, u64 length)
{
	return crc32c(crc, data, length);
}

#ifdef NIC_TEST_STEPS
void plat_step(int step)
{
	process_step(step);
}
#endif
