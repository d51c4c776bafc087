/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Fake agent for tests of the provider. It answers libibverbs' commands, allocates rings in a
 * memfd, and counts what the provider does. The test plays the NIC on the rings.
 */
#ifndef FAKE_AGENT_H
#define FAKE_AGENT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vnet.h"

struct fake_agent {
	/* What the agent tells about itself. */
	uint32_t hw_version;
	uint32_t gate_size;
	bool without_gate;
	/* Capabilities (enum vnet_ucontext_caps). */
	uint32_t caps;
	const char *fw_ver;
	/* Granted sizes of new queues. */
	uint32_t entries;
	uint32_t max_sge;
	uint32_t max_inline;
	/* Error of the next command, once. */
	int fail_next;
	/* Copies by the gate fail. */
	bool copy_fails;
	/* The next poll that finds this queue empty gets a completion, once. */
	struct ibv_cq *idle_completes;

	/* What the provider has done. */
	unsigned int send_doorbells;
	unsigned int cq_doorbells;
	unsigned int recv_doorbells;
	unsigned int idles;
	unsigned int copies;
	unsigned int traps;
	uint32_t last_qpn;
	uint32_t last_recv_num;
	int last_recv_is_srq;
	uint32_t fault_qpn;
	uint32_t last_cq_flags;
	uint32_t last_qp_flags;
	unsigned int live;
};

extern struct fake_agent agent;

#define FAKE_COOKIE 0x1122334455667788ull
#define FAKE_QPN 0x123456u
#define FAKE_SRQN 77u
#define FAKE_CQN 5u
/* wr_id of the completion that idle_completes makes. */
#define FAKE_IDLE_WR 31u
/* The handle of all protection domains. */
#define FAKE_PD 9u

/* The operations that the provider registered with libibverbs. */
extern const struct verbs_device_ops *fake_device_ops;
extern const struct verbs_context_ops *fake_ops;

/* Resets the agent to its defaults. */
void fake_reset(void);
/* Setup and teardown for cmocka: *state is an open context. */
int fake_open(void **state);
int fake_close(void **state);
#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_open, fake_close)

/* Create objects through the provider; the test fails if that fails. */
struct ibv_pd *fake_pd(struct ibv_context *context);
struct ibv_cq *fake_cq(struct ibv_context *context);
/* The QP is in RTS. `extended` makes it usable with ibv_wr_*(). */
struct ibv_qp *fake_qp(struct ibv_pd *pd, struct ibv_cq *cq, struct ibv_srq *srq,
		       enum ibv_qp_type type, bool extended);
struct ibv_srq *fake_srq(struct ibv_pd *pd);
void fake_end_qp(struct ibv_qp *qp);
void fake_end_srq(struct ibv_srq *srq);
void fake_end_cq(struct ibv_cq *cq);
void fake_end_pd(struct ibv_pd *pd);

/* The part of the NIC. */
struct vnet_ring *fake_ring(const struct vnet_wq *wq);
struct vnet_send_wqe *fake_send_wqe(struct ibv_qp *qp, uint32_t index);
struct vnet_recv_wqe *fake_recv_wqe(struct vnet_wq *wq, uint32_t index);
/* Makes the next completion; `seq` is filled in. */
void fake_complete(struct ibv_cq *cq, const struct vnet_cqe *cqe);

#endif /* FAKE_AGENT_H */
