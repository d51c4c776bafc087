/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Two NICs, each with one process, and a link between them; time passes when the
 * test lets it. Addresses of regions are pointers of this process.
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

/* Out of 1000 frames. */
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
	/* Memory that is registered under this key, all of it. */
	u8 *data;
	u32 key;
};

struct end {
	struct side *side;
	u32 qpn, cqn, srqn;
	/* That requests name, of the peer. */
	u32 named;
	u8 type;
	struct queue sq, rq, cq;
	/* Operations on the tags of its shared receive queue. */
	struct queue ops;
	u32 sq_prod, rq_prod, cq_cons, ops_prod;
};

#define DATA_BYTES (4u << 20)

extern struct side side[2];
extern struct link_faults faults;
extern u64 now_ns;
/* Called once, by who waits for a lock. */
extern void (*on_relax)(void);
/*
 * Registered memory is paged on demand, if not 0: of so many copies, one finds a page
 * missing, and so does each look whether it has come; how many did, and how often pages
 * were asked for.
 */
extern u32 pages_miss, pages_missed, pages_asked;
/* Of this side, all are missing; 2: of none. */
extern u32 pages_gone;
/* And are gone again whenever they were looked for, and have come. */
extern bool pages_flee;
/* Those of it from this offset on could not be brought then. */
extern u64 pages_lost_at, pages_lost_from;
/* The process of side 1 is at its end: there is no memory of it any more. */
extern bool memory_gone;
/* Sees each frame that is given to the link for side i. */
extern void (*on_frame)(u32 i, const void *frame, u32 length);
/* Addresses are of groups, two in each: the sides' are 0 and 1. */
extern bool groups;
/* Peers are on other machines: frames prove themselves by MACs alone. */
extern bool macs;
/* Number of the key that both sides have; how often a side was told that it is refused. */
extern u32 world_key, refused;
/* Of the next worlds. */
extern u32 world_data_bytes;
/* The next ends, of datagrams, have those back that cannot be delivered. */
extern bool ends_return;
/* The shared receive queues of the next ends match so many tags, if not 0. */
extern u32 ends_tags;
/* At each step of the firmware, of the NIC of side[runs]. */
extern void (*on_step)(int step);
extern u32 runs;
/* At each copy. */
extern void (*on_copy)(void);

/* NICs with few of everything. */
extern const struct nic_config world_small;
void world_make(u32 seed, const struct nic_config *config);
void world_free(void);
/* Frames travel and timers run, for so long. */
void pass(u64 ns);
/* A frame as it is, from nowhere, to side i. */
void inject(u32 i, const void *frame, u32 length);
/* It is from the other side to side `to`, and proves that; the CRC is still to be made. */
void sign_for(u32 to, struct vnet_frame *head);
/* What the link finds about such a frame; and one that comes from there. */
struct nic_proof prove(void *frame, u32 length);
void deliver_from(u32 to, u8 address, void *bytes, u32 length);
/* The last frame that was given to the link for side i, or address 2 or 3, where nobody is. */
u32 last_frame(u32 i, void *frame);
u32 below(u32 n);

struct end *end_make(struct side *s, u8 type, bool srq);
void end_reset(struct end *e);
void end_state(struct end *e, u8 state, const struct end *peer);
void end_connect(struct end *a, struct end *b);
void end_send(struct end *e, const struct vnet_send_wqe *wqe, u32 offset, u32 length);
void end_recv(struct end *e, u64 wr_id, u32 offset, u32 length);
/* false: there is none. */
bool end_poll(struct end *e, struct vnet_cqe *cqe);
/* Lets time pass until there is one. */
struct vnet_cqe end_wait(struct end *e);

#endif
