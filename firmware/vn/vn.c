// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Entry points of the vn transport: arriving frames, and timers. */
#include "layout/lookup.h"
#include "transport/transport.h"
#include "pending/pending.h"
#include "requester/requester.h"
#include "vn/vn.h"

/* A row that was quiet for this time needs no more looks by the NIC processor. */
#define NIC_QUIET_NS 20000000ull
/* Minimum interval of the NIC processor's looks. Polling processes look more often. */
#define NIC_VN_SOON_NS 200000ull
/*
 * Timers are checked each millisecond while packets are outstanding. In a gap longer than this, ms,
 * no thread of this NIC had a processor; the rest of the gap does not count as silence of peers.
 */
#define NIC_TIMEOUT_CLOCK_GAP 5u
/* Tolerance for a clock that was read before another thread stored a later one, ms. */
#define NIC_TIMEOUT_CLOCK_SKEW 60000u
/* Interval at which a polling process checks timers. */
#define NIC_VN_LOOK_NS 20000ull

bool nic_is_wired(const struct nic *nic)
{
	return nic->max_row && nic_load(&nic->hdr->row_high);
}

/* Run the QPs whose packets were answered: they retire requests, and may send more. */
static void nic_run_answered(struct nic *nic, const struct nic_answered *answered)
{
	u32 i;

	for (i = 0; i < answered->n; i++) {
		struct nic_qp *qp = nic_find_qp(nic, answered->qpn[i]);

		if (qp && !nic_qp_run_turn(nic, qp, nic->hdr->settings.loiter))
			nic_pend(nic, qp);
	}
}

/* Process the acknowledgements of a frame. false: one is invalid, drop the frame. */
static bool nic_receive_acks(struct nic *nic, struct nic_row *row,
			     const struct nic_arrived_frame *f)
{
	struct nic_answered answered = { .n = 0 };
	bool data = f->head->kind == VNET_FRAME_ACK && f->payload_len;
	bool fits = true;

	/* Data first: with its acknowledgement, the request may complete. */
	if (data && !nic_vn_read_data(nic, row, f))
		return true;
	/* A dropped acknowledgement costs a retransmission. */
	if (!nic_row_lock(nic, &row->lock, NIC_ROW_TRIES))
		return true;
	if (nic_row_is_alive(nic, row, f)) {
		fits = nic_tx_acks_ok(nic, row, f);
		if (likely(fits))
			nic_tx_answers(nic, row, f, data, &answered);
	}
	nic_unlock(&row->lock);
	nic_run_answered(nic, &answered);
	return fits;
}

void nic_receive(struct nic *nic, const struct nic_address *from, void *frame, u32 length,
		 const struct nic_proof *proof)
{
	struct nic_arrived_frame f;
	struct nic_row *row;

	if (!nic->max_row)
		return;
	nic_fetch_add(&nic->hdr->counters.frames_received, 1);
	nic_fetch_add(&nic->hdr->counters.bytes_received, length);
	if (!nic_frame_parse(nic, frame, length, proof, &f))
		return;
	f.from = from;
	if (f.head->kind == VNET_FRAME_HELLO) {
		nic_handle_hello(nic, &f);
		return;
	}
	if (f.head->kind == VNET_FRAME_WELCOME) {
		nic_handle_welcome(nic, &f);
		return;
	}
	if (f.head->kind == VNET_FRAME_REFUSE) {
		nic_handle_refuse(nic, &f);
		return;
	}
	row = nic_row_of_frame(nic, &f);
	if (!row)
		return;
	if (f.nacks && !nic_receive_acks(nic, row, &f))
		return;
	if (f.op) {
		nic_ack_rows_add(nic, nic_row_index(nic, row));
		nic_vn_respond(nic, row, &f);
		nic_acks_send_unit(nic, row);
	}
}

void nic_link_renew(struct nic *nic, u64 incarnation)
{
	u32 i;

	nic_store(&nic->hdr->incarnation, incarnation);
	for (i = 0; i < nic_row_high(nic); i++)
		nic_row_renew(nic, &nic->row[i]);
}

/* -------------------------------------------------------------------- time */

void nic_timeout_clock_update(struct nic *nic, u64 now)
{
	const u32 mask = (1u << NIC_TIMEOUT_CLOCK_BITS) - 1;
	u64 next, state = nic_load(&nic->hdr->timeout_clock);
	u32 ms = (u32)(now / 1000000), gap = (ms - (u32)state) & mask;

	/* Another thread has stored a later time. */
	if ((-gap & mask) <= NIC_TIMEOUT_CLOCK_SKEW)
		return;
	next = (state & ~(u64)mask) | (ms & mask);
	if (gap > NIC_TIMEOUT_CLOCK_GAP)
		next += (u64)(gap - NIC_TIMEOUT_CLOCK_GAP) << NIC_TIMEOUT_CLOCK_BITS;
	/* If another thread was faster, its update has the same effect. */
	(void)__atomic_compare_exchange_n(&nic->hdr->timeout_clock, &state, next, false,
					  __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* Without the row's lock: callers that act on the result check again under the lock. */
static bool nic_row_is_quiet(const struct nic_row *row, u64 now)
{
	return !nic_load(&row->busy) && !nic_load(&row->owed) &&
	       nic_load(&row->state) != NIC_ROW_CALLING &&
	       now > nic_load(&row->heard) + NIC_QUIET_NS;
}

/* Send delayed acknowledgements when their time is over; *next: when that is. */
static void nic_row_delayed_acks(struct nic *nic, struct nic_row *row, u64 now, u64 *next)
{
	const struct nic_settings *set = &nic->hdr->settings;
	u64 end;

	if (!nic_load(&row->owed))
		return;
	end = nic_load(&row->owed_since) + set->ack_delay * 1000ull + 1;
	if (now >= end)
		nic_acks_send(nic, row);
	else if (nic_load(&set->ack_unit) && end < *next)
		*next = end;
}

/* Check one row's timers, without its lock. Returns whether the row must be looked at again. */
static bool nic_row_tick(struct nic *nic, struct nic_row *row, u64 now, u64 *next)
{
	u64 due = nic_load(&row->due);

	if (nic_load(&row->state) == NIC_ROW_CALLING || (due && due <= now))
		nic_row_timers(nic, row, now);
	nic_row_delayed_acks(nic, row, now, next);
	due = nic_load(&row->due);
	if (due && nic_load(&row->busy) && due < *next)
		*next = due > now + NIC_VN_SOON_NS ? due : now + NIC_VN_SOON_NS;
	/* A call that no packet waits for ends after a while. */
	if (nic_load(&row->state) == NIC_ROW_CALLING && nic_load(&row->calls) > 64 &&
	    !nic_load(&row->busy))
		return false;
	return !nic_row_is_quiet(row, now);
}

bool nic_vn_tick(struct nic *nic, u64 now, u64 *next)
{
	u64 active = nic_load(&nic->hdr->row_active);
	/* A process may die during this function, so only the agent clears bits of row_active. */
	bool agent = nic->space == NIC_SPACE_POINTER;
	u64 still = 0;
	u32 i, high;

	if (!active)
		return false;
	/* Timers are being checked: advance the timeout clock. */
	(void)nic_timeout_clock(nic, now);
	plat_step(NIC_STEP_TICK);
	/*
	 * Cleared before the rows are looked at; nic_row_activate() does the reverse. Bits that
	 * were set since the load above must be included, because they are lost from the mask.
	 */
	if (agent)
		active |= nic_xchg(&nic->hdr->row_active, 0);
	high = nic_load(&nic->hdr->row_high);
	if (high > nic->max_row)
		high = nic->max_row;
	for (i = 0; i < high; i++) {
		if (!(active & 1ull << (i % 64)) || nic_load(&nic->row[i].state) == NIC_ROW_FREE)
			continue;
		if (nic_row_tick(nic, &nic->row[i], now, next))
			still |= 1ull << (i % 64);
	}
	plat_flush(nic);
	if (still && agent)
		nic_fetch_or(&nic->hdr->row_active, still);
	return still != 0;
}

void nic_vn_idle(struct nic *nic)
{
	u64 now, next = ~0ull;

	if (likely(!nic_load(&nic->hdr->row_active) && !nic_load(&nic->ack_nrows)))
		return;
	now = plat_clock();
	if (nic_load(&nic->ack_nrows) &&
	    now - nic_load(&nic->ack_rows_since) > nic->hdr->settings.ack_delay * 1000ull) {
		nic_acks_flush(nic);
		plat_flush(nic);
	}
	if (now - nic_load(&nic->looked) < NIC_VN_LOOK_NS)
		return;
	nic_store(&nic->looked, now);
	nic_vn_tick(nic, now, &next);
}
