// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Default settings of the vn transport, and their validation. */
#include "layout/lock.h"
#include "layout/settings.h"
#include "nic_settings.h"

static const struct nic_settings nic_vn_defaults = {
	.payload = 16384,
	.window = 128 << 10,
	.ack_delay = 50,
	.channels = VNET_WIRE_CHANNELS,
	.rto_min = 2000,
	.rto_max = 500000,
	.unreachable = 3000,
	.budget = NIC_DEFAULT_BUDGET,
	.loiter = 64,
	.sequence_bits = 32,
	.adaptive = 1,
	.piggyback = 1,
};

void nic_vn_settings_init(struct nic_settings *to, const struct nic_settings *wanted)
{
	/* Payload 0 means that all settings are defaults. */
	*to = wanted->payload ? *wanted : nic_vn_defaults;
}

static_assert(VNET_WIRE_MIN_PAYLOAD == 256, "as people are told");

const char *nic_settings_problem(const struct nic_settings *settings)
{
	if (settings->rto_max < settings->rto_min)
		return "rto-max is less than rto-min";
	if (settings->sequence_bits != 1 && settings->sequence_bits != 32)
		return "sequence-bits is 1 or 32";
	if (settings->fit && settings->fit < VNET_WIRE_MIN_PAYLOAD)
		return "fit is 0, or at least 256";
	return NULL;
}
