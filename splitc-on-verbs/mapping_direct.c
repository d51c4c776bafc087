// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The mapping onto RDMA: what the authors of Split-C over VI Architecture could not do
 * (paper 003, item 22). Reads, writes and atomic operations are the device's, and the
 * other processor does nothing for them. A store writes, behind its data, how many
 * bytes were stored so far, where the target can see it.
 *
 * Memory that cannot be registered is reached by messages, here as in the other
 * mapping; so are atomic operations on 4 bytes, which verbs do not have.
 */
#include <string.h>

#include "splitc_mapping.h"
#include "am_cost.h"

#define MAX_PIECE ((size_t)1 << 30) /* of an RDMA operation */

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static uint64_t bounce(struct sc_peer *peer)
{
	return (uintptr_t)peer->bounce + (peer->posted & (sc.ring - 1)) * SC_BOUNCE;
}

static void post(struct sc_peer *peer, struct ibv_send_wr *wr, const struct sc_sent *sent,
		 uint32_t rkey, bool signal)
{
	wr->num_sge = 1;
	wr->wr.rdma.remote_addr = sent->address;
	wr->wr.rdma.rkey = rkey;
	if (signal)
		wr->send_flags |= IBV_SEND_SIGNALED;
	sc_post(peer, wr, sent);
}

/* The sge of @n bytes here, or fewer; false: they cannot be registered. */
static bool local(struct ibv_sge *sge, const void *memory, size_t n, bool write)
{
	uint64_t address = (uintptr_t)memory;
	bool there;
	const struct sc_export *e = sc_export(address, n, write, &there);

	if (!e || e->ask)
		return false;
	*sge = (struct ibv_sge){ .addr = address,
				 .length = (uint32_t)smaller(n, e->end - address),
				 .lkey = e->lkey };
	return true;
}

/* Who counts for himself waits for it at once. */
static bool waits(const uint32_t *pending)
{
	return pending && pending != &sc.outstanding;
}

/* Some of it; how much. */
static size_t get(struct sc_peer *peer, void *to, uint64_t address, size_t n, uint32_t *pending)
{
	struct sc_sent sent = { .what = "read", .address = address, .pending = pending };
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .sg_list = &sge, .opcode = IBV_WR_RDMA_READ };
	struct sc_lookup key;
	size_t length;

	am_cost_begin(AM_COST_SEND_BOOKKEEPING);
	key = sc_key(peer, address, n, false, "read");
	length = smaller(smaller(n, key.end - address), MAX_PIECE);
	sc_room(peer, 1);
	am_cost_end(AM_COST_SEND_BOOKKEEPING);
	if (key.result == SC_MEMORY_KEY && length <= SC_BOUNCE) {
		sge = (struct ibv_sge){ bounce(peer), (uint32_t)length, peer->lkey };
		sent.bounced = (uint8_t)length;
		sent.to = to;
	} else if (key.result == SC_MEMORY_ASK || !local(&sge, to, length, true)) {
		sc_messages_get(to, splitc_gptr_make(peer->proc, address), length, pending);
		return length;
	}
	sent.length = sge.length;
	++*pending;
	post(peer, &wr, &sent, key.rkey, waits(pending) && sge.length == n);
	return sge.length;
}

static void direct_get(void *to, splitc_gptr from, size_t n, uint32_t *pending)
{
	struct sc_peer *peer = &sc.peers[splitc_gptr_proc(from)];
	uint64_t address = splitc_gptr_address(from);
	uint8_t *at = to;

	for (size_t done; n; n -= done, at += done, address += done)
		done = get(peer, at, address, n, pending);
}

/* What is short goes with the work request. */
static void write_short(struct sc_peer *peer, const struct sc_sent *sent, uint32_t rkey,
			const void *from, bool signal)
{
	struct ibv_sge sge = { (uintptr_t)from, sent->length, peer->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_INLINE };

	if (sent->length > sc.max_inline) {
		wr.send_flags = 0;
		sge.addr = bounce(peer);
		memcpy((void *)(uintptr_t)sge.addr, from, sent->length);
	}
	post(peer, &wr, sent, rkey, signal);
}

static bool is_short(size_t n)
{
	return n <= sc.max_inline || n <= SC_BOUNCE;
}

/* Some of it; how much. 0: it has to be sent. */
static size_t write_some(struct sc_peer *peer, uint64_t address, const void *from, size_t n,
			 const char *what, uint32_t *pending)
{
	struct sc_lookup key = sc_key(peer, address, n, true, what);
	size_t length = smaller(smaller(n, key.end - address), MAX_PIECE);
	struct sc_sent sent = {
		.what = what, .address = address, .length = (uint32_t)length, .pending = pending
	};
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .sg_list = &sge, .opcode = IBV_WR_RDMA_WRITE };
	bool brief = is_short(length);

	if (key.result == SC_MEMORY_ASK || (!brief && !local(&sge, from, length, false)))
		return 0;
	sc_room(peer, 1);
	if (pending)
		++*pending;
	if (brief) {
		write_short(peer, &sent, key.rkey, from, waits(pending) && length == n);
		return length;
	}
	sent.length = sge.length;
	post(peer, &wr, &sent, key.rkey, waits(pending) && sge.length == n);
	return sge.length;
}

static void direct_put(splitc_gptr to, const void *from, size_t n, bool keep, uint32_t *pending)
{
	struct sc_peer *peer = &sc.peers[splitc_gptr_proc(to)];
	const uint8_t *at = from;

	for (size_t done; n; n -= done, at += done, to += done) {
		done = write_some(peer, splitc_gptr_address(to), at, n, "write", pending);
		if (done)
			continue;
		done = smaller(n, SC_FRAGMENT);
		sc_messages_put(to, at, done, keep, pending);
	}
}

/* How much was stored at @peer, which looks there. */
static void tell_stored(struct sc_peer *peer)
{
	size_t place = (sc.epoch & 1) * (size_t)splitc_procs + (size_t)splitc_my_proc;
	struct sc_sent sent = { .what = "store",
				.address = peer->board + offsetof(struct sc_board, stored) +
					   place * sizeof(uint64_t),
				.length = sizeof(uint64_t) };

	sc_room(peer, 1);
	write_short(peer, &sent, peer->board_rkey, &peer->stored, false);
}

static void direct_store(splitc_gptr to, const void *from, size_t n)
{
	struct sc_peer *peer = &sc.peers[splitc_gptr_proc(to)];
	const uint8_t *at = from;
	uint64_t before = peer->stored;
	uint32_t pending = 0;

	for (size_t done; n; n -= done, at += done, to += done) {
		done = write_some(peer, splitc_gptr_address(to), at, n, "store",
				  is_short(n) ? NULL : &pending);
		peer->stored += done;
		if (done)
			continue;
		done = smaller(n, SC_FRAGMENT);
		sc_messages_store(to, at, done);
	}
	if (peer->stored != before)
		tell_stored(peer);
	if (pending) {
		sc_signal(peer);
		sc_wait_until(!pending);
	}
}

/* One of those that verbs have. */
static int64_t rdma_atomic(struct sc_peer *peer, uint64_t address, uint32_t rkey, bool add,
			   int64_t a, int64_t b)
{
	int64_t old;
	uint32_t pending = 1;
	struct sc_sent sent = { .what = "atomic operation",
				.address = address,
				.length = sizeof(old),
				.bounced = sizeof(old),
				.to = &old,
				.pending = &pending };
	struct ibv_sge sge = { 0, sizeof(old), peer->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = add ? IBV_WR_ATOMIC_FETCH_AND_ADD :
						  IBV_WR_ATOMIC_CMP_AND_SWP,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.atomic = { .remote_addr = address,
						 .compare_add = (uint64_t)a,
						 .swap = (uint64_t)b,
						 .rkey = rkey } };

	sc_room(peer, 1);
	sge.addr = bounce(peer);
	sc_post(peer, &wr, &sent);
	sc_wait_until(!pending);
	return old;
}

static int64_t changed(enum sc_atomic_op op, int64_t old, int64_t a)
{
	switch (op) {
	case SC_FETCH_AND:
		return old & a;
	case SC_FETCH_OR:
		return old | a;
	case SC_FETCH_XOR:
		return old ^ a;
	default:
		return a;
	}
}

static int64_t direct_atomic(splitc_gptr at, size_t size, enum sc_atomic_op op, int64_t a,
			     int64_t b)
{
	struct sc_peer *peer = &sc.peers[splitc_gptr_proc(at)];
	uint64_t address = splitc_gptr_address(at);
	struct sc_lookup key;
	int64_t old = 0, guess;

	if (size != sizeof(int64_t) || sc.device.attr.atomic_cap == IBV_ATOMIC_NONE)
		return sc_messages_atomic(at, size, op, a, b);
	key = sc_key(peer, address, size, true, "atomic operation");
	if (key.result == SC_MEMORY_ASK)
		return sc_messages_atomic(at, size, op, a, b);
	if (op == SC_FETCH_ADD || op == SC_COMPARE_SWAP)
		return rdma_atomic(peer, address, key.rkey, op == SC_FETCH_ADD, a, b);
	/* The others: what is there is guessed until it was right. */
	do {
		guess = old;
		old = rdma_atomic(peer, address, key.rkey, false, guess, changed(op, guess, a));
	} while (old != guess);
	return old;
}

static void push(void)
{
	if (sc.rdma)
		sc_signal_all();
}

static bool all_done(void)
{
	for (int i = 0; i < splitc_procs; i++) {
		if (sc.peers[i].done != sc.peers[i].posted)
			return false;
	}
	return true;
}

static void flush_stores(void)
{
	sc_flush_oneways();
	sc_signal_all();
	sc_wait_until((sc_poll_sends(), all_done()));
}

static uint64_t stored(void)
{
	unsigned int parity = sc.epoch & 1;
	uint64_t sum = sc.stored[parity];
	const uint64_t *from = &sc.board->stored[parity * (size_t)splitc_procs];

	for (int i = 0; i < splitc_procs; i++)
		sum += __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
	return sum;
}

static void barrier_tell(int proc, unsigned int round, uint64_t number)
{
	struct sc_peer *peer = &sc.peers[proc];
	size_t place = (number & 1) * SC_BARRIER_ROUNDS + round;
	struct sc_sent sent = { .what = "barrier",
				.address = peer->board + place * sizeof(uint64_t),
				.length = sizeof(number) };

	sc_room(peer, 1);
	write_short(peer, &sent, peer->board_rkey, &number, false);
}

const struct sc_mapping sc_mapping_direct = {
	.name = "direct",
	.get = direct_get,
	.put = direct_put,
	.store = direct_store,
	.atomic = direct_atomic,
	.push = push,
	.flush_stores = flush_stores,
	.stored = stored,
	.barrier_tell = barrier_tell,
};
