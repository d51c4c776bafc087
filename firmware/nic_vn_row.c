// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Other NICs: a row of the channel tables for each that there is traffic with,
 * and how two NICs make themselves known to each other.
 *
 * A row begins when a queue pair is given a path, or when a NIC that knows our
 * incarnation calls. A caller that does not is told it, and no more: so an old
 * frame, or one that only claims to come from somewhere, makes no state.
 */
#include "nic_lid.h"

#define NIC_CALL_FIRST_NS 1000000ull
/* Calls are repeated at intervals that double up to 2^8 times the first. */
#define NIC_CALL_SHIFT_MAX 8u
/* Frames that a row may have under way before any of them was answered. */
#define NIC_FIRST_CREDIT (8u << 8)

static u32 nic_gid_hash(const struct nic *nic, const u8 *gid, const u8 *own_gid)
{
	u64 a[2], b[2], h;

	memcpy(a, gid, sizeof(a));
	memcpy(b, own_gid, sizeof(b));
	h = (a[0] ^ (a[1] * 0x9e3779b97f4a7c15ull)) + (b[0] ^ (b[1] << 7 | b[1] >> 57));
	h *= 0xff51afd7ed558ccdull;
	return (u32)(h >> 33) & (nic->max_row - 1);
}

static bool nic_gid_equal(const u8 *a, const u8 *b)
{
	u64 x[2], y[2];

	memcpy(x, a, sizeof(x));
	memcpy(y, b, sizeof(y));
	return x[0] == y[0] && x[1] == y[1];
}

/* Rows only ever come, so that their chains are read without a lock. */
static u32 nic_row_search(struct nic *nic, const u8 *gid, const u8 *own_gid)
{
	u32 steps, at = nic_load_acquire(&nic->row_hash[nic_gid_hash(nic, gid, own_gid)]);

	for (steps = 0; at && at <= nic->max_row && steps < nic->max_row; steps++) {
		struct nic_row *row = &nic->row[at - 1];

		if (nic_gid_equal(row->gid, gid) && nic_gid_equal(row->own_gid, own_gid))
			return at - 1;
		at = nic_load_acquire(&row->hash_next);
	}
	return NIC_NONE;
}

static void nic_row_fill(struct nic *nic, struct nic_row *row, const u8 *gid, const u8 *own_gid,
			 const struct nic_address *address)
{
	memset(row, 0, sizeof(*row));
	memcpy(row->gid, gid, sizeof(row->gid));
	memcpy(row->own_gid, own_gid, sizeof(row->own_gid));
	row->address = *address;
	row->peer_row = NIC_NONE;
	row->payload = VNET_WIRE_MIN_PAYLOAD;
	row->credit = NIC_FIRST_CREDIT;
	row->rtt = nic->hdr->settings.rto_min / 2;
	row->state = NIC_ROW_CALLING;
}

static u32 nic_row_make(struct nic *nic, const u8 *gid, const u8 *own_gid,
			const struct nic_address *address)
{
	u32 *chain = &nic->row_hash[nic_gid_hash(nic, gid, own_gid)];
	u32 n, high;

	if (!nic_row_lock(nic, &nic->hdr->row_lock, 1))
		return NIC_NONE;
	n = nic_row_search(nic, gid, own_gid);
	high = nic_load(&nic->hdr->row_high);
	if (n == NIC_NONE && high < nic->max_row) {
		n = high;
		nic_row_fill(nic, &nic->row[n], gid, own_gid, address);
		nic->row[n].hash_next = *chain;
		nic_store_release(&nic->hdr->row_high, n + 1);
		nic_store_release(chain, n + 1);
	}
	nic_unlock(&nic->hdr->row_lock);
	if (n == NIC_NONE)
		nic_count(nic, no_row);
	return n;
}

u32 nic_row_find(struct nic *nic, const u8 *gid, const u8 *own_gid)
{
	struct nic_address address;
	u32 n = nic_row_search(nic, gid, own_gid);

	if (likely(n != NIC_NONE))
		return n;
	if (!plat_resolve(nic, gid, &address))
		return NIC_NONE;
	return nic_row_make(nic, gid, own_gid, &address);
}

void nic_meet(struct nic *nic, const u8 *gid)
{
	u32 n, last = nic->hdr->ngids - 1;
	u8 own[16];

	if (!nic->max_row)
		return;
	/* The link's own address comes last, and is what others most likely know us by. */
	memcpy(own, nic->hdr->gid[last < NIC_MAX_GIDS ? last : 0], sizeof(own));
	if (nic->hdr->lid)
		nic_lid_gid((u16)nic->hdr->lid, own);
	/* Of those who may be there; half of the table is for those who are spoken to. */
	if (nic_row_search(nic, gid, own) == NIC_NONE && nic_row_high(nic) >= nic->max_row / 2)
		return;
	n = nic_row_find(nic, gid, own);
	if (n != NIC_NONE)
		nic_row_activate(nic, &nic->row[n]);
}

void nic_row_activate(struct nic *nic, const struct nic_row *row)
{
	struct nic_header *hdr = nic->hdr;
	u64 bit = 1ull << (nic_row_index(nic, row) % 64);

	if (!(nic_load(&hdr->row_active) & bit))
		nic_fetch_or(&hdr->row_active, bit);
	else
		nic_barrier();
	/* Awake or dozing, the NIC processor sees it at its next tick. */
	if (nic_load(&hdr->processor_sleeps) == NIC_SLEEPS &&
	    nic_xchg(&hdr->processor_sleeps, NIC_AWAKE)) {
		nic_count(nic, kicks);
		plat_kick(nic);
	}
}

/* ------------------------------------------------------------ who are you? */

static void nic_hello_fill(struct nic *nic, struct vnet_frame *frame, const u8 *gid,
			   const u8 *own_gid)
{
	struct vnet_frame_hello *hello = (struct vnet_frame_hello *)(frame + 1);

	memcpy(hello->src_gid, own_gid, sizeof(hello->src_gid));
	memcpy(hello->dst_gid, gid, sizeof(hello->dst_gid));
	hello->payload = nic_to_le32(nic->hdr->settings.payload);
	hello->window = nic_to_le32(nic->hdr->settings.window);
}

/* With the row's lock held. */
static void nic_row_greet(struct nic *nic, struct nic_row *row, u8 kind)
{
	struct vnet_frame *frame = nic_frame_begin(nic, row, kind);

	if (!frame)
		return;
	nic_hello_fill(nic, frame, row->gid, row->own_gid);
	nic_frame_send(nic, &row->address, sizeof(*frame) + sizeof(struct vnet_frame_hello));
}

void nic_row_call(struct nic *nic, struct nic_row *row, u64 now)
{
	if (row->state == NIC_ROW_CALLING)
		nic_row_probe(nic, row, now);
}

void nic_row_probe(struct nic *nic, struct nic_row *row, u64 now)
{
	u32 shift = row->calls < NIC_CALL_SHIFT_MAX ? row->calls : NIC_CALL_SHIFT_MAX;

	if (now < row->call_at)
		return;
	nic_store(&row->calls, row->calls + 1);
	row->call_at = now + (NIC_CALL_FIRST_NS << shift);
	nic_row_greet(nic, row, VNET_FRAME_HELLO);
}

/* What was expected of its last life does not count in a new one. */
void nic_row_renew(struct nic *nic, struct nic_row *row)
{
	u32 i;

	memset(row->rx, 0, sizeof(row->rx));
	nic_tx_renew(nic, row);
	/* It counts from the beginning, too. */
	for (i = 0; i < VNET_WIRE_CHANNELS; i++)
		row->tx[i].seq = row->busy & 1ull << i ? 1 : 0;
	nic_store(&row->owed, 0);
	nic_store(&row->nowed, 0);
	row->credit = NIC_FIRST_CREDIT;
	nic_store(&row->calls, 0);
	row->call_at = 0;
	row->peer_row = NIC_NONE;
	nic_store(&row->state, NIC_ROW_CALLING);
}

/*
 * The lock is held. false: the frame is of an earlier life than the one that is
 * known; a later one begins anew.
 */
static bool nic_row_is_life(struct nic *nic, struct nic_row *row, u64 incarnation)
{
	if (incarnation == row->incarnation)
		return true;
	if (!incarnation || incarnation < row->incarnation) {
		nic_count(nic, bad_incarnation);
		return false;
	}
	if (row->incarnation)
		nic_row_renew(nic, row);
	nic_store(&row->incarnation, incarnation);
	return true;
}

static void nic_row_agree(struct nic *nic, struct nic_row *row, const struct nic_arrived_frame *f)
{
	u32 payload = nic_le32(f->hello->payload);
	u32 window = nic_le32(f->hello->window);

	if (payload > nic->hdr->settings.payload)
		payload = nic->hdr->settings.payload;
	row->payload = payload < NIC_MAX_PAYLOAD ? payload : NIC_MAX_PAYLOAD;
	row->window = window > payload ? window : payload;
	row->peer_row = nic_le32(f->head->src_row);
	row->address = *f->from;
	nic_store(&row->calls, 0);
	nic_store(&row->heard, plat_clock());
	nic_store(&row->lonely, 0);
	nic_store(&row->state, NIC_ROW_UP);
}

/* To a caller that does not know our life: what it is, and no state of ours. */
static void nic_tell_life(struct nic *nic, const struct nic_arrived_frame *f, const u8 *gid,
			  const u8 *own_gid)
{
	struct vnet_frame *frame = nic_frame_begin(nic, NULL, VNET_FRAME_WELCOME);

	if (!frame)
		return;
	frame->dst_incarnation = f->head->src_incarnation;
	frame->dst_row = f->head->src_row;
	nic_hello_fill(nic, frame, gid, own_gid);
	nic_frame_send(nic, f->from, sizeof(*frame) + sizeof(struct vnet_frame_hello));
	plat_flush(nic);
}

/* Who has proven to be of one group of nodes does not speak for another's. */
static bool nic_speaks_for(struct nic *nic, const struct nic_address *from, const u8 *gid)
{
	struct nic_address at;

	return plat_are_mates(nic, from, plat_resolve(nic, gid, &at) ? &at : NULL);
}

/* What was believed of where it is counts no more, nor what life it has. */
static void nic_row_check(struct nic *nic, struct nic_row *row)
{
	if (nic_load(&row->state) != NIC_ROW_UP || !nic_lock(nic, &row->lock))
		return;
	if (row->state == NIC_ROW_UP && !nic_speaks_for(nic, &row->address, row->gid)) {
		nic_row_renew(nic, row);
		nic_store(&row->incarnation, 0);
		(void)plat_resolve(nic, row->gid, &row->address);
	}
	nic_unlock(&row->lock);
}

void nic_link_check(struct nic *nic)
{
	u32 i;

	for (i = 0; i < nic_row_high(nic); i++)
		nic_row_check(nic, &nic->row[i]);
}

static bool nic_may_be(struct nic *nic, const struct nic_arrived_frame *f)
{
	if (likely(nic_speaks_for(nic, f->from, f->hello->src_gid)))
		return true;
	nic_count(nic, bad_gid);
	return false;
}

void nic_row_hello(struct nic *nic, const struct nic_arrived_frame *f)
{
	const struct vnet_frame_hello *hello = f->hello;
	struct nic_row *row;
	u32 n;

	if (!nic_may_be(nic, f))
		return;
	if (!nic_is_own_gid(nic, hello->dst_gid)) {
		nic_count(nic, drop_address);
		return;
	}
	if (nic_le64(f->head->dst_incarnation) != nic_load(&nic->hdr->incarnation)) {
		nic_tell_life(nic, f, hello->src_gid, hello->dst_gid);
		return;
	}
	n = nic_row_search(nic, hello->src_gid, hello->dst_gid);
	if (n == NIC_NONE)
		n = nic_row_make(nic, hello->src_gid, hello->dst_gid, f->from);
	row = nic_row_at(nic, n);
	if (!row)
		return;
	if (!nic_row_lock(nic, &row->lock, 1))
		return;
	if (nic_row_is_life(nic, row, nic_le64(f->head->src_incarnation))) {
		nic_row_agree(nic, row, f);
		nic_row_greet(nic, row, VNET_FRAME_WELCOME);
	}
	nic_unlock(&row->lock);
	/* Not under a lock: it is a call of the system's, in which one may be stopped. */
	plat_flush(nic);
}

void nic_row_welcome(struct nic *nic, const struct nic_arrived_frame *f)
{
	struct nic_row *row = nic_row_at(nic, nic_le32(f->head->dst_row));

	if (!nic_may_be(nic, f))
		return;
	if (nic_le64(f->head->dst_incarnation) != nic_load(&nic->hdr->incarnation)) {
		nic_count(nic, bad_incarnation);
		return;
	}
	if (!row || nic_load(&row->state) == NIC_ROW_FREE ||
	    !nic_gid_equal(row->gid, f->hello->src_gid) ||
	    !nic_gid_equal(row->own_gid, f->hello->dst_gid)) {
		nic_count(nic, bad_row);
		return;
	}
	if (!nic_row_lock(nic, &row->lock, 1))
		return;
	if (nic_row_is_life(nic, row, nic_le64(f->head->src_incarnation))) {
		if (f->head->src_row != nic_to_le32(NIC_NONE)) {
			nic_row_agree(nic, row, f);
		} else if (row->state == NIC_ROW_CALLING) {
			/* Now that its life is known, it can be asked to be our peer. */
			row->call_at = 0;
			nic_row_call(nic, row, plat_clock());
		}
	}
	nic_unlock(&row->lock);
	plat_flush(nic);
}

/* Without the row's lock, a look: what depends on it asks again. */
static bool nic_row_is_up(const struct nic_row *row, const struct nic_arrived_frame *f)
{
	return nic_load(&row->state) == NIC_ROW_UP &&
	       nic_load(&row->incarnation) == nic_le64(f->head->src_incarnation);
}

bool nic_row_is_alive(struct nic *nic, const struct nic_row *row, const struct nic_arrived_frame *f)
{
	if (likely(nic_row_is_up(row, f) || plat_broken(NIC_RULE_LIFE)))
		return true;
	nic_count(nic, bad_incarnation);
	return false;
}

static bool nic_address_equal(const struct nic_address *a, const struct nic_address *b)
{
	u64 x[sizeof(*a) / sizeof(u64)], y[sizeof(*b) / sizeof(u64)];

	memcpy(x, a, sizeof(x));
	memcpy(y, b, sizeof(y));
	return ((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]) | (x[3] ^ y[3])) == 0;
}

/* Without the row's lock, too: an address in the midst of a change is asked about once more. */
static bool nic_is_from(struct nic *nic, const struct nic_row *row,
			const struct nic_arrived_frame *f)
{
	if (likely(nic_address_equal(&row->address, f->from) ||
		   plat_are_mates(nic, f->from, &row->address)))
		return true;
	nic_count(nic, bad_gid);
	return false;
}

/*
 * A frame whose sender thinks of an earlier life of ours, or of a row that we do
 * not have: it learns better from a WELCOME.
 */
struct nic_row *nic_row_of_frame(struct nic *nic, const struct nic_arrived_frame *f)
{
	struct nic_row *row = nic_row_at(nic, nic_le32(f->head->dst_row));
	bool current = nic_le64(f->head->dst_incarnation) == nic_load(&nic->hdr->incarnation);

	if (likely(row && ((current && nic_row_is_up(row, f)) ||
			   (nic_load(&row->state) == NIC_ROW_UP && plat_broken(NIC_RULE_LIFE)))))
		return nic_is_from(nic, row, f) ? row : NULL;
	if (!current)
		nic_count(nic, bad_incarnation);
	else
		nic_count(nic, bad_row);
	return NULL;
}
