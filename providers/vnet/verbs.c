// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queries of the device and its port, and address handles.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd.h"
#include "vnet.h"

/* Does the caller's structure include this member? */
#define HAS_ATTR(_size, _member)                                                                   \
	((_size) >= offsetof(struct ibv_device_attr_ex, _member) +                                 \
			    sizeof(((struct ibv_device_attr_ex *)NULL)->_member))

/* Fill in capabilities that the common response does not have. */
static void fill_own(struct ibv_device_attr_ex *attr, size_t attr_size,
		     const struct vnet_query_device_resp *resp)
{
	if (HAS_ATTR(attr_size, rss_caps)) {
		attr->rss_caps.rx_hash_fields_mask = resp->rx_hash_fields;
		attr->rss_caps.rx_hash_function = (uint8_t)resp->rx_hash_functions;
	}
	if (HAS_ATTR(attr_size, packet_pacing_caps)) {
		attr->packet_pacing_caps.qp_rate_limit_min = resp->rate_limit_min;
		attr->packet_pacing_caps.qp_rate_limit_max = resp->rate_limit_max;
		attr->packet_pacing_caps.supported_qpts = resp->rate_limit_types;
	}
}

int vnet_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			 struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct vnet_query_device_reply resp = {};
	struct ibv_device_attr *orig = &attr->orig_attr;
	size_t resp_size = to_vctx(context)->query_device ? sizeof(resp) : sizeof(resp.ibv);
	int ret;

	ret = ibv_cmd_query_device_any(context, input, attr, attr_size, &resp.ibv, &resp_size);
	if (ret)
		return ret;
	fill_own(attr, attr_size, &resp.vnet);

	/* The number in the response cannot hold the version's prefix. */
	snprintf(orig->fw_ver, sizeof(orig->fw_ver), "%s", to_vdevice(context->device)->fw_ver);

	/* The older write command does not report timestamps. */
	if (HAS_ATTR(attr_size, completion_timestamp_mask) && !attr->completion_timestamp_mask)
		attr->completion_timestamp_mask = UINT64_MAX;
	if (HAS_ATTR(attr_size, hca_core_clock) && !attr->hca_core_clock)
		attr->hca_core_clock = to_vctx(context)->clock_khz;
	return 0;
}

int vnet_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd;

	return ibv_cmd_query_port(context, port, attr, &cmd, sizeof(cmd));
}

uint64_t vnet_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Like mlx5, the unit is that of completion timestamps, all in tv_nsec. */
int vnet_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	uint32_t known = values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK;

	(void)context;
	if (known) {
		values->raw_clock.tv_sec = 0;
		values->raw_clock.tv_nsec = (long)vnet_clock_ns(CLOCK_MONOTONIC);
	}
	values->comp_mask = known;
	return 0;
}

/* ---------------------------------------------------------- address handles */

static void fill_av(struct vnet_wqe_ud *av, const struct ibv_ah_attr *attr)
{
	static_assert(sizeof(av->dgid) == sizeof(attr->grh.dgid), "a GID");

	memcpy(av->dgid, attr->grh.dgid.raw, sizeof(av->dgid));
	av->flow_label = attr->grh.flow_label;
	av->sgid_index = attr->grh.sgid_index;
	av->hop_limit = attr->grh.hop_limit;
	av->traffic_class = attr->grh.traffic_class;
	av->sl = attr->sl;
	av->dlid = attr->dlid;
}

/* Fill in the LID only; attr->grh is not valid. */
static void fill_local_av(struct vnet_wqe_ud *av, const struct ibv_ah_attr *attr)
{
	av->sl = attr->sl;
	av->dlid = attr->dlid;
	av->no_grh = 1;
}

struct ibv_ah *vnet_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ib_uverbs_create_ah_resp resp;
	struct vnet_ah *ah;
	int ret;

	/* An Ethernet port has no LIDs, so a GID is required. */
	if (!attr->is_global && !to_vctx(pd->context)->lid) {
		errno = EINVAL;
		return NULL;
	}
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;
	if (attr->is_global)
		fill_av(&ah->av, attr);
	else
		fill_local_av(&ah->av, attr);

	/* The agent checks port, GID index and LID. */
	ret = ibv_cmd_create_ah(pd, &ah->ibv_ah, attr, &resp, sizeof(resp));
	if (ret) {
		free(ah);
		errno = ret;
		return NULL;
	}
	return &ah->ibv_ah;
}

int vnet_destroy_ah(struct ibv_ah *ah)
{
	int ret;

	ret = ibv_cmd_destroy_ah(ah);
	if (ret)
		return ret;
	free(to_vah(ah));
	return 0;
}
