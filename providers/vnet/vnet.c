// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The vnet device: matching, opening and closing it, and the table of its operations.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/ib_user_ioctl_cmds.h>

#include "cmd.h"
#include "vnet.h"

static const struct verbs_match_ent match_table[] = {
	VERBS_NAME_MATCH("vnet", NULL),
	{},
};

static const struct verbs_context_ops context_ops;

void *vnet_zalloc(size_t size)
{
	void *p;

	/* aligned_alloc() requires a multiple of the alignment. */
	size = (size + VNET_CACHE_LINE - 1) & ~(size_t)(VNET_CACHE_LINE - 1);
	p = aligned_alloc(VNET_CACHE_LINE, size);
	if (!p)
		return NULL;
	return memset(p, 0, size);
}

/* The holder may have been preempted, so yield the processor after a while. */
void vnet_lock_slow(struct vnet_lock *lock)
{
	unsigned int spins = 0;

	do {
		while (__atomic_load_n(&lock->held, __ATOMIC_RELAXED)) {
			if (++spins % 128 == 0)
				sched_yield();
#if defined(__x86_64__) || defined(__i386__)
			__builtin_ia32_pause();
#endif
		}
	} while (!vnet_trylock(lock));
}

/* ------------------------------------------------------------------ device */

/*
 * The firmware version that the agent publishes identifies a device, whatever its name. The name
 * decides only if there is no version.
 */
static bool match_device(struct verbs_sysfs_dev *sysfs_dev)
{
	char fw_ver[64];

	if (ibv_read_ibdev_sysfs_file(fw_ver, sizeof(fw_ver), sysfs_dev, "fw_ver") <= 0)
		return sysfs_dev->match;
	return !strncmp(fw_ver, VNET_FW_VER_PREFIX, strlen(VNET_FW_VER_PREFIX));
}

static struct verbs_device *alloc_device(struct verbs_sysfs_dev *sysfs_dev)
{
	struct vnet_device *dev;

	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return NULL;
	if (ibv_read_ibdev_sysfs_file(dev->fw_ver, sizeof(dev->fw_ver), sysfs_dev, "fw_ver") < 0)
		dev->fw_ver[0] = '\0';
	return &dev->vdev;
}

static void uninit_device(struct verbs_device *vdev)
{
	free(container_of(vdev, struct vnet_device, vdev));
}

/* ----------------------------------------------------------------- context */

static bool asked_for_one_thread(void)
{
	const char *value = getenv("VNET_SINGLE_THREADED");

	return value && !strcmp(value, "1");
}

/* Takes over cmd_fd, as verbs_init_and_alloc_context() does. */
static struct vnet_context *new_context(struct ibv_device *device, int cmd_fd)
{
	struct vnet_context *ctx = NULL;

	ctx = verbs_init_and_alloc_context(device, cmd_fd, ctx, ibv_ctx, RDMA_DRIVER_UNKNOWN);
	if (!ctx)
		return NULL;
	pthread_mutex_init(&ctx->cq_mutex, NULL);
	ctx->doorbell_fd = -1;
	ctx->single_threaded = asked_for_one_thread();
	verbs_set_ops(&ctx->ibv_ctx, &context_ops);
	ctx->cq_read_ns = vnet_cq_read_ns_asked();
	if (ctx->cq_read_ns)
		vnet_context_set_in_nic(ctx);
	return ctx;
}

static void put_context(struct vnet_context *ctx)
{
	vnet_trace_stop(ctx);
	vnet_doorbell_fini(ctx);
	pthread_mutex_destroy(&ctx->cq_mutex);
	verbs_uninit_context(&ctx->ibv_ctx);
	free(ctx);
}

static void free_context(struct ibv_context *context)
{
	put_context(to_vctx(context));
}

/* Check and store what the agent reports about itself. Returns 0 or an errno value. */
static int accept_agent(struct vnet_context *ctx, const struct vnet_alloc_ucontext_resp *resp)
{
	const struct vnet_gate *gate = (const struct vnet_gate *)(uintptr_t)resp->gate;

	if (resp->hw_version != VNET_HW_VERSION) {
		verbs_err(&ctx->ibv_ctx, "the device has version %u, this provider is for %u\n",
			  resp->hw_version, VNET_HW_VERSION);
		return EPROTONOSUPPORT;
	}
	if (gate && gate->size < sizeof(*gate)) {
		verbs_err(&ctx->ibv_ctx, "the device's gate has %u bytes, %zu are needed\n",
			  gate->size, sizeof(*gate));
		return EPROTONOSUPPORT;
	}

	if (gate)
		ctx->gate = *gate;
	ctx->gate_cookie = resp->gate_cookie;
	ctx->clock_khz = resp->clock_khz;
	ctx->imm64 = resp->caps & VNET_UCONTEXT_CAP_IMM64;
	ctx->tm = resp->caps & VNET_UCONTEXT_CAP_TM && (!gate || gate->tag_doorbell);
	ctx->returns = resp->caps & VNET_UCONTEXT_CAP_RETURN;
	ctx->flush = resp->caps & VNET_UCONTEXT_CAP_FLUSH;
	ctx->query_device = resp->caps & VNET_UCONTEXT_CAP_QUERY_DEVICE;
	ctx->lid = resp->caps & VNET_UCONTEXT_CAP_LID;
	vnet_doorbell_init(ctx, resp);
	vnet_trace_start(ctx);
	return 0;
}

static struct verbs_context *alloc_context(struct ibv_device *device, int cmd_fd,
					   void *private_data)
{
	struct vnet_get_context_cmd cmd = { .vnet.hw_version = VNET_HW_VERSION };
	struct vnet_get_context_reply reply = {};
	struct vnet_context *ctx;
	int ret;

	(void)private_data;
	ctx = new_context(device, cmd_fd);
	if (!ctx)
		return NULL;

	ret = vnet_cmd_get_context(&ctx->ibv_ctx, &cmd, &reply);
	if (!ret)
		ret = accept_agent(ctx, &reply.vnet);
	if (ret) {
		put_context(ctx);
		errno = ret;
		return NULL;
	}
	return &ctx->ibv_ctx;
}

/* Import a context that another context, perhaps of another process, has opened. */
static struct verbs_context *import_context(struct ibv_device *device, int cmd_fd)
{
	struct vnet_alloc_ucontext_resp resp = {};
	struct vnet_context *ctx;
	int ret;

	DECLARE_COMMAND_BUFFER(attrs, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT, 1);

	ctx = new_context(device, cmd_fd);
	if (!ctx)
		return NULL;

	fill_attr_out_ptr(attrs, VNET_ATTR_QUERY_CONTEXT_RESP, &resp);
	ret = ibv_cmd_query_context(&ctx->ibv_ctx.context, attrs);
	if (!ret)
		ret = accept_agent(ctx, &resp);
	if (ret) {
		put_context(ctx);
		errno = ret;
		return NULL;
	}
	return &ctx->ibv_ctx;
}

static const struct verbs_context_ops context_ops = {
	.advise_mr = ibv_cmd_advise_mr,
	.alloc_dm = vnet_alloc_dm,
	.alloc_mw = vnet_alloc_mw,
	.alloc_parent_domain = vnet_alloc_parent_domain,
	.alloc_pd = vnet_alloc_pd,
	.alloc_td = vnet_alloc_td,
	.attach_counters_point_flow = vnet_attach_counters_point_flow,
	.attach_mcast = ibv_cmd_attach_mcast,
	.bind_mw = vnet_bind_mw,
	.close_xrcd = vnet_close_xrcd,
	.create_ah = vnet_create_ah,
	.create_counters = vnet_create_counters,
	.create_cq = vnet_create_cq,
	.create_cq_ex = vnet_create_cq_ex,
	.create_flow = vnet_create_flow,
	.create_qp = vnet_create_qp,
	.create_qp_ex = vnet_create_qp_ex,
	.create_rwq_ind_table = vnet_create_rwq_ind_table,
	.create_srq = vnet_create_srq,
	.create_srq_ex = vnet_create_srq_ex,
	.create_wq = vnet_create_wq,
	.dealloc_mw = vnet_dealloc_mw,
	.dealloc_pd = vnet_dealloc_pd,
	.dealloc_td = vnet_dealloc_td,
	.dereg_mr = vnet_dereg_mr,
	.destroy_ah = vnet_destroy_ah,
	.destroy_counters = vnet_destroy_counters,
	.destroy_cq = vnet_destroy_cq,
	.destroy_flow = vnet_destroy_flow,
	.destroy_qp = vnet_destroy_qp,
	.destroy_rwq_ind_table = vnet_destroy_rwq_ind_table,
	.destroy_srq = vnet_destroy_srq,
	.destroy_wq = vnet_destroy_wq,
	.detach_mcast = ibv_cmd_detach_mcast,
	.free_context = free_context,
	.free_dm = vnet_free_dm,
	.get_srq_num = vnet_get_srq_num,
	.import_dm = vnet_import_dm,
	.import_mr = vnet_import_mr,
	.import_pd = vnet_import_pd,
	.modify_cq = vnet_modify_cq,
	.modify_qp = vnet_modify_qp,
	.modify_qp_rate_limit = vnet_modify_qp_rate_limit,
	.modify_srq = vnet_modify_srq,
	.modify_wq = vnet_modify_wq,
	.open_qp = vnet_open_qp,
	.open_xrcd = vnet_open_xrcd,
	.poll_cq = vnet_poll_cq,
	.post_recv = vnet_post_recv,
	.post_send = vnet_post_send,
	.post_srq_ops = vnet_post_srq_ops,
	.post_srq_recv = vnet_post_srq_recv,
	.query_device_ex = vnet_query_device_ex,
	.query_port = vnet_query_port,
	.query_qp = vnet_query_qp,
	.query_qp_data_in_order = vnet_query_qp_data_in_order,
	.query_rt_values = vnet_query_rt_values,
	.query_srq = vnet_query_srq,
	.read_counters = vnet_read_counters,
	.reg_dm_mr = vnet_reg_dm_mr,
	.reg_dmabuf_mr = vnet_reg_dmabuf_mr,
	.reg_mr = vnet_reg_mr,
	.req_notify_cq = vnet_req_notify_cq,
	.cq_event = vnet_cq_event,
	.rereg_mr = vnet_rereg_mr,
	.resize_cq = vnet_resize_cq,
	.unimport_dm = vnet_unimport_dm,
	.unimport_mr = vnet_unimport_mr,
	.unimport_pd = vnet_unimport_pd,
};

static const struct verbs_device_ops device_ops = {
	.name = "vnet",
	.match_min_abi_version = VNET_UVERBS_ABI_VERSION,
	.match_max_abi_version = VNET_UVERBS_ABI_VERSION,
	.match_table = match_table,
	.match_device = match_device,
	.alloc_context = alloc_context,
	.import_context = import_context,
	.alloc_device = alloc_device,
	.uninit_device = uninit_device,
};

/* --------------------------------------------------------- vnet's own verbs */

bool vnetdv_is_supported(struct ibv_device *device)
{
	return container_of(device, struct verbs_device, device)->ops == &device_ops;
}

int vnetdv_query_context(struct ibv_context *context, struct vnetdv_context *attr, size_t attr_size)
{
	struct vnetdv_context known = {};

	if (!vnetdv_is_supported(context->device))
		return ENOTSUP;
	if (to_vctx(context)->imm64)
		known.flags |= VNETDV_CONTEXT_IMM64;
	if (to_vctx(context)->returns)
		known.flags |= VNETDV_CONTEXT_RETURN_TO_SENDER;
	if (to_vctx(context)->flush)
		known.flags |= VNETDV_CONTEXT_FLUSH;
	memset(attr, 0, attr_size);
	memcpy(attr, &known, attr_size < sizeof(known) ? attr_size : sizeof(known));
	return 0;
}

PROVIDER_DRIVER(vnet, device_ops);
