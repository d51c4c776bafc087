// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * hw_counters of the port: sums over all queue pairs, also destroyed ones, and counters of the
 * NIC.
 */
#include <string.h>

#include "objects.h"

static const struct nic_qp_counters *counters_of(const struct device *device, u32 qpn)
{
	return &device->nic.qp[qpn & device->nic.qp_index_mask].counters;
}

void uv_counters_retire(struct device *device, u32 qpn)
{
	nic_counters_add(&device->retired, counters_of(device, qpn));
}

/* Whether to count it: an XRC target only for one opener; RSS queue pairs have no counters. */
static bool counts(const struct uv_qp *qp)
{
	return !uv_qp_is_rss(qp) && (!qp->target || qp->target->opened == qp);
}

struct nic_qp_counters counters_sum(const struct device *device)
{
	struct nic_qp_counters sum = device->retired;
	const struct uctx *ctx;

	for (ctx = device->alloc->contexts; ctx; ctx = ctx->next) {
		for (u32 i = 0; i < ctx->capacity; i++) {
			const struct uv_object *obj = ctx->object[i];

			if (obj && obj->live && obj->class->type == UVERBS_OBJECT_QP &&
			    counts(UV_CAST(const struct uv_qp, obj)))
				nic_counters_add(
					&sum,
					counters_of(device,
						    UV_CAST(const struct uv_qp, obj)->params.qpn));
		}
	}
	return sum;
}

u32 counters_read(const struct device *device, struct counter counters[MOST_COUNTERS])
{
	const struct nic_counters *nic = &device->nic.hdr->counters;
	struct nic_qp_counters sum = counters_sum(device);
	const struct counter all[] = {
		{ "sent_msgs", sum.sent_msgs },
		{ "sent_bytes", sum.sent_bytes },
		{ "rcvd_msgs", sum.got_msgs },
		{ "rcvd_bytes", sum.got_bytes },
		{ "rnr_waits", sum.rnr_waits },
		{ "retries", sum.retries },
		{ "send_errors", sum.send_errors },
		{ "drop_no_qp", nic_load(&nic->drop_no_qp) },
		{ "drop_qkey", nic_load(&nic->drop_qkey) },
		{ "drop_no_receive", nic_load(&nic->drop_no_receive) },
		{ "drop_length", nic_load(&nic->drop_length) },
		{ "drop_address", nic_load(&nic->drop_address) },
		{ "drop_no_flow", nic_load(&nic->drop_no_flow) },
		{ "nic_kicks", nic_load(&nic->kicks) },
		{ "longest_stretch_requests", nic_load(&nic->longest_requests) },
		{ "longest_stretch_bytes", nic_load(&nic->longest_bytes) },
	};

	static_assert(UV_ARRAY_SIZE(all) <= MOST_COUNTERS, "room for all");
	memcpy(counters, all, sizeof(all));
	return UV_ARRAY_SIZE(all);
}
