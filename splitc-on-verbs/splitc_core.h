/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Internal structures and functions of Split-C.
 *
 * There is a queue pair to each processor, including this one. It carries messages
 * (splitc_message.c) and, in the direct mapping, RDMA operations. splitc_serve.c handles
 * requests.
 */
#ifndef SPLITC_CORE_H
#define SPLITC_CORE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/splitc.h"
#include "device/am_device.h"
#include "splitc_settings.h"
#include "splitc_wire.h"

#define SC_BARRIER_ROUNDS 17 /* 2^16 processors */

struct job;
struct sc_mapping;
struct sc_keys;

/* A slot: a request in progress, or a one-way message that is not acknowledged yet. */
struct sc_slot {
	bool busy;
	uint32_t length; /* length of the answer's data */
	void *to; /* where the answer's data are copied */
	uint32_t *pending; /* decremented when the answer arrives; NULL: not counted */
};

/* What to do when a work request in a send queue completes. */
struct sc_sent {
	const char *what; /* an RDMA operation, for error messages; NULL: a message */
	uint64_t address; /* remote address */
	uint32_t length;
	uint8_t bounced; /* bytes to copy from the work request's bounce buffer to @to */
	void *to;
	uint32_t *pending;
};

#define SC_BOUNCE 64 /* size of a bounce buffer, in bytes */
#define SC_GIVE_BACK 8u /* receives that are posted together */

/* A receive buffer, with the work request that reposts it. */
struct sc_buffer {
	struct sc_peer *peer;
	struct ibv_recv_wr wr;
	struct ibv_sge sge;
	uint64_t unused; /* the message begins on a cache line */
	union {
		struct sc_message message;
		uint8_t bytes[SC_BUFFER];
	};
};

static_assert(offsetof(struct sc_buffer, bytes) == 64, "a message begins on a cache line");

/* A processor: another one, or this one. */
struct sc_peer {
	int proc;
	struct ibv_qp *qp;
	uint32_t lkey; /* of the memory of all buffers below */
	uint8_t *out; /* send buffers: one per request slot, then one per answer */
	uint8_t *bounce; /* direct: one bounce buffer per work request */
	struct sc_buffer *in;
	struct ibv_recv_wr *back; /* receive buffers to be reposted: a list */
	unsigned int nback;

	/* Free slots. Each is a credit. */
	unsigned int nfree;
	uint8_t free[SC_MAX_CREDITS];
	struct sc_slot slot[SC_MAX_CREDITS];
	/* Slots of one-way messages, which the peer acknowledges in order: a ring. */
	uint8_t oneway[SC_MAX_CREDITS];
	unsigned int oneway_first, oneways;
	/* One-way messages received from this peer and not acknowledged yet. */
	unsigned int unacknowledged;
	/*
	 * Small stores that are held back to share a message: its length (0: none), and its
	 * slot.
	 */
	uint32_t held;
	unsigned int held_slot;
	bool holding; /* the peer is in sc.holding */
	struct sc_peer *next_holding;

	/*
	 * Prepared work requests of messages, and of short RDMA writes and reads. Only the
	 * fields that vary are set for each use.
	 */
	struct ibv_send_wr message, write, notice, read;
	struct ibv_sge message_sge[2], write_sge, notice_sge, read_sge;

	uint32_t posted, done; /* counts of work requests */
	uint32_t flush; /* value of @done that splitc_all_store_sync() waits for */
	unsigned int unsignaled; /* work requests since the last signaled one */
	struct sc_sent *sent; /* ring, indexed by work request number */

	struct sc_keys *keys; /* keys to the peer's memory: splitc_keys.c */
	struct sc_lookup key; /* the key used last; empty range: none */
	unsigned int revoked; /* number of revocations by the peer */
	uint64_t board; /* address of the peer's struct sc_board */
	uint32_t board_rkey;
	/* bytes of direct stores to the peer since the last splitc_all_store_sync() */
	uint64_t stored;
	uint64_t image; /* load address of the peer's program */
};

/* Written by other processors by RDMA. */
struct sc_board {
	uint64_t arrived[2][SC_BARRIER_ROUNDS]; /* barrier numbers, by parity and round */
	/* [2][processors]: bytes stored here, by parity of splitc_all_store_sync() */
	uint64_t stored[];
};

/* State of this process. */
struct sc {
	struct job *job;
	struct am_device device;
	const struct sc_mapping *mapping;
	bool ready; /* initialised: it can communicate */
	struct sc_peer *peers;

	struct ibv_cq *rcq, *scq;
	struct ibv_mr *mr; /* covers @memory */
	uint8_t *memory;
	size_t memory_size;
	uint32_t depth; /* length of send queues */
	uint32_t ring; /* length of struct sc_sent rings: a power of two, at least @depth */
	uint32_t max_inline;
	uint32_t signal; /* one of @signal work requests is signaled */
	unsigned int credits, ack_unit;
	struct sc_peer *holding; /* list of peers with stores that may be held back */

	uint32_t outstanding; /* incomplete pieces of gets and puts */
	uint32_t rdma; /* RDMA work requests that are counted in a @pending */
	unsigned int idle; /* consecutive polls that found nothing */
	unsigned int looks; /* counts polls while waiting for RDMA */
	unsigned int idle_limit; /* value of @idle from which on the CPU is yielded */
	bool serving; /* a procedure of another processor is running */
	bool closing;

	unsigned int epoch; /* counts splitc_all_store_sync() calls */
	uint64_t stored[2]; /* bytes that messages stored here, by parity of @epoch */
	/* of this epoch's bytes: those that splitc_store_sync() has waited for */
	uint64_t stored_taken;
	struct sc_board *board;
	uint64_t barrier; /* number of the last barrier */

	uintptr_t image, image_begin, image_end; /* the program: load address, range */
	uintptr_t heap_begin, heap_end; /* range of spread memory */
	unsigned int gone; /* value of device.regions_gone that peers have been told of */
};
extern struct sc sc;

/* Ends all processes, like splitc_error(). */
void sc_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/*
 * Ends all processes because processor @proc does not answer. First gives the launcher time
 * to do so.
 */
void sc_peer_failed(int proc) __attribute__((noreturn));

/* Copies @n bytes. Faster for 8 bytes, the most frequent size. */
static inline void sc_copy_small(void *to, const void *from, size_t n)
{
	if (n == 8)
		__builtin_memcpy(to, from, 8);
	else if (n)
		__builtin_memcpy(to, from, n);
}

/* Fails if a procedure of another processor is running. Called before all communication. */
static inline void sc_not_serving(void)
{
	if (__builtin_expect(sc.serving, 0))
		sc_fail("a procedure that another processor called may not communicate");
}

/* splitc_wire.c */
void sc_wire_open(void);
void sc_wire_close(void);

/* splitc_queue.c: send queues. */
void sc_make_room(struct sc_peer *peer, unsigned int n);
/* Waits until the send queue has room for @n work requests. Serves no requests meanwhile. */
static inline void sc_room(struct sc_peer *peer, unsigned int n)
{
	sc_not_serving();
	if (__builtin_expect(peer->posted - peer->done + n > sc.depth, 0))
		sc_make_room(peer, n);
}
/* The entry of the next work request, to be filled in before it is posted. The queue has room. */
static inline struct sc_sent *sc_next(struct sc_peer *peer)
{
	return &peer->sent[peer->posted & (sc.ring - 1)];
}
/* Fills in the next entry for a work request whose completion needs no action. */
static inline void sc_note_nothing(struct sc_peer *peer)
{
	struct sc_sent *sent = sc_next(peer);

	sent->what = NULL;
	sent->bounced = 0;
	sent->pending = NULL;
}
/* Gives @wr the next number, and signals it if due. */
void sc_number(struct sc_peer *peer, struct ibv_send_wr *wr);
/* Posts the list @wr of numbered work requests. */
void sc_submit(struct sc_peer *peer, struct ibv_send_wr *wr);
/* sc_number() and sc_submit() for one work request. */
void sc_post(struct sc_peer *peer, struct ibv_send_wr *wr);
/*
 * Makes @wr, which is the peer's write or notice, an RDMA write of @n bytes at @from, and
 * numbers it. sc_is_short(@n). @from may be reused when it has been posted.
 */
void sc_number_short(struct sc_peer *peer, struct ibv_send_wr *wr, uint64_t address, uint32_t rkey,
		     const void *from, uint32_t n, bool signal);
/* Whether @n bytes can be sent inline, or from a bounce buffer. */
static inline bool sc_is_short(size_t n)
{
	return n <= sc.max_inline || n <= SC_BOUNCE;
}
/* Polls the send CQ. Returns the number of completions. */
int sc_poll_sends(void);
void sc_signal_now(struct sc_peer *peer);
/* Makes sure that a completion will cover all posted work requests. */
static inline void sc_signal(struct sc_peer *peer)
{
	if (peer->unsignaled)
		sc_signal_now(peer);
}
void sc_signal_all(void);
/* Waits until all posted work requests are complete. */
void sc_drain(void);

/* splitc_coalesce.c: small stores share messages. */
/* Whether a store of @n bytes may share a message. */
static inline bool sc_is_small_store(size_t n)
{
	return n + 2 * sizeof(sc_place) <= (size_t)sc_settings.coalesce;
}
/* Sends it at once if no acknowledgement is outstanding, otherwise holds it back. */
void sc_store_small(struct sc_peer *peer, uint64_t address, const void *from, uint32_t n);
void sc_send_held(struct sc_peer *peer);
void sc_send_all_held(void);
/* Sends stores that are held back, before any other message to @peer. */
static inline void sc_release(struct sc_peer *peer)
{
	if (__builtin_expect(peer->held != 0, 0))
		sc_send_held(peer);
}
/* The same for all peers, before any operation but a store. */
static inline void sc_release_all(void)
{
	if (__builtin_expect(!!sc.holding, 0))
		sc_send_all_held();
}

/* splitc_progress.c */
/* Reposts receives of @peer. */
void sc_give_back(struct sc_peer *peer);
/* Polls and serves requests. Returns whether anything was found. */
bool sc_progress(void);
/* Called if a poll found nothing: checks for failed processes, and yields the CPU. */
void sc_idle(void);
/* Resets sc.idle, because the last wait may have ended by an RDMA write, which no poll shows. */
#define sc_wait_until(condition)                                                                   \
	do {                                                                                       \
		sc.idle = 0;                                                                       \
		while (!(condition)) {                                                             \
			if (!sc_progress())                                                        \
				sc_idle();                                                         \
		}                                                                                  \
	} while (0)

/* splitc_message.c */
struct sc_request {
	int proc;
	enum sc_op op;
	uint16_t what;
	uint32_t length; /* of memory at @address, or as defined by @op */
	uint64_t address;
	const void *data; /* behind the header; NULL and 0: none */
	uint32_t nbytes;
	void *to; /* where the @wanted bytes of the answer are copied */
	uint32_t wanted;
	uint32_t *pending; /* decremented when the answer arrives; the caller has incremented it */
	bool keep; /* @data stay unchanged until then, so they need not be copied */
};
/* Takes a slot, waiting for a credit. sc_slot_message() is its send buffer. */
unsigned int sc_take_slot(struct sc_peer *peer);
struct sc_message *sc_slot_message(struct sc_peer *peer, unsigned int slot);
/* Sends the one-way message in @slot's buffer, with @nbytes behind its header. */
void sc_send_oneway(struct sc_peer *peer, unsigned int slot, uint32_t nbytes);
/* Sends a request, waiting for a credit. */
void sc_request(const struct sc_request *request);
/* Sends a request and waits for the answer. */
void sc_call(const struct sc_request *request);
/* The buffer for the data of the answer to @slot of @peer, and the function that sends it. */
void *sc_answer_data(struct sc_peer *peer, unsigned int slot);
void sc_answer(struct sc_peer *peer, unsigned int slot, uint32_t nbytes);
/* Handles a received message of @length bytes. */
void sc_arrival(struct sc_peer *peer, const struct sc_message *message, uint32_t length);
/* Waits until all one-way messages to all processors have been handled there. */
void sc_flush_oneways(void);

/* splitc_serve.c: handles a request or one-way message with @nbytes of data. */
void sc_serve(struct sc_peer *peer, const struct sc_message *message, uint32_t nbytes);

/*
 * splitc_access.c: accesses this processor's memory for processor @by. Invalid addresses
 * end the run.
 */
void sc_access_open(void);
void sc_copy_out(void *to, uint64_t address, size_t n, int by);
void sc_copy_in(uint64_t address, const void *from, size_t n, int by, const char *what);
int64_t sc_modify(uint64_t address, size_t size, unsigned int op, int64_t a, int64_t b, int by);
int64_t sc_run_atomic(uint64_t function, uint64_t address, int64_t a, int64_t b, int by);
void sc_run_rpc(uint64_t function, const void *args, size_t nargs, void *result, size_t nresult,
		int by);
void sc_bad_access(const char *what, uint64_t length, uint64_t address, int proc, int by,
		   bool there) __attribute__((noreturn));

/* splitc_collect.c */
void sc_collected(struct sc_peer *peer, const struct sc_message *message, uint32_t nbytes);
void sc_arrived_at_barrier(const struct sc_message *message);

/* splitc_spread.c */
void sc_heap_open(void);

/* splitc_exports.c: registrations of this processor's memory. */
struct sc_export {
	uint64_t begin, end;
	uint32_t lkey, rkey;
	bool writable;
	bool ask; /* cannot be registered: access by messages only */
};
/*
 * The export that contains @address; it may cover less than @n bytes. NULL: there is no
 * such memory (!*there), or it is read-only.
 */
const struct sc_export *sc_export(uint64_t address, size_t n, bool write, bool *there);
void sc_lookup(struct sc_peer *peer, const struct sc_message *message);
/* Tells all peers which memory has been unmapped. */
void sc_revoke_exports(void);
void sc_exports_close(void);

/*
 * splitc_keys.c: the key to a peer's memory at @address; may cover less than @n bytes. Ends
 * the run, with @what in the message, if there is no such memory. Valid until the next
 * poll.
 */
const struct sc_lookup *sc_key(struct sc_peer *peer, uint64_t address, size_t n, bool write,
			       const char *what);
/* The key used last, if it covers all @n bytes; otherwise NULL. Valid until the next poll. */
static inline const struct sc_lookup *sc_key_at_hand(const struct sc_peer *peer, uint64_t address,
						     size_t n, bool write)
{
	const struct sc_lookup *key = &peer->key;

	if (address < key->begin || address + n > key->end || (write && !key->writable))
		return NULL;
	return key;
}
void sc_revoked(struct sc_peer *peer, const struct sc_message *message);

/*
 * Called at the start of each operation that other processors may notice: they must first
 * give up their keys to memory that has been unmapped.
 */
static inline void sc_enter_store(void)
{
	if (__builtin_expect(__atomic_load_n(&sc.device.regions_gone, __ATOMIC_RELAXED) != sc.gone,
			     0))
		sc_revoke_exports();
}

/* The same, and sends stores that are held back. Called by all functions but stores. */
static inline void sc_enter(void)
{
	sc_enter_store();
	sc_release_all();
}

#endif
