/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A NIC with some processes, for unit tests, with short versions of what the agent and the
 * provider do. Process i has owner ID i + 2 and space i + 1; the agent is owner 1.
 */
#ifndef WORLD_H
#define WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "nic.h"
#include "test_platform.h"

#define PROCESSES 3
#define SPACE_BYTES (1u << 20)
/* The values of enum ibv_qp_attr_mask. */
#define M_STATE (1u << 0)
#define M_CUR_STATE (1u << 1)
#define M_SQD_NOTIFY (1u << 2)
#define M_ACCESS (1u << 3)
#define M_PKEY (1u << 4)
#define M_PORT (1u << 5)
#define M_QKEY (1u << 6)
#define M_AV (1u << 7)
#define M_MTU (1u << 8)
#define M_TIMEOUT (1u << 9)
#define M_RETRY_CNT (1u << 10)
#define M_RNR_RETRY (1u << 11)
#define M_RQ_PSN (1u << 12)
#define M_RD_ATOMIC (1u << 13)
#define M_ALT_PATH (1u << 14)
#define M_MIN_RNR (1u << 15)
#define M_SQ_PSN (1u << 16)
#define M_DEST_RD_ATOMIC (1u << 17)
#define M_MIG (1u << 18)
#define M_CAP (1u << 19)
#define M_DEST_QPN (1u << 20)
#define M_RATE (1u << 25)

#define ALL_ACCESS                                                                                 \
	(NIC_ACCESS_LOCAL_WRITE | NIC_ACCESS_REMOTE_WRITE | NIC_ACCESS_REMOTE_READ |               \
	 NIC_ACCESS_REMOTE_ATOMIC | NIC_ACCESS_MW_BIND)

#define TEST_QKEY 0x11111111u
#define MS 1000000ull

/* A ring as its process sees it. */
struct ring {
	u64 offset;
	struct vnet_ring *hdr;
	u8 *slots;
	u32 mask;
	u32 shift;
};

struct process {
	/* The process' view of the NIC. */
	struct nic nic;
	u32 index;
	u32 pdn;
	/* Key of a region over its whole space. */
	u32 key;
};

struct cq {
	struct process *p;
	u32 cqn;
	struct ring ring;
	u32 cons;
};

struct srq {
	struct process *p;
	u32 srqn;
	struct ring ring;
	u32 prod;
};

struct qp {
	struct process *p;
	u32 qpn;
	u8 type;
	struct cq *scq;
	struct cq *rcq;
	struct srq *srq;
	struct ring sq;
	struct ring rq;
	u32 sq_prod;
	u32 rq_prod;
};

/* A polled completion. */
struct wc {
	u64 wr_id;
	u32 status;
	u32 opcode;
	u32 flags;
	u32 byte_len;
	u32 imm;
	u32 qp_num;
	u32 src_qp;
	u32 payload_len;
};

struct world {
	/* The agent's view. */
	struct nic agent;
	struct nic_config config;
	struct process p[PROCESSES];
	/* A CQ for each process, for tests that keep one. */
	struct cq *cq[PROCESSES];
	/* Next free queue memory, key and object numbers. */
	u64 queue_at;
	u32 next_mr, next_cqn, next_srqn, next_qpn;
};

extern struct world w;
/* Size of queue memory in worlds that are made from now on. */
extern u64 world_queue_bytes;

int world_setup(void **state);
/* Also fails the test if a lock is still held, or memory was accessed out of bounds. */
int world_teardown(void **state);
/* Fails if any lock is held, except by owner `but` (if not 0). */
void assert_locks_free(u32 but);

/* Zeroed memory for objects of tests, which world_teardown() frees. */
void *test_alloc(size_t size);
/* world_release() frees what was allocated since the mark. */
u32 world_mark(void);
void world_release(u32 mark);

/* A test case with world_setup() and world_teardown(). */
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

/* --- memory */

/* Address of a byte in a process' space, and a pointer to it. */
u64 at(const struct process *p, u64 offset);
u8 *mem(const struct process *p, u64 offset);
/* Fill memory with a pattern that depends on seed; check for it. */
void fill(const struct process *p, u64 offset, u64 length, u32 seed);
bool filled(const struct process *p, u64 offset, u64 length, u32 seed);
bool untouched(const struct process *p, u64 offset, u64 length);

u32 new_key(void);
u32 reg_mr(struct process *p, u64 offset, u64 length, u32 access);
u32 alloc_mw(struct process *p, u8 kind);

/* --- objects; creation must succeed */

u64 queue_alloc(u64 bytes);
struct ring ring_make(u32 entries, u32 shift);
struct cq *make_cq(struct process *p, u32 entries, u32 flags);
struct cq *make_cq_channel(struct process *p, u32 entries, u32 channel, u64 handle);
struct srq *make_srq(struct process *p, u32 entries);

struct qp_options {
	u32 sq_entries;
	u32 rq_entries;
	bool sig_all;
	/* With return to sender. */
	bool returns;
	struct srq *srq;
	/* 0: the maximum. */
	u8 max_send_sge;
	u8 max_recv_sge;
};

struct nic_qp_params qp_params(struct process *p, u8 type, struct cq *scq, struct cq *rcq,
			       const struct qp_options *options);
struct qp *make_qp(struct process *p, u8 type, struct cq *scq, struct cq *rcq);
struct qp *make_qp_with(struct process *p, u8 type, struct cq *scq, struct cq *rcq,
			const struct qp_options *options);

/* Valid attributes for every transition, with destination QPN dest. */
struct nic_qp_attr good_attr(u32 dest);
u32 needed(u8 type, u8 to);
enum nic_result modify(struct qp *qp, const struct nic_qp_attr *attr, u32 mask, u8 to);
/* Modifies with the required attributes, and valid values. */
enum nic_result to_state(struct qp *qp, u8 to, u32 dest);
/* Modifies to INIT, RTR and RTS. */
void bring_up(struct qp *qp, u32 dest);
void connect(struct qp *a, struct qp *b);
u8 state_of(struct qp *qp);
/* The QP's entry in NIC memory, for access to fields without the API. */
struct nic_qp *frame(struct qp *qp);

/* Two connected QPs of processes 0 and 1, each with a CQ. */
struct pair {
	struct qp *a;
	struct qp *b;
};

struct pair make_pair(u8 type);

/* --- work */

struct sge {
	u64 addr;
	u32 length;
	u32 lkey;
};

/* A plain signaled request, to be completed by the caller. */
struct vnet_send_wqe wr(u8 opcode, u64 wr_id);
struct sge sge(struct process *p, u64 offset, u32 length);
/* A one-sided request for the process' memory. */
struct vnet_send_wqe rdma(u8 opcode, u64 wr_id, struct process *target, u64 offset);
/* Directs a request to this datagram queue pair. */
void aim_datagram(struct vnet_send_wqe *wqe, const struct qp *to);

void post_send(struct qp *qp, const struct vnet_send_wqe *wqe, const struct sge *sg, u32 n);
void post_inline(struct qp *qp, const struct vnet_send_wqe *wqe, const void *data, u32 length);
void ring_send(struct qp *qp);
/* Posts one request, and rings the doorbell. */
void send_one(struct qp *qp, const struct vnet_send_wqe *wqe, const struct sge *sg);

/* Post a receive, and ring the doorbell if need_doorbell is set. */
void post_recv(struct qp *qp, u64 wr_id, const struct sge *sg, u32 n);
/* Posts a receive of 256 bytes at wr_id * 256. */
void post_one(struct qp *qp, u64 wr_id);
void post_srq_recv(struct srq *srq, u64 wr_id, const struct sge *sg, u32 n);

/* Returns false if the CQ is empty. Places payloads like the provider. */
bool poll(struct cq *cq, struct wc *wc);
/* Polls one completion with this wr_id and status; there must be no other one. */
struct wc expect(struct cq *cq, u64 wr_id, u32 status);
/* Polls the next completion; others may follow. */
struct wc expect_next(struct cq *cq, u64 wr_id, u32 status);
void expect_none(struct cq *cq);

/* Runs the NIC processor until it has nothing to do, or `ns` have passed. */
void run_for(u64 ns);
/* The owner polls an empty CQ. */
void idle(struct process *p);

/* Takes an async event, which must have this kind and number. */
bool async_event(char kind, u32 num, u32 event);
void no_async(void);

#endif
