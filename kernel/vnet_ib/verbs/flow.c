// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Flows, which direct Ethernet frames to queue pairs, and flow counters. */
#include <linux/capability.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "doorbells/doorbells.h"
#include "inside.h"

struct vnet_flow {
	struct ib_flow ibflow;
	struct vnet_object obj;
};

/* ----------------------------------------------------------- specifications */

struct vnet_flow_reading {
	struct nic_flow_specs specs;
	struct ib_counters *counters;
};

/* In a specification, the mask directly follows the value. */
#define vnet_flow_match(specs, spec)                                                               \
	nic_flow_match(specs, (spec)->type, (const u8 *)&(spec)->val,                              \
		       sizeof((spec)->val) + sizeof((spec)->mask))

static enum nic_result vnet_flow_read_spec(struct vnet_flow_reading *reading,
					   const union ib_flow_spec *spec)
{
	struct nic_flow_specs *specs = &reading->specs;

	switch (spec->type) {
	case IB_FLOW_SPEC_ETH:
		return vnet_flow_match(specs, &spec->eth);
	case IB_FLOW_SPEC_IPV4:
		return vnet_flow_match(specs, &spec->ipv4);
	case IB_FLOW_SPEC_IPV6:
		return vnet_flow_match(specs, &spec->ipv6);
	case IB_FLOW_SPEC_TCP:
	case IB_FLOW_SPEC_UDP:
		return vnet_flow_match(specs, &spec->tcp_udp);
	case IB_FLOW_SPEC_ACTION_TAG:
		return nic_flow_mark(specs, spec->flow_tag.tag_id);
	case IB_FLOW_SPEC_ACTION_DROP:
		specs->flow->flags |= NIC_FLOW_DROP;
		return NIC_OK;
	case IB_FLOW_SPEC_ACTION_COUNT:
		if (reading->counters)
			return NIC_EINVAL;
		reading->counters = spec->flow_count.counters;
		return NIC_OK;
	default:
		return NIC_EOPNOTSUPP;
	}
}

static int vnet_flow_read_specs(struct vnet_flow_reading *reading, const struct ib_flow_attr *attr)
{
	const void *at = attr->flows;
	enum nic_result result;
	u32 i;

	for (i = 0; i < attr->num_of_specs; i++) {
		const union ib_flow_spec *spec = at;

		result = vnet_flow_read_spec(reading, spec);
		if (result != NIC_OK)
			return vnet_errno(result);
		at += spec->size;
	}
	return 0;
}

/* -------------------------------------------------------------------- flows */

static int vnet_flow_check(const struct ib_qp *ibqp, const struct ib_flow_attr *attr)
{
	if (ibqp->qp_type != IB_QPT_RAW_PACKET)
		return -EOPNOTSUPP;
	if (attr->type > IB_FLOW_ATTR_SNIFFER || attr->port != 1)
		return -EINVAL;
	if (attr->flags & IB_FLOW_ATTR_FLAGS_DONT_TRAP && attr->type != IB_FLOW_ATTR_NORMAL)
		return -EINVAL;
	return attr->flags & ~IB_FLOW_ATTR_FLAGS_DONT_TRAP ? -EOPNOTSUPP : 0;
}

static u32 vnet_counter_of(struct ib_counters *ibcounters)
{
	return ibcounters ?
		       container_of(ibcounters, struct vnet_flow_counters, ibcounters)->obj.index :
		       NIC_NONE;
}

static int vnet_flow_fill(struct nic_flow *params, struct ib_qp *ibqp,
			  const struct ib_flow_attr *attr)
{
	struct vnet_flow_reading reading = { .specs = { .flow = params } };
	const struct vnet_qp *qp = to_vqp(ibqp);
	int err;

	err = vnet_flow_read_specs(&reading, attr);
	if (err)
		return err;
	params->type = attr->type;
	params->priority = attr->priority;
	params->qpn = ibqp->qp_num;
	params->rss = vnet_qp_is_rss(qp) ? vnet_ring_name(&qp->spread) : 0;
	params->counter = vnet_counter_of(reading.counters);
	if (attr->flags & IB_FLOW_ATTR_FLAGS_DONT_TRAP)
		params->flags |= NIC_FLOW_DONT_TRAP;
	return 0;
}

static int vnet_flow_make(struct vnet_dev *dev, struct vnet_flow *flow,
			  const struct nic_flow *params)
{
	enum nic_result result;
	int err;

	err = vnet_number_get(&dev->flows, &flow->obj);
	if (err)
		return err;
	mutex_lock(&dev->commands);
	result = vnet_command(dev, nic_flow_create(&dev->agent.nic, flow->obj.index, params));
	mutex_unlock(&dev->commands);
	if (result != NIC_OK)
		vnet_number_end(&dev->flows, &flow->obj);
	return vnet_errno(result);
}

struct ib_flow *vnet_create_flow(struct ib_qp *ibqp, struct ib_flow_attr *attr,
				 struct ib_udata *udata)
{
	struct nic_flow params = {};
	struct vnet_flow *flow;
	int err;

	/* Checked again: another process may have created the queue pair. */
	if (!capable(CAP_NET_RAW))
		return ERR_PTR(-EPERM);
	err = vnet_flow_check(ibqp, attr);
	if (!err)
		err = vnet_flow_fill(&params, ibqp, attr);
	if (err)
		return ERR_PTR(err);
	flow = kzalloc(sizeof(*flow), GFP_KERNEL_ACCOUNT);
	if (!flow)
		return ERR_PTR(-ENOMEM);
	err = vnet_flow_make(to_vdev(ibqp->device), flow, &params);
	if (err) {
		kfree(flow);
		return ERR_PTR(err);
	}
	return &flow->ibflow;
}

int vnet_destroy_flow(struct ib_flow *ibflow)
{
	struct vnet_flow *flow = container_of(ibflow, struct vnet_flow, ibflow);
	struct vnet_dev *dev = to_vdev(ibflow->device);
	enum nic_result result;

	mutex_lock(&dev->commands);
	result = vnet_command(dev, nic_flow_destroy(&dev->agent.nic, flow->obj.index));
	mutex_unlock(&dev->commands);
	WARN_ON(result != NIC_OK);
	vnet_number_end(&dev->flows, &flow->obj);
	kfree(flow);
	return 0;
}

/* ----------------------------------------------------------------- counters */

int vnet_create_counters(struct ib_counters *ibcounters, struct uverbs_attr_bundle *attrs)
{
	struct vnet_dev *dev = to_vdev(ibcounters->device);
	struct vnet_flow_counters *counters =
		container_of(ibcounters, struct vnet_flow_counters, ibcounters);
	int err;

	/* There are few counters, and only flows use them. */
	if (!capable(CAP_NET_RAW))
		return -EPERM;
	err = vnet_number_get(&dev->flow_counters, &counters->obj);
	if (!err)
		nic_flow_counter_reset(&dev->agent.nic, counters->obj.index);
	return err;
}

int vnet_destroy_counters(struct ib_counters *ibcounters)
{
	struct vnet_dev *dev = to_vdev(ibcounters->device);

	vnet_number_end(&dev->flow_counters,
			&container_of(ibcounters, struct vnet_flow_counters, ibcounters)->obj);
	return 0;
}

/* Counter 0 counts frames, counter 1 bytes. The provider maps them to those of the program. */
int vnet_read_counters(struct ib_counters *ibcounters, struct ib_counters_read_attr *attr,
		       struct uverbs_attr_bundle *attrs)
{
	struct vnet_dev *dev = to_vdev(ibcounters->device);
	struct nic_flow_counter count;
	enum nic_result result;

	result = nic_flow_counter_read(&dev->agent.nic, vnet_counter_of(ibcounters), &count);
	if (result != NIC_OK)
		return vnet_errno(result);
	if (attr->ncounters > 0)
		attr->counters_buff[0] = count.packets;
	if (attr->ncounters > 1)
		attr->counters_buff[1] = count.bytes;
	return 0;
}
