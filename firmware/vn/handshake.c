// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The handshake between two NICs (doc/protocol.md, "Handshake"). Its frames carry the MAC of a
 * common key. State is created or changed only for a NIC that has proven to receive at its address:
 *
 *   - The called NIC keeps no state before the caller returns a cookie, which was sent to the
 *     caller's address.
 *   - The caller accepts an answer only from the address that it called, and only with the
 *     nonce of its call.
 *   - A known NIC is replaced by another incarnation, or found at another address, only if that
 *     NIC answers at the known address, or nobody has answered there for the dead-peer time
 *     (setting `unreachable`).
 *
 * The cookie is as in WireGuard (J. Donenfeld, NDSS 2017, 5.4.7), and in IKE before.
 */
#include "address/address.h"
#include "vn/handshake.h"

#define NIC_CALL_FIRST_NS 1000000ull
/* The interval of calls doubles, up to 2^8 times the first one. */
#define NIC_CALL_SHIFT_MAX 8u
/* A cookie is valid in the period in which it was made, and in the next one. */
#define NIC_COOKIE_NS 8000000000ull
/* Unanswered calls before another address or incarnation may replace a NIC. */
#define NIC_CLAIM_CALLS 4u
/* A doubt starts again if this time has passed since its last call was due to be repeated. */
#define NIC_CLAIM_REST_NS 1000000000ull

/* ------------------------------------------------------------------- secrets */

/* Input of the cookie's MAC. */
struct nic_cookie_text {
	struct nic_address from;
	u8 src_gid[16];
	u8 dst_gid[16];
	u8 nonce[VNET_WIRE_NONCE_SIZE];
	u64 life;
	u64 period;
};
static_assert(sizeof(struct nic_cookie_text) % 16 == 0, "plat_secret() takes whole blocks");

static bool nic_cookie_make(struct nic *nic, const struct nic_arrived_frame *f, u64 period,
			    u8 cookie[VNET_WIRE_COOKIE_SIZE])
{
	struct nic_cookie_text text = { .from = *f->from };

	memcpy(text.src_gid, f->hello->src_gid, sizeof(text.src_gid));
	memcpy(text.dst_gid, f->hello->dst_gid, sizeof(text.dst_gid));
	memcpy(text.nonce, f->hello->nonce, sizeof(text.nonce));
	text.life = nic_le64(f->head->src_incarnation);
	text.period = period;
	return plat_secret(nic, NULL, 0, &text, sizeof(text), cookie);
}

static bool nic_cookie_ok(struct nic *nic, const struct nic_arrived_frame *f)
{
	u64 period = plat_clock() / NIC_COOKIE_NS;
	u8 cookie[VNET_WIRE_COOKIE_SIZE];

	return (nic_cookie_make(nic, f, period, cookie) && nic_equal16(cookie, f->hello->cookie)) ||
	       (nic_cookie_make(nic, f, period - 1, cookie) &&
		nic_equal16(cookie, f->hello->cookie));
}

/* Derive the secret of one direction from the sender's key and both shares. */
static bool nic_derive(struct nic *nic, const struct nic_row *row, u32 key, const u8 *from,
		       const u8 *to, u8 secret[VNET_WIRE_SECRET_SIZE])
{
	u8 text[2 * VNET_WIRE_NONCE_SIZE];

	memcpy(text, from, VNET_WIRE_NONCE_SIZE);
	memcpy(text + VNET_WIRE_NONCE_SIZE, to, VNET_WIRE_NONCE_SIZE);
	return plat_secret(nic, &row->address, key, text, sizeof(text), secret);
}

/* Derive the row's secrets from the peer's share in f, if both ends agree to use them. */
static void nic_row_derive_secrets(struct nic *nic, struct nic_row *row,
				   const struct nic_arrived_frame *f)
{
	u8 in[VNET_WIRE_SECRET_SIZE], out[VNET_WIRE_SECRET_SIZE];

	memcpy(row->peer_share, f->hello->share, sizeof(row->peer_share));
	row->peer_key = f->proof->key;
	if (!(nic_le32(f->hello->flags) & VNET_HELLO_LOCAL) ||
	    !nic_derive(nic, row, row->peer_key, row->peer_share, row->share, in) ||
	    !nic_derive(nic, row, 0, row->share, row->peer_share, out)) {
		nic_store(&row->local, 0);
		return;
	}
	/* Frames with the former secret may still arrive. */
	if (row->local && !nic_equal16(in, row->secret_in))
		memcpy(row->secret_was, row->secret_in, sizeof(row->secret_was));
	memcpy(row->secret_in, in, sizeof(row->secret_in));
	memcpy(row->secret_out, out, sizeof(row->secret_out));
	nic_store_release(&row->local, 1);
}

/* -------------------------------------------------------------------- frames */

/* Fill the body of a HELLO, WELCOME or REFUSE frame, from own_gid to gid. */
static struct vnet_frame_hello *nic_hello_begin(struct nic *nic, struct vnet_frame *frame,
						const u8 *gid, const u8 *own_gid, const u8 *nonce)
{
	struct vnet_frame_hello *hello = (struct vnet_frame_hello *)(frame + 1);

	memset(hello, 0, sizeof(*hello));
	memcpy(hello->src_gid, own_gid, sizeof(hello->src_gid));
	memcpy(hello->dst_gid, gid, sizeof(hello->dst_gid));
	memcpy(hello->nonce, nonce, sizeof(hello->nonce));
	hello->payload = nic_to_le32(nic->hdr->settings.payload);
	hello->window = nic_to_le32(nic->hdr->settings.window);
	return hello;
}

#define NIC_HELLO_LENGTH (u32)(sizeof(struct vnet_frame) + sizeof(struct vnet_frame_hello))

/* Send HELLO or WELCOME to the peer's row of this number. The caller holds the row's lock. */
static void nic_row_send_hello(struct nic *nic, struct nic_row *row, u8 kind, __le32 peer_row,
			       const u8 *nonce)
{
	struct vnet_frame *frame = nic_frame_begin(nic, row, kind);
	struct vnet_frame_hello *hello;
	u8 secret[VNET_WIRE_SECRET_SIZE];

	if (!frame)
		return;
	frame->dst_row = peer_row;
	hello = nic_hello_begin(nic, frame, row->gid, row->own_gid, nonce);
	memcpy(hello->share, row->share, sizeof(hello->share));
	if (kind == VNET_FRAME_HELLO)
		memcpy(hello->cookie, row->cookie, sizeof(hello->cookie));
	if (nic_derive(nic, row, 0, row->share, row->share, secret))
		hello->flags = nic_to_le32(VNET_HELLO_LOCAL);
	nic_frame_send(nic, &row->address, NIC_HELLO_LENGTH);
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
	/* A new nonce for each series of calls: answers to an earlier series are not accepted. */
	if (!row->calls && !plat_random(nic, row->nonce, sizeof(row->nonce)))
		return;
	nic_store(&row->calls, row->calls + 1);
	nic_store(&row->refused, 0);
	row->call_at = now + (NIC_CALL_FIRST_NS << shift);
	nic_row_send_hello(nic, row, VNET_FRAME_HELLO, nic_to_le32(row->peer_row), row->nonce);
}

/* Answer a caller without a valid cookie with our incarnation and a cookie; keeps no state. */
static void nic_send_cookie(struct nic *nic, const struct nic_arrived_frame *f)
{
	struct vnet_frame *frame = nic_frame_begin(nic, NULL, VNET_FRAME_WELCOME);
	struct vnet_frame_hello *hello;

	if (!frame)
		return;
	frame->dst_incarnation = f->head->src_incarnation;
	frame->dst_row = f->head->src_row;
	hello = nic_hello_begin(nic, frame, f->hello->src_gid, f->hello->dst_gid, f->hello->nonce);
	if (!nic_cookie_make(nic, f, plat_clock() / NIC_COOKIE_NS, hello->cookie))
		return;
	nic_frame_send(nic, f->from, NIC_HELLO_LENGTH);
	plat_flush(nic);
}

/* --------------------------------------------------------------------- identity */

/* A node that has proven the key of one group cannot speak for a NIC of another group. */
static bool nic_may_claim_gid(struct nic *nic, const struct nic_address *from, const u8 *gid)
{
	struct nic_address at;

	return plat_same_key_group(nic, from, plat_resolve(nic, gid, &at) ? &at : NULL);
}

static bool nic_hello_gid_ok(struct nic *nic, const struct nic_arrived_frame *f)
{
	if (likely(nic_may_claim_gid(nic, f->from, f->hello->src_gid)))
		return true;
	nic_count(nic, bad_gid);
	return false;
}

/* The row's peer is another incarnation, or at another address, from now on. */
static void nic_row_set_identity(struct nic *nic, struct nic_row *row, u64 incarnation,
				 const struct nic_address *address)
{
	if (row->incarnation)
		nic_row_renew(nic, row);
	nic_store(&row->incarnation, incarnation);
	row->address = *address;
}

/*
 * A frame claims to be from the row's NIC, but from another address or incarnation. Has no answer
 * come from the known address for the dead-peer time? This function calls that address meanwhile.
 */
static bool nic_row_peer_is_dead(struct nic *nic, struct nic_row *row, u64 now)
{
	u64 timeout = nic->hdr->settings.unreachable * 1000000ull;

	if (!row->claim_since || now > row->call_at + NIC_CLAIM_REST_NS) {
		row->claim_since = now;
		nic_store(&row->calls, 0);
		row->call_at = 0;
	}
	nic_row_activate(nic, row);
	nic_row_probe(nic, row, now);
	return now - row->claim_since > timeout && row->calls >= NIC_CLAIM_CALLS;
}

/*
 * May the caller, which has proven its address by a cookie, be the row's NIC from now on? A later
 * incarnation at the known address is accepted; anything else only if no answer comes from the
 * known address. The caller holds the row's lock.
 */
static bool nic_row_accepts(struct nic *nic, struct nic_row *row, const struct nic_arrived_frame *f)
{
	u64 life = nic_le64(f->head->src_incarnation);
	bool here = nic_address_equal(&row->address, f->from);

	if (!life) {
		nic_count(nic, bad_incarnation);
		return false;
	}
	if (row->incarnation && !(here && life >= row->incarnation) &&
	    !nic_row_peer_is_dead(nic, row, plat_clock())) {
		nic_count(nic, bad_claim);
		return false;
	}
	if (life != row->incarnation || !here)
		nic_row_set_identity(nic, row, life, f->from);
	return true;
}

/* A call of a known peer, with nothing changed: no cookie is needed. */
static bool nic_row_is_unchanged(struct nic_row *row, const struct nic_arrived_frame *f)
{
	return row->state == NIC_ROW_UP && row->incarnation == nic_le64(f->head->src_incarnation) &&
	       row->peer_row == nic_le32(f->head->src_row) &&
	       nic_equal16(row->peer_share, f->hello->share) &&
	       nic_address_equal(&row->address, f->from);
}

static void nic_row_establish(struct nic *nic, struct nic_row *row,
			      const struct nic_arrived_frame *f)
{
	u32 payload = nic_le32(f->hello->payload);
	u32 window = nic_le32(f->hello->window);
	u32 peer_row = nic_le32(f->head->src_row);

	if (payload > nic->hdr->settings.payload)
		payload = nic->hdr->settings.payload;
	row->payload = payload < NIC_MAX_PAYLOAD ? payload : NIC_MAX_PAYLOAD;
	row->window = window > payload ? window : payload;
	/* If the peer's row has restarted, its channels start at 0, and so must ours. */
	if (row->peer_row != NIC_NONE && row->peer_row != peer_row)
		nic_row_restart(nic, row);
	nic_store(&row->peer_row, peer_row);
	nic_row_derive_secrets(nic, row, f);
	nic_store(&row->calls, 0);
	nic_store(&row->heard, plat_clock());
	nic_store(&row->giveups, 0);
	row->claim_since = 0;
	nic_store(&row->refused, 0);
	nic_store(&row->state, NIC_ROW_UP);
}

/*
 * The call is from another row of the same incarnation. Either the peer's row restarted, or this is
 * an old call of a former row. Restarting the channels for an old call would execute packets twice.
 */
static bool nic_row_id_differs(const struct nic_row *row, const struct nic_arrived_frame *f)
{
	return row->peer_row != NIC_NONE && row->peer_row != nic_le32(f->head->src_row);
}

/* Call the peer: its answer names its present row. */
static void nic_row_probe_now(struct nic *nic, struct nic_row *row)
{
	nic_row_activate(nic, row);
	nic_row_probe(nic, row, plat_clock());
}

/* ------------------------------------------------------------ arriving frames */

/* Find or create the row of a caller that has a valid cookie. */
static struct nic_row *nic_row_of_caller(struct nic *nic, const struct nic_arrived_frame *f)
{
	return nic_row_at(nic, nic_row_make(nic, f->hello->src_gid, f->hello->dst_gid, f->from, 1));
}

static bool nic_hello_cookie_ok(struct nic *nic, const struct nic_arrived_frame *f)
{
	return nic_le64(f->head->dst_incarnation) == nic_load(&nic->hdr->incarnation) &&
	       nic_cookie_ok(nic, f);
}

/* A known peer calls to check that this NIC is still there. true: it was answered. */
static bool nic_row_answer_probe(struct nic *nic, const struct nic_arrived_frame *f)
{
	struct nic_row *row = nic_row_at(nic, nic_row_index_of(nic_le32(f->head->dst_row)));
	bool known;

	if (!row || nic_load(&row->id) != nic_le32(f->head->dst_row) ||
	    nic_le64(f->head->dst_incarnation) != nic_load(&nic->hdr->incarnation) ||
	    !nic_lock(nic, &row->lock))
		return false;
	known = row->id == nic_le32(f->head->dst_row) &&
		nic_row_is_between(row, f->hello->src_gid, f->hello->dst_gid) &&
		nic_row_is_unchanged(row, f);
	if (known) {
		nic_row_establish(nic, row, f);
		nic_row_send_hello(nic, row, VNET_FRAME_WELCOME, f->head->src_row, f->hello->nonce);
	}
	nic_unlock(&row->lock);
	return known;
}

void nic_handle_hello(struct nic *nic, const struct nic_arrived_frame *f)
{
	const struct vnet_frame_hello *hello = f->hello;
	struct nic_row *row;

	if (!nic_hello_gid_ok(nic, f))
		return;
	if (!nic_is_own_gid(nic, hello->dst_gid)) {
		nic_count(nic, drop_address);
		return;
	}
	if (nic_row_answer_probe(nic, f)) {
		plat_flush(nic);
		return;
	}
	if (!nic_hello_cookie_ok(nic, f)) {
		nic_send_cookie(nic, f);
		return;
	}
	row = nic_row_of_caller(nic, f);
	if (!row || !nic_row_lock(nic, &row->lock, 1))
		return;
	/* The row may have been reclaimed before its lock was taken. */
	if (nic_row_is_between(row, hello->src_gid, hello->dst_gid) &&
	    nic_row_accepts(nic, row, f)) {
		if (unlikely(nic_row_id_differs(row, f)))
			nic_row_probe_now(nic, row);
		else
			nic_row_establish(nic, row, f);
		nic_row_send_hello(nic, row, VNET_FRAME_WELCOME, f->head->src_row, hello->nonce);
	}
	nic_unlock(&row->lock);
	/* Outside of the lock: sending is a system call, in which a process may be stopped. */
	plat_flush(nic);
}

/* Does the frame answer the row's present series of calls, from the address called? Lock held. */
static bool nic_is_answer(const struct nic_row *row, const struct nic_arrived_frame *f)
{
	return row->id == nic_le32(f->head->dst_row) &&
	       nic_row_is_between(row, f->hello->src_gid, f->hello->dst_gid) && row->calls &&
	       nic_equal16(row->nonce, f->hello->nonce) &&
	       nic_address_equal(&row->address, f->from);
}

/* The row's lock is held. */
static void nic_row_apply_welcome(struct nic *nic, struct nic_row *row,
				  const struct nic_arrived_frame *f)
{
	u64 life = nic_le64(f->head->src_incarnation);

	if (life != row->incarnation)
		nic_row_set_identity(nic, row, life, f->from);
	else if (f->head->src_row != nic_to_le32(NIC_NONE)) {
		nic_row_establish(nic, row, f);
		return;
	}
	/* The peer's incarnation is known now: call again, with its cookie. */
	row->claim_since = 0;
	memcpy(row->cookie, f->hello->cookie, sizeof(row->cookie));
	row->call_at = 0;
	nic_row_probe(nic, row, plat_clock());
}

/* Find and lock the row that an answer is for; NULL: none, counted. */
static struct nic_row *nic_row_of_answer(struct nic *nic, const struct nic_arrived_frame *f)
{
	struct nic_row *row = nic_row_at(nic, nic_row_index_of(nic_le32(f->head->dst_row)));

	if (nic_le64(f->head->dst_incarnation) != nic_load(&nic->hdr->incarnation)) {
		nic_count(nic, bad_incarnation);
		return NULL;
	}
	if (!row) {
		nic_count(nic, bad_row);
		return NULL;
	}
	return nic_row_lock(nic, &row->lock, 1) ? row : NULL;
}

void nic_handle_welcome(struct nic *nic, const struct nic_arrived_frame *f)
{
	struct nic_row *row;

	if (!nic_hello_gid_ok(nic, f))
		return;
	row = nic_row_of_answer(nic, f);
	if (!row)
		return;
	if (!nic_is_answer(row, f))
		nic_count(nic, bad_row);
	else if (!f->head->src_incarnation)
		nic_count(nic, bad_incarnation);
	else
		nic_row_apply_welcome(nic, row, f);
	nic_unlock(&row->lock);
	plat_flush(nic);
}

/* ------------------------------------------------------------------- refusals */

void nic_refuse_caller(struct nic *nic, const struct nic_address *from, const void *bytes,
		       u32 length)
{
	const struct vnet_frame *head = bytes;
	const struct vnet_frame_hello *call = (const struct vnet_frame_hello *)(head + 1);
	struct vnet_frame_hello *hello;
	struct vnet_frame *frame;

	/*
	 * Answers only calls, with a frame that is not longer, so that it can neither loop nor
	 * amplify.
	 */
	if (!nic->max_row || length < NIC_HELLO_LENGTH ||
	    head->magic != nic_to_le16(VNET_WIRE_MAGIC) || head->version != VNET_WIRE_VERSION ||
	    head->kind != VNET_FRAME_HELLO || head->nacks || !nic_is_own_gid(nic, call->dst_gid))
		return;
	frame = nic_frame_begin(nic, NULL, VNET_FRAME_REFUSE);
	if (!frame)
		return;
	frame->proof = VNET_PROOF_NONE;
	/* A NIC without our key does not get our incarnation. */
	frame->src_incarnation = 0;
	frame->dst_incarnation = head->src_incarnation;
	frame->dst_row = head->src_row;
	hello = nic_hello_begin(nic, frame, call->src_gid, call->dst_gid, call->nonce);
	hello->flags = nic_to_le32(VNET_REFUSAL_KEY);
	nic_count(nic, refusals_sent);
	nic_frame_send(nic, from, NIC_HELLO_LENGTH);
	plat_flush(nic);
}

/*
 * A REFUSE frame has no proof; its nonce shows that the sender has received our call. It is ignored
 * if the peer has answered before: another node at its address must have no influence.
 */
void nic_handle_refuse(struct nic *nic, const struct nic_arrived_frame *f)
{
	struct nic_row *row = nic_row_of_answer(nic, f);
	bool first;

	if (!row)
		return;
	first = nic_is_answer(row, f) && row->state == NIC_ROW_CALLING && !row->incarnation;
	if (first) {
		/* Tell the user before a request can fail, which may end the program. */
		plat_report_refused(nic, row->gid, nic_le32(f->hello->flags));
		nic_store_release(&row->refused, nic_le32(f->hello->flags));
		nic_row_activate(nic, row);
		nic_count(nic, refusals);
	} else {
		nic_count(nic, bad_row);
	}
	nic_unlock(&row->lock);
}

/* --------------------------------------------------- changed keys and addresses */

/* Is the key that the peer's frames prove still one of the keys for its address? */
static bool nic_row_has_key(struct nic *nic, const struct nic_row *row)
{
	u8 secret[VNET_WIRE_SECRET_SIZE];

	return !row->local ||
	       nic_derive(nic, row, row->peer_key, row->peer_share, row->share, secret);
}

/*
 * Keys or addresses have changed. If the peer does not have a valid key for its address, the row
 * starts again; else the peer is called, so that the secrets are derived from the present keys.
 */
static void nic_row_check(struct nic *nic, struct nic_row *row)
{
	if (nic_load(&row->state) == NIC_ROW_FREE || !nic_row_lock(nic, &row->lock, NIC_ROW_TRIES))
		return;
	if (row->state == NIC_ROW_FREE)
		goto unlock;
	memset(row->secret_was, 0, sizeof(row->secret_was));
	if (!nic_may_claim_gid(nic, &row->address, row->gid) || !nic_row_has_key(nic, row)) {
		nic_row_renew(nic, row);
		nic_store(&row->incarnation, 0);
		(void)plat_resolve(nic, row->gid, &row->address);
	} else if (row->state == NIC_ROW_UP && row->local) {
		nic_store(&row->calls, 0);
		row->call_at = 0;
		nic_row_probe(nic, row, plat_clock());
	}
unlock:
	nic_unlock(&row->lock);
}

void nic_link_check(struct nic *nic)
{
	u32 i;

	for (i = 0; i < nic_row_high(nic); i++)
		nic_row_check(nic, &nic->row[i]);
	plat_flush(nic);
}
