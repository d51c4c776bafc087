// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Invalid arguments to the verbs of XRC, and of multicast groups. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "invalid.h"

#define BOTH (IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS)

static struct ibv_xrcd *open_with(uint32_t comp_mask, int fd, int oflags)
{
	struct ibv_xrcd_init_attr attr = { .comp_mask = comp_mask, .fd = fd, .oflags = oflags };

	return ibv_open_xrcd(bench.context, &attr);
}

static void open_domain(void)
{
	int fd = memfd_create("domain", MFD_CLOEXEC);
	struct ibv_xrcd *xrcd, *again;

	CHECK(fd >= 0);
	judge("open_xrcd", "no flags", ERRNO_OF(open_with(IBV_XRCD_INIT_ATTR_FD, -1, O_CREAT)),
	      EINVAL);
	judge("open_xrcd", "no file", ERRNO_OF(open_with(IBV_XRCD_INIT_ATTR_OFLAGS, -1, O_CREAT)),
	      EINVAL);
	judge("open_xrcd", "unknown comp_mask", ERRNO_OF(open_with(BOTH | 1u << 31, -1, O_CREAT)),
	      EOPNOTSUPP);
	judge("open_xrcd", "a descriptor that is not open",
	      ERRNO_OF(open_with(BOTH, 9999, O_CREAT)), EBADF);
	judge("open_xrcd", "a file without a domain", ERRNO_OF(open_with(BOTH, fd, 0)), EAGAIN);
	xrcd = open_with(BOTH, fd, O_CREAT | O_EXCL);
	CHECK(xrcd);
	judge("open_xrcd", "exclusive, and not the first",
	      ERRNO_OF(open_with(BOTH, fd, O_CREAT | O_EXCL)), EINVAL);
	again = open_with(BOTH, fd, 0);
	CHECK(again);
	CHECK(ibv_close_xrcd(xrcd) == 0 && ibv_close_xrcd(again) == 0);
	close(fd);
}

static struct ibv_srq_init_attr_ex srq_attr(struct ibv_xrcd *xrcd)
{
	return (struct ibv_srq_init_attr_ex){
		.attr = { .max_wr = 8, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = bench.pd,
		.xrcd = xrcd,
		.cq = bench.cq,
	};
}

static void shared_queues(struct ibv_xrcd *xrcd, struct ibv_xrcd *foreign)
{
	const struct wrong wrong[] = {
		WRONG(struct ibv_srq_init_attr_ex, pd, (uintptr_t)bench.other.pd, EINVAL),
		WRONG(struct ibv_srq_init_attr_ex, cq, (uintptr_t)bench.other.cq, EINVAL),
		WRONG(struct ibv_srq_init_attr_ex, cq, 0, EINVAL),
		WRONG(struct ibv_srq_init_attr_ex, xrcd, (uintptr_t)foreign, EINVAL),
		WRONG(struct ibv_srq_init_attr_ex, xrcd, 0, EINVAL),
		WRONG(struct ibv_srq_init_attr_ex, attr.max_wr, 0, EINVAL),
		WRONG(struct ibv_srq_init_attr_ex, attr.max_sge, UINT32_MAX, EINVAL),
		WRONG(struct ibv_srq_init_attr_ex, comp_mask,
		      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ, EINVAL),
		WRONG(struct ibv_srq_init_attr_ex, comp_mask,
		      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD,
		      EINVAL),
	};
	struct ibv_srq_init_attr_ex attr = srq_attr(xrcd);
	struct ibv_qp_init_attr init = { .send_cq = bench.cq,
					 .recv_cq = bench.cq,
					 .cap = { 1, 1, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC };
	struct ibv_srq *srq;

	for (size_t i = 0; i < COUNT(wrong); i++) {
		attr = srq_attr(xrcd);
		spoil(&attr, &wrong[i]);
		judge("create_srq_ex", wrong[i].what,
		      ERRNO_OF(ibv_create_srq_ex(bench.context, &attr)), wrong[i].want);
	}
	attr = srq_attr(xrcd);
	srq = MADE(ibv_create_srq_ex(bench.context, &attr));
	init.srq = srq;
	judge("create_qp", "another kind's SRQ", ERRNO_OF(ibv_create_qp(bench.pd, &init)), EINVAL);
	judge("close_xrcd", "with an SRQ", ibv_close_xrcd(xrcd), EBUSY);
	CHECK(ibv_destroy_srq(srq) == 0);
}

static struct ibv_qp *target(struct ibv_xrcd *xrcd, uint32_t comp_mask)
{
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_XRC_RECV,
					    .comp_mask = comp_mask,
					    .xrcd = xrcd };

	return ibv_create_qp_ex(bench.context, &attr);
}

static struct ibv_qp *open_target(struct ibv_xrcd *xrcd, uint32_t qpn, enum ibv_qp_type type,
				  uint32_t comp_mask)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = comp_mask, .qp_num = qpn, .xrcd = xrcd, .qp_type = type
	};

	return ibv_open_qp(bench.context, &attr);
}

static void targets(struct ibv_xrcd *xrcd, struct ibv_xrcd *foreign)
{
	const uint32_t all = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	struct ibv_xrcd *other = open_with(BOTH, -1, O_CREAT);
	struct ibv_qp *qp = target(xrcd, IBV_QP_INIT_ATTR_XRCD), *again;
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_recv_wr recv = { .num_sge = 0 }, *bad_recv;

	CHECK(qp && other);
	judge("create_qp", "no domain", ERRNO_OF(target(xrcd, 0)), EINVAL);
	judge("create_qp", "NULL domain", ERRNO_OF(target(NULL, IBV_QP_INIT_ATTR_XRCD)), EINVAL);
	judge("create_qp", "another context's domain",
	      ERRNO_OF(target(foreign, IBV_QP_INIT_ATTR_XRCD)), EINVAL);
	judge("post_send", "to a target", ibv_post_send(qp, &wr, &bad), EINVAL);
	judge("post_recv", "to a target", ibv_post_recv(qp, &recv, &bad_recv) != 0, 1);
	judge("close_xrcd", "with a target", ibv_close_xrcd(xrcd), EBUSY);

	for (uint32_t bit = 1; bit <= all; bit <<= 1)
		if (all & bit)
			judge("open_qp", "a member is missing",
			      ERRNO_OF(open_target(xrcd, qp->qp_num, IBV_QPT_XRC_RECV, all & ~bit)),
			      EINVAL);
	judge("open_qp", "unknown comp_mask",
	      ERRNO_OF(open_target(xrcd, qp->qp_num, IBV_QPT_XRC_RECV, all | 1u << 31)),
	      EOPNOTSUPP);
	judge("open_qp", "another domain's",
	      ERRNO_OF(open_target(other, qp->qp_num, IBV_QPT_XRC_RECV, all)), EINVAL);
	judge("open_qp", "another context's domain",
	      ERRNO_OF(open_target(foreign, qp->qp_num, IBV_QPT_XRC_RECV, all)), EINVAL);
	judge("open_qp", "no such number",
	      ERRNO_OF(open_target(xrcd, 0xfffffe, IBV_QPT_XRC_RECV, all)), EINVAL);
	judge("open_qp", "not a target",
	      ERRNO_OF(open_target(xrcd, qp->qp_num, IBV_QPT_XRC_SEND, all)), EINVAL);
	again = open_target(xrcd, qp->qp_num, IBV_QPT_XRC_RECV, all);
	CHECK(again && ibv_destroy_qp(qp) == 0 && ibv_destroy_qp(again) == 0);
	CHECK(ibv_close_xrcd(other) == 0);
}

void invalid_xrc(void)
{
	struct ibv_xrcd_init_attr attr = { .comp_mask = BOTH, .fd = -1, .oflags = O_CREAT };
	struct ibv_xrcd *xrcd, *foreign;

	open_domain();
	xrcd = open_with(BOTH, -1, O_CREAT);
	foreign = ibv_open_xrcd(bench.other.context, &attr);
	CHECK(xrcd && foreign);
	shared_queues(xrcd, foreign);
	targets(xrcd, foreign);
	CHECK(ibv_close_xrcd(xrcd) == 0 && ibv_close_xrcd(foreign) == 0);
	look_around("extended reliable connections");
}

void invalid_groups(void)
{
	struct ibv_qp_init_attr init = { .send_cq = bench.cq,
					 .recv_cq = bench.cq,
					 .cap = { 1, 1, 1, 1, 0 },
					 .qp_type = IBV_QPT_UD };
	union ibv_gid group = { .raw = { 0xff, 0x12, [15] = 9 } };
	struct ibv_qp *qp = MADE(ibv_create_qp(bench.pd, &init));

	judge("attach_mcast", "a unicast GID", ibv_attach_mcast(qp, &bench.gid, 0), EINVAL);
	judge("attach_mcast", "not a datagram's", ibv_attach_mcast(bench.other.qp, &group, 0),
	      EINVAL);
	judge("detach_mcast", "never attached", ibv_detach_mcast(qp, &group, 0), EINVAL);
	CHECK(ibv_attach_mcast(qp, &group, 0) == 0 && ibv_attach_mcast(qp, &group, 0) == 0);
	judge("destroy_qp", "attached", ibv_destroy_qp(qp), EBUSY);
	judge("detach_mcast", "another group", ibv_detach_mcast(qp, &bench.gid, 0), EINVAL);
	CHECK(ibv_detach_mcast(qp, &group, 0) == 0);
	judge("detach_mcast", "twice", ibv_detach_mcast(qp, &group, 0), EINVAL);
	CHECK(ibv_destroy_qp(qp) == 0);
	look_around("multicast groups");
}
