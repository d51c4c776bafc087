// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion channels: commands. completion/event.c makes their events. */
#include "layout/lock.h"

enum nic_result nic_channel_create(struct nic *nic, u32 channel, u32 generation)
{
	struct nic_channel *ch;

	if (channel >= nic->max_channel || !generation)
		return NIC_EINVAL;
	ch = &nic->channel[channel];
	if (ch->generation)
		return NIC_EINUSE;
	/* An earlier channel of this entry may still have a lock holder. */
	if (!nic_lock(nic, &ch->lock))
		return NIC_BUSY;
	ch->head = NIC_NONE;
	ch->tail = NIC_NONE;
	nic_store(&ch->reader, NIC_READER_ANY);
	ch->generation = generation;
	nic_unlock(&ch->lock);
	return NIC_OK;
}

/* CQs may outlive their channel, and have no events then. */
enum nic_result nic_channel_destroy(struct nic *nic, u32 channel)
{
	struct nic_channel *ch;
	u32 i;

	if (channel >= nic->max_channel || !nic->channel[channel].generation)
		return NIC_EINVAL;
	ch = &nic->channel[channel];
	if (!nic_lock(nic, &ch->lock))
		return NIC_BUSY;
	for (i = 0; i < nic->max_cq; i++) {
		if (!nic->cq[i].num || nic->cq[i].channel != channel)
			continue;
		nic_store(&nic->cq[i].channel, NIC_NONE);
		nic->cq[i].ev_pending = 0;
	}
	ch->head = NIC_NONE;
	ch->tail = NIC_NONE;
	ch->generation = 0;
	nic_unlock(&ch->lock);
	return NIC_OK;
}
