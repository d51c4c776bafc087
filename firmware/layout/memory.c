// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Layout of NIC memory: formatting, and attaching with validation. */
#include "layout/lock.h"
#include "layout/settings.h"
#include "vnet_layout.h"

#define NIC_PAGE 4096ull
/* Limits that keep the sizes below from overflowing: the tables need less than 2^40 bytes. */
#define NIC_MAX_TABLE (1u << 20)
#define NIC_MAX_KEYS (NIC_KEY_CLAIMED >> NIC_KEY_TAG_BITS)
#define NIC_MAX_CLIENTS (1u << 16)
#define NIC_MAX_QUEUE_BYTES (1ull << 46)

/* Offsets of all parts, and the total size. */
struct nic_layout {
	u64 qp, cq, srq, mr, channel, client, pending, made, async;
	u64 row, hash, frame, backing, want, queue, total;
};

static bool nic_power_of_two(u32 n, u32 max)
{
	return n && n <= max && !(n & (n - 1));
}

static u64 nic_bitmap_bytes(u32 bits)
{
	return (bits + 63) / 64 * sizeof(u64);
}

static bool nic_config_ok(const struct nic_config *c)
{
	return nic_power_of_two(c->max_qp, NIC_MAX_TABLE) &&
	       nic_power_of_two(c->max_cq, NIC_MAX_TABLE) &&
	       nic_power_of_two(c->max_srq, NIC_MAX_TABLE) &&
	       nic_power_of_two(c->max_mr, NIC_MAX_KEYS) &&
	       nic_power_of_two(c->max_channel, NIC_MAX_TABLE) &&
	       nic_power_of_two(c->max_client, NIC_MAX_CLIENTS) && c->queue_bytes &&
	       c->queue_bytes <= NIC_MAX_QUEUE_BYTES &&
	       (!c->max_row || (nic_power_of_two(c->max_row, NIC_MAX_ROWS) && c->max_frame &&
				c->max_frame <= c->max_qp));
}

/* Claim `bytes` at the next page boundary. */
static u64 nic_claim(u64 *at, u64 bytes)
{
	u64 start = *at;

	*at = (start + bytes + NIC_PAGE - 1) & ~(NIC_PAGE - 1);
	return start;
}

/* Tables for the link; a NIC without a link does not have them. */
static void nic_lay_out_wire(const struct nic_config *c, struct nic_layout *l, u64 *at)
{
	u64 endpoints = c->max_row ? c->max_qp : 0;

	l->row = nic_claim(at, (u64)c->max_row * sizeof(struct nic_row));
	l->hash = nic_claim(at, (u64)c->max_row * sizeof(u32));
	l->frame = nic_claim(at, c->max_row ? c->max_frame * sizeof(struct nic_endpoint) : 0);
	l->backing = nic_claim(at, endpoints * sizeof(struct nic_endpoint));
	l->want = nic_claim(at, endpoints * sizeof(u32));
}

static bool nic_lay_out(const struct nic_config *c, struct nic_layout *l)
{
	u64 at = 0;

	if (!nic_config_ok(c))
		return false;
	nic_claim(&at, sizeof(struct nic_header));
	l->qp = nic_claim(&at, (u64)c->max_qp * sizeof(struct nic_qp));
	l->cq = nic_claim(&at, (u64)c->max_cq * sizeof(struct nic_cq));
	l->srq = nic_claim(&at, (u64)c->max_srq * sizeof(struct nic_srq));
	l->mr = nic_claim(&at, (u64)c->max_mr * sizeof(struct nic_mr));
	l->channel = nic_claim(&at, (u64)c->max_channel * sizeof(struct nic_channel));
	l->client = nic_claim(&at, (u64)c->max_client * NIC_CLIENT_SIZE);
	l->pending = nic_claim(&at, nic_bitmap_bytes(c->max_qp));
	l->made = nic_claim(&at, nic_bitmap_bytes(c->max_qp));
	l->async = nic_claim(&at, nic_bitmap_bytes(c->max_qp) + nic_bitmap_bytes(c->max_cq) +
					  nic_bitmap_bytes(c->max_srq));
	nic_lay_out_wire(c, l, &at);
	l->queue = nic_claim(&at, c->queue_bytes);
	l->total = at;
	return true;
}

u64 nic_memory_size(const struct nic_config *config)
{
	struct nic_layout l;

	return nic_lay_out(config, &l) ? l.total : 0;
}

enum nic_result nic_format(void *memory, u64 size, const struct nic_config *config)
{
	struct nic_header *hdr = memory;
	struct nic_channel *channel;
	struct nic_layout l;
	u32 i;

	if (!nic_lay_out(config, &l) || size < l.total)
		return NIC_EINVAL;
	hdr->layout_version = NIC_LAYOUT_VERSION;
	hdr->hw_version = VNET_HW_VERSION;
	hdr->config = *config;
	nic_vn_settings_init(&hdr->settings, &config->settings);
	hdr->off_qp = l.qp;
	hdr->off_cq = l.cq;
	hdr->off_srq = l.srq;
	hdr->off_mr = l.mr;
	hdr->off_channel = l.channel;
	hdr->off_client = l.client;
	hdr->off_pending = l.pending;
	hdr->off_made = l.made;
	hdr->off_async = l.async;
	hdr->off_row = l.row;
	hdr->off_hash = l.hash;
	hdr->off_frame = l.frame;
	hdr->off_backing = l.backing;
	hdr->off_want = l.want;
	hdr->off_queue = l.queue;
	hdr->total_size = l.total;
	channel = (void *)((u8 *)memory + l.channel);
	for (i = 0; i < config->max_channel; i++) {
		channel[i].head = NIC_NONE;
		channel[i].tail = NIC_NONE;
	}
	/* Stored last: memory without it is not a NIC yet. */
	nic_store_release(&hdr->magic, NIC_MAGIC);
	return NIC_OK;
}

static bool nic_layout_is(const struct nic_header *hdr, const struct nic_layout *l)
{
	return hdr->off_qp == l->qp && hdr->off_cq == l->cq && hdr->off_srq == l->srq &&
	       hdr->off_mr == l->mr && hdr->off_channel == l->channel &&
	       hdr->off_client == l->client && hdr->off_pending == l->pending &&
	       hdr->off_made == l->made && hdr->off_async == l->async && hdr->off_row == l->row &&
	       hdr->off_hash == l->hash && hdr->off_frame == l->frame &&
	       hdr->off_backing == l->backing && hdr->off_want == l->want &&
	       hdr->off_queue == l->queue && hdr->total_size == l->total;
}

static void nic_find_tables(struct nic *nic, u8 *base, const struct nic_layout *l)
{
	nic->hdr = (void *)base;
	nic->qp = (void *)(base + l->qp);
	nic->cq = (void *)(base + l->cq);
	nic->srq = (void *)(base + l->srq);
	nic->mr = (void *)(base + l->mr);
	nic->channel = (void *)(base + l->channel);
	nic->row = (void *)(base + l->row);
	nic->row_hash = (void *)(base + l->hash);
	nic->frame = (void *)(base + l->frame);
	nic->backing = (void *)(base + l->backing);
	nic->want = (void *)(base + l->want);
	nic->pending = (void *)(base + l->pending);
	nic->made = (void *)(base + l->made);
	nic->async_qp = (void *)(base + l->async);
	nic->async_cq = nic->async_qp + (nic->max_qp + 63) / 64;
	nic->async_srq = nic->async_cq + (nic->max_cq + 63) / 64;
}

enum nic_result nic_attach(struct nic *nic, void *memory, u64 size)
{
	static const char unknown;
	const struct nic_header *hdr = memory;
	struct nic_config config;
	struct nic_layout l;

	if (size < sizeof(*hdr) || nic_load_acquire(&hdr->magic) != NIC_MAGIC ||
	    hdr->layout_version != NIC_LAYOUT_VERSION || hdr->hw_version != VNET_HW_VERSION)
		return NIC_EINVAL;
	/* Copied before it is checked, because other processes can write there. */
	config = *(const volatile struct nic_config *)&hdr->config;
	if (!nic_lay_out(&config, &l) || size < l.total || !nic_layout_is(hdr, &l))
		return NIC_EINVAL;

	memset(nic, 0, sizeof(*nic));
	nic->max_qp = config.max_qp;
	nic->max_cq = config.max_cq;
	nic->max_srq = config.max_srq;
	nic->max_mr = config.max_mr;
	nic->max_channel = config.max_channel;
	nic->max_row = config.max_row;
	nic->max_frame = config.max_frame;
	nic->qp_index_mask = config.max_qp - 1;
	nic->mr_index_mask = config.max_mr - 1;
	nic->off_queue = l.queue;
	nic->queue_bytes = config.queue_bytes;
	nic->stall_ns = config.stall_ns;
	nic->one_thread = &unknown;
	nic_find_tables(nic, memory, &l);
	return NIC_OK;
}
