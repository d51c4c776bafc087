/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Two connected queue pairs of one process, for tests of vnet trace. */
#ifndef LOOP_H
#define LOOP_H

#include <infiniband/vnetdv.h>
#include <stdbool.h>
#include <stdint.h>

/* Ends the program with a message unless `good`. */
void ensure(bool good, const char *what);
#define ENSURE(_good) ensure(_good, #_good)

#define LOOP_BYTES 8192

struct wish {
	enum ibv_qp_type type;
	/*
	 * Access flags: of both queue pairs, in addition to the usual ones; of the region, instead.
	 * 0: default.
	 */
	unsigned int qp_access, mr_access;
	/* Omit these. */
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
	/* `qp` sends to `far`. */
	struct ibv_qp *qp, *far;
	struct ibv_qp_cap cap;
	uint64_t memory[LOOP_BYTES / 8];
};

void loop_open(struct loop *loop, const struct wish *wish);
void loop_close(struct loop *loop);

/* An SGE of the memory from `at` on. */
struct ibv_sge loop_sge(const struct loop *loop, uint32_t at, uint32_t length);
/*
 * Posts a request from the lower half of the memory to the upper half. Returns 0 or an errno value.
 */
int loop_post(struct loop *loop, enum ibv_wr_opcode opcode, uint32_t length, unsigned int flags,
	      uint64_t wr_id);
int loop_receive(struct loop *loop, uint32_t length, uint64_t wr_id);
/* Posts a flush of `length` bytes of the upper half. */
void loop_flush(struct loop *loop, uint32_t length, uint8_t type, uint8_t level, uint64_t wr_id);
/* Waits for the next completion. */
struct ibv_wc loop_wait(struct loop *loop);

/* good.c: runs a correct program. Returns false if there is none of this name. */
bool run_good(const char *name, unsigned int count);

#endif /* LOOP_H */
