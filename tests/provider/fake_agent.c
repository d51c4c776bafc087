// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmd.h"
#include "fake_agent.h"
#include "fake_command.h"

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
	struct ibv_cq *cq;

	assert_int_equal(cookie, FAKE_COOKIE);
	assert_int_equal(cqn, FAKE_CQN);
	__atomic_fetch_add(&agent.idles, 1, __ATOMIC_RELAXED);
	cq = __atomic_exchange_n(&agent.idle_completes, NULL, __ATOMIC_RELAXED);
	if (cq)
		fake_complete(cq, &(struct vnet_cqe){ .wr_id = FAKE_IDLE_WR });
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

/* ------------------------------------------------- functions of libibverbs */

void verbs_register_driver(const struct verbs_device_ops *ops)
{
	fake_device_ops = ops;
}

/* Functions that are set replace those of earlier calls. */
void verbs_set_ops(struct verbs_context *vctx, const struct verbs_context_ops *ops)
{
	static struct verbs_context_ops merged;
	void *const *from = (void *const *)ops;
	void **to = (void **)&merged;

	for (size_t i = 0; i < sizeof(merged) / sizeof(*to); i++)
		if (from[i])
			to[i] = from[i];
	fake_ops = &merged;
	vctx->context.ops.poll_cq = merged.poll_cq;
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

/* Names are used in traces only, which these tests do not read. */
const char *ibv_wc_status_str(enum ibv_wc_status status)
{
	return "";
}

const char *ibv_event_type_str(enum ibv_event_type event)
{
	return "";
}

void __verbs_log(struct verbs_context *ctx, uint32_t level, const char *fmt, ...)
{
}

int ibv_read_ibdev_sysfs_file(char *buf, size_t size, struct verbs_sysfs_dev *dev, const char *fmt,
			      ...)
{
	assert_string_equal(fmt, "fw_ver");
	if (!agent.fw_ver)
		return -1;
	return snprintf(buf, size, "%s", agent.fw_ver);
}

/* ---------------------------------------------------------------- commands */

int fake_answer(void)
{
	int ret = agent.fail_next;

	agent.fail_next = 0;
	return ret;
}

int fake_answer_new(uint32_t *handle)
{
	int ret = fake_answer();

	if (ret)
		return ret;
	*handle = ++agent.live;
	return 0;
}

int fake_answer_end(void)
{
	int ret = fake_answer();

	if (!ret)
		agent.live--;
	return ret;
}

struct vnet_ring_info fake_new_ring(uint32_t entries, uint32_t slot)
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

	assert_int_equal(cmd_size, sizeof(*req));
	assert_int_equal(resp_size, sizeof(*reply));
	assert_int_equal(req->vnet.hw_version, VNET_HW_VERSION);
	introduce(&reply->vnet);
	return fake_answer();
}

int ibv_cmd_query_context(struct ibv_context *ctx, struct ibv_command_buffer *driver)
{
	const struct ib_uverbs_attr *attr = driver->hdr.attrs;

	assert_ptr_equal(driver->next_attr, attr + 1);
	assert_int_equal(attr->attr_id, VNET_ATTR_QUERY_CONTEXT_RESP);
	assert_int_equal(attr->len, sizeof(struct vnet_alloc_ucontext_resp));
	introduce((struct vnet_alloc_ucontext_resp *)(uintptr_t)attr->data);
	return fake_answer();
}

int ibv_cmd_query_device_any(struct ibv_context *context,
			     const struct ibv_query_device_ex_input *input,
			     struct ibv_device_attr_ex *attr, size_t attr_size,
			     struct ib_uverbs_ex_query_device_resp *resp, size_t *resp_size)
{
	memset(attr, 0, attr_size);
	return fake_answer();
}

int ibv_cmd_query_port(struct ibv_context *context, uint8_t port_num,
		       struct ibv_port_attr *port_attr, struct ibv_query_port *cmd, size_t cmd_size)
{
	return fake_answer();
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
	/* libibverbs does this after alloc_device(). */
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
	/* All objects must have been destroyed at the agent. */
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
	/* Writes all but `seq`, which makes the entry valid. */
	whole.seq = slot->seq;
	memcpy(slot, &whole, offsetof(struct vnet_cqe, seq));
	memcpy(slot->payload, whole.payload, sizeof(whole) - offsetof(struct vnet_cqe, payload));
	__atomic_store_n(&cq->ring->prod, index + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->seq, index + 1, __ATOMIC_RELEASE);
}
