// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "raw.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT 14 /* 4.096 us * 2^14: 67 ms */
#define RETRIES 7
#define READS 16 /* maximum outstanding RDMA reads, if the device supports that many */

void raw_check(struct raw *raw, const char *what, int err)
{
	if (err)
		two_fail(raw->two, "%s: %s", what, strerror(err));
}

void raw_check_wc(struct raw *raw, const struct ibv_wc *wc)
{
	if (wc->status != IBV_WC_SUCCESS)
		two_fail(raw->two, "a request failed: %s", ibv_wc_status_str(wc->status));
}

static void open_device(struct raw *raw, const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	if (!list)
		two_fail(raw->two, "the list of devices: %s", strerror(errno));
	for (i = 0; list[i]; i++) {
		if (!name || !*name || !strcmp(ibv_get_device_name(list[i]), name))
			break;
	}
	if (!list[i])
		two_fail(raw->two, "there is no device '%s'", name ? name : "");
	raw->context = ibv_open_device(list[i]);
	if (!raw->context)
		two_fail(raw->two, "%s cannot be opened", ibv_get_device_name(list[i]));
	ibv_free_device_list(list);
}

/* Selects a GID: the first IPv4-mapped one of RoCE v2, otherwise index 0. */
static int best_gid(struct raw *raw, const struct ibv_port_attr *attr)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct ibv_gid_entry entry;

	for (int i = 0; i < attr->gid_tbl_len; i++) {
		if (!ibv_query_gid_ex(raw->context, raw->port, (uint32_t)i, &entry, 0) &&
		    entry.gid_type == IBV_GID_TYPE_ROCE_V2 &&
		    !memcmp(entry.gid.raw, mapped, sizeof(mapped)))
			return i;
	}
	return 0;
}

static int least(int a, int b)
{
	return a < b ? a : b;
}

static void choose_port(struct raw *raw)
{
	struct raw_name *mine = &raw->mine;
	struct ibv_device_attr device;
	struct ibv_port_attr attr;

	raw_check(raw, "the device's attributes", ibv_query_device(raw->context, &device));
	raw->reads =
		(uint8_t)least(READS, least(device.max_qp_rd_atom, device.max_qp_init_rd_atom));
	for (raw->port = 1; raw->port <= device.phys_port_cnt; raw->port++) {
		raw_check(raw, "a port's attributes",
			  ibv_query_port(raw->context, raw->port, &attr));
		if (attr.state == IBV_PORT_ACTIVE)
			break;
	}
	if (raw->port > device.phys_port_cnt)
		two_fail(raw->two, "the device has no active port");
	raw->gid_index = best_gid(raw, &attr);
	if (ibv_query_gid(raw->context, raw->port, raw->gid_index, &mine->gid))
		two_fail(raw->two, "the port has no address");
	mine->lid = attr.lid;
	mine->mtu = (uint16_t)attr.active_mtu;
}

static struct ibv_qp *make_qp(struct raw *raw, uint32_t max_inline)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = raw->send_cq,
		.recv_cq = raw->recv_cq,
		.srq = raw->srq,
		.cap = { .max_send_wr = raw->depth,
			 .max_recv_wr = raw->depth,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = max_inline },
	};
	struct ibv_qp *qp;

	if (raw->srq)
		init.cap = (struct ibv_qp_cap){ 0 };
	qp = ibv_create_qp(raw->pd, &init);

	raw->max_inline = qp ? init.cap.max_inline_data : 0;
	return qp;
}

static void make_objects(struct raw *raw, size_t size)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

	raw->buffer = aligned_alloc(4096, (size + 4095) & ~(size_t)4095);
	if (!raw->buffer)
		raw_check(raw, "memory", ENOMEM);
	memset(raw->buffer, 0, size);
	raw->pd = ibv_alloc_pd(raw->context);
	if (!raw->pd)
		raw_check(raw, "a protection domain", errno);
	raw->mr = ibv_reg_mr(raw->pd, raw->buffer, size, access);
	if (!raw->mr)
		raw_check(raw, "registering memory", errno);
	raw->send_cq = ibv_create_cq(raw->context, (int)raw->depth, NULL, NULL, 0);
	raw->recv_cq = ibv_create_cq(raw->context, (int)raw->depth, NULL, NULL, 0);
	if (!raw->send_cq || !raw->recv_cq)
		raw_check(raw, "a completion queue", errno);
}

static void make_connectable(struct raw *raw)
{
	raw->qp = make_qp(raw, RAW_INLINE);
	if (!raw->qp)
		raw->qp = make_qp(raw, 0);
	if (!raw->qp)
		raw_check(raw, "a queue pair", errno);
}

static void init_qp(struct raw *raw)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = raw->port,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						       IBV_ACCESS_REMOTE_READ };

	raw_check(raw, "queue pair to INIT",
		  ibv_modify_qp(raw->qp, &attr,
				IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					IBV_QP_ACCESS_FLAGS));
}

static void connect_qp(struct raw *raw, enum ibv_mtu mtu)
{
	const struct raw_name *theirs = &raw->theirs;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu < theirs->mtu ? mtu : (enum ibv_mtu)theirs->mtu,
		.dest_qp_num = theirs->qpn,
		.max_dest_rd_atomic = raw->reads,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1,
			     .dlid = theirs->lid,
			     .port_num = raw->port,
			     .grh = { .dgid = theirs->gid,
				      .sgid_index = (uint8_t)raw->gid_index,
				      .hop_limit = 64 } },
	};

	raw_check(raw, "queue pair to RTR",
		  ibv_modify_qp(raw->qp, &attr,
				IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					IBV_QP_MIN_RNR_TIMER));
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = TIMEOUT;
	attr.retry_cnt = RETRIES;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = raw->reads;
	raw_check(raw, "queue pair to RTS",
		  ibv_modify_qp(raw->qp, &attr,
				IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					IBV_QP_MAX_QP_RD_ATOMIC));
}

void raw_begin(struct raw *raw, struct two *two, const char *device, uint32_t depth, size_t size)
{
	memset(raw, 0, sizeof(*raw));
	raw->two = two;
	raw->depth = depth;
	open_device(raw, device);
	choose_port(raw);
	make_objects(raw, size);
}

void raw_connect(struct raw *raw)
{
	make_connectable(raw);
	init_qp(raw);
	raw->mine.qpn = raw->qp->qp_num;
	raw->mine.rkey = raw->mr->rkey;
	raw->mine.buffer = (uintptr_t)raw->buffer;
	two_swap(raw->two, &raw->mine, &raw->theirs, sizeof(raw->mine));
	connect_qp(raw, (enum ibv_mtu)raw->mine.mtu);
}

void raw_open(struct raw *raw, struct two *two, const char *device, uint32_t depth, size_t size)
{
	raw_begin(raw, two, device, depth, size);
	raw_connect(raw);
}

void raw_disconnect(struct raw *raw)
{
	two_meet(raw->two);
	ibv_destroy_qp(raw->qp);
	raw->qp = NULL;
}

void raw_close(struct raw *raw)
{
	if (raw->qp)
		raw_disconnect(raw);
	ibv_destroy_cq(raw->send_cq);
	ibv_destroy_cq(raw->recv_cq);
	ibv_dereg_mr(raw->mr);
	ibv_dealloc_pd(raw->pd);
	ibv_close_device(raw->context);
	free(raw->buffer);
}

void raw_post_recv(struct raw *raw, size_t offset, uint32_t size)
{
	struct ibv_sge sge = { .addr = (uintptr_t)raw->buffer + offset,
			       .length = size,
			       .lkey = raw->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = offset, .sg_list = &sge, .num_sge = 1 }, *bad;

	raw_check(raw, "posting a receive", ibv_post_recv(raw->qp, &wr, &bad));
}

/* Polls send completions. wr_id is the number of sends that a completion covers. */
static void reap(struct raw *raw)
{
	struct ibv_wc wc[RAW_SIGNAL];
	int n = ibv_poll_cq(raw->send_cq, RAW_SIGNAL, wc);

	if (n < 0)
		two_fail(raw->two, "polling failed");
	for (int i = 0; i < n; i++) {
		raw_check_wc(raw, &wc[i]);
		raw->in_queue -= (unsigned int)wc[i].wr_id;
	}
}

static void post_send(struct raw *raw, struct ibv_send_wr *wr, bool signal)
{
	struct ibv_send_wr *bad;
	int err;

	while (raw->in_queue == raw->depth)
		reap(raw);
	raw->since_signal++;
	wr->send_flags &= ~(unsigned int)IBV_SEND_SIGNALED;
	if (signal || raw->since_signal == RAW_SIGNAL) {
		wr->send_flags |= IBV_SEND_SIGNALED;
		wr->wr_id = raw->since_signal;
		raw->since_signal = 0;
	}
	err = ibv_post_send(raw->qp, wr, &bad);
	if (err)
		raw_check(raw, "posting a send", err);
	raw->in_queue++;
}

void raw_post_send(struct raw *raw, struct ibv_send_wr *wr)
{
	post_send(raw, wr, false);
}

void raw_post_signaled(struct raw *raw, struct ibv_send_wr *wr)
{
	post_send(raw, wr, true);
}

void raw_flush_sends(struct raw *raw)
{
	struct ibv_send_wr nothing = { .opcode = IBV_WR_RDMA_WRITE };

	nothing.wr.rdma.remote_addr = raw->theirs.buffer;
	nothing.wr.rdma.rkey = raw->theirs.rkey;
	if (raw->since_signal)
		post_send(raw, &nothing, true);
	while (raw->in_queue)
		reap(raw);
}
