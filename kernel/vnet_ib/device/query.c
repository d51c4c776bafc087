// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Attributes of the device and its port, and the NIC's copy of the GID table. */
#include <linux/etherdevice.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "device.h"
#include "link/link.h"
#include "verbs/verbs.h"

/* As ibv_devinfo prints it: major, minor, sub-minor of 16 bits. */
#define VNET_FW_VER (0ull << 32 | 1ull << 16 | 0ull)
/* 4.096 us << 15 */
#define VNET_ACK_DELAY 15
/* Headers of a rendezvous message, and room for private data of the sender. */
#define VNET_MAX_RNDV_HDR 64
/* Operations on on-demand memory, as in user mode. */
#define VNET_ODP_UD (IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV | IB_ODP_SUPPORT_SRQ_RECV)
#define VNET_ODP_UC (VNET_ODP_UD | IB_ODP_SUPPORT_WRITE)
/* IBV_ODP_SUPPORT_FLUSH and IBV_ODP_SUPPORT_ATOMIC_WRITE of newer libibverbs. */
#define VNET_ODP_FLUSH (VNET_DEVICE_FLUSH ? BIT(6) : 0)
#define VNET_ODP_ATOMIC_WRITE BIT(7)
#define VNET_ODP_RC                                                                                \
	(VNET_ODP_UC | IB_ODP_SUPPORT_READ | IB_ODP_SUPPORT_ATOMIC | VNET_ODP_FLUSH |              \
	 VNET_ODP_ATOMIC_WRITE)
/* IB_DEVICE_ATOMIC_WRITE, which the core defines since Linux 6.2. */
#define VNET_DEVICE_ATOMIC_WRITE BIT_ULL(40)

/*
 * Write the driver's part of the response, if the caller has room for it. Kernel queries and the
 * old command have none.
 */
static int vnet_query_own(struct ib_udata *udata)
{
	struct vnet_query_device_resp resp = {
		.rx_hash_fields = NIC_RSS_KNOWN,
		.rx_hash_functions = VNET_HASH_TOEPLITZ,
		.rate_limit_min = 1,
		.rate_limit_max = U32_MAX,
		.rate_limit_types = BIT(IB_QPT_RAW_PACKET),
	};

	if (udata->inlen && !ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EINVAL;
	return ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
}

int vnet_query_device(struct ib_device *ibdev, struct ib_device_attr *attr, struct ib_udata *udata)
{
	int err = vnet_query_own(udata);

	if (err)
		return err;
	/* The core keeps its own copy from registration; this writes only the caller's. */
	*attr = (struct ib_device_attr){
		.fw_ver = VNET_FW_VER,
		.sys_image_guid = ibdev->node_guid,
		.max_mr_size = VNET_MAX_MR_SIZE,
		.page_size_cap = PAGE_MASK & U32_MAX,
		.vendor_id = VNET_VENDOR_ID,
		.vendor_part_id = VNET_PART_ID,
		.hw_ver = 1,
		.max_qp = VNET_MAX_QP - VNET_FIRST_QP,
		.max_qp_wr = VNET_MAX_QP_WR,
		.device_cap_flags = IB_DEVICE_BAD_QKEY_CNTR | IB_DEVICE_CURR_QP_STATE_MOD |
				    IB_DEVICE_PORT_ACTIVE_EVENT | IB_DEVICE_SYS_IMAGE_GUID |
				    IB_DEVICE_RC_RNR_NAK_GEN |
				    IB_DEVICE_MEM_WINDOW | IB_DEVICE_MEM_MGT_EXTENSIONS |
				    IB_DEVICE_MEM_WINDOW_TYPE_2B | IB_DEVICE_XRC |
				    IB_DEVICE_MANAGED_FLOW_STEERING | VNET_DEVICE_FLUSH |
				    VNET_DEVICE_ATOMIC_WRITE,
		.kernel_cap_flags = IBK_ALLOW_USER_UNREG | IBK_ON_DEMAND_PAGING,
		.max_send_sge = VNET_MAX_SGE,
		.max_recv_sge = VNET_MAX_SGE,
		.max_sge_rd = VNET_MAX_SGE,
		.max_cq = VNET_MAX_CQ - 1,
		.max_cqe = VNET_MAX_CQE,
		/* Regions and windows share one table. */
		.max_mr = VNET_MAX_MR - 1,
		.max_mw = VNET_MAX_MR - 1,
		.max_pd = VNET_MAX_PD - 1,
		.max_qp_rd_atom = VNET_MAX_RD_ATOMIC,
		.max_res_rd_atom = VNET_MAX_RD_ATOMIC * VNET_MAX_QP,
		.max_qp_init_rd_atom = VNET_MAX_RD_ATOMIC,
		.atomic_cap = IB_ATOMIC_HCA,
		.max_mcast_grp = vnet_quota(NIC_MAX_MEMBERS),
		.max_mcast_qp_attach = vnet_quota(NIC_MAX_MEMBERS),
		.max_total_mcast_qp_attach = vnet_quota(NIC_MAX_MEMBERS),
		.max_ah = VNET_MAX_AH,
		.max_srq = VNET_MAX_SRQ - 1,
		.max_srq_wr = VNET_MAX_SRQ_WR,
		.max_srq_sge = VNET_MAX_SGE,
		.max_fast_reg_page_list_len = VNET_MAX_FAST_PAGES,
		.max_pkeys = VNET_PKEYS,
		.local_ca_ack_delay = VNET_ACK_DELAY,
		.timestamp_mask = ~0ull,
		.hca_core_clock = USEC_PER_SEC,
		.max_dm_size = vnet_quota(VNET_MAX_DM_SIZE),
		.rss_caps = {
			.supported_qpts = BIT(IB_QPT_RAW_PACKET),
			.max_rwq_indirection_tables = VNET_MAX_TABLES,
			.max_rwq_indirection_table_size = 1u << NIC_MAX_RSS_LOG,
		},
		.max_wq_type_rq = VNET_MAX_QP - VNET_FIRST_QP,
		.cq_caps = {
			.max_cq_moderation_count = U16_MAX,
			.max_cq_moderation_period = U16_MAX,
		},
		.odp_caps = {
			.general_caps = IB_ODP_SUPPORT | IB_ODP_SUPPORT_IMPLICIT,
			.per_transport_caps = {
				.rc_odp_caps = VNET_ODP_RC,
				.uc_odp_caps = VNET_ODP_UC,
				.ud_odp_caps = VNET_ODP_UD,
				.xrc_odp_caps = VNET_ODP_RC,
			},
		},
		.tm_caps = {
			.max_rndv_hdr_size = VNET_MAX_RNDV_HDR,
			.max_num_tags = VNET_MAX_TAGS,
			.flags = IB_TM_CAP_RNDV_RC,
			.max_ops = VNET_TAG_OPS,
			.max_sge = VNET_TM_MAX_SGE,
		},
	};
	return 0;
}

int vnet_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr)
{
	const struct nic_header *hdr = to_vdev(ibdev)->agent.nic.hdr;
	bool up = nic_load(&hdr->port_up);

	attr->state = up ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = up ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_DISABLED;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_4096;
	attr->phys_mtu = 4096;
	attr->gid_tbl_len = NIC_MAX_GIDS;
	attr->ip_gids = 1;
	attr->port_cap_flags = IB_PORT_CM_SUP | IB_UVERBS_PCF_IP_BASED_GIDS;
	attr->max_msg_sz = NIC_MAX_MSG;
	attr->qkey_viol_cntr = (u32)nic_load(&hdr->counters.drop_qkey);
	attr->pkey_tbl_len = VNET_PKEYS;
	attr->max_vl_num = 1;
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_EDR;
	return 0;
}

int vnet_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	if (index >= VNET_PKEYS)
		return -EINVAL;
	*pkey = IB_DEFAULT_PKEY_FULL;
	return 0;
}

int vnet_port_immutable(struct ib_device *ibdev, u32 port, struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	immutable->pkey_tbl_len = VNET_PKEYS;
	immutable->gid_tbl_len = NIC_MAX_GIDS;
	return 0;
}

enum rdma_link_layer vnet_link_layer(struct ib_device *ibdev, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

void vnet_fw_str(struct ib_device *ibdev, char *str)
{
	snprintf(str, IB_FW_VERSION_NAME_MAX, "%s", VNET_FW_VER_PREFIX VNET_VERSION);
}

/* -------------------------------------------------------------------- GIDs */

/* Keep the NIC's copy of the core's GID table, by which the firmware knows its own addresses. */
int vnet_add_gid(const struct ib_gid_attr *attr, void **context)
{
	struct nic_header *hdr = to_vdev(attr->device)->agent.nic.hdr;

	if (attr->index >= NIC_MAX_GIDS)
		return -EINVAL;
	memcpy(hdr->gid[attr->index], attr->gid.raw, sizeof(attr->gid.raw));
	/* Unused entries are zero, which is not a valid GID. */
	nic_store_release(&hdr->ngids, NIC_MAX_GIDS);
	vnet_link_add(to_vdev(attr->device), attr);
	return 0;
}

int vnet_del_gid(const struct ib_gid_attr *attr, void **context)
{
	struct nic_header *hdr = to_vdev(attr->device)->agent.nic.hdr;

	if (attr->index >= NIC_MAX_GIDS)
		return -EINVAL;
	memset(hdr->gid[attr->index], 0, sizeof(hdr->gid[0]));
	vnet_link_del(to_vdev(attr->device), attr->index);
	return 0;
}
