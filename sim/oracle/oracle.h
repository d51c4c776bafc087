/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Internal header of the oracle. Other parts of the simulator include only check.h. */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include "oracle/check.h"

/* All requests, receives, ends and counters of this schedule, in order. id = index + 1. */
struct posted {
	struct work **work;
	u32 nwork, work_room;
	struct receive **receive;
	u32 nreceive, receive_room;
	struct end **end;
	u32 nend, end_room;
	struct counter **counter;
	u32 ncounter, counter_room;
};

extern struct posted posted;

/* posted.c: find the object of a completion. NULL: there is none. */
struct work *work_of(u64 wr_id);
struct receive *receive_of(u64 wr_id);
struct end *end_of(const struct queue *cq, u32 qpn);
u32 node_of(const struct end *e);

/* check_bytes.c: report a violation by request `w`. */
void bad(const struct work *w, const char *what);
/* Free a buffer. It is a violation if a byte behind the first `used` ones was written. */
void put(struct buffer *buffer, u32 used);
/* Whether the pieces contain `total` bytes: a header of `skip` bytes, then pattern `id`. */
bool pieces_are(struct buffer *const *buffer, const u32 *length, u32 n, u32 total, u64 id,
		u32 skip);
struct pool *pool_of(const struct buffer *buffer);
/* Check and free the local buffers of a completed request: the data it sent, or fetched. */
void release_source(struct work *w);
void release_target(struct work *w, u64 id);

/* Whether so many frames were lost at cut links that a connection may exceed its retries. */
bool links_were_cut(void);

/* check_send.c: whether a request with this opcode consumes a receive. */
bool consumes(u8 opcode);
void check_send(const struct queue *cq, const struct vnet_cqe *cqe, struct work *w);
void complete_silent(struct end *e, u32 until);
void fail(struct work *w);

/* check_receive.c */
void check_receive_done(const struct queue *cq, const struct vnet_cqe *cqe, struct receive *r);

#endif /* SIM_ORACLE_H */
