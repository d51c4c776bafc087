// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flows of Ethernet frames, and their counters.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vnet.h"

/* -------------------------------------------------------------------- flows */

/* The first members of every flow specification. */
struct spec_header {
	enum ibv_flow_spec_type type;
	uint16_t size;
};

/* Get the counters that a specification names. Returns 0 or an errno value. */
static int read_counters(const struct ibv_qp *qp, const uint8_t *spec,
			 struct vnet_counters **counters)
{
	struct ibv_flow_spec_counter_action action;

	memcpy(&action, spec, sizeof(action));
	if (action.size < sizeof(action) || *counters || !action.counters ||
	    action.counters->context != qp->context)
		return EINVAL;
	*counters = to_vcounters(action.counters);
	return 0;
}

/*
 * Find the counters that the flow names, if any. The specifications follow the attributes in
 * memory, at any alignment, and each contains its size. Returns 0 or an errno value.
 */
static int find_counters(const struct ibv_qp *qp, const struct ibv_flow_attr *attr,
			 struct vnet_counters **counters)
{
	const uint8_t *spec = (const uint8_t *)attr + sizeof(*attr);
	struct spec_header header;
	unsigned int i;
	int ret = 0;

	*counters = NULL;
	for (i = 0; i < attr->num_of_specs && !ret; i++, spec += header.size) {
		memcpy(&header, spec, sizeof(header));
		if (header.size < sizeof(header))
			return EINVAL;
		if (header.type == IBV_FLOW_SPEC_ACTION_COUNT)
			ret = read_counters(qp, spec, counters);
	}
	return ret;
}

static void count_flow(struct vnet_counters *counters, int change)
{
	if (!counters)
		return;
	pthread_mutex_lock(&counters->mutex);
	counters->flows += (uint32_t)change;
	pthread_mutex_unlock(&counters->mutex);
}

struct ibv_flow *vnet_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr)
{
	struct vnet_counters *counters;
	struct vnet_flow *flow;
	int ret;

	ret = check_comp_mask(attr->comp_mask, 0) ? find_counters(qp, attr, &counters) : EOPNOTSUPP;
	if (ret)
		goto err;
	flow = calloc(1, sizeof(*flow));
	if (!flow)
		return NULL;
	ret = ibv_cmd_create_flow(qp, &flow->ibv_flow, attr, NULL, 0);
	if (ret)
		goto err_free;
	flow->counters = counters;
	count_flow(counters, 1);
	return &flow->ibv_flow;

err_free:
	free(flow);
err:
	errno = ret;
	return NULL;
}

int vnet_destroy_flow(struct ibv_flow *ibflow)
{
	struct vnet_flow *flow = to_vflow(ibflow);
	int ret;

	ret = ibv_cmd_destroy_flow(ibflow);
	if (ret)
		return ret;
	count_flow(flow->counters, -1);
	free(flow);
	return 0;
}

/* ----------------------------------------------------------------- counters */

struct ibv_counters *vnet_create_counters(struct ibv_context *context,
					  struct ibv_counters_init_attr *attr)
{
	struct vnet_counters *counters;
	int ret;

	counters = calloc(1, sizeof(*counters));
	if (!counters)
		return NULL;
	pthread_mutex_init(&counters->mutex, NULL);
	ret = ibv_cmd_create_counters(context, attr, &counters->vcounters, NULL);
	if (!ret)
		return &counters->vcounters.counters;
	pthread_mutex_destroy(&counters->mutex);
	free(counters);
	errno = ret;
	return NULL;
}

int vnet_destroy_counters(struct ibv_counters *ibcounters)
{
	struct vnet_counters *counters = to_vcounters(ibcounters);
	int ret;

	ret = ibv_cmd_destroy_counters(&counters->vcounters);
	if (ret)
		return ret;
	pthread_mutex_destroy(&counters->mutex);
	free(counters->point);
	free(counters);
	return 0;
}

/* Returns 0 or an errno value. The caller holds the mutex. */
static int add_point(struct vnet_counters *counters, const struct ibv_counter_attach_attr *attr)
{
	struct vnet_counter_point *point;

	/* No counter may be attached once a flow uses the object. */
	if (counters->flows)
		return EBUSY;
	point = realloc(counters->point, (counters->points + 1) * sizeof(*point));
	if (!point)
		return ENOMEM;
	counters->point = point;
	point[counters->points++] = (struct vnet_counter_point){
		.index = attr->index,
		.counts = attr->counter_desc == IBV_COUNTER_PACKETS ? VNET_COUNTER_PACKETS :
								      VNET_COUNTER_BYTES,
	};
	return 0;
}

int vnet_attach_counters_point_flow(struct ibv_counters *ibcounters,
				    struct ibv_counter_attach_attr *attr, struct ibv_flow *flow)
{
	struct vnet_counters *counters = to_vcounters(ibcounters);
	int ret;

	/* The counters of a flow are given when it is created. */
	if (flow || !check_comp_mask(attr->comp_mask, 0))
		return EOPNOTSUPP;
	if (attr->counter_desc != IBV_COUNTER_PACKETS && attr->counter_desc != IBV_COUNTER_BYTES)
		return EOPNOTSUPP;
	pthread_mutex_lock(&counters->mutex);
	ret = add_point(counters, attr);
	pthread_mutex_unlock(&counters->mutex);
	return ret;
}

/* Returns 0 or an errno value. The caller holds the mutex. */
static int read_points(struct vnet_counters *counters, uint64_t *values, uint32_t nvalues,
		       uint32_t flags)
{
	uint64_t counted[VNET_COUNTERS] = {};
	uint32_t i;
	int ret;

	for (i = 0; i < counters->points; i++)
		if (counters->point[i].index >= nvalues)
			return EINVAL;
	ret = ibv_cmd_read_counters(&counters->vcounters, counted, VNET_COUNTERS, flags, NULL);
	if (ret)
		return ret;
	for (i = 0; i < counters->points; i++)
		values[counters->point[i].index] = counted[counters->point[i].counts];
	return 0;
}

int vnet_read_counters(struct ibv_counters *ibcounters, uint64_t *values, uint32_t nvalues,
		       uint32_t flags)
{
	struct vnet_counters *counters = to_vcounters(ibcounters);
	int ret;

	pthread_mutex_lock(&counters->mutex);
	ret = read_points(counters, values, nvalues, flags);
	pthread_mutex_unlock(&counters->mutex);
	return ret;
}
