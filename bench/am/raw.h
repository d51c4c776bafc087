/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A reliable connection between the two processes of a job, by verbs alone. */
#ifndef VNET_BENCH_RAW_H
#define VNET_BENCH_RAW_H

#include <infiniband/verbs.h>
#include <stdint.h>

#include "two.h"

#define RAW_INLINE 64 /* bytes that are sent inline, where the device can */

/* What the other process must know. */
struct raw_name {
	uint32_t qpn;
	uint32_t rkey;
	uint64_t buffer;
	union ibv_gid gid;
	uint16_t lid;
	uint16_t mtu; /* enum ibv_mtu */
};

struct raw {
	struct two *two;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_srq
		*srq; /* then the queue pair only receives; NULL: it has receives of its own */
	struct ibv_qp *qp;
	uint8_t *buffer;
	uint32_t depth; /* of either queue */
	uint32_t max_inline;
	uint8_t port;
	uint8_t reads; /* that may be under way at once, either way */
	int gid_index;
	unsigned int in_queue; /* sends that are not known to be complete */
	unsigned int since_signal; /* of those, after the last that asks for a completion */
	struct raw_name mine, theirs;
};

/*
 * Opens @device (NULL: the first), and connects a queue pair whose queues are
 * @depth long, with @size bytes of registered memory. Ends the job if it cannot.
 */
void raw_open(struct raw *raw, struct two *two, const char *device, uint32_t depth, size_t size);
/*
 * The same in two steps: raw_begin() makes all but the queue pair; then the caller may
 * put a shared receive queue in srq, and a completion queue for its receives in recv_cq.
 */
void raw_begin(struct raw *raw, struct two *two, const char *device, uint32_t depth, size_t size);
void raw_connect(struct raw *raw);
/* Destroys what raw_open() made; a shared receive queue and its completion queue before it. */
void raw_close(struct raw *raw);
/* Only the queue pair, which must go before its shared receive queue. Both sides at once. */
void raw_disconnect(struct raw *raw);

/* Ends the job if @err, or the completion's status, is bad. */
void raw_check(struct raw *raw, const char *what, int err);
void raw_check_wc(struct raw *raw, const struct ibv_wc *wc);

/* A receive of @size bytes at @offset of the buffer, which is its wr_id. */
void raw_post_recv(struct raw *raw, size_t offset, uint32_t size);

/*
 * Posts a send, waiting for room in its queue; one of RAW_SIGNAL asks for a
 * completion. @wr's flags are changed.
 */
#define RAW_SIGNAL 16
void raw_post_send(struct raw *raw, struct ibv_send_wr *wr);
/* The same of one that asks for a completion. */
void raw_post_signaled(struct raw *raw, struct ibv_send_wr *wr);

/* Waits until all sends are complete. */
void raw_flush_sends(struct raw *raw);

#endif
