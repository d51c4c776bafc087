// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Counters of a port: sums of all queue pairs, past and present, of the NIC, and of the link. */
#include "device.h"
#include "link/link.h"

/* --------------------------------------------------------- queue pairs */

void vnet_count_qps(struct vnet_dev *dev, struct nic_qp_counters *sum)
{
	unsigned long i;
	void *entry;

	mutex_lock(&dev->retired_lock);
	*sum = dev->retired;
	xa_for_each(&dev->qps.xa, i, entry)
	{
		nic_counters_add(sum, &dev->agent.nic.qp[i].counters);
	}
	mutex_unlock(&dev->retired_lock);
}

/* -------------------------------------------------------- named counters */

enum vnet_stat {
	VNET_STAT_SENT_MESSAGES,
	VNET_STAT_SENT_BYTES,
	VNET_STAT_RECEIVED_MESSAGES,
	VNET_STAT_RECEIVED_BYTES,
	VNET_STAT_RNR_WAITS,
	VNET_STAT_RETRIES,
	VNET_STAT_SEND_ERRORS,
	VNET_STAT_DROP_NO_QP,
	VNET_STAT_DROP_QKEY,
	VNET_STAT_DROP_NO_RECEIVE,
	VNET_STAT_DROP_LENGTH,
	VNET_STAT_DROP_ADDRESS,
	VNET_STAT_DROP_NO_FLOW,
	VNET_STAT_KICKS,
	VNET_STAT_LONGEST_REQUESTS,
	VNET_STAT_LONGEST_BYTES,
	VNET_STAT_ODP_YIELDS,
	VNET_STAT_ODP_WAITS,
	VNET_STAT_ODP_NO_ROOM,
	/* Then the firmware's, in the order of vnet_wire_stats, and the link's. */
	VNET_STAT_WIRE,
	VNET_STAT_LINK = VNET_STAT_WIRE + 29,
	VNET_STATS = VNET_STAT_LINK + 10,
};

/* A counter by name, and its offset in the structure that contains it. */
struct vnet_stat_at {
	const char *name;
	size_t offset;
};

#define VNET_WIRE_STAT(what)                                                                       \
	{                                                                                          \
#what, offsetof(struct nic_counters, what)                                         \
	}
#define VNET_LINK_STAT(what)                                                                       \
	{                                                                                          \
		"link_" #what, offsetof(struct vnet_link_counters, what)                           \
	}

static const struct vnet_stat_at vnet_wire_stats[] = {
	VNET_WIRE_STAT(frames_sent),     VNET_WIRE_STAT(bytes_sent),
	VNET_WIRE_STAT(frames_received), VNET_WIRE_STAT(bytes_received),
	VNET_WIRE_STAT(acks_sent),       VNET_WIRE_STAT(nacks_sent),
	VNET_WIRE_STAT(nacks_received),  VNET_WIRE_STAT(retransmitted),
	VNET_WIRE_STAT(duplicates),      VNET_WIRE_STAT(returned),
	VNET_WIRE_STAT(unreachable),     VNET_WIRE_STAT(bad_length),
	VNET_WIRE_STAT(bad_version),     VNET_WIRE_STAT(bad_crc),
	VNET_WIRE_STAT(bad_field),       VNET_WIRE_STAT(bad_incarnation),
	VNET_WIRE_STAT(bad_row),         VNET_WIRE_STAT(bad_gid),
	VNET_WIRE_STAT(faults),          VNET_WIRE_STAT(loads),
	VNET_WIRE_STAT(evictions),       VNET_WIRE_STAT(stale_answers),
	VNET_WIRE_STAT(no_row),          VNET_WIRE_STAT(drop_busy),
	VNET_WIRE_STAT(bad_proof),       VNET_WIRE_STAT(bad_claim),
	VNET_WIRE_STAT(reclaimed),       VNET_WIRE_STAT(refusals_sent),
	VNET_WIRE_STAT(refusals),
};
static_assert(VNET_STAT_WIRE + ARRAY_SIZE(vnet_wire_stats) == VNET_STAT_LINK);

static const struct vnet_stat_at vnet_link_stats[] = {
	VNET_LINK_STAT(unsent),    VNET_LINK_STAT(no_key),      VNET_LINK_STAT(no_batch),
	VNET_LINK_STAT(strangers), VNET_LINK_STAT(overrun),     VNET_LINK_STAT(oversize),
	VNET_LINK_STAT(no_mac),    VNET_LINK_STAT(unknown_key), VNET_LINK_STAT(bad_mac),
	VNET_LINK_STAT(replayed),
};
static_assert(VNET_STAT_LINK + ARRAY_SIZE(vnet_link_stats) == VNET_STATS);

/* The names of the others are set when the module is loaded. */
static struct rdma_stat_desc vnet_stat_names[VNET_STATS] = {
	[VNET_STAT_SENT_MESSAGES].name = "sent_msgs",
	[VNET_STAT_SENT_BYTES].name = "sent_bytes",
	[VNET_STAT_RECEIVED_MESSAGES].name = "rcvd_msgs",
	[VNET_STAT_RECEIVED_BYTES].name = "rcvd_bytes",
	[VNET_STAT_RNR_WAITS].name = "rnr_waits",
	[VNET_STAT_RETRIES].name = "retries",
	[VNET_STAT_SEND_ERRORS].name = "send_errors",
	[VNET_STAT_DROP_NO_QP].name = "drop_no_qp",
	[VNET_STAT_DROP_QKEY].name = "drop_qkey",
	[VNET_STAT_DROP_NO_RECEIVE].name = "drop_no_receive",
	[VNET_STAT_DROP_LENGTH].name = "drop_length",
	[VNET_STAT_DROP_ADDRESS].name = "drop_address",
	[VNET_STAT_DROP_NO_FLOW].name = "drop_no_flow",
	[VNET_STAT_KICKS].name = "nic_kicks",
	[VNET_STAT_LONGEST_REQUESTS].name = "longest_stretch_requests",
	[VNET_STAT_LONGEST_BYTES].name = "longest_stretch_bytes",
	[VNET_STAT_ODP_YIELDS].name = "odp_yields",
	[VNET_STAT_ODP_WAITS].name = "odp_waits",
	[VNET_STAT_ODP_NO_ROOM].name = "odp_no_room",
};

void vnet_name_stats(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(vnet_wire_stats); i++)
		vnet_stat_names[VNET_STAT_WIRE + i].name = vnet_wire_stats[i].name;
	for (i = 0; i < ARRAY_SIZE(vnet_link_stats); i++)
		vnet_stat_names[VNET_STAT_LINK + i].name = vnet_link_stats[i].name;
}

struct rdma_hw_stats *vnet_alloc_stats(struct ib_device *ibdev, u32 port)
{
	return rdma_alloc_hw_stats_struct(vnet_stat_names, VNET_STATS,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static void vnet_get_qp_stats(const struct nic_qp_counters *sum, u64 *value)
{
	value[VNET_STAT_SENT_MESSAGES] = sum->sent_msgs;
	value[VNET_STAT_SENT_BYTES] = sum->sent_bytes;
	value[VNET_STAT_RECEIVED_MESSAGES] = sum->got_msgs;
	value[VNET_STAT_RECEIVED_BYTES] = sum->got_bytes;
	value[VNET_STAT_RNR_WAITS] = sum->rnr_waits;
	value[VNET_STAT_RETRIES] = sum->retries;
	value[VNET_STAT_SEND_ERRORS] = sum->send_errors;
}

static void vnet_get_stats_at(const struct vnet_stat_at *at, u32 n, const void *counters,
			      u64 *value)
{
	u32 i;

	for (i = 0; i < n; i++)
		value[i] = nic_load((const u64 *)(counters + at[i].offset));
}

int vnet_get_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port, int index)
{
	struct vnet_dev *dev = to_vdev(ibdev);
	const struct nic_counters *c = &dev->agent.nic.hdr->counters;
	struct nic_qp_counters sum;
	u64 *value = stats->value;

	if (port != 1)
		return -EINVAL;
	vnet_count_qps(dev, &sum);
	vnet_get_qp_stats(&sum, value);
	value[VNET_STAT_DROP_NO_QP] = nic_load(&c->drop_no_qp);
	value[VNET_STAT_DROP_QKEY] = nic_load(&c->drop_qkey);
	value[VNET_STAT_DROP_NO_RECEIVE] = nic_load(&c->drop_no_receive);
	value[VNET_STAT_DROP_LENGTH] = nic_load(&c->drop_length);
	value[VNET_STAT_DROP_ADDRESS] = nic_load(&c->drop_address);
	value[VNET_STAT_DROP_NO_FLOW] = nic_load(&c->drop_no_flow);
	value[VNET_STAT_KICKS] = nic_load(&c->kicks);
	value[VNET_STAT_LONGEST_REQUESTS] = nic_load(&c->longest_requests);
	value[VNET_STAT_LONGEST_BYTES] = nic_load(&c->longest_bytes);
	value[VNET_STAT_ODP_YIELDS] = atomic64_read(&dev->odp_counters.yields);
	value[VNET_STAT_ODP_WAITS] = atomic64_read(&dev->odp_counters.waits);
	value[VNET_STAT_ODP_NO_ROOM] = atomic64_read(&dev->odp_counters.no_room);
	vnet_get_stats_at(vnet_wire_stats, ARRAY_SIZE(vnet_wire_stats), c, value + VNET_STAT_WIRE);
	vnet_get_stats_at(vnet_link_stats, ARRAY_SIZE(vnet_link_stats), vnet_link_counters(dev),
			  value + VNET_STAT_LINK);
	return VNET_STATS;
}
