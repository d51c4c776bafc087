// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmd.h"
#include "fake_agent.h"

#define MEMORY_SIZE (64u << 20)

struct fake_agent agent;
const struct verbs_device_ops *fake_device_ops;
const struct verbs_context_ops *fake_ops;

static struct verbs_sysfs_dev sysfs_dev;
static struct verbs_device *device;
static uint64_t next_offset;
static struct vnet_gate gate;

/* ---------------------------------------------------------------- the gate */

static void send_doorbell(__u64 cookie, __u32 qpn)
{
	assert_int_equal(cookie, FAKE_COOKIE);
	__atomic_fetch_add(&agent.send_doorbells, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&agent.last_qpn, qpn, __ATOMIC_RELAXED);
}

static void recv_doorbell(__u64 cookie, __u32 num, int is_srq)
{
	assert_int_equal(cookie, FAKE_COOKIE);
	agent.recv_doorbells++;
	agent.last_recv_num = num;
	agent.last_recv_is_srq = is_srq;
}

static void idle(__u64 cookie, __u32 cqn)
{
	assert_int_equal(cookie, FAKE_COOKIE);
	assert_int_equal(cqn, FAKE_CQN);
	__atomic_fetch_add(&agent.idles, 1, __ATOMIC_RELAXED);
}

static void cq_doorbell(__u64 cookie, __u32 cqn)
{
	assert_int_equal(cookie, FAKE_COOKIE);
	assert_int_equal(cqn, FAKE_CQN);
	agent.cq_doorbells++;
}

static int copy(__u64 cookie, void *dst, const void *src, __u32 len)
{
	assert_int_equal(cookie, FAKE_COOKIE);
	agent.copies++;
	if (agent.copy_fails)
		return -1;
	memcpy(dst, src, len);
	return 0;
}

static void recv_fault(__u64 cookie, __u32 qpn)
{
	assert_int_equal(cookie, FAKE_COOKIE);
	agent.fault_qpn = qpn;
}

/* ------------------------------------------------------------- the library */

void verbs_register_driver(const struct verbs_device_ops *ops)
{
	fake_device_ops = ops;
}

void verbs_set_ops(struct verbs_context *vctx, const struct verbs_context_ops *ops)
{
	static struct verbs_context_ops merged;

	vctx->context.ops.poll_cq = ops->poll_cq;
	if (ops->create_cq_ex) {
		fake_ops = ops;
		return;
	}
	/* Polling in another way, beside what was set before. */
	merged = *fake_ops;
	merged.poll_cq = ops->poll_cq;
	fake_ops = &merged;
}

void *_verbs_init_and_alloc_context(struct ibv_device *ibdev, int cmd_fd, size_t size,
				    struct verbs_context *offset, uint32_t driver_id)
{
	struct verbs_context *vctx;
	char *object;

	assert_int_equal(driver_id, RDMA_DRIVER_UNKNOWN);
	object = calloc(1, size);
	assert_non_null(object);
	vctx = (struct verbs_context *)(object + (uintptr_t)offset);
	vctx->context.device = ibdev;
	vctx->context.cmd_fd = cmd_fd;
	vctx->context.async_fd = -1;
	vctx->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	vctx->sz = sizeof(*vctx);
	return object;
}

void verbs_uninit_context(struct verbs_context *vctx)
{
	close(vctx->context.cmd_fd);
}

/* Names are for lines of a trace, which these tests do not ask for. */
const char *ibv_wc_status_str(enum ibv_wc_status status)
{
	(void)status;
	return "";
}

const char *ibv_event_type_str(enum ibv_event_type event)
{
	(void)event;
	return "";
}

void __verbs_log(struct verbs_context *ctx, uint32_t level, const char *fmt, ...)
{
	(void)ctx;
	(void)level;
	(void)fmt;
}

int ibv_read_ibdev_sysfs_file(char *buf, size_t size, struct verbs_sysfs_dev *dev, const char *fmt,
			      ...)
{
	(void)dev;
	assert_string_equal(fmt, "fw_ver");
	if (!agent.fw_ver)
		return -1;
	return snprintf(buf, size, "%s", agent.fw_ver);
}

/* ---------------------------------------------------------------- commands */

static int answer(void)
{
	int ret = agent.fail_next;

	agent.fail_next = 0;
	return ret;
}

static int answer_new(uint32_t *handle)
{
	int ret = answer();

	if (ret)
		return ret;
	*handle = ++agent.live;
	return 0;
}

static int answer_end(void)
{
	int ret = answer();

	if (!ret)
		agent.live--;
	return ret;
}

static struct vnet_ring_info new_ring(uint32_t entries, uint32_t slot)
{
	struct vnet_ring_info info = { .entries = entries, .mmap_offset = next_offset };
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t size;

	while (1u << info.stride_shift < slot)
		info.stride_shift++;
	size = VNET_RING_HDR_SIZE + ((uint64_t)entries << info.stride_shift);
	info.mmap_size = (size + page - 1) & ~(page - 1);
	next_offset += info.mmap_size;
	assert_true(next_offset <= MEMORY_SIZE);
	return info;
}

static void introduce(struct vnet_alloc_ucontext_resp *resp)
{
	gate = (struct vnet_gate){
		.size = agent.gate_size,
		.send_doorbell = send_doorbell,
		.recv_doorbell = recv_doorbell,
		.idle = idle,
		.copy = copy,
		.recv_fault = recv_fault,
		.cq_doorbell = cq_doorbell,
	};
	*resp = (struct vnet_alloc_ucontext_resp){
		.hw_version = agent.hw_version,
		.gate = agent.without_gate ? 0 : (uintptr_t)&gate,
		.gate_cookie = FAKE_COOKIE,
		.clock_khz = 1000000,
		.caps = agent.caps,
		.doorbell_fd = agent.caps & VNET_UCONTEXT_CAP_DOORBELL_FD ? dup(0) : -1,
		.doorbell_page = MEMORY_SIZE - 4096,
	};
}

int ibv_cmd_get_context(struct verbs_context *context, struct ibv_get_context *cmd, size_t cmd_size,
			struct ib_uverbs_get_context_resp *resp, size_t resp_size)
{
	struct vnet_get_context_cmd *req = container_of(cmd, struct vnet_get_context_cmd, ibv);
	struct vnet_get_context_reply *reply =
		container_of(resp, struct vnet_get_context_reply, ibv);

	(void)context;
	assert_int_equal(cmd_size, sizeof(*req));
	assert_int_equal(resp_size, sizeof(*reply));
	assert_int_equal(req->vnet.hw_version, VNET_HW_VERSION);
	introduce(&reply->vnet);
	return answer();
}

int ibv_cmd_query_context(struct ibv_context *ctx, struct ibv_command_buffer *driver)
{
	const struct ib_uverbs_attr *attr = driver->hdr.attrs;

	(void)ctx;
	assert_ptr_equal(driver->next_attr, attr + 1);
	assert_int_equal(attr->attr_id, VNET_ATTR_QUERY_CONTEXT_RESP);
	assert_int_equal(attr->len, sizeof(struct vnet_alloc_ucontext_resp));
	introduce((struct vnet_alloc_ucontext_resp *)(uintptr_t)attr->data);
	return answer();
}

int ibv_cmd_query_device_any(struct ibv_context *context,
			     const struct ibv_query_device_ex_input *input,
			     struct ibv_device_attr_ex *attr, size_t attr_size,
			     struct ib_uverbs_ex_query_device_resp *resp, size_t *resp_size)
{
	(void)context;
	(void)input;
	(void)resp;
	(void)resp_size;
	memset(attr, 0, attr_size);
	return answer();
}

int ibv_cmd_query_port(struct ibv_context *context, uint8_t port_num,
		       struct ibv_port_attr *port_attr, struct ibv_query_port *cmd, size_t cmd_size)
{
	(void)context;
	(void)port_num;
	(void)port_attr;
	(void)cmd;
	(void)cmd_size;
	return answer();
}

int ibv_cmd_alloc_pd(struct ibv_context *context, struct ibv_pd *pd, struct ibv_alloc_pd *cmd,
		     size_t cmd_size, struct ib_uverbs_alloc_pd_resp *resp, size_t resp_size)
{
	(void)cmd;
	(void)cmd_size;
	(void)resp;
	(void)resp_size;
	pd->context = context;
	return answer_new(&pd->handle);
}

int ibv_cmd_dealloc_pd(struct ibv_pd *pd)
{
	(void)pd;
	return answer_end();
}

int ibv_cmd_reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t hca_va, int access,
		   struct verbs_mr *vmr, struct ibv_reg_mr *cmd, size_t cmd_size,
		   struct ib_uverbs_reg_mr_resp *resp, size_t resp_size)
{
	(void)hca_va;
	(void)cmd;
	(void)cmd_size;
	(void)resp;
	(void)resp_size;
	/* The library does this after the provider. */
	vmr->ibv_mr.context = pd->context;
	vmr->ibv_mr.addr = addr;
	vmr->ibv_mr.length = length;
	vmr->access = access;
	return answer_new(&vmr->ibv_mr.handle);
}

int ibv_cmd_rereg_mr(struct verbs_mr *vmr, uint32_t flags, void *addr, size_t length,
		     uint64_t hca_va, int access, struct ibv_pd *pd, struct ibv_rereg_mr *cmd,
		     size_t cmd_sz, struct ib_uverbs_rereg_mr_resp *resp, size_t resp_sz)
{
	(void)vmr;
	(void)flags;
	(void)addr;
	(void)length;
	(void)hca_va;
	(void)access;
	(void)pd;
	(void)cmd;
	(void)cmd_sz;
	(void)resp;
	(void)resp_sz;
	return answer();
}

int ibv_cmd_dereg_mr(struct verbs_mr *vmr)
{
	(void)vmr;
	return answer_end();
}

int ibv_cmd_query_mr(struct ibv_pd *pd, struct verbs_mr *vmr, uint32_t mr_handle)
{
	vmr->ibv_mr.context = pd->context;
	vmr->ibv_mr.handle = mr_handle;
	return answer();
}

int ibv_cmd_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		      struct ibv_sge *sg_list, uint32_t num_sge)
{
	(void)pd;
	(void)advice;
	(void)flags;
	(void)sg_list;
	(void)num_sge;
	return EOPNOTSUPP;
}

/* This agent has no memory of its own. */
int ibv_cmd_alloc_dm(struct ibv_context *ctx, const struct ibv_alloc_dm_attr *dm_attr,
		     struct verbs_dm *dm, struct ibv_command_buffer *link)
{
	(void)ctx;
	(void)dm_attr;
	(void)dm;
	(void)link;
	return EOPNOTSUPP;
}

int ibv_cmd_free_dm(struct verbs_dm *dm)
{
	(void)dm;
	return EOPNOTSUPP;
}

int ibv_cmd_reg_dm_mr(struct ibv_pd *pd, struct verbs_dm *dm, uint64_t offset, size_t length,
		      unsigned int access, struct verbs_mr *vmr, struct ibv_command_buffer *link)
{
	(void)pd;
	(void)dm;
	(void)offset;
	(void)length;
	(void)access;
	(void)vmr;
	(void)link;
	return EOPNOTSUPP;
}

int execute_ioctl(struct ibv_context *context, struct ibv_command_buffer *cmd)
{
	(void)context;
	(void)cmd;
	errno = EOPNOTSUPP;
	return -1;
}

int ibv_cmd_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type, struct ibv_mw *mw,
		     struct ibv_alloc_mw *cmd, size_t cmd_size,
		     struct ib_uverbs_alloc_mw_resp *resp, size_t resp_size)
{
	(void)cmd;
	(void)cmd_size;
	(void)resp;
	(void)resp_size;
	mw->context = pd->context;
	mw->type = type;
	mw->rkey = 0x5ff;
	return answer_new(&mw->handle);
}

int ibv_cmd_dealloc_mw(struct ibv_mw *mw)
{
	(void)mw;
	return answer_end();
}

int ibv_cmd_create_ah(struct ibv_pd *pd, struct ibv_ah *ah, struct ibv_ah_attr *attr,
		      struct ib_uverbs_create_ah_resp *resp, size_t resp_size)
{
	(void)attr;
	(void)resp;
	(void)resp_size;
	ah->context = pd->context;
	return answer_new(&ah->handle);
}

int ibv_cmd_destroy_ah(struct ibv_ah *ah)
{
	(void)ah;
	return answer_end();
}

int ibv_cmd_create_cq_ex(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr,
			 struct verbs_cq *cq, struct ibv_create_cq_ex *cmd, size_t cmd_size,
			 struct ib_uverbs_ex_create_cq_resp *resp, size_t resp_size,
			 uint32_t cmd_flags)
{
	struct vnet_create_cq_cmd *req = container_of(cmd, struct vnet_create_cq_cmd, ibv);
	struct vnet_create_cq_reply *reply = container_of(resp, struct vnet_create_cq_reply, ibv);

	(void)attr;
	assert_int_equal(cmd_size, sizeof(*req));
	assert_int_equal(resp_size, sizeof(*reply));
	assert_int_equal(cmd_flags, CREATE_CQ_CMD_FLAGS_TS_IGNORED_EX);
	cq->cq.context = context;
	cq->cq.cqe = (int)agent.entries;
	agent.last_cq_flags = req->vnet.flags;
	reply->vnet.cqn = FAKE_CQN;
	reply->vnet.cq = new_ring(agent.entries, VNET_CQE_SIZE);
	return answer_new(&cq->cq.handle);
}

/* Moves the entries, as an agent does. */
int ibv_cmd_resize_cq(struct ibv_cq *ibcq, int cqe, struct ibv_resize_cq *cmd, size_t cmd_size,
		      struct ib_uverbs_resize_cq_resp *resp, size_t resp_size)
{
	struct vnet_resize_cq_reply *reply = container_of(resp, struct vnet_resize_cq_reply, ibv);
	const struct vnet_cq *cq = to_vcq(ibcq);
	struct vnet_cqe *slots;
	struct vnet_ring *ring;
	uint32_t i;

	(void)cmd;
	(void)cmd_size;
	assert_int_equal(resp_size, sizeof(*reply));
	reply->vnet.cq = new_ring((uint32_t)cqe, VNET_CQE_SIZE);
	ring = mmap(NULL, reply->vnet.cq.mmap_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		    ibcq->context->cmd_fd, (off_t)reply->vnet.cq.mmap_offset);
	assert_true(ring != MAP_FAILED);
	*ring = *cq->ring;
	slots = (struct vnet_cqe *)(ring + 1);
	for (i = ring->cons; i != ring->prod; i++)
		slots[i & ((uint32_t)cqe - 1)] = cq->slots[i & cq->mask];
	munmap(ring, reply->vnet.cq.mmap_size);
	return answer();
}

int ibv_cmd_destroy_cq(struct ibv_cq *cq)
{
	(void)cq;
	return answer_end();
}

int ibv_cmd_create_srq(struct ibv_pd *pd, struct ibv_srq *srq, struct ibv_srq_init_attr *attr,
		       struct ibv_create_srq *cmd, size_t cmd_size,
		       struct ib_uverbs_create_srq_resp *resp, size_t resp_size)
{
	struct vnet_create_srq_reply *reply = container_of(resp, struct vnet_create_srq_reply, ibv);

	(void)cmd;
	(void)cmd_size;
	assert_int_equal(resp_size, sizeof(*reply));
	srq->context = pd->context;
	attr->attr.max_sge = agent.max_sge;
	reply->vnet.srqn = FAKE_SRQN;
	reply->vnet.rq = new_ring(agent.entries, VNET_RECV_HDR_SIZE + 16 * agent.max_sge);
	return answer_new(&srq->handle);
}

int ibv_cmd_create_srq_ex(struct ibv_context *context, struct verbs_srq *srq,
			  struct ibv_srq_init_attr_ex *attr_ex, struct ibv_create_xsrq *cmd,
			  size_t cmd_size, struct ib_uverbs_create_srq_resp *resp, size_t resp_size)
{
	struct ibv_srq_init_attr attr = { .attr = attr_ex->attr };
	int ret;

	(void)cmd;
	(void)cmd_size;
	assert_ptr_equal(context, attr_ex->pd->context);
	ret = ibv_cmd_create_srq(attr_ex->pd, &srq->srq, &attr, NULL, 0, resp, resp_size);
	attr_ex->attr = attr.attr;
	return ret;
}

int ibv_cmd_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *srq_attr, int srq_attr_mask,
		       struct ibv_modify_srq *cmd, size_t cmd_size)
{
	(void)srq;
	(void)srq_attr;
	(void)srq_attr_mask;
	(void)cmd;
	(void)cmd_size;
	return answer();
}

int ibv_cmd_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *srq_attr, struct ibv_query_srq *cmd,
		      size_t cmd_size)
{
	(void)srq;
	(void)srq_attr;
	(void)cmd;
	(void)cmd_size;
	return answer();
}

int ibv_cmd_destroy_srq(struct ibv_srq *srq)
{
	(void)srq;
	return answer_end();
}

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

int ibv_cmd_create_qp_ex2(struct ibv_context *context, struct verbs_qp *qp,
			  struct ibv_qp_init_attr_ex *attr, struct ibv_create_qp_ex *cmd,
			  size_t cmd_size, struct ib_uverbs_ex_create_qp_resp *resp,
			  size_t resp_size)
{
	struct vnet_create_qp_reply *reply = container_of(resp, struct vnet_create_qp_reply, ibv);

	(void)cmd;
	assert_int_equal(cmd_size, sizeof(*cmd));
	assert_int_equal(resp_size, sizeof(*reply));
	qp->qp.context = context;
	qp->qp.qp_context = attr->qp_context;
	qp->qp.pd = attr->pd;
	qp->qp.send_cq = attr->send_cq;
	qp->qp.recv_cq = attr->recv_cq;
	qp->qp.srq = attr->srq;
	qp->qp.qp_type = attr->qp_type;
	qp->qp.qp_num = FAKE_QPN;
	qp->qp.state = IBV_QPS_RESET;
	qp->comp_mask = 0;
	attr->cap.max_send_sge = agent.max_sge;
	attr->cap.max_recv_sge = attr->srq ? 0 : agent.max_sge;
	attr->cap.max_inline_data = agent.max_inline;

	reply->vnet.qpn = FAKE_QPN;
	reply->vnet.sq = new_ring(agent.entries,
				  VNET_WQE_HDR_SIZE + larger(16 * agent.max_sge, agent.max_inline));
	if (!attr->srq)
		reply->vnet.rq = new_ring(agent.entries, VNET_RECV_HDR_SIZE + 16 * agent.max_sge);
	return answer_new(&qp->qp.handle);
}

int ibv_cmd_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *qp_attr, int attr_mask,
		     struct ibv_qp_init_attr *qp_init_attr, struct ibv_query_qp *cmd,
		     size_t cmd_size)
{
	(void)qp;
	(void)qp_attr;
	(void)attr_mask;
	(void)qp_init_attr;
	(void)cmd;
	(void)cmd_size;
	return answer();
}

/* Going to RESET empties the queues, as abi/vnet_hw.h has it. */
int ibv_cmd_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask,
		      struct ibv_modify_qp *cmd, size_t cmd_size)
{
	struct vnet_qp *qp = to_vqp(ibqp);

	(void)cmd;
	(void)cmd_size;
	if (attr_mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET) {
		qp->sq.ring->cons = qp->sq.ring->prod;
		if (qp->rq.ring)
			qp->rq.ring->cons = qp->rq.ring->prod;
	}
	return answer();
}

int ibv_cmd_modify_qp_ex(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask,
			 struct ibv_modify_qp_ex *cmd, size_t cmd_size,
			 struct ib_uverbs_ex_modify_qp_resp *resp, size_t resp_size)
{
	(void)qp;
	(void)attr;
	(void)attr_mask;
	(void)cmd;
	(void)cmd_size;
	(void)resp;
	(void)resp_size;
	return answer();
}

int ibv_cmd_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr, struct ibv_modify_cq *cmd,
		      size_t cmd_size)
{
	(void)cq;
	(void)attr;
	(void)cmd;
	(void)cmd_size;
	return answer();
}

/* -- Ethernet frames, which this agent does not have */

int ibv_cmd_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr, struct ibv_wq *wq,
		      struct ibv_create_wq *cmd, size_t cmd_size,
		      struct ib_uverbs_ex_create_wq_resp *resp, size_t resp_size)
{
	(void)context;
	(void)attr;
	(void)wq;
	(void)cmd;
	(void)cmd_size;
	(void)resp;
	(void)resp_size;
	return EOPNOTSUPP;
}

int ibv_cmd_modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *attr, struct ibv_modify_wq *cmd,
		      size_t cmd_size)
{
	(void)wq;
	(void)attr;
	(void)cmd;
	(void)cmd_size;
	return EOPNOTSUPP;
}

int ibv_cmd_destroy_wq(struct ibv_wq *wq)
{
	(void)wq;
	return EOPNOTSUPP;
}

int ibv_cmd_create_rwq_ind_table(struct ibv_context *context,
				 struct ibv_rwq_ind_table_init_attr *attr,
				 struct ibv_rwq_ind_table *table,
				 struct ib_uverbs_ex_create_rwq_ind_table_resp *resp,
				 size_t resp_size)
{
	(void)context;
	(void)attr;
	(void)table;
	(void)resp;
	(void)resp_size;
	return EOPNOTSUPP;
}

int ibv_cmd_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table)
{
	(void)table;
	return EOPNOTSUPP;
}

int ibv_cmd_create_flow(struct ibv_qp *qp, struct ibv_flow *flow, struct ibv_flow_attr *attr,
			void *ucmd, size_t ucmd_size)
{
	(void)qp;
	(void)flow;
	(void)attr;
	(void)ucmd;
	(void)ucmd_size;
	return EOPNOTSUPP;
}

int ibv_cmd_destroy_flow(struct ibv_flow *flow)
{
	(void)flow;
	return EOPNOTSUPP;
}

int ibv_cmd_create_counters(struct ibv_context *context, struct ibv_counters_init_attr *attr,
			    struct verbs_counters *counters, struct ibv_command_buffer *link)
{
	(void)context;
	(void)attr;
	(void)counters;
	(void)link;
	return EOPNOTSUPP;
}

int ibv_cmd_destroy_counters(struct verbs_counters *counters)
{
	(void)counters;
	return EOPNOTSUPP;
}

int ibv_cmd_read_counters(struct verbs_counters *counters, uint64_t *values, uint32_t ncounters,
			  uint32_t flags, struct ibv_command_buffer *link)
{
	(void)counters;
	(void)values;
	(void)ncounters;
	(void)flags;
	(void)link;
	return EOPNOTSUPP;
}

int ibv_cmd_destroy_qp(struct ibv_qp *qp)
{
	(void)qp;
	return answer_end();
}

int ibv_cmd_open_qp(struct ibv_context *context, struct verbs_qp *qp, int vqp_sz,
		    struct ibv_qp_open_attr *attr, struct ibv_open_qp *cmd, size_t cmd_size,
		    struct ib_uverbs_create_qp_resp *resp, size_t resp_size)
{
	(void)cmd;
	(void)cmd_size;
	assert_int_equal(vqp_sz, sizeof(*qp));
	assert_int_equal(resp_size, sizeof(*resp));
	qp->qp.context = context;
	qp->qp.qp_num = attr->qp_num;
	resp->qpn = attr->qp_num;
	return answer_new(&qp->qp.handle);
}

int ibv_cmd_open_xrcd(struct ibv_context *context, struct verbs_xrcd *xrcd, int vxrcd_size,
		      struct ibv_xrcd_init_attr *attr, struct ibv_open_xrcd *cmd, size_t cmd_size,
		      struct ib_uverbs_open_xrcd_resp *resp, size_t resp_size)
{
	(void)attr;
	(void)cmd;
	(void)cmd_size;
	(void)resp;
	(void)resp_size;
	assert_int_equal(vxrcd_size, sizeof(*xrcd));
	xrcd->xrcd.context = context;
	return answer_new(&xrcd->handle);
}

int ibv_cmd_close_xrcd(struct verbs_xrcd *xrcd)
{
	(void)xrcd;
	return answer();
}

int ibv_cmd_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)qp;
	(void)gid;
	(void)lid;
	return answer();
}

int ibv_cmd_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)qp;
	(void)gid;
	(void)lid;
	return answer();
}

int ibv_cmd_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	(void)bad_wr;
	assert_null(wr);
	agent.traps++;
	agent.last_qpn = ibqp->qp_num;
	return 0;
}

int ibv_cmd_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	(void)bad_wr;
	assert_null(wr);
	agent.traps++;
	agent.last_recv_num = ibqp->qp_num;
	return 0;
}

int ibv_cmd_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	(void)bad_wr;
	assert_null(wr);
	agent.traps++;
	agent.last_recv_num = srq->handle;
	return 0;
}

/* ------------------------------------------------------------ for the tests */

void fake_reset(void)
{
	agent = (struct fake_agent){
		.hw_version = VNET_HW_VERSION,
		.gate_size = sizeof(struct vnet_gate),
		.fw_ver = VNET_FW_VER_PREFIX "1.0",
		.entries = 8,
		.max_sge = 4,
		.max_inline = 128,
	};
	next_offset = 0;
}

int fake_open(void **state)
{
	struct verbs_context *vctx;
	int fd;

	fake_reset();
	fd = memfd_create("rings", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, MEMORY_SIZE))
		return -1;
	device = fake_device_ops->alloc_device(&sysfs_dev);
	/* The library does this after the provider. */
	device->ops = fake_device_ops;
	vctx = fake_device_ops->alloc_context(&device->device, fd, NULL);
	if (!vctx)
		return -1;
	*state = &vctx->context;
	return 0;
}

int fake_close(void **state)
{
	fake_ops->free_context(*state);
	fake_device_ops->uninit_device(device);
	/* Every object was ended at the agent. */
	return agent.live ? -1 : 0;
}

struct ibv_pd *fake_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = fake_ops->alloc_pd(context);

	assert_non_null(pd);
	return pd;
}

struct ibv_cq *fake_cq(struct ibv_context *context)
{
	struct ibv_cq *cq = fake_ops->create_cq(context, 1, NULL, 0);

	assert_non_null(cq);
	return cq;
}

struct ibv_srq *fake_srq(struct ibv_pd *pd)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ibv_srq *srq = fake_ops->create_srq(pd, &attr);

	assert_non_null(srq);
	return srq;
}

struct ibv_qp *fake_qp(struct ibv_pd *pd, struct ibv_cq *cq, struct ibv_srq *srq,
		       enum ibv_qp_type type, bool extended)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct ibv_qp *qp;

	if (extended) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = IBV_QP_EX_WITH_SEND;
	}
	qp = fake_ops->create_qp_ex(pd->context, &attr);
	assert_non_null(qp);
	qp->state = IBV_QPS_RTS;
	return qp;
}

void fake_end_qp(struct ibv_qp *qp)
{
	assert_int_equal(fake_ops->destroy_qp(qp), 0);
}

void fake_end_srq(struct ibv_srq *srq)
{
	assert_int_equal(fake_ops->destroy_srq(srq), 0);
}

void fake_end_cq(struct ibv_cq *cq)
{
	assert_int_equal(fake_ops->destroy_cq(cq), 0);
}

void fake_end_pd(struct ibv_pd *pd)
{
	assert_int_equal(fake_ops->dealloc_pd(pd), 0);
}

struct vnet_ring *fake_ring(const struct vnet_wq *wq)
{
	return wq->ring;
}

struct vnet_send_wqe *fake_send_wqe(struct ibv_qp *qp, uint32_t index)
{
	return vnet_wq_slot(&to_vqp(qp)->sq, index);
}

struct vnet_recv_wqe *fake_recv_wqe(struct vnet_wq *wq, uint32_t index)
{
	return vnet_wq_slot(wq, index);
}

void fake_complete(struct ibv_cq *ibcq, const struct vnet_cqe *cqe)
{
	struct vnet_cq *cq = to_vcq(ibcq);
	uint32_t index = cq->ring->prod;
	struct vnet_cqe *slot = &cq->slots[index & cq->mask];
	struct vnet_cqe whole = *cqe;

	if (!cq->ignores_overrun)
		assert_true(index - __atomic_load_n(&cq->ring->cons, __ATOMIC_ACQUIRE) <= cq->mask);
	/* All but seq, which makes it valid. */
	whole.seq = slot->seq;
	memcpy(slot, &whole, offsetof(struct vnet_cqe, seq));
	memcpy(slot->payload, whole.payload, sizeof(whole) - offsetof(struct vnet_cqe, payload));
	cq->ring->prod = index + 1;
	__atomic_store_n(&slot->seq, index + 1, __ATOMIC_RELEASE);
}
