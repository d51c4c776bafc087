// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Stands in for the firmware's side of the link until that is there. */
#include "../../firmware/nic.h"

__attribute__((weak)) void nic_receive(struct nic *nic, const struct nic_address *from, void *frame,
				       u32 length)
{
	(void)from;
	(void)frame;
	nic->hdr->counters.frames_received++;
	nic->hdr->counters.bytes_received += length;
}

__attribute__((weak)) void nic_receive_end(struct nic *nic)
{
	(void)nic;
}

__attribute__((weak)) bool nic_is_wired(const struct nic *nic)
{
	(void)nic;
	return false;
}

__attribute__((weak)) void nic_link_renew(struct nic *nic, u64 incarnation)
{
	nic->hdr->incarnation = incarnation;
}
