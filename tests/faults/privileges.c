// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests the verbs that need CAP_NET_RAW. Without it, a process cannot set a controlled Q_Key,
 * and so cannot send to queue pair 1; and it cannot create raw packet queue pairs or flows. If
 * the program has the capability, it first checks that all of that works, and then drops it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "side.h"

#define QKEY 0x11u
#define QP1 1u
#define QP1_QKEY 0x80010000u
#define ROOM 256
#define GRH 40

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_ah *ah;
static struct ibv_mr *mr;
static char buffer[2 * ROOM];

/* A UD queue pair and its completion queue. */
struct ud {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

/* -------------------------------------------------------------- capabilities */

static struct __user_cap_data_struct capabilities[2];

static bool has_raw(void)
{
	struct __user_cap_header_struct hdr = { .version = _LINUX_CAPABILITY_VERSION_3 };

	CHECK_EQ(syscall(SYS_capget, &hdr, capabilities), 0);
	return capabilities[0].effective >> CAP_NET_RAW & 1;
}

static void set_raw(bool on)
{
	struct __user_cap_header_struct hdr = { .version = _LINUX_CAPABILITY_VERSION_3 };

	(void)has_raw();
	capabilities[0].effective &= ~(1u << CAP_NET_RAW);
	capabilities[0].effective |= (uint32_t)on << CAP_NET_RAW;
	CHECK_EQ(syscall(SYS_capset, &hdr, capabilities), 0);
}

/* --------------------------------------------------------------- queue pairs */

static int ud_modify(const struct ud *ud, enum ibv_qp_state state, int mask, uint32_t qkey)
{
	struct ibv_qp_attr attr = { .qp_state = state, .port_num = 1, .qkey = qkey };

	return ibv_modify_qp(ud->qp, &attr, IBV_QP_STATE | mask);
}

static int ud_init(const struct ud *ud, uint32_t qkey)
{
	return ud_modify(ud, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, qkey);
}

static void ud_make(struct ud *ud)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_UD, .cap = { 4, 4, 1, 1, 0 } };

	ud->cq = MADE(ibv_create_cq(context, 16, NULL, NULL, 0));
	attr.send_cq = ud->cq;
	attr.recv_cq = ud->cq;
	ud->qp = MADE(ibv_create_qp(pd, &attr));
}

static void ud_ready(struct ud *ud, uint32_t qkey)
{
	ud_make(ud);
	CHECK_EQ(ud_init(ud, qkey), 0);
	CHECK_EQ(ud_modify(ud, IBV_QPS_RTR, 0, 0), 0);
	CHECK_EQ(ud_modify(ud, IBV_QPS_RTS, IBV_QP_SQ_PSN, 0), 0);
}

static void ud_end(struct ud *ud)
{
	CHECK_EQ(ibv_destroy_qp(ud->qp), 0);
	CHECK_EQ(ibv_destroy_cq(ud->cq), 0);
}

static void send_to(struct ud *ud, uint32_t qpn, uint32_t qkey)
{
	struct ibv_sge sge = { .addr = (uintptr_t)buffer, .length = 16, .lkey = mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.ud = { .ah = ah, .remote_qpn = qpn, .remote_qkey = qkey } };
	struct ibv_send_wr *bad;

	CHECK_EQ(ibv_post_send(ud->qp, &wr, &bad), 0);
	CHECK_EQ(cq_wait(ud->cq).status, IBV_WC_SUCCESS);
}

static void receive(struct ud *ud)
{
	struct ibv_sge sge = { .addr = (uintptr_t)buffer + ROOM, .length = ROOM, .lkey = mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	CHECK_EQ(ibv_post_recv(ud->qp, &wr, &bad), 0);
}

static void arrives(struct ud *at)
{
	struct ibv_wc wc = cq_wait(at->cq);

	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(wc.byte_len, GRH + 16);
}

/* ------------------------------------------------------------------ counters */

static uint64_t dropped(void)
{
	return device_counter(context, "drop_qkey");
}

/* Waits, because the kernel's core caches counters for some milliseconds. */
static void await_dropped(uint64_t count)
{
	uint64_t since = now_ns();

	while (dropped() < count)
		CHECK(!is_past(since, TIME_LIMIT * 1000000000ull));
}

/* -------------------------------------------------------------------- checks */

static void keys_are_refused(void)
{
	struct ud ud;

	ud_make(&ud);
	CHECK_EQ(ud_init(&ud, QP1_QKEY), EPERM);
	CHECK_EQ(ud_init(&ud, 0x80000000u), EPERM);
	CHECK_EQ(ud_init(&ud, QKEY), 0);
	CHECK_EQ(ud_modify(&ud, IBV_QPS_INIT, IBV_QP_QKEY, QP1_QKEY), EPERM);
	CHECK_EQ(ud_modify(&ud, IBV_QPS_RTR, IBV_QP_QKEY, QP1_QKEY), EPERM);
	CHECK_EQ(ud_modify(&ud, IBV_QPS_RTR, 0, 0), 0);
	CHECK_EQ(ud_modify(&ud, IBV_QPS_RTS, IBV_QP_SQ_PSN | IBV_QP_QKEY, QP1_QKEY), EPERM);
	CHECK_EQ(ud_modify(&ud, IBV_QPS_RTS, IBV_QP_SQ_PSN, 0), 0);
	CHECK_EQ(ud_modify(&ud, IBV_QPS_RTS, IBV_QP_QKEY, QP1_QKEY), EPERM);
	/* A Q_Key that is not controlled, such as that of rdma_cm. */
	CHECK_EQ(ud_modify(&ud, IBV_QPS_RTS, IBV_QP_QKEY, 0x01234567), 0);
	ud_end(&ud);
}

/* A request with a controlled Q_Key sends the queue pair's own Q_Key. */
static void own_key_is_sent(void)
{
	struct ud to, same, other;
	uint64_t before;

	ud_ready(&to, QKEY);
	ud_ready(&same, QKEY);
	ud_ready(&other, QKEY + 1);
	receive(&to);
	before = dropped();
	send_to(&other, to.qp->qp_num, 0x80000000u | QKEY);
	await_dropped(before + 1);
	send_to(&same, to.qp->qp_num, QP1_QKEY);
	arrives(&to);
	before = dropped();
	send_to(&same, QP1, QP1_QKEY);
	send_to(&same, QP1, QKEY);
	await_dropped(before + 2);
	ud_end(&to);
	ud_end(&same);
	ud_end(&other);
}

static struct ibv_qp *make_raw(struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RAW_PACKET,
					 .send_cq = cq,
					 .recv_cq = cq,
					 .cap = { 1, 1, 1, 1, 0 } };

	return ibv_create_qp(pd, &attr);
}

static struct ibv_flow *make_flow(struct ibv_qp *qp)
{
	struct ibv_flow_attr attr = { .type = IBV_FLOW_ATTR_SNIFFER,
				      .size = sizeof(attr),
				      .port = 1 };

	return ibv_create_flow(qp, &attr);
}

/* No raw queue pair, and no flow, not even for an existing raw queue pair. */
static void frames_are_refused(struct ibv_cq *cq, struct ibv_qp *raw)
{
	struct ud ud;

	errno = 0;
	CHECK(!make_raw(cq));
	CHECK_EQ(errno, EPERM);
	if (raw) {
		CHECK(!make_flow(raw));
		CHECK_EQ(errno, EPERM);
	}
	ud_ready(&ud, QKEY);
	CHECK(!make_flow(ud.qp));
	CHECK_EQ(errno, EPERM);
	ud_end(&ud);
}

static void all_is_allowed(struct ibv_qp *raw)
{
	struct ibv_flow *flow = make_flow(raw);
	struct ud from, to;

	CHECK(flow);
	CHECK_EQ(ibv_destroy_flow(flow), 0);
	ud_ready(&from, QP1_QKEY);
	ud_ready(&to, QP1_QKEY);
	receive(&to);
	send_to(&from, to.qp->qp_num, QP1_QKEY);
	arrives(&to);
	ud_end(&from);
	ud_end(&to);
}

static void open_all(void)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh.hop_limit = 64 };

	context = open_device();
	pd = MADE(ibv_alloc_pd(context));
	mr = MADE(ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE));
	CHECK_EQ(ibv_query_gid(context, 1, 0, &attr.grh.dgid), 0);
	ah = MADE(ibv_create_ah(pd, &attr));
}

int main(void)
{
	bool raw_allowed = has_raw();
	struct ibv_qp *raw = NULL;
	struct ibv_cq *cq;

	open_all();
	cq = MADE(ibv_create_cq(context, 4, NULL, NULL, 0));
	if (raw_allowed) {
		raw = make_raw(cq);
		CHECK(raw);
		all_is_allowed(raw);
		set_raw(false);
	}
	keys_are_refused();
	own_key_is_sent();
	frames_are_refused(cq, raw);
	if (raw_allowed)
		set_raw(true);
	else
		note("allowed nothing from the beginning");
	return 0;
}
