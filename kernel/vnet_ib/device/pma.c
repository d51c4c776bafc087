// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Performance management (PMA): the port's standard counters, queried by MADs. The core reads
 * them for ports/1/counters. They have the values of user mode's files.
 */
#include <rdma/ib_pma.h>

#include "device.h"

#define VNET_PMA_VERSION 1
/* Values of PortSelect. */
#define VNET_PMA_PORT 1
#define VNET_PMA_ALL_PORTS 0xff

/* Counters stop at their maximum. */
static __be32 vnet_pma32(u64 value)
{
	return cpu_to_be32(min_t(u64, value, U32_MAX));
}

static __be16 vnet_pma16(u64 value)
{
	return cpu_to_be16(min_t(u64, value, U16_MAX));
}

static u8 vnet_pma8(u64 value)
{
	return min_t(u64, value, U8_MAX);
}

static void vnet_pma_class(struct ib_pma_mad *out)
{
	struct ib_class_port_info *info = (void *)out->data;

	info->base_version = IB_MGMT_BASE_VERSION;
	info->class_version = VNET_PMA_VERSION;
	info->capability_mask = IB_PMA_CLASS_CAP_ALLPORTSELECT | IB_PMA_CLASS_CAP_EXT_WIDTH |
				IB_PMA_CLASS_CAP_XMIT_WAIT;
}

/* Data counters are in units of four bytes. Counters of physical errors remain zero. */
static void vnet_pma_counters(struct vnet_dev *dev, struct ib_pma_mad *out)
{
	const struct nic_counters *c = &dev->agent.nic.hdr->counters;
	struct ib_pma_portcounters *to = (void *)out->data;
	struct nic_qp_counters sum;

	vnet_count_qps(dev, &sum);
	to->port_rcv_errors = vnet_pma16(nic_load(&c->drop_length) + nic_load(&c->drop_no_receive));
	to->port_xmit_discards = vnet_pma16(nic_load(&c->drop_no_qp) + nic_load(&c->drop_address));
	to->link_downed_counter = vnet_pma8(READ_ONCE(dev->downs));
	to->port_rcv_constraint_errors = vnet_pma8(nic_load(&c->drop_qkey));
	to->port_xmit_data = vnet_pma32(sum.sent_bytes / 4);
	to->port_rcv_data = vnet_pma32(sum.got_bytes / 4);
	to->port_xmit_packets = vnet_pma32(sum.sent_msgs);
	to->port_rcv_packets = vnet_pma32(sum.got_msgs);
}

static void vnet_pma_counters_ext(struct vnet_dev *dev, struct ib_pma_mad *out)
{
	struct ib_pma_portcounters_ext *to = (void *)out->data;
	struct nic_qp_counters sum;

	vnet_count_qps(dev, &sum);
	to->port_xmit_data = cpu_to_be64(sum.sent_bytes / 4);
	to->port_rcv_data = cpu_to_be64(sum.got_bytes / 4);
	to->port_xmit_packets = cpu_to_be64(sum.sent_msgs);
	to->port_rcv_packets = cpu_to_be64(sum.got_msgs);
	to->port_unicast_xmit_packets = to->port_xmit_packets;
	to->port_unicast_rcv_packets = to->port_rcv_packets;
}

/* PortSelect and CounterSelect are at the same place in both kinds of counters. */
static bool vnet_pma_select(const struct ib_pma_mad *in, struct ib_pma_mad *out)
{
	const struct ib_pma_portcounters *from = (const void *)in->data;
	struct ib_pma_portcounters *to = (void *)out->data;

	to->port_select = from->port_select;
	to->counter_select = from->counter_select;
	return from->port_select == VNET_PMA_PORT || from->port_select == VNET_PMA_ALL_PORTS;
}

/* Returns the status of the response. Set is not supported, as any node could send it. */
static u16 vnet_pma_answer(struct vnet_dev *dev, const struct ib_pma_mad *in,
			   struct ib_pma_mad *out)
{
	if (in->mad_hdr.base_version != IB_MGMT_BASE_VERSION ||
	    in->mad_hdr.class_version != VNET_PMA_VERSION)
		return IB_MGMT_MAD_STATUS_BAD_VERSION;
	if (in->mad_hdr.method != IB_MGMT_METHOD_GET)
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	switch (in->mad_hdr.attr_id) {
	case IB_PMA_CLASS_PORT_INFO:
		vnet_pma_class(out);
		return 0;
	case IB_PMA_PORT_COUNTERS:
		if (!vnet_pma_select(in, out))
			return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
		vnet_pma_counters(dev, out);
		return 0;
	case IB_PMA_PORT_COUNTERS_EXT:
		if (!vnet_pma_select(in, out))
			return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
		vnet_pma_counters_ext(dev, out);
		return 0;
	default:
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	}
}

/* Called by ib_mad for every MAD that arrives for the port, before its agents. */
int vnet_process_mad(struct ib_device *ibdev, int flags, u32 port, const struct ib_wc *wc,
		     const struct ib_grh *grh, const struct ib_mad *mad, struct ib_mad *answer,
		     size_t *size, u16 *pkey_index)
{
	const struct ib_pma_mad *in = (const void *)mad;
	struct ib_pma_mad *out = (void *)answer;

	/* Responses and other classes are for agents. */
	if (mad->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT ||
	    (mad->mad_hdr.method != IB_MGMT_METHOD_GET &&
	     mad->mad_hdr.method != IB_MGMT_METHOD_SET))
		return IB_MAD_RESULT_SUCCESS;
	memset(out, 0, sizeof(*out));
	out->mad_hdr = mad->mad_hdr;
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	out->mad_hdr.status = cpu_to_be16(vnet_pma_answer(to_vdev(ibdev), in, out));
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}
