// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Address handles. */
#include "verbs.h"

int vnet_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata)
{
	struct vnet_ah *ah = container_of(ibah, struct vnet_ah, ibah);
	const struct rdma_ah_attr *attr = init->ah_attr;
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);

	/* The port's link layer is Ethernet, so a GRH is required. */
	if (!(rdma_ah_get_ah_flags(attr) & IB_AH_GRH))
		return -EINVAL;
	memcpy(ah->av.dgid, grh->dgid.raw, sizeof(ah->av.dgid));
	ah->av.flow_label = grh->flow_label;
	ah->av.sgid_index = grh->sgid_index;
	ah->av.hop_limit = grh->hop_limit;
	ah->av.traffic_class = grh->traffic_class;
	ah->av.sl = rdma_ah_get_sl(attr);
	return 0;
}

int vnet_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	const struct vnet_wqe_ud *av = &container_of(ibah, struct vnet_ah, ibah)->av;
	union ib_gid dgid;

	memset(attr, 0, sizeof(*attr));
	attr->type = ibah->type;
	memcpy(dgid.raw, av->dgid, sizeof(dgid.raw));
	rdma_ah_set_grh(attr, &dgid, av->flow_label, av->sgid_index, av->hop_limit,
			av->traffic_class);
	rdma_ah_set_sl(attr, av->sl);
	rdma_ah_set_port_num(attr, 1);
	return 0;
}

int vnet_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	return 0;
}
