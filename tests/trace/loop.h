/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Two queue pairs of one process, connected with each other. */
#ifndef LOOP_H
#define LOOP_H

#include <infiniband/vnetdv.h>
#include <stdbool.h>
#include <stdint.h>

/* Ends the program with what failed. */
void ensure(bool good, const char *what);
#define ENSURE(_good) ensure(_good, #_good)

#define LOOP_BYTES 8192

struct wish {
	enum ibv_qp_type type;
	/* Of both queue pairs besides the usual, and of the region instead; as they are if zero. */
	unsigned int qp_access, mr_access;
	/* Without these. */
	bool no_access, no_read_credit, no_connection, no_peer;
	bool channel, extended, srq;
	int cq_entries;
};

struct loop {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq_ex *cq_ex;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	/* It sends to the other. */
	struct ibv_qp *qp, *far;
	struct ibv_qp_cap cap;
	uint64_t memory[LOOP_BYTES / 8];
};

void loop_open(struct loop *loop, const struct wish *wish);
void loop_close(struct loop *loop);

/* Of the memory from `at` on. */
struct ibv_sge loop_sge(const struct loop *loop, uint32_t at, uint32_t length);
/* From its lower half into its upper one: 0 or an errno value. */
int loop_post(struct loop *loop, enum ibv_wr_opcode opcode, uint32_t length, unsigned int flags,
	      uint64_t wr_id);
int loop_receive(struct loop *loop, uint32_t length, uint64_t wr_id);
/* A flush of so much of its upper half, with these types and this level. */
void loop_flush(struct loop *loop, uint32_t length, uint8_t type, uint8_t level, uint64_t wr_id);
/* The next completion. */
struct ibv_wc loop_wait(struct loop *loop);

/* good.c: those that nothing can be said against; false if there is no such one. */
bool run_good(const char *name, unsigned int count);

#endif /* LOOP_H */
