// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Rows of the channel tables, one for each other NIC with traffic: look-up, creation, reclaiming. A
 * row is found by a hash of both GIDs, or by the number in a frame. If the table is full, the row
 * of a quiet NIC is reclaimed for the new one (nic_row_reclaim()).
 */
#include "layout/wake.h"
#include "address/address.h"
#include "vn/handshake.h"

/* Initial congestion window of a row, in channels (NIC_CREDIT_ONE each). */
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

bool nic_row_is_between(const struct nic_row *row, const u8 *gid, const u8 *own_gid)
{
	return nic_load(&row->state) != NIC_ROW_FREE && nic_equal16(row->gid, gid) &&
	       nic_equal16(row->own_gid, own_gid);
}

bool nic_address_equal(const struct nic_address *a, const struct nic_address *b)
{
	u64 x[sizeof(*a) / sizeof(u64)], y[sizeof(*b) / sizeof(u64)];

	memcpy(x, a, sizeof(x));
	memcpy(y, b, sizeof(y));
	return ((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]) | (x[3] ^ y[3])) == 0;
}

/*
 * Chains are read without a lock. A row that is reclaimed meanwhile may lead into another chain,
 * which hides the rows behind it, so a caller that finds nothing must look again under row_lock.
 */
static u32 nic_row_search(struct nic *nic, const u8 *gid, const u8 *own_gid)
{
	u32 steps, at = nic_load_acquire(&nic->row_hash[nic_gid_hash(nic, gid, own_gid)]);

	for (steps = 0; at && at <= nic->max_row && steps < nic->max_row; steps++) {
		struct nic_row *row = &nic->row[at - 1];

		if (nic_row_is_between(row, gid, own_gid))
			return at - 1;
		at = nic_load_acquire(&row->hash_next);
	}
	return NIC_NONE;
}

/* ------------------------------------------------------------- begin and end */

/* Draw the row's random numbers. false: the host has no random bytes, the row is unchanged. */
static bool nic_row_draw(struct nic *nic, struct nic_row *row)
{
	u8 share[VNET_WIRE_NONCE_SIZE];
	u16 generation;

	if (!plat_random(nic, &generation, sizeof(generation)) ||
	    !plat_random(nic, share, sizeof(share)))
		return false;
	/* Not the present number, and never NIC_NONE. */
	if (generation == row->id >> NIC_ROW_ID_SHIFT || generation == 0xffff)
		generation = (u16)((row->id >> NIC_ROW_ID_SHIFT) ^ 1);
	nic_store(&row->id, (u32)generation << NIC_ROW_ID_SHIFT | nic_row_index(nic, row));
	memcpy(row->share, share, sizeof(row->share));
	return true;
}

static bool nic_row_fill(struct nic *nic, struct nic_row *row, const u8 *gid, const u8 *own_gid,
			 const struct nic_address *address)
{
	u32 id = row->id;

	memset((u8 *)row + sizeof(row->lock), 0, sizeof(*row) - sizeof(row->lock));
	row->id = id;
	if (!nic_row_draw(nic, row))
		return false;
	memcpy(row->gid, gid, sizeof(row->gid));
	memcpy(row->own_gid, own_gid, sizeof(row->own_gid));
	row->address = *address;
	row->peer_row = NIC_NONE;
	row->payload = VNET_WIRE_MIN_PAYLOAD;
	row->credit = NIC_FIRST_CREDIT;
	row->rtt = nic->hdr->settings.rto_min / 2;
	row->heard = plat_clock();
	return true;
}

void nic_row_restart(struct nic *nic, struct nic_row *row)
{
	u32 i;

	memset(row->rx, 0, sizeof(row->rx));
	nic_tx_renew(nic, row);
	/* The peer's channels start again, too. */
	for (i = 0; i < VNET_WIRE_CHANNELS; i++)
		row->tx[i].seq = row->busy & 1ull << i ? 1 : 0;
	nic_store(&row->owed, 0);
	nic_store(&row->nowed, 0);
	row->credit = NIC_FIRST_CREDIT;
}

void nic_row_renew(struct nic *nic, struct nic_row *row)
{
	nic_row_restart(nic, row);
	(void)nic_row_draw(nic, row);
	nic_store(&row->calls, 0);
	row->call_at = 0;
	row->claim_since = 0;
	row->local = 0;
	row->refused = 0;
	memset(row->cookie, 0, sizeof(row->cookie));
	memset(row->secret_was, 0, sizeof(row->secret_was));
	row->peer_row = NIC_NONE;
	nic_store(&row->state, NIC_ROW_CALLING);
}

/* ------------------------------------------------------------------ reclaiming */

/*
 * Is nothing outstanding by this row? To be checked again under the row's lock if the caller does
 * not hold it. QPs in the row's queue do not count: while no channel is busy, they are destroyed,
 * or will find another row.
 */
static bool nic_row_is_unused(const struct nic_row *row)
{
	u32 i;

	if (nic_load(&row->busy) || nic_load(&row->owed))
		return false;
	for (i = 0; i < VNET_WIRE_CHANNELS; i++) {
		if (nic_load(&row->rx[i].busy))
			return false;
	}
	return true;
}

/* Number of rows at this address; a NIC has one for each pair of GIDs. */
static u32 nic_rows_at(const struct nic *nic, const struct nic_address *address)
{
	u32 i, n = 0;

	for (i = 0; i < nic->max_row; i++)
		n += nic_address_equal(&nic->row[i].address, address);
	return n;
}

/* Time of the last frame from its NIC, or of the last accepted packet; NIC clock, ns. */
static u64 nic_row_used_at(const struct nic_row *row)
{
	u64 heard = nic_load(&row->heard), owed = nic_load(&row->owed_since);

	return heard > owed ? heard : owed;
}

/*
 * The unused row whose NIC was quiet for longest. An address that has a quarter of the table loses
 * one of its own rows, so that a peer which invents GIDs cannot take more.
 */
static struct nic_row *nic_row_quietest(struct nic *nic, const struct nic_address *address,
					const u64 *tried)
{
	bool crowd = nic_rows_at(nic, address) >= (nic->max_row + 3) / 4;
	struct nic_row *best = NULL;
	u32 i;

	for (i = 0; i < nic->max_row; i++) {
		struct nic_row *row = &nic->row[i];

		if (tried[i / 64 % NIC_ROW_MAP_WORDS] & 1ull << i % 64)
			continue;
		if (crowd && !nic_address_equal(&row->address, address))
			continue;
		if ((!best || nic_row_used_at(row) < nic_row_used_at(best)) &&
		    nic_row_is_unused(row))
			best = row;
	}
	return best;
}

/* Set the bits of rows that connections use; these are not reclaimed. */
static void nic_rows_connected(struct nic *nic, u64 *rows)
{
	u32 i;

	for (i = nic_qp_next(nic, 0); i < nic->max_qp; i = nic_qp_next(nic, i + 1)) {
		u32 n = nic_load(&nic->qp[i].row);

		if (n < nic->max_row && nic_load(&nic->qp[i].qpn))
			rows[n / 64 % NIC_ROW_MAP_WORDS] |= 1ull << n % 64;
	}
}

/* Does a connection use the row? nic_vn_connect() does the reverse. */
static bool nic_row_is_connected(struct nic *nic, const struct nic_row *row)
{
	u32 i, n = nic_row_index(nic, row);

	for (i = nic_qp_next(nic, 0); i < nic->max_qp; i = nic_qp_next(nic, i + 1)) {
		if (nic_load(&nic->qp[i].row) == n && nic_load(&nic->qp[i].qpn))
			return true;
	}
	return false;
}

static void nic_row_unlink(struct nic *nic, struct nic_row *row)
{
	u32 *at = &nic->row_hash[nic_gid_hash(nic, row->gid, row->own_gid)];
	u32 steps, n = nic_row_index(nic, row) + 1;

	for (steps = 0; *at && *at <= nic->max_row && steps < nic->max_row; steps++) {
		if (*at == n) {
			nic_store_release(at, row->hash_next);
			return;
		}
		at = &nic->row[*at - 1].hash_next;
	}
}

/* Take an unused row out of its chain. false: it is in use after all. The caller holds row_lock. */
static bool nic_row_evict(struct nic *nic, struct nic_row *row)
{
	u32 state;

	if (!nic_trylock(nic, &row->lock))
		return false;
	state = row->state;
	nic_store(&row->state, NIC_ROW_FREE);
	/* Pairs with the barrier in nic_vn_connect(): one of the two sees the other's store. */
	nic_barrier();
	if (!nic_row_is_unused(row) || nic_row_is_connected(nic, row)) {
		nic_store(&row->state, state);
		nic_unlock(&row->lock);
		return false;
	}
	nic_row_unlink(nic, row);
	nic_fetch_add(&nic->hdr->counters.reclaimed, 1);
	nic_unlock(&row->lock);
	return true;
}

/* Reclaim a row for a NIC at this address; NULL: all are in use. The caller holds row_lock. */
static struct nic_row *nic_row_reclaim(struct nic *nic, const struct nic_address *address)
{
	u64 tried[NIC_ROW_MAP_WORDS] = { 0 };
	struct nic_row *row;
	u32 i, n;

	nic_rows_connected(nic, tried);
	for (i = 0; i < NIC_RECLAIM_TRIES; i++) {
		row = nic_row_quietest(nic, address, tried);
		if (!row)
			return NULL;
		if (nic_row_evict(nic, row))
			return row;
		n = nic_row_index(nic, row);
		tried[n / 64 % NIC_ROW_MAP_WORDS] |= 1ull << n % 64;
	}
	return NULL;
}

/* ------------------------------------------------------------------ finding */

static struct nic_row *nic_row_alloc(struct nic *nic, const struct nic_address *address)
{
	u32 high = nic_load(&nic->hdr->row_high);

	return high < nic->max_row ? &nic->row[high] : nic_row_reclaim(nic, address);
}

u32 nic_row_make(struct nic *nic, const u8 *gid, const u8 *own_gid,
		 const struct nic_address *address, u32 tries)
{
	u32 *chain = &nic->row_hash[nic_gid_hash(nic, gid, own_gid)];
	struct nic_row *row = NULL;
	u32 n;

	if (!nic_row_lock(nic, &nic->hdr->row_lock, tries))
		return NIC_NONE;
	n = nic_row_search(nic, gid, own_gid);
	if (n == NIC_NONE)
		row = nic_row_alloc(nic, address);
	if (row && nic_row_fill(nic, row, gid, own_gid, address)) {
		n = nic_row_index(nic, row);
		row->hash_next = *chain;
		/* Stored when the row is complete: look-ups find it by its contents. */
		nic_store_release(&row->state, NIC_ROW_CALLING);
		if (n >= nic_load(&nic->hdr->row_high))
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
	return nic_row_make(nic, gid, own_gid, &address, NIC_ROW_TRIES);
}

void nic_peer_call(struct nic *nic, const u8 *gid)
{
	u32 n, link_gid = nic->hdr->link_gid ? nic->hdr->link_gid : nic->hdr->ngids - 1;
	u8 own[16];

	if (!nic->max_row)
		return;
	/* Peers most likely know this NIC by the link's own address. */
	memcpy(own, nic->hdr->gid[link_gid < NIC_MAX_GIDS ? link_gid : 0], sizeof(own));
	if (nic->hdr->lid)
		nic_lid_gid((u16)nic->hdr->lid, own);
	/* Half of the table is reserved for NICs with traffic. */
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
	nic_wake_for_tick(nic);
}

/* ------------------------------------------------------- the sender of a frame */

static bool nic_secret_is_any(const u8 *secret)
{
	static const u8 none[VNET_WIRE_SECRET_SIZE];

	return !nic_equal16(secret, none);
}

/* Is the frame proven by a MAC, or by the present or former secret of this row? */
static bool nic_row_is_proven(const struct nic_row *row, const struct nic_arrived_frame *f)
{
	const u8 *secret = f->head->secret;

	if (f->head->proof == VNET_PROOF_MAC || plat_broken(NIC_RULE_LIFE))
		return true;
	return likely(nic_load(&row->local)) &&
	       (likely(nic_equal16(row->secret_in, secret)) ||
		(nic_secret_is_any(secret) && nic_equal16(row->secret_was, secret)));
}

/* Without the row's lock: callers check again under the lock before they rely on the result. */
static bool nic_row_is_up(const struct nic_row *row, const struct nic_arrived_frame *f)
{
	return nic_load(&row->state) == NIC_ROW_UP &&
	       nic_load(&row->incarnation) == nic_le64(f->head->src_incarnation) &&
	       nic_load(&row->id) == nic_le32(f->head->dst_row) &&
	       nic_load(&row->peer_row) == nic_le32(f->head->src_row);
}

bool nic_row_is_alive(struct nic *nic, const struct nic_row *row, const struct nic_arrived_frame *f)
{
	if (likely(nic_row_is_up(row, f) || plat_broken(NIC_RULE_LIFE)))
		return true;
	nic_count(nic, bad_incarnation);
	return false;
}

/*
 * Without the row's lock. If the address is just being changed, the frame is dropped and sent
 * again.
 */
static bool nic_is_from(struct nic *nic, const struct nic_row *row,
			const struct nic_arrived_frame *f)
{
	if (unlikely(!nic_row_is_proven(row, f))) {
		nic_count(nic, bad_proof);
		return false;
	}
	if (likely(nic_address_equal(&row->address, f->from) ||
		   plat_same_key_group(nic, f->from, &row->address)))
		return true;
	nic_count(nic, bad_gid);
	return false;
}

struct nic_row *nic_row_of_frame(struct nic *nic, const struct nic_arrived_frame *f)
{
	struct nic_row *row = nic_row_at(nic, nic_row_index_of(nic_le32(f->head->dst_row)));
	bool current = nic_le64(f->head->dst_incarnation) == nic_load(&nic->hdr->incarnation);

	if (likely(row && ((current && nic_row_is_up(row, f)) ||
			   (nic_load(&row->state) == NIC_ROW_UP && plat_broken(NIC_RULE_LIFE)))))
		return nic_is_from(nic, row, f) ? row : NULL;
	if (!current || (row && nic_load(&row->state) == NIC_ROW_UP &&
			 nic_load(&row->incarnation) != nic_le64(f->head->src_incarnation)))
		nic_count(nic, bad_incarnation);
	else
		nic_count(nic, bad_row);
	return NULL;
}
