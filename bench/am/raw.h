/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A reliable connection between the two processes of a job, by verbs alone. */
#ifndef VNET_BENCH_RAW_H
#define VNET_BENCH_RAW_H

#include <infiniband/verbs.h>
#include <stdint.h>

#include "two.h"

#define RAW_INLINE 64 /* bytes to send inline, if the device supports that */

/* Connection parameters that the processes exchange. */
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
	struct ibv_srq *srq; /* of a queue pair that only receives; NULL: it has a receive queue */
	struct ibv_qp *qp;
	uint8_t *buffer;
	uint32_t depth; /* length of each queue */
	uint32_t max_inline;
	uint8_t port;
	uint8_t reads; /* outstanding RDMA reads, in each direction */
	int gid_index;
	unsigned int in_queue; /* sends without a polled completion */
	unsigned int since_signal; /* sends since the last signaled one */
	struct raw_name mine, theirs;
};

/*
 * Opens @device (NULL: the first), and connects a queue pair with queues of length @depth
 * and @size bytes of registered memory. Ends the job on error.
 */
void raw_open(struct raw *raw, struct two *two, const char *device, uint32_t depth, size_t size);
/*
 * The same in two steps. raw_begin() makes all objects but the queue pair. Then the caller may
 * set srq, and replace recv_cq.
 */
void raw_begin(struct raw *raw, struct two *two, const char *device, uint32_t depth, size_t size);
void raw_connect(struct raw *raw);
/* Destroys all objects of raw_open(), and recv_cq. The caller must have destroyed its SRQ. */
void raw_close(struct raw *raw);
/* Destroys the queue pair only. Needed before the caller destroys its SRQ. Collective. */
void raw_disconnect(struct raw *raw);

/* End the job if @err, or the completion's status, is an error. */
void raw_check(struct raw *raw, const char *what, int err);
void raw_check_wc(struct raw *raw, const struct ibv_wc *wc);

/* Posts a receive of @size bytes at @offset of the buffer. Its wr_id is @offset. */
void raw_post_recv(struct raw *raw, size_t offset, uint32_t size);

/*
 * Posts a send, waiting for room in the queue. One of RAW_SIGNAL sends is signaled. Changes
 * @wr's flags and wr_id.
 */
#define RAW_SIGNAL 16
void raw_post_send(struct raw *raw, struct ibv_send_wr *wr);
/* The same, always signaled. */
void raw_post_signaled(struct raw *raw, struct ibv_send_wr *wr);

/* Waits until all sends are complete. */
void raw_flush_sends(struct raw *raw);

#endif
