// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Acknowledgements of arrived packets: collected, and sent with data or alone. Alone they are sent
 * when enough of them are owed, or when no data goes to that NIC for a while.
 */
#include "vn/vn.h"

/* With ack_unit 0, a process that may soon send data of its own collects this many. */
#define NIC_DEFAULT_ACK_UNIT 16

u32 nic_acks_take(struct nic *nic, struct nic_row *row, struct vnet_frame_ack *acks, u32 most)
{
	u64 nacks = 0;
	u32 n = 0;

	if (most > VNET_WIRE_ACKS)
		most = VNET_WIRE_ACKS;
	while (row->owed && n < most) {
		u32 channel = (u32)__builtin_ctzll(row->owed);
		const struct nic_rx *rx = &row->rx[channel];
		struct vnet_frame_ack *ack = &acks[n++];

		nic_store(&row->owed, row->owed & (row->owed - 1));
		memset(ack, 0, sizeof(*ack));
		ack->seq = nic_to_le32(rx->answer_seq);
		ack->timestamp = nic_to_le32(rx->timestamp);
		ack->channel = (u8)channel;
		ack->code = rx->code;
		ack->result = nic_to_le64(rx->result);
		nacks += rx->code >= VNET_NACK_FIRST;
	}
	nic_store(&row->nowed, row->nowed - n);
	if (n)
		nic_fetch_add(&nic->hdr->counters.acks_sent, n);
	if (nacks)
		nic_fetch_add(&nic->hdr->counters.nacks_sent, nacks);
	return n;
}

void nic_acks_owe(struct nic_row *row, u32 channel)
{
	if (row->owed & 1ull << channel)
		return;
	if (!row->owed)
		nic_store(&row->owed_since, plat_clock());
	nic_store(&row->owed, row->owed | 1ull << channel);
	nic_store(&row->nowed, row->nowed + 1);
}

void nic_acks_repeat(struct nic_row *row, const struct nic_endpoint *ep)
{
	u64 taken = ep->accepted;

	for (; taken; taken &= taken - 1)
		nic_acks_owe(row, ep->accepted_on[__builtin_ctzll(taken)] % VNET_WIRE_CHANNELS);
}

void nic_acks_requeue(struct nic *nic, struct nic_row *row, const struct vnet_frame_ack *acks,
		      u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		u32 channel = acks[i].channel;

		/* Not if a newer one has been recorded meanwhile. */
		if (row->rx[channel].answer_seq == nic_le32(acks[i].seq))
			nic_acks_owe(row, channel);
	}
	nic_row_activate(nic, row);
}

void nic_acks_send_locked(struct nic *nic, struct nic_row *row)
{
	struct vnet_frame *frame;

	while (row->owed && row->state == NIC_ROW_UP) {
		u32 most = (nic_row_payload(row) + VNET_WIRE_SLACK - (u32)sizeof(*frame)) /
			   (u32)sizeof(struct vnet_frame_ack);

		frame = nic_frame_begin(nic, row, VNET_FRAME_ACK);
		if (!frame)
			break;
		frame->nacks =
			(u8)nic_acks_take(nic, row, (struct vnet_frame_ack *)(frame + 1), most);
		nic_frame_send(nic, &row->address,
			       sizeof(*frame) + frame->nacks * sizeof(struct vnet_frame_ack));
	}
}

void nic_acks_send(struct nic *nic, struct nic_row *row)
{
	if (!nic_lock(nic, &row->lock))
		return;
	nic_acks_send_locked(nic, row);
	nic_unlock(&row->lock);
}

/*
 * The list belongs to this process, and several of its threads may use it without a lock. The bound
 * keeps indices valid; the NIC processor sends what is lost from the list.
 */
static u32 nic_ack_rows_count(const struct nic *nic)
{
	u32 n = nic_load(&nic->ack_nrows);

	return n < NIC_ACK_ROWS ? n : NIC_ACK_ROWS;
}

void nic_ack_rows_add(struct nic *nic, u32 row)
{
	u32 i, n = nic_ack_rows_count(nic);

	for (i = 0; i < n; i++) {
		if (nic_load(&nic->ack_rows[i]) == row)
			return;
	}
	if (n == NIC_ACK_ROWS)
		return;
	nic_store(&nic->ack_rows[n], row);
	nic_store(&nic->ack_nrows, n + 1);
}

/*
 * Send to the rows that are owed `least` or more. Returns true if some acknowledgements are
 * delayed.
 */
static bool nic_ack_rows_send(struct nic *nic, u32 least)
{
	u32 i, n = nic_ack_rows_count(nic), kept = 0;

	for (i = 0; i < n; i++) {
		struct nic_row *row = nic_row_at(nic, nic_load(&nic->ack_rows[i]));
		u32 owed = row ? nic_load(&row->nowed) : 0;

		if (owed >= least)
			nic_acks_send(nic, row);
		else if (owed)
			nic_store(&nic->ack_rows[kept++], nic_row_index(nic, row));
	}
	nic_store(&nic->ack_nrows, kept);
	nic_store(&nic->ack_rows_since, kept ? plat_clock() : 0);
	return kept != 0;
}

void nic_acks_flush(struct nic *nic)
{
	nic_ack_rows_send(nic, 1);
}

void nic_acks_send_unit(struct nic *nic, struct nic_row *row)
{
	u32 unit = nic_load(&nic->hdr->settings.ack_unit);

	if (unit && nic_load(&row->nowed) >= unit)
		nic_acks_send(nic, row);
}

bool nic_receive_end(struct nic *nic)
{
	const struct nic_settings *set = &nic->hdr->settings;
	u32 unit = nic_load(&set->ack_unit);
	bool kept = false;

	/* A process that received a packet will probably answer with data. */
	if (!unit)
		unit = nic->space != NIC_SPACE_POINTER && set->piggyback ? NIC_DEFAULT_ACK_UNIT : 1;
	if (nic_load(&nic->ack_nrows))
		kept = nic_ack_rows_send(nic, unit);
	plat_flush(nic);
	return kept;
}
