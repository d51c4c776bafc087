/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One side of a connection, with everything that it owns; and what tests do
 * with it most.
 */
#ifndef SIDE_H
#define SIDE_H

#include <infiniband/verbs.h>

#include "check.h"

/* What a side is to be; zero: as side_open() finds it best. */
struct wish {
	/* RC */
	enum ibv_qp_type type;
	/* Buffer that is registered: 64 KiB */
	size_t length;
	/* Requests in each queue: 64; CQ entries: twice that */
	uint32_t depth;
	/* SGEs of each request: 4 */
	uint32_t sge;
	uint32_t max_inline;
	/* As ibv_modify_qp(3): 14, 7 */
	uint8_t timeout;
	uint8_t retry_cnt;
	/* 0 is a value: set no_rnr_retry for that. 7 (for ever) */
	uint8_t rnr_retry;
	bool no_rnr_retry;
	/* 1 (10 us) */
	uint8_t min_rnr_timer;
	/* With a completion channel. */
	bool events;
	/* With a shared receive queue. */
	bool srq;
	/* Every request completes visibly. */
	bool sig_all;
	/* The buffer is a file of its own, side.file, mapped. */
	bool file;
	/* The buffer is paged on demand. */
	bool on_demand;
	/* Index of its GID: 0 */
	uint8_t gid_index;
	/* Use this context and not one of its own; not closed with the side. */
	struct ibv_context *context;
};

struct address {
	uint32_t qpn;
	uint32_t rkey;
	uint64_t addr;
	union ibv_gid gid;
};

struct side {
	struct wish wish;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buffer;
	size_t length;
	int file;
	struct address peer;
};

#define SIDE_ACCESS                                                                                \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)
#define SIDE_QKEY 0x1234567u

/* The first device; dies if there is none. */
struct ibv_context *open_device(void);

/* Its queue pair is in INIT. */
void side_open(struct side *s, const struct wish *wish);
/* Everything must be destroyable. */
void side_close(struct side *s);
struct address side_address(const struct side *s);
/* From INIT to RTS (UD: the peer is only remembered). */
void side_connect(struct side *s, const struct address *peer);
/* Transitions one by one. */
void side_to_reset(struct side *s);
void side_to_init(struct side *s);
void side_to_rtr(struct side *s, const struct address *peer);
void side_to_rts(struct side *s);
/* From any state by RESET to RTS; false: a peer was in the way with an error. */
bool side_try_anew(struct side *s, const struct address *peer);
/* Exchange addresses with the process behind the socket, and connect. */
void side_meet(struct side *s, int sock);
/* Two sides in this process, connected. */
void pair_open(struct side s[2], const struct wish *wish);
void pair_close(struct side s[2]);

enum ibv_qp_state side_state(const struct side *s);

/* A piece of the side's own buffer. */
struct ibv_sge side_sge(const struct side *s, size_t offset, size_t length);

/*
 * Post one request on buffer [offset, offset + length); where it has a remote
 * side, at the same offset of the peer's buffer. wr_id is what the completion
 * says. 0 or errno, as ibv_post_send() has it.
 */
int side_try_post(struct side *s, enum ibv_wr_opcode opcode, uint64_t wr_id, size_t offset,
		  size_t length, unsigned int flags);
/* Signaled, and it must be taken. */
void side_post(struct side *s, enum ibv_wr_opcode opcode, uint64_t wr_id, size_t offset,
	       size_t length);
void side_receive(struct side *s, uint64_t wr_id, size_t offset, size_t length);

/* The next completion; dies when none comes. */
struct ibv_wc side_wait(struct side *s);
struct ibv_wc cq_wait(struct ibv_cq *cq);
/* It must be of this request, with this status. */
struct ibv_wc side_expect(struct side *s, uint64_t wr_id, enum ibv_wc_status status);
/* Poll this long and see nothing. */
void side_expect_silence(struct side *s, uint64_t ns);

/* The next asynchronous event of its context, acknowledged; dies when none comes. */
struct ibv_async_event side_event(struct side *s);

/* Bytes that tell who wrote them. */
void fill(void *dst, size_t length, uint32_t mark);
/* Whether they are those. */
bool is_filled(const void *src, size_t length, uint32_t mark);

#endif /* SIDE_H */
