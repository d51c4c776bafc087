// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Commands that fail after they have created a part of an object. */
#define _GNU_SOURCE
#include <rdma/ib_user_verbs.h>
#include <sys/mman.h>
#include <unistd.h>

#include "peers_defects.h"

/* ------------------------------------------------------- objects half built */

/* A raw write command, so that its response can be at an unmapped address. */
struct raw {
	struct ib_uverbs_cmd_hdr hdr;
	union {
		struct ib_uverbs_alloc_pd pd;
		struct ib_uverbs_reg_mr mr;
		struct ib_uverbs_alloc_mw mw;
		struct ib_uverbs_create_ah ah;
		struct ib_uverbs_create_cq cq;
		struct ib_uverbs_create_srq srq;
		struct ib_uverbs_create_qp qp;
		struct ib_uverbs_create_comp_channel channel;
		/* The driver-specific part follows, which is zero. */
		uint8_t room[128];
	};
};

#define BODY(_member) (sizeof(struct ib_uverbs_cmd_hdr) + sizeof(((struct raw *)NULL)->_member))

static void check_raw(struct ibv_context *context, uint32_t number, struct raw *raw, size_t length,
		      void *response, size_t response_length)
{
	/* The response address is the first member of each command. */
	raw->pd.response = (uintptr_t)response;
	raw->hdr = (struct ib_uverbs_cmd_hdr){ .command = number,
					       .in_words = (uint16_t)(length / 4),
					       .out_words = (uint16_t)(response_length / 4) };
	errno = 0;
	if (write(context->cmd_fd, raw, length) != -1 || errno != EFAULT)
		FAIL("command %u with its response nowhere: errno %d", number, errno);
}

#define RAW(_number, _member, _more, ...)                                                          \
	check_raw(here.context, IB_USER_VERBS_CMD_##_number,                                       \
		  &(struct raw){ ._member = __VA_ARGS__ }, BODY(_member) + (_more), response, 128)

static void commands_without_response(void *response)
{
	uint32_t pd = here.pd->handle, cq = here.cq->handle;

	RAW(ALLOC_PD, pd, 0, { 0 });
	RAW(REG_MR, mr, 0,
	    { .pd_handle = pd,
	      .start = (uintptr_t)here.buffer,
	      .hca_va = (uintptr_t)here.buffer,
	      .length = 4096 });
	RAW(ALLOC_MW, mw, 0, { .pd_handle = pd, .mw_type = IBV_MW_TYPE_2 });
	RAW(CREATE_COMP_CHANNEL, channel, 0, { 0 });
	RAW(CREATE_CQ, cq, 8, { .cqe = 64, .comp_channel = -1 });
	RAW(CREATE_SRQ, srq, 0, { .pd_handle = pd, .max_wr = 64, .max_sge = 1 });
	RAW(CREATE_QP, qp, 0,
	    { .pd_handle = pd,
	      .send_cq_handle = cq,
	      .recv_cq_handle = cq,
	      .max_send_wr = 64,
	      .max_recv_wr = 64,
	      .max_send_sge = 1,
	      .max_recv_sge = 1,
	      .qp_type = IBV_QPT_RC });
}

/* The whole response is unmapped, or all but its first four bytes. */
static void responses_nowhere(void)
{
	uint8_t *pages =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const char *question =
		"(.files | length), (.devices[0] | .qps, .cqs, .srqs, .mrs | length)";
	char before[256];

	CHECK(pages != MAP_FAILED);
	CHECK_EQ(munmap(pages + 4096, 4096), 0);
	snprintf(before, sizeof(before), "%s", ask_status(question));
	for (unsigned int i = 0; i < rounds(300, 3000); i++) {
		commands_without_response(pages + 4096);
		commands_without_response(pages + 4096 - 4);
	}
	await_status(question, before);
	munmap(pages, 4096);
}

static struct ibv_qp *make_large_qp(const struct ibv_device_attr *limits)
{
	return ibv_create_qp(
		here.pd, &(struct ibv_qp_init_attr){
				 .qp_type = IBV_QPT_RC,
				 .send_cq = here.cq,
				 .recv_cq = here.cq,
				 .cap = { (uint32_t)limits->max_qp_wr, (uint32_t)limits->max_qp_wr,
					  (uint32_t)limits->max_sge, (uint32_t)limits->max_sge, 0 },
			 });
}

/* Allocates all remaining queue memory, by smaller and smaller CQs. */
static unsigned int fill_heap(struct ibv_cq **cqs, unsigned int most, int largest)
{
	unsigned int count = 0;

	for (int size = largest; size >= 512; size /= 2)
		while (count < most &&
		       (cqs[count] = ibv_create_cq(here.context, size, NULL, NULL, 0)))
			count++;
	CHECK(count < most);
	return count;
}

/* Entries of a CQ that is as large as one ring of the largest queue pair. */
#define ONE_RING 131072

/* There is room for one of the queue pair's two rings only. */
static void second_ring_missing(void)
{
	static struct ibv_cq *cqs[4096];
	struct ibv_device_attr limits;
	struct ibv_cq *gap;
	unsigned int count;

	CHECK_EQ(ibv_query_device(here.context, &limits), 0);
	gap = MADE(ibv_create_cq(here.context, ONE_RING, NULL, NULL, 0));
	count = fill_heap(cqs, COUNT(cqs), limits.max_cqe);
	for (unsigned int i = 0; i < 100; i++) {
		CHECK(!ibv_create_cq(here.context, ONE_RING, NULL, NULL, 0));
		CHECK_EQ(ibv_destroy_cq(gap), 0);
		CHECK(!make_large_qp(&limits));
		CHECK_EQ(errno, ENOMEM);
		gap = MADE(ibv_create_cq(here.context, ONE_RING, NULL, NULL, 0));
	}
	while (count--)
		CHECK_EQ(ibv_destroy_cq(cqs[count]), 0);
	CHECK_EQ(ibv_destroy_cq(gap), 0);
	CHECK_EQ(ibv_destroy_qp(make_large_qp(&limits)), 0);
}

void half_answered(void)
{
	peer_open(&here, NULL);
	responses_nowhere();
	peer_close(&here);
}

void half_built(void)
{
	peer_open(&here, NULL);
	second_ring_missing();
	peer_close(&here);
}
