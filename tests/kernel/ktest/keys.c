// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tests of fast registration, invalidation and remote access to such regions. */
#include <linux/mm.h>
#include <linux/scatterlist.h>

#include "ktest.h"

#define LENGTH 20000u
/* Not page-aligned. */
#define AREA_AT 4196u

int kt_region_make(struct ib_pd *pd, struct kt_region *region, const struct kt_buffer *buffer)
{
	struct ib_mr *mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, KT_BUFFER / PAGE_SIZE);

	region->mr = NULL;
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	sg_init_one(&region->sg, buffer->at, KT_BUFFER);
	if (ib_dma_map_sg(pd->device, &region->sg, 1, DMA_BIDIRECTIONAL) != 1) {
		ib_dereg_mr(mr);
		return -ENOMEM;
	}
	region->mr = mr;
	return ib_map_mr_sg(mr, &region->sg, 1, NULL, PAGE_SIZE) == 1 ? 0 : -EINVAL;
}

void kt_region_free(struct kt_region *region)
{
	struct ib_device *dev;

	if (!region->mr)
		return;
	dev = region->mr->device;
	ib_dereg_mr(region->mr);
	ib_dma_unmap_sg(dev, &region->sg, 1, DMA_BIDIRECTIONAL);
	region->mr = NULL;
}

void kt_region_register(struct kt_region *region, struct ib_reg_wr *wr)
{
	ib_update_fast_reg_key(region->mr, (u8)(region->mr->rkey + 1));
	*wr = (struct ib_reg_wr){
		.wr = { .opcode = IB_WR_REG_MR, .send_flags = IB_SEND_SIGNALED },
		.mr = region->mr,
		.key = region->mr->rkey,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
			  IB_ACCESS_REMOTE_ATOMIC,
	};
}

/* ----------------------------------------------------------- remote access */

struct kt_remote {
	struct kt_pair *p;
	enum kt_from from;
	struct kt_region region;
};

static int kt_register(struct kt_remote *r)
{
	struct kt_request *done = kt_request(r->p);
	struct ib_reg_wr wr;

	kt_region_register(&r->region, &wr);
	KT_TRY(kt_post_send(r->from, r->p->end[1].qp, &wr.wr, done));
	KT_TRY(kt_expect(r->p, done, IB_WC_SUCCESS));
	KT_CHECK(done->wc.opcode == IB_WC_REG_MR);
	return 0;
}

static int kt_one_sided_at(struct kt_remote *r, enum ib_wr_opcode opcode, u64 offset, u32 length,
			   enum ib_wc_status status)
{
	struct kt_request *done = kt_request(r->p);
	struct ib_sge sge = kt_sge(r->p, 0, AREA_AT, length);
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = opcode,
			.sg_list = &sge,
			.num_sge = 1,
			.send_flags = IB_SEND_SIGNALED,
		},
		.remote_addr = r->region.mr->iova + offset,
		.rkey = r->region.mr->rkey,
	};

	KT_TRY(kt_post_send(r->from, r->p->end[0].qp, &wr.wr, done));
	return kt_expect(r->p, done, status);
}

static int kt_one_sided(struct kt_remote *r, enum ib_wr_opcode opcode, u32 length,
			enum ib_wc_status status)
{
	return kt_one_sided_at(r, opcode, AREA_AT, length, status);
}

static int kt_atomic(struct kt_remote *r, enum ib_wr_opcode opcode, u64 compare_add, u64 swap,
		     u64 *old)
{
	struct kt_request *done = kt_request(r->p);
	struct ib_sge sge = kt_sge(r->p, 0, 8, 8);
	struct ib_atomic_wr wr = {
		.wr = {
			.opcode = opcode,
			.sg_list = &sge,
			.num_sge = 1,
			.send_flags = IB_SEND_SIGNALED,
		},
		.remote_addr = r->region.mr->iova + 64,
		.compare_add = compare_add,
		.swap = swap,
		.rkey = r->region.mr->rkey,
	};

	KT_TRY(kt_post_send(r->from, r->p->end[0].qp, &wr.wr, done));
	KT_TRY(kt_expect(r->p, done, IB_WC_SUCCESS));
	*old = *(u64 *)(r->p->end[0].buffer.at + 8);
	return 0;
}

static int kt_atomics(struct kt_remote *r)
{
	u64 *word = (u64 *)(r->p->end[1].buffer.at + 64);
	u64 old;

	*word = 100;
	KT_TRY(kt_atomic(r, IB_WR_ATOMIC_FETCH_AND_ADD, 5, 0, &old));
	KT_CHECK(old == 100 && *word == 105);
	KT_TRY(kt_atomic(r, IB_WR_ATOMIC_CMP_AND_SWP, 105, 7, &old));
	KT_CHECK(old == 105 && *word == 7);
	KT_TRY(kt_atomic(r, IB_WR_ATOMIC_CMP_AND_SWP, 8, 9, &old));
	KT_CHECK(old == 7 && *word == 7);
	return 0;
}

/* Writes and reads the area; bytes around it must not change. */
static int kt_write_and_read(struct kt_remote *r)
{
	u8 *here = r->p->end[0].buffer.at + AREA_AT, *there = r->p->end[1].buffer.at + AREA_AT;

	memset(there - 1, 0, LENGTH + 2);
	kt_fill(here, LENGTH, 21);
	KT_TRY(kt_one_sided(r, IB_WR_RDMA_WRITE, LENGTH, IB_WC_SUCCESS));
	KT_CHECK(kt_is_filled(there, LENGTH, 21) && !there[-1] && !there[LENGTH]);
	kt_fill(there, LENGTH, 22);
	KT_TRY(kt_one_sided(r, IB_WR_RDMA_READ, LENGTH, IB_WC_SUCCESS));
	KT_CHECK(kt_is_filled(here, LENGTH, 22));
	return 0;
}

static int kt_invalidate(struct kt_remote *r)
{
	struct kt_request *done = kt_request(r->p);
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV,
		.send_flags = IB_SEND_SIGNALED,
		.ex.invalidate_rkey = r->region.mr->rkey,
	};

	KT_TRY(kt_post_send(r->from, r->p->end[1].qp, &wr, done));
	KT_TRY(kt_expect(r->p, done, IB_WC_SUCCESS));
	KT_CHECK(done->wc.opcode == IB_WC_LOCAL_INV);
	return 0;
}

/* Registers, uses and invalidates the region twice; then access must fail. */
static int kt_invalidated_locally(struct kt_remote *r)
{
	u8 *there = r->p->end[1].buffer.at + AREA_AT;
	int i;

	for (i = 0; i < 2; i++) {
		KT_TRY(kt_register(r));
		KT_TRY(kt_write_and_read(r));
		KT_TRY(kt_atomics(r));
		KT_TRY(kt_invalidate(r));
	}
	memset(there, 0, 100);
	KT_TRY(kt_one_sided(r, IB_WR_RDMA_WRITE, 100, IB_WC_REM_ACCESS_ERR));
	KT_CHECK(!memchr_inv(there, 0, 100));
	return 0;
}

/* The peer invalidates the region by SEND_WITH_INV. */
static int kt_invalidated_remotely(struct kt_remote *r)
{
	struct kt_request *got = kt_request(r->p), *sent = kt_request(r->p);
	struct ib_sge sge = kt_sge(r->p, 0, 0, 10);
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND_WITH_INV,
		.sg_list = &sge,
		.num_sge = 1,
		.send_flags = IB_SEND_SIGNALED,
	};

	KT_TRY(kt_register(r));
	KT_TRY(kt_one_sided(r, IB_WR_RDMA_WRITE, 100, IB_WC_SUCCESS));
	wr.ex.invalidate_rkey = r->region.mr->rkey;
	KT_TRY(kt_post_recv(r->from, r->p, 1, 0, 10, got));
	KT_TRY(kt_post_send(r->from, r->p->end[0].qp, &wr, sent));
	KT_TRY(kt_expect(r->p, sent, IB_WC_SUCCESS));
	KT_TRY(kt_expect(r->p, got, IB_WC_SUCCESS));
	KT_CHECK(got->wc.wc_flags & IB_WC_WITH_INVALIDATE);
	KT_CHECK(got->wc.ex.invalidate_rkey == r->region.mr->rkey);
	return kt_one_sided(r, IB_WR_RDMA_READ, 100, IB_WC_REM_ACCESS_ERR);
}

/* Access behind the region. The failure ends the connection, so each case has its own. */
static int kt_behind(struct kt_remote *r)
{
	KT_TRY(kt_register(r));
	return kt_one_sided_at(r, IB_WR_RDMA_WRITE, KT_BUFFER - 99, 100, IB_WC_REM_ACCESS_ERR);
}

static int kt_before(struct kt_remote *r)
{
	KT_TRY(kt_register(r));
	return kt_one_sided_at(r, IB_WR_RDMA_READ, -1, 100, IB_WC_REM_ACCESS_ERR);
}

/* Address + length wraps around 64 bits. */
static int kt_wrapping(struct kt_remote *r)
{
	KT_TRY(kt_register(r));
	return kt_one_sided_at(r, IB_WR_RDMA_WRITE, -r->region.mr->iova - 50, 100,
			       IB_WC_REM_ACCESS_ERR);
}

/* ------------------------------------------------------------- a long list */

#define KT_LIST 256u
#define KT_PIECE 4096u

struct kt_list {
	struct ib_rdma_wr wr[KT_LIST];
	struct ib_sge sge[KT_LIST];
};

/* Fills the list with writes that cover the peer's buffer several times. */
static void kt_list_fill(struct kt_list *list, const struct kt_remote *r)
{
	struct ib_rdma_wr *wr;
	u32 i, at;

	for (i = 0; i < KT_LIST; i++) {
		at = i * KT_PIECE % KT_BUFFER;
		list->sge[i] = kt_sge(r->p, 0, at, KT_PIECE);
		wr = &list->wr[i];
		wr->wr.opcode = IB_WR_RDMA_WRITE;
		wr->wr.sg_list = &list->sge[i];
		wr->wr.num_sge = 1;
		wr->wr.next = i + 1 < KT_LIST ? &wr[1].wr : NULL;
		wr->remote_addr = r->region.mr->iova + at;
		wr->rkey = r->region.mr->rkey;
	}
	wr->wr.send_flags = IB_SEND_SIGNALED;
}

static int kt_list_post(struct kt_remote *r, struct kt_list *list)
{
	struct kt_request *done = kt_request(r->p);

	KT_TRY(kt_register(r));
	kt_list_fill(list, r);
	kt_fill(r->p->end[0].buffer.at, KT_BUFFER, 3);
	list->wr[KT_LIST - 1].wr.wr_cqe = &done->cqe;
	KT_TRY(kt_post_send(r->from, r->p->end[0].qp, &list->wr[0].wr, done));
	KT_TRY(kt_expect(r->p, done, IB_WC_SUCCESS));
	KT_CHECK(kt_is_filled(r->p->end[1].buffer.at, KT_BUFFER, 3));
	return 0;
}

static int kt_long_list(struct kt_remote *r)
{
	struct kt_list *list = kvzalloc(sizeof(*list), GFP_KERNEL);
	int err = list ? kt_list_post(r, list) : -ENOMEM;

	kvfree(list);
	return err;
}

/* -------------------------------------------------------------------- tests */

static int kt_with_region(struct kt_pair *p, enum kt_from from, int (*body)(struct kt_remote *r))
{
	struct kt_remote r = { .p = p, .from = from };
	int i, err;

	err = kt_region_make(p->pd, &r.region, &p->end[1].buffer);
	if (!err)
		err = body(&r);
	/* No request uses the region after this. */
	for (i = 0; i < 2; i++)
		ib_drain_qp(p->end[i].qp);
	kt_region_free(&r.region);
	return err;
}

static int kt_test_local(struct kt_pair *p, enum kt_from from)
{
	return kt_with_region(p, from, kt_invalidated_locally);
}

static int kt_test_remote(struct kt_pair *p, enum kt_from from)
{
	return kt_with_region(p, from, kt_invalidated_remotely);
}

static int kt_test_behind(struct kt_pair *p, enum kt_from from)
{
	return kt_with_region(p, from, kt_behind);
}

static int kt_test_before(struct kt_pair *p, enum kt_from from)
{
	return kt_with_region(p, from, kt_before);
}

static int kt_test_wrapping(struct kt_pair *p, enum kt_from from)
{
	return kt_with_region(p, from, kt_wrapping);
}

static int kt_test_long_list(struct kt_pair *p, enum kt_from from)
{
	return kt_with_region(p, from, kt_long_list);
}

const struct kt_test kt_list_tests[] = {
	{ "a long list", kt_test_long_list, IB_QPT_RC, false, KT_LIST },
	{},
};

const struct kt_test kt_key_tests[] = {
	{ "remote access, LOCAL_INV", kt_test_local, IB_QPT_RC, false },
	{ "SEND_WITH_INV", kt_test_remote, IB_QPT_RC, false },
	{ "behind a region", kt_test_behind, IB_QPT_RC, false },
	{ "before a region", kt_test_before, IB_QPT_RC, false },
	{ "addresses that wrap", kt_test_wrapping, IB_QPT_RC, false },
	{},
};
