// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Exhaustion of less common tables of the device: XRC domains, device memory, work queues, and
 * others. The others are indirection tables, flows, counters and multicast groups.
 */
#define _GNU_SOURCE
#include <fcntl.h>

#include "exhaustion.h"
#include "side.h"

#define PIECE 4096u

static struct exhausted e;
static struct ibv_wq *queue;
static struct ibv_qp *raw, *datagrams;

static void *make_xrcd(void)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};

	return ibv_open_xrcd(e.context, &attr);
}

static int end_xrcd(void *made)
{
	return ibv_close_xrcd(made);
}

static void *make_dm(void)
{
	return ibv_alloc_dm(e.context, &(struct ibv_alloc_dm_attr){ .length = PIECE });
}

static int end_dm(void *made)
{
	return ibv_free_dm(made);
}

static void *make_wq(void)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 1, .max_sge = 1, .pd = e.pd, .cq = e.cq
	};

	return ibv_create_wq(e.context, &attr);
}

static int end_wq(void *made)
{
	return ibv_destroy_wq(made);
}

static void *make_table(void)
{
	struct ibv_rwq_ind_table_init_attr attr = { .ind_tbl = &queue };

	return ibv_create_rwq_ind_table(e.context, &attr);
}

static int end_table(void *made)
{
	return ibv_destroy_rwq_ind_table(made);
}

static void *make_flow(void)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} rule = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL,
			  .size = sizeof(rule),
			  .num_of_specs = 1,
			  .port = 1 },
		.eth = { .type = IBV_FLOW_SPEC_ETH,
			 .size = sizeof(rule.eth),
			 .val = { .dst_mac = { 2, 0, 0, 0, 0, 1 } },
			 .mask = { .dst_mac = { 255, 255, 255, 255, 255, 255 } } },
	};

	return ibv_create_flow(raw, &rule.attr);
}

static int end_flow(void *made)
{
	return ibv_destroy_flow(made);
}

static void *make_counters(void)
{
	return ibv_create_counters(e.context, &(struct ibv_counters_init_attr){ 0 });
}

static int end_counters(void *made)
{
	return ibv_destroy_counters(made);
}

/* To "make" the Nth group means to attach to it. There is no object, so N is returned instead. */
static union ibv_gid group_of(uintptr_t n)
{
	return (union ibv_gid){ .raw = { 0xff, 0x0e, [14] = (uint8_t)(n >> 8), (uint8_t)n } };
}

static void *make_member(void)
{
	static uintptr_t next;
	union ibv_gid gid = group_of(++next);
	int error = ibv_attach_mcast(datagrams, &gid, 0);

	errno = error;
	return error ? NULL : (void *)next; /* NOLINT(performance-no-int-to-ptr) */
}

static int end_member(void *made)
{
	union ibv_gid gid = group_of((uintptr_t)made);

	return ibv_detach_mcast(datagrams, &gid, 0);
}

static struct ibv_qp *make_qp(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = type,
		.send_cq = e.cq,
		.recv_cq = e.cq,
		.cap = { .max_send_wr = 1, .max_send_sge = 1, .max_recv_wr = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = MADE(ibv_create_qp(e.pd, &attr));

	return qp;
}

void exhaust_tables(const struct exhausted *made)
{
	struct ibv_device_attr_ex limits;
	struct kind kinds[] = {
		{ "XRC domains", make_xrcd, end_xrcd, 1000, ENOMEM },
		{ "device memory", make_dm, end_dm, 0, ENOMEM },
		{ "work queues", make_wq, end_wq, 0, ENOMEM },
		{ "indirection tables", make_table, end_table, 0, ENOMEM },
		{ "flows", make_flow, end_flow, 200, ENOMEM },
		{ "counters", make_counters, end_counters, 200, ENOMEM },
		{ "members of multicast groups", make_member, end_member, 0, ENOMEM },
	};

	e = *made;
	CHECK_EQ(ibv_query_device_ex(e.context, NULL, &limits), 0);
	kinds[1].room = (int)(limits.max_dm_size / PIECE);
	kinds[2].room = (int)limits.max_wq_type_rq - 16;
	kinds[3].room = (int)limits.rss_caps.max_rwq_indirection_tables;
	kinds[6].room = limits.orig_attr.max_mcast_grp;
	queue = make_wq();
	CHECK(queue);
	raw = make_qp(IBV_QPT_RAW_PACKET);
	datagrams = make_qp(IBV_QPT_UD);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		exhaust(&kinds[i]);
	CHECK_EQ(ibv_destroy_qp(datagrams), 0);
	CHECK_EQ(ibv_destroy_qp(raw), 0);
	CHECK_EQ(ibv_destroy_wq(queue), 0);
}
