// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Invalid arguments to verbs on completion queues and shared receive queues.
 */
#define _GNU_SOURCE
#include <fcntl.h>

#include "invalid.h"

/* ---------------------------------------------------------- completion queues */

/* Calls ibv_create_cq_ex() with each invalid member, and ibv_create_cq() if plain_too. */
static void check_cqs(const struct wrong *wrong, size_t count, bool plain_too)
{
	for (size_t i = 0; i < count; i++) {
		struct ibv_cq_init_attr_ex a = { .cqe = 16,
						 .wc_flags = IBV_WC_STANDARD_FLAGS,
						 .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS };
		int is;

		spoil(&a, &wrong[i]);
		judge("create_cq_ex", wrong[i].what, ERRNO_OF(ibv_create_cq_ex(bench.context, &a)),
		      wrong[i].want);
		if (!plain_too)
			continue;
		is = ERRNO_OF(ibv_create_cq(bench.context, a.cqe, NULL, a.channel, a.comp_vector));
		judge("create_cq", wrong[i].what, is, wrong[i].want);
	}
}

static void create_cq(void)
{
	const struct wrong plain[] = {
		WRONG(struct ibv_cq_init_attr_ex, cqe, 0, EINVAL),
		WRONG(struct ibv_cq_init_attr_ex, cqe, -1, EINVAL),
		WRONG(struct ibv_cq_init_attr_ex, cqe, INT32_MIN, EINVAL),
		WRONG(struct ibv_cq_init_attr_ex, cqe, INT32_MAX, EINVAL),
		WRONG(struct ibv_cq_init_attr_ex, cqe, bench.limits.max_cqe + 1, EINVAL),
		WRONG(struct ibv_cq_init_attr_ex, comp_vector, -1, EINVAL),
		WRONG(struct ibv_cq_init_attr_ex, comp_vector, bench.context->num_comp_vectors,
		      EINVAL),
		WRONG(struct ibv_cq_init_attr_ex, channel, (uintptr_t)bench.other.channel, EBADF),
	};
	const struct wrong extended[] = {
		WRONG(struct ibv_cq_init_attr_ex, wc_flags, 1ull << 40, EOPNOTSUPP),
		WRONG(struct ibv_cq_init_attr_ex, comp_mask, 1 << 2, EOPNOTSUPP),
		WRONG(struct ibv_cq_init_attr_ex, comp_mask, 1u << 31, EOPNOTSUPP),
		/* The mask is set, but parent_domain is NULL. */
		WRONG(struct ibv_cq_init_attr_ex, comp_mask, IBV_CQ_INIT_ATTR_MASK_PD, EINVAL),
		WRONG(struct ibv_cq_init_attr_ex, flags, 1 << 2, EOPNOTSUPP),
		WRONG(struct ibv_cq_init_attr_ex, flags, 1u << 31, EOPNOTSUPP),
	};
	struct ibv_cq_init_attr_ex plain_pd = { .cqe = 1,
						.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
						.parent_domain = bench.pd };

	check_cqs(plain, COUNT(plain), true);
	check_cqs(extended, COUNT(extended), false);
	judge("create_cq_ex", "a domain that is no parent domain",
	      ERRNO_OF(ibv_create_cq_ex(bench.context, &plain_pd)), EINVAL);
}

/* Leaves five completions of `s` unpolled. */
static void leave_completions(struct side *s, struct side *peer)
{
	for (uint64_t n = 0; n < 5; n++) {
		side_post(s, IBV_WR_RDMA_WRITE, n, 0, 8);
		side_post(peer, IBV_WR_RDMA_WRITE, n, 0, 8);
		(void)side_expect(peer, n, IBV_WC_SUCCESS);
	}
}

static void resize_cq(void)
{
	const int sizes[] = { 0, -1, INT32_MIN, INT32_MAX, bench.limits.max_cqe + 1, 4, 1 };
	struct side pair[2];
	int cqe;

	pair_open(pair, &(struct wish){ .context = bench.context });
	leave_completions(&pair[0], &pair[1]);
	cqe = pair[0].cq->cqe;
	for (size_t i = 0; i < COUNT(sizes); i++) {
		judge("resize_cq", i < 5 ? "out of range" : "too few for what is there",
		      ibv_resize_cq(pair[0].cq, sizes[i]), EINVAL);
		CHECK_EQ(pair[0].cq->cqe, cqe);
	}
	CHECK_EQ(ibv_resize_cq(pair[0].cq, 8), 0);
	CHECK(pair[0].cq->cqe >= 8);
	for (uint64_t n = 0; n < 5; n++)
		(void)side_expect(&pair[0], n, IBV_WC_SUCCESS);
	judge("destroy_cq", "with a queue pair", ibv_destroy_cq(pair[0].cq), EBUSY);
	leave_completions(&pair[0], &pair[1]);
	(void)side_expect(&pair[0], 0, IBV_WC_SUCCESS);
	pair_close(pair);
}

static void poll_cq(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 4, .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct ibv_poll_cq_attr unknown = { .comp_mask = 1 }, known = { .comp_mask = 0 };
	struct ibv_cq_ex *cq = MADE(ibv_create_cq_ex(bench.context, &attr));
	struct ibv_wc wc;

	judge("poll_cq", "0 entries", ibv_poll_cq(bench.cq, 0, &wc), 0);
	judge("poll_cq", "-1 entries", ibv_poll_cq(bench.cq, -1, &wc), 0);
	judge("start_poll", "unknown comp_mask", ibv_start_poll(cq, &unknown), EINVAL);
	/* The failed call has not left the CQ locked. */
	judge("start_poll", "empty", ibv_start_poll(cq, &known), ENOENT);
	/* Without a channel, the call has no effect. */
	judge("req_notify_cq", "without channel", ibv_req_notify_cq(bench.cq, 0), 0);
	judge("req_notify_cq", "without channel", ibv_req_notify_cq(bench.cq, 1), 0);
	ibv_ack_cq_events(bench.cq, 0);
	CHECK_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

static void busy_channel(void)
{
	struct ibv_comp_channel *channel = MADE(ibv_create_comp_channel(bench.context));
	struct ibv_cq *cq;

	cq = MADE(ibv_create_cq(bench.context, 4, NULL, channel, 0));
	judge("destroy_comp_channel", "with a CQ", ibv_destroy_comp_channel(channel), EBUSY);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
}

static void do_not_block(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	CHECK(flags >= 0 && !fcntl(fd, F_SETFL, flags | O_NONBLOCK));
}

/* There are no events, so a call on a non-blocking descriptor returns EAGAIN. */
static void no_events(void)
{
	struct ibv_async_event event;
	struct ibv_cq *cq;
	void *context;

	do_not_block(bench.channel->fd);
	do_not_block(bench.context->async_fd);
	errno = 0;
	judge("get_cq_event", "none", ibv_get_cq_event(bench.channel, &cq, &context), -1);
	CHECK_EQ(errno, EAGAIN);
	errno = 0;
	judge("get_async_event", "none", ibv_get_async_event(bench.context, &event), -1);
	CHECK_EQ(errno, EAGAIN);
}

void invalid_cqs(void)
{
	create_cq();
	look_around("create_cq");
	resize_cq();
	poll_cq();
	busy_channel();
	no_events();
	look_around("completion queues");
}

/* ------------------------------------------------------ shared receive queues */

static void create_srq(void)
{
	const struct wrong wrong[] = {
		WRONG(struct ibv_srq_init_attr, attr.max_wr, 0, EINVAL),
		WRONG(struct ibv_srq_init_attr, attr.max_wr, UINT32_MAX, EINVAL),
		WRONG(struct ibv_srq_init_attr, attr.max_wr, bench.limits.max_srq_wr + 1, EINVAL),
		WRONG(struct ibv_srq_init_attr, attr.max_sge, bench.limits.max_srq_sge + 1, EINVAL),
		WRONG(struct ibv_srq_init_attr, attr.max_sge, UINT32_MAX, EINVAL),
	};

	for (size_t i = 0; i < COUNT(wrong); i++) {
		/* The limit is ignored. */
		struct ibv_srq_init_attr a = {
			.attr = { .max_wr = 8, .max_sge = 1, .srq_limit = UINT32_MAX }
		};

		spoil(&a, &wrong[i]);
		judge("create_srq", wrong[i].what, ERRNO_OF(ibv_create_srq(bench.pd, &a)),
		      wrong[i].want);
	}
}

static void create_srq_ex(void)
{
	const struct wrong wrong[] = {
		WRONG_EARLY(struct ibv_srq_init_attr_ex, srq_type, IBV_SRQT_XRC, EINVAL,
			    EOPNOTSUPP),
		WRONG_EARLY(struct ibv_srq_init_attr_ex, srq_type, IBV_SRQT_TM, EINVAL, EOPNOTSUPP),
		WRONG(struct ibv_srq_init_attr_ex, srq_type, 77, EOPNOTSUPP),
		WRONG_EARLY(struct ibv_srq_init_attr_ex, comp_mask, 0, EINVAL, EOPNOTSUPP),
		WRONG(struct ibv_srq_init_attr_ex, comp_mask, 1u << 31, EOPNOTSUPP),
		WRONG(struct ibv_srq_init_attr_ex, attr.max_wr, UINT32_MAX, EINVAL),
	};

	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct ibv_srq_init_attr_ex a = {
			.attr = { .max_wr = 8, .max_sge = 1 },
			.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
			.srq_type = IBV_SRQT_BASIC,
			.pd = bench.pd,
		};
		int is;

		spoil(&a, &wrong[i]);
		is = ERRNO_OF(ibv_create_srq_ex(bench.context, &a));
		judge("create_srq_ex", wrong[i].what, is, wanted(&wrong[i], is));
	}
}

static void modify_srq(void)
{
	static const struct {
		const char *what;
		struct ibv_srq_attr attr;
		int mask;
		int want;
	} changes[] = {
		{ "limit over the size", { .srq_limit = 17 }, IBV_SRQ_LIMIT, EINVAL },
		{ "limit of all bits", { .srq_limit = UINT32_MAX }, IBV_SRQ_LIMIT, EINVAL },
		{ "unknown mask", { .srq_limit = 1 }, 1 << 2, EINVAL },
		{ "unknown mask, and limit", { .srq_limit = 1 }, IBV_SRQ_LIMIT | 1 << 2, EINVAL },
		/* IBV_DEVICE_SRQ_RESIZE is not claimed. */
		{ "other size", { .max_wr = 32 }, IBV_SRQ_MAX_WR, EOPNOTSUPP },
	};
	struct ibv_srq_attr attr;

	CHECK(!(bench.limits.device_cap_flags & IBV_DEVICE_SRQ_RESIZE));
	for (size_t i = 0; i < COUNT(changes); i++) {
		attr = changes[i].attr;
		judge("modify_srq", changes[i].what,
		      ibv_modify_srq(bench.srq, &attr, changes[i].mask), changes[i].want);
		CHECK_EQ(ibv_query_srq(bench.srq, &attr), 0);
		CHECK(attr.max_wr == 16 && !attr.srq_limit && attr.max_sge >= 2);
	}
}

static void busy_srq(void)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.send_cq = bench.cq,
		.recv_cq = bench.cq,
		.srq = bench.srq,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
	};
	struct ibv_qp *qp = MADE(ibv_create_qp(bench.pd, &attr));

	judge("destroy_srq", "with a queue pair", ibv_destroy_srq(bench.srq), EBUSY);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
}

void invalid_srqs(void)
{
	create_srq();
	create_srq_ex();
	look_around("create_srq");
	modify_srq();
	busy_srq();
	look_around("shared receive queues");
}
