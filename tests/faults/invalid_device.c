// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Invalid arguments to queries, and to verbs on contexts, protection domains and address
 * handles. Also verbs that this device does not support.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "invalid.h"

/* ------------------------------------------------------------------- queries */

static void query_device(void)
{
	const struct ibv_query_device_ex_input input = { .comp_mask = 1 };
	struct ibv_device_attr_ex attr;
	struct ibv_values_ex values = { .comp_mask = 1u << 31 };

	judge("query_device_ex", "unknown comp_mask",
	      ibv_query_device_ex(bench.context, &input, &attr), EINVAL);
	/* The returned comp_mask tells which values are valid. */
	judge("query_rt_values_ex", "unknown comp_mask",
	      ibv_query_rt_values_ex(bench.context, &values), 0);
	CHECK_EQ(values.comp_mask, 0);
}

static void query_port(void)
{
	static const uint8_t ports[] = { 0, 2, 255 };
	struct ibv_gid_entry entry;
	struct ibv_port_attr attr;
	union ibv_gid gid;
	__be16 pkey;

	for (size_t i = 0; i < COUNT(ports); i++) {
		judge("query_port", "port", ibv_query_port(bench.context, ports[i], &attr), EINVAL);
		judge("query_gid", "port", ibv_query_gid(bench.context, ports[i], 0, &gid), -1);
		judge("query_gid_ex", "port",
		      ibv_query_gid_ex(bench.context, ports[i], 0, &entry, 0), EINVAL);
		judge("query_pkey", "port", ibv_query_pkey(bench.context, ports[i], 0, &pkey), -1);
		judge("get_pkey_index", "port",
		      ibv_get_pkey_index(bench.context, ports[i], htobe16(0xffff)), -1);
	}
	judge("get_pkey_index", "pkey", ibv_get_pkey_index(bench.context, 1, htobe16(0x1234)), -1);
}

static void query_index(void)
{
	static const int indices[] = { -1, 100000, INT32_MAX };
	struct ibv_gid_entry entry;
	union ibv_gid gid;
	__be16 pkey;

	for (size_t i = 0; i < COUNT(indices); i++) {
		judge("query_gid", "index", ibv_query_gid(bench.context, 1, indices[i], &gid), -1);
		judge("query_gid_ex", "index",
		      ibv_query_gid_ex(bench.context, 1, (uint32_t)indices[i], &entry, 0), EINVAL);
		judge("query_pkey", "index", ibv_query_pkey(bench.context, 1, indices[i], &pkey),
		      -1);
	}
	judge("query_gid_ex", "unknown flags", ibv_query_gid_ex(bench.context, 1, 0, &entry, 1),
	      EINVAL);
}

/* ibv_query_gid_table() returns the number of entries or a negative errno. */
static void query_gid_table(void)
{
	struct ibv_gid_entry entries[64];

	judge("query_gid_table", "unknown flags",
	      (int)ibv_query_gid_table(bench.context, entries, COUNT(entries), 1), -EINVAL);
	judge("query_gid_table", "no entries",
	      (int)ibv_query_gid_table(bench.context, entries, 0, 0), -EINVAL);
	judge("query_gid_table", "too few entries",
	      (int)ibv_query_gid_table(bench.context, entries, 1, 0), -EINVAL);
}

/* ------------------------------------------------------------------ contexts */

static void import(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	CHECK(null >= 0);
	CHECK(ERRNO_OF(ibv_import_device(-1)));
	CHECK(ERRNO_OF(ibv_import_device(null)));
	close(null);
	judge("import_pd", "no handle", ERRNO_OF(ibv_import_pd(bench.context, 0xffffff)), ENOENT);
	CHECK(ERRNO_OF(ibv_import_mr(bench.pd, 0xffffff)));
	CHECK(ERRNO_OF(ibv_import_mr(bench.pd, bench.pd->handle)));
	judge("import_dm", "no handle", ERRNO_OF(ibv_import_dm(bench.context, 0xffffff)), ENOENT);
	judge("import_dm", "another object's",
	      ERRNO_OF(ibv_import_dm(bench.context, bench.pd->handle)), EINVAL);
}

/*
 * Closing a context destroys its objects; the test frees memory only. Left out in the kernel,
 * where a context lives until its last queue is unmapped.
 */
static void close_with_objects(void)
{
	struct side s;

	if (in_kernel())
		return;
	side_open(&s, &(struct wish){ .events = true, .srq = true });
	judge("close_device", "with objects", ibv_close_device(s.context), 0);
	close(s.channel->fd);
	munmap(s.buffer, s.length);
}

/* ---------------------------------------------------------- unsupported verbs */

static void no_such_objects(void)
{
	struct ibv_flow_action_esp_attr esp = { .comp_mask = 0 };

	judge("create_flow_action_esp", "any",
	      ERRNO_OF(ibv_create_flow_action_esp(bench.context, &esp)), EOPNOTSUPP);
	judge("alloc_null_mr", "any", ERRNO_OF(ibv_alloc_null_mr(bench.pd)), EOPNOTSUPP);
}

static void no_such_methods(void)
{
	struct ibv_modify_cq_attr modify = { .attr_mask = IBV_CQ_ATTR_MODERATE };
	struct ibv_qp_rate_limit_attr limit = { .rate_limit = 1000 };
	struct ibv_flow_attr flow = { .type = IBV_FLOW_ATTR_NORMAL,
				      .size = sizeof(flow),
				      .port = 1 };
	/* The queue pair is not for raw packets. Without the privilege, EPERM comes first. */
	int no_flow = geteuid() ? EPERM : EINVAL;
	struct ibv_sge sge = { .addr = (uintptr_t)bench.memory, .length = 8 };
	struct ibv_ops_wr wr = { .opcode = IBV_WR_TAG_SYNC }, *bad;
	struct ibv_ece ece = { .vendor_id = 0x1234 };

	judge("modify_cq", "any", ibv_modify_cq(bench.cq, &modify), 0);
	modify.attr_mask = 0;
	judge("modify_cq", "nothing", ibv_modify_cq(bench.cq, &modify), EINVAL);
	modify.attr_mask = IBV_CQ_ATTR_MODERATE << 1;
	judge("modify_cq", "unknown", ibv_modify_cq(bench.cq, &modify), EINVAL);
	judge("modify_qp_rate_limit", "any", ibv_modify_qp_rate_limit(bench.other.qp, &limit),
	      EINVAL);
	judge("create_flow", "any", ERRNO_OF(ibv_create_flow(bench.other.qp, &flow)), no_flow);
	judge("post_srq_ops", "no tags there", ibv_post_srq_ops(bench.srq, &wr, &bad), EINVAL);
	CHECK(bad == &wr);
	judge("advise_mr", "any",
	      ibv_advise_mr(bench.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), ENOENT);
	judge("set_ece", "another vendor's", ibv_set_ece(bench.other.qp, &ece), EOPNOTSUPP);
}

void invalid_device(void)
{
	query_device();
	query_port();
	query_index();
	query_gid_table();
	look_around("queries");
	import();
	close_with_objects();
	look_around("contexts");
	no_such_objects();
	no_such_methods();
	look_around("what the device has not");
}

/* ------------------------------------------------------------------- domains */

static void busy_pd(void)
{
	struct ibv_pd *pd = MADE(ibv_alloc_pd(bench.context));
	struct ibv_mr *mr;

	mr = MADE(ibv_reg_mr(pd, bench.memory, bench.length, 0));
	judge("dealloc_pd", "with a region", ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	judge("dealloc_pd", "with queues and regions", ibv_dealloc_pd(bench.pd), EBUSY);
}

static void thread_domains(void)
{
	struct ibv_td_init_attr wrong = { .comp_mask = 1 }, right = { .comp_mask = 0 };
	struct ibv_parent_domain_init_attr attr = { .pd = bench.pd };
	struct ibv_pd *parent;
	struct ibv_td *td;

	judge("alloc_td", "unknown comp_mask", ERRNO_OF(ibv_alloc_td(bench.context, &wrong)),
	      EINVAL);
	td = MADE(ibv_alloc_td(bench.context, &right));
	attr.td = td;
	parent = MADE(ibv_alloc_parent_domain(bench.context, &attr));
	judge("dealloc_td", "in a parent domain", ibv_dealloc_td(td), EBUSY);
	judge("dealloc_pd", "in a parent domain", ibv_dealloc_pd(bench.pd), EBUSY);
	attr.pd = parent;
	judge("alloc_parent_domain", "of a parent domain",
	      ERRNO_OF(ibv_alloc_parent_domain(bench.context, &attr)), EINVAL);
	CHECK_EQ(ibv_dealloc_pd(parent), 0);
	CHECK_EQ(ibv_dealloc_td(td), 0);
}

static void parent_domains(void)
{
	const struct wrong wrong[] = {
		WRONG(struct ibv_parent_domain_init_attr, pd, 0, EINVAL),
		WRONG(struct ibv_parent_domain_init_attr, pd, (uintptr_t)bench.other.pd, EINVAL),
		WRONG(struct ibv_parent_domain_init_attr, comp_mask, 1u << 31, EINVAL),
	};

	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct ibv_parent_domain_init_attr attr = { .pd = bench.pd };

		spoil(&attr, &wrong[i]);
		judge("alloc_parent_domain", wrong[i].what,
		      ERRNO_OF(ibv_alloc_parent_domain(bench.context, &attr)), wrong[i].want);
	}
}

/* ----------------------------------------------------------- address handles */

static void address_handles(void)
{
	static const struct wrong wrong[] = {
		WRONG(struct ibv_ah_attr, is_global, 0, EINVAL),
		WRONG(struct ibv_ah_attr, port_num, 0, EINVAL),
		WRONG(struct ibv_ah_attr, port_num, 2, EINVAL),
		WRONG(struct ibv_ah_attr, grh.sgid_index, 255, EINVAL),
	};
	struct ibv_wc wc = { .wc_flags = 0 };
	struct ibv_ah_attr attr;
	struct ibv_grh grh;

	for (size_t i = 0; i < COUNT(wrong); i++) {
		attr = (struct ibv_ah_attr){ .is_global = 1,
					     .port_num = 1,
					     .grh = { .dgid = bench.gid, .hop_limit = 1 } };
		spoil(&attr, &wrong[i]);
		judge("create_ah", wrong[i].what, ERRNO_OF(ibv_create_ah(bench.pd, &attr)),
		      wrong[i].want);
	}
	memset(&grh, 0, sizeof(grh));
	judge("create_ah_from_wc", "of a message without GRH",
	      ERRNO_OF(ibv_create_ah_from_wc(bench.pd, &wc, &grh, 1)), EINVAL);
	wc.wc_flags = IBV_WC_GRH;
	CHECK(ERRNO_OF(ibv_create_ah_from_wc(bench.pd, &wc, &grh, 1)));
	CHECK(ERRNO_OF(ibv_create_ah_from_wc(bench.pd, &wc, &grh, 2)));
}

void invalid_domains(void)
{
	busy_pd();
	thread_domains();
	parent_domains();
	look_around("domains");
	address_handles();
	look_around("address handles");
}
