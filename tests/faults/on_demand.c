// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory that is paged on demand: there when it is used, and not before; all
 * addresses as one region; and a process that forks.
 *
 *   on_demand processes|threads    where the peer lives
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peer.h"

#define PAGE 4096u
#define ACCESS (SIDE_ACCESS | IBV_ACCESS_ON_DEMAND)

static struct side here;

static uint8_t *reserve(size_t length, int protection)
{
	uint8_t *at = mmap(NULL, length, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	return at;
}

/* Transfer between memory here and the peer's buffer, and tell how it ended. */
static enum ibv_wc_status transfer(enum ibv_wr_opcode opcode, const uint8_t *at, uint32_t length,
				   uint32_t key)
{
	struct ibv_sge sge = { .addr = (uintptr_t)at, .length = length, .lkey = key };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { .remote_addr = here.peer.addr,
					       .rkey = here.peer.rkey } };
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	CHECK_EQ(ibv_post_send(here.qp, &wr, &bad), 0);
	wc = side_wait(&here);
	if (wc.status != IBV_WC_SUCCESS)
		peer_anew(&here);
	return wc.status;
}

/* Addresses are registered before anything is there. */
static void comes_later(void)
{
	static const uint32_t lengths[] = { 8, 64, PAGE, 3 * PAGE };
	uint8_t *at = reserve(4 * PAGE, PROT_NONE);
	struct ibv_mr *mr = ibv_reg_mr(here.pd, at, 4 * PAGE, ACCESS);

	CHECK(mr);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		CHECK_EQ(mprotect(at, 4 * PAGE, PROT_NONE), 0);
		CHECK_EQ(transfer(IBV_WR_RDMA_READ, at, lengths[i], mr->lkey), IBV_WC_LOC_PROT_ERR);
		CHECK_EQ(transfer(IBV_WR_RDMA_WRITE, at, lengths[i], mr->lkey),
			 IBV_WC_LOC_PROT_ERR);
		CHECK_EQ(mprotect(at, 4 * PAGE, PROT_READ), 0);
		CHECK_EQ(transfer(IBV_WR_RDMA_READ, at, lengths[i], mr->lkey), IBV_WC_LOC_PROT_ERR);
		CHECK_EQ(transfer(IBV_WR_RDMA_WRITE, at, lengths[i], mr->lkey), IBV_WC_SUCCESS);
		CHECK_EQ(mprotect(at, 4 * PAGE, PROT_READ | PROT_WRITE), 0);
		peer_set(0, lengths[i], (uint8_t)(i + 1));
		CHECK_EQ(transfer(IBV_WR_RDMA_READ, at, lengths[i], mr->lkey), IBV_WC_SUCCESS);
		CHECK_EQ(at[lengths[i] - 1], i + 1);
	}
	/* Other memory at the same addresses is what the region is from then on. */
	CHECK(mmap(at, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		   -1, 0) == at);
	CHECK_EQ(transfer(IBV_WR_RDMA_READ, at, PAGE, mr->lkey), IBV_WC_SUCCESS);
	CHECK_EQ(at[PAGE - 1], 4);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	munmap(at, 4 * PAGE);
}

static void is_everything(void)
{
	struct ibv_mr *mr = ibv_reg_mr(here.pd, NULL, SIZE_MAX, ACCESS);
	uint8_t *at = reserve(PAGE, PROT_READ | PROT_WRITE);
	uint8_t on_stack[200] = { 0 };
	struct ibv_sge sge;

	CHECK(mr);
	peer_set(0, PAGE, 0x5a);
	CHECK_EQ(transfer(IBV_WR_RDMA_READ, at, PAGE, mr->lkey), IBV_WC_SUCCESS);
	CHECK_EQ(at[PAGE - 1], 0x5a);
	CHECK_EQ(transfer(IBV_WR_RDMA_READ, on_stack, sizeof(on_stack), mr->lkey), IBV_WC_SUCCESS);
	CHECK_EQ(on_stack[sizeof(on_stack) - 1], 0x5a);
	sge = (struct ibv_sge){ .addr = (uintptr_t)at, .length = PAGE, .lkey = mr->lkey };
	CHECK_EQ(ibv_advise_mr(here.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			       IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1),
		 0);
	munmap(at, PAGE);
	CHECK_EQ(ibv_advise_mr(here.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH,
			       &sge, 1),
		 EFAULT);
	CHECK_EQ(transfer(IBV_WR_RDMA_READ, at, PAGE, mr->lkey), IBV_WC_LOC_PROT_ERR);
	/* Nothing is there, and nothing can be. */
	CHECK_EQ(transfer(IBV_WR_RDMA_READ, (const uint8_t *)~0xfffull, 64, mr->lkey),
		 IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(transfer(IBV_WR_RDMA_WRITE, NULL, 64, mr->lkey), IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
}

/* Pages become copies when either process writes: the device's are the parent's. */
static void forks(void)
{
	uint8_t *at = reserve(PAGE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = ibv_reg_mr(here.pd, at, PAGE, ACCESS);
	int go[2], status;
	pid_t child;
	char byte;

	CHECK(mr);
	memset(at, 1, PAGE);
	CHECK_EQ(pipe(go), 0);
	child = fork();
	if (!child) {
		close(go[1]);
		_exit(read(go[0], &byte, 1) == 0 && at[0] == 1 && at[PAGE - 1] == 1 ? 0 : 1);
	}
	CHECK(child > 0);
	peer_set(0, PAGE, 2);
	CHECK_EQ(transfer(IBV_WR_RDMA_READ, at, PAGE, mr->lkey), IBV_WC_SUCCESS);
	CHECK(at[0] == 2 && at[PAGE - 1] == 2);
	close(go[0]);
	close(go[1]);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	munmap(at, PAGE);
}

static void check_capabilities(struct ibv_context *context)
{
	struct ibv_device_attr_ex attr;
	uint32_t rc = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE |
		      IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV;

	CHECK_EQ(ibv_query_device_ex(context, NULL, &attr), 0);
	CHECK_EQ(attr.odp_caps.general_caps, IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT);
	CHECK_EQ(attr.odp_caps.per_transport_caps.rc_odp_caps, rc);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		FAIL("usage: on_demand processes|threads");
	peer_start(!strcmp(argv[1], "processes"));
	peer_open(&here, &(struct wish){ .on_demand = true });
	check_capabilities(here.context);
	comes_later();
	is_everything();
	forks();
	peer_close(&here);
	peer_stop();
	return 0;
}
