// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Stretches: bounded runs of requests, between which the host has its turn. */
#include "requester/requester.h"

void nic_stretch_note(struct nic *nic, const struct nic_stretch *s)
{
	u64 bytes = s->work % NIC_STRETCH_REQUEST, requests = nic_stretch_requests(s);
	struct nic_counters *c = &nic->hdr->counters;

	/* If two threads store at the same time, one of the values is lost. */
	if (requests > nic_load(&c->longest_requests))
		nic_store(&c->longest_requests, requests);
	if (bytes > nic_load(&c->longest_bytes))
		nic_store(&c->longest_bytes, bytes);
	/* From now on, a stretch that is not over is noted only if it has more requests. */
	nic_store(&nic->longest,
		  nic_load(&c->longest_requests) * NIC_STRETCH_REQUEST + (NIC_STRETCH_REQUEST - 1));
}

bool nic_stretch_next(struct nic *nic, struct nic_stretch *s)
{
	if (!s->budget || s->once)
		return false;
	nic_stretch_note(nic, s);
	s->work = 0;
	return plat_yield(nic);
}
