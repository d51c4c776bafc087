// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queries of device and port attributes. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ioctl.h"
#include "link/lid.h"
#include "objects.h"

/* Major, minor and sub-minor version of 16 bits, as ibv_devinfo prints them. */
#define FW_VER (0ull << 32 | 1ull << 16 | 0ull)
#define PAGE_SIZES 0xfffff000ull

/* Values of enum ibv_atomic_cap, ibv_mtu, ibv_port_state and others in verbs.h. */
enum {
	ATOMIC_HCA = 1,
	MTU_4096 = 5,
	PORT_DOWN = 1,
	PORT_ACTIVE = 4,
	PHYS_DISABLED = 3,
	PHYS_LINK_UP = 5,
	WIDTH_4X = 2,
	SPEED_25_GBPS = 32,
	LINK_INFINIBAND = 1,
	LINK_ETHERNET = 2,
	HASH_TOEPLITZ = 1,
	/* 4.096 us << 15 */
	ACK_DELAY = 15,
};

/* Paging on demand: enum ibv_odp_general_caps and ibv_odp_transport_cap_bits. */
enum {
	ODP_CAPS = 1 << 0 | 1 << 1,
	ODP_SEND = 1 << 0,
	ODP_RECV = 1 << 1,
	ODP_WRITE = 1 << 2,
	ODP_READ = 1 << 3,
	ODP_ATOMIC = 1 << 4,
	ODP_SRQ_RECV = 1 << 5,
	/* Only newer headers define these. */
	ODP_FLUSH = 1 << 6,
	ODP_ATOMIC_WRITE = 1 << 7,
	ODP_ALL = ODP_SEND | ODP_RECV | ODP_WRITE | ODP_READ | ODP_ATOMIC | ODP_SRQ_RECV |
		  ODP_FLUSH | ODP_ATOMIC_WRITE,
};

static void fill_device(const struct device *device, struct ib_uverbs_query_device_resp *resp)
{
	const struct nic *nic = &device->nic;

	*resp = (struct ib_uverbs_query_device_resp){
		.fw_ver = FW_VER,
		.max_mr_size = UV_MAX_MR_SIZE,
		.page_size_cap = PAGE_SIZES,
		.vendor_id = DEVICE_VENDOR_ID,
		.vendor_part_id = DEVICE_PART_ID,
		.hw_ver = DEVICE_HW_REV,
		.max_qp = nic->max_qp,
		.max_qp_wr = UV_MAX_QP_WR,
		.device_cap_flags = UV_DEVICE_CAPS,
		.max_sge = VNET_MAX_SGE,
		.max_sge_rd = VNET_MAX_SGE,
		.max_cq = nic->max_cq,
		.max_cqe = UV_MAX_CQE,
		/* Both share a table, whose entry 0 is not used. */
		.max_mr = nic->max_mr - 1,
		.max_mw = nic->max_mr - 1,
		.max_pd = UV_MAX_PD,
		.max_qp_rd_atom = UV_MAX_RD_ATOMIC,
		.max_res_rd_atom = UV_MAX_RD_ATOMIC * nic->max_qp,
		.max_qp_init_rd_atom = UV_MAX_RD_ATOMIC,
		.atomic_cap = ATOMIC_HCA,
		.max_mcast_grp = NIC_MAX_MEMBERS,
		.max_mcast_qp_attach = NIC_MAX_MEMBERS,
		.max_total_mcast_qp_attach = NIC_MAX_MEMBERS,
		.max_ah = UV_MAX_AH,
		.max_srq = nic->max_srq,
		.max_srq_wr = UV_MAX_SRQ_WR,
		.max_srq_sge = VNET_MAX_SGE,
		.max_pkeys = DEVICE_PKEYS,
		.local_ca_ack_delay = ACK_DELAY,
		.phys_port_cnt = UV_PORTS,
	};
	memcpy(&resp->node_guid, device->node_guid, sizeof(resp->node_guid));
	memcpy(&resp->sys_image_guid, device->node_guid, sizeof(resp->sys_image_guid));
}

int uv_query_device(struct uv_request *req)
{
	struct ib_uverbs_query_device_resp resp;
	struct ib_uverbs_query_device cmd;
	int err;

	if (!req->ctx->open)
		return -EINVAL;
	err = uv_get(req, &cmd, sizeof(cmd));
	if (err)
		return err;
	fill_device(req->device, &resp);
	return uv_respond(req, &resp, sizeof(resp));
}

int uv_ex_query_device(struct uv_request *req)
{
	struct ib_uverbs_ex_query_device_resp resp = {
		.odp_caps = {
			.general_caps = ODP_CAPS,
			.per_transport_caps = {
				.rc_odp_caps = ODP_ALL,
				.uc_odp_caps = ODP_SEND | ODP_RECV | ODP_WRITE | ODP_SRQ_RECV,
				.ud_odp_caps = ODP_SEND | ODP_RECV | ODP_SRQ_RECV,
			},
		},
		.xrc_odp_caps = ODP_ALL,
		.max_dm_size = UV_MAX_DM_SIZE,
		.timestamp_mask = ~0ull,
		.hca_core_clock = UV_CLOCK_KHZ,
		.device_cap_flags_ex = UV_DEVICE_CAPS_EX,
		.rss_caps = {
			.supported_qpts = 1u << NIC_QPT_RAW_PACKET,
			.max_rwq_indirection_tables = UV_MAX_TABLES,
			.max_rwq_indirection_table_size = 1u << NIC_MAX_RSS_LOG,
		},
		.max_wq_type_rq = req->device->nic.max_qp,
		.cq_moderation_caps = {
			.max_cq_moderation_count = UV_MAX_EVENT_COUNT,
			.max_cq_moderation_period = UV_MAX_EVENT_PERIOD,
		},
	};
	const struct vnet_query_device_resp driver = {
		.rx_hash_fields = NIC_RSS_KNOWN,
		.rx_hash_functions = HASH_TOEPLITZ,
		.rate_limit_min = 1,
		.rate_limit_max = ~0u,
		.rate_limit_types = 1u << NIC_QPT_RAW_PACKET,
	};
	struct ib_uverbs_ex_query_device cmd;
	int err;

	if (!req->ctx->open)
		return -EINVAL;
	err = uv_get(req, &cmd, sizeof(cmd));
	if (err)
		return err;
	if (cmd.comp_mask || cmd.reserved)
		return -EINVAL;
	fill_device(req->device, &resp.base);
	uv_tm_fill_caps(&resp.tm_caps);
	resp.response_length = uv_response_length(req, sizeof(resp));
	err = uv_respond_driver(req, &driver, sizeof(driver));
	return err ? err : uv_respond(req, &resp, sizeof(resp));
}

static int fill_port(const struct device *device, u64 port, struct ib_uverbs_query_port_resp *resp)
{
	const struct nic_header *hdr = device->nic.hdr;
	bool up = nic_load(&hdr->port_up);

	if (port != 1)
		return -EINVAL;
	*resp = (struct ib_uverbs_query_port_resp){
		.port_cap_flags = device_cap_mask(device),
		.max_msg_sz = NIC_MAX_MSG,
		.qkey_viol_cntr = (u32)nic_load(&hdr->counters.drop_qkey),
		.gid_tbl_len = NIC_MAX_GIDS,
		.pkey_tbl_len = DEVICE_PKEYS,
		.state = up ? PORT_ACTIVE : PORT_DOWN,
		.max_mtu = MTU_4096,
		.active_mtu = MTU_4096,
		.max_vl_num = 1,
		.active_width = WIDTH_4X,
		.active_speed = SPEED_25_GBPS,
		.phys_state = up ? PHYS_LINK_UP : PHYS_DISABLED,
		.link_layer = LINK_ETHERNET,
		.flags = IB_UVERBS_QPF_GRH_REQUIRED,
	};
	if (device->lid) {
		resp->lid = device->lid;
		resp->sm_lid = LID_SUBNET_MANAGER;
		resp->link_layer = LINK_INFINIBAND;
		resp->flags = 0;
	}
	return 0;
}

int uv_query_port(struct uv_request *req)
{
	struct ib_uverbs_query_port_resp resp;
	struct ib_uverbs_query_port cmd;
	int err;

	if (!req->ctx->open)
		return -EINVAL;
	err = uv_get(req, &cmd, sizeof(cmd));
	if (!err)
		err = fill_port(req->device, cmd.port_num, &resp);
	return err ? err : uv_respond(req, &resp, sizeof(resp));
}

int uv_ioctl_query_port(struct uv_request *req)
{
	struct ib_uverbs_query_port_resp_ex resp = { .port_cap_flags2 = 0 };
	u64 port;
	int err;

	if (!req->ctx->open)
		return -EINVAL;
	err = uv_attr_const(req, UVERBS_ATTR_QUERY_PORT_PORT_NUM, 0xff, &port);
	if (!err)
		err = fill_port(req->device, port, &resp.legacy_resp);
	if (err)
		return err;
	return uv_attr_put_or_zero(req, UVERBS_ATTR_QUERY_PORT_RESP, &resp, sizeof(resp));
}

int uv_ioctl_info_handles(struct uv_request *req)
{
	u32 room = uv_attr_length(req, UVERBS_ATTR_INFO_HANDLES_LIST);
	u32 *handles, total;
	u64 object;
	int err;

	if (!room)
		return -ENOENT;
	if (room % sizeof(u32))
		return -EINVAL;
	err = uv_attr_const(req, UVERBS_ATTR_INFO_OBJECT_ID, 0xffff, &object);
	if (err)
		return err;
	if (!uv_method_has_object(object))
		return -EINVAL;
	handles = calloc(1, room);
	if (!handles)
		return -ENOMEM;
	total = uv_object_list(req->ctx, (u16)object, handles, room / sizeof(u32));
	err = uv_attr_put(req, UVERBS_ATTR_INFO_HANDLES_LIST, handles, total * sizeof(u32));
	if (!err)
		err = uv_attr_put(req, UVERBS_ATTR_INFO_TOTAL_HANDLES, &total, sizeof(total));
	free(handles);
	return err;
}
