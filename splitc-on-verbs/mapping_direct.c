// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The direct mapping: Split-C operations by RDMA.
 *
 * Reads, writes and atomic operations are executed by the device, without the other
 * processor. The authors of Split-C over VI Architecture could not do that (paper 003, item
 * 22). A store is followed by an RDMA write of the number of bytes stored so far, which the
 * target polls.
 *
 * Memory that cannot be registered is accessed by messages, as in the other mapping. So are
 * atomic operations on 4 bytes, which verbs do not have.
 */
#include <string.h>

#include "splitc_mapping.h"
#include "cost/am_cost.h"

#define MAX_PIECE ((size_t)1 << 30) /* limit per RDMA operation, in bytes */

/* Functions on the path of each value are inlined into their few callers. */
#define EVERY_VALUE inline __attribute__((always_inline))

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static uint64_t bounce(struct sc_peer *peer)
{
	return (uintptr_t)peer->bounce + (peer->posted & (sc.ring - 1)) * SC_BOUNCE;
}

/* Records what the next work request is for. */
static void note(struct sc_peer *peer, const char *what, uint64_t address, uint32_t length,
		 uint32_t *pending)
{
	struct sc_sent *sent = sc_next(peer);

	sent->what = what;
	sent->address = address;
	sent->length = length;
	sent->bounced = 0;
	sent->pending = pending;
}

static void post(struct sc_peer *peer, struct ibv_send_wr *wr, uint32_t rkey, bool signal)
{
	wr->num_sge = 1;
	wr->wr.rdma.remote_addr = sc_next(peer)->address;
	wr->wr.rdma.rkey = rkey;
	if (signal)
		wr->send_flags |= IBV_SEND_SIGNALED;
	sc_post(peer, wr);
}

/*
 * Builds the scatter/gather entry of local memory: @n bytes, or fewer if the registration
 * ends before. False: the memory cannot be registered.
 */
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

/*
 * Whether a work request counted in @pending is signaled. If the caller has a counter of
 * its own, it waits at once. If the counter is sc.outstanding, no other work request is
 * outstanding, and this may be the only one.
 */
static bool signals(const uint32_t *pending)
{
	return pending && (pending != &sc.outstanding || !sc.rdma);
}

/* Reads a short range into the work request's bounce buffer; the completion copies it to @to. */
static EVERY_VALUE void read_short(struct sc_peer *peer, const struct sc_lookup *key, void *to,
				   uint64_t address, uint32_t n, uint32_t *pending, bool signal)
{
	struct ibv_send_wr *wr = &peer->read;

	sc_room(peer, 1);
	note(peer, "read", address, n, pending);
	sc_next(peer)->bounced = (uint8_t)n;
	sc_next(peer)->to = to;
	++*pending;
	peer->read_sge.addr = bounce(peer);
	peer->read_sge.length = n;
	wr->wr.rdma.remote_addr = address;
	wr->wr.rdma.rkey = key->rkey;
	wr->send_flags = signal ? IBV_SEND_SIGNALED : 0;
	sc_post(peer, wr);
}

/* Starts reading a part of the range. Returns its length. */
static size_t get(struct sc_peer *peer, void *to, uint64_t address, size_t n, uint32_t *pending)
{
	const struct sc_lookup *key;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	size_t length;

	am_cost_begin(AM_COST_SEND_BOOKKEEPING);
	key = sc_key(peer, address, n, false, "read");
	length = smaller(smaller(n, key->end - address), MAX_PIECE);
	am_cost_end(AM_COST_SEND_BOOKKEEPING);
	if (length <= SC_BOUNCE && key->result == SC_MEMORY_KEY) {
		read_short(peer, key, to, address, (uint32_t)length, pending,
			   signals(pending) && length == n);
		return length;
	}
	if (key->result == SC_MEMORY_ASK || !local(&sge, to, length, true)) {
		sc_messages_get(to, splitc_gptr_make(peer->proc, address), length, pending);
		return length;
	}
	wr = (struct ibv_send_wr){ .sg_list = &sge, .opcode = IBV_WR_RDMA_READ };
	sc_room(peer, 1);
	note(peer, "read", address, sge.length, pending);
	++*pending;
	post(peer, &wr, key->rkey, signals(pending) && sge.length == n);
	return sge.length;
}

static void direct_get(void *to, splitc_gptr from, size_t n, uint32_t *pending)
{
	struct sc_peer *peer = &sc.peers[splitc_gptr_proc(from)];
	uint64_t address = splitc_gptr_address(from);
	const struct sc_lookup *key;
	uint8_t *at = to;

	if (__builtin_expect(n <= SC_BOUNCE, 1)) {
		am_cost_begin(AM_COST_SEND_BOOKKEEPING);
		key = sc_key_at_hand(peer, address, n, false);
		am_cost_end(AM_COST_SEND_BOOKKEEPING);
		if (__builtin_expect(!!key, 1)) {
			read_short(peer, key, to, address, (uint32_t)n, pending, signals(pending));
			return;
		}
	}
	for (size_t done; n; n -= done, at += done, address += done)
		done = get(peer, at, address, n, pending);
}

/*
 * Prepares an RDMA write of a short range. The caller makes room before, and submits it
 * afterwards.
 */
static EVERY_VALUE void write_short(struct sc_peer *peer, const struct sc_lookup *key,
				    uint64_t address, const void *from, size_t n, const char *what,
				    uint32_t *pending, bool signal)
{
	if (pending)
		++*pending;
	note(peer, what, address, (uint32_t)n, pending);
	am_cost_begin(AM_COST_BUILD_SEND);
	sc_number_short(peer, &peer->write, address, key->rkey, from, (uint32_t)n, signal);
	am_cost_end(AM_COST_BUILD_SEND);
}

/* Returns the key if the range is short, and the key used last covers all of it; otherwise NULL. */
static EVERY_VALUE const struct sc_lookup *short_key(const struct sc_peer *peer, uint64_t address,
						     size_t n)
{
	return sc_is_short(n) ? sc_key_at_hand(peer, address, n, true) : NULL;
}

/* Starts writing a part of the range. Returns its length, or 0 if it must be sent by messages. */
static size_t write_some(struct sc_peer *peer, uint64_t address, const void *from, size_t n,
			 const char *what, uint32_t *pending)
{
	const struct sc_lookup *key = sc_key(peer, address, n, true, what);
	size_t length = smaller(smaller(n, key->end - address), MAX_PIECE);
	bool signal, brief = sc_is_short(length);
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	if (key->result == SC_MEMORY_ASK || (!brief && !local(&sge, from, length, false)))
		return 0;
	if (!brief)
		length = sge.length;
	signal = signals(pending) && length == n;
	if (brief) {
		sc_room(peer, 1);
		write_short(peer, key, address, from, length, what, pending, signal);
		sc_submit(peer, &peer->write);
		return length;
	}
	sc_room(peer, 1);
	if (pending)
		++*pending;
	note(peer, what, address, (uint32_t)length, pending);
	wr = (struct ibv_send_wr){ .sg_list = &sge, .opcode = IBV_WR_RDMA_WRITE };
	post(peer, &wr, key->rkey, signal);
	return length;
}

static void direct_put(splitc_gptr to, const void *from, size_t n, bool keep, uint32_t *pending)
{
	struct sc_peer *peer = &sc.peers[splitc_gptr_proc(to)];
	uint64_t address = splitc_gptr_address(to);
	const struct sc_lookup *key = short_key(peer, address, n);
	const uint8_t *at = from;

	if (__builtin_expect(!!key, 1)) {
		sc_room(peer, 1);
		write_short(peer, key, address, from, n, "write", pending, signals(pending));
		sc_submit(peer, &peer->write);
		return;
	}
	for (size_t done; n; n -= done, at += done, to += done) {
		done = write_some(peer, splitc_gptr_address(to), at, n, "write", pending);
		if (done)
			continue;
		done = smaller(n, SC_FRAGMENT);
		sc_messages_put(to, at, done, keep, pending);
	}
}

/* Prepares an RDMA write of @number to offset @offset of @peer's board. */
static void tell(struct sc_peer *peer, size_t offset, const uint64_t *number)
{
	note(peer, "notice", peer->board + offset, sizeof(*number), NULL);
	sc_number_short(peer, &peer->notice, peer->board + offset, peer->board_rkey, number,
			sizeof(*number), false);
}

/* Prepares the RDMA write that tells @peer how many bytes have been stored there. */
static void tell_stored(struct sc_peer *peer)
{
	size_t place = (sc.epoch & 1) * (size_t)splitc_procs + (size_t)splitc_my_proc;

	tell(peer, offsetof(struct sc_board, stored) + place * sizeof(uint64_t), &peer->stored);
}

/* Both writes are one list: a single call of the device. */
static void store_short(struct sc_peer *peer, const struct sc_lookup *key, uint64_t address,
			const void *from, size_t n)
{
	sc_room(peer, 2);
	write_short(peer, key, address, from, n, "store", NULL, false);
	peer->stored += n;
	tell_stored(peer);
	peer->write.next = &peer->notice;
	sc_submit(peer, &peer->write);
	peer->write.next = NULL;
}

static void direct_store(splitc_gptr to, const void *from, size_t n)
{
	struct sc_peer *peer = &sc.peers[splitc_gptr_proc(to)];
	const uint8_t *at = from;
	const struct sc_lookup *key = short_key(peer, splitc_gptr_address(to), n);
	uint64_t before = peer->stored;
	uint32_t pending = 0;

	if (__builtin_expect(!!key, 1)) {
		store_short(peer, key, splitc_gptr_address(to), from, n);
		return;
	}
	for (size_t done; n; n -= done, at += done, to += done) {
		done = write_some(peer, splitc_gptr_address(to), at, n, "store",
				  sc_is_short(n) ? NULL : &pending);
		peer->stored += done;
		if (done)
			continue;
		done = smaller(n, SC_FRAGMENT);
		sc_messages_store(to, at, done);
	}
	if (peer->stored != before) {
		sc_room(peer, 1);
		tell_stored(peer);
		sc_submit(peer, &peer->notice);
	}
	if (pending) {
		sc_signal(peer);
		sc_wait_until(!pending);
	}
}

/* An atomic operation that verbs have. Waits for the result. */
static int64_t rdma_atomic(struct sc_peer *peer, uint64_t address, uint32_t rkey, bool add,
			   int64_t a, int64_t b)
{
	int64_t old = 0;
	uint32_t pending = 1;
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
	note(peer, "atomic operation", address, sizeof(old), &pending);
	sc_next(peer)->bounced = sizeof(old);
	sc_next(peer)->to = &old;
	sc_post(peer, &wr);
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
	const struct sc_lookup *key;
	int64_t old = 0, guess;

	if (size != sizeof(int64_t) || sc.device.attr.atomic_cap == IBV_ATOMIC_NONE)
		return sc_messages_atomic(at, size, op, a, b);
	/*
	 * Other operations use compare and swap in a loop until the guess of the old value
	 * was right. The key is looked up each time, because it may be revoked while
	 * waiting.
	 */
	do {
		key = sc_key(peer, address, size, true, "atomic operation");
		if (key->result == SC_MEMORY_ASK)
			return sc_messages_atomic(at, size, op, a, b);
		if (op == SC_FETCH_ADD || op == SC_COMPARE_SWAP)
			return rdma_atomic(peer, address, key->rkey, op == SC_FETCH_ADD, a, b);
		guess = old;
		old = rdma_atomic(peer, address, key->rkey, false, guess, changed(op, guess, a));
	} while (old != guess);
	return old;
}

static void push(int proc)
{
	if (proc >= 0)
		sc_signal(&sc.peers[proc]);
	else if (sc.rdma)
		sc_signal_all();
}

/*
 * Whether the work requests posted before flush_stores() are complete. Later ones are
 * answers to other processors, which may be unsignaled.
 */
static bool all_flushed(void)
{
	for (int i = 0; i < splitc_procs; i++) {
		if ((int32_t)(sc.peers[i].done - sc.peers[i].flush) < 0)
			return false;
	}
	return true;
}

static void flush_stores(void)
{
	sc_flush_oneways();
	sc_signal_all();
	for (int i = 0; i < splitc_procs; i++)
		sc.peers[i].flush = sc.peers[i].posted - sc.peers[i].unsignaled;
	sc_wait_until((sc_poll_sends(), all_flushed()));
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
	size_t place = (number & 1) * SC_BARRIER_ROUNDS + round;
	struct sc_peer *peer = &sc.peers[proc];

	sc_room(peer, 1);
	tell(peer, offsetof(struct sc_board, arrived) + place * sizeof(uint64_t), &number);
	sc_submit(peer, &peer->notice);
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
