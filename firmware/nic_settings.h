/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Names and limits of the settings that can be changed while a NIC runs. Agents make their tables
 * and files from this list.
 */
#ifndef NIC_SETTINGS_H
#define NIC_SETTINGS_H

#include "layout/wire.h"

/* X(field, minimum, maximum). Agents handle payload, window and fit themselves. */
#define NIC_SETTINGS(X)                                                                            \
	X(ack_unit, 0, VNET_WIRE_ACKS)                                                             \
	X(ack_delay, 0, 1000000)                                                                   \
	X(channels, 1, VNET_WIRE_CHANNELS)                                                         \
	X(rto_min, 100, 10000000)                                                                  \
	X(rto_max, 100, 60000000)                                                                  \
	X(unreachable, 10, 600000)                                                                 \
	X(budget, 1, NIC_MOST_BUDGET)                                                              \
	X(loiter, 1, 65536)                                                                        \
	X(linger, 0, 1000)                                                                         \
	X(sequence_bits, 1, 32)                                                                    \
	X(adaptive, 0, 1)                                                                          \
	X(piggyback, 0, 1)                                                                         \
	X(drop_unexpected, 0, 1)

/* Check values that are each within their limits: NULL, or why they contradict each other. */
const char *nic_settings_problem(const struct nic_settings *settings);

#endif /* NIC_SETTINGS_H */
