/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One side of a connection with all its objects, and common operations on it.
 */
#ifndef SIDE_H
#define SIDE_H

#include <infiniband/verbs.h>

#include "check.h"

/* Parameters of a side. Zero selects the default, which the comments give. */
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
	/* As in ibv_modify_qp(3): 14, 7 */
	uint8_t timeout;
	uint8_t retry_cnt;
	/* 7 (no limit). Set no_rnr_retry for 0. */
	uint8_t rnr_retry;
	bool no_rnr_retry;
	/* 1 (10 us) */
	uint8_t min_rnr_timer;
	/* With a completion channel. */
	bool events;
	/* With a shared receive queue. */
	bool srq;
	/* sq_sig_all */
	bool sig_all;
	/* The buffer is a mapping of a memory file, side.file. */
	bool file;
	/* The buffer is paged on demand. */
	bool on_demand;
	/* GID index: 0 */
	uint8_t gid_index;
	/* Context to use, which side_close() does not close; NULL: the side opens its own. */
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

/* Opens the first device; ends the test if there is none. */
struct ibv_context *open_device(void);
/* A counter of the device's port, from sysfs. The kernel's core caches it for some milliseconds. */
uint64_t device_counter(const struct ibv_context *context, const char *name);

/* Creates all objects. The queue pair is in INIT afterwards. */
void side_open(struct side *s, const struct wish *wish);
/* Destroys all objects, and checks that each call succeeds. */
void side_close(struct side *s);
struct address side_address(const struct side *s);
/* Moves the queue pair from INIT to RTS (UD: only stores the peer's address). */
void side_connect(struct side *s, const struct address *peer);
/* Single transitions. */
void side_to_reset(struct side *s);
void side_to_init(struct side *s);
void side_to_rtr(struct side *s, const struct address *peer);
void side_to_rts(struct side *s);
/*
 * Moves the queue pair from any state through RESET to RTS. Returns false if a transition
 * failed.
 */
bool side_try_anew(struct side *s, const struct address *peer);
/* Exchanges addresses with the process at the other end of the socket, and connects. */
void side_meet(struct side *s, int sock);
/* Two connected sides in this process. */
void pair_open(struct side s[2], const struct wish *wish);
void pair_close(struct side s[2]);
/* Sends a message from s[0] to s[1], and waits for both completions. */
void pair_send(struct side s[2], size_t length);

/* Destroy one object before side_close(), which then leaves it out. */
void side_destroy_qp(struct side *s);
void side_destroy_cq(struct side *s);
void side_destroy_srq(struct side *s);

/* An RC queue pair with room for 4 sends and `receives` receives of one SGE. */
struct ibv_qp *make_rc_qp(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t receives);
void qp_to_error(struct ibv_qp *qp);

enum ibv_qp_state side_state(const struct side *s);

/* An SGE for a part of the side's buffer. */
struct ibv_sge side_sge(const struct side *s, size_t offset, size_t length);

/*
 * Posts a request on buffer [offset, offset + length); one-sided operations use the same offset
 * of the peer's buffer. Returns the result of ibv_post_send(): 0 or errno.
 */
int side_try_post(struct side *s, enum ibv_wr_opcode opcode, uint64_t wr_id, size_t offset,
		  size_t length, unsigned int flags);
/* Posts a signaled request, and checks that ibv_post_send() succeeds. */
void side_post(struct side *s, enum ibv_wr_opcode opcode, uint64_t wr_id, size_t offset,
	       size_t length);
void side_receive(struct side *s, uint64_t wr_id, size_t offset, size_t length);

/* Wait for the next completion; end the test if none comes in TIME_LIMIT seconds. */
struct ibv_wc side_wait(struct side *s);
struct ibv_wc cq_wait(struct ibv_cq *cq);
/* side_wait(), and checks wr_id and status. */
struct ibv_wc side_expect(struct side *s, uint64_t wr_id, enum ibv_wc_status status);
/* Polls for `ns` nanoseconds, and checks that no completion comes. */
void side_expect_silence(struct side *s, uint64_t ns);

/* Waits for the next asynchronous event of the context, and acknowledges it. */
struct ibv_async_event side_event(struct side *s);

/* Fills memory with a pattern that depends on `mark`. */
void fill(void *dst, size_t length, uint32_t mark);
/* Whether the memory has the pattern of `mark`. */
bool is_filled(const void *src, size_t length, uint32_t mark);

#endif /* SIDE_H */
