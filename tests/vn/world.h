/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Two NICs in one process, with a link between them. The test controls the link and the clock.
 * Addresses of regions are pointers of this process.
 */
#ifndef VN_WORLD_H
#define VN_WORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nic.h"

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                 \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* Probabilities per 1000 frames. */
struct link_faults {
	u32 lose, twice, reorder, spoil;
};

struct queue {
	u64 offset;
	struct vnet_ring *hdr;
	u8 *slots;
	u32 mask, shift;
};

struct side {
	struct nic nic;
	struct nic_config config;
	void *memory;
	u64 queue_at;
	u32 next_qp, next_cq, next_srq, next_mr;
	/* Registered memory of this side, and its key. */
	u8 *data;
	u32 key;
};

struct end {
	struct side *side;
	u32 qpn, cqn, srqn;
	/* Number of the peer's SRQ, which XRC requests name. */
	u32 named;
	u8 type;
	struct queue sq, rq, cq;
	/* Ring of tag operations of its SRQ. */
	struct queue ops;
	u32 sq_prod, rq_prod, cq_cons, ops_prod;
};

#define DATA_BYTES (4u << 20)
/* Sends and writes come from the first half of a side's memory, and go to the second half. */
#define HALF (DATA_BYTES / 2)
#define MS 1000000ull

extern struct side side[2];
extern struct link_faults faults;
extern u64 now_ns;
/* Called once, at the next plat_relax() (a wait for a lock), and then cleared. */
extern void (*on_relax)(void);
/*
 * If pages_miss is not 0, registered memory is paged on demand: each piece of a copy or fetch
 * is missing with probability 1 / pages_miss. The counters: how many were missing, and calls of
 * plat_fetch().
 */
extern u32 pages_miss, pages_missed, pages_asked;
/* All memory of this side is missing; 2: of neither side. */
extern u32 pages_gone;
/* plat_fetch() reports pages as present that the next copy misses again. */
extern bool pages_flee;
/* Fetches of pages_gone's memory from this offset on fail, if they began by this time. */
extern u64 pages_lost_at, pages_lost_from;
/* The memory of side 1's process no longer exists. */
extern bool memory_gone;
/* Called for each frame that is given to the link for side i. */
extern void (*on_frame)(u32 i, const void *frame, u32 length);
/* Addresses belong to key groups of two: both sides (0 and 1) are in the first one. */
extern bool groups;
/* Peers are on other machines: frames are proved by MACs only. */
extern bool macs;
/* Number of the key of both sides; number of calls of plat_report_refused(). */
extern u32 world_key, refused;
/* Size of registered memory in worlds that are made from now on. */
extern u32 world_data_bytes;
/* Datagram queue pairs that are made from now on have return to sender. */
extern bool ends_return;
/* If not 0: SRQs that are made from now on have tag matching with this many tags. */
extern u32 ends_tags;
/* Called at each step of the firmware; side[runs] is the NIC that executes. */
extern void (*on_step)(int step);
extern u32 runs;
/* Called at each copy. */
extern void (*on_copy)(void);

/* Configurations: with small tables, and with room for several receivers and streams. */
extern const struct nic_config world_small, world_usual;
void world_make(u32 seed, const struct nic_config *config);
void world_free(void);
/* Advances the clock by ns; frames are delivered, and both NIC processors run. */
void pass(u64 ns);
/* Delivers a frame to side i as if the other side had sent it. */
void inject(u32 i, const void *frame, u32 length);
/*
 * Fills in the header as the other side does for a frame to side `to`, with its proof of
 * sender. The caller still computes the CRC.
 */
void sign_for(u32 to, struct vnet_frame *head);
/* prove(): what the link finds about a frame's proof. deliver_from(): a frame from an address. */
struct nic_proof prove(void *frame, u32 length);
void deliver_from(u32 to, u8 address, void *bytes, u32 length);
/* The last frame to address i (2 and 3 have no NIC). Returns its length. */
u32 last_frame(u32 i, void *frame);
u32 below(u32 n);
struct nic_counters *counters(u32 i);

struct end *end_make(struct side *s, u8 type, bool srq);
/* Makes a queue pair on each side, without SRQs, and connects them. */
void pair_make(struct end **a, struct end **b, u8 type);
void end_reset(struct end *e);
void end_state(struct end *e, u8 state, const struct end *peer);
void end_connect(struct end *a, struct end *b);
/* From RESET or INIT to RTS without a peer, for datagram and raw packet queue pairs. */
void end_to_rts(struct end *e);
struct nic_qp *end_qp(const struct end *e);
/* Contents that depend on the offset and the message number. */
void fill(u8 *at, u32 length, u32 seed);
bool filled(const u8 *at, u32 length, u32 seed);

/* A signaled request. */
struct vnet_send_wqe request(u8 opcode, u64 wr_id);
/* Direct a one-sided request to this side's memory at `offset`, and a datagram to a queue pair. */
void aim(struct vnet_send_wqe *w, const struct side *s, u64 offset);
void aim_datagram(struct vnet_send_wqe *w, const struct end *to);
void end_send(struct end *e, const struct vnet_send_wqe *wqe, u32 offset, u32 length);
void end_recv(struct end *e, u64 wr_id, u32 offset, u32 length);
/* Returns false if there is no completion. */
bool end_poll(struct end *e, struct vnet_cqe *cqe);
/* Advances the clock until there is a completion. */
struct vnet_cqe end_wait(struct end *e);
/* end_wait(), and checks wr_id and status. */
struct vnet_cqe end_expect(struct end *e, u64 wr_id, u32 status);
/* Advances the clock by 10 ms, and checks that there is no completion. */
void end_has_nothing(struct end *e);

#endif
