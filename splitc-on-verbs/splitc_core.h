/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What Split-C is made of: a queue pair to each processor, itself included, which
 * carries messages (splitc_message.c) and, in the direct mapping, RDMA operations;
 * and what serves the others (splitc_serve.c).
 */
#ifndef SPLITC_CORE_H
#define SPLITC_CORE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/splitc.h"
#include "am_device.h"
#include "splitc_settings.h"
#include "splitc_wire.h"

#define SC_BARRIER_ROUNDS 17 /* 2^16 processors */

struct job;
struct sc_mapping;
struct sc_keys;

/* A request under way, or a message without an answer that is not acknowledged yet. */
struct sc_slot {
	bool busy;
	uint32_t length; /* of the answer's data */
	void *to; /* where they go */
	uint32_t *pending; /* is one less when the answer has come; NULL: nobody counts */
};

/* A work request in a send queue, and what is to be done when it is complete. */
struct sc_sent {
	const char *what; /* an RDMA operation, for messages; NULL: a message */
	uint64_t address; /* of its memory there */
	uint32_t length;
	uint8_t bounced; /* bytes that go from the place of the work request to @to */
	void *to;
	uint32_t *pending;
};

#define SC_BOUNCE 64 /* bytes of such a place */
#define SC_GIVE_BACK 8u /* receives that are posted together */

/* A receive buffer, with the work request that gives it back. */
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

/* Another processor, or this one. */
struct sc_peer {
	int proc;
	struct ibv_qp *qp;
	uint32_t lkey; /* of the memory of all that follows */
	uint8_t *out; /* send buffers: of requests by slot, then of answers */
	uint8_t *bounce; /* direct: a place for each work request */
	struct sc_buffer *in;
	struct ibv_recv_wr *back; /* a list: receive buffers that are to be given back */
	unsigned int nback;

	/* Credits: slots that are free. */
	unsigned int nfree;
	uint8_t free[SC_MAX_CREDITS];
	struct sc_slot slot[SC_MAX_CREDITS];
	/* Slots of messages without an answer, which are acknowledged in their order. */
	uint8_t oneway[SC_MAX_CREDITS];
	unsigned int oneway_first, oneways;
	/* Its messages of that kind that have come and are not acknowledged. */
	unsigned int unacknowledged;
	/* Stores that wait for others to share their message: its slot, and bytes of it; 0: none. */
	uint32_t held;
	unsigned int held_slot;
	bool holding; /* it is in sc.holding */
	struct sc_peer *next_holding;

	/*
	 * Of messages, and of short RDMA writes and reads, all but what differs from one to
	 * the next.
	 */
	struct ibv_send_wr message, write, notice, read;
	struct ibv_sge message_sge[2], write_sge, notice_sge, read_sge;

	uint32_t posted, done; /* work requests, counted from the first */
	uint32_t flush; /* those that splitc_all_store_sync() waits for */
	unsigned int unsignaled; /* the last ones that ask for no completion */
	struct sc_sent *sent; /* ring, by number */

	struct sc_keys *keys; /* to its memory: splitc_keys.c */
	struct sc_lookup key; /* the one of them that was used last; of no bytes: none */
	unsigned int revoked; /* how often that happened to some of them */
	uint64_t board; /* address of its struct sc_board */
	uint32_t board_rkey;
	uint64_t stored; /* bytes of direct stores to it since the last splitc_all_store_sync() */
	uint64_t image; /* where its program is loaded */
};

/* What others write here by RDMA. */
struct sc_board {
	uint64_t arrived[2][SC_BARRIER_ROUNDS]; /* at the barrier: its number */
	uint64_t stored[]; /* [2][processors]: bytes, by parity of splitc_all_store_sync() */
};

/* What this process has. */
struct sc {
	struct job *job;
	struct am_device device;
	const struct sc_mapping *mapping;
	bool ready; /* it can communicate */
	struct sc_peer *peers;

	struct ibv_cq *rcq, *scq;
	struct ibv_mr *mr; /* of memory */
	uint8_t *memory;
	size_t memory_size;
	uint32_t depth; /* of send queues */
	uint32_t ring; /* of struct sc_sent, a power of two above it */
	uint32_t max_inline;
	uint32_t signal; /* one of so many work requests asks for a completion */
	unsigned int credits, ack_unit;
	unsigned int message_room; /* work requests that messages may need at once */
	struct sc_peer *holding; /* a list: those to whom stores may be held back */

	uint32_t outstanding; /* gets and puts, counted in pieces */
	uint32_t rdma; /* work requests that somebody waits for */
	unsigned int idle; /* polls in a row that found nothing */
	unsigned int looks; /* at RDMA */
	unsigned int patience; /* such polls until others get the processor */
	bool serving; /* a procedure of another's runs */
	bool closing;

	unsigned int epoch; /* splitc_all_store_sync() calls */
	uint64_t stored[2]; /* bytes that messages stored here, by parity */
	uint64_t stored_taken; /* of this epoch's, by splitc_store_sync() */
	struct sc_board *board;
	uint64_t barrier; /* number of the last */

	uintptr_t image, image_begin, image_end; /* of the program */
	uintptr_t heap_begin, heap_end; /* spread memory */
	unsigned int gone; /* device.regions_gone, as far as others know */
};
extern struct sc sc;

/* Ends all processes: splitc_error(). */
void sc_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* The same, of processor @proc which does not answer; waits for the launcher to say so. */
void sc_peer_failed(int proc) __attribute__((noreturn));

/* Most often it is a value. */
static inline void sc_copy_small(void *to, const void *from, size_t n)
{
	if (n == 8)
		__builtin_memcpy(to, from, 8);
	else if (n)
		__builtin_memcpy(to, from, n);
}

/* Before anything is sent, or looked for. */
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
/* Room for @n work requests; waits for completions, and serves nobody meanwhile. */
static inline void sc_room(struct sc_peer *peer, unsigned int n)
{
	sc_not_serving();
	if (__builtin_expect(peer->posted - peer->done + n > sc.depth, 0))
		sc_make_room(peer, n);
}
/*
 * The next work request's place: what is to be done when it is complete is noted there
 * before it is posted. There is room.
 */
static inline struct sc_sent *sc_next(struct sc_peer *peer)
{
	return &peer->sent[peer->posted & (sc.ring - 1)];
}
/* There: nothing. */
static inline void sc_note_nothing(struct sc_peer *peer)
{
	struct sc_sent *sent = sc_next(peer);

	sent->what = NULL;
	sent->bounced = 0;
	sent->pending = NULL;
}
/* Makes @wr the next. */
void sc_number(struct sc_peer *peer, struct ibv_send_wr *wr);
/* Posts @wr, a list of those that are the next. */
void sc_submit(struct sc_peer *peer, struct ibv_send_wr *wr);
/* Both, of one. */
void sc_post(struct sc_peer *peer, struct ibv_send_wr *wr);
/*
 * Makes @wr, which is the peer's write or notice, a write of @n bytes at @from, which are
 * few and may be used again when it has been posted, and the next.
 */
void sc_number_short(struct sc_peer *peer, struct ibv_send_wr *wr, uint64_t address, uint32_t rkey,
		     const void *from, uint32_t n, bool signal);
/* How few they must be. */
static inline bool sc_is_short(size_t n)
{
	return n <= sc.max_inline || n <= SC_BOUNCE;
}
/* Takes completions of sends. How many. */
int sc_poll_sends(void);
void sc_signal_now(struct sc_peer *peer);
/* Asks for a completion of all that was posted. */
static inline void sc_signal(struct sc_peer *peer)
{
	if (peer->unsignaled)
		sc_signal_now(peer);
}
void sc_signal_all(void);
/* Until the other sides' devices have all that was posted. */
void sc_drain(void);

/* splitc_coalesce.c: small stores, which share messages. */
/* How many bytes they have. */
static inline bool sc_is_small_store(size_t n)
{
	return n + 2 * sizeof(sc_place) <= (size_t)sc_settings.coalesce;
}
/* It leaves at once if there is no acknowledgement to come. */
void sc_store_small(struct sc_peer *peer, uint64_t address, const void *from, uint32_t n);
void sc_send_held(struct sc_peer *peer);
void sc_send_all_held(void);
/* Before anything else that @peer is asked for. */
static inline void sc_release(struct sc_peer *peer)
{
	if (__builtin_expect(peer->held != 0, 0))
		sc_send_held(peer);
}
/* Before this processor does anything but store. */
static inline void sc_release_all(void)
{
	if (__builtin_expect(!!sc.holding, 0))
		sc_send_all_held();
}

/* splitc_progress.c */
/* Posts the receives of @peer's that are to be given back. */
void sc_give_back(struct sc_peer *peer);
/* Serves what has come. Whether there was something. */
bool sc_progress(void);
/* Nothing came: time for others, and for what has time. */
void sc_idle(void);
/* What was waited for before may have come by RDMA, of which no poll tells. */
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
	uint32_t length; /* of memory at @address, or what the operation says */
	uint64_t address;
	const void *data; /* beyond the header; NULL and 0: none */
	uint32_t nbytes;
	void *to; /* where the answer's data go, of which there are @wanted bytes */
	uint32_t wanted;
	uint32_t *pending; /* is one less then; the caller has counted it */
	bool keep; /* @data stay until then: they need not be copied */
};
/* A credit, which it waits for, and its buffer. */
unsigned int sc_take_slot(struct sc_peer *peer);
struct sc_message *sc_slot_message(struct sc_peer *peer, unsigned int slot);
/* Sends the message without an answer that is there, which has @nbytes beyond its header. */
void sc_send_oneway(struct sc_peer *peer, unsigned int slot, uint32_t nbytes);
/* Takes a credit, which it waits for. */
void sc_request(const struct sc_request *request);
/* The same, and waits for the answer. */
void sc_call(const struct sc_request *request);
/* A place for the data of an answer to @peer's request in @slot, and the answer. */
void *sc_answer_data(struct sc_peer *peer, unsigned int slot);
void sc_answer(struct sc_peer *peer, unsigned int slot, uint32_t nbytes);
/* Something from @peer has come: @length bytes. */
void sc_arrival(struct sc_peer *peer, const struct sc_message *message, uint32_t length);
/* Until all messages without an answer to all processors have arrived and are done. */
void sc_flush_oneways(void);

/* splitc_serve.c: a request, or a message without an answer, whose data have @nbytes. */
void sc_serve(struct sc_peer *peer, const struct sc_message *message, uint32_t nbytes);

/* splitc_access.c: this processor's memory, for others. Memory that is not there ends the run. */
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

/* splitc_exports.c: this processor's memory, registered. */
struct sc_export {
	uint64_t begin, end;
	uint32_t lkey, rkey;
	bool writable;
	bool ask; /* it cannot be: messages only */
};
/* Of the @n bytes at @address, a part that begins there; NULL: there is no such memory. */
const struct sc_export *sc_export(uint64_t address, size_t n, bool write, bool *there);
void sc_lookup(struct sc_peer *peer, const struct sc_message *message);
/* Tells everybody of memory that has gone. */
void sc_revoke_exports(void);
void sc_exports_close(void);

/* splitc_keys.c: others' memory. @what: for whom, if there is none. Good until the next poll. */
const struct sc_lookup *sc_key(struct sc_peer *peer, uint64_t address, size_t n, bool write,
			       const char *what);
/* The one used last, if it is of all of so few bytes; likewise. */
static inline const struct sc_lookup *sc_key_at_hand(const struct sc_peer *peer, uint64_t address,
						     size_t n, bool write)
{
	const struct sc_lookup *key = &peer->key;

	if (address < key->begin || address + n > key->end || (write && !key->writable))
		return NULL;
	return key;
}
void sc_revoked(struct sc_peer *peer, const struct sc_message *message);

/* Where something begins that others may learn of: they must not use keys of memory that has gone. */
static inline void sc_enter_store(void)
{
	if (__builtin_expect(__atomic_load_n(&sc.device.regions_gone, __ATOMIC_RELAXED) != sc.gone,
			     0))
		sc_revoke_exports();
}

/* The same, where stores that were held back must leave: in every call but stores. */
static inline void sc_enter(void)
{
	sc_enter_store();
	sc_release_all();
}

#endif
