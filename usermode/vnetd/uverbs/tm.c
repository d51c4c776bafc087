// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tag matching: memory and capabilities of shared receive queues of this type. */
#include <errno.h>

#include "tags/tags.h"
#include "objects.h"

static_assert((int)UV_MAX_TAGS <= (int)NIC_TM_MAX_TAGS, "what the firmware takes");

enum {
	/* Limit in struct ibv_tm_caps: two headers, and some data of the sender's. */
	MAX_RNDV_HDR = 64,
	CAP_RC = 1 << 0,
};

bool uv_srq_is_tm(const struct uv_srq *srq)
{
	return srq->params.tm_tags;
}

int uv_tm_reserve(struct device *device, struct uv_srq *srq, u32 tags)
{
	struct nic_srq_params *params = &srq->params;

	srq->tags = uv_heap_get(device, sizeof(struct nic_tm) + tags * sizeof(struct nic_tag));
	if (!srq->tags)
		return -ENOMEM;
	srq->ops = uv_ring_get(device, UV_TAG_OPS, VNET_TM_OP_SHIFT);
	if (!srq->ops) {
		uv_heap_put(device, srq->tags);
		srq->tags = NULL;
		return -ENOMEM;
	}
	params->tm_tags = tags;
	params->tm = srq->tags->offset;
	params->tm_ops = srq->ops->offset;
	params->tm_ops_entries = UV_TAG_OPS;
	return 0;
}

void uv_tm_release(struct uv_srq *srq)
{
	if (srq->tags)
		uv_ring_put(&srq->obj, srq->tags);
	if (srq->ops)
		uv_ring_put(&srq->obj, srq->ops);
}

void uv_tm_fill_caps(struct ib_uverbs_tm_caps *caps)
{
	*caps = (struct ib_uverbs_tm_caps){
		.max_rndv_hdr_size = MAX_RNDV_HDR,
		.max_num_tags = UV_MAX_TAGS,
		.flags = CAP_RC,
		.max_ops = UV_TAG_OPS,
		.max_sge = VNET_TM_MAX_SGE,
	};
}
