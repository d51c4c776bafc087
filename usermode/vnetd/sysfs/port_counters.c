// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Port counters that every RDMA device has (IB vol 1, 16.1.3), by their sysfs names. Data
 * counters are in units of four bytes. RDMA writes and reads count as sent at the requester, and
 * nowhere as received. Counters of cables and switches are zero.
 */
#include <string.h>

#include "device.h"
#include "sysfs.h"
#include "uverbs/uverbs.h"
#include "vnetd.h"

/* A counter's value since the start, and its width, at whose maximum it saturates. */
struct raw {
	const char *name;
	u64 value;
	u32 bits;
};

static u32 read_raw(const struct device *device, struct raw raw[MOST_COUNTERS])
{
	const struct nic_counters *nic = &device->nic.hdr->counters;
	struct nic_qp_counters sum = counters_sum(device);
	const struct raw all[] = {
		{ "VL15_dropped", 0, 16 },
		{ "excessive_buffer_overrun_errors", 0, 4 },
		{ "link_downed", device->downs, 8 },
		{ "link_error_recovery", 0, 8 },
		{ "local_link_integrity_errors", 0, 4 },
		{ "multicast_rcv_packets", 0, 64 },
		{ "multicast_xmit_packets", 0, 64 },
		{ "port_rcv_constraint_errors", nic_load(&nic->drop_qkey), 8 },
		{ "port_rcv_data", sum.got_bytes / 4, 64 },
		{ "port_rcv_errors", nic_load(&nic->drop_length) + nic_load(&nic->drop_no_receive),
		  16 },
		{ "port_rcv_packets", sum.got_msgs, 64 },
		{ "port_rcv_remote_physical_errors", 0, 16 },
		{ "port_rcv_switch_relay_errors", 0, 16 },
		{ "port_xmit_constraint_errors", 0, 8 },
		{ "port_xmit_data", sum.sent_bytes / 4, 64 },
		{ "port_xmit_discards", nic_load(&nic->drop_no_qp) + nic_load(&nic->drop_address),
		  16 },
		{ "port_xmit_packets", sum.sent_msgs, 64 },
		{ "port_xmit_wait", 0, 32 },
		{ "symbol_error", 0, 16 },
		{ "unicast_rcv_packets", sum.got_msgs, 64 },
		{ "unicast_xmit_packets", sum.sent_msgs, 64 },
	};

	static_assert(ARRAY_SIZE(all) <= MOST_COUNTERS, "room for all");
	memcpy(raw, all, sizeof(all));
	return ARRAY_SIZE(all);
}

u64 counter_saturated(u64 value, u32 bits)
{
	u64 most = bits < 64 ? (1ull << bits) - 1 : UINT64_MAX;

	return value < most ? value : most;
}

/* The value may have decreased: some counters are in NIC memory, which clients can write. */
static u64 since_cleared(const struct raw *raw, u64 cleared)
{
	return raw->value >= cleared ? raw->value - cleared : raw->value;
}

u32 port_counters_read(const struct device *device, struct counter counters[MOST_COUNTERS])
{
	struct raw raw[MOST_COUNTERS];
	u32 count = read_raw(device, raw);

	for (u32 i = 0; i < count; i++)
		counters[i] = (struct counter){
			.name = raw[i].name,
			.value = counter_saturated(since_cleared(&raw[i], device->cleared[i]),
						   raw[i].bits),
		};
	return count;
}

static bool is_among(const char *name, const char *const *names, u32 nnames)
{
	for (u32 i = 0; i < nnames; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

void port_counters_clear(struct device *device, const char *const *names, u32 nnames)
{
	struct raw raw[MOST_COUNTERS];
	u32 count = read_raw(device, raw);

	for (u32 i = 0; i < count; i++)
		if (is_among(raw[i].name, names, nnames))
			device->cleared[i] = raw[i].value;
}
